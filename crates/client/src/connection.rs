//! One connection of the pool: its transport, the fetches on it, and its record.

use crate::config::{ClientConfig, Priorities, Raises};
use crate::failure::Destination;
use crate::fetch::Acted;
use crate::pool::OriginId;
use crate::push::HeldPushes;
use crate::talk::Talk;
use crate::{FetchId, FetchSpec};
use bytes::Bytes;
use endpoint::{ConnectionId, SocketId};
use page::{Browser, CHROMIUM_WEIGHTS, Place, Raise};
use proto::schedule::{Exclusive, Incremental, Priority};
use proto::{ConnectionState, Fin, StreamId};
use std::collections::BTreeMap;
use trace::ConnectionRecord;
use transport::{Client, ClientMachine, Connection, Phase, Protocol, Timings};
use unit::Instant;

/// A connection. The transport is a field of its own beside `Exchanges`, which handles its events.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    pub(crate) transport: Connection<Client>,
    pub(crate) exchanges: Exchanges,
    /// Its socket over TCP; None once the driver has closed it.
    pub(crate) socket: Option<SocketId>,
    /// The client's UDP socket, over QUIC.
    pub(crate) port: Option<Port>,
}

/// Which of the client's UDP sockets: it has one for each address that it speaks QUIC to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Port(pub(crate) usize);

/// The requests and responses of a connection.
#[derive(Debug)]
pub(crate) struct Exchanges {
    pub(crate) connection: ConnectionId,
    pub(crate) origin: OriginId,
    pub(crate) destination: Destination,
    /// The client's part of the record; the transport adds its part at the end.
    pub(crate) record: ConnectionRecord,
    /// Whether what is sent now is early data (0-RTT).
    pub(crate) is_early: bool,
    /// Fetches that wait here until the handshake is over.
    pub(crate) deferred: Vec<FetchId>,
    /// None until the connection is ready.
    pub(crate) protocol: Option<Protocol>,
    /// When bytes were received last; at first, when the connection was opened.
    pub(crate) heard: Instant,
    /// What that was when a fetch was given up for the silence. Until bytes come, nothing is asked for here.
    pub(crate) silent_since: Option<Instant>,
    /// Requests and their responses, by stream.
    pub(crate) streams: BTreeMap<StreamId, Exchange>,
    /// Pushed responses that no fetch has taken.
    pub(crate) pushes: HeldPushes,
    /// How often a stream got an urgency.
    places: u32,
    /// The response that is complete but waits until all input is drained. It counts while its exchange is there.
    pub(crate) awaiting: Option<StreamId>,
    /// WebSockets that wait for the server's settings.
    pub(crate) early_sockets: Vec<FetchId>,
    /// Whether there was a WebSocket here.
    pub(crate) has_talked: bool,
    pub(crate) stream_limit: StreamLimit,
}

/// The peer's limit of streams.
#[derive(Debug, Default)]
pub(crate) struct StreamLimit {
    is_reached: bool,
    /// When the peer last allowed another stream, after it had allowed no more.
    allowed: Option<Instant>,
}

impl StreamLimit {
    /// So many streams are open, and so many more are allowed. Before the first one there may be none allowed because the
    /// peer has not told its limit.
    fn handle_streams(&mut self, now: Instant, open: usize, available: usize) {
        if available > 0 && std::mem::take(&mut self.is_reached) {
            self.allowed = Some(now);
        }
        self.is_reached |= available == 0 && open > 0;
    }

    /// When a request could go that was queued at this time, where the limit kept it.
    pub(crate) fn allowed_since(&self, queued: Instant) -> Option<Instant> {
        self.allowed.filter(|at| queued < *at)
    }
}

/// A request and its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The fetch; None after it was cancelled.
    pub(crate) fetch: Option<FetchId>,
    /// The rest of the request's body.
    pub(crate) upload: Bytes,
    /// Whether it was the connection's first exchange.
    pub(crate) turn: Turn,
    /// Its level in Chromium's chain of dependencies.
    pub(crate) level: u8,
    /// Where it stands among those of its level: how many had got theirs before.
    pub(crate) place: u32,
    /// Whether it was sent within the handshake.
    pub(crate) is_early: bool,
    /// Where it is a WebSocket.
    pub(crate) talk: Option<Box<Talk>>,
    /// Bytes that came for nobody.
    pub(crate) dropped: u64,
}

/// The longest body that nobody wants and that is read to its end, in bytes. A longer one costs more than another connection.
pub(crate) const LONGEST_REST: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Later,
}

/// Bytes of a request's body that are queued in the protocol machine at a time.
const UPLOAD: usize = 64 * 1024;

