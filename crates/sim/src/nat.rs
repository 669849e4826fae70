//! A NAT before the near host of a path. Its state is lost at a time: from then on near's ports are others for far, and its
//! address, too, where near has gone over to another network. The one rule: what comes back to an address and port that the NAT
//! has no mapping for is dropped (RFC 4787 §4.3 has such a time-out).

use crate::packet::Datagram;
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;
use trace::Direction;
use unit::Instant;

/// The ports of near's datagrams, before and after.
#[derive(Debug)]
pub(crate) struct Nat {
    after: Duration,
    /// When the first datagram came.
    begin: Option<Instant>,
    /// Near's own address and the one that far sees after the change, where near moves.
    moves: Option<Move>,
    /// Near's own ports that have sent something since.
    mapped: HashSet<u16>,
}

#[derive(Debug)]
struct Move {
    /// None until near has sent something since.
    from: Option<IpAddr>,
    to: IpAddr,
}

/// What a new port differs by from near's own.
const CHANGE: u16 = 0x0800;

impl Nat {
    /// The change comes so long after the first datagram.
    pub(crate) fn rebinding(after: Duration) -> Self {
        Self { after, begin: None, moves: None, mapped: HashSet::new() }
    }

    /// From the change on, far sees this address.
    pub(crate) fn move_to(&mut self, to: IpAddr) {
        self.moves = Some(Move { from: None, to });
    }

    /// Near's own address, where far means it by `address`.
    pub(crate) fn behind(&self, address: IpAddr) -> Option<IpAddr> {
        self.moves.as_ref().filter(|moves| moves.to == address)?.from
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
                if let Some(moves) = &mut self.moves {
                    moves.from = Some(datagram.source.ip());
                    datagram.source.set_ip(moves.to);
                }
                true
            }
            Direction::Down => {
                let port = datagram.destination.port() ^ CHANGE;
                datagram.destination.set_port(port);
                let is_to_former = match &self.moves {
                    Some(moves) => datagram.destination.ip() != moves.to,
                    None => false,
                };
                if let Some(from) = self.moves.as_ref().and_then(|moves| moves.from) {
                    datagram.destination.set_ip(from);
                }
                !is_to_former && self.mapped.contains(&port)
            }
        }
    }
}
