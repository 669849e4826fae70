//! Which certificates a client accepts, and by which clock.

use crate::error::ConfigError;
use crate::identity::Pem;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// How a client judges a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It must lead to one of the roots given, be in time, and be for the name asked for.
    #[default]
    Roots,
    /// Any certificate will do (`-k`); the handshake's signatures are still checked.
    Anyone,
}

/// Roots that are read when the first certificate is to be judged, and not before: a system's bundle takes longer
/// to read than a short exchange takes.
#[derive(Clone)]
pub struct RootsLater(Arc<Read>);

type Read = dyn Fn() -> Result<Vec<Pem>, String> + Send + Sync;

impl RootsLater {
    /// Who reads them; the error says what is wrong, and the way out.
    pub fn new(read: impl Fn() -> Result<Vec<Pem>, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for RootsLater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootsLater")
    }
}

/// A clock that stands still: for tests and virtual time.
#[derive(Debug, Clone, Copy)]
pub struct FixedTime(
    /// What it shows.
    pub UnixTime,
);

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// The verifier for `trust` with the certificates in `roots`, or those that come later where it is empty.
pub(crate) fn verifier(
    trust: Trust,
    roots: &[Pem],
    later: Option<RootsLater>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ConfigError> {
    let judge = |chains| Ok(Arc::new(Judge { chains, provider: provider.clone() }) as Arc<_>);
    match (trust, roots, later) {
        (Trust::Anyone, ..) => {
            store(roots)?;
            judge(Chains::Any)
        }
        (Trust::Roots, [], Some(read)) => judge(Chains::Later { read, judge: OnceLock::new() }),
        (Trust::Roots, ..) => match store(roots)? {
            store if store.is_empty() => judge(Chains::None),
            store => Ok(webpki(store, provider)?),
        },
    }
}

fn webpki(
    store: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, ConfigError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
        .build()
        .map_err(|error| ConfigError::Refused(error.to_string()))
}

fn store(roots: &[Pem]) -> Result<RootCertStore, ConfigError> {
    let mut store = RootCertStore::empty();
    for pem in roots {
        let (used, unused) = store.add_parsable_certificates(pem.certificates()?);
        // A system's bundle may hold certificates of kinds that nobody needs; a file without any that
        // can be used is a mistake.
        if used == 0 {
            return Err(pem.wrong(format!("none of its {unused} certificates can be a root")));
        }
    }
    Ok(store)
}

/// A judge of ours. The handshake's signatures are checked whatever becomes of the chain.
#[derive(Debug)]
struct Judge {
    chains: Chains,
    provider: Arc<CryptoProvider>,
}

/// What becomes of a certificate's chain.
#[derive(Debug)]
enum Chains {
    /// It is not looked at.
    Any,
    /// There are no roots. WebPkiServerVerifier cannot be built without, but a client without roots that meets no
    /// TLS server is no mistake.
    None,
    /// It is judged as usual, by roots that are read for the first one.
    Later { read: RootsLater, judge: OnceLock<Result<Arc<WebPkiServerVerifier>, String>> },
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let (read, judge) = match &self.chains {
            Chains::Any => return Ok(ServerCertVerified::assertion()),
            Chains::None => {
                return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
            }
            Chains::Later { read, judge } => (read, judge),
        };
        let judge = judge.get_or_init(|| {
            let roots = read.0()?;
            let judge = store(&roots).and_then(|store| webpki(store, &self.provider));
            judge.map_err(|error| error.to_string())
        });
        let judge = judge.as_deref().map_err(|why| {
            let why = OtherError(Arc::new(std::io::Error::other(why.clone())));
            Error::InvalidCertificate(CertificateError::Other(why))
        })?;
        judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
