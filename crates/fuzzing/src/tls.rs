//! The whole origin behind a listener with TLS. A script's peer is either nobody in particular, whose bytes reach the
//! socket as they are, or a client of TLS that speaks it as it should ([`TlsPeer`](crate::tls_peer::TlsPeer)) and carries the script's bytes.

use crate::driver::{self, Bound};
use crate::server;
use origin::{ListenerKind, Origin};
use secure::{Authority, AuthoritySpec, Resumption, ServerTls, ServerTlsOptions};

/// The first byte chooses the settings, the rest is a script.
pub(crate) fn run(input: &[u8]) {
    let Some((&settings, script)) = input.split_first() else { return };
    driver::run_secured(|| origin(settings), BOUND, script);
}

/// An origin with these settings, with one listener that has TLS.
pub fn origin(settings: u8) -> Origin {
    server::origin_on(listener(settings), settings)
}

/// A listener with TLS.
pub(crate) fn listener(settings: u8) -> ListenerKind {
    ListenerKind::Tls(SERVERS.with(|servers| servers[usize::from(settings >> 5 & 1)].clone()))
}

/// What is held is what the origin may hold without TLS, and for each connection the TLS of both ends: a handshake message
/// of 64 KiB (`rustls`' limit), a record of 16 KiB in each direction, the keys and the certificates.
const BOUND: Bound = Bound { connection: server::BOUND.connection + 256 * 1024, ..server::BOUND };

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
