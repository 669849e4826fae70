//! Many connections, slow readers, and stops at a bad time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use origin::{ExchangeEnd, Limits};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{BIG, Folder, Serving};
use testing::peers::has;

const ASK_BIG: &[u8] = b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The length of the body that comes, to the end of the connection.
fn body_length(mut stream: TcpStream) -> usize {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let head = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    all.len() - head - 4
}

#[test]
fn a_thousand_idle_connections_disturb_nobody() {
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    let mut idle: Vec<_> = (0..1000).map(|_| serving.connect()).collect();
    for stream in idle.iter_mut().step_by(100) {
        stream.write_all(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 1000];
        let count = stream.read(&mut answer).unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200 OK"));
    }
}

#[test]
fn idle_and_half_spoken_connections_are_closed_in_time() {
    let folder = Folder::new();
    let limits = Limits {
        idle: Duration::from_secs(1),
        head: Duration::from_secs(1),
        handshake: Duration::from_secs(1),
        ..Limits::default()
    };
    let serving = Serving::start_with(&folder.root(), limits);
    let http1 = [
        "",
        "GET /a.txt HT",
        "GET /a.txt HTTP/1.1\r\nHost:",
        "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    // A preface and SETTINGS.
    let http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // All of them speak at once: bytes that come to a connection that is already closed are answered with a reset.
    let say = |address, said: &'static str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        (said, stream)
    };
    let silent = http1.map(|said| say(serving.clear, said));
    let half_spoken = ["", "\x16\x03\x01"].map(|said| say(serving.tls, said));
    let (_, mut no_ping_answered) = say(serving.clear, http2);
    for (said, mut stream) in silent.into_iter().chain(half_spoken) {
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(ended.is_ok(), "{said:?}: {ended:?}");
    }
    // It is told GOAWAY with a PING, and reset when it has answered nothing for as long again.
    let mut came = Vec::new();
    let ended = no_ping_answered.read_to_end(&mut came).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset));
    assert!(came.windows(8).any(|window| window == b"draining"), "{came:?}");
}

#[test]
fn a_download_of_a_file_that_is_truncated_meanwhile_is_broken_off() {
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    let mut downloading = serving.connect();
    downloading.write_all(ASK_BIG).unwrap();
    downloading.read_exact(&mut [0; 4]).unwrap();
    let file = std::fs::File::options().write(true).open(folder.root().join("big.bin")).unwrap();
    // Beyond what is on its way.
    let left = BIG / 2 + 1_234;
    file.set_len(left as u64).unwrap();
    let mut came = Vec::new();
    let ended = downloading.read_to_end(&mut came).map_err(|error| error.kind());
    assert!(matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)), "{ended:?}");
    assert!(came.len() < left + 1_000, "{} bytes", came.len());
    assert_eq!(serving.log.recv().unwrap().end, ExchangeEnd::CutOff);
}

#[test]
fn a_stop_finishes_the_download_that_is_under_way() {
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    let (mut downloading, mut idle) = (serving.connect(), serving.connect());
    idle.write_all(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let first = serving.log.recv().unwrap();
    assert_eq!(first.path, "/a.txt");
    downloading.write_all(ASK_BIG).unwrap();
    downloading.read_exact(&mut [0; 4]).unwrap();
    serving.stop.stop();
    assert_eq!(body_length(idle), 10, "an idle connection is closed at once");
    assert!(TcpStream::connect(serving.clear).is_err(), "nobody listens any more");
    assert_eq!(body_length(downloading), BIG);
    let last = serving.log.recv().unwrap();
    assert_eq!((last.end, last.sent), (ExchangeEnd::Done, BIG as u64));
    serving.join();
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_file_is_logged_with_what_went_out() {
    let folder = Folder::with_big_file();
    let serving = Serving::start_with(&folder.root(), Limits::default());
    let mut leaves = serving.connect();
    leaves.write_all(ASK_BIG).unwrap();
    leaves.read_exact(&mut [0; 4]).unwrap();
    drop(leaves);
    let line = serving.log.recv().unwrap();
    assert_eq!(line.end, ExchangeEnd::CutOff);
    assert!(0 < line.sent && line.sent < BIG as u64, "{line:?}");
    serving.stop.stop();
    serving.join();
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    let folder = Folder::with_big_file();
    let limits = Limits { drain: Duration::from_millis(200), ..Limits::default() };
    let serving = Serving::start_with(&folder.root(), limits);
    let mut stuck = serving.connect();
    stuck.write_all(ASK_BIG).unwrap();
    stuck.read_exact(&mut [0; 4]).unwrap();
    serving.stop.stop();
    assert_eq!(serving.log.recv().unwrap().end, ExchangeEnd::CutOff);
    serving.join();
}

#[test]
fn a_stop_waits_for_a_slow_reader_and_not_for_one_that_stands_still() {
    let folder = Folder::with_big_file();
    let limits = Limits { drain: Duration::from_secs(600), ..Limits::default() };
    let serving = Serving::start_with(&folder.root(), limits);
    let (mut stuck, mut slow) = (serving.connect(), serving.connect());
    for reader in [&mut stuck, &mut slow] {
        reader.write_all(ASK_BIG).unwrap();
        reader.read_exact(&mut [0; 4]).unwrap();
    }
    serving.stop.stop();
    // Twice the time that a reader may stand still.
    let until = os::clock::now() + limits.drain_stall * 2;
    let mut read = 4;
    while os::clock::now() < until {
        std::thread::sleep(Duration::from_millis(100));
        let mut bytes = [0; 100_000];
        slow.read_exact(&mut bytes).unwrap();
        read += bytes.len();
    }
    let first = serving.log.recv().unwrap();
    assert_eq!(first.end, ExchangeEnd::CutOff, "who reads nothing is ended long before `drain`");
    read += slow.read_to_end(&mut Vec::new()).unwrap();
    assert!(read > BIG, "{read} bytes of head and body");
    assert_eq!(serving.log.recv().unwrap().end, ExchangeEnd::Done);
    serving.join();
}

#[test]
fn a_stop_finishes_an_http_2_download_over_tls_too() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    let mut curl = Command::new("curl")
        .args(["-sSk", "--http2", "--limit-rate", "60M", &serving.tls_url("/big.bin")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut body = curl.stdout.take().unwrap();
    body.read_exact(&mut [0; 4]).unwrap();
    serving.stop.stop();
    let mut rest = Vec::new();
    body.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len() + 4, BIG);
    assert!(curl.wait().unwrap().success());
    serving.join();
}
