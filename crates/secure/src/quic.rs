//! QUIC's cryptography (RFC 9001) over rustls, as quinn-proto asks for it. Unlike quinn's own it gives the cipher, whether
//! a session was resumed and why a handshake failed, and takes the padding off received packets before they are parsed.

mod frames;
mod keys;
mod observed_key;
mod padding;
mod secrets;
mod session;
mod tap;

use crate::client_tls::{ClientTls, UNNAMED, resumption};
use crate::error::ConfigError;
use crate::secret::Secret;
use crate::server_tls::ServerTls;
use crate::sessions::SessionsByPort;
use keys::{initial_keys, retry_tag};
use quinn_proto::crypto::{self, Keys, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, ServerConnection, Suite, Version};
use rustls::time_provider::TimeProvider;
use session::Session;
use std::sync::{Arc, Mutex, PoisonError};
use tap::read_parameters;
use trace::{QuicInitiator, Tracer};

pub use padding::PaddingSwitch;
pub use secrets::{NumberedIds, QuicServerSecrets};
pub use session::QuicHandshake;
pub use tap::{Observed, PacketTap, PeerWindows};

/// The QUIC version that is spoken: 1 (RFC 9000).
pub const QUIC_VERSION: u32 = 1;

/// A client's settings for QUIC, made from those of [`ClientTls`], and its store of sessions over QUIC.
pub struct QuicClientTls {
    config: Arc<rustls::ClientConfig>,
    /// None where no sessions are resumed.
    sessions: Option<SessionsByPort>,
    initial: Suite,
    is_observed: bool,
}

/// A server's settings for QUIC, made from those of [`ServerTls`]: its certificates and ticket keys.
pub struct QuicServerTls {
    config: Arc<rustls::ServerConfig>,
    /// What this server's secrets follow from.
    secret: Secret,
    initial: Suite,
    /// Where packets are observed.
    observation: Option<Observation>,
}

/// The tap of the connection that begins. quinn-proto opens a connection's first packet before there is a session.
#[derive(Default)]
struct Observation(Mutex<PacketTap>);

impl Observation {
    /// A connection may begin: its first packet came.
    fn begin(&self) -> PacketTap {
        let mut tap = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *tap = PacketTap::default();
        tap.clone()
    }

    /// The tap of the connection whose first packet came last.
    fn latest(&self) -> PacketTap {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientTls {
    /// These settings for QUIC, with one application protocol to offer.
    pub fn for_quic(&self, alpn: &str) -> Result<Arc<QuicClientTls>, ConfigError> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        let sessions = self.quic_sessions.clone();
        config.resumption = resumption(sessions.as_ref(), UNNAMED);
        let initial = initial_suite(config.crypto_provider())?;
        let config = Arc::new(config);
        Ok(Arc::new(QuicClientTls { config, sessions, initial, is_observed: false }))
    }
}

impl ServerTls {
    /// These settings for QUIC, with one application protocol to accept.
    pub fn for_quic(&self, alpn: &str) -> Result<Arc<QuicServerTls>, ConfigError> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        if config.max_early_data_size > 0 {
            // RFC 9001 §4.6.1: the only other value; flow control is QUIC's own.
            config.max_early_data_size = u32::MAX;
        }
        let initial = initial_suite(config.crypto_provider())?;
        let (config, secret) = (Arc::new(config), self.secret.clone());
        Ok(Arc::new(QuicServerTls { config, secret, initial, observation: None }))
    }
}

impl QuicClientTls {
    /// The same settings; where the tracer is on, for connections whose packets are observed: each has a [`PacketTap`].
    pub fn observed_by(self: Arc<Self>, tracer: &Tracer) -> Arc<Self> {
        if !tracer.is_on() {
            return self;
        }
        Arc::new(Self { is_observed: true, ..self.cloned() })
    }

