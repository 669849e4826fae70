//! The two namespaces of a TCP proxy in the link. Towards near it has far's addresses, towards far it has near's: both ends
//! see each other's addresses, and no packet filter has to divert anything. The one rule: its TCP is the kernel's usual one
//! with windows of at most the proxy's buffer, whatever the contender's own sockets are set to.

use super::{ProxySpec, Side, TopologySpec, Wire, connect, equip};
use crate::error::Os;
use crate::net::drops::dropped_frames;
use crate::net::namespace::Network;
use crate::net::netlink::Netlink;
use crate::net::packet_socket::PacketSocket;
use crate::net::settings::{Settings, TcpSettings};
use unit::ByteSize;

#[derive(Debug)]
pub(super) struct ProxyNetworks {
    towards_near: Network,
    towards_far: Network,
    /// In the link's namespace, in the same order.
    devices: [u32; 2],
    settings: Settings,
}

/// The proxy's devices in the link's namespace.
pub(in crate::net) struct ProxyDevices {
    /// Here it speaks with near.
    pub(in crate::net) towards_near: PacketSocket,
    /// Here it speaks with far.
    pub(in crate::net) towards_far: PacketSocket,
}

const NEAR_DEVICE: &str = "proxy-near";
const FAR_DEVICE: &str = "proxy-far";

impl ProxyNetworks {
    /// Builds them, with addresses and hosts as `ends` has them.
    pub(super) fn build(proxy: ProxySpec, ends: &TopologySpec, home: &Network) -> Result<Self, Os> {
        let greatest_buffer = greatest_buffer(proxy.buffer);
        let tcp = TcpSettings { greatest_buffer, ..TcpSettings::default() };
        let spec = TopologySpec { tcp, ..ends.clone() };
        let mut settings = Settings::new();
        let mut make = |name, stands_for: Side| {
            let namespace = Network::fresh()?;
            home.enter()?;
            let wire = Wire { name, hardware: stands_for, mtu: ends.mtu };
            let device = connect(&wire, &namespace)?;
            let mut own = Settings::new();
            namespace.within(home, || equip(stands_for, &spec, &mut own))?;
            settings
                .extend(own.into_iter().map(|(name, value)| (format!("proxy as {name}"), value)));
            Ok((namespace, device))
        };
        let (towards_near, near_device) = make(NEAR_DEVICE, Side::Far)?;
        let (towards_far, far_device) = make(FAR_DEVICE, Side::Near)?;
        let mut netlink = Netlink::open()?;
        let devices = [near_device, far_device];
        devices.iter().try_for_each(|&device| netlink.await_up(device))?;
        Ok(Self { towards_near, towards_far, devices, settings })
    }

    /// What the kernel's settings are there, read back.
    pub(super) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    pub(super) fn towards_near(&self) -> &Network {
        &self.towards_near
    }

    pub(super) fn towards_far(&self) -> &Network {
        &self.towards_far
    }

    pub(super) fn devices(&self) -> Result<ProxyDevices, Os> {
        let [near, far] = self.devices;
        Ok(ProxyDevices {
            towards_near: PacketSocket::open(NEAR_DEVICE, near)?,
            towards_far: PacketSocket::open(FAR_DEVICE, far)?,
        })
    }

    /// Frames that its devices have dropped so far.
    pub(super) fn dropped_frames(&self, home: &Network) -> Result<u64, Os> {
        let near = self.towards_near.within(home, || Ok(dropped_frames()))?;
        let far = self.towards_far.within(home, || Ok(dropped_frames()))?;
        Ok(near + far)
    }
}

/// The greatest buffer of the proxy's sockets: the kernel offers half of it as window (tcp_adv_win_scale), and takes no more
/// than an `int`.
fn greatest_buffer(buffer: ByteSize) -> u32 {
    buffer.0.saturating_mul(2).min(i32::MAX as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_buffer_is_one_that_the_kernel_takes() {
        assert_eq!(greatest_buffer(ByteSize(256_000)), 512_000);
        for buffer in [1_200_000_000, 3_000_000_000, u64::MAX] {
            assert_eq!(greatest_buffer(ByteSize(buffer)), i32::MAX as u32);
        }
    }
}
