//! The client's side of a connection.

use crate::byte_stream::StreamConnection;
use crate::connection::{Carrier, Connection};
use crate::failure::Failure;
use crate::offer::Offer;
use crate::protocol::Protocol;
use crate::quic::{QuicConnection, QuicLink};
use crate::role::{QuicRole, Role};
use crate::tunnel::Tunnel;
use proto::h3::{ErrorCode, PeerSettings};
use proto::{
    ByteStreamConnection, ClientConnection, Fin, MultiplexedConnection, Repeated, Scheme, StreamId,
    h1, h2, h3, spdy,
};
use secure::{ClientTls, Layer, Tls};
use std::rc::Rc;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

/// The offer and the settings of a client's connections. One value serves all connections of a client.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// What is offered.
    pub offer: Offer,
    /// How long a connection may take until it is ready; None for ever.
    pub handshake_timeout: Option<Duration>,
    /// HTTP/1.1's settings.
    pub h1: h1::ClientSettings,
    /// HTTP/2's settings.
    pub h2: h2::Settings,
    /// HTTP/3's settings.
    pub h3: h3::Settings,
    /// SPDY's settings; `version` follows from the protocol.
    pub spdy: spdy::Settings,
}

impl ClientSettings {
    /// The protocols' own defaults, and no limit on the handshake.
    pub fn new(offer: Offer) -> Self {
        Self {
            offer,
            handshake_timeout: None,
            h1: h1::ClientSettings::default(),
            h2: h2::Settings::client(),
            h3: h3::Settings::client(),
            spdy: spdy::Settings::client(spdy::Version::V3_1),
        }
    }
}

/// How a client's connection is secured.
#[derive(Debug, Clone, Copy)]
pub enum ClientSecurity<'a> {
    /// Not at all.
    Clear,
    /// By TLS.
    Tls {
        /// TLS settings and the store of sessions. The names in its ALPN list must be those of the offer.
        settings: &'a ClientTls,
        /// The name that the certificate must be valid for: a host name or an IP address, without a port.
        server_name: &'a str,
        /// The server's port: sessions are resumed with the server that gave them.
        port: u16,
    },
}

/// What a client's connection is made of.
#[derive(Debug, Clone)]
pub struct ClientSpec<'a> {
    /// Whether there is TLS.
    pub security: ClientSecurity<'a>,
    /// Offer and settings.
    pub settings: Rc<ClientSettings>,
    /// For the machine's events.
    pub tracer: Tracer,
}

/// The machine of a client's connection.
pub type ClientMachine = dyn ClientConnection;

/// The machine of a client's connection over a byte stream.
pub trait ClientByteStream: ClientConnection + ByteStreamConnection {}

impl<M: ClientConnection + ByteStreamConnection> ClientByteStream for M {}

/// The machine of a client's connection over QUIC.
pub trait ClientMultiplexed: ClientConnection + MultiplexedConnection {
    /// The server's SETTINGS, once they have come. They hold for the early data of later connections.
    fn peer_settings(&self) -> Option<PeerSettings>;
}

impl ClientMultiplexed for h3::Client {
    fn peer_settings(&self) -> Option<PeerSettings> {
        self.peer_settings()
    }
}

/// The client's role.
#[derive(Debug)]
pub struct Client {
    settings: Rc<ClientSettings>,
    tracer: Tracer,
}

impl Role for Client {
    type Machine = ClientMachine;
    type ByteStream = dyn ClientByteStream;
    type Protocol = Protocol;

    fn choose(
        &self,
        alpn: Option<Option<&[u8]>>,
        _seen: &[u8],
    ) -> Result<Option<Protocol>, Failure> {
        let offer = self.settings.offer;
        let Some(chosen) = alpn else { return Ok(Some(offer.in_the_clear())) };
        match offer.agreed(chosen) {
            Some(protocol) => Ok(Some(protocol)),
            None => {
                let chosen = chosen.map(|name| String::from_utf8_lossy(name).into_owned());
                Err(Failure::NoAgreement { chosen })
            }
        }
    }

