//! What makes a session a public type of one role: the traits of `connection`, handed on to a field
//! `session`.

/// Implements the two public types of a framing. `Framing::session` makes their sessions.
macro_rules! impl_roles {
    ($framing:ty, $settings:ty) => {
        const _: () = {
            use crate::connection::{
                ByteStreamConnection, ClientConnection, Connection, ConnectionState, Event, Fin,
                SendCredit, ServerConnection,
            };
            use crate::error::{Misuse, Refused};
            use crate::message::{RequestHead, ResponseHead};
            use crate::multiplex::framing::Framing;
            use crate::multiplex::session::Endowment;
            use crate::multiplex::status::Role;
            use crate::schedule::{Priority, Scheduler};
            use crate::stream_id::StreamId;
            use unit::Instant;

            crate::multiplex::role::impl_role!(Client, $framing, $settings);
            crate::multiplex::role::impl_role!(Server, $framing, $settings);

            impl ClientConnection for Client {
                fn request(
                    &mut self,
                    now: Instant,
                    head: &RequestHead,
                    fin: Fin,
                ) -> Result<StreamId, Refused> {
                    self.session.request(now, head, fin)
                }

                fn request_at(
                    &mut self,
                    now: Instant,
                    head: &RequestHead,
                    fin: Fin,
                    priority: Priority,
                ) -> Result<StreamId, Refused> {
                    self.session.request_at(now, head, fin, priority)
                }

                fn available_streams(&self) -> usize {
                    self.session.available_streams()
                }

                fn next_frame(&self) -> Option<usize> {
                    self.session.next_frame()
                }

                fn recycle(&mut self, head: ResponseHead) {
                    self.session.framing.recycle_response(head);
                }

                fn discarded_bytes(&self) -> u64 {
                    self.session.discarded_bytes()
                }
            }

            impl ServerConnection for Server {
                fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
                    self.session.inform(stream, head)
                }

                fn respond(
                    &mut self,
                    stream: StreamId,
                    head: &ResponseHead,
                    fin: Fin,
                ) -> Result<(), Misuse> {
                    self.session.respond(stream, head, fin)
                }

                fn promise(
                    &mut self,
                    parent: StreamId,
                    head: &RequestHead,
                ) -> Result<StreamId, Refused> {
                    self.session.promise(parent, head)
                }

                fn recycle(&mut self, head: Box<RequestHead>) {
                    self.session.framing.recycle_request(head);
                }
            }
        };
    };
}
pub(crate) use impl_roles;

/// Implements what both roles share.
macro_rules! impl_role {
    ($role:ident, $framing:ty, $settings:ty) => {
        impl $role {
            /// A connection that has queued its greeting. `scheduler` ranks the bodies that it sends.
            pub fn new(
                now: Instant,
                settings: $settings,
                scheduler: Box<dyn Scheduler>,
                tracer: trace::Tracer,
            ) -> Self {
                let endowment = Endowment { role: Role::$role, now, scheduler, tracer };
                Self { session: <$framing>::session(endowment, settings) }
            }
        }

        impl Connection for $role {
            fn handle_timeout(&mut self, now: Instant) {
                self.session.handle_timeout(now);
            }

            fn poll_timeout(&self) -> Option<Instant> {
                self.session.poll_timeout()
            }

            fn wants_transmit(&self) -> bool {
                self.session.wants_transmit()
            }

            fn consume(&mut self, stream: StreamId, bytes: usize) {
                self.session.consume(stream, bytes);
            }

            fn send(
                &mut self,
                stream: StreamId,
                data: bytes::Bytes,
                fin: Fin,
            ) -> Result<(), Misuse> {
                self.session.send(stream, data, fin)
            }

            fn send_trailers(
                &mut self,
                stream: StreamId,
                fields: &wire::Fields,
            ) -> Result<(), Misuse> {
                self.session.send_trailers(stream, fields)
            }

            fn unsent(&self, stream: StreamId) -> usize {
                self.session.unsent(stream)
            }

            fn send_credit(&self, stream: StreamId) -> SendCredit {
                self.session.send_credit(stream)
            }

            fn keep_turn(&mut self, stream: StreamId) {
                self.session.keep_turn(stream);
            }

            fn reset(&mut self, now: Instant, stream: StreamId) {
                self.session.reset(now, stream);
            }

            fn prioritise(&mut self, stream: StreamId, priority: Priority) {
                self.session.prioritise(stream, priority);
            }

            fn shutdown(&mut self, now: Instant) {
                self.session.shut_down(now);
            }

            fn header_bytes(&self) -> trace::HeaderBytes {
                self.session.header_bytes()
            }

            fn state(&self) -> ConnectionState {
                self.session.state()
            }
        }

        impl ByteStreamConnection for $role {
            fn handle_bytes<'i>(
                &mut self,
                now: Instant,
                input: &mut &'i [u8],
            ) -> Option<Event<'i>> {
                self.session.handle_bytes(now, input)
            }

            fn handle_eof(&mut self, now: Instant) {
                self.session.handle_eof(now);
            }

            fn poll_transmit(&mut self, now: Instant, out: &mut endpoint::SendBuf, limit: usize) {
                self.session.poll_transmit(now, out, limit);
            }
        }
    };
}
pub(crate) use impl_role;
