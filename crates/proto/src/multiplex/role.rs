//! What makes a connection's coordinator a type of one role.

/// Implements the shared trait for a role's type with a field `core`.
macro_rules! impl_connection {
    ($role:ty) => {
        impl crate::connection::Connection for $role {
            fn handle_bytes<'i>(
                &mut self,
                now: unit::Instant,
                input: &mut &'i [u8],
            ) -> Option<crate::connection::Event<'i>> {
                self.core.handle_bytes(now, input)
            }

            fn handle_eof(&mut self, now: unit::Instant) {
                self.core.handle_eof(now);
            }

            fn handle_timeout(&mut self, now: unit::Instant) {
                self.core.handle_timeout(now);
            }

            fn poll_timeout(&self) -> Option<unit::Instant> {
                self.core.timers.next()
            }

            fn poll_transmit(
                &mut self,
                now: unit::Instant,
                out: &mut endpoint::SendBuf,
                room: usize,
            ) {
                self.core.poll_transmit(now, out, room);
            }

            fn wants_transmit(&self) -> bool {
                self.core.wants_transmit()
            }

            fn consume(&mut self, stream: crate::connection::StreamId, bytes: usize) {
                self.core.consume(stream, bytes);
            }

            fn send(
                &mut self,
                stream: crate::connection::StreamId,
                data: bytes::Bytes,
                fin: crate::connection::Fin,
            ) -> Result<(), crate::error::Misuse> {
                self.core.send(stream, data, fin)
            }

            fn send_trailers(
                &mut self,
                stream: crate::connection::StreamId,
                fields: &wire::Fields,
            ) -> Result<(), crate::error::Misuse> {
                self.core.send_trailers(stream, fields)
            }

            fn unsent(&self, stream: crate::connection::StreamId) -> usize {
                self.core.unsent(stream)
            }

            fn reset(&mut self, now: unit::Instant, stream: crate::connection::StreamId) {
                self.core.reset(now, stream);
            }

            fn prioritise(
                &mut self,
                stream: crate::connection::StreamId,
                priority: crate::schedule::Priority,
            ) {
                self.core.prioritise(stream, priority);
            }

            fn shutdown(&mut self, now: unit::Instant) {
                self.core.shut_down(now);
            }

            fn header_bytes(&self) -> trace::HeaderBytes {
                self.core.headers
            }

            fn state(&self) -> crate::connection::ConnectionState {
                self.core.state
            }
        }
    };
}
pub(crate) use impl_connection;
