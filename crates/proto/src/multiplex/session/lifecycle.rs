//! The endings, of streams and of the connection, and the times that bring them about.

use super::Session;
use crate::multiplex::{Framing, Gone, Step, Timer};
use crate::{Error, Event, StreamId};
use unit::Instant;

impl<F: Framing> Session<F> {
    /// Moves a stream on; one that has ended leaves the table once its bytes are given back.
    pub(super) fn step(&mut self, id: u32, step: Step) {
        let Some(stream) = self.streams.advance(id, step) else { return };
        if stream.is_live() {
            return;
        }
        let (readiness, unconsumed) = (stream.readiness(), stream.unconsumed());
        self.order.close(id, readiness);
        self.streams.remember(id, Gone::Ended);
        if unconsumed == 0 {
            self.streams.remove(id);
        }
        self.close_if_drained();
    }

    /// Takes a stream out before its time and gives its credit back to the connection.
    pub(super) fn drop_stream(&mut self, id: u32, gone: Gone) {
        if let Some(stream) = self.streams.remove(id) {
            self.order.close(id, stream.readiness());
            self.watch_connection();
            self.credit_connection(stream.unconsumed());
        }
        self.framing.forget_stream(id);
        self.streams.remember(id, gone);
    }

    /// Nothing more is received; what is queued still goes out.
    pub(super) fn close(&mut self, error: Option<Error>) {
        if self.draining.is_closed() {
            return;
        }
        self.draining.close();
        self.timers.clear();
        self.streams.clear();
        self.framing.forget_all();
        self.order.stop();
        let reason = error.as_ref().map_or_else(|| "in good order".to_owned(), Error::to_string);
        self.log.connection_closed(&reason);
        self.events.push(Event::Closed { error });
    }

    /// Closes a draining connection after its last stream.
    pub(crate) fn close_if_drained(&mut self) {
        if !self.draining.ends_with_streams() || self.streams.unfinished() > 0 {
            return;
        }
        let error = self.draining.peer_error(F::RULES.no_error);
        if self.draining.owes_goaway() {
            self.queue_goaway(F::RULES.no_error, "");
        }
        self.close(error);
    }

    pub(crate) fn shut_down(&mut self, now: Instant) {
        self.log.set_now(now);
        if self.draining.begin().is_none() {
            return;
        }
        let Some(announcement) = self.framing.announce_shutdown(self.role) else {
            self.finish_shutdown();
            return;
        };
        for frame in &announcement.frames {
            self.queue(frame);
        }
        self.draining.announce();
        self.timers.set(Timer::Drain, now + announcement.patience);
    }

    /// The peer has seen the announcement of our shutdown.
    pub(crate) fn is_shutdown_announced(&self) -> bool {
        self.draining.is_announced()
    }

    /// Queues the GOAWAY that names the last stream.
    pub(crate) fn finish_shutdown(&mut self) {
        self.timers.cancel(Timer::Drain);
        self.queue_goaway(F::RULES.no_error, "");
        self.draining.finish(self.streams.highest_peer());
        self.close_if_drained();
    }

    pub(crate) fn handle_eof(&mut self, now: Instant) {
        self.log.set_now(now);
        let error = match self.draining.peer_error(F::RULES.no_error) {
            None if self.input.is_amid_frame() => Some(Error::Truncated { within: "a frame" }),
            None if self.streams.unfinished() > 0 => Some(Error::Truncated { within: "a stream" }),
            told => told,
        };
        self.close(error);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.log.set_now(now);
        while let Some(timer) = self.timers.expire(now) {
            match timer {
                Timer::SettingsAck => {
                    if let Some(rule) = F::RULES.settings_timeout {
                        self.fail(rule);
                    }
                }
                Timer::HeaderBlock => self.give_up(F::RULES.header_wait),
                Timer::KeepAlive => self.keep_alive(),
                Timer::KeepAliveAck => self.give_up("the answer to a PING"),
                Timer::Drain => self.finish_shutdown(),
                Timer::Stall => self.end_stalled(),
            }
        }
    }

    fn give_up(&mut self, waiting_for: &'static str) {
        self.queue_goaway(F::RULES.too_slow, waiting_for);
        self.close(Some(Error::TimedOut { waiting_for }));
    }

    fn keep_alive(&mut self) {
        let Some(keep_alive) = self.settings.keep_alive else { return };
        let due = self.last_heard + keep_alive.interval;
        let now = self.now();
        if due > now {
            self.timers.set(Timer::KeepAlive, due);
            return;
        }
        let ping = self.framing.keep_alive_ping();
        self.queue(&ping);
        self.timers.set(Timer::KeepAlive, now + keep_alive.interval);
        if !self.timers.is_set(Timer::KeepAliveAck) {
            self.timers.set(Timer::KeepAliveAck, now + keep_alive.timeout);
        }
    }

    /// Ends what has waited too long for the peer's credit.
    fn end_stalled(&mut self) {
        const WAITING_FOR: &str = "flow-control credit";
        let (now, patience) = (self.now(), self.settings.stall_timeout);
        let late = |since: Option<Instant>| since.is_some_and(|since| since + patience <= now);
        if late(self.stall.since()) {
            self.give_up(WAITING_FOR);
            return;
        }
        for id in self.streams.select(|_, stream| late(stream.stalled_since())) {
            self.queue_reset(id, F::RULES.cancel);
            self.drop_stream(id, Gone::ResetByUs);
            let error = Error::TimedOut { waiting_for: WAITING_FOR };
            self.events.push(Event::Reset { stream: StreamId(u64::from(id)), error });
        }
        let streams = self.streams.iter_mut().filter_map(|stream| stream.stalled_since());
        if let Some(first) = streams.chain(self.stall.since()).min() {
            self.timers.set(Timer::Stall, first + patience);
        }
        self.close_if_drained();
    }
}
