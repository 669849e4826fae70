//! Two devices bridged in the kernel, which queues each IP packet until it gets a verdict. The one rule: the ports join
//! last, when nothing can be refused any more. A refusal therefore leaves the devices as they were.

use crate::error::Os;
use crate::net::namespace::{in_child, isolate};
use crate::net::netfilter::queue_forwarded;
use crate::net::netlink::{Netlink, device_index};
use crate::net::packet_queue::PacketQueue;
use crate::net::settings::{mute_device, rule_bridged};
use std::io::ErrorKind;
use std::sync::OnceLock;

/// Whether this kernel can queue a link's packets for us (nfnetlink_queue). Tried in a child, once.
pub fn can_queue_packets() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let tried =
            in_child(|| isolate().and_then(|privilege| queue_packets(&[]).map(|_| privilege)));
        matches!(tried, Ok(Ok(_)))
    })
}

const NAME: &str = "link";

/// Bridges `devices`, which are up, in this thread's namespace. Packets between them wait in the queue.
pub(super) fn queue_packets(devices: &[u32]) -> Result<PacketQueue, Os> {
    let refused = |source| Os::new("have the kernel queue packets", source);
    let queue = PacketQueue::open().map_err(refused)?;
    queue_forwarded().map_err(refused)?;
    let mut netlink = Netlink::open()?;
    netlink.add_bridge(NAME)?;
    if !rule_bridged() {
        // It would carry packets past us.
        return Err(refused(ErrorKind::Unsupported.into())
            .with_remedy("the kernel needs br_netfilter: sudo modprobe br_netfilter"));
    }
    mute_device(NAME);
    let bridge = device_index(NAME)?;
    netlink.bring_up(bridge)?;
    match devices.iter().try_for_each(|&device| netlink.join(device, bridge)) {
        Ok(()) => Ok(queue),
        Err(error) => {
            netlink.remove(bridge)?;
            Err(error)
        }
    }
}
