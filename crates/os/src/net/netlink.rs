//! Devices, addresses, routes and neighbours over rtnetlink (rtnetlink(7)). The one rule: each request is acknowledged
//! before the next is sent, so that an error belongs to its request.
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::message::{
    HEADER, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, Request, acknowledged,
    attributes, kind,
};
use crate::net::namespace::{check, new_fd};
use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// `rta_type` of linux/rtnetlink.h's metrics.
const RTAX_INITCWND: u16 = 11;
const RTAX_INITRWND: u16 = 14;
const RTAX_CC_ALGO: u16 = 16;

/// Attributes within IFLA_LINKINFO (linux/if_link.h).
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;

/// RFC 2863's ifOperStatus, by linux/if.h's numbers.
const IF_OPER_UP: u8 = 6;
/// Far longer than we have seen a busy machine take.
const UP_WAIT: Duration = Duration::from_secs(10);
const UP_POLL: Duration = Duration::from_micros(500);

/// An rtnetlink socket. It acts on the namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// A veth pair: `name` here, `peer` in another namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Veth<'a> {
    pub(crate) name: &'a str,
    /// Its hardware address; None lets the kernel choose one.
    pub(crate) address: Option<[u8; 6]>,
    pub(crate) peer: &'a str,
    pub(crate) peer_namespace: &'a OwnedFd,
    pub(crate) peer_address: [u8; 6],
    pub(crate) mtu: u32,
}

/// A route of a device.
#[derive(Debug, Clone)]
pub(crate) struct Route<'a> {
    pub(crate) destination: (IpAddr, u8),
    pub(crate) gateway: Option<IpAddr>,
    pub(crate) device: u32,
    pub(crate) congestion: &'a str,
    pub(crate) initial_window: u32,
    pub(crate) initial_receive_window: Option<u32>,
}

