//! Two devices bridged in the kernel, which holds each IP packet until it is told what to do with it. The one rule: the
//! ports join last, when all that could be refused is in place, so that a refusal leaves the devices as they were.

use crate::error::Os;
use crate::net::held::HeldQueue;
use crate::net::namespace::{in_child, isolate};
use crate::net::netfilter::hold_passing;
use crate::net::netlink::{Netlink, device_index};
use crate::net::settings::{mute_device, rule_bridged};
use std::io::ErrorKind;
use std::sync::OnceLock;

/// Whether this kernel can hold packets for a link; tried in a child, once.
pub fn can_hold() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let tried = in_child(|| isolate().and_then(|privilege| hold(&[]).map(|_| privilege)));
        matches!(tried, Ok(Ok(_)))
    })
}

const NAME: &str = "link";

/// Bridges `devices`, which are up, in this thread's namespace; what passes between them waits in the queue.
pub(super) fn hold(devices: &[u32]) -> Result<HeldQueue, Os> {
    let refused = |source| Os::new("have the kernel hold packets", source);
    let queue = HeldQueue::open().map_err(refused)?;
    hold_passing().map_err(refused)?;
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
