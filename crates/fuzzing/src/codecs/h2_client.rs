//! A client that has asked and sends a body, under arbitrary bytes in arbitrary pieces: it takes all of
//! them and gives no stream more than one end.

use crate::{decode, reached};
use bytes::Bytes;
use endpoint::SendBuf;
use proto::h2::{Client, Settings};
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, Event, Fin, RequestHead,
    Scheme,
};
use trace::Tracer;
use unit::Instant;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, bool, &[u8])>(input) else { return };
    let (size, enable_push, bytes) = input;
    let settings = Settings { enable_push, ..Settings::client() };
    let turns = Box::new(RoundRobin::default());
    let mut client = Client::new(Instant::ZERO, settings, turns, Tracer::off());
    let head = RequestHead::get(Scheme::Http, "fuzz.test", "/");
    for fin in [Fin::Last, Fin::More, Fin::Last] {
        let stream = client.request(Instant::ZERO, &head, fin).expect("three fit");
        if fin == Fin::More {
            client.send(stream, Bytes::from(vec![1; 100_000]), Fin::Last).expect("a body follows");
        }
    }
    let mut out = SendBuf::new();
    let mut ended = Vec::new();
    let mut hear = |client: &mut Client, mut piece: &[u8]| {
        while let Some(event) = client.handle_bytes(Instant::ZERO, &mut piece) {
            reached::note_event(&event);
            match event {
                Event::Data { stream, data, fin } => {
                    client.consume(stream, data.len());
                    if fin == Fin::Last {
                        ended.push(stream);
                    }
                }
                Event::Response { stream, fin: Fin::Last, .. } | Event::Trailers { stream, .. } => {
                    ended.push(stream);
                }
                _ => {}
            }
        }
        assert!(piece.is_empty());
        client.poll_transmit(Instant::ZERO, &mut out, 1000);
    };
    for piece in bytes.chunks(usize::from(size).max(1)) {
        hear(&mut client, piece);
    }
    client.handle_eof(Instant::ZERO);
    hear(&mut client, b"");
    assert_eq!(client.state(), ConnectionState::Closed);
    let ends = ended.len();
    ended.sort();
    ended.dedup();
    assert_eq!(ended.len(), ends);
}
