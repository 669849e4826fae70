//! A client that asks for one path, or for a few in turn, again and again. It speaks HTTP/3 by hand, over quinn-proto.

use crate::bare::{from_std, to_std};
use bytes::BytesMut;
use endpoint::{DatagramTransmit, ReceivedDatagrams};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, ReadError, StreamEvent, StreamId, TransportConfig, VarInt,
};
use secure::QuicClientTls;
use std::net::SocketAddr;
use std::sync::Arc;
use unit::Instant;
use wire::qpack::{Decoder, DecoderLimits};

pub(crate) struct Client {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    local: SocketAddr,
    remote: SocketAddr,
    pub(crate) is_connected: bool,
    pub(crate) asked: usize,
    pub(crate) answered: usize,
    /// Bytes of streams.
    pub(crate) received: u64,
    /// QPACK's decoder stream, the last that was opened of its own.
    decoder: Option<StreamId>,
    /// The server's dynamic table.
    table: Decoder,
    habits: Habits,
}

/// What clients do differently.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    /// Whether each datagram is filled with PADDING frames.
    pub(crate) pads: bool,
    /// Whether it acknowledges field sections and insertions (RFC 9204 §4.4.1, §4.4.3).
    pub(crate) acknowledges: bool,
    /// How many paths it asks for in turn.
    pub(crate) names: usize,
}

impl Habits {
    pub(crate) const USUAL: Self = Self { pads: false, acknowledges: true, names: 1 };
}

impl Client {
    pub(crate) fn new(
        now: Instant,
        tls: Arc<QuicClientTls>,
        [local, remote]: [SocketAddr; 2],
        habits: Habits,
    ) -> Self {
        let mut transport = TransportConfig::default();
        // As h2load has it by default: its windows hold nothing up.
        transport
            .pad_to_mtu(habits.pads)
            .max_concurrent_uni_streams(VarInt::from_u32(100))
            .stream_receive_window(VarInt::from_u32(1 << 30))
            .receive_window(VarInt::from_u32(1 << 30));
        let mut config = ClientConfig::new(tls);
        config.transport_config(Arc::new(transport));
        let mut endpoint_config = EndpointConfig::default();
        endpoint_config.rng_seed(Some([7; 32]));
        let mut endpoint = Endpoint::new(Arc::new(endpoint_config), None, true, None);
        let begun = endpoint.connect(to_std(now), config, remote, "a.test");
        let (handle, connection) = begun.expect("a name and an address");
        Self {
            endpoint,
            handle,
            connection,
            local,
            remote,
            is_connected: false,
            asked: 0,
            answered: 0,
            received: 0,
            decoder: None,
            table: Decoder::new(DecoderLimits { max_capacity: 4_096, blocked_streams: 100 }),
            habits,
        }
    }

    /// Opens the control stream and QPACK's.
    pub(crate) fn greet(&mut self) {
        for bytes in [CONTROL, &[ENCODER], &[DECODER]] {
            self.decoder = Some(self.open(Dir::Uni, bytes));
        }
    }

    pub(crate) fn ask(&mut self) {
        let stream = self.open(Dir::Bi, &request(self.asked % self.habits.names));
        self.connection.send_stream(stream).finish().expect("a stream of its own");
        self.asked += 1;
    }

    fn open(&mut self, dir: Dir, bytes: &[u8]) -> StreamId {
        let stream = self.connection.streams().open(dir).expect("the server takes more");
        let sent = self.connection.send_stream(stream).write(bytes);
        assert_eq!(sent, Ok(bytes.len()), "flow control allows it");
        stream
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection.poll_timeout().map(from_std)
    }

