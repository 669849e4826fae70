//! Describes a topology: its two sides, its addresses and names, and the CPUs that do its work.

use crate::net::bridge;
use crate::net::forwarder::Segmentation;
use crate::net::settings::TcpSettings;
use crate::process::{Cpu, CpuSet, Group, User};
use link::LinkSpec;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use trace::Direction;
use unit::ByteSize;

/// One end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client's.
    Near,
    /// The server's.
    Far,
}

impl Side {
    /// Its name, also in /etc/hosts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}

/// What to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologySpec {
    /// TCP at both ends.
    pub tcp: TcpSettings,
    /// Further hosts at far, each with its own names. Host k is [`Topology::host`](super::Topology::host) of k.
    pub hosts: Vec<Vec<String>>,
    /// Names that stand for far beside `far`.
    pub aliases: Vec<String>,
    /// The largest IP packet of both ends' devices, in bytes.
    pub mtu: u32,
    /// Which addresses the hosts' names resolve to.
    pub names: NamesFor,
    /// What is between the ends.
    pub wiring: Wiring,
    /// The CPU on which the kernel receives for the ends. None: the CPU of the sender, which is the link's.
    pub reception: Option<Reception>,
    /// A TCP proxy between the halves of the link.
    pub proxy: Option<ProxySpec>,
}

/// The namespaces of a TCP proxy. In one it has far's addresses and listens; in the other it has near's and connects. So it
/// needs no rule of a packet filter, and works without root wherever a link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxySpec {
    /// The greatest TCP window of its sockets.
    pub buffer: ByteSize,
}

/// The CPU on which the kernel receives for each end (receive packet steering). The work of an end's TCP then loads the
/// end's core, as it does without a link, and not the link's core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    /// Near's CPU.
    pub near: Cpu,
    /// Far's CPU.
    pub far: Cpu,
}

impl Reception {
    /// Where the ends of the link are to receive: on their own CPU where they would else keep the link from its work. A
    /// link that is no faster receives for them sooner than their CPU, which may sleep, could be woken to do it, and one
    /// whose packets stay in the kernel's queue copies nothing, so that it has the time.
    pub fn over(link: &LinkSpec, segmentation: Segmentation, cpus: Self) -> Option<Self> {
        let rates = Direction::BOTH.map(|way| link.path(way).bottleneck.mean_rate());
        let is_fast = match rates.into_iter().flatten().max() {
            Some(rate) => rate.bits_per_second() > FAST,
            None => link.rtt() < NEARBY,
        };
        let may_queue = segmentation.may_queue(link);
        (is_fast && !(may_queue && bridge::can_queue_packets())).then_some(cpus)
    }

    pub(super) fn of(self, side: Side) -> Cpu {
        match side {
            Side::Near => self.near,
            Side::Far => self.far,
        }
    }
}

/// Which addresses the hosts' names resolve to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamesFor {
    /// IPv4 and, with a lower rank, IPv6.
    #[default]
    Both,
    /// IPv4 only. Some clients try IPv6 first whatever the system's ranking, and pay a round trip for a server that
    /// listens on IPv4 only.
    Ipv4,
}

/// What is between the ends of a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wiring {
    /// A place for a [`Forwarder`](crate::net::Forwarder).
    #[default]
    Link,
    /// Nothing but a veth pair: the baseline that links are measured against.
    Bare(SuperPackets),
}

/// Whether the kernel may hand over super-packets, which no real wire would carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperPackets {
    /// Yes, as it does by itself.
    Kept,
    /// No: segmentation offloads are off.
    Off,
}

impl Default for TopologySpec {
    /// Ethernet's MTU, a link, and no further hosts.
    fn default() -> Self {
        let wiring = Wiring::default();
        let names = NamesFor::default();
        Self {
            tcp: TcpSettings::default(),
            hosts: Vec::new(),
            aliases: Vec::new(),
            mtu: 1500,
            names,
            wiring,
            reception: None,
            proxy: None,
        }
    }
}

/// The addresses of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// IPv4.
    pub v4: Ipv4Addr,
    /// IPv6; unused where the kernel has none.
    pub v6: Ipv6Addr,
}

/// How a child is to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// In which namespace.
    pub side: Side,
    /// In which process group.
    pub group: Group,
    /// On which CPUs.
    pub cpus: CpuSet,
    /// As whom.
    pub user: User,
}

impl Placement {
    /// Work at `side`, in a control group of its own, on any CPU, with our rights.
    pub fn at(side: Side) -> Self {
        Self { side, group: Group::Own, cpus: CpuSet::any(), user: User::Ours }
    }
}

/// In bits a second: half of what one core forwards in segments and receives, if it does both.
const FAST: u64 = 1_500_000_000;
/// A link without a rate is as fast as the machine if its round trip is shorter, since the TCP windows allow that.
pub(in crate::net) const NEARBY: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_receive_for_themselves_where_the_link_is_fast_or_near() {
        let ends = Reception { near: Cpu::of_test(1), far: Cpu::of_test(2) };
        let over = |text| {
            let link = LinkSpec::parse(text, link::no_traces).unwrap();
            [Segmentation::Split, Segmentation::CopyWhereUnlimited]
                .map(|segmentation| Reception::over(&link, segmentation, ends).is_some())
        };
        assert_eq!([over("rtt=0ms"), over("rtt=20ms,rate=10gbit")], [[true; 2]; 2]);
        assert_eq!([over("rtt=10ms"), over("rtt=0ms,rate=1gbit")], [[false; 2]; 2]);
        // Lost packets are lost one by one, and so none is queued.
        let lossy = LinkSpec::parse("rtt=0ms,loss=1%", link::no_traces).unwrap();
        assert!(Reception::over(&lossy, Segmentation::KeepWhereUnlimited, ends).is_some());
    }
}
