//! What client and server share: the bytes of a head that is still arriving, what is traced, and the words
//! of an end.

use super::outgoing::Moved;
use crate::{Error, Event, Scope, StreamId};
use trace::{HeaderBytes, Tracer};
use unit::Instant;
use wire::h1::{HeadScanner, Limits};

/// Gathers a head. One that arrives whole is never copied.
#[derive(Debug)]
pub(super) struct HeadReader {
    limits: Limits,
    scanner: HeadScanner,
    kept: Vec<u8>,
}

/// A whole head.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whole<'i> {
    /// It lay in the input.
    Input(&'i [u8]),
    /// It arrived in pieces.
    Kept,
}

impl HeadReader {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, scanner: HeadScanner::new(limits), kept: Vec::new() }
    }

    /// Whether no byte of a head has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.scanner.is_fresh()
    }

    /// Takes bytes of a head, and none beyond it, off the front of `input`.
    pub(super) fn read<'i>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Whole<'i>>, wire::h1::Error> {
        let Some(end) = self.scanner.scan(input)? else {
            self.kept.extend_from_slice(input);
            *input = &[];
            return Ok(None);
        };
        let (head, rest) = input.split_at(end);
        *input = rest;
        if self.kept.is_empty() {
            return Ok(Some(Whole::Input(head)));
        }
        self.kept.extend_from_slice(head);
        Ok(Some(Whole::Kept))
    }

    /// The bytes of a head that `read` gave.
    pub(super) fn bytes<'a>(&'a self, whole: Whole<'a>) -> &'a [u8] {
        match whole {
            Whole::Input(head) => head,
            Whole::Kept => &self.kept,
        }
    }

    /// Gets ready for the next head.
    pub(super) fn restart(&mut self) {
        self.scanner = HeadScanner::new(self.limits);
        self.kept.clear();
        self.kept.shrink_to(KEEP);
    }
}

/// Capacity kept for a head that arrives in pieces.
const KEEP: usize = 4 * 1024;

/// The peer broke `rule`; that is the end of the connection.
pub(super) fn violation(code: u16, rule: &'static str) -> Error {
    Error::PeerViolation { scope: Scope::Connection, code: u64::from(code), rule }
}

/// The tracer of a connection, and the bytes of its heads.
#[derive(Debug)]
pub(super) struct Log {
    tracer: Tracer,
    headers: HeaderBytes,
}

impl Log {
    /// The log of a connection that is ready.
    pub(super) fn new(now: Instant, tracer: Tracer) -> Self {
        tracer.emit(now, || trace::Event::ConnectionReady { protocol: "http/1.1" });
        Self { tracer, headers: HeaderBytes::default() }
    }

    /// Bytes of heads so far.
    pub(super) fn headers(&self) -> HeaderBytes {
        self.headers
    }

    pub(super) fn head_received(&mut self, now: Instant, stream: StreamId, bytes: usize) {
        self.headers.received.count(bytes, bytes);
        let (stream, length) = (stream.0, bytes as u64);
        self.tracer.emit(now, || trace::Event::FrameParsed { stream, frame: "HEADERS", length });
    }

    pub(super) fn body_received(&self, now: Instant, stream: StreamId, length: u64) {
        let stream = stream.0;
        self.tracer.emit(now, || trace::Event::FrameParsed { stream, frame: "DATA", length });
    }

    pub(super) fn sent(&mut self, now: Instant, stream: StreamId, moved: Moved) {
        self.headers.sent.count(moved.head, moved.head);
        for (frame, length) in [("HEADERS", moved.head), ("DATA", moved.body)] {
            if length > 0 {
                let (stream, length) = (stream.0, length as u64);
                self.tracer.emit(now, || trace::Event::FrameCreated { stream, frame, length });
            }
        }
    }

    /// Tells the trace where `event` is the last one.
    pub(super) fn closed(&self, now: Instant, event: &Event<'_>) {
        let Event::Closed { error } = event else { return };
        let reason = error.as_ref().map(Error::to_string).unwrap_or_default();
        self.tracer.emit(now, || trace::Event::ConnectionClosed { reason: &reason });
    }
}