    /// Takes a batch. [`Client::settle`] follows the last one.
    pub(crate) fn handle_datagrams(
        &mut self,
        now: Instant,
        transmit: &DatagramTransmit,
        bytes: &[u8],
    ) {
        let length = transmit.segment_size.unwrap_or(bytes.len());
        for datagram in bytes.chunks(length) {
            let (data, mut answer) = (BytesMut::from(datagram), Vec::new());
            let (at, remote) = (to_std(now), self.remote);
            let event = self.endpoint.handle(at, remote, None, None, data, &mut answer);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.connection.handle_event(event);
            }
        }
    }

    pub(crate) fn settle(&mut self, now: Instant) {
        self.connection.handle_timeout(to_std(now));
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::Stream(StreamEvent::Readable { id }) => self.read(id),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(stream) = self.connection.streams().accept(dir) {
                        self.read(stream);
                    }
                }
                Event::ConnectionLost { reason } => panic!("{reason}"),
                _ => {}
            }
        }
    }

    fn read(&mut self, stream: StreamId) {
        let mut incoming = self.connection.recv_stream(stream);
        // It may have been read to its end before this was told.
        let Ok(mut chunks) = incoming.read(true) else { return };
        let (mut refers, is_encoder) = (false, u64::from(stream) == SERVERS_ENCODER);
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    self.received += chunk.bytes.len() as u64;
                    if is_encoder {
                        // The stream's type is its first byte.
                        let instructions = &chunk.bytes[usize::from(chunk.offset == 0)..];
                        self.table.handle_instructions(instructions).expect("its own table");
                    }
                    refers |= chunk.offset == 0 && refers_to_table(&chunk.bytes);
                }
                Ok(None) => {
                    // The stream of a reserved type ends, too.
                    self.answered += usize::from(stream.dir() == Dir::Bi);
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(code)) => panic!("the server reset a stream: {code}"),
            }
        }
        let _transmit = chunks.finalize();
        let acknowledgement = match stream.dir() {
            Dir::Bi if refers => section_acknowledgement(u64::from(stream)),
            Dir::Uni if is_encoder => {
                self.table.acknowledge_insertions();
                self.table.take_instructions()
            }
            _ => return,
        };
        if let (true, Some(decoder)) = (self.habits.acknowledges, self.decoder) {
            let sent = self.connection.send_stream(decoder).write(&acknowledgement);
            assert_eq!(sent, Ok(acknowledgement.len()), "flow control allows it");
        }
    }

    /// What it sends now, in batches.
    pub(crate) fn transmit(&mut self, now: Instant, batch: usize) -> Vec<ReceivedDatagrams> {
        let mut all = Vec::new();
        loop {
            let mut bytes = Vec::new();
            let transmit = self.connection.poll_transmit(to_std(now), batch, &mut bytes);
            let Some(transmit) = transmit else { return all };
            bytes.truncate(transmit.size);
            all.push(ReceivedDatagrams {
                remote: self.local,
                local: None,
                ecn: None,
                stride: transmit.segment_size.unwrap_or(transmit.size),
                data: BytesMut::from(&bytes[..]),
            });
        }
    }
}

/// Whether an answer's head refers to the dynamic table: its Required Insert Count is not 0 (RFC 9204 §4.5.1).
fn refers_to_table(answer: &[u8]) -> bool {
    // The kind of the frame and its length go before it, of a byte or two.
    let [HEADERS, length, rest @ ..] = answer else { return false };
    let prefix = if *length < 64 { rest.first() } else { rest.get(1) };
    prefix.is_some_and(|required| *required > 0)
}

/// RFC 9204 §4.4.1: an integer with a prefix of seven bits.
fn section_acknowledgement(stream: u64) -> Vec<u8> {
    if stream < 0x7f {
        return vec![0x80 | stream as u8];
    }
    let (mut bytes, mut rest) = (vec![0xff], stream - 0x7f);
    while rest >= 0x80 {
        bytes.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

const HEADERS: u8 = 1;

/// The server's second unidirectional stream.
const SERVERS_ENCODER: u64 = 7;

/// The type of a control stream, and SETTINGS as of nghttp3: a table of 4,096 bytes, 100 blocked streams (RFC 9204 §5).
const CONTROL: &[u8] = b"\x00\x04\x06\x01\x50\x00\x07\x40\x64";
const ENCODER: u8 = 2;
const DECODER: u8 = 3;

/// HEADERS: GET https://a.test/00, or another number, by names of the static table (RFC 9204 §4.5).
fn request(name: usize) -> Vec<u8> {
    let start = b"\x01\x11\0\0\xd1\xd7\x50\x06a.test\x51\x03/";
    [&start[..], format!("{name:02}").as_bytes()].concat()
}
