//! What a connection needs while a request is under way, and not between two.

use super::exchange::Exchange;
use super::known::KnownLines;
use crate::h1::outgoing::Outgoing;
use crate::message::RequestHead;
use std::collections::VecDeque;

/// Room for requests and their answers. Whoever drives many connections lends it to each while it has something to do
/// ([`Server::lend`](super::Server::lend)): what was used a moment ago is in the processor's caches, and a connection's
/// own of some milliseconds ago is not. A connection that is lent none makes its own.
#[derive(Debug, Default)]
pub struct Room {
    /// Empty while it is not lent: only its memory counts.
    pub(super) exchanges: VecDeque<Exchange>,
    /// What the exchange that ended last has left, for the next.
    pub(super) out: Outgoing,
    /// A head whose buffers the next request takes.
    pub(super) head: RequestHead,
    pub(super) known: KnownLines,
}

#[cfg(test)]
impl Room {
    /// Whether it holds a request's field lines.
    pub(in crate::h1) fn keeps_lines(&self) -> bool {
        !self.known.is_empty()
    }
}
