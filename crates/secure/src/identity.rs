//! A certificate chain with its private key, and the PEM texts that they come from.

use crate::error::ConfigError;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;

/// A PEM text and the name of the file it came from, for errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pem {
    /// The file, as its reader calls it.
    pub name: String,
    /// What it holds.
    pub text: Vec<u8>,
}

impl Pem {
    /// `text`, read from what is called `name`.
    pub fn new(name: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Every certificate in it, at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let found: Vec<_> = CertificateDer::pem_slice_iter(&self.text)
            .collect::<Result<_, _>>()
            .map_err(|error| self.wrong(format!("a certificate is not valid PEM: {error}")))?;
        if found.is_empty() {
            return Err(self.wrong(match self.holds_key() {
                true => "it holds a private key where a certificate should be",
                false => "it holds no certificate (no `-----BEGIN CERTIFICATE-----`)",
            }));
        }
        Ok(found)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, ConfigError> {
        if String::from_utf8_lossy(&self.text).contains("ENCRYPTED") {
            return Err(self.wrong(
                "the private key is encrypted; decrypt it with `openssl pkey -in FILE -out NEW`",
            ));
        }
        PrivateKeyDer::from_pem_slice(&self.text)
            .map_err(|_| self.wrong("it holds no private key (no `-----BEGIN … PRIVATE KEY-----`)"))
    }

    fn holds_key(&self) -> bool {
        PrivateKeyDer::from_pem_slice(&self.text).is_ok()
    }

    pub(crate) fn wrong(&self, wrong: impl Into<String>) -> ConfigError {
        ConfigError::Pem { name: self.name.clone(), wrong: wrong.into() }
    }
}

/// What a server proves itself with: the chain as it is sent (leaf first) and the leaf's key.
#[derive(Clone)]
pub struct Identity {
    pub(crate) certified: Arc<CertifiedKey>,
    chain_pem: Arc<[u8]>,
    key_pem: Arc<[u8]>,
}

impl Identity {
    /// Reads a chain and the key that belongs to its first certificate.
    pub fn from_pem(chain: &Pem, key: &Pem) -> Result<Self, ConfigError> {
        let certificates = chain.certificates()?;
        let private = any_supported_type(&key.private_key()?)
            .map_err(|error| key.wrong(format!("the private key cannot be used: {error}")))?;
        let certified = CertifiedKey::new(certificates, private);
        match certified.keys_match() {
            Ok(()) => {}
            Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
                return Err(ConfigError::KeyMismatch {
                    chain: chain.name.clone(),
                    key: key.name.clone(),
                });
            }
            Err(error) => {
                return Err(chain.wrong(format!("the first certificate cannot be used: {error}")));
            }
        }
        Ok(Self {
            certified: Arc::new(certified),
            chain_pem: chain.text.as_slice().into(),
            key_pem: key.text.as_slice().into(),
        })
    }

    /// The chain, leaf first, as PEM: for servers that are not ours.
    pub fn chain_pem(&self) -> &[u8] {
        &self.chain_pem
    }

    /// The private key, as PEM.
    pub fn key_pem(&self) -> &[u8] {
        &self.key_pem
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates)", self.certified.cert.len())
    }
}
