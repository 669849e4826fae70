//! One connection as the client keeps it: the protocol's machine, which fetches it carries, and what
//! will be kept of it.

use crate::failure::Place;
use crate::fetch::{FetchId, FetchSpec};
use crate::pool::OriginId;
use crate::transport::Protocol;
use bytes::Bytes;
use endpoint::{SendBuf, SocketId};
use proto::schedule::{Exclusive, Priority};
use proto::{ClientConnection, ConnectionState, Fin, StreamId};
use secure::Layer;
use std::collections::BTreeMap;
use std::time::Duration;
use trace::{ConnectionRecord, Tracer};
use unit::Instant;

/// A socket's whole stack. The layer stands apart, for plaintext is borrowed from it while the
/// machine above works.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) layer: Layer,
    pub(crate) carrier: Carrier,
    pub(crate) life: Life,
}

/// How a socket stands with its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// In use.
    Live,
    /// Its last bytes are on their way; nothing that comes is heeded.
    Closing,
    /// The driver has lost it.
    Gone,
}

pub(crate) struct Carrier {
    pub(crate) socket: SocketId,
    pub(crate) origin: OriginId,
    pub(crate) place: Place,
    pub(crate) stage: Stage,
    pub(crate) record: ConnectionRecord,
    pub(crate) tracer: Tracer,
    /// When bytes came last, or the connection was begun.
    pub(crate) heard: Instant,
    /// Streams under way.
    pub(crate) exchanges: BTreeMap<StreamId, Exchange>,
    /// The last of them that had to wait for what may follow it; it counts while it is under way.
    pub(crate) settling: Option<Settling>,
    /// Whether the driver has been told that there is something to send.
    pub(crate) told: Told,
}

pub(crate) enum Stage {
    /// TCP's handshake.
    Connecting,
    /// TLS's handshake.
    Securing,
    /// Requests.
    Open(Box<dyn ClientConnection>),
}

/// A request and its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Who it is for; None where nobody wants the rest any more.
    pub(crate) fetch: Option<FetchId>,
    /// What is left of the request's body.
    pub(crate) upload: Bytes,
    /// Whether it was the connection's first.
    pub(crate) turn: Turn,
    /// How it ranks.
    pub(crate) urgency: u8,
}

/// An exchange whose response has all that it announced, and waits for what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settling {
    pub(crate) stream: StreamId,
    /// How often the driver has looked at the socket since.
    pub(crate) looks: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Later,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Yes,
    No,
}

/// Bytes of a request's body that are queued in the machine at a time.
const UPLOAD: usize = 64 * 1024;

impl Carrier {
    pub(crate) fn new(
        now: Instant,
        (socket, origin): (SocketId, OriginId),
        (id, place): (u32, Place),
        tracer: Tracer,
    ) -> Self {
        let (authority, remote) = (place.authority.clone(), place.remote.to_string());
        let record = ConnectionRecord::begun(id, authority, remote, now);
        Self {
            socket,
            origin,
            place,
            stage: Stage::Connecting,
            record,
            tracer,
            heard: now,
            exchanges: BTreeMap::new(),
            settling: None,
            told: Told::No,
        }
    }

    pub(crate) fn machine(&mut self) -> Option<&mut (dyn ClientConnection + 'static)> {
        match &mut self.stage {
            Stage::Open(machine) => Some(&mut **machine),
            Stage::Connecting | Stage::Securing => None,
        }
    }

    /// When this connection is to be looked at: at the end of the patience with its connect, or at
    /// its machine's time-out.
    pub(crate) fn due(&self, patience: Duration) -> Option<Instant> {
        match &self.stage {
            Stage::Connecting | Stage::Securing => Some(self.record.opened + patience),
            Stage::Open(machine) => machine.poll_timeout(),
        }
    }

