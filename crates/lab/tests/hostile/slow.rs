//! Peers that read nothing, say nothing, or say a little at a time.

use crate::bench::Bench;
use crate::frames::{
    CONTINUATION, END_HEADERS, END_STREAM, HEADERS, UPGRADE, frame, message, preface, request,
};
use crate::served::{BIG, SHORT, Served, client_hello};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes that an attack of this file may make a server hold; what it asks for is a hundred times as much.
const BOUND: u64 = 48 << 20;

/// Bytes that may stay when it is over: what an allocator does not give back.
const REST: u64 = 24 << 20;

/// The server sends, finds no taker, and ends the connection for it; meanwhile others are served.
fn is_ended_in_bounded_memory(served: &Served, readers: Vec<TcpStream>) {
    for mut reader in &readers {
        reader.read_exact(&mut [0; 1]).unwrap();
    }
    assert_eq!(served.get("/b.txt"), (200, 10));
    std::thread::sleep(Duration::from_millis(300));
    let grown = served.grown();
    assert!(grown < BOUND, "{grown} bytes more");
    // The readers are still there, and read nothing.
    served.recovers(REST);
    drop(readers);
}

#[test]
fn readers_of_big_bodies_that_read_nothing_are_ended_over_http_1_1() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let readers = (0..50).map(|_| {
        let mut stream = served.connect();
        stream.write_all(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stream
    });
    is_ended_in_bounded_memory(&served, readers.collect());
    served.end();
}

#[test]
fn readers_of_big_bodies_that_read_nothing_are_ended_over_tls() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let readers = (0..20).map(|_| {
        let mut secured = served.connect_securely();
        secured.send(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        secured.stream
    });
    is_ended_in_bounded_memory(&served, readers.collect());
    served.end();
}

#[test]
fn readers_of_big_bodies_that_read_nothing_are_ended_over_http_2() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let readers = (0..5).map(|_| {
        let mut stream = served.connect();
        let mut said = preface();
        for index in 0..50 {
            said.extend(request(2 * index + 1, "/big.bin", END_STREAM | END_HEADERS));
        }
        stream.write_all(&said).unwrap();
        stream
    });
    is_ended_in_bounded_memory(&served, readers.collect());
    served.end();
}

/// A stream without credit: the connection reads all that comes, and the body waits for ever.
#[test]
fn streams_that_get_no_credit_are_ended_over_http_2() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let mut stream = served.connect();
    let mut said = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE of 0 (RFC 9113 §6.5.2), and its own acknowledgement.
    said.extend(b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x04\x01\0\0\0\0");
    for index in 0..100 {
        said.extend(request(2 * index + 1, "/big.bin", END_STREAM | END_HEADERS));
    }
    stream.write_all(&said).unwrap();
    let mut all = Vec::new();
    // In good order or by a reset: it ends.
    if let Err(error) = stream.read_to_end(&mut all) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    assert!(all.len() < BIG / 100, "{} bytes", all.len());
    served.recovers(REST);
    served.end();
}

#[test]
fn a_websocket_whose_echoes_nobody_reads_is_ended() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let talkers = (0..8).map(|_| {
        let mut stream = served.connect();
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        stream.write_all(UPGRADE).unwrap();
        let message = message(1 << 20);
        let stuck = (0..1_000).find_map(|_| stream.write_all(&message).err());
        let stuck = stuck.expect("the server stops to read where its echoes are not read");
        assert!(
            matches!(
                stuck.kind(),
                ErrorKind::WouldBlock
                    | ErrorKind::TimedOut
                    | ErrorKind::ConnectionReset
                    | ErrorKind::BrokenPipe
            ),
            "{stuck}"
        );
        stream
    });
    is_ended_in_bounded_memory(&served, talkers.collect());
    served.end();
}

#[test]
fn connections_that_never_speak_are_closed() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let clear: Vec<TcpStream> = (0..200).map(|_| served.connect()).collect();
    let secure: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(served.tls).unwrap()).collect();
    assert_eq!(served.get("/b.txt"), (200, 10));
    served.recovers(REST);
    drop((clear, secure));
    served.end();
}

/// One byte at a time, which counts as speaking, of what never becomes whole.
#[test]
fn heads_and_handshakes_that_come_in_driblets_are_given_up() {
    let bench = Bench::new();
    let served = Served::start(&bench, SHORT);
    let hello = client_hello();
    let mut cut_block = preface();
    cut_block.extend(frame(HEADERS, END_STREAM, 1, b"\x82\x86\x84"));
    let cut_frame = [preface(), frame(CONTINUATION, 0, 1, &[0; 50])[..20].to_vec()].concat();
    let beginnings: [(std::net::SocketAddr, Vec<u8>); 6] = [
        (served.clear, b"GET /a.txt HT".to_vec()),
        (served.clear, b"GET /a.txt HTTP/1.1\r\nHost: a\r\nX: ".to_vec()),
        (
            served.clear,
            b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\nGET /b.txt HTTP/1.1\r\nX: ".to_vec(),
        ),
        (served.clear, cut_block),
        (served.clear, cut_frame),
        (served.tls, hello[..hello.len() / 2].to_vec()),
    ];
    let is_over = Arc::new(AtomicBool::new(false));
    let drippers: Vec<_> = beginnings
        .into_iter()
        .map(|(address, beginning)| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&beginning).unwrap();
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let _ended = stream.write_all(b"x");
                    std::thread::sleep(Duration::from_millis(50));
                }
            })
        })
        .collect();
    served.recovers(REST);
    is_over.store(true, Ordering::Relaxed);
    drippers.into_iter().for_each(|dripper| dripper.join().unwrap());
    served.end();
}
