//! HTTP/1.1 against real programs: curl, Node and Go talk to our server, our client talks to nginx.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/h1.rs"]
mod support;

use proto::h1::{ClientSettings, KeepAlive, ServerSettings};
use proto::{Fields, Method, RequestHead, Scheme};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Fetcher, Served, pattern, start};
use testing::peers::{free_address, has, run};

fn curl(arguments: &[&str]) -> Vec<u8> {
    run(Command::new("curl").args(["-sS", "--max-time", "30", "--noproxy", "*"]).args(arguments))
        .stdout
}

/// A file that curl can upload.
fn upload(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn curl_gets_bodies_of_either_framing_on_one_connection() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    let both = curl(&[&served.url("/length/70000"), &served.url("/chunks/300000")]);
    assert_eq!(both, [pattern(70_000), pattern(300_000)].concat());
    assert_eq!(served.connections(), 1);
}

#[test]
fn curl_gets_heads_alone() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    let head = String::from_utf8(curl(&["-I", &served.url("/length/5")])).unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("content-length: 5"),
        "{head}"
    );
    for code in ["204", "304"] {
        let url = served.url(&format!("/{code}"));
        assert_eq!(curl(&["-w", "%{http_code}", &url]), code.as_bytes());
    }
}

#[test]
fn curl_posts_two_megabytes_after_a_hundred() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    let body = pattern(2_000_000);
    let file = format!("@{}", upload("expect.bin", &body).display());
    let url = served.url("/echo");
    let stderr = run(Command::new("curl")
        .args(["-sv", "--max-time", "30", "-H", "Expect: 100-continue", "-o", "-"])
        .args(["--data-binary", &file, &url]));
    assert_eq!(stderr.stdout, body);
    let log = String::from_utf8_lossy(&stderr.stderr);
    assert!(log.contains("< HTTP/1.1 100 Continue"), "{log}");
}

#[test]
fn curl_uploads_in_chunks() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    let body = pattern(500_000);
    let file = std::fs::File::open(upload("chunks.bin", &body)).unwrap();
    let url = served.url("/echo");
    let echoed =
        run(Command::new("curl").args(["-sS", "--max-time", "30", "-T", "-", &url]).stdin(file));
    assert_eq!(echoed.stdout, body);
}

#[test]
fn curl_speaks_http_1_0() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    assert_eq!(curl(&["--http1.0", &served.url("/chunks/100000")]), pattern(100_000));
    let url = served.url("/length/9");
    let keep = curl(&["--http1.0", "-H", "Connection: keep-alive", &url, &url]);
    assert_eq!(keep, pattern(9).repeat(2));
    assert_eq!(served.connections(), 2);
}

#[test]
fn curl_is_told_of_a_close() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let settings = ServerSettings { keep_alive: KeepAlive::Off, ..ServerSettings::default() };
    let served = Served::start(settings);
    let url = served.url("/length/9");
    assert_eq!(curl(&[&url, &url]), pattern(9).repeat(2));
    assert_eq!(served.connections(), 2);
}

