//! Three network namespaces (near, far, and one between them for the link) and two veth pairs. The one rule:
//! descriptors and children of this process keep all of it alive. When the process ends, in whatever way, all of it
//! goes.
//!
//! Far has any number of addresses. Near's route to them has far's first address as its gateway. So one neighbour entry
//! per address family is enough, and no packet waits for ARP.

mod proxy;
mod spec;

pub(super) use proxy::ProxyDevices;
pub(super) use spec::NEARBY;
pub use spec::{
    Addresses, NamesFor, Placement, ProxySpec, Reception, Side, SuperPackets, TopologySpec, Wiring,
};

use crate::cgroup::ParentGroups;
use crate::error::Os;
use crate::net::bridge;
use crate::net::drops::dropped_frames;
use crate::net::host_names;
use crate::net::namespace::{Network, bind, isolate, mount_with};
use crate::net::netlink::{Netlink, Route, Veth, device_index};
use crate::net::offloads;
use crate::net::packet_queue::PacketQueue;
use crate::net::packet_socket::PacketSocket;
use crate::net::readiness::{Listening, bound_ports, listens};
use crate::net::settings::{
    Settings, TcpSettings, has_ipv6, mute_device, quiet_device, receive_on,
};
use crate::process::{self, Child, CpuSet, Group, Init, Setup, User};
use proxy::ProxyNetworks;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unit::ByteSize;

/// The namespaces live as long as this value. Dropping it kills every process of both ends, also daemons. Processes in
/// a [`Child`] are dropped before, because an unreaped one keeps its namespace alive.
#[derive(Debug)]
pub struct Topology {
    near: Network,
    far: Network,
    home: Network,
    /// For each side, the end of its veth pair in the link's namespace; none where the ends are wired to each other.
    devices: Vec<u32>,
    /// A TCP proxy's, where the link has one.
    proxy: Option<ProxyNetworks>,
    settings: Settings,
    hosts: usize,
    /// Where children are counted.
    parents: ParentGroups,
    /// The last field, so that the children's PID namespace ends when nothing else needs it.
    init: Init,
}

/// One for each address of [`Topology::host`].
const MOST_HOSTS: usize = 250 * 250;
const DEVICE: &str = "eth0";

impl Topology {
    /// Builds it. The process must have one thread, and cannot start another one afterwards.
    pub fn build(spec: &TopologySpec) -> Result<Self, Os> {
        if spec.hosts.len() > MOST_HOSTS {
            let attempted = format!("give far {} hosts", spec.hosts.len());
            return Err(Os::new(attempted, std::io::ErrorKind::InvalidInput.into()));
        }
        let privilege = isolate()?;
        let init = Init::start()?;
        host_names::install(&names(spec))?;
        let near = Network::fresh()?;
        let far = Network::fresh()?;
        let home = Network::fresh()?;
        let mut settings = Settings::new();
        settings.insert("namespaces".to_owned(), privilege.name().to_owned());
        if let Some(reception) = spec.reception {
            for (side, end) in [(Side::Near, &near), (Side::Far, &far)] {
                end.within(&home, || {
                    receive_on(side.name(), reception.of(side), &mut settings);
                    Ok(())
                })?;
            }
        }
        let devices = match spec.wiring {
            Wiring::Link => {
                let of = |side: Side| Wire { name: side.name(), hardware: side, mtu: spec.mtu };
                vec![connect(&of(Side::Near), &near)?, connect(&of(Side::Far), &far)?]
            }
            Wiring::Bare(super_packets) => {
                near.within(&home, || connect_to(&far, spec.mtu))?;
                for end in [&near, &far] {
                    end.within(&home, || ready_bare(super_packets))?;
                }
                Vec::new()
            }
        };
        near.within(&home, || equip(Side::Near, spec, &mut settings))?;
        far.within(&home, || equip(Side::Far, spec, &mut settings))?;
        let proxy = spec.proxy.map(|proxy| ProxyNetworks::build(proxy, spec, &home)).transpose()?;
        settings.extend(proxy.iter().flat_map(ProxyNetworks::settings));
        let mut netlink = Netlink::open()?;
        devices.iter().try_for_each(|&device| netlink.await_up(device))?;
        let hosts = spec.hosts.len();
        let parents = ParentGroups::of_this_process();
        Ok(Self { near, far, home, devices, proxy, settings, hosts, parents, init })
    }

