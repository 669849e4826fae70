//! Handles the events of the protocol machines.

use super::Client;
use super::pushes::keep_pushed;
use crate::alt_svc;
use crate::connection::{Exchanges, PooledConnection};
use crate::failure::Failure;
use crate::fetch::{Acted, Fetch};
use crate::redirect;
use crate::{EarlyHints, Work};
use page::Url;
use proto::{EarlyData, Error, Event, Fin, ResponseHead, Status, StreamId};
use transport::{ClientMachine, Connection, Handler, Negotiated, Protocol};
use unit::Instant;

/// A connection whose protocol machine takes commands.
pub(super) struct Ready<'c> {
    pub(super) now: Instant,
    pub(super) exchanges: &'c mut Exchanges,
    pub(super) machine: &'c mut ClientMachine,
}

/// Receives the events of one connection.
pub(super) struct Events<'c, W> {
    now: Instant,
    client: &'c mut Client<W>,
    exchanges: &'c mut Exchanges,
}

impl<W: Work> Handler<transport::Client> for Events<'_, W> {
    fn handle_ready(&mut self, _machine: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        self.exchanges.protocol = Some(negotiated.protocol);
        self.exchanges.is_early = negotiated.early_data == EarlyData::Sending;
        self.client.pool.learned(self.exchanges.origin, negotiated.protocol);
    }

    fn handle_handshake(&mut self, _: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        let Self { now, client, exchanges } = self;
        client.end_early(*now, exchanges, negotiated);
    }

    fn handle_event(&mut self, machine: &mut ClientMachine, event: Event<'_>) {
        let Self { now, client, exchanges } = self;
        client.handle_event(&mut Ready { now: *now, exchanges, machine }, event);
    }

    fn handle_input(&mut self, _machine: &mut ClientMachine) {
        self.client.blame(self.now, self.exchanges);
    }
}

