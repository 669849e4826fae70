//! The server's side of a connection.

use crate::byte_stream::StreamConnection;
use crate::connection::{Carrier, Connection};
use crate::failure::Failure;
use crate::protocol::Protocol;
use crate::quic::{QuicConnection, QuicLink};
use crate::recognise::{Recognised, recognise};
use crate::role::{QuicRole, Role};
use endpoint::FilePart;
use proto::h3::{ErrorCode, PeerSettings};
use proto::schedule::{Policy, Scheduler};
use proto::{
    ByteStreamConnection, Fin, Misuse, MultiplexedConnection, Scheme, ServerConnection, StreamId,
    h1, h2, h3, spdy,
};
use secure::{Layer, ServerTls, Tls};
use std::rc::Rc;
use std::sync::Arc;
use trace::Tracer;
use unit::Instant;

/// The protocols and settings of a server's connections. All connections of a server share one value.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What is spoken over TLS, and which SPDY in the clear: of its two versions, which look alike, the one named
    /// first. HTTP/1.1 and HTTP/2 are always spoken in the clear.
    pub protocols: Vec<Protocol>,
    /// The policy by which a multiplexing connection chooses the stream that sends next.
    pub priorities: Policy,
    /// Whether the application may decide the order of single streams.
    pub decisions: Decisions,
    /// HTTP/1.1's settings; `scheme` follows from the connection.
    pub h1: h1::ServerSettings,
    /// HTTP/2's settings; `no_rfc7540_priorities` follows from `priorities`.
    pub h2: h2::Settings,
    /// HTTP/3's settings.
    pub h3: Arc<h3::Settings>,
    /// SPDY's settings; `version` follows from the protocol.
    pub spdy: spdy::Settings,
}

impl ServerSettings {
    /// The protocols' own defaults.
    pub fn new(protocols: Vec<Protocol>) -> Self {
        Self {
            protocols,
            priorities: Policy::default(),
            decisions: Decisions::None,
            h1: h1::ServerSettings::default(),
            h2: h2::Settings::server(),
            h3: Arc::new(h3::Settings::server()),
            spdy: spdy::Settings::server(spdy::Version::V3_1),
        }
    }

    /// A scheduler for one connection.
    pub(crate) fn scheduler(&self) -> Box<dyn Scheduler> {
        self.scheduler_by(self.priorities)
    }

    /// A scheduler for one connection over HTTP/3.
    pub(crate) fn scheduler_over_http3(&self) -> Box<dyn Scheduler> {
        self.scheduler_by(self.priorities.over_http3())
    }

    fn scheduler_by(&self, policy: Policy) -> Box<dyn Scheduler> {
        match self.decisions {
            Decisions::None => policy.scheduler(),
            Decisions::Taken => policy.decided_scheduler(),
        }
    }
}

/// Whether a server decides the order of single streams by
/// [`Priority::Decided`](proto::schedule::Priority::Decided). With [`Policy::ServerDriven`] it always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decisions {
    /// It has no effect.
    #[default]
    None,
    /// It goes before what the client asked for.
    Taken,
}

/// The parts of a server's connection.
#[derive(Debug, Clone)]
pub struct ServerSpec<'a> {
    /// TLS settings; None for a clear connection.
    pub tls: Option<&'a ServerTls>,
    /// Protocols and settings.
    pub settings: Rc<ServerSettings>,
    /// For the machine's events.
    pub tracer: Tracer,
}

/// Buffers for requests, for all connections of a thread.
#[derive(Debug, Default)]
pub struct BufferPools {
    h1: h1::BufferPool,
    h3: h3::BufferPool,
}

/// The machine of a server's connection.
pub type ServerMachine = dyn ServerProtocol;

/// The machine of a server's connection over a byte stream.
pub trait ServerByteStream: ServerProtocol + ByteStreamConnection {}

impl<M: ServerProtocol + ByteStreamConnection> ServerByteStream for M {}

/// A server's machine, with the back-pressure of a protocol without flow control.
pub trait ServerProtocol: ServerConnection {
    /// Whether it accepts more bytes. While it does not, the socket is not read.
    fn wants_read(&self) -> bool {
        true
    }

    /// Bytes that the machine deferred and that can be handled now: they are handed in again.
    fn take_backlog(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether everything is sent and FIN should follow, while the peer may still be sending.
    fn wants_shutdown(&self) -> bool {
        false
    }

    /// Whether a part of a request's head has come, for the rest of which the machine has a time-out.
    fn is_amid_head(&self) -> bool {
        false
    }

    /// Takes buffers for requests from the pool, where it has none.
    fn take_buffers(&mut self, _pools: &mut BufferPools) {}

    /// Gives the buffers back to the pool, where no request is under way.
    fn return_buffers(&mut self, _pools: &mut BufferPools) {}

    /// Queues a range of a file. None where the protocol does not send a body's bytes unframed.
    fn send_file(
        &mut self,
        _stream: StreamId,
        _part: FilePart,
        _fin: Fin,
    ) -> Option<Result<(), Misuse>> {
        None
    }
}

impl ServerProtocol for h1::Server {
    fn wants_read(&self) -> bool {
        self.wants_read()
    }

