//! Requests within a handshake (0-RTT). The one rule: what may not come twice waits until the handshake is over (RFC 8470).

use super::Client;
use super::events::Ready;
use crate::connection::Exchanges;
use crate::fetch::State;
use crate::{FetchId, Work};
use proto::{EarlyData, ResponseHead, Status, StreamId};
use transport::{Negotiated, Protocol};
use unit::Instant;

impl<W: Work> Client<W> {
    /// The handshake of a connection that sent early data is over.
    pub(super) fn end_early(
        &mut self,
        now: Instant,
        exchanges: &mut Exchanges,
        negotiated: Negotiated<'_, Protocol>,
    ) {
        exchanges.is_early = false;
        if negotiated.early_data == EarlyData::Rejected {
            self.note_rejected(exchanges, negotiated.protocol);
        }
        for fetch in std::mem::take(&mut exchanges.deferred) {
            self.admit_deferred(now, fetch);
        }
    }

    /// The requests within the handshake were dropped. Over QUIC all of them are void, and made again when the machine says
    /// so. Over TCP the same bytes go a second time.
    fn note_rejected(&mut self, exchanges: &mut Exchanges, protocol: Protocol) {
        let early = exchanges.streams.values().filter(|exchange| exchange.is_early);
        for id in early.filter_map(|exchange| exchange.fetch) {
            let Some(fetch) = self.fetches.get_mut(&id) else { continue };
            match protocol.is_over_quic() {
                true => fetch.note_void(),
                false => fetch.note_sent_again(),
            }
        }
        if protocol.is_over_quic() {
            exchanges.record.requests = 0;
            exchanges.record.rounds = 0;
        }
    }

    /// Puts a fetch that waited for a handshake back into its origin's queue.
    pub(super) fn admit_deferred(&mut self, now: Instant, id: FetchId) {
        if self.fetches.get(&id).is_some_and(|fetch| fetch.state == State::Waiting) {
            self.admit(now, id);
        }
    }

    /// Whether a response says that its request came too early.
    pub(super) fn was_too_early(
        &self,
        on: &Ready<'_>,
        stream: StreamId,
        head: &ResponseHead,
    ) -> bool {
        let exchange = on.exchanges.streams.get(&stream);
        head.status == Status::TOO_EARLY && exchange.is_some_and(|exchange| exchange.is_early)
    }

    /// Makes the request of a stream again, once the handshake is over. The rest of the response is read and dropped.
    pub(super) fn make_again_after_handshake(
        &mut self,
        now: Instant,
        exchanges: &mut Exchanges,
        stream: StreamId,
    ) {
        let Some(id) = exchanges.fetch(stream) else { return };
        exchanges.disown(stream);
        self.wake.by(now + self.config.timeouts.stall);
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        fetch.refuse_early();
        match exchanges.is_early {
            true => exchanges.deferred.push(id),
            false => self.admit(now, id),
        }
    }
}
