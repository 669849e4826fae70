//! Pushes: which promises are taken, and how a fetch takes one. The one rule: a promise that must not be made, or is of no
//! use, is cancelled at once.

use super::Client;
use super::events::Ready;
use crate::connection::PooledConnection;
use crate::fetch::{Assignment, State};
use crate::profile;
use crate::push::{HeldPush, Overfull};
use crate::{FetchId, Priorities, Push, Work};
use endpoint::ConnectionId;
use page::Url;
use proto::{Event, Fin, Method, RequestHead, StreamId};
use transport::Protocol;
use unit::Instant;

/// What becomes of a promise.
enum Promised {
    /// It waits for a fetch of this path.
    Held(String),
    /// A fetch that has not been sent takes it.
    Adopted(String, FetchId),
    Cancelled,
}

impl<W: Work> Client<W> {
    /// The server promises a response.
    pub(super) fn promised(&mut self, on: &mut Ready<'_>, stream: StreamId, head: &RequestHead) {
        on.exchanges.record.pushed += 1;
        let (path, waiting) = match self.judge_promise(on, head) {
            Promised::Held(path) => (Some(path), None),
            Promised::Adopted(path, fetch) => (Some(path), Some(fetch)),
            Promised::Cancelled => (None, None),
        };
        let is_held = path.is_some_and(|path| on.exchanges.pushes.hold(stream, path));
        if !is_held {
            on.exchanges.pushes.note_refused();
            return on.machine.reset(on.now, stream);
        }
        if let Some(id) = waiting
            && let Some(fetch) = self.fetches.get(&id)
        {
            self.pool.forget(on.exchanges.origin, fetch.spec.priority.urgency, id);
            self.adopt(on, id);
        }
    }

    /// Takes only what was asked for by GET, of the connection's own origin (RFC 9113 §8.4, §10.1), and neither fetched nor
    /// cached. Chromium 92 cancelled all else.
    fn judge_promise(&self, on: &Ready<'_>, head: &RequestHead) -> Promised {
        let origin = self.pool.origin(on.exchanges.origin);
        let text = format!("{}://{}{}", head.scheme.as_str(), head.authority, head.path);
        let Ok(url) = text.parse::<Url>() else { return Promised::Cancelled };
        let is_of_origin = (profile::scheme(origin.scheme), &*origin.host, origin.port)
            == (head.scheme, &*url.host, url.port());
        if self.config.push == Push::Refused || head.method != Method::Get || !is_of_origin {
            return Promised::Cancelled;
        }
        let same = self.fetches.iter().find(|(_, fetch)| {
            let spec = &fetch.spec;
            spec.url.path == url.path
                && spec.method == Method::Get
                && self.origin_of(&spec.url) == *origin
        });
        match same {
            Some((id, fetch)) if fetch.may_be_pushed() => Promised::Adopted(url.path, *id),
            Some(_) => Promised::Cancelled,
            None if self.work.wants_push(on.now, &url) => Promised::Held(url.path),
            None => Promised::Cancelled,
        }
    }

    /// Gives a fetch that is about to be queued the pushed response that waits for it; false where there is none.
    pub(super) fn take_pushed(&mut self, now: Instant, id: FetchId) -> bool {
        if self.config.push == Push::Refused {
            return false;
        }
        let Some(fetch) = self.fetches.get(&id).filter(|fetch| fetch.may_be_pushed()) else {
            return false;
        };
        let (origin, path) = (self.origin_of(&fetch.spec.url), &fetch.spec.url.path);
        let has_it = |connection: &PooledConnection| {
            !connection.is_closing()
                && connection.exchanges.pushes.has(path)
                && *self.pool.origin(connection.exchanges.origin) == origin
        };
        let index = self.connections.iter().position(|slot| slot.as_ref().is_some_and(has_it));
        let Some(mut connection) = index.and_then(|index| self.take(ConnectionId(index))) else {
            return false;
        };
        let taken = self.take_pushed_from(now, &mut connection, id);
        self.put_back(now, connection);
        taken
    }

    /// The same, of one connection.
    pub(super) fn take_pushed_from(
        &mut self,
        now: Instant,
        connection: &mut PooledConnection,
        id: FetchId,
    ) -> bool {
        if connection.exchanges.pushes.is_empty() {
            return false;
        }
        let can_take = self.fetches.get(&id).is_some_and(|fetch| {
            fetch.may_be_pushed() && connection.exchanges.pushes.has(&fetch.spec.url.path)
        });
        let PooledConnection { transport, exchanges, .. } = connection;
        match transport.machine() {
            Some(machine) if can_take => {
                self.adopt(&mut Ready { now, exchanges, machine }, id);
                true
            }
            _ => false,
        }
    }

    /// A fetch takes the pushed response of its path, which is there.
    fn adopt(&mut self, on: &mut Ready<'_>, id: FetchId) {
        let Some(fetch) = self.fetches.get_mut(&id) else { return };
        let Some(protocol) = on.exchanges.protocol else { return };
        let Some(push) = on.exchanges.pushes.take(&fetch.spec.url.path) else { return };
        let HeldPush { stream, head, body, end, .. } = push;
        let (connection, number) = (on.exchanges.connection, on.exchanges.record.id);
        fetch.take_push(
            on.now,
            Assignment { connection, number, stream, protocol, opening: None, allowed: None },
        );
        let (place, level) = (fetch.spec.place(), fetch.spec.level());
        // As Chromium: a push that is still under way gets the priority of what it is for.
        if end == Fin::More
            && self.config.priorities == Priorities::Browser
            && protocol == Protocol::Http2
        {
            on.machine.prioritise(stream, on.exchanges.place(place));
        }
        on.exchanges.adopt(stream, id, level);
        if let Some(due) = self.due(id) {
            self.wake.by(due);
        }
        if let Some(head) = head {
            self.answered(on, stream, &head);
        }
        if !body.is_empty() {
            on.machine.consume(stream, body.len());
        }
        if self.deliver(on, stream, &body).is_ok() && end == Fin::Last {
            self.ended(on, stream);
        }
    }

    /// Whether the stream's fetch was taken from a push.
    pub(super) fn is_pushed(&self, on: &Ready<'_>, stream: StreamId) -> bool {
        let fetch = on.exchanges.fetch(stream).and_then(|id| self.fetches.get(&id));
        fetch.is_some_and(|fetch| fetch.is_pushed() && matches!(fetch.state, State::Active { .. }))
    }
}

/// Keeps what arrives of a push that no fetch has taken. Gives back any other event.
pub(super) fn keep_pushed<'i>(on: &mut Ready<'_>, event: Event<'i>) -> Option<Event<'i>> {
    let pushes = &mut on.exchanges.pushes;
    match event {
        Event::Response { stream, head, fin } if pushes.holds(stream) => {
            pushes.answered(stream, head, fin);
        }
        Event::Data { stream, data, fin } if pushes.holds(stream) => {
            if pushes.received(stream, data, fin) == Err(Overfull) {
                pushes.drop_push(stream);
                on.machine.reset(on.now, stream);
            }
        }
        Event::Trailers { stream, .. } if pushes.holds(stream) => {
            let _fits = pushes.received(stream, &[], Fin::Last);
        }
        Event::Reset { stream, .. } if pushes.holds(stream) => pushes.drop_push(stream),
        other => return Some(other),
    }
    None
}