    /// The same settings for servers at `port`, with the sessions of those alone.
    pub fn of_port(&self, port: u16) -> Arc<Self> {
        let mut config = (*self.config).clone();
        config.resumption = resumption(self.sessions.as_ref(), port);
        Arc::new(Self { config: Arc::new(config), ..self.cloned() })
    }

    fn cloned(&self) -> Self {
        let (config, sessions) = (Arc::clone(&self.config), self.sessions.clone());
        Self { config, sessions, initial: self.initial, is_observed: self.is_observed }
    }
}

impl QuicServerTls {
    /// The same settings; where the tracer is on, for the connections of one socket whose packets are observed: each has a
    /// [`PacketTap`]. The socket accepts a connection before it takes the next datagram.
    pub fn observed_by(self: Arc<Self>, tracer: &Tracer) -> Arc<Self> {
        if !tracer.is_on() {
            return self;
        }
        let (config, secret) = (Arc::clone(&self.config), self.secret.clone());
        let observation = Some(Observation::default());
        Arc::new(Self { config, secret, initial: self.initial, observation })
    }

    /// The wall clock of the settings.
    pub fn wall_clock(&self) -> Arc<dyn TimeProvider> {
        Arc::clone(&self.config.time_provider)
    }
}

/// The suite of Initial packets (RFC 9001 §5.2).
fn initial_suite(provider: &CryptoProvider) -> Result<Suite, ConfigError> {
    let is_it = |suite: &&rustls::SupportedCipherSuite| {
        suite.suite() == rustls::CipherSuite::TLS13_AES_128_GCM_SHA256
    };
    let suite = provider.cipher_suites.iter().find(is_it);
    let suite = suite.and_then(|suite| suite.tls13()).and_then(|suite| suite.quic_suite());
    suite.ok_or_else(|| ConfigError::Refused("QUIC needs TLS 1.3 with AES-128-GCM".to_owned()))
}

fn version(number: u32) -> Result<Version, UnsupportedVersion> {
    if number == QUIC_VERSION { Ok(Version::V1) } else { Err(UnsupportedVersion) }
}

fn encoded(parameters: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    bytes
}

impl crypto::ClientConfig for QuicClientTls {
    fn start_session(
        self: Arc<Self>,
        number: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let version = version(number)?;
        let bad_name = || ConnectError::InvalidServerName(server_name.to_owned());
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| bad_name())?;
        let config = Arc::clone(&self.config);
        let parameters = encoded(parameters);
        let tap = self.is_observed.then(PacketTap::default);
        if let Some(tap) = &tap {
            tap.note(Observed::Parameters(QuicInitiator::Local, read_parameters(&parameters)));
        }
        let connection =
            ClientConnection::new(config, version, name, parameters).map_err(|_| bad_name())?;
        Ok(Box::new(Session::new(connection.into(), self.initial, server_name, tap)))
    }
}

impl crypto::ServerConfig for QuicServerTls {
    fn initial_keys(&self, number: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        version(number)?;
        let tap = self.observation.as_ref().map(Observation::begin);
        Ok(initial_keys(&self.initial, id, Side::Server, tap.as_ref()))
    }

    fn retry_tag(&self, _version: u32, original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        retry_tag(original, packet)
    }

    fn start_session(
        self: Arc<Self>,
        number: u32,
        parameters: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        // quinn-proto starts no session for a version that `initial_keys` refused.
        let version = version(number).unwrap_or(Version::V1);
        let config = Arc::clone(&self.config);
        let parameters = encoded(parameters);
        let tap = self.observation.as_ref().map(Observation::latest);
        if let Some(tap) = &tap {
            tap.note(Observed::Parameters(QuicInitiator::Local, read_parameters(&parameters)));
        }
        match ServerConnection::new(config, version, parameters) {
            Ok(connection) => {
                Box::new(Session::new(connection.into(), self.initial, "the client", tap))
            }
            Err(error) => unreachable!("`for_quic` has checked these settings: {error}"),
        }
    }
}
