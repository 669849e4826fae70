//! TCP Fast Open as the link sees it: SYNs that carry data. Only the link can tell, because a client that asks for it
//! does not learn whether the kernel had a cookie.

use super::packets::begins;
use std::collections::BTreeMap;
use trace::{Direction, PacketRecord};

/// The connections that a client began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begun {
    /// All of them.
    pub connections: u64,
    /// Those whose SYN carried data.
    pub with_data: u64,
}

/// The connections that the near side began, of `packets` that passed the link.
pub fn begun(packets: &[PacketRecord]) -> Begun {
    let mut begun = BTreeMap::new();
    for packet in packets.iter().filter(|packet| packet.direction == Direction::Up) {
        let (Some(flow), Some(tcp)) = (packet.flow, packet.tcp) else { continue };
        if begins(tcp) {
            // Where a SYN was lost, the kernel sends it again without data.
            let data = begun.entry((flow.source, flow.destination, tcp.sequence)).or_insert(false);
            *data |= tcp.payload > 0;
        }
    }
    let with_data = begun.values().filter(|data| **data).count() as u64;
    Begun { connections: begun.len() as u64, with_data }
}