impl PooledConnection {
    /// Whether the connection is closing, so that its input is ignored.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.transport.phase(), Phase::Closing | Phase::Closed)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.exchanges.protocol.is_some()
    }

    /// Whether it is over QUIC, and no datagram has come.
    pub(crate) fn is_unheard(&self) -> bool {
        self.port.is_some() && self.exchanges.heard == self.transport.timings().opened
    }

    /// Whether nothing is in flight and no request is taken any more.
    pub(crate) fn is_over(&self) -> bool {
        let Some(machine) = self.transport.ready_machine() else { return false };
        match machine.state() {
            ConnectionState::Closed => !self.exchanges.awaits_drained(),
            ConnectionState::Draining => {
                self.exchanges.streams.is_empty() && !self.transport.wants_transmit()
            }
            ConnectionState::Open => false,
        }
    }

    /// Bytes of the first frame that waits to be sent, DATA excepted.
    pub(crate) fn next_frame(&self) -> Option<usize> {
        self.transport.ready_machine()?.next_frame()
    }

    /// Whether nothing is in flight, so that nothing is lost if the connection ends.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_ready() && self.exchanges.streams.is_empty()
    }

    /// Says that a request under way has another priority, in the ways of the client.
    pub(crate) fn reprioritise(
        &mut self,
        config: &ClientConfig,
        stream: StreamId,
        priority: page::Priority,
    ) {
        let Self { transport, exchanges, .. } = self;
        let has_tree = exchanges.protocol != Some(Protocol::Http3);
        let moves = exchanges.move_stream(config.browser, stream, priority.urgency);
        let Some(machine) = transport.machine() else { return };
        let is_browser = config.priorities == Priorities::Browser;
        if is_browser && has_tree && config.browser.raise() == Raise::Priority {
            moves.into_iter().for_each(|(stream, to)| machine.prioritise(stream, to));
        }
        if config.priorities == Priorities::Field
            || (is_browser && config.raises == Raises::PriorityUpdate)
        {
            machine.prioritise(stream, urgency(priority));
        }
    }

    /// How it was opened, for a fetch that was asked for at `asked`; None where it was not opened for that fetch.
    pub(crate) fn opening_for(&self, asked: Instant) -> Option<Timings> {
        let timings = self.transport.timings();
        (self.exchanges.record.requests == 0 && timings.opened >= asked).then_some(timings)
    }

    /// The record of the connection, which has ended.
    pub(crate) fn record(&mut self, now: Instant) -> ConnectionRecord {
        let mut record = self.exchanges.record.clone();
        self.transport.complete(&mut record);
        record.pushes = self.exchanges.pushes.tally();
        // Without an agreed protocol there were no heads.
        if let Some(machine) = self.transport.ready_machine() {
            record.headers = Some(machine.header_bytes());
            record.pushes.wasted_bytes += machine.discarded_bytes();
        }
        record.headers.get_or_insert_default();
        record.closed = Some(now);
        record
    }
}

impl Exchanges {
    pub(crate) fn new(
        now: Instant,
        connection: ConnectionId,
        origin: OriginId,
        destination: Destination,
    ) -> Self {
        let authority = destination.authority.to_string();
        // The pool numbers its records; this one's number is set by the caller.
        let record = ConnectionRecord::begun(0, authority, destination.remote.to_string(), now);
        Self {
            connection,
            origin,
            destination,
            record,
            is_early: false,
            deferred: Vec::new(),
            protocol: None,
            heard: now,
            silent_since: None,
            streams: BTreeMap::new(),
            pushes: HeldPushes::default(),
            places: 0,
            awaiting: None,
            early_sockets: Vec::new(),
            has_talked: false,
            stream_limit: StreamLimit::default(),
        }
    }

    /// How many requests the connection takes, as the peer's limit has it.
    pub(crate) fn available_streams(&mut self, now: Instant, machine: &mut ClientMachine) -> usize {
        let available = machine.available_streams();
        // HTTP/1.1 has one request at a time, and no limit.
        if self.protocol != Some(Protocol::Http1) {
            self.stream_limit.handle_streams(now, self.streams.len(), available);
        }
        available
    }

    /// A request went out on `stream`.
    pub(crate) fn begin(&mut self, stream: StreamId, fetch: FetchId, spec: &FetchSpec) {
        let turn = if self.record.requests == 0 { Turn::First } else { Turn::Later };
        self.record.requests += 1;
        if self.streams.is_empty() {
            self.record.rounds += 1;
        }
        let (upload, level) = (spec.body.clone(), spec.level());
        let (fetch, place, is_early) = (Some(fetch), self.next_place(), self.is_early);
        let exchange =
            Exchange { fetch, upload, turn, level, place, is_early, talk: None, dropped: 0 };
        self.streams.insert(stream, exchange);
    }

