//! The workload `calls`: requests to an API in a pattern. The one rule: a call's time counts from when it was
//! due. An open loop fixes that beforehand, so a client that is late shows it in its times.

use crate::fetch::{FetchId, FetchSpec};
use crate::work::Work;
use proto::ResponseHead;
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
    /// One every so often from the beginning on, whatever has come back.
    Staggered {
        /// The time between two calls.
        every: Duration,
    },
}

/// Calls to make, and what came of them.
#[derive(Debug)]
pub struct Calls {
    pattern: Pattern,
    pending: VecDeque<FetchSpec>,
    /// When the next call is to be made; None while another's end decides it.
    next: Next,
    /// How much later than its time each call was made, added up.
    late: Duration,
    made: u32,
    fetches: Vec<FetchRecord>,
    connections: Vec<ConnectionRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// As soon as anybody tells the time.
    AtOnce,
    /// At its time.
    At(Instant),
    /// When the one under way has ended.
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
            fetches: Vec::new(),
            connections: Vec::new(),
        }
    }

    /// How much later than planned the calls of an open loop were made, on average: what this client adds to them.
    /// None where no plan says when.
    pub fn mean_lateness(&self) -> Option<Duration> {
        match self.pattern {
            Pattern::Staggered { .. } if self.made > 0 => Some(self.late / self.made),
            _ => None,
        }
    }

    /// What became of the calls, in the order in which they ended; `queued` is when each was to be made.
    pub fn fetches(&self) -> &[FetchRecord] {
        &self.fetches
    }

    /// The connections that they took, in the order in which they ended.
    pub fn connections(&self) -> &[ConnectionRecord] {
        &self.connections
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

    fn handle_head(&mut self, _now: Instant, _id: FetchId, _head: &ResponseHead) {}

    fn handle_body(&mut self, _now: Instant, _id: FetchId, _bytes: &[u8]) {}

    fn handle_end(&mut self, now: Instant, _id: FetchId, record: FetchRecord) {
        self.fetches.push(record);
        if self.next == Next::AfterTheLast {
            self.next = Next::At(now);
        }
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.connections.push(record);
    }

    /// `poll_fetch`, which is asked after every event, looks at the time itself.
    fn handle_timeout(&mut self, _now: Instant) {}

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
