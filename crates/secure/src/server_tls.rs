//! A server's TLS settings, built once and shared by its connections.

use crate::client_tls::{Resumption, Versions};
use crate::error::ConfigError;
use crate::identity::Identity;
use crate::key_log::{self, KeyLog};
use crate::secret::{self, Secret};
use crate::server_name;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::server::{
    ClientHello, NoServerSessionStorage, ParsedCertificate, ResolvesServerCert,
    ServerSessionMemoryCache,
};
use rustls::sign::CertifiedKey;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{CipherSuite, ServerConfig};
use std::sync::Arc;

/// What a server's TLS shall be set to.
#[derive(Debug, Clone)]
pub struct ServerTlsOptions {
    /// Who it is: the first whose leaf is valid for the name that the client asks for (SNI) is sent,
    /// else the first of all.
    pub identities: Vec<Identity>,
    /// Application protocols spoken, best first: this side's order decides.
    pub alpn: Vec<String>,
    /// Versions spoken.
    pub versions: Versions,
    /// Whether tickets are given and taken.
    pub resumption: Resumption,
    /// Tickets given after each handshake. A ticket serves one later connection.
    pub tickets: usize,
    /// Who decides on the cipher.
    pub ciphers: Ciphers,
    /// Bytes of a record at most, its header included; None for the protocol's 16 KiB.
    pub record_size: Option<usize>,
    /// Where secrets are logged.
    pub key_log: Option<Arc<dyn KeyLog>>,
    /// The wall clock of the tickets' ages; None for the system's.
    pub time: Option<Arc<dyn TimeProvider>>,
}

impl ServerTlsOptions {
    /// HTTP/2 and HTTP/1.1, every version, tickets on.
    pub fn new(identities: Vec<Identity>) -> Self {
        Self {
            identities,
            alpn: vec!["h2".to_owned(), "http/1.1".to_owned()],
            versions: Versions::Any,
            resumption: Resumption::On,
            tickets: DEFAULT_TICKETS,
            ciphers: Ciphers::AsClient,
            record_size: None,
            key_log: None,
            time: None,
        }
    }
}

/// Who decides on the cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ciphers {
    /// The client's order does.
    #[default]
    AsClient,
    /// AES-128-GCM where the client knows it, as Go's servers have it: ten rounds for fourteen, and a processor with AES
    /// is done with it sooner than with any other.
    Cheapest,
}

/// A server's TLS settings and its ticket keys; cheap to clone, the keys are shared.
#[derive(Debug, Clone)]
pub struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
    /// What the secrets of QUIC follow from.
    pub(crate) secret: Secret,
}

impl ServerTls {
    /// Checks the settings and makes fresh ticket keys.
    pub fn new(options: ServerTlsOptions) -> Result<Self, ConfigError> {
        let refused = |error: rustls::Error| ConfigError::Refused(error.to_string());
        let time = options.time.unwrap_or_else(|| Arc::new(DefaultTimeProvider));
        let first = options.identities.first().ok_or(ConfigError::NoIdentity)?;
        let secret = secret::of_private_key(first.key_pem());
        let by_name = ByName::new(options.identities)?;
        let mut provider = ring::default_provider();
        provider.cipher_suites = server_name::suites();
        if options.ciphers == Ciphers::Cheapest {
            provider.cipher_suites.sort_by_key(|suite| !is_aes_128(suite.suite()));
        }
        let mut config = ServerConfig::builder_with_details(Arc::new(provider), time)
            .with_protocol_versions(options.versions.supported())
            .map_err(refused)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(by_name));
        config.ignore_client_order = options.ciphers == Ciphers::Cheapest;
        config.alpn_protocols = options.alpn.into_iter().map(String::into_bytes).collect();
        config.max_fragment_size = options.record_size;
        config.key_log = key_log::for_rustls(options.key_log.as_ref());
        config.send_tls13_tickets = options.tickets;
        match options.resumption {
            // Self-contained tickets: nothing to look up, nothing to bound.
            Resumption::On => config.ticketer = ring::Ticketer::new().map_err(refused)?,
            // A ticket that is looked up is taken out of the store: early data cannot be replayed (RFC 8446 §8.1).
            Resumption::Early => {
                config.session_storage = ServerSessionMemoryCache::new(STORED_SESSIONS);
                config.max_early_data_size = MAX_EARLY_DATA;
                config.send_half_rtt_data = true;
            }
            Resumption::Off => {
                config.send_tls13_tickets = 0;
                config.session_storage = Arc::new(NoServerSessionStorage {});
            }
        }
        Ok(Self { config: Arc::new(config), secret })
    }
}

/// Tickets that a server for the open web gives after each handshake.
pub const DEFAULT_TICKETS: usize = 2;

/// Bytes of early data over TCP, as nginx and OpenSSL take them.
const MAX_EARLY_DATA: u32 = 16 * 1024;

/// Sessions that a server keeps, about 200 bytes each.
const STORED_SESSIONS: usize = 4096;

fn is_aes_128(suite: CipherSuite) -> bool {
    matches!(
        suite,
        CipherSuite::TLS13_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    )
}

/// Picks the certificate by the name asked for.
#[derive(Debug)]
struct ByName {
    first: Arc<CertifiedKey>,
    others: Vec<Arc<CertifiedKey>>,
}

impl ByName {
    fn new(identities: Vec<Identity>) -> Result<Self, ConfigError> {
        let mut keys = identities.into_iter().map(|identity| identity.certified);
        let first = keys.next().ok_or(ConfigError::NoIdentity)?;
        Ok(Self { first, others: keys.collect() })
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let wanted = hello.server_name().and_then(|name| ServerName::try_from(name).ok());
        let chosen = match (&wanted, self.others.is_empty()) {
            (Some(name), false) => {
                self.others.iter().find(|key| !is_for(&self.first, name) && is_for(key, name))
            }
            _ => None,
        };
        Some(chosen.unwrap_or(&self.first).clone())
    }
}

fn is_for(key: &CertifiedKey, name: &ServerName<'_>) -> bool {
    key.end_entity_cert()
        .and_then(ParsedCertificate::try_from)
        .and_then(|leaf| verify_server_name(&leaf, name))
        .is_ok()
}
