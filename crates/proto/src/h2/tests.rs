//! The machines against each other, against hand-made frames, and against floods; no sockets, no clock.

mod exchange;
mod flood;
mod pair;
mod priorities;
mod rules;
mod times;

use super::{Client, Server, Settings};
use crate::multiplex::tests::{Owned, events};
use crate::schedule::RoundRobin;
use crate::{ByteStreamConnection, Connection, Field};
use endpoint::SendBuf;
use trace::Tracer;
use unit::Instant;
use wire::h2::{Frame, FrameHeader, HEADER_LENGTH, PREFACE, Setting};
use wire::hpack::Encoder;

/// A server, and a peer that writes frames by hand.
struct ByHand {
    server: Server,
    now: Instant,
    encoder: Encoder,
    /// What was said without the server's answer being read.
    sent: Vec<u8>,
}

impl ByHand {
    /// After the greetings of both sides.
    fn greeted(settings: Settings) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let server = Server::new(now, settings, Box::new(RoundRobin::default()), Tracer::off());
        let mut hand = Self { server, now, encoder: Encoder::new(4096), sent: Vec::new() };
        let mut hello = PREFACE.to_vec();
        Setting::encode_all(&[], &mut hello);
        Frame::SettingsAck.encode(&mut hello);
        assert_eq!(hand.give(&hello), []);
        hand.take();
        hand
    }

    /// Gives bytes; returns the events.
    fn give(&mut self, bytes: &[u8]) -> Vec<Owned> {
        self.sent.extend_from_slice(bytes);
        events(&mut self.server, self.now, bytes)
    }

    fn frame(&mut self, frame: Frame<'_>) -> Vec<Owned> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.give(&bytes)
    }

    fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            self.encoder.field(Field { name, value, sensitive: false }, &mut block);
        }
        block
    }

    fn request(&mut self, stream: u32, end_stream: bool, extra: &[(&str, &str)]) -> Vec<Owned> {
        let method = if end_stream { "GET" } else { "POST" };
        let mut fields =
            vec![(":method", method), (":scheme", "http"), (":path", "/"), (":authority", "a")];
        fields.extend_from_slice(extra);
        let block = self.block(&fields);
        let (end_headers, dependency, padding) = (true, None, None);
        let block = &block;
        self.frame(Frame::Headers { stream, block, end_stream, end_headers, dependency, padding })
    }

    /// What the server sends now, as (type, stream, payload).
    fn take(&mut self) -> Vec<(&'static str, u32, Vec<u8>)> {
        let mut out = SendBuf::new();
        while self.server.wants_transmit() {
            self.server.poll_transmit(self.now, &mut out, 1 << 20);
        }
        split(&out.to_vec())
    }

    /// The code of the GOAWAY that the server sends now.
    fn goaway(&mut self) -> Option<u32> {
        let frames = self.take();
        let (_, _, payload) = frames.iter().find(|(kind, ..)| *kind == "GOAWAY")?;
        Some(u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]]))
    }
}

fn split(mut bytes: &[u8]) -> Vec<(&'static str, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    if let Some(rest) = bytes.strip_prefix(PREFACE) {
        bytes = rest;
    }
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LENGTH>() {
        let header = FrameHeader::parse(header);
        let (payload, rest) = rest.split_at(header.length as usize);
        frames.push((header.kind.name(), header.stream, payload.to_vec()));
        bytes = rest;
    }
    frames
}

fn client(settings: Settings) -> Client {
    Client::new(Instant::ZERO, settings, Box::new(RoundRobin::default()), Tracer::off())
}
