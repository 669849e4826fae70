//! The server decides: streams that it gave an urgency of its own go before or after all others, whatever the client
//! asked for. H2O does this for CSS and JavaScript (`http2-reprioritize-blocking-assets`).
//!
//! | decided urgency | place |
//! |---|---|
//! | 0 to 2 | before the streams without a decision |
//! | none, or 3 | as another policy says, which hears all that the client says |
//! | 4 to 7 | after the streams without a decision |
//!
//! Among decided streams the order is that of RFC 9218 ([`Rfc9218`]).

use super::rfc9218::Rfc9218;
use super::{Priority, PriorityField, Scheduler};
use crate::{IdMap, StreamId};

/// A policy under the server's decisions. Without any it costs a look-up in a map an operation.
#[derive(Debug)]
pub struct ServerDriven {
    asked: Box<dyn Scheduler>,
    decided: Rfc9218,
    /// The open streams.
    streams: IdMap<StreamId, Stream>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The urgency that was decided; None where `asked` ranks the stream.
    decided: Option<u8>,
    ready: bool,
}

impl ServerDriven {
    /// Decisions over this policy.
    pub fn over(asked: Box<dyn Scheduler>) -> Self {
        Self { asked, decided: Rfc9218::default(), streams: IdMap::default() }
    }

    fn decide(&mut self, stream: StreamId, urgency: u8, priority: Priority) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        let decided = (urgency != UNDECIDED).then_some(urgency.min(7));
        let before = std::mem::replace(&mut known.decided, decided);
        let ready = known.ready;
        match (before, decided) {
            (None, None) => {}
            (Some(_), Some(_)) => self.decided.reprioritise(stream, priority),
            (None, Some(_)) => {
                self.decided.insert(stream, priority);
                if ready {
                    self.asked.blocked(stream);
                    self.decided.ready(stream);
                }
            }
            (Some(_), None) => {
                self.decided.remove(stream);
                if ready {
                    self.asked.ready(stream);
                }
            }
        }
    }

    /// The policy that ranks a stream.
    fn ranking(&mut self, stream: StreamId) -> &mut dyn Scheduler {
        match self.streams.get(&stream) {
            Some(Stream { decided: Some(_), .. }) => &mut self.decided,
            _ => &mut *self.asked,
        }
    }
}

impl Scheduler for ServerDriven {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        self.streams.entry(stream).or_default();
        self.asked.insert(stream, priority);
    }

    fn insert_promised(&mut self, stream: StreamId, parent: StreamId) {
        self.streams.entry(stream).or_default();
        self.asked.insert_promised(stream, parent);
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        match priority {
            Priority::Decided { urgency, incremental } => {
                self.decide(stream, urgency, Priority::Urgency { urgency, incremental });
            }
            asked => self.asked.reprioritise(stream, asked),
        }
    }

    fn merge_response(&mut self, stream: StreamId, field: PriorityField) {
        self.asked.merge_response(stream, field);
    }

    fn peer_sends_no_dependencies(&mut self) {
        self.asked.peer_sends_no_dependencies();
    }

    fn remove(&mut self, stream: StreamId) {
        if self.streams.remove(&stream).is_some_and(|known| known.decided.is_some()) {
            self.decided.remove(stream);
        }
        self.asked.remove(stream);
    }

    fn ready(&mut self, stream: StreamId) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.ready = true;
            self.ranking(stream).ready(stream);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.ready = false;
            self.ranking(stream).blocked(stream);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        let decided = self.decided.next();
        let urgency = decided.and_then(|stream| self.streams.get(&stream)?.decided);
        match urgency {
            Some(urgency) if urgency < UNDECIDED => decided,
            _ => self.asked.next().or(decided),
        }
    }

    fn goes_by_number(&self) -> bool {
        self.asked.goes_by_number()
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        self.ranking(stream).sent(stream, bytes);
    }
}

/// RFC 9218's default urgency (§4.1): the place of the streams without a decision.
const UNDECIDED: u8 = 3;
