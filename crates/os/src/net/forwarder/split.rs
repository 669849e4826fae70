//! A path whose TCP a proxy splits. Between near and the proxy lies the link with its bottleneck, behind the proxy a second
//! one that only delays. The one rule: TCP is handed to the proxy and taken from it where the halves meet; what is not TCP
//! goes from half to half, and leaves the first at the time at which it enters the second.
//!
//! ```text
//! near ══ link ══╤═ proxy ═╤══ far half ══ far       TCP
//!                └─────────┘                         UDP
//! ```

use super::{ForwardSpec, Forwarder, is_unicast_ip};
use crate::clock;
use crate::error::Os;
use crate::net::packet_socket::{Batch, ETHERNET, OFFLOAD};
use crate::net::topology::{ProxyDevices, Topology};
use crate::net::waiter::Waiter;
use link::{Delivery, Link};
use std::time::Duration;
use trace::{Direction, Fate};
use unit::{ByteSize, Instant};
use wire::ip::{Packet, TCP};

/// Where frames come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Near,
    Far,
    /// The proxy, on its way to near.
    ProxyTowardsNear,
    /// The proxy, on its way to far.
    ProxyTowardsFar,
}

impl Source {
    /// In the order of their tokens.
    pub(super) const ALL: [Self; 4] =
        [Self::Near, Self::Far, Self::ProxyTowardsNear, Self::ProxyTowardsFar];

    pub(super) fn token(self) -> u64 {
        self as u64
    }

    pub(super) fn of_token(token: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(token).ok()?).copied()
    }

    pub(super) fn direction(self) -> Direction {
        match self {
            Self::Near | Self::ProxyTowardsFar => Direction::Up,
            Self::Far | Self::ProxyTowardsNear => Direction::Down,
        }
    }
}

/// The part of a path between its TCP proxy and far.
pub(super) struct FarHalf {
    /// Super-packets pass it whole: it only delays.
    link: Link<Vec<u8>>,
    /// Its delay up and down.
    delays: [Duration; 2],
    proxy: ProxyDevices,
}

impl FarHalf {
    /// None for a link without a TCP proxy.
    pub(super) fn open(
        topology: &Topology,
        spec: &ForwardSpec,
        waiter: &Waiter,
    ) -> Result<Option<Self>, Os> {
        let Some([_, far]) = spec.link.halves() else { return Ok(None) };
        let Some(proxy) = topology.proxy_devices()? else {
            let missing = std::io::ErrorKind::NotFound.into();
            return Err(Os::new("split TCP without namespaces for the proxy", missing));
        };
        waiter.watch(proxy.towards_near.raw(), Source::ProxyTowardsNear.token())?;
        waiter.watch(proxy.towards_far.raw(), Source::ProxyTowardsFar.token())?;
        let delays = Direction::BOTH.map(|way| far.path(way).delay);
        Ok(Some(Self { link: Link::new(&far, spec.seed), delays, proxy }))
    }

    /// Fills `batch` with frames of the proxy's.
    pub(super) fn receive(&self, source: Source, batch: &mut Batch) -> usize {
        match source.direction() {
            Direction::Down => self.proxy.towards_near.receive(batch),
            Direction::Up => self.proxy.towards_far.receive(batch),
        }
    }

    /// Takes a frame that left the near half at `due`: TCP goes to the proxy, anything else on to far. False where the
    /// proxy's device refused it.
    pub(super) fn take_from_near_half(&mut self, due: Instant, frame: &[u8]) -> bool {
        if is_tcp(frame) {
            return self.proxy.towards_near.send(frame);
        }
        self.enter(due, Direction::Up, frame);
        true
    }

    fn enter(&mut self, now: Instant, direction: Direction, frame: &[u8]) {
        let length = frame.len().saturating_sub(OFFLOAD + ETHERNET);
        self.link.handle_packet(now, direction, frame.to_vec(), ByteSize(length as u64));
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    pub(super) fn under_way(&self) -> usize {
        self.link.under_way()
    }

    /// What the kernel dropped of the proxy's frames, up and down, since the last call.
    pub(super) fn take_drops(&self) -> [u64; 2] {
        [self.proxy.towards_far.take_drops(), self.proxy.towards_near.take_drops()]
    }

    /// When a packet that passes the proxy by was sent, and its fate at the end of the whole path. The log of the near half
    /// has the times at the proxy's place, which are those of the proxy's own TCP.
    pub(super) fn times_of_whole_path(
        &self,
        direction: Direction,
        at: Instant,
        fate: Fate,
    ) -> (Instant, Fate) {
        let [up, down] = self.delays;
        match (direction, fate) {
            (Direction::Down, fate) => (at - down, fate),
            (Direction::Up, Fate::Delivered { at: out }) => (at, Fate::Delivered { at: out + up }),
            (Direction::Up, fate) => (at, fate),
        }
    }
}

impl Forwarder<'_> {
    /// Takes a frame into the half of the path that it begins at. What does not belong on a link passes both halves by.
    pub(super) fn handle_arrival(&mut self, arrival: Instant, source: Source, frame: &[u8]) {
        match (source, &mut self.far_half) {
            (Source::Far | Source::ProxyTowardsFar, Some(half))
                if is_unicast_ip(&frame[OFFLOAD..]) =>
            {
                half.enter(arrival, source.direction(), frame);
            }
            _ => self.handle_frame(arrival, source.direction(), frame),
        }
    }

    /// Delivers what is due, from the far half first: some of it enters the near one.
    pub(super) fn deliver_due(&mut self) {
        while let Some(half) = &mut self.far_half {
            let now = clock::now();
            let Some(Delivery { direction, packet, due, .. }) = half.link.poll_deliver(now) else {
                break;
            };
            self.counters.lateness.record(now.since(due));
            let is_sent = match direction {
                Direction::Up => self.ports.send(Direction::Up, &packet),
                Direction::Down if is_tcp(&packet) => half.proxy.towards_far.send(&packet),
                Direction::Down => {
                    self.handle_frame(due, Direction::Down, &packet);
                    true
                }
            };
            if !is_sent {
                self.way(direction).unsent += 1;
            }
        }
        self.deliver();
    }
}

fn is_tcp(frame: &[u8]) -> bool {
    let ip = frame.get(OFFLOAD + ETHERNET..).unwrap_or_default();
    Packet::parse(ip).is_ok_and(|packet| packet.protocol() == TCP)
}
