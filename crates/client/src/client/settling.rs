//! A response over HTTP/1.1 ends where its head says, and bytes may follow all the same: a Content-Length that is too
//! small, or broken framing (RFC 9112 §6.3). Where they are blamed on it, a whole response waits until the driver has
//! looked at the socket once more, and its connection takes no other request until then.
//!
//! The one rule: a response is settled exactly once, as whole or as failed.

use super::Client;
use crate::carrier::{Carrier, Exchange, Settling};
use crate::config::Surplus;
use crate::failure::Failure;
use crate::work::Work;
use proto::StreamId;
use std::collections::BTreeMap;
use trace::Protocol;
use unit::Instant;

/// A driver handles what has arrived, then the time. What arrived while it did the former shows in its next turn: the
/// second time from now has everything behind it that was in the socket when the response ended.
const LOOKS: u8 = 2;

impl<W: Work> Client<W> {
    /// Whether the response on `stream`, which has all that it announced, is to wait; it waits from then on.
    pub(super) fn waits_for_surplus(&self, carrier: &mut Carrier, stream: StreamId) -> bool {
        let is_judged =
            self.config.surplus == Surplus::Blamed && carrier.record.protocol == Protocol::Http1;
        let Some(exchange) = carrier.exchanges.get(&stream) else { return false };
        // What nobody wants any more is not judged; nor is one that ended before its request did.
        if !is_judged || exchange.fetch.is_none() || !exchange.upload.is_empty() {
            return false;
        }
        let settling = carrier.settling.filter(|settling| settling.stream == stream);
        let Settling { looks, .. } =
            *carrier.settling.insert(settling.unwrap_or(Settling { stream, looks: 0 }));
        looks < LOOKS
    }

    /// The driver has looked at its sockets.
    pub(super) fn look(&mut self, now: Instant, carrier: &mut Carrier) {
        let Some(settling) = carrier.settling() else { return };
        settling.looks += 1;
        let stream = settling.stream;
        self.complete(now, carrier, stream);
    }

    /// Nothing can follow any more: what waits is whole.
    pub(super) fn settle(&mut self, now: Instant, carrier: &mut Carrier) {
        let Some(settling) = carrier.settling() else { return };
        settling.looks = LOOKS;
        let stream = settling.stream;
        self.complete(now, carrier, stream);
    }

    /// Bytes follow.
    pub(super) fn blame(&mut self, now: Instant, carrier: &mut Carrier) {
        let Some(&mut Settling { stream, .. }) = carrier.settling() else { return };
        let Some(id) = carrier.exchanges.remove(&stream).and_then(|exchange| exchange.fetch) else {
            return;
        };
        let place = carrier.place.clone();
        self.end(now, id, Err(Failure::Surplus { place }));
    }
}

impl Carrier {
    /// The exchange whose response waits to be settled.
    fn settling(&mut self) -> Option<&mut Settling> {
        let exchanges = &self.exchanges;
        self.settling.as_mut().filter(|settling| exchanges.contains_key(&settling.stream))
    }

    /// Whether a response waits to be settled.
    pub(crate) fn settles(&self) -> bool {
        self.settling.is_some_and(|settling| self.exchanges.contains_key(&settling.stream))
    }

    /// The exchanges that the end of the protocol's machine takes something from.
    pub(super) fn take_unsettled(&mut self) -> BTreeMap<StreamId, Exchange> {
        let settling = self.settling().map(|settling| settling.stream);
        let mut taken = std::mem::take(&mut self.exchanges);
        let kept = settling.and_then(|stream| taken.remove_entry(&stream));
        self.exchanges.extend(kept);
        taken
    }
}
