//! One stream socket of a reactor: its state, and the bytes to be sent.

use super::share::Share;
use bytes::BytesMut;
use endpoint::{Acks, SendBuf, SocketError, SocketId};
use std::os::fd::OwnedFd;
use unit::Instant;

/// The most bytes asked of an end point at once, also for a socket without a low-water mark.
const MOST: usize = 256 * 1024;

/// How far a socket's life has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The connect has neither succeeded nor failed.
    Connecting,
    /// The end point reads and writes.
    Open,
    /// The end point has sent its last byte; FIN follows what is pending. Reading goes on.
    Ending,
    /// FIN is out. Reading goes on.
    Ended,
    /// The end point has released it. FIN follows what is pending.
    Leaving,
    /// FIN is sent. What still arrives is discarded: closing with unread bytes would cause an RST, which could destroy
    /// the last bytes on their way to the peer (RFC 9112 §9.6).
    Lingering,
}

impl Phase {
    /// Whether the end point knows this socket.
    pub(super) fn is_attached(self) -> bool {
        !matches!(self, Self::Leaving | Self::Lingering)
    }

    /// Whether FIN follows what is pending.
    pub(super) fn ends(self) -> bool {
        matches!(self, Self::Ending | Self::Leaving)
    }
}

/// A stream socket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    /// Distinguishes this socket's events from those of an earlier one at the same index.
    pub(super) generation: u32,
    pub(super) id: SocketId,
    pub(super) phase: Phase,
    pub(super) input: Input,
    pub(super) output: Output,
    /// Whether it is in the list of sockets that go on without a new event.
    pub(super) queued: bool,
}

/// The reading side.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// The kernel may have bytes.
    pub(super) ready: bool,
    /// The end point wants none for now.
    pub(super) paused: bool,
    /// The peer has ended. Reading goes on until the end, even after a short read.
    pub(super) hung_up: bool,
    /// The end was read.
    pub(super) ended: bool,
    /// The end point waits for `handle_drained`.
    pub(super) awaits_drained: bool,
    /// How much is handled before others have their turn.
    pub(super) share: Share,
    /// When what is read is acknowledged.
    pub(super) acks: Acks,
    /// Whether io_uring has a receive operation for it.
    pub(super) receiving: Receiving,
    /// How many bytes the last one was to receive at most.
    pub(super) asked: usize,
    /// What io_uring received and the end point has not taken yet.
    pub(super) undelivered: BytesMut,
    /// io_uring polls for its errors, because nothing is received.
    pub(super) watches_errors: bool,
}

/// Whether io_uring has a receive operation for a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Receiving {
    /// It has no receive operation.
    #[default]
    Idle,
    /// It has none, and the last one received all that it was to: there may be more.
    Full,
    /// It has one.
    Armed,
    /// Its operation was asked to stop. Bytes received before that may still come.
    Cancelling,
    /// The peer has ended.
    Ended,
    /// It failed with this errno, which is told behind what is undelivered.
    Failed(i32),
}

/// The writing side.
#[derive(Debug)]
pub(super) struct Output {
    /// The kernel takes bytes.
    pub(super) ready: bool,
    /// The end point has something to send.
    pub(super) wanted: bool,
    /// Taken from the end point, not yet taken by the kernel. The buffer comes from the reactor's pool, and returns
    /// there when it is empty.
    pub(super) pending: SendBuf,
    /// What was pending before was handed to io_uring, which will report its outcome.
    pub(super) submitted: bool,
    /// At most this many bytes are unsent in the kernel.
    pub(super) unsent_bound: usize,
    /// TCP_NOTSENT_LOWAT in force, bounded.
    pub(super) low_water: usize,
    /// The mark as it was first set.
    pub(super) low_water_configured: usize,
    /// The bytes to ask for next. It grows whenever the kernel has taken what was asked for before: a peer that reads
    /// nothing makes this side hold few.
    pub(super) ask: usize,
    /// Whether a segment that is not full waits while the end point has more to send.
    pub(super) fills_segments: bool,
    /// TCP_CORK is set: such a segment waits now.
    pub(super) corked: bool,
    /// Since when the kernel takes no more, and how many bytes were unsent then. The mark follows the path by it.
    pub(super) full_since: Option<(Instant, usize)>,
    /// A send has failed, which is told behind what has arrived: a server that answers before it has read all may reset the connection.
    pub(super) failed: Option<SocketError>,
}

/// Bytes that are asked for first.
const FIRST_ASK: usize = 32 * 1024;

impl Socket {
    /// A socket that no table knows yet.
    pub(super) fn new(
        fd: OwnedFd,
        id: SocketId,
        phase: Phase,
        input: Input,
        output: Output,
    ) -> Self {
        Self { fd, generation: 0, id, phase, input, output, queued: false }
    }

    /// A send has failed. Whether that is told later, behind what has arrived.
    pub(super) fn fail_send(&mut self, error: SocketError) -> bool {
        let is_read = self.phase.is_attached() && !self.input.paused && !self.input.ended;
        if is_read {
            self.output.failed = Some(error);
            self.output.pending.clear();
            self.input.ready = true;
        }
        is_read
    }
}

impl Input {
    /// Nothing is there yet.
    pub(super) fn new(acks: Acks) -> Self {
        Self { acks, ..Self::default() }
    }
}

impl Output {
    /// `ready` as far as is known. A new connection has sent nothing.
    pub(super) fn new(low_water: u32) -> Self {
        // tcp(7): 0 means the system's default, which sets no mark.
        let low_water = if low_water == 0 { MOST } else { MOST.min(low_water as usize) };
        Self {
            ready: false,
            wanted: false,
            pending: SendBuf::new(),
            submitted: false,
            unsent_bound: 0,
            low_water,
            low_water_configured: low_water,
            ask: FIRST_ASK.min(low_water),
            fills_segments: false,
            corked: false,
            full_since: None,
            failed: None,
        }
    }

    /// Whether more may be asked for while io_uring has bytes: only where the kernel has shown that it takes them.
    pub(super) fn may_ask(&self) -> bool {
        !self.submitted || self.ask >= self.low_water_configured
    }

    /// The bytes to ask for, now that the kernel has taken all before: no more than the mark, be it low for a slow path or high for
    /// a quick one.
    pub(super) fn next_ask(&mut self) -> usize {
        let ask = self.ask;
        self.ask = (ask * 2).min(self.low_water.max(self.low_water_configured));
        ask.min(self.low_water)
    }

    /// The kernel has taken the first `bytes` bytes of what is pending.
    pub(super) fn take(&mut self, bytes: usize) {
        self.pending.advance(bytes);
        self.unsent_bound += bytes;
    }
}
