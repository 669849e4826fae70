//! Messages as requests: one each, over whatever HTTP the client speaks.

use super::Message;
use crate::{Calls, FetchId, FetchSpec, Pattern, Records, Work};
use proto::ResponseHead;
use std::collections::BTreeMap;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord};
use unit::Instant;

/// A request for each message, whose answers are checked.
#[derive(Debug)]
pub struct EchoRequests {
    calls: Calls,
    /// By the number of the request.
    messages: Vec<Message>,
    bodies: BTreeMap<FetchId, Vec<u8>>,
}

impl EchoRequests {
    /// A request for each message, in this order.
    pub fn new(messages: impl IntoIterator<Item = (FetchSpec, Message)>, pattern: Pattern) -> Self {
        let (specs, messages): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        Self { calls: Calls::new(specs, pattern), messages, bodies: BTreeMap::new() }
    }

    /// The records of the requests and of their connections.
    pub fn records(&self) -> &Records {
        &self.calls.records
    }
}

impl Work for EchoRequests {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        self.calls.poll_fetch(now, id)
    }

    /// A repeated request is answered from the beginning.
    fn handle_head(&mut self, _now: Instant, id: FetchId, _head: &ResponseHead) {
        self.bodies.insert(id, Vec::new());
    }

    /// One byte too many is enough to tell that the answer is wrong.
    fn handle_body(&mut self, _now: Instant, id: FetchId, bytes: &[u8]) {
        let Some(message) = self.messages.get(id.0 as usize) else { return };
        let body = self.bodies.entry(id).or_default();
        let left = (message.answer.len() + 1).saturating_sub(body.len());
        body.extend_from_slice(&bytes[..bytes.len().min(left)]);
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, mut record: FetchRecord) {
        let body = self.bodies.remove(&id).unwrap_or_default();
        let message = self.messages.get(id.0 as usize);
        if record.outcome == FetchOutcome::Done
            && let Some(broken) = message.and_then(|message| message.broken_by(&body))
        {
            record.outcome = FetchOutcome::Failed(broken);
        }
        self.calls.handle_end(now, id, record);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.calls.handle_connection_end(record);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.calls.poll_timeout()
    }

    fn is_finished(&self) -> bool {
        self.calls.is_finished()
    }
}