    /// Builds a topology without a link: both ends are in one namespace, and all addresses are on its loopback device.
    pub fn build_loopback(spec: &TopologySpec) -> Result<Self, Os> {
        let privilege = isolate()?;
        let init = Init::start()?;
        host_names::install(&names(spec))?;
        let near = Network::fresh()?;
        let far = Network::current()?;
        let home = Network::fresh()?;
        let mut settings = Settings::new();
        settings.insert("namespaces".to_owned(), privilege.name().to_owned());
        let device = near.within(&home, || {
            spec.tcp.apply(Side::Near.name(), &mut settings);
            let mut netlink = Netlink::open()?;
            let device = device_index("lo")?;
            netlink.bring_up(device)?;
            let far = own_addresses(Side::Far, spec.hosts.len(), spec.mtu);
            for address in own_addresses(Side::Near, 0, spec.mtu).into_iter().chain(far) {
                netlink.add_address(device, address)?;
            }
            // A loopback device that is up has the state "unknown".
            Ok(device)
        })?;
        let hosts = spec.hosts.len();
        let (devices, parents) = (vec![device; 2], ParentGroups::of_this_process());
        Ok(Self { near, far, home, devices, proxy: None, settings, hosts, parents, init })
    }

    /// A socket that sees what passes over the loopback device of the near side.
    pub(crate) fn loopback_socket(&self) -> Result<PacketSocket, Os> {
        self.within(Side::Near, || PacketSocket::open("lo", self.devices[0]))
    }

