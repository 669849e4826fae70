//! One connection, either role, whatever carries it. An application gives its commands to the machine, and gets its
//! events through its [`Handler`]. The one rule: which carrier it is shows in the driver's calls alone.

use crate::byte_stream::StreamConnection;
use crate::failure::Failure;
use crate::quic::{QuicConnection, QuicInput, QuicLink};
use crate::role::{Handler, QuicRole};
use crate::status::{Negotiated, Phase, Timings, Traffic, Truncation};
use endpoint::{DatagramTransmit, SendBuf};
use trace::ConnectionRecord;
use unit::Instant;

/// A connection's stack. `R` is [`Client`](crate::Client) or [`Server`](crate::Server).
#[derive(Debug)]
pub struct Connection<R: QuicRole>(pub(crate) Carrier<R>);

/// What carries a connection.
pub(crate) enum Carrier<R: QuicRole> {
    Stream(StreamConnection<R>),
    Quic(Box<QuicConnection<R>>),
}

/// Calls a method that both carriers have.
macro_rules! either {
    ($self:expr, $carrier:ident => $call:expr) => {
        match $self {
            Carrier::Stream($carrier) => $call,
            Carrier::Quic($carrier) => $call,
        }
    };
}

impl<R: QuicRole> Connection<R> {
    /// Over a byte stream: the client's socket is connected. Over QUIC: the connection was opened, by either side.
    /// Early data may go or may have come.
    pub fn handle_connected(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        match &mut self.0 {
            Carrier::Stream(stream) => stream.handle_connected(now, handler),
            Carrier::Quic(quic) => quic.handle_opened(now, handler),
        }
    }

