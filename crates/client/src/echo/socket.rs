//! Messages over a WebSocket. A message's time counts from when it was due: the first ones wait for the opening, as
//! requests wait for their connection.

use super::Message;
use crate::{Conversation, Pattern, Records};
use bytes::Bytes;
use proto::ws::MessageKind;
use std::collections::VecDeque;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, Phases};
use unit::Instant;

/// Messages to send, and their records. Servers answer in order, so an answer belongs to the oldest unanswered
/// message.
#[derive(Debug)]
pub struct EchoSocket {
    pattern: Pattern,
    pending: VecDeque<Message>,
    under_way: VecDeque<(Message, FetchRecord)>,
    /// When the next message is due; None where it depends on the end of another.
    next: Option<Instant>,
    /// The opening handshake, then the messages in the order in which they ended.
    pub records: Records,
    messages: u32,
}

impl EchoSocket {
    /// All of `messages`, in this order.
    pub fn new(messages: impl IntoIterator<Item = Message>, pattern: Pattern) -> Self {
        Self {
            pattern,
            pending: messages.into_iter().collect(),
            under_way: VecDeque::new(),
            next: None,
            records: Records::default(),
            messages: 0,
        }
    }

    /// The record of a message that was due at `queued` and is sent now.
    fn record(
        &mut self,
        opening: &FetchRecord,
        queued: Instant,
        sent: Option<Instant>,
    ) -> FetchRecord {
        self.messages += 1;
        let phases = Phases { sent, ..Phases::new(queued) };
        let (id, outcome) = (opening.id + self.messages, FetchOutcome::Done);
        FetchRecord { id, status: None, body_bytes: 0, phases, outcome, ..opening.clone() }
    }

    fn end(&mut self, now: Instant, mut record: FetchRecord, broken: Option<String>) {
        record.phases.last_byte = Some(now);
        record.outcome = broken.map_or(FetchOutcome::Done, FetchOutcome::Failed);
        self.records.fetches.push(record);
    }
}

impl Conversation for EchoSocket {
    fn handle_opening(&mut self, record: FetchRecord) {
        self.next = Some(record.phases.queued);
        self.records.fetches.push(record);
    }

    fn poll_message(&mut self, now: Instant) -> Option<(MessageKind, Bytes)> {
        let due = self.next.filter(|due| *due <= now)?;
        let opening = self.records.fetches.first().cloned()?;
        let message = self.pending.pop_front()?;
        self.next = match self.pattern {
            Pattern::Serial => None,
            Pattern::Parallel => Some(due),
            Pattern::Staggered { every } => Some(due + every),
        };
        let record = self.record(&opening, due, Some(now));
        let text = message.text.clone();
        self.under_way.push_back((message, record));
        Some((MessageKind::Text, text))
    }

    fn handle_message(
        &mut self,
        now: Instant,
        _kind: MessageKind,
        data: Bytes,
    ) -> Result<(), String> {
        let Some((message, mut record)) = self.under_way.pop_front() else {
            return Err("a message came back that nobody had sent".to_owned());
        };
        record.phases.first_byte = Some(now);
        record.body_bytes = data.len() as u64;
        self.end(now, record, message.broken_by(&data));
        if self.pattern == Pattern::Serial {
            self.next = Some(now);
        }
        Ok(())
    }

    fn handle_failure(&mut self, now: Instant, reason: &str) {
        let Some(opening) = self.records.fetches.first().cloned() else { return };
        for (_, record) in std::mem::take(&mut self.under_way) {
            self.end(now, record, Some(reason.to_owned()));
        }
        for _ in std::mem::take(&mut self.pending) {
            let record = self.record(&opening, self.next.unwrap_or(now).min(now), None);
            self.end(now, record, Some(reason.to_owned()));
        }
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next.filter(|_| !self.pending.is_empty())
    }

    fn is_finished(&self) -> bool {
        !self.records.fetches.is_empty() && self.pending.is_empty() && self.under_way.is_empty()
    }
}
