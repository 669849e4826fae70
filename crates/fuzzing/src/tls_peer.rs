//! Clients of TLS on the other side of an end point's sockets: each speaks TLS as it should, and carries a script's bytes.

use endpoint::SendBuf;
use secure::{ClientTls, ClientTlsOptions, Layer, Resumption, Tls, Trust, Versions};
use std::collections::BTreeMap;

/// Clients of TLS, made as scripts ask for them. What they share is kept for the time of one script, so that one script
/// does not change what another does.
#[derive(Debug, Default)]
pub(crate) struct TlsClients {
    made: BTreeMap<u8, ClientTls>,
}

impl TlsClients {
    /// A client on a new connection. `settings`: two bits for what it offers by ALPN, a bit each for TLS 1.2 alone, for no
    /// resumption, and for a handshake that waits until the script has the client read.
    pub(crate) fn connect(&mut self, settings: u8) -> TlsPeer {
        let tls = self.made.entry(settings & 0xf).or_insert_with(|| {
            let alpn = OFFERS[usize::from(settings & 3)];
            let versions = if settings & 4 == 0 { Versions::Any } else { Versions::Tls12 };
            let resumption = if settings & 8 == 0 { Resumption::Early } else { Resumption::Off };
            let alpn = alpn.iter().map(|name| (*name).to_owned()).collect();
            let trust = Trust::Anyone;
            let options =
                ClientTlsOptions { trust, alpn, versions, resumption, ..Default::default() };
            ClientTls::new(options).expect("settings of this file")
        });
        let tls = Tls::client(tls, "a.test").expect("a host name");
        TlsPeer {
            layer: Layer::secured(tls),
            plain: Vec::new(),
            is_eager: settings & 16 == 0,
            damage: None,
            is_damaged: false,
        }
    }
}

/// A client of TLS between a script and a socket.
#[derive(Debug)]
pub(crate) struct TlsPeer {
    layer: Layer,
    /// What the script says, and no record has taken yet.
    plain: Vec<u8>,
    is_eager: bool,
    /// Where the next bytes to be sent are damaged.
    damage: Option<u8>,
    is_damaged: bool,
}

impl TlsPeer {
    /// The script says these bytes, as plaintext.
    pub(crate) fn say(&mut self, plain: &[u8]) {
        self.plain.extend_from_slice(plain);
    }

    /// One bit of the next bytes to be sent is turned.
    pub(crate) fn damage(&mut self, at: u8) {
        self.damage = Some(at);
    }

    /// It says that nothing more will come. Within the handshake a server may take that for damage (RFC 8446 §6.1).
    pub(crate) fn close(&mut self) {
        if !self.layer.is_handshaking() {
            self.layer.close_notify();
        }
    }

    /// The bytes that it wants to send now.
    pub(crate) fn poll_transmit(&mut self) -> Vec<u8> {
        let mut out = SendBuf::new();
        let plain = &mut self.plain;
        self.layer.poll_transmit(&mut out, usize::MAX / 2, |into, limit| {
            let length = limit.min(plain.len());
            into.put(&plain[..length]);
            plain.drain(..length);
        });
        let mut bytes = out.to_vec();
        if !bytes.is_empty()
            && let Some(at) = self.damage.take()
        {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= 1;
            self.is_damaged = true;
        }
        bytes
    }

    /// Takes what the end point sent. It has to be right TLS: only a client whose own bytes were damaged may be told of an
    /// error, and one that has nothing in common with the server.
    pub(crate) fn handle_bytes(&mut self, mut bytes: &[u8]) {
        loop {
            match self.layer.handle_bytes(&mut bytes) {
                Ok(Some(_plain)) => {}
                Ok(None) => return,
                Err(error) => {
                    let may_fail = self.is_damaged || self.layer.is_handshaking();
                    assert!(may_fail, "a client that did nothing wrong: {error:?}");
                    return;
                }
            }
        }
    }

    /// Whether the driver goes on by itself, since the handshake is under way.
    pub(crate) fn is_eager(&self) -> bool {
        self.is_eager && self.layer.is_handshaking()
    }
}

/// What clients offer: a multiplexing protocol each, HTTP/1.1, nothing.
const OFFERS: [&[&str]; 4] = [&["h2", "http/1.1"], &["http/1.1"], &["spdy/3.1"], &[]];
