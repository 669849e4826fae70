//! Floods of HTTP/2's kind: frames that are cheap to make and cost the server work. Each is told so (RFC 9113 §10.5,
//! ENHANCE_YOUR_CALM) and ended, whether the attacker reads or not.

use crate::bench::Bench;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, frame, goaway, preface, request,
};
use crate::served::Served;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that a flood may make the server hold.
const BOUND: u64 = 24 << 20;

/// Connections that flood at a time.
const CONNECTIONS: usize = 4;

/// So long nobody is flooded.
const FOR_EVER: Duration = Duration::from_secs(60);

/// RFC 9113 §7
const ENHANCE_YOUR_CALM: u32 = 0xb;

/// What is said at first, and each time after that.
type Flood = (&'static str, Vec<u8>, fn(u32) -> Vec<u8>);

fn floods() -> Vec<Flood> {
    let begun = || [preface(), request(1, "/discard", END_HEADERS)].concat();
    vec![
        // CVE-2023-44487
        ("rapid reset", preface(), |turn| {
            let stream = 2 * turn + 1;
            let asked = request(stream, "/big.bin", END_STREAM | END_HEADERS);
            [asked, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
        }),
        // CVE-2025-8671: the server is made to reset, by a window that overflows.
        ("made to reset", preface(), |turn| {
            let stream = 2 * turn + 1;
            let asked = request(stream, "/big.bin", END_STREAM | END_HEADERS);
            [asked, frame(WINDOW_UPDATE, 0, stream, b"\x7f\xff\xff\xff")].concat()
        }),
        // CVE-2019-9515
        ("SETTINGS", preface(), |_| frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x64")),
        // CVE-2019-9512
        ("PING", preface(), |turn| frame(PING, 0, 0, &u64::from(turn).to_be_bytes())),
        // VU#421644
        (
            "CONTINUATION",
            [preface(), frame(HEADERS, END_STREAM, 1, b"\x82\x86\x84")].concat(),
            |_| frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y"),
        ),
        // CVE-2019-9518
        ("empty DATA", begun(), |_| frame(DATA, 0, 1, b"")),
        ("WINDOW_UPDATE", begun(), |_| frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])),
        ("PRIORITY", preface(), |turn| frame(PRIORITY, 0, 2 * turn + 1, &[0, 0, 0, 0, 9])),
        ("frames of no kind", preface(), |_| frame(0x77, 0, 0, b"nothing")),
    ]
}

/// Floods until the server has had enough. The server's bytes, where they are read.
fn flood((name, opening, each): &Flood, mut stream: TcpStream, reads: Reads) -> Vec<u8> {
    let reader = (reads == Reads::All).then(|| {
        let mut stream = stream.try_clone().unwrap();
        thread::spawn(move || {
            let mut all = Vec::new();
            // A reset, as whoever goes on after the end gets one, takes nothing away that came before.
            let _how = stream.read_to_end(&mut all);
            all
        })
    });
    let (began, mut said, mut turn) = (Instant::now(), opening.clone(), 0);
    // What comes after its last word is thrown away for a second, and then refused.
    while stream.write_all(&said).is_ok() {
        assert!(began.elapsed() < FOR_EVER, "the server bears {turn} frames of {name}");
        said.clear();
        for _ in 0..100 {
            said.extend(each(turn));
            turn += 1;
        }
    }
    reader.map(|reader| reader.join().unwrap()).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    All,
    Nothing,
}

fn is_borne(reads: Reads) {
    let bench = Bench::new();
    // No time-out ends a flood before its own bound does.
    let served = Served::start(&bench, "");
    for one in &floods() {
        let name = one.0;
        let told: Vec<Vec<u8>> = thread::scope(|scope| {
            let floods: Vec<_> = (0..CONNECTIONS)
                .map(|_| {
                    let stream = served.connect();
                    scope.spawn(move || flood(one, stream, reads))
                })
                .collect();
            assert_eq!(served.get("/b.txt"), (200, 10), "amid {name}");
            floods.into_iter().map(|flood| flood.join().unwrap()).collect()
        });
        let grown = served.grown();
        assert!(grown < BOUND, "{name}: {grown} bytes more");
        if reads == Reads::All {
            for bytes in told {
                assert_eq!(goaway(&bytes), Some(ENHANCE_YOUR_CALM), "{name}");
            }
        }
        served.await_release();
    }
    served.recovers(BOUND);
    served.end();
}

#[test]
fn floods_are_told_to_calm_down_and_ended() {
    is_borne(Reads::All);
}

#[test]
fn floods_of_peers_that_read_nothing_are_ended() {
    is_borne(Reads::Nothing);
}
