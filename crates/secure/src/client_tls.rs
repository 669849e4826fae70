//! A client's TLS settings, built once and shared by its connections. They hold the session cache, so clients that must
//! not share sessions need one each.

use crate::error::ConfigError;
use crate::identity::Pem;
use crate::key_log::{self, KeyLog};
use crate::sessions::SessionsByPort;
use crate::trust::{self, RootsLater, Trust};
use rustls::ClientConfig;
use rustls::SupportedProtocolVersion;
use rustls::crypto::ring;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::{TLS12, TLS13};
use std::sync::Arc;

/// TLS versions that a side agrees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versions {
    /// 1.2 and 1.3; the peer decides.
    #[default]
    Any,
    /// 1.2 only (RFC 5246): one round trip more.
    Tls12,
    /// 1.3 only (RFC 8446).
    Tls13,
}

impl Versions {
    pub(crate) fn supported(self) -> &'static [&'static SupportedProtocolVersion] {
        static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        match self {
            Self::Any => &BOTH,
            Self::Tls12 => &BOTH[1..],
            Self::Tls13 => &BOTH[..1],
        }
    }
}

/// Whether sessions are taken up again, which saves certificates and, in TLS 1.2, a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resumption {
    /// Sessions are kept (client) and tickets given (server).
    #[default]
    On,
    /// As `On`, and the client's first requests may go within the handshake (0-RTT, RFC 8446 §2.3).
    Early,
    /// Every handshake is a full one.
    Off,
}

/// What a client's TLS shall be set to.
#[derive(Debug, Clone, Default)]
pub struct ClientTlsOptions {
    /// How the server's certificate is judged.
    pub trust: Trust,
    /// The authorities believed, each text with one certificate or more.
    pub roots: Vec<Pem>,
    /// Who is believed where `roots` is empty.
    pub roots_later: Option<RootsLater>,
    /// Application protocols offered, best first: `h2`, `http/1.1`, `spdy/3.1`, …; none sends no ALPN.
    pub alpn: Vec<String>,
    /// Versions offered.
    pub versions: Versions,
    /// Whether sessions are resumed.
    pub resumption: Resumption,
    /// Where secrets are logged.
    pub key_log: Option<Arc<dyn KeyLog>>,
    /// The wall clock that certificates are judged by; None for the system's.
    pub time: Option<Arc<dyn TimeProvider>>,
}

/// A client's TLS settings and its store of sessions; cheap to clone, the store is shared.
#[derive(Debug, Clone)]
pub struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    /// None where no sessions are resumed.
    sessions: Option<SessionsByPort>,
    /// Sessions over QUIC. Those over TCP are of no use there: their tickets carry no transport parameters.
    pub(crate) quic_sessions: Option<SessionsByPort>,
}

impl ClientTls {
    /// Checks the settings and makes an empty store of sessions.
    pub fn new(options: ClientTlsOptions) -> Result<Self, ConfigError> {
        let provider = Arc::new(ring::default_provider());
        let verifier =
            trust::verifier(options.trust, &options.roots, options.roots_later, &provider)?;
        let time = options.time.unwrap_or_else(|| Arc::new(DefaultTimeProvider));
        let mut config = ClientConfig::builder_with_details(provider, time)
            .with_protocol_versions(options.versions.supported())
            .map_err(|error| ConfigError::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = options.alpn.into_iter().map(String::into_bytes).collect();
        config.key_log = key_log::for_rustls(options.key_log.as_ref());
        config.enable_early_data = options.resumption == Resumption::Early;
        let sessions = || match options.resumption {
            Resumption::On | Resumption::Early => Some(SessionsByPort::default()),
            Resumption::Off => None,
        };
        let (sessions, quic_sessions) = (sessions(), sessions());
        config.resumption = resumption(sessions.as_ref(), UNNAMED);
        Ok(Self { config: Arc::new(config), sessions, quic_sessions })
    }

    /// The same settings for servers at `port`, with the sessions of those alone.
    pub fn of_port(&self, port: u16) -> Self {
        let mut config = (*self.config).clone();
        config.resumption = resumption(self.sessions.as_ref(), port);
        Self { config: Arc::new(config), ..self.clone() }
    }
}

/// Where rustls keeps the sessions of servers at `port`.
pub(crate) fn resumption(
    sessions: Option<&SessionsByPort>,
    port: u16,
) -> rustls::client::Resumption {
    match sessions {
        Some(sessions) => rustls::client::Resumption::store(sessions.of(port)),
        None => rustls::client::Resumption::disabled(),
    }
}

/// Stands for the port of servers whose port nobody has told.
pub(crate) const UNNAMED: u16 = 0;
