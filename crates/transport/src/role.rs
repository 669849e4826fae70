//! The two roles, and the receiver of a connection's events.

use crate::failure::Failure;
use crate::status::Negotiated;
use proto::h3::PeerSettings;
use proto::{ByteStreamConnection, Event, MultiplexedConnection, Repeated, Scheme};
use std::fmt;
use std::time::Duration;
use trace::{SpokenProtocol, Tracer};
use unit::Instant;

/// Receives the events of a connection.
pub trait Handler<R: Role> {
    /// The protocol is known, and commands may be given. Called once, before any event.
    fn handle_ready(&mut self, machine: &mut R::Machine, negotiated: Negotiated<'_, R::Protocol>);

    /// The handshake of a connection that was ready before is over; `negotiated.early_data` tells what became of early data.
    fn handle_handshake(
        &mut self,
        _machine: &mut R::Machine,
        _negotiated: Negotiated<'_, R::Protocol>,
    ) {
    }

    /// An event of the protocol's machine.
    fn handle_event(&mut self, machine: &mut R::Machine, event: Event<'_>);

    /// Bytes from the peer arrived and are handed to the machine next. They need not cause an event.
    fn handle_input(&mut self, _machine: &mut R::Machine) {}

    /// Whether whole responses may come by `handle_repeated` instead of events.
    fn takes_repeated(&self) -> bool {
        false
    }

    /// A complete response came whose head equals the previous one. It causes no event.
    fn handle_repeated(&mut self, _response: Repeated) {}
}

/// What differs between client and server: which protocols are spoken, and their machines.
/// [`Client`](crate::Client) and [`Server`](crate::Server) speak those of [`Protocol`](crate::Protocol). A role that
/// speaks others runs by [`StreamConnection::connecting`](crate::StreamConnection::connecting) and
/// [`StreamConnection::accepted`](crate::StreamConnection::accepted).
pub trait Role {
    /// The machine as the application sees it.
    type Machine: proto::Connection + ?Sized + 'static;

    /// The same machine as its driver sees it over a byte stream.
    type ByteStream: ByteStreamConnection + ?Sized + 'static;

    /// A protocol that the role has a machine for.
    type Protocol: Copy + fmt::Debug + Into<SpokenProtocol>;

    /// What is spoken. `alpn` is None on a clear connection, `seen` what the peer has sent so far. `Ok(None)` where
    /// more bytes are needed to tell.
    fn choose(
        &self,
        alpn: Option<Option<&[u8]>>,
        seen: &[u8],
    ) -> Result<Option<Self::Protocol>, Failure>;

    /// Client: the protocol of early data. None where the server's choice is not known beforehand.
    fn known(&self) -> Option<Self::Protocol> {
        None
    }

    /// Makes the machine of a protocol; None for one that does not run over byte streams.
    fn machine(
        &self,
        now: Instant,
        protocol: Self::Protocol,
        scheme: Scheme,
    ) -> Option<Box<Self::ByteStream>>;

    /// What the application sees of a machine.
    fn application(machine: &Self::ByteStream) -> &Self::Machine;

    /// What the application may command.
    fn application_mut(machine: &mut Self::ByteStream) -> &mut Self::Machine;

    /// How long it may take until the connection is ready; None for ever.
    fn handshake_timeout(&self) -> Option<Duration> {
        None
    }

    /// Bytes that the machine deferred and that can be handled now.
    fn take_backlog(_machine: &mut Self::Machine) -> Vec<u8> {
        Vec::new()
    }

    /// Consumes a complete response at the start of `input` whose head equals the previous one.
    fn take_repeated(
        _machine: &mut Self::Machine,
        _now: Instant,
        _input: &mut &[u8],
    ) -> Option<Repeated> {
        None
    }
}

/// A role that speaks over QUIC, too.
pub trait QuicRole: Role {
    /// The machine as its driver sees it over QUIC.
    type Multiplexed: MultiplexedConnection + ?Sized + 'static;

    /// The code with which a connection is closed in good order.
    const NO_ERROR: u64;

    /// The name of a code with which the peer closed the connection.
    fn error_name(code: u64) -> &'static str;

    /// Makes the machine of a protocol; None for one that does not run over QUIC. `remembered` is what a client has kept
    /// of the server's SETTINGS from an earlier connection, for early data.
    fn multiplexed(
        &self,
        now: Instant,
        protocol: Self::Protocol,
        remembered: Option<PeerSettings>,
    ) -> Option<Box<Self::Multiplexed>>;

    /// Takes the events of the connection; None for nobody.
    fn tracer(&self) -> Option<&Tracer> {
        None
    }

    /// Client: the server's SETTINGS, once they have come, to be kept for later connections.
    fn peer_settings(_machine: &Self::Multiplexed) -> Option<PeerSettings> {
        None
    }

    /// What the application sees of a machine.
    fn over_quic(machine: &Self::Multiplexed) -> &Self::Machine;

    /// What the application may command.
    fn over_quic_mut(machine: &mut Self::Multiplexed) -> &mut Self::Machine;
}