    /// A pushed response answers `fetch`.
    pub(crate) fn adopt(&mut self, stream: StreamId, fetch: FetchId, level: u8) {
        let (fetch, upload, turn, place) =
            (Some(fetch), Bytes::new(), Turn::Later, self.next_place());
        let exchange =
            Exchange { fetch, upload, turn, level, place, is_early: false, talk: None, dropped: 0 };
        self.streams.insert(stream, exchange);
    }

    /// The stream carries a WebSocket.
    pub(crate) fn talk_on(&mut self, stream: StreamId, talk: Box<Talk>) {
        if let Some(exchange) = self.streams.get_mut(&stream) {
            exchange.talk = Some(talk);
            self.has_talked = true;
        }
    }

    /// Takes the WebSocket of a stream.
    pub(crate) fn take_talk(&mut self, stream: StreamId) -> Option<Box<Talk>> {
        self.streams.get_mut(&stream)?.talk.take()
    }

    /// The streams that carry WebSockets.
    pub(crate) fn talking(&self) -> impl Iterator<Item = StreamId> {
        let talking = self.streams.iter().filter(|(_, exchange)| exchange.talk.is_some());
        talking.map(|(stream, _)| *stream)
    }

    /// The fetch of a stream.
    pub(crate) fn fetch(&self, stream: StreamId) -> Option<FetchId> {
        self.streams.get(&stream)?.fetch
    }

    /// Cancels the fetch; the rest of its stream is dropped.
    pub(crate) fn disown(&mut self, stream: StreamId) {
        if let Some(exchange) = self.streams.get_mut(&stream) {
            exchange.fetch = None;
        }
    }

    /// The streams whose rest is read for nobody.
    pub(crate) fn rests(&self) -> impl Iterator<Item = StreamId> {
        let is_rest = |exchange: &Exchange| exchange.fetch.is_none() && exchange.talk.is_none();
        self.streams
            .iter()
            .filter(move |(_, exchange)| is_rest(exchange))
            .map(|(stream, _)| *stream)
    }

    /// Counts bytes that came for nobody. Whether they are too many to go on.
    pub(crate) fn drop_bytes(&mut self, stream: StreamId, bytes: usize) -> bool {
        let Some(exchange) = self.streams.get_mut(&stream) else { return false };
        exchange.dropped += bytes as u64;
        exchange.dropped > LONGEST_REST
    }

    /// The parent of a new stream in the dependency tree, as Chromium chooses it
    /// (net/spdy/http2_priority_dependencies.cc): the last stream of the same urgency, or of the next more urgent
    /// one that has streams; exclusive.
    fn dependency(&self, level: u8) -> Priority {
        let parent = self.last(|exchange| exchange.level <= level);
        dependency(parent, level)
    }

    /// The place of a new stream in the dependency tree.
    pub(crate) fn place(&self, place: Place) -> Priority {
        match place {
            Place::Chain { level } => self.dependency(level),
            Place::Root { weight } => below(StreamId(0), weight),
            Place::Group { group, weight } => below(StreamId(u64::from(group)), weight),
        }
    }

    /// A stream has another urgency. The changes of the dependency tree, as Chromium makes them: none where its parent stays the same.
    /// Else the stream that depends on it is handed to its parent, or it would move along; then it goes to its new place, behind those
    /// of its level. Chrome 46 has no chain: the weight alone changes.
    pub(crate) fn move_stream(
        &mut self,
        browser: Browser,
        stream: StreamId,
        level: u8,
    ) -> Vec<(StreamId, Priority)> {
        let Some(mut exchange) = self.streams.remove(&stream) else { return Vec::new() };
        let earlier = exchange.rank();
        let parent = self.last(|other| other.rank() < earlier);
        let to = self.last(|other| other.level <= level);
        let later = self.streams.iter().filter(|(_, other)| other.rank() > earlier);
        let child = later.min_by_key(|(_, other)| other.rank());
        let child = child.map(|(child, other)| (*child, dependency(parent, other.level)));
        let moves = match to == parent {
            true => Vec::new(),
            false => child.into_iter().chain([(stream, dependency(to, level))]).collect(),
        };
        (exchange.level, exchange.place) = (level, self.next_place());
        self.streams.insert(stream, exchange);
        match browser {
            Browser::Chrome46 => vec![(stream, below(StreamId(0), weight(level)))],
            Browser::Chrome92 | Browser::Chrome156 | Browser::Firefox38 | Browser::Firefox153 => {
                moves
            }
        }
    }

