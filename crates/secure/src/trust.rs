//! Which certificates a client accepts, and by which clock.

use crate::error::ConfigError;
use crate::identity::Pem;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
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
        (Trust::Roots, [], Some(read)) => judge(Chains::Later { read, anchors: OnceLock::new() }),
        (Trust::Roots, ..) => match Anchors::new(roots, provider)? {
            None => judge(Chains::None),
            Some(anchors) => judge(Chains::To(anchors)),
        },
    }
}

/// Roots, and the judge of chains that lead to them.
#[derive(Debug)]
struct Anchors {
    roots: Vec<CertificateDer<'static>>,
    judge: Arc<WebPkiServerVerifier>,
}

impl Anchors {
    /// None where there are no roots.
    fn new(roots: &[Pem], provider: &Arc<CryptoProvider>) -> Result<Option<Self>, ConfigError> {
        let store = store(roots)?;
        if store.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for pem in roots {
            all.extend(pem.certificates()?);
        }
        Ok(Some(Self { roots: all, judge: webpki(store, provider)? }))
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.judge.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match judged {
            // `openssl req -x509` marks a server's certificate as an authority's, and webpki refuses to see it from a
            // server. Here it is a root itself, so no chain is left to judge, and webpki has checked its time before
            // it looked at the mark. As in curl, the name still counts.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if is_authority_of_its_own(&why) && self.roots.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }
}

/// Whether webpki refused a server's certificate for being an authority's. rustls hides webpki's type.
pub(crate) fn is_authority_of_its_own(why: &OtherError) -> bool {
    format!("{why:?}").contains("CaUsedAsEndEntity")
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
    /// It must lead to these roots.
    To(Anchors),
    /// It must lead to roots that are read for the first one.
    Later { read: RootsLater, anchors: OnceLock<Result<Option<Anchors>, String>> },
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
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let anchors = match &self.chains {
            Chains::Any => return Ok(ServerCertVerified::assertion()),
            Chains::None => return Err(unknown()),
            Chains::To(anchors) => anchors,
            Chains::Later { read, anchors } => {
                let anchors = anchors.get_or_init(|| {
                    let anchors = Anchors::new(&read.0()?, &self.provider);
                    anchors.map_err(|error| error.to_string())
                });
                let anchors = anchors.as_ref().map_err(|why| {
                    let why = OtherError(Arc::new(std::io::Error::other(why.clone())));
                    Error::InvalidCertificate(CertificateError::Other(why))
                })?;
                anchors.as_ref().ok_or_else(unknown)?
            }
        };
        anchors.verify(end_entity, intermediates, server_name, ocsp_response, now)
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
