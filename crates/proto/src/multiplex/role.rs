//! What makes a session a public type of one role: the traits of `connection`, handed on to a field
//! `session`.

/// Implements what both roles share.
macro_rules! impl_connection {
    ($role:ty) => {
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
