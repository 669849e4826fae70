//! Connections that are reset, by RST, in every state that a connection can be in.

use crate::bench::Bench;
use crate::frames::{
    CUT_SYN_STREAM, DATA, END_HEADERS, END_STREAM, UPGRADE, frame, message, preface, request,
};
use crate::served::{Served, client_hello};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// At a time in each state.
const CONNECTIONS: usize = 20;

/// Bytes that may stay.
const REST: u64 = 24 << 20;

/// Closes by an RST: socket(7), SO_LINGER of no time.
fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// Says what `say` says on some connections, resets them all, and sees the server recover.
fn survives(served: &Served, state: &str, say: impl Fn() -> TcpStream) {
    let streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| say()).collect();
    assert_eq!(served.get("/b.txt"), (200, 10), "{state}");
    streams.into_iter().for_each(reset);
    served.await_release();
    assert_eq!(served.get("/b.txt"), (200, 10), "after resets {state}");
}

#[test]
fn resets_in_every_state_cost_others_nothing() {
    let bench = Bench::new();
    // Nobody is ended by a time-out here: whatever is released is released for the reset.
    let served = Served::start(&bench, "");
    let said = |bytes: Vec<u8>| {
        let mut stream = served.connect();
        stream.write_all(&bytes).unwrap();
        stream
    };
    // What is answered has begun to be: the state is reached.
    let heard = |bytes: Vec<u8>| {
        let mut stream = said(bytes);
        stream.read_exact(&mut [0; 1]).unwrap();
        stream
    };
    let upload =
        b"POST /discard HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome".to_vec();
    let big = b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let posted = [preface(), request(1, "/discard", END_HEADERS)].concat();
    let cut = |mut bytes: Vec<u8>, frame: Vec<u8>| {
        bytes.extend(&frame[..frame.len() / 2]);
        bytes
    };
    let states: [(&str, Vec<u8>); 9] = [
        ("before anything", Vec::new()),
        ("amid a request's line", b"GET /a.t".to_vec()),
        ("amid a request's head", b"GET /a.txt HTTP/1.1\r\nHos".to_vec()),
        ("amid a request's body", upload),
        ("amid HTTP/2's preface", b"PRI * HTTP/2.0\r\n\r\nS".to_vec()),
        ("amid HEADERS", cut(preface(), request(1, "/big.bin", END_HEADERS))),
        ("amid DATA of a request", cut(posted, frame(DATA, 0, 1, &[0; 1000]))),
        ("amid SYN_STREAM", CUT_SYN_STREAM.to_vec()),
        ("amid a WebSocket's handshake", UPGRADE[..60].to_vec()),
    ];
    for (state, bytes) in states {
        survives(&served, state, || said(bytes.clone()));
    }
    survives(&served, "amid an answer", || heard(big.clone()));
    let asked = [preface(), request(1, "/big.bin", END_STREAM | END_HEADERS)].concat();
    survives(&served, "amid DATA of an answer", || heard(asked.clone()));
    survives(&served, "amid a WebSocket's message", || {
        heard(cut(UPGRADE.to_vec(), message(100_000)))
    });
    survives(&served, "amid a WebSocket's echo", || heard([UPGRADE, &message(1 << 20)].concat()));
    survives(&served, "after FIN, amid an answer", || {
        let stream = heard(big.clone());
        stream.shutdown(Shutdown::Write).unwrap();
        stream
    });
    survives(&served, "after FIN, and nothing asked", || {
        let stream = said(Vec::new());
        stream.shutdown(Shutdown::Write).unwrap();
        stream
    });
    served.recovers(REST);
    served.end();
}

#[test]
fn resets_around_tls_cost_others_nothing() {
    let bench = Bench::new();
    let served = Served::start(&bench, "");
    let hello = client_hello();
    let said = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(served.tls).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    survives(&served, "before the greeting", || said(b""));
    survives(&served, "amid the greeting", || said(&hello[..hello.len() / 2]));
    survives(&served, "amid the handshake", || {
        let mut stream = said(&hello);
        stream.read_exact(&mut [0; 1]).unwrap();
        stream
    });
    survives(&served, "after the handshake", || served.connect_securely().stream);
    survives(&served, "amid an answer", || {
        let mut secured = served.connect_securely();
        secured.send(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        secured.receive();
        secured.stream
    });
    survives(&served, "after FIN", || {
        let secured = served.connect_securely();
        secured.stream.shutdown(Shutdown::Write).unwrap();
        secured.stream
    });
    served.recovers(REST);
    served.end();
}