impl<W: Work> Client<W> {
    /// Calls a connection's transport, and handles the events that follow.
    pub(super) fn drive<T>(
        &mut self,
        now: Instant,
        connection: &mut PooledConnection,
        act: impl FnOnce(&mut Connection<transport::Client>, &mut Events<'_, W>) -> T,
    ) -> T {
        let PooledConnection { transport, exchanges, .. } = connection;
        act(transport, &mut Events { now, client: self, exchanges })
    }

    fn handle_event(&mut self, on: &mut Ready<'_>, event: Event<'_>) {
        let event = match on.exchanges.has_talked {
            true => match self.heard_by_socket(on, event) {
                Some(event) => event,
                None => return,
            },
            false => event,
        };
        let event = match on.exchanges.pushes.is_empty() {
            true => Some(event),
            false => keep_pushed(on, event),
        };
        let Some(event) = event else { return };
        let ended = match event {
            Event::Response { stream, head, fin } => {
                self.answered(on, stream, &head);
                (fin == Fin::Last).then_some(stream)
            }
            Event::Data { stream, data, fin } => {
                on.machine.consume(stream, data.len());
                match self.received(on, stream, data) {
                    Ok(()) => (fin == Fin::Last).then_some(stream),
                    Err(TooLong) => None,
                }
            }
            Event::Trailers { stream, .. } => Some(stream),
            Event::Reset { stream, error } => {
                self.reset(on, stream, error);
                None
            }
            Event::Writable { stream } => {
                on.exchanges.upload(on.machine, stream);
                None
            }
            Event::Promise { stream, head, .. } => {
                self.promised(on, stream, &head);
                None
            }
            Event::Informational { stream, head } => {
                self.informed(on, stream, &head);
                None
            }
            Event::Closed { error } => {
                self.closed(on, error.as_ref());
                None
            }
            // The pool learns of a draining connection after the events. Requests come to servers only.
            Event::Draining { .. } | Event::Request { .. } => None,
        };
        if let Some(stream) = ended {
            self.ended(on, stream);
        }
    }

    /// An informational response.
    fn informed(&mut self, on: &Ready<'_>, stream: StreamId, head: &ResponseHead) {
        let speaks_hints = matches!(on.exchanges.protocol, Some(Protocol::Http2 | Protocol::Http3));
        if head.status != Status::EARLY_HINTS
            || !speaks_hints
            || self.config.early_hints == EarlyHints::Ignored
        {
            return;
        }
        let Some(id) = on.exchanges.fetch(stream) else { return };
        let Some(fetch) = self.fetches.get(&id) else { return };
        self.work.handle_hints(on.now, id, &fetch.spec.url, head);
    }

    /// The final head of a response.
    pub(super) fn answered(&mut self, on: &mut Ready<'_>, stream: StreamId, head: &ResponseHead) {
        let (now, limit) = (on.now, self.config.redirects);
        let Some(id) = on.exchanges.fetch(stream) else { return };
        if self.was_too_early(on, stream, head) {
            return self.make_again_after_handshake(now, on.exchanges, stream);
        }
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        fetch.answered(now, head);
        if let Some(cookies) = &mut self.config.cookies {
            let scheme = self.config.transport.scheme(fetch.spec.url.scheme);
            let own = Url { scheme, ..fetch.spec.url.clone() };
            for field in head.fields.all(b"set-cookie") {
                cookies.set(&own, field);
            }
        }
        if head.fields.find(b"alt-svc").is_some() {
            // It replaces what this origin offered before (RFC 7838 §3.1).
            let origin = on.exchanges.origin;
            match head.fields.all(b"alt-svc").find_map(alt_svc::http3_port) {
                Some(port) => self.alternatives.insert(origin, port),
                None => self.alternatives.remove(&origin),
            };
        }
        if limit == 0 || !redirect::is_redirect(head) {
            return self.work.handle_head(now, id, head);
        }
        // The rest of this response is read and dropped, so that the connection stays usable.
        on.exchanges.disown(stream);
        self.wake.by(now + self.config.timeouts.stall);
        match fetch.redirect(now, head, &self.config) {
            Ok(()) => self.admit(now, id),
            Err(failure) => self.end(now, id, Err(failure)),
        }
    }

    /// Bytes of a body arrived.
    fn received(
        &mut self,
        on: &mut Ready<'_>,
        stream: StreamId,
        data: &[u8],
    ) -> Result<(), TooLong> {
        if on.exchanges.record.pushed > 0 && self.is_pushed(on, stream) {
            on.exchanges.pushes.note_received(data.len());
        }
        self.deliver(on, stream, data)
    }

    /// Gives bytes of a body to the fetch that they are for.
    pub(super) fn deliver(
        &mut self,
        on: &mut Ready<'_>,
        stream: StreamId,
        data: &[u8],
    ) -> Result<(), TooLong> {
        let Some(id) = on.exchanges.fetch(stream) else {
            if on.exchanges.drop_bytes(stream, data.len()) {
                on.exchanges.streams.remove(&stream);
                on.machine.reset(on.now, stream);
                return Err(TooLong);
            }
            return Ok(());
        };
        let Some(fetch) = self.fetches.get_mut(&id) else { return Ok(()) };
        fetch.received(on.now, data.len());
        let limit = self.config.longest_body.map_or(u64::MAX, |size| size.0);
        if fetch.body_bytes() > limit {
            on.exchanges.streams.remove(&stream);
            on.machine.reset(on.now, stream);
            self.end(on.now, id, Err(Failure::TooLong { limit }));
            return Err(TooLong);
        }
        if !data.is_empty() {
            self.work.handle_body(on.now, id, data);
        }
        Ok(())
    }

    /// Bytes of a body were received into the buffer that the work provided.
    pub(super) fn received_directly(
        &mut self,
        now: Instant,
        connection: &mut PooledConnection,
        bytes: usize,
    ) {
        let PooledConnection { transport, exchanges, .. } = connection;
        let Some((stream, _)) = transport.expected_body() else { return };
        let fin = transport.body_received(now, bytes as u64);
        if let Some(id) = exchanges.fetch(stream)
            && let Some(fetch) = self.fetches.get_mut(&id)
        {
            fetch.received(now, bytes);
            self.work.handle_filled(now, id, bytes);
        }
        if fin == Fin::Last
            && let Some(machine) = transport.machine()
        {
            self.ended(&mut Ready { now, exchanges, machine }, stream);
        }
    }

    /// A response is complete by its head.
    pub(super) fn ended(&mut self, on: &mut Ready<'_>, stream: StreamId) {
        if !self.awaits_drained(on.exchanges, stream) {
            self.complete(on, stream);
        }
    }

    /// A response is complete.
    pub(super) fn complete(&mut self, on: &mut Ready<'_>, stream: StreamId) {
        let Some(exchange) = on.exchanges.streams.remove(&stream) else { return };
        if !exchange.upload.is_empty() {
            // The server has answered before it read the whole request body.
            on.machine.reset(on.now, stream);
        }
        self.tell_pool(on.now, on.exchanges, on.machine);
        if let Some(id) = exchange.fetch {
            self.end(on.now, id, Ok(()));
        }
    }

    /// A stream was reset.
    fn reset(&mut self, on: &mut Ready<'_>, stream: StreamId, error: Error) {
        let Some(exchange) = on.exchanges.streams.remove(&stream) else { return };
        let Some(id) = exchange.fetch else { return };
        // A push that is reset was no request yet. As Chromium (HTTP2_CLAIMED_PUSHED_STREAM_RESET_BY_SERVER) it is then asked for.
        let is_pushed = self.fetches.get(&id).is_some_and(Fetch::is_pushed);
        let is_unprocessed = is_pushed || error.is_unprocessed();
        let acted = if is_unprocessed { Acted::No } else { Acted::Certainly };
        self.tell_pool(on.now, on.exchanges, on.machine);
        let destination = on.exchanges.destination.clone();
        self.let_down(on.now, id, acted, Failure::Protocol { destination, error });
    }

    /// The connection has ended, and everything in flight on it.
    fn closed(&mut self, on: &mut Ready<'_>, error: Option<&Error>) {
        let unfinished = on.exchanges.take_unfinished();
        self.tell_pool(on.now, on.exchanges, on.machine);
        for exchange in unfinished.into_values() {
            let Some(id) = exchange.fetch else { continue };
            let acted = match error {
                Some(error) if error.is_unprocessed() => Acted::No,
                // The server cut the connection. A kept one may have been closed before the request reached it.
                Some(Error::Truncated { .. }) | None => exchange.acted(),
                Some(_) => Acted::Certainly,
            };
            let destination = on.exchanges.destination.clone();
            let failure = match error {
                Some(error) => Failure::Protocol { destination, error: error.clone() },
                None => Failure::Closed { destination },
            };
            self.let_down(on.now, id, acted, failure);
        }
    }
}

/// The body exceeds the client's limit; its fetch has failed.
pub(super) struct TooLong;
