//! A server that is quinn-proto with rustls and nothing else: each stream that the client opens gets the same answer.

use bytes::Bytes;
use endpoint::{
    Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};
use secure::ServerTls;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant as StdInstant};
use unit::Instant;

#[expect(clippy::disallowed_methods, reason = "any value will do: it stands for our epoch")]
static EPOCH: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

pub(crate) fn to_std(at: Instant) -> StdInstant {
    *EPOCH + Duration::from_nanos(at.nanos())
}

pub(crate) fn from_std(at: StdInstant) -> Instant {
    Instant::ZERO + at.saturating_duration_since(*EPOCH)
}

/// The server of one connection.
pub(crate) struct BareServer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    answer: Bytes,
    /// What flow control or the send window keeps back.
    unsent: BTreeMap<StreamId, Bytes>,
}

/// Bytes of a head, about.
const HEAD: usize = 60;

impl BareServer {
    pub(crate) fn new(tls: &ServerTls, bytes: usize) -> Self {
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(100))
            .max_concurrent_uni_streams(VarInt::from_u32(8))
            .send_fairness(false);
        let mut config = ServerConfig::with_crypto(tls.for_quic("h3").expect("TLS 1.3"));
        config.transport_config(Arc::new(transport));
        let mut endpoint = EndpointConfig::default();
        endpoint.rng_seed(Some([1; 32]));
        let endpoint = Endpoint::new(Arc::new(endpoint), Some(Arc::new(config)), true, None);
        let answer = Bytes::from(vec![b'a'; HEAD + bytes]);
        Self { endpoint, connection: None, answer, unsent: BTreeMap::new() }
    }

    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(stream) = connection.streams().accept(Dir::Bi) {
                        read(connection, stream);
                        send(connection, &mut self.unsent, stream, self.answer.clone());
                    }
                }
                Event::Stream(StreamEvent::Writable { id }) => {
                    if let Some(rest) = self.unsent.remove(&id) {
                        send(connection, &mut self.unsent, id, rest);
                    }
                }
                _ => {}
            }
        }
    }
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
            Err(error) => panic!("{error}"),
        }
    }
    out.finish().expect("the client takes it");
}

impl EndPoint for BareServer {
    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        Some(SocketId(0))
    }

    fn handle_datagrams(&mut self, now: Instant, _: SocketId, mut came: ReceivedDatagrams) {
        let (now, mut answer) = (to_std(now), Vec::new());
        while !came.data.is_empty() {
            let data = came.data.split_to(came.stride.min(came.data.len()));
            let event = self.endpoint.handle(now, came.remote, came.local, None, data, &mut answer);
            match event {
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, connection)) = &mut self.connection {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                    self.connection = Some(accepted.expect("a client's first packet"));
                }
                Some(DatagramEvent::Response(_)) | None => {}
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
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(to_std(now), max_datagrams, out)?;
        let (remote, segment_size) = (transmit.destination, transmit.segment_size);
        Some(DatagramTransmit { remote, local: None, ecn: None, segment_size })
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(to_std(now));
        }
        self.settle();
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout().map(from_std)
    }

    fn poll_action(&mut self) -> Option<Action> {
        None
    }
}
