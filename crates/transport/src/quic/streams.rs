//! Moves the bytes of streams between a QUIC connection and the machine above it. The one rule: the machine chooses, and
//! is asked only when congestion window and pacer let bytes out.

use super::link::{Arrived, Link, StreamEnd, Taken};
use bytes::Bytes;
use endpoint::SendBuf;
use proto::{Event, Fin, MultiplexedConnection, StreamAction, StreamId, StreamKind};
use quinn_proto::{Dir, Event as QuicEvent, StreamEvent};
use std::collections::BTreeMap;
use std::time::Duration;
use unit::Instant;

/// The streams of one connection, as far as this side keeps something of them.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// What flow control keeps back.
    blocked: BTreeMap<u64, Blocked>,
    bidirectional: Ahead,
    unidirectional: Ahead,
    /// Unidirectional streams that the machine has ended.
    ended: u64,
    /// The connection's orderly end, as long as it waits.
    closing: Option<Closing>,
}

/// An orderly end that waits until the peer has acknowledged everything: with CONNECTION_CLOSE nothing is sent again.
#[derive(Debug, Clone, Copy)]
struct Closing {
    code: u64,
    reason: &'static str,
    /// It waits no longer than this.
    latest: Instant,
}

impl Streams {
    /// When the connection ends, even if the peer acknowledges nothing more; None where it is not to end.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.closing.as_ref().map(|closing| closing.latest)
    }

    /// How many of this side's streams have no end: those that the machine has not taken, and the unidirectional ones that it has
    /// not ended.
    fn endless(&self) -> u64 {
        let unidirectional = self.unidirectional.opened - self.ended;
        unidirectional + self.bidirectional.opened - self.bidirectional.taken
    }
}

/// The rest of a transmit.
#[derive(Debug)]
struct Blocked {
    chunks: Vec<Bytes>,
    fin: Fin,
}

/// Streams opened before the machine asks for them. quinn-proto does not tell how many the peer allows, but opening
/// sends nothing, so that the machine can be told of those that are open.
#[derive(Debug, Default, Clone, Copy)]
struct Ahead {
    opened: u64,
    taken: u64,
}

/// A connection and its machine during one call.
pub(super) struct Pump<'a, M: ?Sized> {
    pub(super) now: Instant,
    pub(super) link: &'a mut Link,
    pub(super) streams: &'a mut Streams,
    pub(super) machine: &'a mut M,
    /// The code of an orderly end.
    pub(super) no_error: u64,
}

