//! What the peers say: frames written by hand, and a bomb.

use crate::bench::START;
use endpoint::SendBuf;
use proto::ws::{Agreed, Connection, DeflateParameters, MessageKind, Role};
use trace::Tracer;
use unit::Seed;
use wire::Field;
use wire::h2::{Frame, Setting, SettingId};
use wire::hpack::Encoder;

/// The frames of a client, written by hand.
pub(super) struct Frames {
    pub(super) bytes: Vec<u8>,
    encoder: Encoder,
}

impl Frames {
    /// With a preface and this initial window.
    pub(super) fn with_window(window: u32) -> Self {
        Self::with_setting(SettingId::INITIAL_WINDOW_SIZE, window)
    }

    /// With a preface and this one setting.
    pub(super) fn with_setting(id: SettingId, value: u32) -> Self {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        Setting::encode_all(&[Setting { id, value }], &mut bytes);
        Frame::SettingsAck.encode(&mut bytes);
        Self { bytes, encoder: Encoder::new(4096) }
    }

    pub(super) fn head(&mut self, stream: u32, end_stream: bool, fields: &[(&str, &str)]) {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            self.encoder.field(Field { name, value, sensitive: false }, &mut block);
        }
        let (end_headers, dependency, padding) = (true, None, None);
        let block = &block[..];
        Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
            .encode(&mut self.bytes);
    }

    pub(super) fn get(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        let head = [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "a")];
        self.head(stream, true, &[&head, more].concat());
    }

    /// A request with 14 fields of 3,900 bytes, of one byte each where the dynamic table has the field.
    pub(super) fn large_fields(&mut self, stream: u32) {
        let mut block = b"\x82\x86\x04\x05/page\x01\x01a".to_vec();
        if stream == 1 {
            // RFC 7541 §6.2.1, and 3,900 as an integer of 7 bits (§5.1).
            block.extend_from_slice(b"\x40\x01x\x7f\xbd\x1d");
            block.extend_from_slice(&[b'y'; 3_900]);
        }
        // The newest entry of the dynamic table.
        block.extend_from_slice(&[0xBE; 14]);
        let (end_stream, end_headers, dependency, padding) = (true, true, None, None);
        let block = &block[..];
        Frame::Headers { stream, block, end_stream, end_headers, dependency, padding }
            .encode(&mut self.bytes);
    }

    pub(super) fn data(&mut self, stream: u32, data: &[u8]) {
        let (end_stream, padding) = (false, None);
        Frame::Data { stream, data, end_stream, padding }.encode(&mut self.bytes);
    }

    pub(super) fn web_socket(&mut self, stream: u32) {
        let deflate = ("sec-websocket-extensions", "permessage-deflate");
        self.web_socket_at(stream, "/ws/echo", &[deflate]);
    }

    /// A WebSocket that asks for tokens by its first message, masked with zeros.
    pub(super) fn token_socket(&mut self, stream: u32, query: &str) {
        self.web_socket_at(stream, "/ws/stream", &[]);
        let mut message = vec![0x81, 0x80 | query.len() as u8, 0, 0, 0, 0];
        message.extend_from_slice(query.as_bytes());
        self.data(stream, &message);
    }

    pub(super) fn web_socket_at(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        let head = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "a"),
            ("sec-websocket-version", "13"),
        ];
        self.head(stream, false, &[&head, more].concat());
    }
}

pub(super) fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|index| 2 * index + 1)
}

/// Takes DATA apart; gives what a stream has carried.
pub(super) fn carried(mut heard: &[u8], wanted: u32) -> Vec<u8> {
    let mut data = Vec::new();
    while heard.len() >= 9 {
        let length =
            usize::from(heard[0]) << 16 | usize::from(heard[1]) << 8 | usize::from(heard[2]);
        let stream = u32::from_be_bytes([heard[5], heard[6], heard[7], heard[8]]);
        if (heard[3], stream) == (0, wanted) {
            data.extend_from_slice(&heard[9..9 + length]);
        }
        heard = &heard[9 + length..];
    }
    data
}

pub(super) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame::WindowUpdate { stream, increment }.encode(&mut bytes);
    bytes
}

/// A frame of a message that inflates to 16 MB and does not end.
pub(super) fn bomb() -> Vec<u8> {
    let agreed = Agreed { deflate: Some(DeflateParameters::default()), ..Agreed::default() };
    let role = Role::Client { masks: Seed(3) };
    let mut client = Connection::new(START, role, Default::default(), &agreed, Tracer::off());
    client.send(MessageKind::Binary, vec![0; 16_000_000].into()).unwrap();
    let mut out = SendBuf::new();
    client.poll_transmit(START, &mut out, usize::MAX);
    let mut frame = out.to_vec();
    assert_eq!(frame[0], 0xC2, "one compressed binary frame");
    frame[0] = 0x42;
    frame
}
