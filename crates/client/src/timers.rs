//! What is due when. The one rule: deadlines are only hints; whoever is woken looks at what it knows
//! and asks again if it is too early, so that nothing ever has to be cancelled.

use crate::fetch::FetchId;
use proto::SocketId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unit::Instant;

/// Who wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A fetch, to see whether it takes too long.
    Fetch(FetchId),
    /// A connection by its number and its socket of then.
    Connection(u32, SocketId),
}

/// Alarms by their time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    alarms: BinaryHeap<Reverse<(Instant, Alarm)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Instant, alarm: Alarm) {
        self.alarms.push(Reverse((at, alarm)));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.alarms.peek().map(|Reverse((at, _))| *at)
    }

    /// The next alarm that is due.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.alarms.pop().map(|Reverse((_, alarm))| alarm)
    }
}
