//! Who sends next. This is the only file that speaks to the [`Scheduler`]: every signal of a priority,
//! whatever its source, and every change of what can be sent goes through here.
//!
//! | source of a priority | method |
//! |---|---|
//! | the frame that opens a stream: HEADERS' dependency (RFC 7540 §5.3), the `priority` request field (RFC 9218 §5), SPDY's level | [`SendOrder::open`] |
//! | a promise of ours, which depends on the stream that it belongs to (RFC 7540 §5.3.5) | [`SendOrder::open_promised`] |
//! | PRIORITY (RFC 7540 §6.3), PRIORITY_UPDATE (RFC 9218 §7.1), the application's own `prioritise` | [`SendOrder::change`] |
//! | PRIORITY_UPDATE for a stream that is not open yet | [`SendOrder::keep_early`], then `open` |
//! | the `priority` response field (RFC 9218 §8) | [`SendOrder::merge_response`] |
//! | SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 §2.1) | [`SendOrder::rule_out_dependencies`] |

use crate::StreamId;
use crate::schedule::{Priority, PriorityField, Scheduler};
use std::collections::VecDeque;

/// What the frame that opens a stream says of its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OpeningPriority {
    /// By the frame itself: a dependency or a level.
    pub(crate) frame: Priority,
    /// By its `priority` field.
    pub(crate) field: Option<PriorityField>,
}

#[derive(Debug)]
pub(crate) struct SendOrder {
    scheduler: Box<dyn Scheduler>,
    /// How many streams the scheduler counts as ready.
    ready: usize,
    /// Priorities that came before their streams.
    early: VecDeque<(u32, Priority)>,
}

impl SendOrder {
    pub(crate) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self { scheduler, ready: 0, early: VecDeque::new() }
    }

    /// A stream opens. A PRIORITY_UPDATE that came early goes before the `priority` field (RFC 9218 §7).
    pub(crate) fn open(&mut self, id: u32, said: OpeningPriority) {
        self.scheduler.insert(name(id), said.frame);
        let early = if self.early.is_empty() { None } else { self.take_early(id) };
        if let Some(urgency) = early.or(said.field.map(PriorityField::priority)) {
            self.scheduler.reprioritise(name(id), urgency);
        }
    }

    fn take_early(&mut self, id: u32) -> Option<Priority> {
        let at = self.early.iter().position(|&(other, _)| other == id)?;
        self.early.remove(at).map(|(_, priority)| priority)
    }

    /// A promise of ours opens a stream.
    pub(crate) fn open_promised(&mut self, id: u32, parent: u32) {
        self.scheduler.insert_promised(name(id), name(parent));
    }

    /// The response on a stream carries a `priority` field.
    pub(crate) fn merge_response(&mut self, id: u32, field: PriorityField) {
        self.scheduler.merge_response(name(id), field);
    }

    /// The peer has said that its dependencies mean nothing.
    pub(crate) fn rule_out_dependencies(&mut self) {
        self.scheduler.peer_sends_no_dependencies();
    }

    /// A stream's priority changes. The stream may be idle or gone: streams group others (RFC 7540
    /// §5.3.4).
    pub(crate) fn change(&mut self, stream: StreamId, priority: Priority) {
        self.scheduler.reprioritise(stream, priority);
    }

    /// Keeps a priority until its stream opens, of `most` streams (RFC 9218 §7.1).
    pub(crate) fn keep_early(&mut self, id: u32, priority: Priority, most: usize) {
        self.early.retain(|&(other, _)| other != id);
        if self.early.len() >= most {
            self.early.pop_front();
        }
        self.early.push_back((id, priority));
    }

    /// A stream is over. `ready` tells whether it could send.
    pub(crate) fn close(&mut self, id: u32, ready: Readiness) {
        self.ready -= usize::from(ready == Readiness::Ready);
        self.scheduler.remove(name(id));
    }

    /// A stream can send now, or cannot any more.
    pub(crate) fn set(&mut self, id: u32, ready: Readiness) {
        match ready {
            Readiness::Ready => {
                self.ready += 1;
                self.scheduler.ready(name(id));
            }
            Readiness::Blocked => {
                self.ready -= 1;
                self.scheduler.blocked(name(id));
            }
        }
    }

    /// Whether any stream can send.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready > 0
    }

    /// The stream that sends the next frame.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.scheduler.next().map(|StreamId(id)| id as u32)
    }

    /// The scheduler named a stream that has nothing to send: it is not asked to again.
    pub(crate) fn skip(&mut self, id: u32) {
        self.scheduler.blocked(name(id));
    }

    /// The stream that `next` gave has sent a frame.
    pub(crate) fn sent(&mut self, id: u32, bytes: usize) {
        self.scheduler.sent(name(id), bytes);
    }

    /// The connection is closed: nothing is sent any more.
    pub(crate) fn stop(&mut self) {
        self.ready = 0;
    }

    #[cfg(test)]
    pub(crate) fn replace_scheduler(&mut self, scheduler: Box<dyn Scheduler>) {
        self.scheduler = scheduler;
    }
}

/// Whether a stream has bytes to send and credit to send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Blocked,
}

fn name(id: u32) -> StreamId {
    StreamId(u64::from(id))
}
