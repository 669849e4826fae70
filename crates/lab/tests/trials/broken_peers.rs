//! Far sides that break the framing of their protocol, against the near side that trials run: the trial
//! fails, names the rule, tells the peer, and ends.

use crate::near_side;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use study::experiment::{Contender, Server, Settings, Tls, Transport};
use study::outcome::Outcome;
use wire::spdy::{Effort, Encoder, Frame};

/// Says this to the first connection, whatever it asks, and tells whether it heard the begin of a frame
/// before the end. There is no second connection.
fn far(answer: Vec<u8>, frame: [u8; 4]) -> (SocketAddr, JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut tcp, _) = listener.accept().unwrap();
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        // SETTINGS and the request, or the beginning of them: the answer does not depend on it.
        let _request = tcp.read(&mut piece).unwrap();
        let _gone = tcp.write_all(&answer);
        while let Ok(length @ 1..) = tcp.read(&mut piece) {
            said.extend_from_slice(&piece[..length]);
            if said.windows(4).any(|bytes| bytes == frame) {
                return true;
            }
        }
        false
    });
    (address, thread)
}

/// What a trial of two calls comes to against this far side. With one, the client would be done when it
/// fails, and a client that is done just leaves.
fn outcome(transport: Transport, address: SocketAddr) -> Outcome {
    let settings = Settings::usual(transport);
    let server = Server::default();
    let contender = Contender {
        name: "x".to_owned(),
        transport,
        tls: Tls::None,
        client: None,
        server,
        settings,
    };
    let url = json!({"scheme": "http", "host": "origin.test", "port": address.port(), "path": "/"});
    let call = json!({"url": url, "bytes": 5, "server_time": {"secs": 0, "nanos": 0}});
    near_side::outcome(&contender, &json!({"Calls": {"pattern": "Serial", "calls": [call, call]}}))
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut encoder, mut block) = (Encoder::new(Effort::BEST), Vec::new());
    encoder.begin();
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    encoder.finish(&mut block);
    block
}

fn frame(frame: Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}

/// SYN_REPLY for the first stream.
fn reply(block: &[u8]) -> Vec<u8> {
    frame(Frame::SynReply { stream: 1, fin: true, block })
}

/// What a client says when the session is at fault (SPDY §2.4.1), and when a stream is (§2.4.2).
const GOAWAY: [u8; 4] = [0x80, 3, 0, 7];
const RST_STREAM: [u8; 4] = [0x80, 3, 0, 3];

#[test]
fn a_far_side_that_breaks_spdy_fails_the_trial_which_names_the_rule() {
    let open = block(&[(":host", "a.test"), (":path", "/"), (":scheme", "http")]);
    let syn = Frame::SynStream {
        stream: 3,
        associated: 1,
        priority: 0,
        fin: false,
        unidirectional: true,
        block: &open,
    };
    let bomb = "\u{1}".repeat(16 << 20);
    let short = block(&[(":version", "HTTP/1.1")]);
    let cases = [
        (vec![0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 2], "§2.2.1: a version that is not 3", GOAWAY),
        (vec![0x80, 3, 0, 6, 0, 0, 0, 3, 0, 0, 2], "§2.6.5: PING has 4 bytes", GOAWAY),
        (vec![0, 0, 0, 0, 0, 0, 0, 1, 7], "§2.2.2: DATA belongs to a stream", GOAWAY),
        (vec![0x80, 3, 0, 2, 0, 0xff, 0xff, 0xff], "§2.2.1: the control frame is larger", GOAWAY),
        (frame(syn), "§2.3.2: a stream that the peer cannot open", GOAWAY),
        (reply(b"this is no zlib stream"), "§2.6.10.1: the header block cannot be", GOAWAY),
        (reply(&block(&[("bomb", &bomb)])), "§2.6.10: the header block inflates without", GOAWAY),
        (reply(&short), "§3.2.2: :status is missing", RST_STREAM),
    ];
    for (answer, rule, told) in cases {
        let (address, far) = far(answer, told);
        let outcome = outcome(Transport::Spdy, address);
        let was_told = far.join().unwrap();
        let Outcome::Failed { reason } = outcome else { panic!("{rule}: {outcome:?}") };
        let first = reason.split_once("the first ").unwrap().1;
        assert!(first.contains("SPDY ") && first.contains(rule), "{rule}: {reason}");
        assert!(was_told, "{rule}: the peer is not told");
    }
}