    /// The first addresses of a side.
    pub fn addresses(side: Side) -> Addresses {
        let number = match side {
            Side::Near => 1,
            Side::Far => 2,
        };
        Addresses {
            v4: Ipv4Addr::new(10, 77, 0, number),
            v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, number.into()),
        }
    }

    /// The addresses of far's host `index`.
    pub fn host(index: usize) -> Addresses {
        // 10.77.1.1 and on. No byte is 0 or 255, which old software takes for a network or a broadcast address.
        let (high, low) = (1 + index / 250, 1 + index % 250);
        Addresses {
            v4: Ipv4Addr::new(10, 77, high as u8, low as u8),
            v6: Ipv6Addr::new(0xfd77, 0, 0, 1, 0, 0, high as u16, low as u16),
        }
    }

    /// How many hosts of their own far has.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// The kernel's settings, read back after they were set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts a program at an end, in the PID namespace of this topology, with $WIRELAP_NEAR and $WIRELAP_FAR. It has a
    /// control group of its own where one can be made.
    pub fn spawn(&self, mut command: Command, placement: Placement) -> Result<Child, Os> {
        for (name, side) in [("WIRELAP_NEAR", Side::Near), ("WIRELAP_FAR", Side::Far)] {
            command.env(name, Self::addresses(side).v4.to_string());
        }
        let Placement { side, group, cpus, user } = placement;
        let network = Some(self.network(side).fd.as_fd());
        let account = self.parents.group();
        process::spawn(command, Setup { group, cpus, network, own_proc: true, user, account })
    }

    /// Starts the TCP proxy's program where it connects to far from.
    pub fn spawn_proxy(&self, command: Command, cpus: CpuSet) -> Result<Child, Os> {
        let network = Some(self.proxy()?.towards_far().fd.as_fd());
        let (group, user) = (Group::Own, User::Ours);
        let account = self.parents.group();
        process::spawn(command, Setup { group, cpus, network, own_proc: true, user, account })
    }

    /// Runs `work` where the TCP proxy has far's addresses: sockets that it opens stay there.
    pub fn within_proxy<T>(&self, work: impl FnOnce() -> Result<T, Os>) -> Result<T, Os> {
        self.proxy()?.towards_near().within(&self.home, work)
    }

    /// Sockets on the TCP proxy's devices; None without a proxy.
    pub(super) fn proxy_devices(&self) -> Result<Option<ProxyDevices>, Os> {
        self.proxy.as_ref().map(ProxyNetworks::devices).transpose()
    }

    fn proxy(&self) -> Result<&ProxyNetworks, Os> {
        let missing = || Os::new("use the link's TCP proxy", std::io::ErrorKind::NotFound.into());
        self.proxy.as_ref().ok_or_else(missing)
    }

    /// Runs `work` in the namespace of `side`: sockets that it opens stay there.
    pub fn within<T>(&self, side: Side, work: impl FnOnce() -> Result<T, Os>) -> Result<T, Os> {
        self.network(side).within(&self.home, work)
    }

    /// The ports at `side` with a listener or a bound UDP socket: a server is ready.
    pub fn bound_ports(&self, side: Side) -> Result<Vec<u16>, Os> {
        self.within(side, || Ok(bound_ports()))
    }

    /// Whether a socket at `side` listens on this address: a server is ready.
    pub fn listens(
        &self,
        side: Side,
        listening: Listening,
        address: SocketAddr,
    ) -> Result<bool, Os> {
        self.within(side, || Ok(listens(listening, address)))
    }

    /// Mounts a tmpfs of at most `limit` over `folder`, which must exist. Only this process and its children see it. It
    /// is gone with them, however they end.
    pub fn scratch(&self, folder: &Path, limit: ByteSize) -> Result<(), Os> {
        let attempted = || format!("make a folder in memory at {}", folder.display());
        let options = format!("size={},mode=0755", limit.0);
        mount_with("tmpfs", folder, "tmpfs", &options)
            .map_err(|source| Os::new(attempted(), source))
    }

    /// Makes the content of `folder` visible at `place` too, for this process and its children only. Both must exist.
    pub fn show(&self, folder: &Path, place: &Path) -> Result<(), Os> {
        bind(folder, place).map_err(|source| {
            Os::new(format!("show {} at {}", folder.display(), place.display()), source)
        })
    }

    /// Whether processes can run in it: the first one of its PID namespace lives. Where that one was killed, the kernel ends
    /// all others before it, so this waits for a fifth of a second before it says yes.
    pub fn has_processes(&self) -> bool {
        !self.init.ends_within(Duration::from_millis(200))
    }

    /// Frames that the devices of both ends and of the link have dropped so far, besides the drops of the link's model.
    pub fn dropped_frames(&self) -> Result<u64, Os> {
        let near = self.within(Side::Near, || Ok(dropped_frames()))?;
        let far = self.within(Side::Far, || Ok(dropped_frames()))?;
        let proxy = self.proxy.as_ref().map_or(Ok(0), |proxy| proxy.dropped_frames(&self.home))?;
        Ok(near + far + proxy + dropped_frames())
    }

    pub(crate) fn packet_socket(&self, side: Side) -> Result<PacketSocket, Os> {
        PacketSocket::open(side.name(), self.device(side)?)
    }

    /// Makes the kernel queue the packets between the ends.
    pub(super) fn queue_packets(&self) -> Result<PacketQueue, Os> {
        bridge::queue_packets(&self.devices)
    }

    /// The index of a side's device in the link's namespace.
    pub(super) fn device(&self, side: Side) -> Result<u32, Os> {
        self.devices.get(side as usize).copied().ok_or_else(|| {
            Os::new("put a link between bare ends", std::io::ErrorKind::InvalidInput.into())
        })
    }

    /// Makes the kernel cut super-packets that the link hands over, so that both ends receive segments.
    pub(crate) fn carry_segments(&self) -> Result<(), Os> {
        [Side::Near, Side::Far]
            .iter()
            .try_for_each(|side| offloads::turn_off_super_packets(side.name()))
    }

    fn network(&self, side: Side) -> &Network {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }
}

/// A veth pair between the link's namespace and another.
struct Wire {
    /// Of the device that stays in the link's namespace.
    name: &'static str,
    /// Whose hardware address the other device has.
    hardware: Side,
    mtu: u32,
}

/// Makes a pair. Returns the index of the end that stays here.
fn connect(wire: &Wire, namespace: &Network) -> Result<u32, Os> {
    let mut netlink = Netlink::open()?;
    netlink.add_veth(Veth {
        name: wire.name,
        address: None,
        peer: DEVICE,
        peer_namespace: &namespace.fd,
        peer_address: hardware(wire.hardware),
        mtu: wire.mtu,
    })?;
    mute_device(wire.name);
    let index = device_index(wire.name)?;
    netlink.bring_up(index)?;
    Ok(index)
}

/// Makes, from within near's namespace, the pair that ends in far's.
fn connect_to(far: &Network, mtu: u32) -> Result<(), Os> {
    Netlink::open()?.add_veth(Veth {
        name: DEVICE,
        address: Some(hardware(Side::Near)),
        peer: DEVICE,
        peer_namespace: &far.fd,
        peer_address: hardware(Side::Far),
        mtu,
    })
}

