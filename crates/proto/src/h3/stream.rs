//! One request stream: how far its message has come in, and what is still to go out.

use super::frame_queue::FrameQueue;
use crate::multiplex::outgoing::Outgoing;
use crate::multiplex::stall::Stall;
use unit::Instant;
use wire::h3::FrameReader;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) message: Message,
    pub(super) reading: Reading,
    pub(super) frames: FrameReader,
    /// What Content-Length leaves of the body; None for any length.
    pub(super) body_left: Option<u64>,
    /// Client: the answer has no body, whatever Content-Length says.
    pub(super) asked_for_head: bool,
    /// A CONNECT: DATA alone follows the heads (RFC 9114 §4.4).
    pub(super) is_tunnel: bool,
    /// Bytes received that the application has not given back.
    pub(super) unconsumed: usize,
    pub(super) blocked: Option<BlockedSection>,
    /// When the head began that is still to become whole.
    pub(super) head_began: Option<Instant>,
    pub(super) head_sent: bool,
    /// Frames but DATA, which go before the body.
    pub(super) head: FrameQueue,
    pub(super) outgoing: Outgoing,
    /// The stream ends with what is in `head`.
    pub(super) ends_with_head: bool,
    pub(super) is_sent: bool,
    /// The transport takes no more bytes of it.
    pub(super) is_stuck: bool,
    /// Since when the transport has taken too little of it.
    pub(super) stall: Stall,
    /// Bytes of it that were given to the transport.
    pub(super) given: u64,
    /// The state last given to the scheduler.
    pub(super) is_ready: bool,
    /// Client or application have said how it ranks.
    pub(super) is_ranked: bool,
    /// The response had been released: the application does not know of the stream.
    pub(super) is_reopened: bool,
}

/// How far the message being received has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// The final head is still to come.
    Head,
    Body,
    /// Trailers have come: nothing may follow.
    Trailers,
    /// The stream has ended, or is of no interest.
    Over,
}

/// What of a frame comes next.
#[derive(Debug)]
pub(super) enum Reading {
    Header,
    Data { left: u64 },
    Section { left: usize, section: Vec<u8> },
    Ignored { left: u64 },
}

/// A field section that waits for entries of the dynamic table, and what came behind it.
#[derive(Debug)]
pub(super) struct BlockedSection {
    pub(super) required: u64,
    pub(super) section: Vec<u8>,
    pub(super) deferred: Vec<u8>,
    pub(super) is_last: bool,
}

impl Stream {
    pub(super) fn new() -> Self {
        Self {
            message: Message::Head,
            reading: Reading::Header,
            frames: FrameReader::default(),
            body_left: None,
            asked_for_head: false,
            is_tunnel: false,
            unconsumed: 0,
            blocked: None,
            head_began: None,
            head_sent: false,
            head: FrameQueue::of_stream(),
            // QUIC keeps the stream's credit.
            outgoing: Outgoing::new(WINDOW),
            ends_with_head: false,
            is_sent: false,
            is_stuck: false,
            stall: Stall::default(),
            given: 0,
            is_ready: false,
            is_ranked: false,
            is_reopened: false,
        }
    }

    /// As new, but for the memory that it has.
    pub(super) fn renew(&mut self) {
        self.head.clear();
        let head = std::mem::replace(&mut self.head, FrameQueue::of_stream());
        *self = Self { head, ..Self::new() };
    }

    /// Whether it has something to send that the transport can take.
    pub(super) fn can_send(&self) -> bool {
        !self.is_sent
            && !self.is_stuck
            && (!self.head.is_empty()
                || self.ends_with_head
                || self.outgoing.bytes() > 0
                || (self.head_sent && self.outgoing.owes_end()))
    }

    /// The frames of a whole small response, where the request is whole, too.
    pub(super) fn whole_response(&self) -> Option<&[u8]> {
        let ends = self.ends_with_head || self.outgoing.ends_with_data();
        let waits = self.given == 0 && self.outgoing.bytes() == 0 && !self.is_stuck;
        (self.message == Message::Over && ends && waits).then(|| self.head.waiting())
    }

    /// Since when the peer owes the rest of a head.
    pub(super) fn head_since(&self) -> Option<Instant> {
        self.head_began.filter(|_| self.message != Message::Over)
    }

    /// Bytes of its body that wait. Where they wait behind its head, that counts, too.
    pub(super) fn unsent(&self) -> usize {
        let with_head = if self.ends_with_head { self.head.len() } else { 0 };
        self.outgoing.bytes() + with_head
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_sent && self.message == Message::Over
    }

    /// Whether it stands between two frames.
    pub(super) fn is_between_frames(&self) -> bool {
        match self.reading {
            Reading::Header => !self.frames.is_partial(),
            Reading::Data { left } | Reading::Ignored { left } => left == 0,
            Reading::Section { .. } => false,
        }
    }
}

/// A window that QUIC's own never exceeds: it is given back as it is used.
pub(super) const WINDOW: u32 = 0x7fff_ffff;
