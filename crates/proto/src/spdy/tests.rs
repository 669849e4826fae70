//! The machines against each other, against hand-made frames, and against floods; no sockets, no clock.

mod flood;
mod pair;
mod push;
mod rules;

use super::{Client, Effort, Server, Settings, Version};
use crate::multiplex::tests::{Owned, events};
use crate::schedule::RoundRobin;
use crate::{ByteStreamConnection, Connection};
use endpoint::SendBuf;
use trace::Tracer;
use unit::Instant;
use wire::spdy::{Encoder, Frame, FrameHeader, HEADER_LENGTH, ResetCode, Subject};

/// A connection, and a peer that writes frames by hand.
struct ByHand<C> {
    subject: C,
    now: Instant,
    encoder: Encoder,
    /// What was said without the answer being read.
    sent: Vec<u8>,
}

fn server(settings: Settings) -> ByHand<Server> {
    let now = Instant::from_nanos(1_000_000_000);
    ByHand::new(Server::new(now, settings, Box::new(RoundRobin::default()), Tracer::off()))
}

fn client(settings: Settings) -> ByHand<Client> {
    let now = Instant::from_nanos(1_000_000_000);
    ByHand::new(Client::new(now, settings, Box::new(RoundRobin::default()), Tracer::off()))
}

const REQUEST: [(&str, &str); 5] = [
    (":method", "GET"),
    (":path", "/"),
    (":version", "HTTP/1.1"),
    (":host", "a.test"),
    (":scheme", "http"),
];

impl<C: ByteStreamConnection> ByHand<C> {
    /// After the greeting.
    fn new(subject: C) -> Self {
        let (now, encoder) = (Instant::from_nanos(1_000_000_000), Encoder::new(Effort::BEST));
        let mut hand = Self { subject, now, encoder, sent: Vec::new() };
        hand.take();
        hand
    }

    /// Gives bytes; returns the events.
    fn give(&mut self, bytes: &[u8]) -> Vec<Owned> {
        self.sent.extend_from_slice(bytes);
        events(&mut self.subject, self.now, bytes)
    }

    fn frame(&mut self, frame: Frame<'_>) -> Vec<Owned> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.give(&bytes)
    }

    fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin();
        for (name, value) in fields {
            self.encoder.field(name.as_bytes(), value.as_bytes());
        }
        self.encoder.finish(&mut block);
        block
    }

    fn syn(&mut self, stream: u32, fin: bool, fields: &[(&str, &str)]) -> Vec<Owned> {
        let block = &self.block(fields);
        let (associated, priority, unidirectional) = (0, 3, false);
        self.frame(Frame::SynStream { stream, associated, priority, fin, unidirectional, block })
    }

    fn request(&mut self, stream: u32, fin: bool, extra: &[(&str, &str)]) -> Vec<Owned> {
        self.syn(stream, fin, &[&REQUEST, extra].concat())
    }

    fn reply(&mut self, stream: u32, fin: bool, extra: &[(&str, &str)]) -> Vec<Owned> {
        let fields = [&[(":status", "200 OK"), (":version", "HTTP/1.1")], extra].concat();
        let block = &self.block(&fields);
        self.frame(Frame::SynReply { stream, fin, block })
    }

    fn headers(&mut self, stream: u32, fin: bool, fields: &[(&str, &str)]) -> Vec<Owned> {
        let block = &self.block(fields);
        self.frame(Frame::Headers { stream, fin, block })
    }

    fn data(&mut self, stream: u32, data: &[u8], fin: bool) -> Vec<Owned> {
        self.frame(Frame::Data { stream, data, fin })
    }

    /// What the subject sends now, by name and payload.
    fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        let mut out = SendBuf::new();
        while self.subject.wants_transmit() {
            self.subject.poll_transmit(self.now, &mut out, 1 << 20);
        }
        split(&out.to_vec())
    }

    /// The streams and codes of the RST_STREAMs that the subject sends now.
    fn resets(&mut self) -> Vec<(u32, ResetCode)> {
        let frames = self.take();
        let resets = frames.iter().filter(|(name, _)| *name == "RST_STREAM");
        resets.map(|(_, payload)| (word(payload, 0), ResetCode(word(payload, 4)))).collect()
    }

    /// The last good stream and the status of the GOAWAY that the subject sends now.
    fn goaway(&mut self) -> Option<(u32, u32)> {
        let frames = self.take();
        let (_, payload) = frames.iter().find(|(name, _)| *name == "GOAWAY")?;
        Some((word(payload, 0), word(payload, 4)))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

fn split(mut bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LENGTH>() {
        let header = FrameHeader::parse(header);
        let (payload, rest) = rest.split_at(header.length as usize);
        let mut payload = payload.to_vec();
        if let Subject::Data { stream } = header.subject {
            payload.splice(..0, stream.to_be_bytes());
        }
        frames.push((header.name(), payload));
        bytes = rest;
    }
    frames
}
