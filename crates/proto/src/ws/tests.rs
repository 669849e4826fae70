//! What the tests share: ends to speak with, and frames written by hand.

mod close;
mod frames;
mod handshake;
mod pair;

use super::{Agreed, Connection, Event, Role, Settings};
use endpoint::SendBuf;
use trace::Tracer;
use unit::{Instant, Seed};
use wire::ws::{FrameHeader, OpCode, mask};

const NOW: Instant = Instant::ZERO;

fn server_with(settings: Settings, agreed: &Agreed) -> Connection {
    Connection::new(NOW, Role::Server, settings, agreed, Tracer::off())
}

fn server() -> Connection {
    server_with(Settings::default(), &Agreed::default())
}

fn client_with(settings: Settings, agreed: &Agreed) -> Connection {
    Connection::new(NOW, Role::Client { masks: Seed(1) }, settings, agreed, Tracer::off())
}

fn client() -> Connection {
    client_with(Settings::default(), &Agreed::default())
}

/// Every event that these bytes make.
fn hear(connection: &mut Connection, mut bytes: &[u8]) -> Vec<Event> {
    let events = std::iter::from_fn(|| connection.handle_bytes(NOW, &mut bytes)).collect();
    assert!(bytes.is_empty(), "a connection takes all bytes");
    events
}

/// Everything that the connection has to say.
fn say(connection: &mut Connection) -> Vec<u8> {
    let mut out = SendBuf::new();
    while connection.wants_transmit() {
        connection.poll_transmit(NOW, &mut out, 1000);
    }
    out.to_vec()
}

/// A client's frame.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(first, payload);
    let header = bytes.len() - payload.len();
    bytes[1] |= 0x80;
    let key = [1, 2, 3, 4];
    mask(&mut bytes[header..], key, 0);
    bytes.splice(header..header, key);
    bytes
}

/// A server's frame with this first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u64;
    let header = FrameHeader { fin: true, rsv1: false, op_code: OpCode::Text, mask: None, length };
    let mut bytes = Vec::new();
    header.put(&mut bytes);
    bytes[0] = first;
    bytes.extend_from_slice(payload);
    bytes
}

/// The code of the Close frame that a server's bytes are.
fn close_code(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0x88, length, high, low, ..] if *length >= 2 => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}
