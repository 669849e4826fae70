//! Tests of the machines: what they say and hear, as text.

mod buffers;
mod client;
mod pair;

mod server;
mod smuggling;

use super::*;
use crate::{
    ByteStreamConnection, Connection, Error, Event, Fields, Fin, RequestHead, ResponseHead, Status,
    StreamId,
};
use endpoint::SendBuf;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

const NOW: Instant = Instant::from_nanos(1_000_000_000);

/// An event that owns its bytes; neighbouring pieces of a body are one.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    Request(u64, RequestHead, Fin),
    Informational(u64, ResponseHead),
    Response(u64, ResponseHead, Fin),
    Data(u64, Vec<u8>, Fin),
    Trailers(u64, Fields),
    Reset(u64, Error),
    Writable(u64),
    Closed(Option<Error>),
}

fn push(told: &mut Vec<Told>, event: Event<'_>) {
    let next = match event {
        Event::Request { stream, head, fin } => Told::Request(stream.0, *head, fin),
        Event::Informational { stream, head } => Told::Informational(stream.0, head),
        Event::Response { stream, head, fin } => Told::Response(stream.0, head, fin),
        Event::Data { stream, data, fin } => {
            if let Some(Told::Data(id, bytes, Fin::More)) = told.last_mut()
                && *id == stream.0
            {
                bytes.extend_from_slice(data);
                let whole = Told::Data(stream.0, std::mem::take(bytes), fin);
                told.pop();
                told.push(whole);
                return;
            }
            Told::Data(stream.0, data.to_vec(), fin)
        }
        Event::Trailers { stream, fields } => Told::Trailers(stream.0, fields),
        Event::Reset { stream, error } => Told::Reset(stream.0, error),
        Event::Writable { stream } => Told::Writable(stream.0),
        Event::Closed { error } => Told::Closed(error),
        other => panic!("not an event of HTTP/1.1: {other:?}"),
    };
    told.push(next);
}

/// Hands `bytes` over in pieces; consumes bodies at once.
fn hear(connection: &mut impl ByteStreamConnection, pieces: &[&[u8]]) -> Vec<Told> {
    hear_at(connection, NOW, pieces)
}

fn hear_at(
    connection: &mut impl ByteStreamConnection,
    now: Instant,
    pieces: &[&[u8]],
) -> Vec<Told> {
    let mut told = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = connection.handle_bytes(now, &mut input) {
            if let Event::Data { stream, data, .. } = &event {
                connection.consume(*stream, data.len());
            }
            push(&mut told, event);
        }
        assert!(input.is_empty(), "every byte is taken");
    }
    told
}

/// Everything that the connection has to say.
fn say(connection: &mut impl ByteStreamConnection) -> String {
    let mut out = SendBuf::new();
    while connection.wants_transmit() {
        connection.poll_transmit(NOW, &mut out, 16 * 1024);
    }
    String::from_utf8(out.to_vec()).unwrap()
}

fn ok() -> ResponseHead {
    ResponseHead::new(Status::OK)
}

fn status(code: u16) -> ResponseHead {
    ResponseHead::new(Status::new(code).unwrap())
}

fn server(settings: ServerSettings) -> Server {
    Server::new(NOW, settings, Tracer::off())
}

fn client(settings: ClientSettings) -> Client {
    Client::new(NOW, settings, Tracer::off())
}

fn code(error: &Error) -> u64 {
    match error {
        Error::PeerViolation { code, .. } => *code,
        other => panic!("not a violation: {other}"),
    }
}
