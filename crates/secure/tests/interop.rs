//! TLS against OpenSSL and curl over loopback, where they are installed.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use endpoint::SendBuf;
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Identity, Layer, ServerTls,
    ServerTlsOptions, Tls, Versions,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::peers::has;
use trace::TlsVersion;

/// A folder of one test, removed with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::with_prefix("wirelap-test-").unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// A child, ended with the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn identity() -> (Authority, Identity) {
    let authority = Authority::new(AuthoritySpec::default()).unwrap();
    let identity = authority.issue(&["localhost", "127.0.0.1"]).unwrap();
    (authority, identity)
}

/// Sends `plain` through the layer, then reads until `enough` of what came or the end.
fn exchange(
    socket: &mut TcpStream,
    layer: &mut Layer,
    plain: &[u8],
    enough: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (mut heard, mut bytes) = (Vec::new(), vec![0; 20_000]);
    let mut waiting = Some(plain);
    loop {
        let mut out = SendBuf::new();
        layer.poll_transmit(&mut out, 64_000, |out, _| {
            out.put(waiting.take().unwrap_or_default());
        });
        socket.write_all(&out.to_vec()).unwrap();
        if enough(&heard) || layer.peer_closed() {
            return heard;
        }
        let length = socket.read(&mut bytes).unwrap();
        if length == 0 {
            return heard;
        }
        let mut cipher = &bytes[..length];
        while let Some(part) = layer.handle_bytes(&mut cipher).unwrap() {
            heard.extend_from_slice(part);
        }
    }
}

/// A server that answers one request on each of `count` connections.
fn serve(settings: ServerTls, count: usize) -> (u16, std::thread::JoinHandle<Vec<Tls12Or13>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        (0..count)
            .map(|_| {
                let (mut socket, _) = listener.accept().unwrap();
                let mut layer = Layer::secured(Tls::server(&settings).unwrap());
                let ended = |heard: &[u8]| heard.ends_with(b"\r\n\r\n");
                exchange(&mut socket, &mut layer, b"", ended);
                let body = "x".repeat(50_000);
                let text = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\nConnection: close\r\n\r\n{body}"
                );
                exchange(&mut socket, &mut layer, text.as_bytes(), |_| true);
                layer.close_notify();
                exchange(&mut socket, &mut layer, b"", |_| true);
                let agreed = layer.negotiated().unwrap();
                Tls12Or13(agreed.version(), agreed.resumed)
            })
            .collect()
    });
    (port, thread)
}

#[derive(Debug, PartialEq)]
struct Tls12Or13(TlsVersion, bool);

fn fetch(port: u16, root: &Path, version: &str) -> (i32, usize, String) {
    let output = Command::new("curl")
        .args(["-sS", "--http1.1", version, "--tls-max", version.trim_start_matches("--tlsv")])
        .args(["--cacert", root.to_str().unwrap(), &format!("https://localhost:{port}/")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), output.stdout.len(), said)
}

#[test]
fn curl_checks_our_chain_and_takes_the_whole_body_in_both_versions() {
    if !has("curl", "--version", "./peers install") {
        return;
    }
    let (authority, identity) = identity();
    let folder = Folder::new();
    let root = folder.write("root.pem", &authority.root_pem().text);
    let (port, server) = serve(ServerTls::new(ServerTlsOptions::new(vec![identity])).unwrap(), 2);
    assert_eq!(fetch(port, &root, "--tlsv1.2"), (0, 50_000, String::new()));
    assert_eq!(fetch(port, &root, "--tlsv1.3"), (0, 50_000, String::new()));
    let agreed = server.join().unwrap();
    assert_eq!(agreed, [Tls12Or13(TlsVersion::V1_2, false), Tls12Or13(TlsVersion::V1_3, false)]);
}

/// The body that s_client gets with these arguments.
fn s_client(port: u16, arguments: &[&str]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_return_error", "-no_ign_eof"])
        .args(["-verify_hostname", "localhost", "-connect", &format!("127.0.0.1:{port}")])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The input stays open: s_client leaves when the server closes.
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut body = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut body).unwrap();
    child.wait().unwrap();
    body
}

#[test]
fn openssl_verifies_and_resumes_with_our_tickets() {
    if !has("openssl", "--version", "./peers install") {
        return;
    }
    let (authority, identity) = identity();
    let folder = Folder::new();
    let root = folder.write("root.pem", &authority.root_pem().text).display().to_string();
    let session = folder.path().join("session").display().to_string();
    let long = format!("{}:8443", "a".repeat(200));
    // No host names but the first: hey asks for `localhost:8443`, and others for worse.
    for name in ["localhost", "localhost:8443", "[::1]:443", "a b", &long] {
        for (version, expected) in [("-tls1_2", TlsVersion::V1_2), ("-tls1_3", TlsVersion::V1_3)] {
            let options = ServerTlsOptions::new(vec![identity.clone()]);
            let (port, server) = serve(ServerTls::new(options).unwrap(), 2);
            for option in ["-sess_out", "-sess_in"] {
                let arguments = [version, "-CAfile", &root, "-servername", name, option, &session];
                let body = s_client(port, &arguments);
                assert!(body.ends_with(&[b'x'; 50_000]), "{name} {version}: {}", body.len());
            }
            let agreed = server.join().unwrap();
            assert_eq!(
                agreed,
                [Tls12Or13(expected.clone(), false), Tls12Or13(expected, true)],
                "{name}"
            );
        }
    }
}

#[test]
fn our_client_speaks_with_an_openssl_server_and_resumes() {
    if !has("openssl", "--version", "./peers install") {
        return;
    }
    let (authority, identity) = identity();
    let folder = Folder::new();
    let chain = folder.write("chain.pem", identity.chain_pem());
    let key = folder.write("key.pem", identity.key_pem());
    for (versions, expected) in [(Versions::Tls12, "TLSv1.2"), (Versions::Tls13, "TLSv1.3")] {
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("openssl")
            .args(["s_server", "-www", "-quiet", "-alpn", "http/1.1"])
            .args(["-accept", &format!("127.0.0.1:{port}")])
            .args(["-cert", chain.to_str().unwrap(), "-cert_chain", chain.to_str().unwrap()])
            .args(["-key", key.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _peer = Peer(child);
        let options = ClientTlsOptions {
            roots: vec![authority.root_pem()],
            alpn: vec!["h2".into(), "http/1.1".into()],
            versions,
            ..Default::default()
        };
        let settings = ClientTls::new(options).unwrap();
        for resumed in [false, true] {
            let mut socket = connect(port);
            let mut layer = Layer::secured(Tls::client(&settings, "localhost").unwrap());
            let page = exchange(&mut socket, &mut layer, b"GET / HTTP/1.0\r\n\r\n", |_| false);
            assert!(page.starts_with(b"HTTP/1.0 200 ok"), "{}", String::from_utf8_lossy(&page));
            let record = layer.negotiated().unwrap().record();
            assert_eq!(
                (record.version.name(), &*record.alpn, record.resumed),
                (expected, "http/1.1", resumed)
            );
        }
    }
}

/// Waits until the server listens.
fn connect(port: u16) -> TcpStream {
    for _ in 0..200 {
        if let Ok(socket) = TcpStream::connect(("127.0.0.1", port)) {
            return socket;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("nobody listens on port {port}");
}
