//! One stream socket of a reactor: what is known of it, and what waits to be sent.

use endpoint::{Acks, SendBuf, SocketId};
use std::os::fd::OwnedFd;
use unit::Instant;

/// Bytes asked of an end point at once, at most; and where the socket has no low-water mark.
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
    /// The end point has let go of it; FIN follows what is pending.
    Leaving,
    /// FIN is out and what still arrives is thrown away, so that the close does not become an RST
    /// that takes the last bytes from the peer (RFC 9112 §9.6).
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
    /// Tells this socket's events from those of an earlier one at the same index.
    pub(super) generation: u32,
    pub(super) id: SocketId,
    pub(super) phase: Phase,
    pub(super) input: Input,
    pub(super) output: Output,
    /// Whether it stands in the list of those that go on without a new event.
    pub(super) queued: bool,
}

/// The reading side.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// The kernel may have bytes.
    pub(super) ready: bool,
    /// The end point wants none for now.
    pub(super) paused: bool,
    /// The peer has ended: read on to the end, whatever a short read suggests.
    pub(super) hung_up: bool,
    /// The end was read.
    pub(super) ended: bool,
    /// The end point waits for `handle_drained`.
    pub(super) awaits_drained: bool,
    /// When what is read is acknowledged.
    pub(super) acks: Acks,
    /// Whether io_uring has a receive operation for it.
    pub(super) receiving: Receiving,
    /// What io_uring received and the end point did not take yet.
    pub(super) undelivered: Vec<u8>,
    /// io_uring polls for its errors, because nothing is received.
    pub(super) watches_errors: bool,
}

/// Whether io_uring has a receive operation for a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Receiving {
    /// It has none.
    #[default]
    Idle,
    /// It has one.
    Armed,
    /// It has one that was told to stop. What it received before may still come.
    Cancelling,
    /// The peer has ended.
    Ended,
}

/// The writing side.
#[derive(Debug)]
pub(super) struct Output {
    /// The kernel takes bytes.
    pub(super) ready: bool,
    /// The end point has something to send.
    pub(super) wanted: bool,
    /// Taken from the end point, not yet by the kernel. Its buffer comes from the reactor's pool, and goes back there
    /// when it is empty.
    pub(super) pending: SendBuf,
    /// What was pending before was handed to io_uring, which will tell what became of it.
    pub(super) submitted: bool,
    /// At most so many bytes lie unsent in the kernel.
    pub(super) unsent_bound: usize,
    /// TCP_NOTSENT_LOWAT in force, bounded.
    pub(super) low_water: usize,
    /// The mark as it was set at first; about so many bytes are asked for at once.
    pub(super) low_water_floor: usize,
    /// Since when the kernel takes no more; for the adaptive mark.
    pub(super) full_since: Option<Instant>,
}

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
}

impl Input {
    /// Nothing is there yet.
    pub(super) fn new(acks: Acks) -> Self {
        Self { acks, ..Self::default() }
    }
}

impl Output {
    /// `ready` as far as is known; a new connection has sent nothing.
    pub(super) fn new(low_water: u32) -> Self {
        // tcp(7): 0 leaves it to the system, which sets no mark.
        let low_water = if low_water == 0 { MOST } else { MOST.min(low_water as usize) };
        Self {
            ready: false,
            wanted: false,
            pending: SendBuf::new(),
            submitted: false,
            unsent_bound: 0,
            low_water,
            low_water_floor: low_water,
            full_since: None,
        }
    }

    /// The kernel has taken the first `bytes` bytes of what is pending.
    pub(super) fn take(&mut self, bytes: usize) {
        self.pending.advance(bytes);
        self.unsent_bound += bytes;
    }
}