/// Everything that the server says to `bytes` until it ends the connection.
fn raw(served: &Served, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn requests_sent_far_ahead_are_all_answered_in_order() {
    let served = Served::start(ServerSettings::default());
    let mut bytes = Vec::new();
    for number in 0..200 {
        let body = format!("{number};");
        let length = body.len();
        write!(bytes, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
    }
    bytes.extend_from_slice(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    let said = raw(&served, &bytes);
    let bodies: Vec<_> = said.split("\r\n\r\n").filter_map(|part| part.split_once(';')).collect();
    let numbers: Vec<_> = bodies.iter().map(|(number, _)| number.parse::<u32>().unwrap()).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    assert!(said.ends_with("5\r\nhello\r\n0\r\n\r\n"), "{said:.200}");
}

#[test]
fn a_refusal_reaches_a_client_that_is_still_sending() {
    let served = Served::start(ServerSettings::default());
    let mut bytes = b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n".to_vec();
    bytes.extend_from_slice(&vec![b'x'; 500_000]);
    let said = raw(&served, &bytes);
    assert!(said.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{said:.200}");
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

#[test]
fn node_is_content() {
    if !has("node", "--version", "apt-get install nodejs") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    run(Command::new("node").arg(peer("client.js")).arg(served.url("")));
    assert_eq!(served.connections(), 1);
}

#[test]
fn go_is_content() {
    if !has("go", "version", "apt-get install golang-go") {
        return;
    }
    let served = Served::start(ServerSettings::default());
    run(Command::new("go").arg("run").arg(peer("client.go")).arg(served.url("")));
    assert_eq!(served.connections(), 1);
}

/// An nginx of our own, its folder, and a client's way to it.
struct Nginx {
    _running: support::Running,
    address: std::net::SocketAddr,
}

impl Nginx {
    fn start(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(root.join("files")).unwrap();
        std::fs::write(root.join("files/big.bin"), pattern(3_000_000)).unwrap();
        std::fs::write(root.join("files/small.html"), pattern(1_000)).unwrap();
        let address = free_address();
        let mut config = std::fs::File::create(root.join("nginx.conf")).unwrap();
        write!(
            config,
            "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
             events {{ }}
             http {{
               access_log off; client_max_body_size 10m;
               client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
               fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
               server {{
                 listen {address};
                 location / {{ root {root}/files; }}
                 location /chunked/ {{ alias {root}/files/; ssi on; ssi_types *; }}
                 location /close/ {{ alias {root}/files/; keepalive_timeout 0; }}
                 location /put/ {{ alias {root}/put/; dav_methods PUT; create_full_put_path on; }}
               }}
             }}",
            root = root.display()
        )
        .unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&root).arg("-c").arg(root.join("nginx.conf"));
        Self { _running: start(&mut command, address), address }
    }

    fn head(&self, path: &str) -> RequestHead {
        RequestHead::get(Scheme::Http, self.address.to_string(), path)
    }
}

#[test]
fn nginx_answers_many_requests_on_one_connection() {
    if !has("nginx", "-v", "apt-get install nginx") {
        return;
    }
    let nginx = Nginx::start("nginx-gets");
    let mut fetcher = Fetcher::connect(nginx.address, ClientSettings::default());
    let small = fetcher.fetch(&nginx.head("/small.html"), None);
    assert_eq!((small.status, small.body), (200, pattern(1_000)));
    assert_eq!(fetcher.fetch(&nginx.head("/big.bin"), None).body, pattern(3_000_000));
    let chunked = fetcher.fetch(&nginx.head("/chunked/small.html"), None);
    assert_eq!(chunked.body, pattern(1_000));
    assert_eq!(chunked.fields.find(b"content-length"), None, "it came in chunks");
    let head = RequestHead { method: Method::Head, ..nginx.head("/big.bin") };
    let answer = fetcher.fetch(&head, None);
    assert_eq!(answer.fields.find(b"content-length"), Some(&b"3000000"[..]));
    let tag = small.fields.find_str("etag").unwrap().to_owned();
    let fields = Fields::new().with("if-none-match", tag);
    let head = RequestHead { fields, ..nginx.head("/small.html") };
    let answer = fetcher.fetch(&head, None);
    assert_eq!((answer.status, answer.body.len()), (304, 0));
    let missing = fetcher.fetch(&nginx.head("/none"), None);
    assert_eq!((missing.status, fetcher.available_streams()), (404, 1));
}

#[test]
fn nginx_takes_uploads_of_either_framing_and_says_a_hundred() {
    if !has("nginx", "-v", "apt-get install nginx") {
        return;
    }
    let nginx = Nginx::start("nginx-puts");
    let mut fetcher = Fetcher::connect(nginx.address, ClientSettings::default());
    let body = pattern(600_000);
    let length = Fields::new().with("content-length", body.len().to_string());
    for (path, fields, informed) in [
        ("/put/length.bin", length.clone().with("expect", "100-continue"), vec![100]),
        ("/put/chunks.bin", Fields::new(), vec![]),
    ] {
        let head = RequestHead { method: Method::Put, fields, ..nginx.head(path) };
        let answer = fetcher.fetch(&head, Some(body.clone()));
        assert!(matches!(answer.status, 201 | 204), "{answer:?}");
        assert_eq!(answer.informed, informed);
        assert_eq!(fetcher.available_streams(), 1);
    }
}

#[test]
fn nginx_closes_when_either_side_says_so() {
    if !has("nginx", "-v", "apt-get install nginx") {
        return;
    }
    let nginx = Nginx::start("nginx-closes");
    let mut fetcher = Fetcher::connect(nginx.address, ClientSettings::default());
    assert_eq!(fetcher.fetch(&nginx.head("/close/small.html"), None).body, pattern(1_000));
    assert_eq!(fetcher.available_streams(), 0);
    let settings = ClientSettings { keep_alive: KeepAlive::Off, ..ClientSettings::default() };
    let mut fetcher = Fetcher::connect(nginx.address, settings);
    let answer = fetcher.fetch(&nginx.head("/chunked/small.html"), None);
    assert_eq!((answer.body, fetcher.available_streams()), (pattern(1_000), 0));
}
