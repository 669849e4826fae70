//! The two roles, and who hears of a connection's events.

use crate::failure::Failure;
use crate::status::Negotiated;
use proto::{Event, Repeated, Scheme};
use std::fmt;
use std::time::Duration;
use trace::SpokenProtocol;
use unit::Instant;

/// Who hears of what happens on a connection.
pub trait Handler<R: Role> {
    /// The protocol is known: commands may be given from now on. Comes once, before any event.
    fn handle_ready(&mut self, machine: &mut R::Machine, negotiated: Negotiated<'_, R::Protocol>);

    /// The machine tells an event.
    fn handle_event(&mut self, machine: &mut R::Machine, event: Event<'_>);

    /// More bytes of the peer's are about to be given to the machine, whether an event comes of them or not.
    fn handle_input(&mut self, _machine: &mut R::Machine) {}

    /// Whether whole responses may come by `handle_repeated` instead of events.
    fn takes_repeated(&self) -> bool {
        false
    }

    /// A whole response came whose head equals the previous one. No event tells of it.
    fn handle_repeated(&mut self, _response: Repeated) {}
}

/// What differs between client and server: which protocols are spoken, and their machines.
/// [`Client`](crate::Client) and [`Server`](crate::Server) speak those of [`Protocol`](crate::Protocol). A role that
/// speaks others runs by [`Connection::connecting`](crate::Connection::connecting) and
/// [`Connection::accepted`](crate::Connection::accepted).
pub trait Role {
    /// The machine.
    type Machine: proto::Connection + ?Sized + 'static;

    /// Names what is spoken, one of the protocols that the role has machines for.
    type Protocol: Copy + fmt::Debug + Into<SpokenProtocol>;

    /// What is spoken. `alpn` is None on a clear connection, `seen` what the peer has sent so far. `Ok(None)` where
    /// more bytes are needed to tell.
    fn choose(
        &self,
        alpn: Option<Option<&[u8]>>,
        seen: &[u8],
    ) -> Result<Option<Self::Protocol>, Failure>;

    /// Makes the machine of a protocol.
    fn machine(&self, now: Instant, protocol: Self::Protocol, scheme: Scheme)
    -> Box<Self::Machine>;

    /// How long it may take until the connection is ready; None for ever.
    fn handshake_timeout(&self) -> Option<Duration> {
        None
    }

    /// Bytes that came before their turn, which has come now.
    fn take_backlog(_machine: &mut Self::Machine) -> Vec<u8> {
        Vec::new()
    }

    /// Takes a whole response whose head equals the previous one off the front of `input`, where it is there.
    fn take_repeated(
        _machine: &mut Self::Machine,
        _now: Instant,
        _input: &mut &[u8],
    ) -> Option<Repeated> {
        None
    }
}
