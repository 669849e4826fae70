//! SPDY against node-spdy in both directions, in clear on loopback. What is not installed is skipped
//! (`testing::skip`).

mod support;

use proto::schedule::RoundRobin;
use proto::spdy::{Client, Server, Settings, Version};
use proto::{ClientConnection, Event, Fin, RequestHead, Scheme};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use support::drive::{Go, drive, now};
use support::fetch::Fetches;
use support::peers::{Peer, run};
use support::site::pattern_bytes;
use testing::peers::free_address;
use trace::Tracer;

const INSTALL: &str = "./peers install";

/// Node with a script and with node-spdy in reach; None, and a skip, without it.
fn node(script: &str) -> Option<Command> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = Command::new(root.join("peers")).arg("node-path").output().expect("./peers runs");
    let modules = PathBuf::from(String::from_utf8(path.stdout).expect("a path").trim());
    if !modules.join("spdy").is_dir() {
        testing::skip(format_args!("node-spdy is not installed: {INSTALL}"));
        return None;
    }
    let mut command = Command::new("node");
    command.env("NODE_PATH", modules).arg("--no-deprecation");
    command.arg(root.join("crates/proto/tests/peers").join(script));
    Some(command)
}

fn node_server() -> Option<(Peer, SocketAddr)> {
    let address = free_address();
    let mut command = node("spdy_server.js")?;
    let peer = Peer::start(command.arg(address.port().to_string()), address, INSTALL)?;
    Some((peer, address))
}

fn client(settings: &Settings) -> Client {
    Client::new(now(), settings.clone(), Box::new(RoundRobin::default()), Tracer::off())
}

/// Our server on a port of its own, a thread a connection, as long as the test runs.
fn serve(settings: Settings) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let settings = settings.clone();
            std::thread::spawn(move || {
                let turns = Box::new(RoundRobin::default());
                let server = Server::new(now(), settings, turns, Tracer::off());
                // A peer that goes away is nothing to a server.
                let _ = support::site::serve(&tcp, server);
            });
        }
    });
    address
}

#[test]
fn node_spdy_answers_many_streams_on_one_session() {
    let Some((_peer, address)) = node_server() else { return };
    for version in [Version::V3_1, Version::V3] {
        let sizes: Vec<usize> = (0..60).map(|n| n * 4001).collect();
        let asks = sizes.iter().map(|size| (format!("/bytes/{size}"), None)).collect();
        let settings = Settings::client(version);
        let fetches = Fetches::run_over(address, asks, || client(&settings));
        assert_eq!(fetches.failures, [""; 0]);
        assert_eq!(fetches.answers.len(), sizes.len());
        for answer in &fetches.answers {
            let size = answer.path.rsplit('/').next().and_then(|size| size.parse().ok());
            assert_eq!(answer.status, 200);
            assert!(
                Some(answer.body.len()) == size
                    && answer.body == pattern_bytes(0, answer.body.len())
            );
        }
    }
}

#[test]
fn node_spdy_gives_bodies_back_through_small_windows() {
    let Some((_peer, address)) = node_server() else { return };
    let body = pattern_bytes(3, 700_000);
    let asks = vec![("/echo".to_owned(), Some(body.clone())); 4];
    // Above the initial size: in clear, node-spdy takes a session for SPDY/3.1 at its first
    // WINDOW_UPDATE for stream 0.
    let small = Settings {
        stream_window: 65_536,
        session_window: 70_000,
        ..Settings::client(Version::V3_1)
    };
    let fetches = Fetches::run_over(address, asks, || client(&small));
    assert_eq!(fetches.failures, [""; 0]);
    assert_eq!(fetches.answers.len(), 4);
    assert!(fetches.answers.iter().all(|answer| answer.body == body));
}

#[test]
fn node_spdys_pushes_are_taken_or_refused() {
    let Some((_peer, address)) = node_server() else { return };
    let asks = || vec![("/push".to_owned(), None)];
    let taking = Settings { enable_push: true, ..Settings::client(Version::V3_1) };
    let fetches = Fetches::run_over(address, asks(), || client(&taking));
    assert_eq!(fetches.failures, [""; 0]);
    let pushed: Vec<_> = fetches.answers.iter().filter(|answer| answer.pushed).collect();
    assert_eq!(pushed.len(), 1);
    assert_eq!((pushed[0].path.as_str(), pushed[0].status), ("/pushed", 200));
    assert_eq!(pushed[0].body, b"pushed by node-spdy");
    let refusing = Settings::client(Version::V3_1);
    let fetches = Fetches::run_over(address, asks(), || client(&refusing));
    assert_eq!(fetches.failures, [""; 0]);
    assert_eq!(fetches.answers.len(), 1);
    assert_eq!(fetches.answers[0].body, b"pushing");
}

#[test]
fn fields_of_one_name_pass_node_spdy_in_both_directions() {
    let Some((_peer, address)) = node_server() else { return };
    let tcp = TcpStream::connect(address).expect("the peer listens");
    let mut subject = client(&Settings::client(Version::V3_1));
    let mut head = RequestHead::get(Scheme::Http, "a.test", "/cookies");
    head.fields.push(b"cookie", b"c=3");
    subject.request(now(), &head, Fin::Last).expect("a stream is free");
    let (mut cookies, mut body) = (Vec::new(), Vec::new());
    let outcome = drive(&tcp, &mut subject, |_, event| match event {
        Some(Event::Response { head, .. }) => {
            cookies = head.fields.all(b"set-cookie").map(<[u8]>::to_vec).collect();
            Go::On
        }
        Some(Event::Data { data, fin, .. }) => {
            body.extend_from_slice(data);
            if fin == Fin::Last { Go::Stop } else { Go::On }
        }
        _ => Go::On,
    });
    assert!(outcome.is_ok());
    assert_eq!(cookies, [b"a=1", b"b=2"]);
    assert_eq!(body, b"c=3");
}

#[test]
fn node_spdys_agent_downloads_uploads_and_takes_pushes() {
    for (version, name) in [(Version::V3_1, "spdy/3.1"), (Version::V3, "spdy/3")] {
        let address = serve(Settings::server(version));
        let Some(mut command) = node("spdy_client.js") else { return };
        let Some(output) = run(command.arg(address.port().to_string()).arg(name), INSTALL) else {
            return;
        };
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {log}");
    }
}