impl<M: MultiplexedConnection + ?Sized> Pump<'_, M> {
    /// An event of a stream's.
    pub(super) fn handle_event(
        &mut self,
        event: QuicEvent,
        sink: &mut impl FnMut(&mut M, Event<'_>),
    ) {
        match event {
            // The machine has ended.
            QuicEvent::Stream(StreamEvent::Opened { .. }) if self.streams.closing.is_some() => {}
            QuicEvent::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = self.link.accept(dir) {
                    self.read(stream, sink);
                }
            }
            QuicEvent::Stream(StreamEvent::Readable { id }) => self.read(id.into(), sink),
            QuicEvent::Stream(StreamEvent::Writable { id }) => self.unblock(id.into()),
            QuicEvent::Stream(StreamEvent::Stopped { id, error_code }) => {
                let stream = u64::from(id);
                self.streams.blocked.remove(&stream);
                self.link.forget_waiting();
                self.machine.handle_stop_sending(self.now, StreamId(stream), error_code.into());
                // The machine resets what it has not sent all of, with a code of its own.
                self.settle(sink);
                // RFC 9000 §3.5: so is what it has handed over and flow control keeps back. quinn-proto resets nothing by
                // itself, and does nothing here where the stream is reset or acknowledged already.
                self.link.reset(stream, error_code.into());
            }
            QuicEvent::Stream(StreamEvent::Finished { id }) => self.link.handle_gone(id.into()),
            QuicEvent::Stream(StreamEvent::Available { dir }) => self.open_ahead(dir),
            QuicEvent::DatagramReceived => {
                while let Some(datagram) = self.link.receive_datagram() {
                    self.machine.handle_datagram(self.now, &datagram);
                }
            }
            // The rest is not a stream's.
            _ => {}
        }
    }

    /// Tells the machine how many streams it may open. A server opens no bidirectional ones (RFC 9114 §6.1), so that
    /// frames of a client's for such a stream are those for one that is not there.
    pub(super) fn open_ahead(&mut self, dir: Dir) {
        if dir == Dir::Bi && self.link.is_server() {
            return;
        }
        let (ahead, kind, most) = match dir {
            Dir::Bi => (&mut self.streams.bidirectional, StreamKind::Bidirectional, MAX_AHEAD),
            Dir::Uni => {
                let streams = &mut self.streams.unidirectional;
                (streams, StreamKind::Unidirectional, MAX_UNIDIRECTIONAL_AHEAD)
            }
        };
        let before = ahead.opened;
        while ahead.opened < ahead.taken + most && self.link.open(dir).is_some() {
            ahead.opened += 1;
        }
        if ahead.opened > before {
            self.machine.handle_stream_limit(kind, ahead.opened);
        }
    }

    /// Carries out what the machine wants, and passes on its events, until there is nothing more. Tells whether there was
    /// anything to carry out.
    pub(super) fn settle(&mut self, sink: &mut impl FnMut(&mut M, Event<'_>)) -> bool {
        let mut has_acted = false;
        loop {
            if let Some(event) = self.machine.poll_event(self.now) {
                sink(self.machine, event);
            } else if let Some(action) = self.machine.poll_stream_action() {
                has_acted = true;
                self.act(action, sink);
            } else if let Some(backlog) = self.machine.take_backlog() {
                self.hand_in(backlog.stream, &backlog.bytes, backlog.fin, sink);
                // What came behind it was not read while the stream had to wait.
                self.read(backlog.stream.0, sink);
            } else if let Some(datagram) = self.machine.poll_datagram() {
                has_acted = true;
                self.link.send_datagram(datagram);
            } else {
                return has_acted;
            }
        }
    }

    fn act(&mut self, action: StreamAction, sink: &mut impl FnMut(&mut M, Event<'_>)) {
        match action {
            StreamAction::Open { kind, .. } => {
                let (ahead, dir) = match kind {
                    StreamKind::Bidirectional => (&mut self.streams.bidirectional, Dir::Bi),
                    StreamKind::Unidirectional => (&mut self.streams.unidirectional, Dir::Uni),
                };
                ahead.taken += 1;
                self.open_ahead(dir);
            }
            StreamAction::Reset { stream, code } => {
                self.streams.blocked.remove(&stream.0);
                self.link.reset(stream.0, code);
            }
            StreamAction::StopSending { stream, code } => self.link.stop(stream.0, code),
            StreamAction::Read { stream } => self.read(stream.0, sink),
            StreamAction::Close { code, reason } if code == self.no_error => {
                let latest = self.now + LONGEST_CLOSING;
                self.streams.closing = Some(Closing { code, reason, latest });
            }
            StreamAction::Close { code, reason } => self.link.close(self.now, code, reason),
        }
    }

    /// Ends the connection, where the machine wants it and the peer has everything. Tells whether it did.
    pub(super) fn close_when_acknowledged(&mut self) -> bool {
        let Some(Closing { code, reason, latest }) = self.streams.closing else { return false };
        if self.now < latest && self.link.send_streams() > self.streams.endless() {
            return false;
        }
        self.streams.closing = None;
        self.link.close(self.now, code, reason);
        true
    }

    /// Reads a stream as far as the machine wants it. Whether the peer has reset it is told in any case.
    fn read(&mut self, stream: u64, sink: &mut impl FnMut(&mut M, Event<'_>)) {
        if !self.machine.wants_read(StreamId(stream)) {
            // A reset does not wait for the bytes before it (RFC 9000 §3.2): what the machine leaves unread is void.
            if let Some(code) = self.link.take_reset(stream) {
                self.machine.handle_stream_reset(self.now, StreamId(stream), code);
            }
            return;
        }
        while self.machine.wants_read(StreamId(stream)) {
            let Some(Arrived { earlier, last, end }) = self.link.read(stream) else { return };
            for piece in earlier {
                self.hand_in(StreamId(stream), &piece, Fin::More, sink);
            }
            match (last, &end) {
                (last, StreamEnd::Finished) => {
                    self.hand_in(StreamId(stream), &last.unwrap_or_default(), Fin::Last, sink);
                }
                (Some(last), _) => self.hand_in(StreamId(stream), &last, Fin::More, sink),
                (None, _) => {}
            }
            match end {
                StreamEnd::Unread => {}
                StreamEnd::Open | StreamEnd::Finished => return,
                StreamEnd::Reset(code) => {
                    return self.machine.handle_stream_reset(self.now, StreamId(stream), code);
                }
            }
        }
    }

    fn hand_in(
        &mut self,
        stream: StreamId,
        bytes: &[u8],
        fin: Fin,
        sink: &mut impl FnMut(&mut M, Event<'_>),
    ) {
        let mut input = bytes;
        while let Some(event) = self.machine.handle_stream(self.now, stream, &mut input, fin) {
            let is_told = input.is_empty() && event.ends(stream);
            sink(self.machine, event);
            if is_told {
                break;
            }
        }
        debug_assert!(input.is_empty(), "a machine takes all bytes");
    }

    /// Asks the machine for as many bytes as may go now, and hands them over.
    pub(super) fn feed(&mut self, max_datagrams: usize) {
        if !self.machine.wants_transmit() {
            return;
        }
        let mut left = self.link.demand(max_datagrams);
        // One stream's bytes at a time. A connection that waits keeps no buffers.
        let (mut out, mut pieces) = (SendBuf::new(), Vec::new());
        while left > 0
            && let Some(transmit) = self.machine.poll_stream_transmit(self.now, &mut out, left)
        {
            left = left.saturating_sub(out.len().max(1));
            out.take_pieces(&mut pieces);
            self.write(transmit.stream.0, &mut pieces, transmit.fin);
            pieces.clear();
        }
    }

    fn write(&mut self, stream: u64, pieces: &mut Vec<Bytes>, fin: Fin) {
        match self.link.write(stream, pieces) {
            Taken::All if fin == Fin::Last => {
                self.streams.ended += u64::from(stream & UNIDIRECTIONAL != 0);
                self.link.finish(stream);
            }
            // The machine hears of the stream's end by an event.
            Taken::All | Taken::Never => {}
            Taken::Blocked => {
                let chunks = std::mem::take(pieces);
                self.streams.blocked.insert(stream, Blocked { chunks, fin });
                self.machine.handle_stream_blocked(StreamId(stream));
            }
        }
    }

    /// The peer allows more of a stream. All that was kept back of it is handed over, however little may go now: the congestion
    /// controller keeps quinn-proto to the window. If it were kept here until it may go, the machine would take that time for
    /// one in which the peer takes nothing, and end the stream.
    fn unblock(&mut self, stream: u64) {
        if let Some(Blocked { mut chunks, fin }) = self.streams.blocked.remove(&stream) {
            self.write(stream, &mut chunks, fin);
        }
        if !self.streams.blocked.contains_key(&stream) {
            self.machine.handle_stream_writable(StreamId(stream));
        }
    }
}

/// An orderly end waits so long for acknowledgements at most: for the second repetition of a lost packet on a path with a
/// round trip of 300 ms (RFC 9002 §6.2).
const LONGEST_CLOSING: Duration = Duration::from_secs(3);

/// The bit of a unidirectional stream's number (RFC 9000 §2.1).
const UNIDIRECTIONAL: u64 = 0b10;

/// Bidirectional streams that are opened ahead of the machine.
const MAX_AHEAD: u64 = 128;

/// Unidirectional ones: as many as HTTP/3 opens when it begins (RFC 9114 §6.2). Each takes its place in quinn-proto's tables.
const MAX_UNIDIRECTIONAL_AHEAD: u64 = 4;
