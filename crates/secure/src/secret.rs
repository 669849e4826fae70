//! The secret of a server from which its others follow.

use ring::hkdf;

/// What other secrets follow from.
pub(crate) type Secret = hkdf::Prk;

/// The secret from which those of a server with this private key follow.
pub(crate) fn of_private_key(key: &[u8]) -> Secret {
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"wirelap QUIC server").extract(key)
}
