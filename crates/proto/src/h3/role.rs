//! The two roles of a connection.

use super::buffers::BufferPool;
use super::session::Session;
use super::settings::{PeerSettings, Settings};
use crate::connection::{
    ClientConnection, Connection, ConnectionState, Event, Fin, ServerConnection,
};
use crate::error::{Error, Misuse, Refused};
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::status::Role;
use crate::multiplexed_connection::{
    Backlog, MultiplexedConnection, StreamAction, StreamKind, StreamTransmit, TransportFacts,
};
use crate::schedule::{Priority, Scheduler};
use crate::stream_id::StreamId;
use bytes::Bytes;
use endpoint::SendBuf;
use std::sync::Arc;
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::Fields;

/// A client's connection.
#[derive(Debug)]
pub struct Client {
    session: Session,
}

/// A server's connection.
#[derive(Debug)]
pub struct Server {
    session: Session,
}

impl ClientConnection for Client {
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused> {
        self.session.request(now, head, fin)
    }

    fn available_streams(&self) -> usize {
        self.session.available_streams()
    }

    fn recycle(&mut self, head: ResponseHead) {
        self.session.recycle_fields(head.fields);
    }
}

impl ServerConnection for Server {
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        self.session.inform(stream, head)
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        self.session.respond(stream, head, fin)
    }

    fn promise(&mut self, _parent: StreamId, _head: &RequestHead) -> Result<StreamId, Refused> {
        Err(Refused::NotAllowed)
    }

    fn recycle(&mut self, head: Box<RequestHead>) {
        self.session.buffers.keep_head(head);
    }

    fn allow_repeats(&mut self, stream: StreamId, until: Instant) {
        self.session.allow_repeats(stream, until);
    }

    fn take_repeats(&mut self) -> usize {
        self.session.take_repeats()
    }

    fn release(&mut self, stream: StreamId) -> bool {
        self.session.release(stream)
    }

    fn has_released(&self) -> bool {
        self.session.has_released()
    }
}

impl Server {
    /// Priorities that are kept for requests whose heads have not come.
    #[cfg(test)]
    pub(super) fn priorities_kept(&self) -> usize {
        self.session.early.len()
    }

    /// Takes buffers for the requests that come, where it has none.
    pub fn take_buffers(&mut self, pool: &mut BufferPool) {
        self.session.buffers.take_from(pool);
    }

    /// Gives its buffers back, for a connection whose application knows of no request. Responses that wait without their streams keep them.
    pub fn return_buffers(&mut self, pool: &mut BufferPool) {
        if !self.session.has_released() {
            self.session.buffers.return_to(pool);
        }
    }
}

macro_rules! impl_role {
    ($role:ident) => {
        impl $role {
            /// A connection that has queued its greeting. `scheduler` ranks the requests or responses that it sends.
            /// Connections may share their settings.
            pub fn new(
                now: Instant,
                settings: impl Into<Arc<Settings>>,
                scheduler: Box<dyn Scheduler>,
                tracer: Tracer,
            ) -> Self {
                let settings = settings.into();
                Self { session: Session::new(Role::$role, now, settings, scheduler, tracer) }
            }

            /// The peer's settings, once they have come.
            pub fn peer_settings(&self) -> Option<PeerSettings> {
                self.session.peer
            }

            /// Sends a datagram of a request (RFC 9297). Whether it arrives is not told.
            pub fn send_datagram(
                &mut self,
                stream: StreamId,
                payload: &[u8],
            ) -> Result<(), Misuse> {
                self.session.send_datagram(stream, payload)
            }

            /// The next datagram that has come, and its request.
            pub fn receive_datagram(&mut self) -> Option<(StreamId, Bytes)> {
                self.session.datagrams_in.pop_front()
            }
        }

        impl Connection for $role {
            fn handle_timeout(&mut self, now: Instant) {
                self.session.handle_timeout(now);
            }

            fn poll_timeout(&self) -> Option<Instant> {
                self.session.timers.next()
            }

            fn wants_transmit(&self) -> bool {
                self.session.wants_transmit()
            }

            fn consume(&mut self, stream: StreamId, bytes: usize) {
                self.session.consume(stream, bytes);
            }

            fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
                self.session.send(stream, data, fin)
            }

            fn send_trailers(&mut self, stream: StreamId, fields: &Fields) -> Result<(), Misuse> {
                self.session.send_trailers(stream, fields)
            }

            fn unsent(&self, stream: StreamId) -> usize {
                self.session.unsent(stream)
            }

            fn reset(&mut self, now: Instant, stream: StreamId) {
                self.session.reset(now, stream);
            }

            fn prioritise(&mut self, stream: StreamId, priority: Priority) {
                self.session.prioritise(stream, priority);
            }

            fn shutdown(&mut self, now: Instant) {
                self.session.now = now;
                self.session.shut_down();
            }

            fn header_bytes(&self) -> HeaderBytes {
                self.session.headers
            }

            fn state(&self) -> ConnectionState {
                self.session.state
            }
        }

        impl MultiplexedConnection for $role {
            fn handle_transport(&mut self, now: Instant, facts: TransportFacts) {
                self.session.handle_transport(now, facts);
            }

            fn handle_stream_limit(&mut self, kind: StreamKind, total: u64) {
                if kind == StreamKind::Bidirectional {
                    self.session.request_limit = total;
                }
            }

            fn handle_stream<'i>(
                &mut self,
                now: Instant,
                stream: StreamId,
                input: &mut &'i [u8],
                fin: Fin,
            ) -> Option<Event<'i>> {
                self.session.handle_stream(now, stream, input, fin)
            }

            fn has_requests(&self) -> bool {
                !self.session.streams.is_empty()
            }

            fn wants_read(&self, stream: StreamId) -> bool {
                self.session.wants_read(stream)
            }

            fn take_backlog(&mut self) -> Option<Backlog> {
                self.session.take_backlog()
            }

            fn handle_stream_reset(&mut self, now: Instant, stream: StreamId, code: u64) {
                self.session.handle_stream_reset(now, stream, code);
            }

            fn handle_stop_sending(&mut self, now: Instant, stream: StreamId, code: u64) {
                self.session.handle_stop_sending(now, stream, code);
            }

            fn handle_stream_blocked(&mut self, stream: StreamId) {
                self.session.set_stuck(stream, true);
            }

            fn handle_stream_writable(&mut self, stream: StreamId) {
                self.session.set_stuck(stream, false);
            }

            fn handle_datagram(&mut self, now: Instant, payload: &[u8]) {
                self.session.handle_datagram(now, payload);
            }

            fn handle_transport_closed(&mut self, now: Instant, error: Option<Error>) {
                self.session.handle_transport_closed(now, error);
            }

            fn poll_event(&mut self, now: Instant) -> Option<Event<'static>> {
                self.session.now = now;
                self.session.pause_stalls();
                self.session.next_event()
            }

            fn poll_stream_action(&mut self) -> Option<StreamAction> {
                self.session.poll_stream_action()
            }

            fn poll_stream_transmit(
                &mut self,
                now: Instant,
                out: &mut SendBuf,
                limit: usize,
            ) -> Option<StreamTransmit> {
                self.session.poll_stream_transmit(now, out, limit)
            }

            fn poll_datagram(&mut self) -> Option<Bytes> {
                self.session.datagrams_out.pop_front()
            }
        }
    };
}

impl_role!(Client);
impl_role!(Server);
