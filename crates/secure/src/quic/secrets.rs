//! The secrets of a server at one address: the key of its stateless resets, that of its tokens, and its connection IDs. They
//! follow from its private key. So all its threads have the same, and a server that begins anew ends the connections of the one
//! before it by stateless resets that their clients believe (RFC 9000 §10.3.2).

use super::QuicServerTls;
use crate::secret::Secret;
use quinn_proto::crypto::{HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hkdf, hmac};
use std::net::SocketAddr;
use std::sync::Arc;

/// One secret for each purpose.
pub struct QuicServerSecrets {
    secret: Secret,
}

impl QuicServerTls {
    /// The secrets of a server at `address`. Those of two addresses differ: a server must not tell the reset token of a
    /// connection that another one has (RFC 9000 §21.11).
    pub fn secrets(&self, address: SocketAddr) -> QuicServerSecrets {
        let address = address.to_string();
        let mut bytes = [0; 32];
        fill(&self.secret, &[b"address", address.as_bytes()], &mut bytes);
        QuicServerSecrets { secret: hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &bytes) }
    }
}

impl QuicServerSecrets {
    /// The key of stateless reset tokens.
    pub fn reset_key(&self) -> Arc<dyn HmacKey> {
        let mut bytes = [0; 32];
        fill(&self.secret, &[b"stateless reset"], &mut bytes);
        Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
    }

    /// The key of Retry's tokens and of those for later connections.
    pub fn token_key(&self) -> Arc<dyn HandshakeTokenKey> {
        let mut bytes = [0; 32];
        fill(&self.secret, &[b"tokens"], &mut bytes);
        Arc::new(hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &bytes))
    }

    /// The connection IDs of the socket with this number.
    pub fn connection_ids(&self, socket: u8) -> NumberedIds {
        let mut bytes = [0; 32];
        fill(&self.secret, &[b"connection IDs"], &mut bytes);
        NumberedIds { socket, key: hmac::Key::new(hmac::HMAC_SHA256, &bytes) }
    }
}

/// Connection IDs of eight bytes: the number of the socket, four random ones, and a signature of three, by which packets that
/// belong to no connection of ours are told from rubbish.
#[derive(Clone)]
pub struct NumberedIds {
    socket: u8,
    key: hmac::Key,
}

const LENGTH: usize = 8;
const SIGNED: usize = 5;

impl NumberedIds {
    fn signature(&self, signed: &[u8]) -> [u8; LENGTH - SIGNED] {
        let tag = hmac::sign(&self.key, signed);
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }
}

impl ConnectionIdGenerator for NumberedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; LENGTH];
        // It does not fail once the system has started; quinn-proto itself would panic.
        let _no_randomness = SystemRandom::new().fill(&mut id[1..SIGNED]);
        id[0] = self.socket;
        let signature = self.signature(&id[..SIGNED]);
        id[SIGNED..].copy_from_slice(&signature);
        ConnectionId::new(&id)
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        match id.split_at_checked(SIGNED) {
            Some((signed, signature)) if signature == self.signature(signed) => Ok(()),
            _ => Err(InvalidCid),
        }
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Expands `secret` into `bytes`, 32 of which HKDF-SHA256 always has.
fn fill(secret: &Secret, label: &[&[u8]], bytes: &mut [u8; 32]) {
    let filled = secret.expand(label, hkdf::HKDF_SHA256).and_then(|okm| okm.fill(bytes));
    debug_assert!(filled.is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authority, AuthoritySpec, ServerTls, ServerTlsOptions};

    fn server(identity: &crate::Identity) -> Arc<QuicServerTls> {
        let tls = ServerTls::new(ServerTlsOptions::new(vec![identity.clone()])).unwrap();
        tls.for_quic("h3").unwrap()
    }

    #[test]
    fn secrets_outlast_a_restart_and_are_those_of_one_key_and_one_address() {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identities = ["a.test", "b.test"].map(|name| authority.issue(&[name]).unwrap());
        let [one, two]: [SocketAddr; 2] =
            ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        let of = |identity, address| {
            let secrets = server(identity).secrets(address);
            let mut reset = [0; 32];
            secrets.reset_key().sign(b"id", &mut reset);
            let mut token = b"token".to_vec();
            secrets.token_key().aead_from_hkdf(b"nonce").seal(&mut token, b"").unwrap();
            let id = secrets.connection_ids(3).generate_cid();
            (secrets, reset, token, id)
        };
        let (first, reset, token, id) = of(&identities[0], one);
        let again = of(&identities[0], one);
        assert_eq!((again.1, &again.2), (reset, &token));
        assert!(first.connection_ids(0).validate(&again.3).is_ok());
        for (identity, address) in [(&identities[0], two), (&identities[1], one)] {
            let other = of(identity, address);
            assert!(other.1 != reset && other.2 != token);
            assert!(other.0.connection_ids(3).validate(&id).is_err());
        }
    }

    #[test]
    fn connection_ids_begin_with_the_number_of_their_socket_and_differ() {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let tls = server(&authority.issue(&["a.test"]).unwrap());
        let mut ids = tls.secrets("127.0.0.1:1".parse().unwrap()).connection_ids(7);
        let (one, two) = (ids.generate_cid(), ids.generate_cid());
        assert!(one[0] == 7 && two[0] == 7 && one != two, "{one} {two}");
        assert_eq!([one.len(), ids.cid_len()], [8; 2]);
        for wrong in 0..one.len() {
            let mut bytes = one.to_vec();
            bytes[wrong] ^= 1;
            assert!(ids.validate(&ConnectionId::new(&bytes)).is_err(), "byte {wrong}");
        }
        assert!(ids.validate(&ConnectionId::new(&one[..4])).is_err());
    }
}
