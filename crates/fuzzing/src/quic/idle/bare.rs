//! A server that is quinn-proto with rustls and nothing else: it answers each stream with a few bytes.

use crate::quic::peer::{from_std, to_std};
use endpoint::{
    Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, ServerConfig,
    StreamId, TransportConfig, VarInt,
};
use secure::ServerTls;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use unit::Instant;

const SOCKET: SocketId = SocketId(0);

/// The server, with the limits on streams that ours has.
pub(super) struct BareServer {
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Box<Connection>>,
    actions: VecDeque<Action>,
}

impl BareServer {
    pub(super) fn new(tls: &ServerTls) -> Self {
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(100))
            .max_concurrent_uni_streams(VarInt::from_u32(8));
        let mut config = ServerConfig::with_crypto(tls.for_quic("h3").expect("TLS 1.3"));
        config.transport_config(Arc::new(transport));
        let server = Some(Arc::new(config));
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, true, None);
        Self { endpoint, connections: BTreeMap::new(), actions: VecDeque::new() }
    }

    fn settle(&mut self, handle: ConnectionHandle) {
        let Some(connection) = self.connections.get_mut(&handle) else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
        for dir in [Dir::Bi, Dir::Uni] {
            while let Some(stream) = connection.streams().accept(dir) {
                answer(connection, stream);
            }
        }
        self.actions.push_back(Action::Transmit(SOCKET));
    }
}

/// Reads what has come, and answers a request. The first one opens as many streams as HTTP/3 needs.
fn answer(connection: &mut Connection, stream: StreamId) {
    let mut incoming = connection.recv_stream(stream);
    let mut chunks = incoming.read(true).expect("an ordered read");
    while let Ok(Some(_)) = chunks.next(usize::MAX) {}
    let _transmit = chunks.finalize();
    if stream.dir() == Dir::Bi {
        for _ in 0..3 {
            let own = connection.streams().open(Dir::Uni).expect("the client allows it");
            connection.send_stream(own).write(&[0; 10]).expect("flow control allows it");
        }
        let mut out = connection.send_stream(stream);
        out.write(&[0; 100]).expect("flow control allows it");
        out.finish().expect("the client takes it");
    }
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

    fn handle_datagrams(&mut self, now: Instant, _socket: SocketId, came: ReceivedDatagrams) {
        let mut answer = Vec::new();
        let (now, data) = (to_std(now), came.data);
        let event = self.endpoint.handle(now, came.remote, came.local, None, data, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                    self.settle(handle);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                let Ok((handle, connection)) = accepted else { return };
                self.connections.insert(handle, Box::new(connection));
                self.settle(handle);
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        _max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let sent = |connection: &mut Box<Connection>| connection.poll_transmit(to_std(now), 1, out);
        let transmit = self.connections.values_mut().find_map(sent)?;
        let remote = transmit.destination;
        Some(DatagramTransmit { remote, local: None, ecn: None, segment_size: None })
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = |connection: &mut Connection| {
            connection.poll_timeout().is_some_and(|at| at <= to_std(now))
        };
        let handles: Vec<ConnectionHandle> = self.connections.keys().copied().collect();
        for handle in handles {
            let Some(connection) = self.connections.get_mut(&handle) else { continue };
            if due(connection) {
                connection.handle_timeout(to_std(now));
                self.settle(handle);
            }
        }
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        let times =
            self.connections.values_mut().filter_map(|connection| connection.poll_timeout());
        times.min().map(from_std)
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}
