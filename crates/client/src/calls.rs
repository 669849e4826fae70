//! The workload `calls`: requests to an API in a pattern. The one rule: a call's time counts from when it was
//! due. An open loop fixes that beforehand, so a client that is late shows it in its times.

use crate::{FetchId, FetchSpec, Records, Work};
use std::collections::VecDeque;
use std::time::Duration;
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

/// When calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// The next when the last has ended, however it ended.
    Serial,
    /// All at once.
    Parallel,
    /// One at fixed intervals from the start, whether or not earlier ones have ended (an open loop).
    Staggered {
        /// The time between two calls.
        every: Duration,
    },
}

/// A list of calls and their results.
#[derive(Debug)]
pub struct Calls {
    pattern: Pattern,
    pending: VecDeque<FetchSpec>,
    /// When the next call is due; None where it depends on the end of another.
    next: Next,
    /// The sum of how much later than its time each call was made.
    late: Duration,
    made: u32,
    /// The records; a call's `queued` is when it was due.
    pub records: Records,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// At the next opportunity.
    AtOnce,
    /// At its time.
    At(Instant),
    /// When the current call has ended.
    AfterTheLast,
}

impl Calls {
    /// All of `specs`, in this order.
    pub fn new(specs: impl IntoIterator<Item = FetchSpec>, pattern: Pattern) -> Self {
        Self {
            pattern,
            pending: specs.into_iter().collect(),
            next: Next::AtOnce,
            late: Duration::ZERO,
            made: 0,
            records: Records::default(),
        }
    }

    /// The mean lateness of an open loop's calls: how much later than planned this client made them. None where there
    /// is no plan.
    pub fn mean_lateness(&self) -> Option<Duration> {
        match self.pattern {
            Pattern::Staggered { .. } if self.made > 0 => Some(self.late / self.made),
            _ => None,
        }
    }
}

impl Work for Calls {
    fn poll_fetch(&mut self, now: Instant, _id: FetchId) -> Option<FetchSpec> {
        let due = match self.next {
            Next::AtOnce => now,
            Next::At(due) => due,
            Next::AfterTheLast => return None,
        };
        if due > now {
            return None;
        }
        let spec = self.pending.pop_front()?;
        self.late += now.since(due);
        self.made += 1;
        self.next = match self.pattern {
            Pattern::Serial => Next::AfterTheLast,
            Pattern::Parallel => Next::At(due),
            Pattern::Staggered { every } => Next::At(due + every),
        };
        Some(FetchSpec { wanted: Some(due), ..spec })
    }

    fn handle_end(&mut self, now: Instant, _id: FetchId, record: FetchRecord) {
        self.records.fetches.push(record);
        if self.next == Next::AfterTheLast {
            self.next = Next::At(now);
        }
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    /// `poll_fetch` is called after every input and checks the time itself.
    fn poll_timeout(&self) -> Option<Instant> {
        match self.next {
            Next::At(due) if !self.pending.is_empty() => Some(due),
            _ => None,
        }
    }

    fn is_finished(&self) -> bool {
        self.pending.is_empty()
    }
}
