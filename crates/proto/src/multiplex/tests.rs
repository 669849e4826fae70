//! What the tests of every framing share.

pub(crate) mod pair;

use crate::connection::{ByteStreamConnection, Event, Fin};
use unit::Instant;

/// An event without its borrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owned {
    Data(u64, Vec<u8>, bool),
    Other(String),
}

/// Gives a connection bytes, which it takes all; returns the events.
pub(crate) fn events(
    connection: &mut impl ByteStreamConnection,
    now: Instant,
    bytes: &[u8],
) -> Vec<Owned> {
    let mut input = bytes;
    let mut seen = Vec::new();
    while let Some(event) = connection.handle_bytes(now, &mut input) {
        seen.push(match event {
            Event::Data { stream, data, fin } => {
                Owned::Data(stream.0, data.to_vec(), fin == Fin::Last)
            }
            other => Owned::Other(format!("{other:?}")),
        });
    }
    assert!(input.is_empty(), "all bytes are taken");
    seen
}
