//! What makes a session a public type of one role: the traits of `connection`, handed on to a field
//! `session`.

/// Implements the two public types of a framing. `Framing::session` makes their sessions.
macro_rules! impl_roles {
    ($framing:ty, $settings:ty) => {
        crate::multiplex::role::impl_connection!(Client, $framing, $settings);
        crate::multiplex::role::impl_connection!(Server, $framing, $settings);

        impl crate::connection::ClientConnection for Client {
            fn request(
                &mut self,
                now: unit::Instant,
                head: &crate::message::RequestHead,
                fin: crate::connection::Fin,
            ) -> Result<crate::stream_id::StreamId, crate::error::Refused> {
                self.session.request(now, head, fin)
            }

            fn available_streams(&self) -> usize {
                self.session.available_streams()
            }

            fn recycle(&mut self, head: crate::message::ResponseHead) {
                use crate::multiplex::framing::Framing as _;
                self.session.framing_mut().recycle_response(head);
            }
        }

        impl crate::connection::ServerConnection for Server {
            fn inform(
                &mut self,
                stream: crate::stream_id::StreamId,
                head: &crate::message::ResponseHead,
            ) -> Result<(), crate::error::Misuse> {
                self.session.inform(stream, head)
            }

            fn respond(
                &mut self,
                stream: crate::stream_id::StreamId,
                head: &crate::message::ResponseHead,
                fin: crate::connection::Fin,
            ) -> Result<(), crate::error::Misuse> {
                self.session.respond(stream, head, fin)
            }

            fn promise(
                &mut self,
                parent: crate::stream_id::StreamId,
                head: &crate::message::RequestHead,
            ) -> Result<crate::stream_id::StreamId, crate::error::Refused> {
                self.session.promise(parent, head)
            }

            fn recycle(&mut self, head: crate::message::RequestHead) {
                use crate::multiplex::framing::Framing as _;
                self.session.framing_mut().recycle_request(head);
            }
        }
    };
}
pub(crate) use impl_roles;

/// Implements what both roles share.
macro_rules! impl_connection {
    ($role:ident, $framing:ty, $settings:ty) => {
        impl $role {
            /// A connection that has queued its greeting. `scheduler` ranks the bodies that it sends.
            pub fn new(
                now: unit::Instant,
                settings: $settings,
                scheduler: Box<dyn crate::schedule::Scheduler>,
                tracer: trace::Tracer,
            ) -> Self {
                let role = crate::multiplex::status::Role::$role;
                let endowment =
                    crate::multiplex::session::Endowment { role, now, scheduler, tracer };
                Self { session: <$framing>::session(endowment, settings) }
            }
        }

        impl crate::connection::Connection for $role {
            fn handle_bytes<'i>(
                &mut self,
                now: unit::Instant,
                input: &mut &'i [u8],
            ) -> Option<crate::connection::Event<'i>> {
                self.session.handle_bytes(now, input)
            }

            fn handle_eof(&mut self, now: unit::Instant) {
                self.session.handle_eof(now);
            }

            fn handle_timeout(&mut self, now: unit::Instant) {
                self.session.handle_timeout(now);
            }

            fn poll_timeout(&self) -> Option<unit::Instant> {
                self.session.poll_timeout()
            }

            fn poll_transmit(
                &mut self,
                now: unit::Instant,
                out: &mut endpoint::SendBuf,
                limit: usize,
            ) {
                self.session.poll_transmit(now, out, limit);
            }

            fn wants_transmit(&self) -> bool {
                self.session.wants_transmit()
            }

            fn consume(&mut self, stream: crate::stream_id::StreamId, bytes: usize) {
                self.session.consume(stream, bytes);
            }

            fn send(
                &mut self,
                stream: crate::stream_id::StreamId,
                data: bytes::Bytes,
                fin: crate::connection::Fin,
            ) -> Result<(), crate::error::Misuse> {
                self.session.send(stream, data, fin)
            }

            fn send_trailers(
                &mut self,
                stream: crate::stream_id::StreamId,
                fields: &wire::Fields,
            ) -> Result<(), crate::error::Misuse> {
                self.session.send_trailers(stream, fields)
            }

            fn unsent(&self, stream: crate::stream_id::StreamId) -> usize {
                self.session.unsent(stream)
            }

            fn reset(&mut self, now: unit::Instant, stream: crate::stream_id::StreamId) {
                self.session.reset(now, stream);
            }

            fn prioritise(
                &mut self,
                stream: crate::stream_id::StreamId,
                priority: crate::schedule::Priority,
            ) {
                self.session.prioritise(stream, priority);
            }

            fn shutdown(&mut self, now: unit::Instant) {
                self.session.shut_down(now);
            }

            fn header_bytes(&self) -> trace::HeaderBytes {
                self.session.header_bytes()
            }

            fn state(&self) -> crate::connection::ConnectionState {
                self.session.state()
            }
        }
    };
}
pub(crate) use impl_connection;
