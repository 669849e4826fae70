//! A perfect byte stream between two ends. The one rule: nothing here knows an end point or a link.

use crate::fault::StreamFault;
use crate::host::HostId;
use crate::packet::{self, Segment};
use crate::path::PathId;
use bytes::{Bytes, BytesMut};
use endpoint::{SendBuf, SocketId};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use trace::Direction;
use unit::Instant;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndId {
    pub(crate) connection: usize,
    pub(crate) side: Side,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// It connected.
    Opener,
    /// It listened.
    Acceptor,
}

impl EndId {
    pub(crate) fn peer(self) -> Self {
        let side = match self.side {
            Side::Opener => Side::Acceptor,
            Side::Acceptor => Side::Opener,
        };
        Self { side, ..self }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) path: PathId,
    ends: [End; 2],
    /// The acceptor's listener that accepts it; None where there is none.
    pub(crate) listener: Option<usize>,
    pub(crate) outcome: crate::fault::ConnectOutcome,
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) host: HostId,
    pub(crate) local: SocketAddr,
    /// The direction of what it sends.
    pub(crate) direction: Direction,
    pub(crate) phase: Phase,
    pub(crate) output: Output,
    pub(crate) input: Input,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The handshake is under way. Only the side that connects has a socket then.
    Connecting { socket: Option<SocketId> },
    /// The end point holds its socket.
    Open { socket: SocketId },
    /// The end point has closed its socket. Bytes that it sent before are still delivered.
    Closing,
    /// It was reset, or was never connected.
    Gone,
}

/// What an end sends.
#[derive(Debug)]
pub(crate) struct Output {
    /// Bytes that the end point has given and that are not yet on the link.
    pub(crate) unsent: SendBuf,
    /// The end point is asked for more while fewer bytes than this are unsent (TCP_NOTSENT_LOWAT).
    pub(crate) low_water: usize,
    /// Whether the end point said that it has bytes to send.
    pub(crate) is_wanted: bool,
    /// Whether it is in its path's queue of senders.
    pub(crate) is_waiting: bool,
    pub(crate) is_writable_planned: bool,
    /// Free space of the peer's receive buffer, as far as this end knows, in bytes.
    window: usize,
    /// When this end learns that so many bytes of that buffer are free again.
    credits: VecDeque<(Instant, usize)>,
    /// Bytes of payload sent.
    pub(crate) sent: u64,
    /// Segments sent.
    pub(crate) segments: u64,
    pub(crate) fin: Fin,
    pub(crate) fault: Option<StreamFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fin {
    Open,
    /// FIN follows the unsent bytes.
    Due,
    Sent,
}

/// What an end receives.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) unread: BytesMut,
    pub(crate) has_fin: bool,
    pub(crate) is_ended: bool,
    pub(crate) is_paused: bool,
    pub(crate) awaits_drained: bool,
    pub(crate) is_read_planned: bool,
    /// The number of the segment that comes next.
    next: u64,
    /// Segments that arrived out of order.
    early: BTreeMap<u64, Segment>,
}

/// What an end would send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextSegment {
    /// This many bytes.
    Data(usize),
    Fin,
}

impl Connection {
    pub(crate) fn new(
        path: PathId,
        ends: [End; 2],
        listener: Option<usize>,
        outcome: crate::fault::ConnectOutcome,
    ) -> Self {
        Self { path, ends, listener, outcome }
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }
}

impl End {
    pub(crate) fn new(
        host: HostId,
        local: SocketAddr,
        direction: Direction,
        phase: Phase,
        output: Output,
    ) -> Self {
        Self { host, local, direction, phase, output, input: Input::default() }
    }

    /// The end point's socket, once it is connected.
    pub(crate) fn socket(&self) -> Option<SocketId> {
        match self.phase {
            Phase::Open { socket } => Some(socket),
            Phase::Connecting { .. } | Phase::Closing | Phase::Gone => None,
        }
    }

    /// What it would send next; None where it may not send.
    pub(crate) fn next(&self) -> Option<NextSegment> {
        if !matches!(self.phase, Phase::Open { .. } | Phase::Closing) {
            return None;
        }
        let output = &self.output;
        let before_fault = output.fault.map_or(u64::MAX, |fault| fault.after() - output.sent);
        let length = output
            .unsent
            .len()
            .min(packet::segment_size(self.local))
            .min(output.window)
            .min(usize::try_from(before_fault).unwrap_or(usize::MAX));
        if length > 0 {
            return Some(NextSegment::Data(length));
        }
        (output.unsent.is_empty() && output.fin == Fin::Due).then_some(NextSegment::Fin)
    }

    /// Ends everything at this end.
    pub(crate) fn drop_all(&mut self) {
        self.phase = Phase::Gone;
        self.output.unsent.clear();
        self.input = Input { next: self.input.next, ..Input::default() };
    }
}

impl Output {
    pub(crate) fn new(low_water: u32, window: usize, fault: Option<StreamFault>) -> Self {
        Self {
            unsent: SendBuf::new(),
            low_water: low_water.max(1) as usize,
            is_wanted: false,
            is_waiting: false,
            is_writable_planned: false,
            window,
            credits: VecDeque::new(),
            sent: 0,
            segments: 0,
            fin: Fin::Open,
            fault,
        }
    }

    /// Whether its planned fault has happened.
    pub(crate) fn is_broken(&self) -> bool {
        self.fault.is_some_and(|fault| fault.after() <= self.sent)
    }

    /// The peer has read. From `at` on, this end knows of this many more bytes of free space.
    pub(crate) fn expect_credit(&mut self, at: Instant, bytes: usize) {
        match self.credits.back_mut() {
            Some((last, sum)) if *last == at => *sum += bytes,
            _ => self.credits.push_back((at, bytes)),
        }
    }

    /// Applies the announcements of free space that have arrived by now.
    pub(crate) fn collect_credit(&mut self, now: Instant) {
        while let Some((_, bytes)) = self.credits.pop_front_if(|(at, _)| *at <= now) {
            self.window += bytes;
        }
    }

    /// When it may send again, where only the peer's full receive buffer prevents it and the time is known.
    pub(crate) fn blocked_until(&self) -> Option<Instant> {
        let is_blocked = self.window == 0 && !self.unsent.is_empty();
        self.credits.front().map(|(at, _)| *at).filter(|_| is_blocked)
    }

    /// Takes the first `length` unsent bytes out.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        let mut bytes = BytesMut::with_capacity(length);
        for chunk in self.unsent.chunks() {
            let wanted = length - bytes.len();
            if wanted == 0 {
                break;
            }
            assert!(!chunk.is_empty(), "the simulator cannot open a part of a file");
            bytes.extend_from_slice(&chunk[..wanted.min(chunk.len())]);
        }
        self.unsent.advance(length);
        self.window -= length;
        self.sent += length as u64;
        bytes.freeze()
    }
}

impl Input {
    /// A segment has arrived.
    pub(crate) fn arrived(&mut self, number: u64, segment: Segment) {
        self.early.insert(number, segment);
    }

    /// The next segment in order.
    pub(crate) fn take_next(&mut self) -> Option<Segment> {
        let segment = self.early.remove(&self.next)?;
        self.next += 1;
        Some(segment)
    }
}
