//! The simplest workload: a list of fetches, all wanted at once.

use crate::{FetchId, FetchSpec, Records, Work};
use proto::ResponseHead;
use std::collections::{BTreeMap, VecDeque};
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

/// Whether bodies are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bodies {
    /// They are counted and dropped.
    #[default]
    Discard,
    /// They are kept whole, for tests and small answers.
    Keep,
}

/// A list of fetches and their results.
#[derive(Debug, Default)]
pub struct FetchList {
    pending: VecDeque<FetchSpec>,
    bodies: Bodies,
    answers: BTreeMap<FetchId, Answer>,
    /// The records of the fetches and of their connections.
    pub records: Records,
}

/// A response's head, and its body where bodies are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status and fields.
    pub head: ResponseHead,
    /// The body so far.
    pub body: Vec<u8>,
}

impl FetchList {
    /// All of `specs`, in this order where they are of one priority.
    pub fn new(specs: impl IntoIterator<Item = FetchSpec>, bodies: Bodies) -> Self {
        Self { pending: specs.into_iter().collect(), bodies, ..Self::default() }
    }

    /// The response to the `id`th fetch.
    pub fn answer(&self, id: FetchId) -> Option<&Answer> {
        self.answers.get(&id)
    }
}

impl Work for FetchList {
    fn poll_fetch(&mut self, _now: Instant, _id: FetchId) -> Option<FetchSpec> {
        self.pending.pop_front()
    }

    fn handle_head(&mut self, _now: Instant, id: FetchId, head: &ResponseHead) {
        self.answers.insert(id, Answer { head: head.clone(), body: Vec::new() });
    }

    fn handle_body(&mut self, _now: Instant, id: FetchId, bytes: &[u8]) {
        if let (Bodies::Keep, Some(answer)) = (self.bodies, self.answers.get_mut(&id)) {
            answer.body.extend_from_slice(bytes);
        }
    }

    fn handle_end(&mut self, _now: Instant, _id: FetchId, record: FetchRecord) {
        self.records.fetches.push(record);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    fn is_finished(&self) -> bool {
        self.pending.is_empty()
    }
}
