//! Our WebSocket client against other people's servers over loopback: Python's websockets and Node's ws.

use client::{
    ClientConfig, EchoSocket, HostAddress, Message, Pattern, Transport, WebSocketClient,
    WebSocketConfig,
};
use os::reactor::{Reactor, ReactorSettings, Stop};
use proto::ws::{DeflateOffer, Writes};
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::peers::kept;
use trace::FetchOutcome;
use unit::Seed;

/// A server, its certificate and its folder; all gone with it.
struct Server {
    child: Child,
    /// Removed with it.
    _folder: TempDir,
    authority: Authority,
    port: u16,
}

impl Server {
    /// None, and a skip, where `packages` of `program` are not there.
    fn start((program, script, packages): (&str, &str, &str), secured: bool) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let kept = kept(packages)?;
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["localhost"]).unwrap();
        std::fs::write(folder.path().join("chain.pem"), identity.chain_pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), identity.key_pem()).unwrap();
        let mut command = Command::new(program);
        command.arg(root.join("tests/peers").join(script)).arg(kept);
        if secured {
            command.args(["chain.pem", "key.pem"]);
        }
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(child) = command.spawn() else {
            testing::skip(format_args!("{program} is not installed: ./peers install"));
            return None;
        };
        let mut server = Self { child, _folder: folder, authority, port: 0 };
        // A port that is asked for beforehand may be somebody else's by then.
        let mut told = String::new();
        BufReader::new(server.child.stdout.take().unwrap()).read_line(&mut told).unwrap();
        server.port = told.trim().parse().unwrap();
        Some(server)
    }

    /// What became of `numbers`, sent in `pattern`; a last one is the reason of the first that failed.
    fn doubles(&self, numbers: &[u32], pattern: Pattern, secured: bool, writes: Writes) -> String {
        let transport = if secured { Transport::H1_TLS } else { Transport::H1 };
        let tls = ClientTls::new(ClientTlsOptions {
            roots: vec![self.authority.root_pem()],
            alpn: Vec::new(),
            ..ClientTlsOptions::default()
        });
        let mut config = ClientConfig::new(transport, tls.unwrap());
        config.hosts.insert("localhost", HostAddress::Socket(([127, 0, 0, 1], self.port).into()));
        config.timeouts.whole = Some(Duration::from_secs(60));
        let deflate = Some(DeflateOffer::default());
        let url = "http://localhost/".parse().unwrap();
        let own = WebSocketConfig { url, deflate, writes, compression_level: 6, seed: Seed(9) };
        let bytes = |text: String| bytes::Bytes::from(text.into_bytes());
        let message =
            |n: &u32| Message { text: bytes(n.to_string()), answer: bytes((2 * n).to_string()) };
        let talk = EchoSocket::new(numbers.iter().map(message), pattern);
        let mut client = WebSocketClient::new(config, own, talk);
        let mut reactor = Reactor::new(ReactorSettings::default(), Stop::new().unwrap()).unwrap();
        reactor.run(&mut client).unwrap();
        let done = client.into_conversation();
        assert_eq!(done.records.fetches.len(), numbers.len() + 1);
        assert_eq!(done.records.connections.len(), 1);
        let broken = done.records.fetches.iter().find_map(|record| match &record.outcome {
            FetchOutcome::Failed(reason) => Some(reason.clone()),
            FetchOutcome::Done => None,
        });
        broken.unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn speaks_with(peer: (&str, &str, &str)) {
    for secured in [false, true] {
        let Some(server) = Server::start(peer, secured) else { return };
        let numbers: Vec<u32> = (100..200).collect();
        for pattern in [Pattern::Serial, Pattern::Parallel] {
            for writes in [Writes::One, Writes::Two] {
                assert_eq!(server.doubles(&numbers, pattern, secured, writes), "", "{pattern:?}");
            }
        }
        let wrong = server.doubles(&[12, 13, 14], Pattern::Serial, secured, Writes::One);
        assert_eq!(
            wrong,
            "an answer is its message's echo: `bad luck` came back where `26` belongs"
        );
    }
}

#[test]
fn pythons_websockets_answers_every_number_clear_and_secured_in_one_write_and_in_two() {
    speaks_with(("python3", "ws_double.py", "python"));
}

#[test]
fn nodes_ws_answers_every_number_clear_and_secured_in_one_write_and_in_two() {
    speaks_with(("node", "ws_double.mjs", "node"));
}
