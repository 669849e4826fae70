//! A client of QUIC as an end point: it does what a test or an input tells it to, and keeps what comes back.

use super::tampering::{Level, SharedPlan, TamperingTls};
use bytes::Bytes;
use endpoint::{
    Accepted, Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError,
    SocketId,
};
use quinn_proto::congestion::NewRenoConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ReadError, StreamEvent, StreamId, VarInt, WriteError,
};
use secure::QuicClientTls;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant as StdInstant};
use unit::Instant;

const SOCKET: SocketId = SocketId(0);
/// When a world begins.
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
/// Where the server is.
fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 443))
}

#[expect(clippy::disallowed_methods, reason = "any value will do: it stands for our epoch")]
static EPOCH: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

pub(super) fn to_std(at: Instant) -> StdInstant {
    *EPOCH + Duration::from_nanos(at.nanos())
}

pub(super) fn from_std(at: StdInstant) -> Instant {
    Instant::ZERO + at.saturating_duration_since(*EPOCH)
}

/// What became of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// CONNECTION_CLOSE of the transport with this code.
    Transport(u64),
    /// CONNECTION_CLOSE of the application.
    Application(u64),
    /// Anything else, in words.
    Other(String),
}

/// What the other side did to a stream, and what came on it.
#[derive(Debug, Default)]
pub struct Seen {
    /// The bytes that came.
    pub bytes: Vec<u8>,
    /// Whether all came.
    pub is_finished: bool,
    /// The code of a RESET_STREAM.
    pub reset: Option<u64>,
    /// The code of a STOP_SENDING.
    pub stopped: Option<u64>,
}

/// A client, and its only connection.
pub struct Peer {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    /// The connection.
    pub connection: Connection,
    /// What is changed of what it sends.
    pub plan: SharedPlan,
    /// How it ended.
    pub ended: Option<Ended>,
    /// Whether the handshake was over.
    pub is_connected: bool,
    /// What is known of each stream.
    pub streams: BTreeMap<StreamId, Seen>,
    actions: VecDeque<Action>,
    now: StdInstant,
    is_transmitting: bool,
    /// Datagrams to send as they are, before those of the connection.
    pub raw: VecDeque<Vec<u8>>,
    /// Datagrams of its own that still go; then it falls silent.
    pub speaks: usize,
    /// Bytes that came and went.
    pub received: usize,
    /// Those that went.
    pub sent: usize,
}

impl Peer {
    /// A client that connects when a world begins, and changes what it sends as `plan` says.
    pub fn new(tls: Arc<QuicClientTls>, plan: SharedPlan) -> Self {
        Self::at(BEGIN, tls, plan)
    }

    /// The same, later.
    pub fn at(begin: Instant, tls: Arc<QuicClientTls>, plan: SharedPlan) -> Self {
        Self::with_mtu(begin, tls, plan, 1_200)
    }

    /// With first datagrams of `mtu` bytes.
    pub fn with_mtu(begin: Instant, tls: Arc<QuicClientTls>, plan: SharedPlan, mtu: u16) -> Self {
        let mut config = ClientConfig::new(Arc::new(TamperingTls { tls, plan: plan.clone() }));
        let mut transport = quinn_proto::TransportConfig::default();
        // An attack waits for nobody.
        let mut unbounded = NewRenoConfig::default();
        unbounded.initial_window(1 << 30);
        transport
            .max_concurrent_uni_streams(VarInt::from_u32(100))
            .initial_mtu(mtu)
            .congestion_controller_factory(Arc::new(unbounded));
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
        let remote = server();
        let (handle, connection) = endpoint
            .connect(to_std(begin), config, remote, "a.test")
            .expect("a name and an address");
        let mut peer = Self {
            endpoint,
            handle,
            connection,
            plan,
            ended: None,
            is_connected: false,
            streams: BTreeMap::new(),
            actions: VecDeque::new(),
            now: to_std(begin),
            is_transmitting: false,
            raw: VecDeque::new(),
            speaks: usize::MAX,
            received: 0,
            sent: 0,
        };
        let (local, settings) = (SocketAddr::from(([0, 0, 0, 0], 0)), Default::default());
        peer.actions.push_back(Action::Bind { socket: SOCKET, local, settings });
        peer.settle();
        peer
    }

    /// A stream of its own, with these bytes.
    pub fn open(&mut self, dir: Dir, bytes: &[u8]) -> StreamId {
        let id = self.connection.streams().open(dir).expect("the server takes more streams");
        self.streams.insert(id, Seen::default());
        self.write(id, bytes);
        id
    }

    /// A stream with these bytes, where the server lets one be opened now.
    pub fn try_open(&mut self, dir: Dir, bytes: &[u8]) -> Option<StreamId> {
        let id = self.connection.streams().open(dir)?;
        self.streams.insert(id, Seen::default());
        self.try_write(id, bytes);
        Some(id)
    }

    /// Bytes on a stream of its own, as many as flow control allows.
    pub fn try_write(&mut self, id: StreamId, bytes: &[u8]) {
        if self.is_mine(id) {
            let _refused = self.connection.send_stream(id).write(bytes);
        }
        self.settle();
    }

