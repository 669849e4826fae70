//! A server that is quinn-proto with rustls and nothing else: each stream that a client opens gets the same answer, whatever it asks
//! for. It stands for what no server upon quinn-proto can do without.

use bytes::Bytes;
use endpoint::{
    Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};
use secure::ServerTls;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant as StdInstant};
use unit::Instant;
use wire::Field;
use wire::h3::{FrameHeader, FrameKind};
use wire::qpack::Encoder;

#[expect(clippy::disallowed_methods, reason = "any value will do: it stands for our epoch")]
static EPOCH: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

pub(crate) fn to_std(at: Instant) -> StdInstant {
    *EPOCH + Duration::from_nanos(at.nanos())
}

pub(crate) fn from_std(at: StdInstant) -> Instant {
    Instant::ZERO + at.saturating_duration_since(*EPOCH)
}

/// The server.
pub(crate) struct BareServer {
    endpoint: Endpoint,
    connections: HashMap<ConnectionHandle, Peer>,
    /// Connections that may have datagrams to send, in the order in which they came to.
    sending: VecDeque<ConnectionHandle>,
    answer: Bytes,
    /// Whether the driver is still to be told that there is something to send.
    has_more: bool,
}

/// One connection.
struct Peer {
    connection: Box<Connection>,
    /// What flow control or the send window keeps back.
    unsent: BTreeMap<StreamId, Bytes>,
    is_sending: bool,
}

const SOCKET: SocketId = SocketId(0);

/// The payload of the largest UDP datagram over IPv4: no batch holds more.
const MAX_BATCH_BYTES: usize = 65_507;

/// Bytes of streams that wait for acknowledgements at most, as ours has it.
const SEND_WINDOW: u64 = 64 * 1024 * 1024;

/// A control stream with empty SETTINGS (RFC 9114 §6.2.1, §7.2.4).
const CONTROL: &[u8] = b"\x00\x04\x00";

impl BareServer {
    pub(crate) fn new(tls: &ServerTls, body: &[u8]) -> Self {
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(100))
            .max_concurrent_uni_streams(VarInt::from_u32(8))
            .send_window(SEND_WINDOW)
            .send_fairness(false);
        let mut config = ServerConfig::with_crypto(tls.for_quic("h3").expect("TLS 1.3"));
        config.transport_config(Arc::new(transport));
        let mut endpoint = EndpointConfig::default();
        endpoint.rng_seed(Some([1; 32]));
        let endpoint = Endpoint::new(Arc::new(endpoint), Some(Arc::new(config)), true, None);
        let (connections, sending) = (HashMap::new(), VecDeque::new());
        Self { endpoint, connections, sending, answer: answer(body), has_more: false }
    }

    /// After input or a time-out of a connection.
    fn settle(&mut self, handle: ConnectionHandle) {
        let Some(peer) = self.connections.get_mut(&handle) else { return };
        let Peer { connection, unsent, is_sending } = peer;
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => {
                    let control = connection.streams().open(Dir::Uni).expect("the client takes it");
                    connection.send_stream(control).write(CONTROL).expect("the client takes it");
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(stream) = connection.streams().accept(Dir::Bi) {
                        read(connection, stream);
                        send(connection, unsent, stream, self.answer.clone());
                    }
                }
                Event::Stream(StreamEvent::Writable { id }) => {
                    if let Some(rest) = unsent.remove(&id) {
                        send(connection, unsent, id, rest);
                    }
                }
                _ => {}
            }
        }
        if !std::mem::replace(is_sending, true) {
            self.sending.push_back(handle);
            self.has_more = true;
        }
        while let Some(event) = connection.poll_endpoint_events() {
            let is_over = event.is_drained();
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
            if is_over {
                self.connections.remove(&handle);
                return;
            }
        }
    }
}

