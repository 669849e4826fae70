//! Our server over QUIC in virtual time, under clients that break its rules: h3spec's cases by name, and attacks. And when it sends.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod attacks;
mod early;
mod h3spec;
mod repeating;
mod sending;

use bytes::BytesMut;
use endpoint::{EndPoint, ReceivedDatagrams, SocketId};
use fuzzing::quic::{Peer, SharedPlan};
use link::{LinkSpec, no_traces};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, QuicClientTls, Resumption, ServerTls,
    ServerTlsOptions,
};
use sim::{Host, Path, World};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use trace::{Direction, PacketRecord};
use transport::QuicSettings;
use unit::{Instant, Seed};

const START: Instant = Instant::from_nanos(1_000_000_000);

/// A server and whom its clients trust. Sessions last as long as this does.
struct Trusted {
    server: ServerTls,
    client: ClientTls,
}

impl Trusted {
    fn new() -> Self {
        Self::with_names(0)
    }

    /// With a certificate for so many more names, so that it fills several datagrams.
    fn with_names(count: u32) -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let names: Vec<String> = (0..count).map(|number| format!("name-{number}.a.test")).collect();
        let names: Vec<&str> =
            ["a.test"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let identity = authority.issue(&names).unwrap();
        let resumption = Resumption::Early;
        let options = ServerTlsOptions { resumption, ..ServerTlsOptions::new(vec![identity]) };
        let roots = vec![authority.root_pem()];
        let client = ClientTlsOptions { roots, resumption, ..Default::default() };
        Self { server: ServerTls::new(options).unwrap(), client: ClientTls::new(client).unwrap() }
    }

    fn tls(&self, alpn: &str) -> Arc<QuicClientTls> {
        self.client.for_quic(alpn).unwrap()
    }

    fn origin(&self, settings: QuicSettings) -> Origin {
        self.origin_of(settings, Parts::default())
    }

    fn origin_of(&self, settings: QuicSettings, parts: Parts) -> Origin {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
        let kind = ListenerKind::Quic(self.server.clone(), settings);
        Origin::new(OriginConfig::new(vec![kind], wall_clock), parts)
    }
}

/// The socket of our server, whose only listener it is.
const SOCKET: SocketId = SocketId(0);

/// A datagram as if it came from `remote`.
fn received(remote: SocketAddr, datagram: &[u8]) -> ReceivedDatagrams {
    let (stride, data) = (datagram.len(), BytesMut::from(datagram));
    ReceivedDatagrams { remote, local: None, ecn: None, stride, data }
}

/// A client and our server, 20 ms apart.
struct Bench {
    world: World,
    peer: Host<Peer>,
    origin: Host<Origin>,
}

impl Bench {
    fn new(trusted: &Trusted, plan: SharedPlan) -> Self {
        // quinn-proto leaves out a packet number now and then, and a peer that acknowledges it breaks the protocol: the same
        // ones each time.
        let settings = QuicSettings { seed: Some(Seed(1)), ..QuicSettings::default() };
        Self::with(trusted, Peer::new(trusted.tls("h3"), plan), settings)
    }

    fn with(trusted: &Trusted, peer: Peer, settings: QuicSettings) -> Self {
        Self::of(peer, trusted.origin(settings))
    }

    fn of(peer: Peer, origin: Origin) -> Self {
        let mut world = World::new(1);
        let peer = world.host("10.0.0.1", peer);
        let origin = world.host("10.0.0.2", origin);
        world.listen_datagrams(origin, "10.0.0.2:443");
        let link = LinkSpec::parse("rtt=20ms", no_traces).unwrap();
        world.connect(peer, origin, Path::link(link));
        world.record_packets();
        Self { world, peer, origin }
    }

    /// Lets the handshake come to its end, and the quiet after it.
    fn connected(&mut self) -> &mut Self {
        self.run(200);
        assert!(self.peer().is_connected, "{:?}", self.peer().ended);
        self
    }

    fn run(&mut self, millis: u64) {
        self.world.run_for(Duration::from_millis(millis));
    }

    /// The datagrams that the peer sends when it acts so. They reach nobody.
    fn taken<T>(&mut self, act: impl FnOnce(&mut Peer) -> T) -> Vec<Vec<u8>> {
        let now = self.world.now();
        self.act(|peer| {
            act(peer);
            let (mut datagrams, mut datagram) = (Vec::new(), Vec::new());
            while peer.poll_datagrams(now, SocketId(0), &mut datagram, 1).is_some() {
                datagrams.push(std::mem::take(&mut datagram));
            }
            datagrams
        })
    }

    /// Where the peer's packets come from.
    fn address(&self) -> SocketAddr {
        let up = |packet: &&PacketRecord| packet.direction == Direction::Up;
        self.world.packets().iter().find(up).unwrap().flow.unwrap().source
    }

    fn peer(&self) -> &Peer {
        self.world.end_point(self.peer)
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Peer) -> T) -> T {
        self.world.with(self.peer, act)
    }
}
