//! Early data (0-RTT) of other people's clients: curl over TCP and QUIC, and OpenSSL, which sends what it is given.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use origin::Limits;
use secure::Resumption;
use std::process::{Command, Stdio};
use support::{Folder, Serving};
use testing::peers::{has, kept, run};
use trace::EarlyData;
use transport::Protocol;

fn serving(folder: &Folder, protocol: Protocol) -> Serving {
    std::fs::write(folder.root().join("root.pem"), b"").unwrap();
    let protocols = [protocol];
    let serving =
        Serving::start_resuming(&folder.root(), Limits::default(), &protocols, Resumption::Early);
    std::fs::write(folder.root().join("root.pem"), &serving.root).unwrap();
    serving
}

/// What the server says of the next connection: whether a session was resumed, and its early data.
fn next(serving: &Serving) -> (bool, EarlyData) {
    let tls = serving.handshakes.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    (tls.resumed, tls.early_data)
}

#[test]
fn curl_sends_its_second_request_within_the_handshake() {
    let Some(current) = kept("current") else { return };
    let curl = current.join("bin/curl");
    for (protocol, flag) in [
        (Protocol::Http1, "--http1.1"),
        (Protocol::Http2, "--http2"),
        (Protocol::Http3, "--http3-only"),
    ] {
        let folder = Folder::new();
        let serving = serving(&folder, protocol);
        let root = folder.root();
        let url = match protocol {
            Protocol::Http3 => serving.quic_url("/a.txt"),
            _ => serving.tls_url("/a.txt"),
        };
        let mut command = Command::new(&curl);
        // A request from another local port gets a connection of its own.
        for more in [&["-sS"][..], &["--next", "-sS", "--local-port", "20000-60000"]] {
            command.args(more).args([flag, "--tls-earlydata", "--max-time", "20", "--cacert"]);
            command.arg(root.join("root.pem")).args(["-w", " %{http_code}\n", &url]);
        }
        assert_eq!(run(&mut command).stdout, b"0123456789 200\n0123456789 200\n", "{flag}");
        let early = [next(&serving), next(&serving)];
        assert_eq!(early, [(false, EarlyData::None), (true, EarlyData::Accepted)], "{flag}");
    }
}

/// What OpenSSL gets for these bytes, sent within the handshake of a resumed session.
fn openssl(serving: &Serving, folder: &Folder, request: &str) -> String {
    let root = folder.root();
    let (session, early) = (root.join("session"), root.join("early"));
    std::fs::write(&early, request).unwrap();
    let command = || {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-quiet", "-no_ign_eof", "-connect", &serving.tls.to_string()]);
        command.args(["-alpn", "http/1.1", "-CAfile"]).arg(root.join("root.pem"));
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        command
    };
    // A whole exchange: tickets come with the answer.
    let mut first = command();
    first.arg("-sess_out").arg(&session).arg("-ign_eof").stdout(Stdio::piped());
    let mut child = first.spawn().unwrap();
    let get = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), get).unwrap();
    let first = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&first.stdout).contains("0123456789"), "{first:?}");
    let mut second = command();
    second.arg("-sess_in").arg(&session).arg("-early_data").arg(&early).arg("-ign_eof");
    let mut second = second.stdout(Stdio::piped()).spawn().unwrap();
    // Held open until the server has answered and closed.
    let stdin = second.stdin.take();
    let answered = second.wait_with_output().unwrap();
    drop(stdin);
    String::from_utf8_lossy(&answered.stdout).into_owned()
}

#[test]
fn what_changes_something_is_told_to_come_after_the_handshake() {
    if !has("openssl", "version", "apt-get install openssl") {
        return;
    }
    let folder = Folder::new();
    let serving = serving(&folder, Protocol::Http1);
    let get = "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = openssl(&serving, &folder, get);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("0123456789"), "{answer}");
    let early = [next(&serving), next(&serving)];
    assert_eq!(early, [(false, EarlyData::None), (true, EarlyData::Accepted)]);
    let post = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nConnection: close\r\n\r\nonce";
    let answer = openssl(&serving, &folder, post);
    assert!(answer.starts_with("HTTP/1.1 425"), "{answer}");
    // A proxy that has taken early data says so.
    let proxied =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nEarly-Data: 1\r\nContent-Length: 0\r\n\r\n";
    let mut told = std::net::TcpStream::connect(serving.clear).unwrap();
    std::io::Write::write_all(&mut told, proxied.as_bytes()).unwrap();
    let mut answer = [0; 12];
    std::io::Read::read_exact(&mut told, &mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 425");
}