/// The bytes of each answer's stream.
fn answer(body: &[u8]) -> Bytes {
    let length = body.len().to_string();
    let fields: [(&[u8], &[u8]); 4] = [
        (b":status", b"200"),
        (b"content-length", length.as_bytes()),
        (b"content-type", b"application/octet-stream"),
        (b"server", b"quinn-proto"),
    ];
    let (mut encoder, mut section) = (Encoder::new(0), Vec::new());
    encoder.begin(0);
    for (name, value) in fields {
        encoder.field(Field { name, value, sensitive: false });
    }
    let _no_references = encoder.end(&mut section);
    let mut bytes = Vec::new();
    for (kind, payload) in [(FrameKind::HEADERS, &section[..]), (FrameKind::DATA, body)] {
        FrameHeader { kind, length: payload.len() as u64 }.encode(&mut bytes);
        bytes.extend_from_slice(payload);
    }
    bytes.into()
}

fn read(connection: &mut Connection, stream: StreamId) {
    let mut incoming = connection.recv_stream(stream);
    let mut chunks = incoming.read(true).expect("an ordered read");
    while let Ok(Some(_)) = chunks.next(usize::MAX) {}
    let _transmit = chunks.finalize();
}

fn send(
    connection: &mut Connection,
    unsent: &mut BTreeMap<StreamId, Bytes>,
    stream: StreamId,
    mut bytes: Bytes,
) {
    let mut out = connection.send_stream(stream);
    while !bytes.is_empty() {
        match out.write_chunks(std::slice::from_mut(&mut bytes)) {
            Ok(_) => {}
            Err(WriteError::Blocked) => {
                unsent.insert(stream, bytes);
                return;
            }
            // The client wants no more of it.
            Err(_) => return,
        }
    }
    let _stopped = out.finish();
}

impl EndPoint for BareServer {
    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        Some(SOCKET)
    }

    fn handle_datagrams(&mut self, now: Instant, _: SocketId, mut came: ReceivedDatagrams) {
        let (now, mut answer, mut touched) = (to_std(now), Vec::new(), None);
        while !came.data.is_empty() {
            let data = came.data.split_to(came.stride.min(came.data.len()));
            let event = self.endpoint.handle(now, came.remote, came.local, None, data, &mut answer);
            let handle = match event {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(peer) = self.connections.get_mut(&handle) {
                        peer.connection.handle_event(event);
                    }
                    handle
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                    let Ok((handle, connection)) = accepted else { continue };
                    let (connection, unsent) = (Box::new(connection), BTreeMap::new());
                    self.connections.insert(handle, Peer { connection, unsent, is_sending: false });
                    handle
                }
                Some(DatagramEvent::Response(_)) | None => continue,
            };
            // Datagrams of one call come from one address, nearly always for one connection.
            if let Some(before) = touched.replace(handle).filter(|before| *before != handle) {
                self.settle(before);
            }
        }
        if let Some(handle) = touched {
            self.settle(handle);
        }
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        while let Some(handle) = self.sending.front() {
            if let Some(Peer { connection, is_sending, .. }) = self.connections.get_mut(handle) {
                let fits = MAX_BATCH_BYTES / usize::from(connection.current_mtu());
                let most = max_datagrams.min(fits);
                if let Some(transmit) = connection.poll_transmit(to_std(now), most, out) {
                    let (remote, segment_size) = (transmit.destination, transmit.segment_size);
                    return Some(DatagramTransmit { remote, local: None, ecn: None, segment_size });
                }
                *is_sending = false;
            }
            self.sending.pop_front();
        }
        None
    }

    fn wants_transmit(&self, _socket: SocketId) -> bool {
        !self.sending.is_empty()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let now = to_std(now);
        let mut due = Vec::new();
        for (handle, Peer { connection, .. }) in &mut self.connections {
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
                due.push(*handle);
            }
        }
        due.into_iter().for_each(|handle| self.settle(handle));
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        let times = self.connections.values_mut().filter_map(|peer| peer.connection.poll_timeout());
        times.min().map(from_std)
    }

    fn poll_action(&mut self) -> Option<Action> {
        std::mem::take(&mut self.has_more).then_some(Action::Transmit(SOCKET))
    }
}
