//! The machines against each other over a multiplexer in memory, and against hand-made frames; no sockets, no clock.

mod attacks;
mod hand;
mod malformed;
mod pair;
mod priorities;
mod repeats;
mod times;
mod traced;
mod unidirectional;

use super::{Client, Server, Settings};
use crate::connection::{
    ClientConnection, Connection, ConnectionState, Event, Fin, ServerConnection,
};
use crate::error::Error;
use crate::message::{Method, RequestHead, ResponseHead, Scheme, Status};
use crate::multiplexed_connection::{MultiplexedConnection, StreamAction, StreamKind};
use crate::schedule::Policy;
use crate::stream_id::StreamId;
use bytes::Bytes;
use endpoint::SendBuf;
use trace::Tracer;
use unit::Instant;
use wire::Fields;

const NOW: Instant = Instant::ZERO;

fn client(settings: Settings) -> Client {
    let mut client = Client::new(NOW, settings, Policy::Auto.scheduler(), Tracer::off());
    client.handle_stream_limit(StreamKind::Bidirectional, 100);
    client
}

fn server(settings: Settings) -> Server {
    Server::new(NOW, settings, Policy::Auto.scheduler(), Tracer::off())
}

fn get(path: &str) -> RequestHead {
    RequestHead::get(Scheme::Https, "a.test", path)
}

/// An event with its bytes, so that it can be kept.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Request(u64, RequestHead, Fin),
    Informational(u64, u16),
    Response(u64, ResponseHead, Fin),
    Data(u64, Vec<u8>, Fin),
    Trailers(u64, Fields),
    Reset(u64, Error),
    Writable(u64),
    Draining(Option<u64>),
    Closed(Option<Error>),
}

fn owned(event: Event<'_>) -> Owned {
    match event {
        Event::Request { stream, head, fin } => Owned::Request(stream.0, *head, fin),
        Event::Informational { stream, head } => Owned::Informational(stream.0, head.status.code()),
        Event::Response { stream, head, fin } => Owned::Response(stream.0, head, fin),
        Event::Data { stream, data, fin } => Owned::Data(stream.0, data.to_vec(), fin),
        Event::Trailers { stream, fields } => Owned::Trailers(stream.0, fields),
        Event::Reset { stream, error } => Owned::Reset(stream.0, error),
        Event::Writable { stream } => Owned::Writable(stream.0),
        Event::Draining { last } => Owned::Draining(last.map(|last| last.0)),
        Event::Closed { error } => Owned::Closed(error),
        Event::Promise { .. } => panic!("a promise"),
    }
}

/// Hands bytes of a stream in, then what was deferred; gives the events.
fn give(
    machine: &mut impl MultiplexedConnection,
    stream: u64,
    bytes: &[u8],
    fin: Fin,
) -> Vec<Owned> {
    let mut events = Vec::new();
    let mut input = bytes;
    while let Some(event) = machine.handle_stream(NOW, StreamId(stream), &mut input, fin) {
        // As a driver that asks no more than it must.
        let is_told = input.is_empty() && event.ends(StreamId(stream));
        events.push(owned(event));
        if is_told {
            break;
        }
    }
    assert!(input.is_empty(), "a machine takes all bytes");
    while let Some(backlog) = machine.take_backlog() {
        events.extend(give(machine, backlog.stream.0, &backlog.bytes, backlog.fin));
    }
    while let Some(event) = machine.poll_event(NOW) {
        events.push(owned(event));
    }
    events
}
