//! The whole origin behind a listener with TLS. A script's peer is either nobody in particular, whose bytes reach the
//! socket as they are, or a client of TLS that speaks it as it should ([`TlsPeer`]) and carries the script's bytes.

use crate::driver::{self, Bound};
use crate::server;
use endpoint::SendBuf;
use origin::{ListenerKind, Origin};
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Layer, Resumption, Tls};
use secure::{ServerTls, ServerTlsOptions, Trust, Versions};
use std::collections::BTreeMap;

/// The first byte chooses the settings, the rest is a script.
pub(crate) fn run(input: &[u8]) {
    let Some((&settings, script)) = input.split_first() else { return };
    driver::run_secured(|| origin(settings), BOUND, script);
}

/// An origin with these settings, with one listener that has TLS.
pub fn origin(settings: u8) -> Origin {
    let tls = SERVERS.with(|servers| servers[usize::from(settings >> 5 & 1)].clone());
    server::origin_on(ListenerKind::Tls(tls), settings)
}

/// What is held is what the origin may hold without TLS, and for each connection the TLS of both ends: a handshake message
/// of 64 KiB (`rustls`' limit), a record of 16 KiB in each direction, the keys and the certificates.
const BOUND: Bound = Bound { connection: server::BOUND.connection + 256 * 1024, ..server::BOUND };

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

thread_local! {
    /// With tickets and without a store of sessions; with such a store and early data. Made once, because certificates take long.
    static SERVERS: [ServerTls; 2] = {
        let authority = Authority::new(AuthoritySpec::default()).expect("the default authority");
        let identity = authority.issue(&["a.test", "b.test"]).expect("a certificate");
        [Resumption::On, Resumption::Early].map(|resumption| {
            let alpn = ["h2", "spdy/3.1", "http/1.1"].map(str::to_owned).to_vec();
            let identities = vec![identity.clone()];
            let options = ServerTlsOptions { resumption, alpn, ..ServerTlsOptions::new(identities) };
            ServerTls::new(options).expect("the default settings")
        })
    };
}

/// What clients offer: a multiplexing protocol each, HTTP/1.1, nothing.
const OFFERS: [&[&str]; 4] = [&["h2", "http/1.1"], &["http/1.1"], &["spdy/3.1"], &[]];
