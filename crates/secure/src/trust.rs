//! Whom a client believes, and by which clock.

use crate::error::ConfigError;
use crate::identity::Pem;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// How a client judges a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It must lead to one of the roots given, be in time, and be for the name asked for.
    #[default]
    Roots,
    /// Any certificate will do (`-k`); the handshake's signatures are still checked.
    Anyone,
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

/// The verifier for `trust` with the certificates in `roots`.
pub(crate) fn verifier(
    trust: Trust,
    roots: &[Pem],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ConfigError> {
    let mut store = RootCertStore::empty();
    for pem in roots {
        let (used, unused) = store.add_parsable_certificates(pem.certificates()?);
        // A system's bundle may hold certificates of kinds that nobody needs; a file without any that
        // can be used is a mistake.
        if used == 0 {
            return Err(pem.wrong(format!("none of its {unused} certificates can be a root")));
        }
    }
    if trust == Trust::Anyone || store.is_empty() {
        return Ok(Arc::new(Foregone { trust, provider: provider.clone() }));
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
        .build()
        .map_err(|error| ConfigError::Refused(error.to_string()))?;
    Ok(verifier)
}

/// A verdict that needs no chain. WebPkiServerVerifier cannot be built without roots, but a client
/// without roots that meets no TLS server is no mistake, so it too stands here.
#[derive(Debug)]
struct Foregone {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Foregone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.trust {
            Trust::Anyone => Ok(ServerCertVerified::assertion()),
            Trust::Roots => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
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