/// A device comes up only when both ends were set up, so neither may be waited for before.
fn ready_bare(super_packets: SuperPackets) -> Result<(), Os> {
    if super_packets == SuperPackets::Off {
        offloads::turn_off_super_packets(DEVICE)?;
    }
    let mut netlink = Netlink::open()?;
    netlink.bring_up(device_index(DEVICE)?)
}

/// Sets up a side from within its namespace.
fn equip(side: Side, spec: &TopologySpec, settings: &mut Settings) -> Result<(), Os> {
    spec.tcp.apply(side.name(), settings);
    quiet_device(DEVICE);
    let mut netlink = Netlink::open()?;
    netlink.bring_up(device_index("lo")?)?;
    let device = device_index(DEVICE)?;
    netlink.bring_up(device)?;
    settings.insert(format!("{} mtu", side.name()), spec.mtu.to_string());
    settings.insert(format!("{} offloads", side.name()), offloads::of(DEVICE)?);
    let other = match side {
        Side::Near => Side::Far,
        Side::Far => Side::Near,
    };
    for address in own_addresses(side, spec.hosts.len(), spec.mtu) {
        netlink.add_address(device, address)?;
    }
    for gateway in families(Topology::addresses(other), spec.mtu) {
        netlink.add_neighbour(device, gateway, hardware(other))?;
        for route in routes_over(gateway, device, &spec.tcp) {
            netlink.add_route(&route)?;
        }
        let family = if gateway.is_ipv4() { "IPv4" } else { "IPv6" };
        let metrics = netlink.route_metrics(gateway)?;
        settings.insert(format!("{} {family} route", side.name()), metrics);
    }
    netlink.await_up(device)
}

/// To the other side itself, and over it to everything that may be there.
fn routes_over(gateway: IpAddr, device: u32, tcp: &TcpSettings) -> [Route<'_>; 2] {
    let route = |destination, gateway| Route {
        destination,
        gateway,
        device,
        congestion: &tcp.congestion,
        initial_window: tcp.initial_window,
        initial_receive_window: tcp.initial_receive_window,
    };
    let (whole, everything) = match gateway {
        IpAddr::V4(_) => (32, (IpAddr::V4(Ipv4Addr::new(10, 77, 0, 0)), 16)),
        IpAddr::V6(_) => (128, (IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 0)), 16)),
    };
    [route((gateway, whole), None), route(everything, Some(gateway))]
}

fn own_addresses(side: Side, hosts: usize, mtu: u32) -> Vec<IpAddr> {
    let further = match side {
        Side::Near => 0,
        Side::Far => hosts,
    };
    let all = std::iter::once(Topology::addresses(side)).chain((0..further).map(Topology::host));
    all.flat_map(|addresses| families(addresses, mtu)).collect()
}

/// The addresses of each family that the kernel has and that packets of `mtu` bytes can carry.
fn families(addresses: Addresses, mtu: u32) -> Vec<IpAddr> {
    /// RFC 8200 §5.
    const LEAST_IPV6_MTU: u32 = 1280;
    let mut families = vec![IpAddr::V4(addresses.v4)];
    if has_ipv6() && mtu >= LEAST_IPV6_MTU {
        families.push(IpAddr::V6(addresses.v6));
    }
    families
}

fn names(spec: &TopologySpec) -> Vec<(IpAddr, Vec<String>)> {
    let ends = [(Side::Near, &[][..]), (Side::Far, &spec.aliases)].map(|(side, aliases)| {
        let names = std::iter::once(side.name().to_owned()).chain(aliases.iter().cloned());
        (Topology::addresses(side), names.collect())
    });
    let hosts = spec.hosts.iter().enumerate();
    let hosts = hosts.map(|(index, names)| (Topology::host(index), names.clone()));
    let all = ends.into_iter().chain(hosts);
    let named = |address: &IpAddr| spec.names == NamesFor::Both || address.is_ipv4();
    all.flat_map(|(addresses, names)| {
        let addresses = families(addresses, spec.mtu).into_iter().filter(named);
        addresses.map(move |address| (address, names.clone())).collect::<Vec<_>>()
    })
    .collect()
}

/// Locally administered, and the same in every topology, so that captures can be compared.
fn hardware(side: Side) -> [u8; 6] {
    match side {
        Side::Near => [0x02, 0x77, 0, 0, 0, 1],
        Side::Far => [0x02, 0x77, 0, 0, 0, 2],
    }
}