    fn known(&self) -> Option<Protocol> {
        self.settings.offer.known()
    }

    fn machine(
        &self,
        now: Instant,
        protocol: Protocol,
        _scheme: Scheme,
    ) -> Option<Box<Self::ByteStream>> {
        protocol.client(now, &self.settings, self.tracer.clone())
    }

    fn application(machine: &Self::ByteStream) -> &Self::Machine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut Self::Machine {
        machine
    }

    fn handshake_timeout(&self) -> Option<Duration> {
        self.settings.handshake_timeout
    }

    fn take_repeated(
        machine: &mut Self::Machine,
        now: Instant,
        input: &mut &[u8],
    ) -> Option<Repeated> {
        machine.count_only()?.take_repeated(now, input)
    }
}

impl QuicRole for Client {
    type Multiplexed = dyn ClientMultiplexed;

    const NO_ERROR: u64 = ErrorCode::NO_ERROR.0;

    fn error_name(code: u64) -> &'static str {
        ErrorCode(code).name()
    }

    fn multiplexed(
        &self,
        now: Instant,
        protocol: Protocol,
        remembered: Option<PeerSettings>,
    ) -> Option<Box<Self::Multiplexed>> {
        protocol.client_over_quic(now, &self.settings, remembered, self.tracer.clone())
    }

    fn peer_settings(machine: &Self::Multiplexed) -> Option<PeerSettings> {
        machine.peer_settings()
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

impl Connection<Client> {
    /// A connection whose socket is being connected.
    pub fn open(now: Instant, spec: ClientSpec<'_>) -> Result<Self, Failure> {
        Ok(Self(Carrier::Stream(stream(now, spec)?)))
    }

    /// As `open`, where the socket leads to a proxy: `tunnel` is opened first, and everything else runs in it.
    pub fn open_through(
        now: Instant,
        spec: ClientSpec<'_>,
        tunnel: Tunnel,
    ) -> Result<Self, Failure> {
        Ok(Self(Carrier::Stream(stream(now, spec)?.through(tunnel))))
    }

    /// A connection over QUIC, which [`QuicSocket::connect`](crate::QuicSocket::connect) has begun.
    pub fn open_quic(
        now: Instant,
        link: Box<QuicLink>,
        settings: Rc<ClientSettings>,
        tracer: Tracer,
    ) -> Self {
        let role = Client { settings, tracer };
        Self(Carrier::Quic(Box::new(QuicConnection::new(now, role, link))))
    }

    /// Direct receive: where the bytes that come next on the socket are certainly this stream's body and nothing else,
    /// how many of them. The driver may then receive them where they belong, and reports by `body_received`.
    pub fn expected_body(&mut self) -> Option<(StreamId, u64)> {
        if self.is_secured() {
            return None;
        }
        self.machine()?.direct_receive()?.expected_body()
    }

    /// So many of the bytes that `expected_body` gave were received elsewhere; returns whether the body is whole now.
    pub fn body_received(&mut self, now: Instant, bytes: u64) -> Fin {
        if let Carrier::Stream(stream) = &mut self.0 {
            stream.count_received(bytes);
        }
        let direct = self.machine().and_then(proto::ClientConnection::direct_receive);
        direct.map_or(Fin::More, |direct| direct.body_received(now, bytes))
    }
}

fn stream(now: Instant, spec: ClientSpec<'_>) -> Result<StreamConnection<Client>, Failure> {
    let layer = match spec.security {
        ClientSecurity::Clear => Layer::Clear,
        ClientSecurity::Tls { settings, server_name, port } => {
            let settings = settings.of_port(port);
            Layer::secured(Tls::client(&settings, server_name).map_err(Failure::Name)?)
        }
    };
    let role = Client { settings: spec.settings, tracer: spec.tracer };
    Ok(StreamConnection::connecting(now, role, layer))
}