    /// Closes the connection with this code.
    pub fn close(&mut self, code: u32) {
        self.connection.close(self.now, VarInt::from_u32(code), Bytes::new());
        self.settle();
    }

    /// The first datagram of its handshake, which then is not sent.
    pub fn first_datagram(&mut self) -> Vec<u8> {
        let mut datagram = Vec::new();
        let _transmit = self.connection.poll_transmit(to_std(BEGIN), 1, &mut datagram);
        datagram
    }

    /// Bytes on a stream; what the server has stopped is dropped.
    pub fn write(&mut self, id: StreamId, bytes: &[u8]) {
        let mut stream = self.connection.send_stream(id);
        match stream.write(bytes) {
            Ok(count) => assert_eq!(count, bytes.len(), "flow control holds the attack up"),
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {}
            Err(WriteError::Blocked) => panic!("flow control holds the attack up"),
        }
        self.settle();
    }

    /// Ends the sending side.
    pub fn finish(&mut self, id: StreamId) {
        if self.is_mine(id) {
            let _gone = self.connection.send_stream(id).finish();
        }
        self.settle();
    }

    /// Abandons a stream, both ways (H3_REQUEST_CANCELLED).
    pub fn reset(&mut self, id: StreamId) {
        if self.is_mine(id) {
            let _gone = self.connection.send_stream(id).reset(VarInt::from_u32(0x10c));
        }
        if id.dir() == Dir::Bi || !self.is_mine(id) {
            let _gone = self.connection.recv_stream(id).stop(VarInt::from_u32(0x10c));
        }
        self.settle();
    }

    /// Sends a 1-RTT packet of these frames in place of its own.
    pub fn send_frames(&mut self, frames: &[u8]) {
        self.plan.lock().frames = Some((Level::OneRtt, frames.to_vec()));
        self.send_filler(frames.len());
    }

    /// Has the connection send a packet that is large enough to be changed.
    pub fn send_filler(&mut self, length: usize) {
        let filler = Bytes::from(vec![0; length + 64]);
        // A connection that is over sends none.
        let _refused = self.connection.datagrams().send(filler, true);
        self.settle();
    }

    /// Sends a PING.
    pub fn ping(&mut self) {
        self.connection.ping();
        self.settle();
    }

    /// Sends a datagram as it is.
    pub fn send_raw(&mut self, datagram: Vec<u8>) {
        self.raw.push_back(datagram);
        self.settle();
    }

    /// Whether it may send on this stream.
    fn is_mine(&self, id: StreamId) -> bool {
        id.dir() == Dir::Bi || id.initiator() == self.connection.side()
    }

    fn settle(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            self.handle_event(event);
        }
        let readable: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in readable {
            self.read(id);
        }
        if !self.is_transmitting {
            self.is_transmitting = true;
            self.actions.push_back(Action::Transmit(SOCKET));
        }
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.is_connected = true,
            Event::ConnectionLost { reason } => {
                self.ended = Some(match reason {
                    ConnectionError::ConnectionClosed(close) => {
                        Ended::Transport(close.error_code.into())
                    }
                    ConnectionError::ApplicationClosed(close) => {
                        Ended::Application(close.error_code.into_inner())
                    }
                    other => Ended::Other(other.to_string()),
                })
            }
            Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                self.streams.entry(id).or_default().stopped = Some(error_code.into_inner());
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = self.connection.streams().accept(dir) {
                    self.streams.entry(id).or_default();
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, id: StreamId) {
        let is_own = id.dir() == Dir::Uni && id.initiator() == self.connection.side();
        let Some(seen) = self.streams.get_mut(&id).filter(|_| !is_own) else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => seen.bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => {
                    seen.is_finished = true;
                    break;
                }
                Err(ReadError::Reset(code)) => {
                    seen.reset = Some(code.into_inner());
                    break;
                }
                Err(ReadError::Blocked) => break,
            }
        }
        let _ = chunks.finalize();
    }
}

impl EndPoint for Peer {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        Some(SOCKET)
    }

    fn handle_datagrams(&mut self, now: Instant, _socket: SocketId, mut came: ReceivedDatagrams) {
        self.now = to_std(now);
        while !came.data.is_empty() {
            let length = came.stride.clamp(1, came.data.len());
            let data = came.data.split_to(length);
            self.received += data.len();
            let mut answer = Vec::new();
            let event =
                self.endpoint.handle(to_std(now), came.remote, came.local, None, data, &mut answer);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.connection.handle_event(event);
            }
        }
        self.settle();
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        _max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let remote = server();
        let transmit = DatagramTransmit { remote, local: None, ecn: None, segment_size: None };
        if let Some(datagram) = self.raw.pop_front() {
            self.sent += datagram.len();
            out.extend_from_slice(&datagram);
            return Some(transmit);
        }
        let sent = match self.speaks {
            0 => None,
            _ => self.connection.poll_transmit(to_std(now), 1, out),
        };
        if sent.is_none() {
            self.is_transmitting = false;
            return None;
        }
        self.speaks -= 1;
        self.sent += out.len();
        if let Some(length) = self.plan.lock().cut.take() {
            out.truncate(length);
        }
        Some(transmit)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = to_std(now);
        self.connection.handle_timeout(self.now);
        self.settle();
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection.poll_timeout().map(from_std)
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}
