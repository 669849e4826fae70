//! WebSockets of pages: each is a fetch whose stream carries messages, on a connection of the pool. The fetch is done when
//! every recorded message has been sent or has come; the WebSocket is closed then.

use super::events::Ready;
use super::{Client, PooledConnection};
use crate::failure::Failure;
use crate::talk::{Step, Talk};
use crate::{FetchId, Work};
use bytes::Bytes;
use page::Message;
use proto::{Event, Fin, ResponseHead, StreamId};
use std::sync::Arc;
use unit::Instant;

impl<W: Work> Client<W> {
    /// Asks for the WebSocket of `id`. Where the server has not said yet whether it takes any (RFC 8441 §3), it is asked
    /// for again when it has said something.
    pub(super) fn open_socket(
        &mut self,
        now: Instant,
        id: FetchId,
        connection: &mut PooledConnection,
        messages: Arc<[Message]>,
    ) {
        let Some(fetch) = self.fetches.get(&id) else { return };
        let head = self.head(fetch, connection.exchanges.protocol);
        let tracer = self.config.tracer.for_connection(u64::from(connection.exchanges.record.id));
        let mut talk = Box::new(Talk::new(head, messages, tracer));
        let PooledConnection { transport, exchanges, .. } = connection;
        let asked = match (exchanges.protocol, transport.machine()) {
            (Some(protocol), Some(machine)) => talk.ask(now, machine, protocol),
            _ => None,
        };
        if let Some(stream) = asked {
            self.sent(now, id, connection, stream);
            return connection.exchanges.talk_on(stream, talk);
        }
        match talk.poll(now) {
            Some(Step::Unsendable(reason)) => {
                let destination = exchanges.destination.clone();
                self.end(now, id, Err(Failure::Unsendable { destination, reason }));
            }
            _ => exchanges.early_sockets.push(id),
        }
    }

    /// Asks again for WebSockets that came too early, and goes on with those that are open.
    pub(super) fn advance_sockets(&mut self, now: Instant, connection: &mut PooledConnection) {
        for id in std::mem::take(&mut connection.exchanges.early_sockets) {
            let messages = self.fetches.get(&id).and_then(|fetch| fetch.spec.messages.clone());
            if let Some(messages) = messages {
                self.open_socket(now, id, connection, messages);
            }
        }
        let PooledConnection { transport, exchanges, .. } = connection;
        let Some(machine) = transport.machine() else { return };
        let on = &mut Ready { now, exchanges, machine };
        let streams: Vec<StreamId> = on.exchanges.talking().collect();
        for stream in streams {
            if let Some(talk) = on.exchanges.take_talk(stream) {
                self.advance_talk(on, stream, talk);
            }
        }
    }

    /// Gives an event to the WebSocket of its stream. Returns the event where there is none.
    pub(super) fn heard_by_socket<'e>(
        &mut self,
        on: &mut Ready<'_>,
        event: Event<'e>,
    ) -> Option<Event<'e>> {
        let stream = match &event {
            Event::Response { stream, .. }
            | Event::Data { stream, .. }
            | Event::Writable { stream }
            | Event::Trailers { stream, .. } => *stream,
            _ => return Some(event),
        };
        let Some(mut talk) = on.exchanges.take_talk(stream) else { return Some(event) };
        talk.handle_event(on.now, on.machine, event);
        self.advance_talk(on, stream, talk);
        None
    }

    /// Goes on with a WebSocket, and puts it back into its exchange unless it is over.
    fn advance_talk(&mut self, on: &mut Ready<'_>, stream: StreamId, mut talk: Box<Talk>) {
        while let Some(step) = talk.poll(on.now) {
            let destination = || on.exchanges.destination.clone();
            let failure = match step {
                Step::Opened(status) => {
                    self.opened(on, stream, &ResponseHead::new(status));
                    continue;
                }
                Step::Received(data) => {
                    self.took_message(on, stream, &data);
                    continue;
                }
                Step::Done => {
                    let id = on.exchanges.fetch(stream);
                    on.exchanges.disown(stream);
                    if let Some(id) = id {
                        self.end(on.now, id, Ok(()));
                    }
                    continue;
                }
                Step::Over => return self.hang_up(on, stream, None),
                Step::Closed => Failure::Closed { destination: destination() },
                Step::Unsendable(reason) => {
                    Failure::Unsendable { destination: destination(), reason }
                }
                Step::Failed(error) => Failure::Protocol { destination: destination(), error },
            };
            return self.hang_up(on, stream, Some(failure));
        }
        talk.write(on.now, on.machine);
        if let Some(due) = talk.poll_timeout() {
            self.wake.by(due);
        }
        on.exchanges.talk_on(stream, talk);
    }

    fn opened(&mut self, on: &Ready<'_>, stream: StreamId, head: &ResponseHead) {
        let Some(id) = on.exchanges.fetch(stream) else { return };
        if let Some(fetch) = self.fetches.get_mut(&id) {
            fetch.answered(on.now, head);
            self.work.handle_head(on.now, id, head);
        }
    }

    fn took_message(&mut self, on: &Ready<'_>, stream: StreamId, data: &Bytes) {
        let Some(id) = on.exchanges.fetch(stream) else { return };
        if let Some(fetch) = self.fetches.get_mut(&id) {
            fetch.received(on.now, data.len());
            self.work.handle_body(on.now, id, data);
        }
    }

    /// A WebSocket is over. Its fetch, where it is not done, has failed.
    fn hang_up(&mut self, on: &mut Ready<'_>, stream: StreamId, failure: Option<Failure>) {
        let Some(exchange) = on.exchanges.streams.remove(&stream) else { return };
        match failure {
            // Refused where the connection is over: then nobody waits for it.
            None => drop(on.machine.send(stream, Bytes::new(), Fin::Last)),
            Some(_) => on.machine.reset(on.now, stream),
        }
        self.tell_pool(on.now, on.exchanges, on.machine);
        if let Some(id) = exchange.fetch {
            let destination = on.exchanges.destination.clone();
            let failure = failure.unwrap_or(Failure::Closed { destination });
            self.end(on.now, id, Err(failure));
        }
    }
}

/// Whether a connection has WebSockets.
pub(super) fn has_sockets(connection: &PooledConnection) -> bool {
    connection.exchanges.has_talked || !connection.exchanges.early_sockets.is_empty()
}
