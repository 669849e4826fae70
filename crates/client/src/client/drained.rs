//! Bytes after the end of an HTTP/1.1 response. The head says where a response ends, but more bytes may follow: its
//! Content-Length is too small, or its framing is broken (RFC 9112 §6.3). With `Surplus::Blamed` a complete response
//! therefore waits until the driver has drained the socket. Its connection takes no other request until then.
//!
//! The one rule: a response ends exactly once, complete or failed.

use super::Client;
use super::events::Ready;
use crate::connection::{Exchange, Exchanges, PooledConnection};
use crate::failure::Failure;
use crate::{Surplus, Work};
use endpoint::Action;
use proto::StreamId;
use std::collections::BTreeMap;
use transport::Protocol;
use unit::Instant;

impl<W: Work> Client<W> {
    /// Whether the response on `stream`, which is complete by its head, has to wait for the socket to be drained. If
    /// so, it begins to wait.
    pub(super) fn awaits_drained(&mut self, exchanges: &mut Exchanges, stream: StreamId) -> bool {
        let is_judged =
            self.config.surplus == Surplus::Blamed && exchanges.protocol == Some(Protocol::Http1);
        let Some(exchange) = exchanges.streams.get(&stream) else { return false };
        // A cancelled response is not checked, nor one that ended before its request did.
        if !is_judged || exchange.fetch.is_none() || !exchange.upload.is_empty() {
            return false;
        }
        exchanges.awaiting = Some(stream);
        self.actions.push_back(Action::AwaitDrained(super::socket_of(exchanges.connection)));
        true
    }

    /// The socket is drained, or has ended, and nothing followed: the waiting response is complete.
    pub(super) fn settle(&mut self, now: Instant, connection: &mut PooledConnection) {
        let PooledConnection { transport, exchanges, .. } = connection;
        if let Some(machine) = transport.machine()
            && let Some(stream) = exchanges.take_awaiting()
        {
            self.complete(&mut Ready { now, exchanges, machine }, stream);
        }
    }

    /// More bytes follow the waiting response, where there is one: it fails.
    pub(super) fn blame(&mut self, now: Instant, exchanges: &mut Exchanges) {
        let Some(stream) = exchanges.take_awaiting() else { return };
        let Some(id) = exchanges.streams.remove(&stream).and_then(|exchange| exchange.fetch) else {
            return;
        };
        let destination = exchanges.destination.clone();
        self.end(now, id, Err(Failure::Surplus { destination }));
    }
}

impl Exchanges {
    fn take_awaiting(&mut self) -> Option<StreamId> {
        self.awaiting.take().filter(|stream| self.streams.contains_key(stream))
    }

    /// Takes the exchanges that are incomplete when the protocol machine ends.
    pub(super) fn take_unfinished(&mut self) -> BTreeMap<StreamId, Exchange> {
        let mut taken = std::mem::take(&mut self.streams);
        let kept = self.awaiting.and_then(|stream| taken.remove_entry(&stream));
        self.streams.extend(kept);
        taken
    }
}