    fn take_backlog(&mut self) -> Vec<u8> {
        self.take_backlog()
    }

    fn wants_shutdown(&self) -> bool {
        self.wants_shutdown()
    }

    fn is_amid_head(&self) -> bool {
        self.is_amid_head()
    }

    fn take_buffers(&mut self, pools: &mut BufferPools) {
        self.take_buffers(&mut pools.h1);
    }

    fn return_buffers(&mut self, pools: &mut BufferPools) {
        self.return_buffers(&mut pools.h1);
    }

    fn send_file(
        &mut self,
        stream: StreamId,
        part: FilePart,
        fin: Fin,
    ) -> Option<Result<(), Misuse>> {
        Some(self.send_file(stream, part, fin))
    }
}

impl ServerProtocol for h2::Server {}

impl ServerProtocol for h3::Server {
    fn take_buffers(&mut self, pools: &mut BufferPools) {
        self.take_buffers(&mut pools.h3);
    }

    fn return_buffers(&mut self, pools: &mut BufferPools) {
        self.return_buffers(&mut pools.h3);
    }
}

impl ServerProtocol for spdy::Server {}

/// The machine of a server's connection over QUIC.
pub trait ServerMultiplexed: ServerProtocol + MultiplexedConnection {}

impl<M: ServerProtocol + MultiplexedConnection> ServerMultiplexed for M {}

/// The server's role.
#[derive(Debug)]
pub struct Server {
    settings: Rc<ServerSettings>,
    tracer: Tracer,
}

impl Role for Server {
    type Machine = ServerMachine;
    type ByteStream = dyn ServerByteStream;
    type Protocol = Protocol;

    fn choose(
        &self,
        alpn: Option<Option<&[u8]>>,
        seen: &[u8],
    ) -> Result<Option<Protocol>, Failure> {
        let ours = |fits: &dyn Fn(Protocol) -> bool| {
            self.settings.protocols.iter().copied().find(|protocol| fits(*protocol))
        };
        let chosen = match alpn.flatten() {
            Some(name) => ours(&|protocol| protocol.alpn().as_bytes() == name),
            None => match recognise(seen) {
                Recognised::NotYet => return Ok(None),
                Recognised::Speaks(protocol) => Some(protocol),
                Recognised::OneOf(alike) => ours(&|protocol| alike.contains(&protocol)),
                Recognised::Nothing => None,
            },
        };
        chosen.map(Some).ok_or(Failure::UnknownProtocol)
    }

    fn machine(
        &self,
        now: Instant,
        protocol: Protocol,
        scheme: Scheme,
    ) -> Option<Box<Self::ByteStream>> {
        protocol.server(now, scheme, &self.settings, self.tracer.clone())
    }

    fn application(machine: &Self::ByteStream) -> &Self::Machine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut Self::Machine {
        machine
    }

    fn take_backlog(machine: &mut Self::Machine) -> Vec<u8> {
        machine.take_backlog()
    }
}

impl QuicRole for Server {
    type Multiplexed = dyn ServerMultiplexed;

    const NO_ERROR: u64 = ErrorCode::NO_ERROR.0;

    fn error_name(code: u64) -> &'static str {
        ErrorCode(code).name()
    }

    fn multiplexed(
        &self,
        now: Instant,
        protocol: Protocol,
        _remembered: Option<PeerSettings>,
    ) -> Option<Box<Self::Multiplexed>> {
        protocol.server_over_quic(now, &self.settings, self.tracer.clone())
    }

    fn tracer(&self) -> Option<&Tracer> {
        Some(&self.tracer)
    }

    fn over_quic(machine: &Self::Multiplexed) -> &Self::Machine {
        machine
    }

    fn over_quic_mut(machine: &mut Self::Multiplexed) -> &mut Self::Machine {
        machine
    }
}

impl Connection<Server> {
    /// A connection that a listener accepted.
    pub fn accept(now: Instant, spec: ServerSpec<'_>) -> Result<Self, Failure> {
        let layer = match spec.tls {
            None => Layer::Clear,
            Some(settings) => Layer::secured(Tls::server(settings).map_err(Failure::Name)?),
        };
        let role = Server { settings: spec.settings, tracer: spec.tracer };
        Ok(Self(Carrier::Stream(StreamConnection::accepted(now, role, layer))))
    }

    /// A connection over QUIC that a client has opened.
    pub fn accept_quic(
        now: Instant,
        link: Box<QuicLink>,
        settings: Rc<ServerSettings>,
        tracer: Tracer,
    ) -> Self {
        let role = Server { settings, tracer };
        Self(Carrier::Quic(Box::new(QuicConnection::new(now, role, link))))
    }
}
