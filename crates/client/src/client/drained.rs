//! A response over HTTP/1.1 ends where its head says, and bytes may follow all the same: a Content-Length that is too
//! small, or broken framing (RFC 9112 §6.3). Where they are blamed on it (`Surplus::Blamed`), a whole response waits
//! until the driver has drained the socket, and its connection takes no other request until then.
//!
//! The one rule: a response ends exactly once, as whole or as failed.

use super::Client;
use super::events::Ready;
use crate::config::Surplus;
use crate::connection::{Exchange, Exchanges, PooledConnection};
use crate::failure::Failure;
use crate::work::Work;
use endpoint::Action;
use proto::StreamId;
use std::collections::BTreeMap;
use transport::Protocol;
use unit::Instant;

impl<W: Work> Client<W> {
    /// Whether the response on `stream`, which has all that it announced, has to wait for what may follow it. If so, it
    /// waits from now on.
    pub(super) fn awaits_drained(&mut self, exchanges: &mut Exchanges, stream: StreamId) -> bool {
        let is_judged =
            self.config.surplus == Surplus::Blamed && exchanges.protocol == Some(Protocol::Http1);
        let Some(exchange) = exchanges.streams.get(&stream) else { return false };
        // What nobody wants any more is not judged; nor is one that ended before its request did.
        if !is_judged || exchange.fetch.is_none() || !exchange.upload.is_empty() {
            return false;
        }
        exchanges.awaiting = Some(stream);
        self.actions.push_back(Action::AwaitDrained(super::socket_of(exchanges.connection)));
        true
    }

    /// Nothing followed, or can follow any more: the response that waits is whole.
    pub(super) fn settle(&mut self, now: Instant, connection: &mut PooledConnection) {
        let PooledConnection { transport, exchanges, .. } = connection;
        if let Some(machine) = transport.machine()
            && let Some(stream) = exchanges.take_awaiting()
        {
            self.complete(&mut Ready { now, exchanges, machine }, stream);
        }
    }

    /// More bytes follow the response that waits, where one does.
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

    /// The exchanges that the end of the protocol's machine takes something from.
    pub(super) fn take_unfinished(&mut self) -> BTreeMap<StreamId, Exchange> {
        let mut taken = std::mem::take(&mut self.streams);
        let kept = self.awaiting.and_then(|stream| taken.remove_entry(&stream));
        self.streams.extend(kept);
        taken
    }
}