impl Netlink {
    pub(crate) fn open() -> Result<Self, Os> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: socket takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        let fd = new_fd(fd.into()).map_err(|source| Os::new("open a netlink socket", source))?;
        Ok(Self { fd, sequence: 0 })
    }

    pub(crate) fn add_veth(&mut self, veth: Veth<'_>) -> Result<(), Os> {
        let mut request = Request::new(libc::RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
        request.body(&link_message(0, 0));
        request.text(libc::IFLA_IFNAME, veth.name);
        request.attribute(libc::IFLA_MTU, &veth.mtu.to_ne_bytes());
        if let Some(address) = veth.address {
            request.attribute(libc::IFLA_ADDRESS, &address);
        }
        request.nested(libc::IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_KIND, "veth");
            info.nested(IFLA_INFO_DATA, |data| {
                // VETH_INFO_PEER
                data.nested(1, |peer| {
                    peer.body(&link_message(0, 0));
                    peer.text(libc::IFLA_IFNAME, veth.peer);
                    peer.attribute(libc::IFLA_MTU, &veth.mtu.to_ne_bytes());
                    peer.attribute(libc::IFLA_ADDRESS, &veth.peer_address);
                    let namespace = veth.peer_namespace.as_raw_fd();
                    peer.attribute(libc::IFLA_NET_NS_FD, &namespace.to_ne_bytes());
                });
            });
        });
        self.transact(request).map_err(|source| {
            Os::new(format!("make the veth pair {}", veth.name), source)
                .with_remedy("the kernel needs CONFIG_VETH: sudo modprobe veth")
        })
    }

    /// Makes a bridge that forwards frames and sends none of its own.
    pub(crate) fn add_bridge(&mut self, name: &str) -> Result<(), Os> {
        const IFLA_BR_MCAST_SNOOPING: u16 = 23;
        let mut request = Request::new(libc::RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
        request.body(&link_message(0, 0));
        request.text(libc::IFLA_IFNAME, name);
        request.nested(libc::IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_KIND, "bridge");
            info.nested(IFLA_INFO_DATA, |data| data.attribute(IFLA_BR_MCAST_SNOOPING, &[0]));
        });
        self.transact(request).map_err(|source| Os::new("make a bridge", source))
    }

    /// Makes `device` a port of `bridge`.
    pub(crate) fn join(&mut self, device: u32, bridge: u32) -> Result<(), Os> {
        let mut request = Request::new(libc::RTM_NEWLINK, 0);
        request.body(&link_message(device, libc::IFF_UP as u32));
        request.attribute(libc::IFLA_MASTER, &bridge.to_ne_bytes());
        self.transact(request).map_err(|source| Os::new("make a device a port of a bridge", source))
    }

    /// Removes a device.
    pub(crate) fn remove(&mut self, device: u32) -> Result<(), Os> {
        let mut request = Request::new(libc::RTM_DELLINK, 0);
        request.body(&link_message(device, 0));
        self.transact(request).map_err(|source| Os::new("remove a device", source))
    }

    pub(crate) fn bring_up(&mut self, device: u32) -> Result<(), Os> {
        let mut request = Request::new(libc::RTM_NEWLINK, 0);
        request.body(&link_message(device, libc::IFF_UP as u32));
        self.transact(request).map_err(|source| Os::new("bring a device up", source))
    }

    /// Waits until a device with an up peer lets packets through. The kernel makes the first end of a pair ready in a
    /// deferred work item, after all other changes of devices on the machine. Until then it silently drops what is
    /// sent, and a lost SYN costs its trial a whole second.
    pub(crate) fn await_up(&mut self, device: u32) -> Result<(), Os> {
        let attempted = || format!("wait for device {device} to come up");
        let deadline = crate::clock::now() + UP_WAIT;
        loop {
            let state =
                self.operating_state(device).map_err(|source| Os::new(attempted(), source))?;
            if state == IF_OPER_UP {
                return Ok(());
            }
            if crate::clock::now() >= deadline {
                return Err(Os::new(attempted(), io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(UP_POLL);
        }
    }

    /// Adds an address without a route of its own and without duplicate address detection.
    pub(crate) fn add_address(&mut self, device: u32, address: IpAddr) -> Result<(), Os> {
        const IFA_F_NODAD: u32 = 0x02;
        const IFA_F_NOPREFIXROUTE: u32 = 0x200;
        let mut request = Request::new(libc::RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
        let bytes = bytes(address);
        let mut message = [family(address), bytes.len() as u8 * 8, 0, 0, 0, 0, 0, 0];
        message[4..8].copy_from_slice(&device.to_ne_bytes());
        request.body(&message);
        request.attribute(libc::IFA_LOCAL, &bytes);
        request.attribute(libc::IFA_ADDRESS, &bytes);
        request.attribute(libc::IFA_FLAGS, &(IFA_F_NODAD | IFA_F_NOPREFIXROUTE).to_ne_bytes());
        self.transact(request)
            .map_err(|source| Os::new(format!("add the address {address}"), source))
    }

    pub(crate) fn add_route(&mut self, route: &Route<'_>) -> Result<(), Os> {
        let (destination, prefix) = route.destination;
        let scope = match (destination, route.gateway) {
            (IpAddr::V4(_), None) => libc::RT_SCOPE_LINK,
            _ => libc::RT_SCOPE_UNIVERSE,
        };
        let mut request = Request::new(libc::RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
        let mut message = [0; 12];
        message[..2].copy_from_slice(&[family(destination), prefix]);
        message[4..8].copy_from_slice(&[
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            scope,
            libc::RTN_UNICAST,
        ]);
        request.body(&message);
        request.attribute(libc::RTA_DST, &bytes(destination));
        request.attribute(libc::RTA_OIF, &route.device.to_ne_bytes());
        if let Some(gateway) = route.gateway {
            request.attribute(libc::RTA_GATEWAY, &bytes(gateway));
        }
        request.nested(libc::RTA_METRICS, |metrics| {
            metrics.text(RTAX_CC_ALGO, route.congestion);
            metrics.attribute(RTAX_INITCWND, &route.initial_window.to_ne_bytes());
            if let Some(window) = route.initial_receive_window {
                metrics.attribute(RTAX_INITRWND, &window.to_ne_bytes());
            }
        });
        let attempted =
            format!("route {destination}/{prefix} with congestion control {}", route.congestion);
        self.transact(request).map_err(|source| match source.raw_os_error() {
            Some(libc::EINVAL) => Os::new(attempted, source)
                .with_remedy("see net.ipv4.tcp_available_congestion_control, and load the module"),
            _ => Os::new(attempted, source),
        })
    }

    /// Sets a neighbour's hardware address for good: no ARP, no neighbour discovery.
    pub(crate) fn add_neighbour(
        &mut self,
        device: u32,
        address: IpAddr,
        hardware: [u8; 6],
    ) -> Result<(), Os> {
        const NUD_PERMANENT: u16 = 0x80;
        const NDA_DST: u16 = 1;
        const NDA_LLADDR: u16 = 2;
        let mut request = Request::new(libc::RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
        let mut message = [0; 12];
        message[0] = family(address);
        message[4..8].copy_from_slice(&device.to_ne_bytes());
        message[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
        request.body(&message);
        request.attribute(NDA_DST, &bytes(address));
        request.attribute(NDA_LLADDR, &hardware);
        self.transact(request)
            .map_err(|source| Os::new(format!("state the neighbour {address}"), source))
    }

    /// The metrics of the route to `destination`, as the kernel reports them.
    pub(crate) fn route_metrics(&mut self, destination: IpAddr) -> Result<String, Os> {
        let mut request = Request::new(libc::RTM_GETROUTE, 0);
        let bytes = bytes(destination);
        let mut message = [0; 12];
        message[..2].copy_from_slice(&[family(destination), bytes.len() as u8 * 8]);
        request.body(&message);
        request.attribute(libc::RTA_DST, &bytes);
        let reply = self
            .ask(request, libc::RTM_NEWROUTE)
            .map_err(|source| Os::new(format!("ask for the route to {destination}"), source))?;
        Ok(metrics_text(reply.get(HEADER + 12..).unwrap_or_default()))
    }

    fn operating_state(&mut self, device: u32) -> io::Result<u8> {
        let mut request = Request::new(libc::RTM_GETLINK, 0);
        request.body(&link_message(device, 0));
        let reply = self.ask(request, libc::RTM_NEWLINK)?;
        let mut told = attributes(reply.get(HEADER + 16..).unwrap_or_default());
        let state = told.find(|(kind, _)| *kind == libc::IFLA_OPERSTATE);
        state.and_then(|(_, value)| value.first().copied()).ok_or(io::ErrorKind::InvalidData.into())
    }

    /// Sends a query. The kernel answers it in place of an acknowledgement.
    fn ask(&mut self, mut request: Request, answer: u16) -> io::Result<Vec<u8>> {
        request.bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        let reply = self.exchange(request)?;
        match kind(&reply) {
            Some(kind) if kind == answer => Ok(reply),
            _ => acknowledged(&reply).and(Err(io::ErrorKind::InvalidData.into())),
        }
    }

    fn transact(&mut self, request: Request) -> io::Result<()> {
        acknowledged(&self.exchange(request)?)
    }

    fn exchange(&mut self, request: Request) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let bytes = request.finish(self.sequence);
        // SAFETY: the buffer is valid for its length; the kernel copies it.
        let sent =
            unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        check(sent as libc::c_int)?;
        let mut reply = vec![0_u8; 8192];
        // SAFETY: the buffer is valid for its length.
        let received =
            unsafe { libc::recv(self.fd.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0) };
        check(received as libc::c_int)?;
        reply.truncate(received as usize);
        Ok(reply)
    }
}

/// The index of a device of this thread's namespace.
pub(crate) fn device_index(name: &str) -> Result<u32, Os> {
    let attempted = || format!("find the device {name}");
    let text = CString::new(name).map_err(|source| Os::new(attempted(), source.into()))?;
    // SAFETY: a NUL-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(Os::last(attempted())),
        index => Ok(index),
    }
}

fn metrics_text(route: &[u8]) -> String {
    let metrics = attributes(route).find(|(kind, _)| *kind == libc::RTA_METRICS);
    let mut told = Vec::new();
    for (kind, value) in attributes(metrics.map_or(&[], |(_, value)| value)) {
        let number = || value.try_into().map_or(0, u32::from_ne_bytes);
        match kind {
            RTAX_CC_ALGO => {
                let name = value.strip_suffix(&[0]).unwrap_or(value);
                told.push(format!("congctl {}", String::from_utf8_lossy(name)));
            }
            RTAX_INITCWND => told.push(format!("initcwnd {}", number())),
            RTAX_INITRWND => told.push(format!("initrwnd {}", number())),
            _ => {}
        }
    }
    told.sort();
    told.join(" ")
}

/// struct ifinfomsg: the device and the flags to set.
fn link_message(device: u32, flags: u32) -> [u8; 16] {
    let mut message = [0; 16];
    message[4..8].copy_from_slice(&device.to_ne_bytes());
    message[8..12].copy_from_slice(&flags.to_ne_bytes());
    message[12..16].copy_from_slice(&flags.to_ne_bytes());
    message
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
