//! The workload `calls`: requests to an API in a pattern. The one rule: a call's time counts from when it was
//! due. An open loop fixes that beforehand, so a client that is late shows it in its times.

use crate::{FetchId, FetchSpec, Records, Work};
use std::collections::{BTreeMap, VecDeque};
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
    lanes: Vec<Lane>,
    under_way: BTreeMap<FetchId, Place>,
    /// The sum of how much later than its time each call of an open loop was made, and how many these were.
    late: Duration,
    planned: u32,
    /// The records; a call's `queued` is when it was due, its `id` its place in the list.
    pub records: Records,
}

/// Calls of one pattern, which know nothing of those beside them.
#[derive(Debug)]
struct Lane {
    pattern: Pattern,
    pending: VecDeque<(u32, FetchSpec)>,
    /// When the next call is due; None where it depends on the end of another.
    next: Next,
}

/// Which call a fetch is.
#[derive(Debug, Clone, Copy)]
struct Place {
    lane: usize,
    call: u32,
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
        Self::beside_each_other(specs, &[pattern])
    }

    /// All of `specs`, dealt out in turn to as many lists as there are patterns. The lists begin at the same time and do
    /// not wait for each other.
    pub fn beside_each_other(
        specs: impl IntoIterator<Item = FetchSpec>,
        patterns: &[Pattern],
    ) -> Self {
        let lane = |pattern: &Pattern| Lane {
            pattern: *pattern,
            pending: VecDeque::new(),
            next: Next::AtOnce,
        };
        let mut lanes: Vec<Lane> = patterns.iter().map(lane).collect();
        for (call, spec) in (0..).zip(specs) {
            let turn = call as usize % patterns.len().max(1);
            if let Some(lane) = lanes.get_mut(turn) {
                lane.pending.push_back((call, spec));
            }
        }
        Self {
            lanes,
            under_way: BTreeMap::new(),
            late: Duration::ZERO,
            planned: 0,
            records: Records::default(),
        }
    }

    /// The mean lateness of an open loop's calls: how much later than planned this client made them. None where there
    /// is no plan.
    pub fn mean_lateness(&self) -> Option<Duration> {
        (self.planned > 0).then(|| self.late / self.planned)
    }
}

impl Lane {
    /// When its next call is due; None where there is none, or where it waits for another.
    fn due(&self, now: Instant) -> Option<Instant> {
        match self.next {
            _ if self.pending.is_empty() => None,
            Next::AtOnce => Some(now),
            Next::At(due) => Some(due),
            Next::AfterTheLast => None,
        }
    }

    fn made(&mut self, due: Instant) {
        self.next = match self.pattern {
            Pattern::Serial => Next::AfterTheLast,
            Pattern::Parallel => Next::At(due),
            Pattern::Staggered { every } => Next::At(due + every),
        };
    }
}

impl Work for Calls {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        let dues = self.lanes.iter().enumerate().filter_map(|(n, lane)| Some((lane.due(now)?, n)));
        let (due, index) = dues.filter(|(due, _)| *due <= now).min()?;
        let lane = self.lanes.get_mut(index)?;
        let (call, spec) = lane.pending.pop_front()?;
        if let Pattern::Staggered { .. } = lane.pattern {
            self.late += now.since(due);
            self.planned += 1;
        }
        lane.made(due);
        self.under_way.insert(id, Place { lane: index, call });
        Some(FetchSpec { wanted: Some(due), ..spec })
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, mut record: FetchRecord) {
        if let Some(place) = self.under_way.remove(&id) {
            record.id = place.call;
            let lane = &mut self.lanes[place.lane];
            if lane.next == Next::AfterTheLast {
                lane.next = Next::At(now);
            }
        }
        self.records.fetches.push(record);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    /// `poll_fetch` is called after every input and checks the time itself.
    fn poll_timeout(&self) -> Option<Instant> {
        let due = |lane: &Lane| match lane.next {
            Next::At(due) if !lane.pending.is_empty() => Some(due),
            _ => None,
        };
        self.lanes.iter().filter_map(due).min()
    }

    fn is_finished(&self) -> bool {
        self.lanes.iter().all(|lane| lane.pending.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{FetchOutcome, Phases, SpokenProtocol};

    const MS: Duration = Duration::from_millis(1);

    fn spec(nth: u32) -> FetchSpec {
        FetchSpec::get(format!("http://a.test/{nth}").parse().unwrap())
    }

    /// Makes all that is due at `now`; gives the paths.
    fn made(calls: &mut Calls, now: Instant, ids: &mut u32) -> Vec<(u32, String)> {
        let mut made = Vec::new();
        while let Some(spec) = calls.poll_fetch(now, FetchId(*ids)) {
            made.push((*ids, spec.url.path.clone()));
            *ids += 1;
        }
        made
    }

    #[test]
    fn lists_beside_each_other_wait_for_themselves_alone_and_calls_keep_their_place() {
        let every = 100 * MS;
        let patterns = [Pattern::Staggered { every }, Pattern::Serial, Pattern::Serial];
        let mut calls = Calls::beside_each_other((0..6).map(spec), &patterns);
        let (start, mut ids) = (Instant::ZERO, 0);
        let paths = |made: Vec<(u32, String)>| {
            made.into_iter().map(|(_, path)| path).collect::<Vec<String>>()
        };
        assert_eq!(paths(made(&mut calls, start, &mut ids)), ["/0", "/1", "/2"]);
        assert_eq!(calls.poll_timeout(), Some(start + every));
        // The second tab goes on where its own call has ended.
        let end = start + 30 * MS;
        let record = FetchRecord {
            id: 2,
            url: String::new(),
            method: "GET".to_owned(),
            connection: None,
            stream: 0,
            protocol: SpokenProtocol::None,
            status: Some(200),
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 0,
            phases: Phases::new(start),
            outcome: FetchOutcome::Done,
        };
        calls.handle_end(end, FetchId(2), record.clone());
        let next = made(&mut calls, end, &mut ids);
        assert_eq!(next, [(3, "/5".to_owned())]);
        calls.handle_end(end + MS, FetchId(3), FetchRecord { id: 3, ..record });
        let places: Vec<u32> = calls.records.fetches.iter().map(|fetch| fetch.id).collect();
        assert_eq!(places, [2, 5]);
        assert_eq!(paths(made(&mut calls, start + every + 4 * MS, &mut ids)), ["/3"]);
        // Two calls of the open loop, of which one was made 4 ms late.
        assert_eq!(calls.mean_lateness(), Some(2 * MS));
        assert!(!calls.is_finished());
    }
}