    /// The last in order of the streams that are among these.
    fn last(&self, is_among: impl Fn(&Exchange) -> bool) -> Option<StreamId> {
        let among = self.streams.iter().filter(|(_, exchange)| is_among(exchange));
        among.max_by_key(|(_, exchange)| exchange.rank()).map(|(stream, _)| *stream)
    }

    fn next_place(&mut self) -> u32 {
        self.places += 1;
        self.places
    }

    /// Gives the machine the next part of a request's body.
    pub(crate) fn upload(&mut self, machine: &mut ClientMachine, stream: StreamId) {
        let Some(exchange) = self.streams.get_mut(&stream) else { return };
        while !exchange.upload.is_empty() && machine.unsent(stream) < UPLOAD {
            let part = exchange.upload.split_to(exchange.upload.len().min(UPLOAD));
            let fin = if exchange.upload.is_empty() { Fin::Last } else { Fin::More };
            if machine.send(stream, part, fin).is_err() {
                // The server wants no more of the body; its response comes as an event.
                exchange.upload.clear();
            }
        }
    }

    /// Whether a complete response waits until all input is drained.
    pub(crate) fn awaits_drained(&self) -> bool {
        self.awaiting.is_some_and(|stream| self.streams.contains_key(&stream))
    }
}

impl Exchange {
    /// Its place among all streams: the first one goes first.
    fn rank(&self) -> (u8, u32) {
        (self.level, self.place)
    }

    /// Whether the server may have acted on a request whose connection ended without a response.
    pub(crate) fn acted(&self) -> Acted {
        match self.turn {
            Turn::First => Acted::Certainly,
            Turn::Later => Acted::Perhaps,
        }
    }
}

fn dependency(parent: Option<StreamId>, level: u8) -> Priority {
    Priority::Dependency {
        parent: parent.unwrap_or(StreamId(0)),
        weight: weight(level),
        exclusive: Exclusive::Sole,
    }
}

fn below(parent: StreamId, weight: u16) -> Priority {
    Priority::Dependency { parent, weight, exclusive: Exclusive::Shared }
}

/// HTTP/2's weight for a level from 0 to 7.
fn weight(level: u8) -> u16 {
    CHROMIUM_WEIGHTS[usize::from(level.min(7))]
}

/// A page's priority as a protocol machine takes it.
pub(crate) fn urgency(priority: page::Priority) -> Priority {
    let incremental = if priority.incremental { Incremental::Parts } else { Incremental::Whole };
    Priority::Urgency { urgency: priority.urgency, incremental }
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
        let remote = ([10, 0, 0, 2], 80).into();
        let destination = Destination { authority: "".into(), remote, proxy: None };
        let mut exchanges = Exchanges::new(Instant::ZERO, ConnectionId(0), origin, destination);
        for (stream, level) in [(1, 0), (3, 3), (5, 1), (7, 3)] {
            let (fetch, upload, turn) = (None, Bytes::new(), Turn::Later);
            let place = exchanges.next_place();
            let exchange = Exchange {
                fetch,
                upload,
                turn,
                level,
                place,
                is_early: false,
                talk: None,
                dropped: 0,
            };
            exchanges.streams.insert(StreamId(stream), exchange);
        }
        for (urgency, expected) in [(0, 1), (1, 5), (2, 5), (3, 7), (4, 7)] {
            let Priority::Dependency { parent, exclusive, .. } = exchanges.dependency(urgency)
            else {
                panic!("Chromium's places are dependencies");
            };
            assert_eq!((parent, exclusive), (StreamId(expected), Exclusive::Sole), "{urgency}");
        }
        // The chain is 1, 5, 3, 7. Stream 3 becomes as urgent as 1: 7 is handed to 5 and then 3 goes behind 1.
        let moves = exchanges.move_stream(Browser::Chrome156, StreamId(3), 0);
        let to = |stream, parent, weight| {
            let (parent, exclusive) = (StreamId(parent), Exclusive::Sole);
            (StreamId(stream), Priority::Dependency { parent, weight, exclusive })
        };
        assert_eq!(moves, [to(7, 5, 147), to(3, 1, 256)]);
        assert_eq!(exchanges.dependency(0), to(0, 3, 256).1, "it is the last of its urgency");
        // The last one of all has none to hand over.
        assert_eq!(exchanges.move_stream(Browser::Chrome156, StreamId(7), 0), [to(7, 3, 256)]);
        let still = exchanges.move_stream(Browser::Chrome156, StreamId(5), 0);
        assert_eq!(still, [], "it stays behind 7");
        exchanges.streams.clear();
        let alone = exchanges.dependency(3);
        assert!(matches!(alone, Priority::Dependency { parent: StreamId(0), weight: 147, .. }));
    }
}