    /// Over a byte stream: bytes arrived from the socket. After an error the connection is over; TLS may still owe the
    /// peer an alert.
    #[inline]
    pub fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        match &mut self.0 {
            Carrier::Stream(stream) => stream.handle_bytes(now, bytes, handler),
            Carrier::Quic(_) => Ok(()),
        }
    }

    /// Over QUIC: a packet arrived.
    pub fn handle_input(
        &mut self,
        now: Instant,
        input: QuicInput,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        match &mut self.0 {
            Carrier::Quic(quic) => quic.handle_input(now, input, handler),
            Carrier::Stream(_) => Ok(()),
        }
    }

    /// Over a byte stream: the peer will send nothing more, by the socket's word or TLS's (`peer_closed`). An error where
    /// its bytes ended too soon: in a handshake, or as `truncation` has it.
    pub fn handle_eof(
        &mut self,
        now: Instant,
        truncation: Truncation,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        match &mut self.0 {
            Carrier::Stream(stream) => stream.handle_eof(now, truncation, handler),
            Carrier::Quic(_) => Ok(()),
        }
    }

    /// Passes on the events that commands, `poll_transmit` and time-outs have caused.
    #[inline]
    pub fn drain_events(&mut self, now: Instant, handler: &mut impl Handler<R>) {
        either!(&mut self.0, carrier => carrier.drain_events(now, handler));
    }

    /// The time of `poll_timeout` may have come. An error where the connection should be ready by now.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<R>,
    ) -> Result<(), Failure> {
        either!(&mut self.0, carrier => carrier.handle_timeout(now, handler))
    }

    /// When to call `handle_timeout`; None for never.
    #[inline]
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        either!(&mut self.0, carrier => carrier.poll_timeout())
    }

    /// Over a byte stream: appends bytes to send to `out`, about `limit` at most. The machine decides late: TLS asks it for
    /// one record at a time.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        if let Carrier::Stream(stream) = &mut self.0 {
            stream.poll_transmit(now, out, limit);
        }
    }

    /// Over QUIC: writes the next datagrams to `out`, one batch at most. Events may follow: call `drain_events`.
    pub fn poll_datagrams(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        match &mut self.0 {
            Carrier::Quic(quic) => quic.poll_transmit(now, out, max_datagrams),
            Carrier::Stream(_) => None,
        }
    }

    /// Over QUIC: the connection as its socket sees it. [`QuicSocket::settle`](crate::QuicSocket::settle) follows every
    /// call.
    pub fn link(&mut self) -> Option<&mut QuicLink> {
        match &mut self.0 {
            Carrier::Quic(quic) => Some(quic.link()),
            Carrier::Stream(_) => None,
        }
    }

    /// Whether `poll_transmit` or `poll_datagrams` would give something now.
    #[inline]
    pub fn wants_transmit(&self) -> bool {
        either!(&self.0, carrier => carrier.wants_transmit())
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after what there was has been given.
    #[inline]
    pub fn poll_wants_transmit(&mut self) -> bool {
        either!(&mut self.0, carrier => carrier.poll_wants_transmit())
    }

    /// Whether the driver was asked to transmit and has not yet been given everything.
    #[inline]
    pub fn is_transmitting(&self) -> bool {
        either!(&self.0, carrier => carrier.is_transmitting())
    }

    /// Over a byte stream: sends close_notify where there is TLS; nothing more will be sent. What it sends is still processed.
    pub fn close_output(&mut self) {
        if let Carrier::Stream(stream) = &mut self.0 {
            stream.close_output();
        }
    }

    /// Ends the connection. What arrives is ignored, and the connection is closed once all is sent that it owes the peer.
    /// Call `shutdown` first on a machine that ends with a message (GOAWAY).
    pub fn close(&mut self) {
        either!(&mut self.0, carrier => carrier.close());
    }

    /// The machine, once the connection is ready.
    #[inline]
    pub fn machine(&mut self) -> Option<&mut R::Machine> {
        either!(&mut self.0, carrier => carrier.machine())
    }

    /// The machine to look at, once the connection is ready.
    #[inline]
    pub fn ready_machine(&self) -> Option<&R::Machine> {
        either!(&self.0, carrier => carrier.ready_machine())
    }

    /// Whether everything that arrives is ignored: the phase is `Closing` or `Closed`.
    #[inline]
    pub fn is_over(&self) -> bool {
        either!(&self.0, carrier => carrier.is_over())
    }

    /// Where the connection stands.
    #[inline]
    pub fn phase(&self) -> Phase {
        either!(&self.0, carrier => carrier.phase())
    }

    /// What is spoken, once that is known.
    pub fn protocol(&self) -> Option<R::Protocol> {
        either!(&self.0, carrier => carrier.protocol())
    }

    /// What was negotiated, once the connection is ready.
    pub fn negotiated(&self) -> Option<Negotiated<'_, R::Protocol>> {
        either!(&self.0, carrier => carrier.negotiated())
    }

    /// When its phases ended.
    pub fn timings(&self) -> Timings {
        either!(&self.0, carrier => carrier.timings())
    }

    /// Bytes of the socket so far.
    pub fn traffic(&self) -> Traffic {
        either!(&self.0, carrier => carrier.traffic())
    }

    /// Over a byte stream: whether the peer has said by TLS that it will send nothing more. Follow with `handle_eof`.
    #[inline]
    pub fn peer_closed(&self) -> bool {
        match &self.0 {
            Carrier::Stream(stream) => stream.peer_closed(),
            Carrier::Quic(_) => false,
        }
    }

    /// Whether bytes are encrypted.
    pub fn is_secured(&self) -> bool {
        match &self.0 {
            Carrier::Stream(stream) => stream.is_secured(),
            Carrier::Quic(_) => true,
        }
    }

    /// Fills in what a row of a connection has from its transport.
    pub fn complete(&self, record: &mut ConnectionRecord) {
        either!(&self.0, carrier => carrier.complete(record));
    }
}

impl<R: QuicRole> std::fmt::Debug for Carrier<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        either!(self, carrier => carrier.fmt(f))
    }
}
