//! When a client sends its server a PING while it waits for an answer. RFC 9114 §5.1: clients keep connections open while responses
//! are outstanding. quinn-proto's own keep-alive has one interval for all servers, and a server may have a shorter idle time-out.

use std::time::Duration;
use unit::Instant;

/// A client's connection whose server ends silent ones before quinn-proto's keep-alive is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeepAlive {
    every: Duration,
    /// When a packet came or went last.
    last: Instant,
}

impl KeepAlive {
    /// None where quinn-proto's keep-alive, which sends a PING after `usual`, is soon enough for the idle time-out agreed on.
    pub(super) fn new(now: Instant, usual: Duration, idle_timeout: Duration) -> Option<Self> {
        // A PING that is lost is sent again before the time is over.
        let every = idle_timeout / 2;
        (every < usual).then_some(Self { every, last: now })
    }

    /// A packet came or goes: the peer's idle time-out begins anew (RFC 9000 §10.1).
    pub(super) fn handle_packet(&mut self, now: Instant) {
        self.last = now;
    }

    /// When a PING is due, if requests are under way.
    pub(super) fn due(&self) -> Instant {
        self.last + self.every
    }
}
