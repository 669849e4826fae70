//! Beginnings are in `connection`; these are the endings, of streams and of the connection, and the
//! times that bring them about.

use super::connection::{Core, Reading, Role, Shutdown};
use super::receive::{DRAIN_PING, KEEP_ALIVE_PING};
use crate::connection::{ConnectionState, Event, StreamId};
use crate::error::Error;
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::Gone;
use crate::multiplex::timers::Timer;
use unit::Instant;
use wire::h2::{ErrorCode, Frame, LAST_STREAM};

impl Core {
    /// Moves a stream on; one that has ended leaves the table once its bytes are given back.
    pub(super) fn step(&mut self, id: u32, step: Step) {
        let Some(stream) = self.streams.find(id) else { return };
        let after = stream.state.after(step);
        debug_assert!(after.is_some(), "{step:?} in {:?}", stream.state);
        let (Some(after), unconsumed) = (after, stream.unconsumed) else { return };
        self.streams.set_state(id, after);
        if after != State::Closed {
            return;
        }
        self.scheduler.remove(StreamId(u64::from(id)));
        self.streams.remember(id, Gone::Ended);
        if unconsumed == 0 {
            self.streams.remove(id);
        }
        self.close_if_drained();
    }

    /// Nothing more is received; what is queued still goes out.
    pub(super) fn close(&mut self, error: Option<Error>) {
        if self.state == ConnectionState::Closed {
            return;
        }
        self.state = ConnectionState::Closed;
        self.timers.clear();
        self.streams.clear();
        self.block = None;
        self.ready = 0;
        let reason = error.as_ref().map_or_else(|| "in good order".to_owned(), Error::to_string);
        self.tracer.emit(self.now, || trace::Event::ConnectionClosed { reason: &reason });
        self.events.push_back(Event::Closed { error });
    }

    /// Closes a draining connection after its last stream.
    pub(super) fn close_if_drained(&mut self) {
        let draining = self.farewell.is_some() || matches!(self.shutdown, Shutdown::Final { .. });
        if !draining || self.state == ConnectionState::Closed || self.streams.unfinished() > 0 {
            return;
        }
        let error = match self.farewell {
            Some((_, code)) if code != ErrorCode::NO_ERROR => {
                Some(Error::PeerClosed { code: u64::from(code.0), name: code.name() })
            }
            _ => None,
        };
        if self.shutdown == Shutdown::No {
            self.queue_goaway(ErrorCode::NO_ERROR, "");
        }
        self.close(error);
    }

    /// Queues a GOAWAY; the last stream that it names never grows (RFC 9113 §6.8).
    pub(super) fn queue_goaway(&mut self, code: ErrorCode, debug: &str) {
        let last = match self.shutdown {
            Shutdown::Final { last } => last,
            Shutdown::No | Shutdown::Announced => self.highest_peer,
        };
        self.queue(Frame::GoAway { last, code, debug: debug.as_bytes() });
    }

    pub(super) fn shut_down(&mut self, now: Instant) {
        self.now = now;
        if self.shutdown != Shutdown::No || self.state == ConnectionState::Closed {
            return;
        }
        self.state = ConnectionState::Draining;
        match self.role {
            Role::Client => self.finish_shutdown(),
            // RFC 9113 §6.8: requests that are under way are still taken.
            Role::Server => {
                let code = ErrorCode::NO_ERROR;
                self.queue(Frame::GoAway { last: LAST_STREAM, code, debug: b"" });
                self.queue(Frame::Ping(DRAIN_PING));
                self.shutdown = Shutdown::Announced;
                self.timers.set(Timer::Drain, now + self.settings.drain_timeout);
            }
        }
    }

    /// The GOAWAY that names the last stream.
    pub(super) fn finish_shutdown(&mut self) {
        self.timers.cancel(Timer::Drain);
        self.queue_goaway(ErrorCode::NO_ERROR, "");
        self.shutdown = Shutdown::Final { last: self.highest_peer };
        self.close_if_drained();
    }

    pub(super) fn handle_eof(&mut self, now: Instant) {
        self.now = now;
        let amid = self.reader.is_amid_header()
            || !matches!(self.reading, Reading::Header | Reading::Preface(0));
        let error = match self.farewell {
            Some((_, code)) if code != ErrorCode::NO_ERROR => {
                Some(Error::PeerClosed { code: u64::from(code.0), name: code.name() })
            }
            _ if amid => Some(Error::Truncated { within: "a frame" }),
            _ if self.streams.unfinished() > 0 => Some(Error::Truncated { within: "a stream" }),
            _ => None,
        };
        self.close(error);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(timer) = self.timers.expire(now) {
            match timer {
                Timer::SettingsAck => {
                    let rule = "RFC 9113 §6.5.3: SETTINGS were not acknowledged in time";
                    self.fail(ErrorCode::SETTINGS_TIMEOUT, rule);
                }
                Timer::HeaderBlock => self.give_up("the end of a header block"),
                Timer::KeepAlive => self.keep_alive(),
                Timer::KeepAliveAck => self.give_up("the answer to a PING"),
                Timer::Drain => self.finish_shutdown(),
                Timer::Stall => self.end_stalled(),
            }
        }
    }

    fn give_up(&mut self, waiting_for: &'static str) {
        self.queue_goaway(ErrorCode::ENHANCE_YOUR_CALM, waiting_for);
        self.close(Some(Error::TimedOut { waiting_for }));
    }

    fn keep_alive(&mut self) {
        let Some(keep_alive) = self.settings.keep_alive else { return };
        let due = self.last_heard + keep_alive.interval;
        if due > self.now {
            self.timers.set(Timer::KeepAlive, due);
            return;
        }
        self.queue(Frame::Ping(KEEP_ALIVE_PING));
        self.timers.set(Timer::KeepAlive, self.now + keep_alive.interval);
        if !self.timers.is_set(Timer::KeepAliveAck) {
            self.timers.set(Timer::KeepAliveAck, self.now + keep_alive.timeout);
        }
    }

    /// Ends what has waited too long for the peer's credit.
    fn end_stalled(&mut self) {
        const WAITING_FOR: &str = "flow-control credit";
        let (now, patience) = (self.now, self.settings.stall_timeout);
        let late = |since: Option<Instant>| since.is_some_and(|since| since + patience <= now);
        if late(self.stalled_since) {
            self.give_up(WAITING_FOR);
            return;
        }
        for id in self.streams.select(|_, stream| late(stream.stalled_since)) {
            self.queue_reset(id, ErrorCode::CANCEL);
            self.drop_stream(id, Gone::ResetByUs);
            let error = Error::TimedOut { waiting_for: WAITING_FOR };
            self.events.push_back(Event::Reset { stream: StreamId(u64::from(id)), error });
        }
        let streams = self.streams.iter_mut().filter_map(|(_, stream)| stream.stalled_since);
        if let Some(first) = streams.chain(self.stalled_since).min() {
            self.timers.set(Timer::Stall, first + patience);
        }
        self.close_if_drained();
    }
}
