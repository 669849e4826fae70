//! A server under arbitrary bytes in arbitrary pieces: it takes all of them, and what it says is responses.

use crate::{decode, reached};
use endpoint::SendBuf;
use proto::h1::{Server, ServerSettings};
use proto::{ByteStreamConnection, Connection, Event, Fin, ResponseHead, ServerConnection, Status};
use trace::Tracer;
use unit::Instant;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let settings = ServerSettings { max_pipelined: 4, ..ServerSettings::default() };
    let mut server = Server::new(Instant::ZERO, settings, Tracer::off());
    let mut out = SendBuf::new();
    let mut hear = |server: &mut Server, mut piece: &[u8]| {
        while let Some(event) = server.handle_bytes(Instant::ZERO, &mut piece) {
            reached::note_event(&event);
            match event {
                Event::Request { stream, .. } => {
                    let _ = server.respond(stream, &ResponseHead::new(Status::OK), Fin::Last);
                }
                Event::Data { stream, data, .. } => server.consume(stream, data.len()),
                _ => {}
            }
        }
        assert!(piece.is_empty());
        server.poll_transmit(Instant::ZERO, &mut out, 1000);
    };
    for piece in bytes.chunks(usize::from(size).max(1)) {
        let backlog = server.take_backlog();
        hear(&mut server, &backlog);
        hear(&mut server, piece);
    }
    server.handle_eof(Instant::ZERO);
    hear(&mut server, b"");
    assert!(out.is_empty() || out.to_vec().starts_with(b"HTTP/1.1 "));
}
