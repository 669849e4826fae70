//! A server after the preface under arbitrary bytes in arbitrary pieces: it takes all of them, what it
//! says is whole frames, and what it keeps is bounded.

use crate::{decode, reached};
use bytes::Bytes;
use endpoint::SendBuf;
use proto::h2::{Server, Settings};
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, Connection, ConnectionState, Event, Fin, ResponseHead, ServerConnection,
    Status,
};
use trace::Tracer;
use unit::Instant;
use wire::h2::{FrameHeader, HEADER_LENGTH, PREFACE};

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, bool, &[u8])>(input) else { return };
    let (size, answers, bytes) = input;
    let settings = Settings { max_concurrent_streams: 4, ..Settings::server() };
    let turns = Box::new(RoundRobin::default());
    let mut server = Server::new(Instant::ZERO, settings, turns, Tracer::off());
    let mut out = SendBuf::new();
    let mut hear = |server: &mut Server, mut piece: &[u8]| {
        while let Some(event) = server.handle_bytes(Instant::ZERO, &mut piece) {
            reached::note_event(&event);
            match event {
                Event::Request { stream, .. } if answers => {
                    let _ = server.respond(stream, &ResponseHead::new(Status::OK), Fin::More);
                    let _ = server.send(stream, Bytes::from_static(&[7; 900]), Fin::Last);
                }
                Event::Data { stream, data, .. } => server.consume(stream, data.len()),
                _ => {}
            }
        }
        assert!(piece.is_empty());
        server.poll_transmit(Instant::ZERO, &mut out, 1000);
    };
    hear(&mut server, PREFACE);
    for piece in bytes.chunks(usize::from(size).max(1)) {
        hear(&mut server, piece);
    }
    server.handle_eof(Instant::ZERO);
    hear(&mut server, b"");
    assert_eq!(server.state(), ConnectionState::Closed);
    server.poll_transmit(Instant::ZERO, &mut out, usize::MAX / 2);
    let sent = out.to_vec();
    let mut rest = &sent[..];
    while let Some((header, tail)) = rest.split_first_chunk::<HEADER_LENGTH>() {
        rest = tail.get(FrameHeader::parse(header).length as usize..).expect("whole frames");
    }
    assert!(rest.is_empty());
}
