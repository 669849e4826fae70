//! A NAT before the near host of a path. Its state is lost at a time: from then on near's ports are others for far. The one
//! rule: what comes back to a port that the NAT has no mapping for is dropped (RFC 4787 §4.3 has such a time-out).

use crate::packet::Datagram;
use std::collections::HashSet;
use std::time::Duration;
use trace::Direction;
use unit::Instant;

/// The ports of near's datagrams, before and after.
#[derive(Debug)]
pub(crate) struct Nat {
    after: Duration,
    /// When the first datagram came.
    begin: Option<Instant>,
    /// Near's own ports that have sent something since.
    mapped: HashSet<u16>,
}

/// What a new port differs by from near's own.
const CHANGE: u16 = 0x0800;

impl Nat {
    /// The change comes so long after the first datagram.
    pub(crate) fn rebinding(after: Duration) -> Self {
        Self { after, begin: None, mapped: HashSet::new() }
    }

    /// Writes the other port into a datagram, where there is one. False where the NAT does not know where it goes.
    pub(crate) fn translate(
        &mut self,
        now: Instant,
        direction: Direction,
        datagram: &mut Datagram,
    ) -> bool {
        let begin = *self.begin.get_or_insert(now);
        if now.since(begin) < self.after {
            return true;
        }
        match direction {
            Direction::Up => {
                let port = datagram.source.port();
                self.mapped.insert(port);
                datagram.source.set_port(port ^ CHANGE);
                true
            }
            Direction::Down => {
                let port = datagram.destination.port() ^ CHANGE;
                datagram.destination.set_port(port);
                self.mapped.contains(&port)
            }
        }
    }
}