    /// What stands between this connection and requests; None once it is open.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        match self.stage {
            Stage::Connecting => Some("TCP"),
            Stage::Securing => Some("TLS"),
            Stage::Open(_) => None,
        }
    }

    pub(crate) fn opened(&mut self, machine: Box<dyn ClientConnection>, protocol: Protocol) {
        self.record.protocol = protocol.recorded().into();
        self.stage = Stage::Open(machine);
    }

    /// A request went out on `stream`.
    pub(crate) fn begin(&mut self, stream: StreamId, fetch: FetchId, spec: &FetchSpec) {
        let turn = if self.record.requests == 0 { Turn::First } else { Turn::Later };
        self.record.requests += 1;
        if self.exchanges.is_empty() {
            self.record.rounds += 1;
        }
        let (upload, urgency) = (spec.body.clone(), spec.priority.urgency);
        self.exchanges.insert(stream, Exchange { fetch: Some(fetch), upload, turn, urgency });
        self.upload(stream);
    }

    /// Where Chromium puts a new stream in the tree (net/spdy/http2_priority_dependencies.cc): alone
    /// behind the youngest stream of its own urgency, else of the next more urgent one that there is.
    pub(crate) fn place_in_tree(&self, urgency: u8) -> Priority {
        let before = self.exchanges.iter().filter(|(_, exchange)| exchange.urgency <= urgency);
        let parent = before.max_by_key(|(stream, exchange)| (exchange.urgency, **stream));
        Priority::Dependency {
            parent: parent.map_or(StreamId(0), |(stream, _)| *stream),
            weight: weight(urgency),
            exclusive: Exclusive::Sole,
        }
    }

    /// Hands the machine the next part of a request's body.
    pub(crate) fn upload(&mut self, stream: StreamId) {
        let Some(exchange) = self.exchanges.get_mut(&stream) else { return };
        let Stage::Open(machine) = &mut self.stage else { return };
        while !exchange.upload.is_empty() && machine.unsent(stream) < UPLOAD {
            let part = exchange.upload.split_to(exchange.upload.len().min(UPLOAD));
            let fin = if exchange.upload.is_empty() { Fin::Last } else { Fin::More };
            if machine.send(stream, part, fin).is_err() {
                // The server has had enough of the body; its answer comes as an event.
                exchange.upload.clear();
            }
        }
    }

    /// Appends what is to be sent.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        layer: &mut Layer,
        out: &mut SendBuf,
        room: usize,
    ) {
        let before = out.len();
        let stage = &mut self.stage;
        layer.poll_transmit(out, room, |plain, room| {
            if let Stage::Open(machine) = stage {
                machine.poll_transmit(now, plain, room);
            }
        });
        self.record.bytes_sent += (out.len() - before) as u64;
        if out.len() == before {
            self.told = Told::No;
        }
    }

    /// Whether there is something to send.
    pub(crate) fn wants_transmit(&self, layer: &Layer) -> bool {
        layer.wants_transmit()
            || match &self.stage {
                Stage::Open(machine) => machine.wants_transmit(),
                Stage::Connecting | Stage::Securing => false,
            }
    }

    /// Whether there is something to send and a socket to send it to.
    pub(crate) fn may_transmit(&self, layer: &Layer) -> bool {
        !matches!(self.stage, Stage::Connecting) && self.wants_transmit(layer)
    }

    /// Whether the connection has nothing left to do and takes nothing more.
    pub(crate) fn is_over(&self, layer: &Layer) -> bool {
        let Stage::Open(machine) = &self.stage else { return false };
        match machine.state() {
            ConnectionState::Closed => !self.settles(),
            ConnectionState::Draining => self.exchanges.is_empty() && !self.wants_transmit(layer),
            ConnectionState::Open => false,
        }
    }

    /// Whether the end of the connection takes nothing away from anybody.
    pub(crate) fn is_idle(&self) -> bool {
        self.missing().is_none() && self.exchanges.is_empty()
    }
}

/// Levels 0 to 7 spread over 256 to 1 as Chromium does (Spdy3PriorityToHttp2Weight in QUICHE's
/// spdy_protocol.cc: steps of 255.9 / 7, rounded down).
fn weight(urgency: u8) -> u16 {
    1 + 2_559 * (7 - u16::from(urgency.min(7))) / 70
}

impl std::fmt::Debug for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Carrier").field("record", &self.record).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PoolLimits;
    use crate::pool::{Origin, Pool};
    use page::Scheme;

    #[test]
    fn weights_are_those_that_chromium_sends() {
        assert_eq!(std::array::from_fn(|n| weight(n as u8)), [256, 220, 183, 147, 110, 74, 37, 1]);
    }

    #[test]
    fn a_stream_depends_on_the_youngest_of_its_own_urgency_or_the_next_more_urgent() {
        let origin = Origin { scheme: Scheme::Http, host: "a.test".into(), port: 80 };
        let origin = Pool::new(PoolLimits::default()).enter(origin, None);
        let place = Place { authority: String::new(), remote: ([10, 0, 0, 2], 80).into() };
        let ids = (SocketId(0), origin);
        let mut carrier = Carrier::new(Instant::ZERO, ids, (0, place), Tracer::off());
        for (stream, urgency) in [(1, 0), (3, 3), (5, 1), (7, 3)] {
            let (fetch, upload, turn) = (None, Bytes::new(), Turn::Later);
            let exchange = Exchange { fetch, upload, turn, urgency };
            carrier.exchanges.insert(StreamId(stream), exchange);
        }
        for (urgency, expected) in [(0, 1), (1, 5), (2, 5), (3, 7), (4, 7)] {
            let Priority::Dependency { parent, exclusive, .. } = carrier.place_in_tree(urgency)
            else {
                panic!("Chromium's places are dependencies");
            };
            assert_eq!((parent, exclusive), (StreamId(expected), Exclusive::Sole), "{urgency}");
        }
        carrier.exchanges.clear();
        let alone = carrier.place_in_tree(3);
        assert!(matches!(alone, Priority::Dependency { parent: StreamId(0), weight: 147, .. }));
    }
}
