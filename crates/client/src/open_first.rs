//! A workload with a visit before it: connections are opened, and with them TLS's sessions come. Then the work begins.

use crate::{FetchId, FetchSpec, Hope, Work};
use page::{Priority, Url};
use proto::ResponseHead;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord};
use unit::Instant;

/// `work`, before which some fetches are made. Their records are dropped; fetches of the work are numbered from 0.
///
/// Between the two nothing happens for as long as the fetches took: tickets, acknowledgements and tokens arrive then.
#[derive(Debug)]
pub struct OpenFirst<W> {
    work: W,
    first: VecDeque<FetchSpec>,
    stage: Stage,
    /// How many of the first fetches were begun.
    begun: u32,
    running: u32,
    /// Requests of the first fetches, by connection.
    requests: BTreeMap<u32, u32>,
}

#[derive(Debug)]
enum Stage {
    /// The first fetches, once they have begun.
    Opening(Option<Instant>),
    Resting {
        until: Instant,
    },
    Working,
    Failed(String),
}

impl<W: Work> OpenFirst<W> {
    /// `first`, then `work`.
    pub fn new(first: impl IntoIterator<Item = FetchSpec>, work: W) -> Self {
        Self {
            work,
            first: first.into_iter().collect(),
            stage: Stage::Opening(None),
            begun: 0,
            running: 0,
            requests: BTreeMap::new(),
        }
    }

    /// The work; an error, why a first fetch failed, where it was not begun.
    pub fn into_work(self) -> Result<W, String> {
        match self.stage {
            Stage::Failed(reason) => Err(reason),
            Stage::Opening(_) | Stage::Resting { .. } | Stage::Working => Ok(self.work),
        }
    }

    /// The number that the work knows a fetch by; None for one of the first.
    fn inner(&self, id: FetchId) -> Option<FetchId> {
        id.0.checked_sub(self.begun).filter(|_| self.is_working()).map(FetchId)
    }

    fn is_working(&self) -> bool {
        matches!(self.stage, Stage::Working)
    }

    fn end_first(&mut self, now: Instant, record: &FetchRecord) {
        self.running -= 1;
        if let Some(connection) = record.connection {
            *self.requests.entry(connection).or_default() += 1;
        }
        match (&record.outcome, &self.stage) {
            (FetchOutcome::Failed(reason), _) => self.stage = Stage::Failed(reason.clone()),
            (FetchOutcome::Done, Stage::Opening(began)) if self.running == 0 => {
                let took = began.map_or(Duration::ZERO, |began| now.since(began));
                self.stage = Stage::Resting { until: now + took };
            }
            (FetchOutcome::Done, _) => {}
        }
    }
}

impl<W: Work> Work for OpenFirst<W> {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        match &mut self.stage {
            Stage::Opening(began) => {
                began.get_or_insert(now);
                let spec = self.first.pop_front()?;
                self.begun += 1;
                self.running += 1;
                return Some(spec);
            }
            Stage::Resting { until } if now >= *until => self.stage = Stage::Working,
            Stage::Resting { .. } | Stage::Failed(_) => return None,
            Stage::Working => {}
        }
        let id = self.inner(id)?;
        self.work.poll_fetch(now, id)
    }

    fn poll_cancel(&mut self) -> Option<FetchId> {
        let id = self.is_working().then(|| self.work.poll_cancel())??;
        Some(FetchId(id.0 + self.begun))
    }

    fn poll_preconnect(&mut self) -> Option<Url> {
        self.is_working().then(|| self.work.poll_preconnect())?
    }

    fn wants_push(&self, now: Instant, url: &Url) -> bool {
        self.is_working() && self.work.wants_push(now, url)
    }

    fn handle_hints(&mut self, now: Instant, id: FetchId, url: &Url, hints: &ResponseHead) {
        if let Some(id) = self.inner(id) {
            self.work.handle_hints(now, id, url, hints);
        }
    }

    fn poll_taken(&mut self) -> Option<(FetchId, Priority)> {
        let (id, priority) = self.is_working().then(|| self.work.poll_taken())??;
        Some((FetchId(id.0 + self.begun), priority))
    }

    fn poll_priority(&mut self) -> Option<(FetchId, Priority)> {
        let (id, priority) = self.is_working().then(|| self.work.poll_priority())??;
        Some((FetchId(id.0 + self.begun), priority))
    }

    fn handle_head(&mut self, now: Instant, id: FetchId, head: &ResponseHead) {
        if let Some(id) = self.inner(id) {
            self.work.handle_head(now, id, head);
        }
    }

    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]) {
        if let Some(id) = self.inner(id) {
            self.work.handle_body(now, id, bytes);
        }
    }

    fn poll_buffer(&mut self, id: FetchId, at_most: u64) -> Option<&mut [u8]> {
        let id = self.inner(id)?;
        self.work.poll_buffer(id, at_most)
    }

    fn handle_filled(&mut self, now: Instant, id: FetchId, bytes: usize) {
        if let Some(id) = self.inner(id) {
            self.work.handle_filled(now, id, bytes);
        }
    }

    fn handle_failure(&mut self, now: Instant, id: FetchId, hope: Hope) {
        if let Some(id) = self.inner(id) {
            self.work.handle_failure(now, id, hope);
        }
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord) {
        match self.inner(id) {
            Some(inner) => self.work.handle_end(now, inner, FetchRecord { id: inner.0, ..record }),
            None => self.end_first(now, &record),
        }
    }

    fn handle_connection_end(&mut self, mut record: ConnectionRecord) {
        let first = self.requests.remove(&record.id).unwrap_or(0);
        record.requests = record.requests.saturating_sub(first);
        record.rounds = record.rounds.saturating_sub(first);
        self.work.handle_connection_end(record);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.is_working() {
            self.work.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Resting { until } => Some(*until),
            Stage::Working => self.work.poll_timeout(),
            Stage::Opening(_) | Stage::Failed(_) => None,
        }
    }

    fn is_finished(&self) -> bool {
        match &self.stage {
            Stage::Opening(_) => false,
            // Work that begins with nothing to do.
            Stage::Resting { .. } => false,
            Stage::Working => self.work.is_finished(),
            Stage::Failed(_) => true,
        }
    }
}
