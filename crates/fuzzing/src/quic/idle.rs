//! What an idle connection over QUIC makes a server hold on the heap, to the byte: our origin, and quinn-proto with rustls alone.
//! And what one holds whose client has only pinged for long.
//! `bench/run --only idle-h3` measures a whole process.

mod bare;
mod clients;

use super::origin::MOST;
use super::wire::{Fates, Wire};
use crate::{heap, server};
use bare::BareServer;
use clients::Clients;
use endpoint::EndPoint;
use origin::ListenerKind;
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions, QuicClientTls};
use secure::{Resumption, ServerTls, ServerTlsOptions};
use std::sync::Arc;
use std::time::Duration;
use transport::QuicSettings;
use unit::Seed;

/// Both sides' settings. The server's tickets keep no session in memory, as those of `wirelap serve`.
struct Settings {
    client: Arc<QuicClientTls>,
    server: ServerTls,
}

impl Settings {
    fn new() -> Self {
        let authority = Authority::new(AuthoritySpec::default()).expect("the default authority");
        let identity = authority.issue(&["a.test"]).expect("a certificate");
        let roots = vec![authority.root_pem()];
        // Its own sessions would count.
        let resumption = Resumption::Off;
        let client = ClientTls::new(ClientTlsOptions { roots, resumption, ..Default::default() });
        let client = client.and_then(|client| client.for_quic("h3")).expect("TLS 1.3");
        let server = ServerTls::new(ServerTlsOptions::new(vec![identity]));
        Self { client, server: server.expect("the default settings") }
    }

    /// Bytes that a server holds for each of [`MEASURED`] connections more, three seconds after each has asked once and has sent
    /// so many packets with a PING.
    fn held_by<F: EndPoint>(&self, pings: usize, server: impl Fn() -> F) -> usize {
        let held = |connections: usize| {
            let before = heap::held();
            let clients = Clients::new(connections, &self.client);
            let mut wire = Wire::new(clients, server(), Fates::read(&mut &[][..]), MOST, before);
            wire.sleep(Duration::from_secs(1));
            (0..connections).for_each(|number| wire.act(|clients| clients.ask(number)));
            for _ in 0..pings {
                (0..connections).for_each(|number| wire.act(|clients| clients.ping(number)));
            }
            wire.sleep(Duration::from_secs(3));
            wire.act(Clients::check);
            let server = wire.into_far();
            let held = heap::held() - before;
            drop(server);
            held
        };
        // What a process makes once is made by now.
        held(1);
        let grown = usize::try_from(held(1 + MEASURED) - held(1));
        grown.expect("more connections hold more") / MEASURED
    }
}

const MEASURED: usize = 16;

/// Bytes of an idle connection, and how many of them are ours, as measured and a twentieth more.
const IDLE: usize = 28_500;
const OURS: usize = 5_600;

/// Packets that a client sends, and what its connection may hold more for them. quinn-proto remembers 1,000 packets that only
/// acknowledge, 191,000 bytes in all, as long as the other side acknowledges none of them.
const PINGS: usize = 3_000;
const PINGED: usize = 1_000;

#[test]
fn an_idle_connection_holds_little_beyond_what_quinn_proto_and_rustls_do() {
    let settings = Settings::new();
    let quic = QuicSettings { seed: Some(Seed(1)), ..QuicSettings::default() };
    let origin = || {
        let listener = ListenerKind::Quic(settings.server.clone(), quic.clone());
        server::origin_within(|limits| limits, listener, 0)
    };
    let own = settings.held_by(0, origin);
    let bare = settings.held_by(0, || BareServer::new(&settings.server));
    println!("{own} bytes; quinn-proto and rustls alone {bare}");
    assert!(own <= IDLE && own - bare <= OURS, "{own} bytes; quinn-proto and rustls alone {bare}");
    let pinged = settings.held_by(PINGS, origin);
    println!("{pinged} bytes after {PINGS} pings");
    assert!(pinged <= own + PINGED, "{pinged} bytes after {PINGS} pings, {own} without");
}
