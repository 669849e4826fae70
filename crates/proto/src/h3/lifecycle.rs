//! The times that a connection waits for, and its orderly end.
//!
//! A stream that is late ends alone: unlike in HTTP/2, a slow head holds up no other stream.

use super::session::Session;
use super::stream::Stream;
use crate::connection::ConnectionState;
use crate::error::Error;
use crate::multiplex::status::Role;
use crate::multiplex::timers::Timer;
use crate::multiplexed_connection::StreamAction;
use crate::stream_id::StreamId;
use unit::Instant;
use wire::h3::{ErrorCode, Frame};

/// What a server's first GOAWAY names: the largest request stream, so that it refuses nothing yet (RFC 9114 §5.2).
const REFUSES_NOTHING: u64 = (1 << 62) - 4;

const HEAD: &str = "the end of a header block";
const CREDIT: &str = "flow-control credit";

impl Session {
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(timer) = self.timers.expire(now) {
            match timer {
                Timer::SettingsAck => {
                    let text = "RFC 9114 §6.2.1: SETTINGS did not come in time";
                    self.fail_connection(ErrorCode::MISSING_SETTINGS, text);
                }
                Timer::HeaderBlock => self.end_late_heads(),
                Timer::Drain => self.finish_shutdown(),
                Timer::Stall => self.end_stalled(),
                // QUIC looks after a silent peer.
                Timer::KeepAlive | Timer::KeepAliveAck => {}
            }
        }
    }

    /// After input of a request stream: the rest of a head that has begun may take `head_timeout`.
    pub(super) fn watch_head(&mut self, id: u64) {
        if let Some(since) = self.streams.get(id).and_then(|stream| stream.head_since())
            && !self.timers.is_set(Timer::HeaderBlock)
        {
            self.timers.set(Timer::HeaderBlock, since + self.settings.head_timeout);
        }
    }

    /// Ends the streams whose heads came too slowly, or wait too long for the dynamic table.
    fn end_late_heads(&mut self) {
        let (now, patience) = (self.now, self.settings.head_timeout);
        let code = match self.role {
            Role::Server => ErrorCode::REQUEST_INCOMPLETE,
            Role::Client => ErrorCode::REQUEST_CANCELLED,
        };
        for id in self.late(|stream| stream.head_since().is_some_and(|at| at + patience <= now)) {
            self.time_out(id, code, HEAD);
        }
        if let Some(first) = self.streams.iter().filter_map(|(_, stream)| stream.head_since()).min()
        {
            self.timers.set(Timer::HeaderBlock, first + patience);
        }
    }

    /// Bytes have waited for the transport since then: QUIC's credit or the peer's acknowledgements.
    pub(super) fn watch_stall(&mut self, since: Instant) {
        self.timers.set_by(Timer::Stall, since + self.settings.stall_timeout);
    }

    /// The streams that became writable are not stalled from now on.
    pub(super) fn pause_stalls(&mut self) {
        if self.became_writable.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.became_writable) {
            if let Some(stream) = self.streams.get_mut(id).filter(|stream| !stream.is_stuck) {
                stream.stall.pause(self.now);
            }
        }
    }

    /// Ends what has waited too long for the peer's credit, and the connection where nothing goes out at all.
    fn end_stalled(&mut self) {
        let (now, patience) = (self.now, self.settings.stall_timeout);
        self.stall.update(now, self.sent, self.has_ready());
        if self.stall.since().is_some_and(|since| since + patience <= now) {
            let text = "time ran out waiting for the peer to take bytes";
            self.end(Some(Error::TimedOut { waiting_for: CREDIT }));
            let code = ErrorCode::EXCESSIVE_LOAD.0;
            self.actions.push_back(StreamAction::Close { code, reason: text });
            return;
        }
        for id in self.late(|stream| stream.stall.since().is_some_and(|at| at + patience <= now)) {
            self.time_out(id, ErrorCode::REQUEST_CANCELLED, CREDIT);
        }
        let held = self.held.iter().filter(|&(_, &at)| at + patience <= now);
        for id in held.map(|(&id, _)| id).collect::<Vec<_>>() {
            self.held.remove(&id);
            let (stream, code) = (StreamId(id), ErrorCode::REQUEST_CANCELLED.0);
            self.actions.push_back(StreamAction::Reset { stream, code });
            self.count_reset(0);
        }
        let streams = self.streams.iter().filter_map(|(_, stream)| stream.stall.since());
        let held = self.held.values().copied();
        if let Some(first) = streams.chain(self.stall.since()).chain(held).min() {
            self.timers.set(Timer::Stall, first + patience);
        }
    }

    fn late(&self, is_late: impl Fn(&Stream) -> bool) -> Vec<u64> {
        let late = self.streams.iter().filter(|(_, stream)| is_late(stream));
        let mut late: Vec<u64> = late.map(|(id, _)| id).collect();
        late.sort_unstable();
        late
    }

    /// Ends a stream that the peer kept waiting.
    fn time_out(&mut self, id: u64, code: ErrorCode, waiting_for: &'static str) {
        if !self.streams.contains(id) {
            return;
        }
        let unsent = self.abandon_for(id, code, Error::TimedOut { waiting_for });
        self.count_reset(unsent);
        self.close_if_drained();
    }

    /// Begins an orderly end (RFC 9114 §5.2). A server's first GOAWAY refuses nothing, so that no request that is under
    /// way is lost; the second one, `drain_timeout` later, names the last stream.
    pub(super) fn shut_down(&mut self) {
        if self.goaway_sent.is_some() || self.state == ConnectionState::Closed {
            return;
        }
        self.state = ConnectionState::Draining;
        match self.role {
            Role::Server => {
                self.send_goaway(REFUSES_NOTHING);
                self.timers.set(Timer::Drain, self.now + self.settings.drain_timeout);
            }
            // A client names the first push that it does not take, and it takes none.
            Role::Client => self.send_goaway(0),
        }
        self.close_if_drained();
    }

    fn finish_shutdown(&mut self) {
        self.send_goaway(self.next_request);
        self.close_if_drained();
    }

    fn send_goaway(&mut self, id: u64) {
        self.goaway_sent = Some(id);
        self.queue_control(&Frame::GoAway { id });
    }

    /// The connection ends with its last stream, once no more can come.
    pub(super) fn close_if_drained(&mut self) {
        let is_final = self.goaway_sent.is_some_and(|id| id != REFUSES_NOTHING);
        let is_refused = self.role == Role::Client && self.goaway_received.is_some();
        let is_draining = is_final || is_refused;
        let is_done = self.streams.is_empty() && self.buffers.released.is_empty();
        if is_draining && is_done && self.state != ConnectionState::Closed {
            self.end(None);
            let (code, reason) = (ErrorCode::NO_ERROR.0, "");
            self.closing = Some(StreamAction::Close { code, reason });
        }
    }

    /// Whether more waits on our control and QPACK streams than the peer may leave unread.
    pub(super) fn is_unread(&self) -> bool {
        self.outputs.waiting() > self.settings.limits.queued_bytes
    }
}
