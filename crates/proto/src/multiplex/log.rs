//! What a connection traces and counts of its header blocks, and the time of the latest call.

use crate::schedule::Priority;
use trace::{Event, HeaderBytes, PrioritySource, Tracer};
use unit::Instant;

#[derive(Debug)]
pub(crate) struct Log {
    tracer: Tracer,
    now: Instant,
    headers: HeaderBytes,
}

impl Log {
    pub(crate) fn new(now: Instant, tracer: Tracer) -> Self {
        Self { tracer, now, headers: HeaderBytes::default() }
    }

    /// The latest time that the driver has given.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Bytes of header blocks so far.
    pub(crate) fn headers(&self) -> HeaderBytes {
        self.headers
    }

    /// Counts a header block that is sent.
    pub(crate) fn block_sent(&mut self, stream: u32, plain: usize, coded: usize) {
        self.headers.sent.count(plain, coded);
        self.block(stream, plain, coded);
    }

    /// Counts a header block that was received.
    pub(crate) fn block_received(&mut self, stream: u32, plain: usize, coded: usize) {
        self.headers.received.count(plain, coded);
        self.block(stream, plain, coded);
    }

    fn block(&self, stream: u32, plain: usize, coded: usize) {
        self.tracer.emit(self.now, || Event::HeaderBlock {
            stream: u64::from(stream),
            plain: plain as u64,
            coded: coded as u64,
        });
    }

    pub(crate) fn frame_created(&self, stream: u32, frame: &'static str, length: usize) {
        self.tracer.emit(self.now, || Event::FrameCreated {
            stream: u64::from(stream),
            frame,
            length: length as u64,
        });
    }

    pub(crate) fn frame_parsed(&self, stream: u32, frame: &'static str, length: u32) {
        self.tracer.emit(self.now, || Event::FrameParsed {
            stream: u64::from(stream),
            frame,
            length: u64::from(length),
        });
    }

    /// The peer has said how a stream ranks.
    pub(crate) fn priority_received(&self, stream: u32, by: PrioritySource, said: Priority) {
        if let (true, Some(asked)) = (self.tracer.is_on(), said.asked()) {
            let stream = u64::from(stream);
            self.tracer.emit(self.now, || Event::PriorityReceived { stream, by, asked });
        }
    }

    /// Either side has reset a stream.
    pub(crate) fn stream_reset(&self, stream: u32, code: u64) {
        self.tracer.emit(self.now, || Event::StreamReset { stream: u64::from(stream), code });
    }

    pub(crate) fn connection_ready(&self, protocol: &'static str) {
        self.tracer.emit(self.now, || Event::ConnectionReady { protocol });
    }

    pub(crate) fn connection_closed(&self, reason: &str) {
        self.tracer.emit(self.now, || Event::ConnectionClosed { reason });
    }
}
