//! The endings, of streams and of the session, and the times that bring them about.

use super::connection::{Core, Reading, Shutdown};
use crate::connection::{ConnectionState, Event, StreamId};
use crate::error::Error;
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::Gone;
use crate::multiplex::timers::Timer;
use unit::Instant;
use wire::spdy::{Frame, GoAwayCode, ResetCode};

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
        self.late.clear();
        self.promised.clear();
        self.ready = 0;
        let reason = error.as_ref().map_or_else(|| "in good order".to_owned(), Error::to_string);
        self.tracer.emit(self.now, || trace::Event::ConnectionClosed { reason: &reason });
        self.events.push_back(Event::Closed { error });
    }

    /// Closes a draining session after its last stream.
    pub(super) fn close_if_drained(&mut self) {
        let draining = self.farewell.is_some() || self.shutdown != Shutdown::No;
        if !draining || self.state == ConnectionState::Closed || self.streams.unfinished() > 0 {
            return;
        }
        let error = self.told_error();
        if self.shutdown == Shutdown::No {
            self.queue_goaway(GoAwayCode::OK);
        }
        self.close(error);
    }

    /// What the peer's GOAWAY complained of.
    fn told_error(&self) -> Option<Error> {
        match self.farewell {
            Some((_, code)) if code != GoAwayCode::OK => {
                Some(Error::PeerClosed { code: u64::from(code.0), name: code.name() })
            }
            _ => None,
        }
    }

    /// Queues a GOAWAY; the last stream that it names never grows.
    pub(super) fn queue_goaway(&mut self, code: GoAwayCode) {
        let last = match self.shutdown {
            Shutdown::Said { last } => last,
            Shutdown::No => self.highest_peer,
        };
        self.queue(Frame::GoAway { last, code });
    }

    /// SPDY §2.6.6: streams above the one named were not acted on. There is no GOAWAY that excludes
    /// nothing yet, so requests that are under way must be made again.
    pub(super) fn shut_down(&mut self, now: Instant) {
        self.now = now;
        if self.shutdown != Shutdown::No || self.state == ConnectionState::Closed {
            return;
        }
        self.state = ConnectionState::Draining;
        self.queue_goaway(GoAwayCode::OK);
        self.shutdown = Shutdown::Said { last: self.highest_peer };
        self.close_if_drained();
    }

    pub(super) fn handle_eof(&mut self, now: Instant) {
        self.now = now;
        let amid = self.reader.is_amid_header() || !matches!(self.reading, Reading::Header);
        let error = match self.told_error() {
            None if amid => Some(Error::Truncated { within: "a frame" }),
            None if self.streams.unfinished() > 0 => Some(Error::Truncated { within: "a stream" }),
            told => told,
        };
        self.close(error);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(timer) = self.timers.expire(now) {
            match timer {
                Timer::HeaderBlock => self.give_up("the end of a control frame"),
                Timer::KeepAlive => self.keep_alive(),
                Timer::KeepAliveAck => self.give_up("the answer to a PING"),
                Timer::Stall => self.end_stalled(),
                // SPDY acknowledges no SETTINGS and announces no draining.
                Timer::SettingsAck | Timer::Drain => {}
            }
        }
    }

    fn give_up(&mut self, waiting_for: &'static str) {
        self.queue_goaway(GoAwayCode::OK);
        self.close(Some(Error::TimedOut { waiting_for }));
    }

    fn keep_alive(&mut self) {
        let Some(keep_alive) = self.settings.keep_alive else { return };
        let due = self.last_heard + keep_alive.interval;
        if due > self.now {
            self.timers.set(Timer::KeepAlive, due);
            return;
        }
        self.queue(Frame::Ping(self.next_ping));
        self.next_ping = self.next_ping.wrapping_add(2);
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
            self.queue_reset(id, ResetCode::CANCEL);
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
