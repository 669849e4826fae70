//! What the protocols' machines tell, and what becomes of it.

use super::Client;
use crate::carrier::Carrier;
use crate::failure::Failure;
use crate::fetch::{Acted, FetchId};
use crate::redirect;
use crate::work::Work;
use proto::{Error, Event, Fin, ResponseHead, StreamId};
use unit::Instant;

impl<W: Work> Client<W> {
    /// Has the machine take `plain` and deals with all that it tells.
    pub(super) fn events(&mut self, now: Instant, carrier: &mut Carrier, plain: &mut &[u8]) {
        loop {
            if !plain.is_empty() {
                self.blame(now, carrier);
            }
            let Some(machine) = carrier.machine() else { return };
            let Some(event) = machine.handle_bytes(now, plain) else { return };
            self.event(now, carrier, event);
        }
    }

    fn event(&mut self, now: Instant, carrier: &mut Carrier, event: Event<'_>) {
        match event {
            Event::Response { stream, head, fin } => self.answered(now, carrier, stream, head, fin),
            Event::Data { stream, data, fin } => self.received(now, carrier, stream, (data, fin)),
            Event::Trailers { stream, .. } => self.complete(now, carrier, stream),
            Event::Reset { stream, error } => self.reset(now, carrier, stream, error),
            Event::Writable { stream } => carrier.upload(stream),
            // Nobody here wants what it did not ask for.
            Event::Promise { stream, .. } => {
                carrier.record.pushed += 1;
                if let Some(machine) = carrier.machine() {
                    machine.reset(now, stream);
                }
            }
            Event::Closed { error } => self.closed(now, carrier, error),
            // The pool is told of a draining connection when the events are through. Requests come to
            // servers only.
            Event::Informational { .. } | Event::Draining { .. } | Event::Request { .. } => {}
        }
    }

    /// The final head of a response.
    fn answered(
        &mut self,
        now: Instant,
        carrier: &mut Carrier,
        stream: StreamId,
        head: ResponseHead,
        fin: Fin,
    ) {
        let limit = self.config.redirects;
        if let Some(id) = carrier.fetch(stream)
            && let Some(fetch) = self.fetches.get_mut(&id)
        {
            fetch.answered(now, &head);
            if limit > 0 && redirect::is_redirect(&head) {
                // The rest of this response is read, so that the connection lives on, and dropped.
                carrier.disown(stream);
                match fetch.redirect(now, &head, limit) {
                    Ok(()) => self.admit(now, id),
                    Err(failure) => self.end(now, id, Err(failure)),
                }
            } else {
                self.work.handle_head(now, id, &head);
            }
        }
        if fin == Fin::Last {
            self.complete(now, carrier, stream);
        }
    }

    /// Bytes of a body.
    fn received(
        &mut self,
        now: Instant,
        carrier: &mut Carrier,
        stream: StreamId,
        (data, fin): (&[u8], Fin),
    ) {
        if let Some(machine) = carrier.machine() {
            machine.consume(stream, data.len());
        }
        if let Some(id) = carrier.fetch(stream)
            && let Some(fetch) = self.fetches.get_mut(&id)
        {
            fetch.received(now, data.len());
            let limit = self.config.longest_body.map_or(u64::MAX, |size| size.0);
            if fetch.body_bytes() > limit {
                carrier.exchanges.remove(&stream);
                if let Some(machine) = carrier.machine() {
                    machine.reset(now, stream);
                }
                return self.end(now, id, Err(Failure::TooLong { limit }));
            }
            if !data.is_empty() {
                self.work.handle_body(now, id, data);
            }
        }
        if fin == Fin::Last {
            self.complete(now, carrier, stream);
        }
    }

    /// Bytes of a body stand where the work wanted them.
    pub(super) fn filled(&mut self, now: Instant, carrier: &mut Carrier, bytes: usize) {
        let Some(machine) = carrier.machine() else { return };
        let Some(direct) = machine.direct_receive() else { return };
        let Some((stream, _)) = direct.expected_body() else { return };
        let fin = direct.body_received(now, bytes as u64);
        if let Some(id) = carrier.fetch(stream)
            && let Some(fetch) = self.fetches.get_mut(&id)
        {
            fetch.received(now, bytes);
            self.work.handle_filled(now, id, bytes);
        }
        if fin == Fin::Last {
            self.complete(now, carrier, stream);
        }
    }

    /// A response is whole.
    pub(super) fn complete(&mut self, now: Instant, carrier: &mut Carrier, stream: StreamId) {
        if self.waits_for_surplus(carrier, stream) {
            return self.wake.by(now);
        }
        let Some(exchange) = carrier.exchanges.remove(&stream) else { return };
        if !exchange.upload.is_empty()
            && let Some(machine) = carrier.machine()
        {
            // The server has answered without the rest of the request's body.
            machine.reset(now, stream);
        }
        self.rank(carrier);
        if let Some(id) = exchange.fetch {
            self.end(now, id, Ok(()));
        }
    }

    /// A stream ended before its time.
    fn reset(&mut self, now: Instant, carrier: &mut Carrier, stream: StreamId, error: Error) {
        let Some(exchange) = carrier.exchanges.remove(&stream) else { return };
        let Some(id) = exchange.fetch else { return };
        let acted = if error.is_unprocessed() { Acted::No } else { Acted::Certainly };
        self.rank(carrier);
        let place = carrier.place.clone();
        self.let_down(now, id, acted, Failure::Protocol { place, error });
    }

    /// The connection is over, and with it all that was under way on it.
    fn closed(&mut self, now: Instant, carrier: &mut Carrier, error: Option<Error>) {
        let exchanges = carrier.take_unsettled();
        self.rank(carrier);
        for exchange in exchanges.into_values() {
            let Some(id) = exchange.fetch else { continue };
            let acted = match &error {
                Some(error) if error.is_unprocessed() => Acted::No,
                // The server cut the connection; a kept one may have been closed before it was used.
                Some(Error::Truncated { .. }) | None => exchange.acted(),
                Some(_) => Acted::Certainly,
            };
            let place = carrier.place.clone();
            let failure = match &error {
                Some(error) => Failure::Protocol { place, error: error.clone() },
                None => Failure::Closed { place },
            };
            self.let_down(now, id, acted, failure);
        }
    }
}

impl Carrier {
    /// Whom a stream is for.
    fn fetch(&self, stream: StreamId) -> Option<FetchId> {
        self.exchanges.get(&stream)?.fetch
    }

    /// Nobody wants the rest of the stream.
    fn disown(&mut self, stream: StreamId) {
        if let Some(exchange) = self.exchanges.get_mut(&stream) {
            exchange.fetch = None;
        }
    }
}
