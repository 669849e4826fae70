//! Who sends next: one small interface for every protocol that multiplexes, so that a policy is
//! written once and compared everywhere.
//!
//! A connection tells the scheduler which streams exist, how they rank and which of them have
//! something to send and credit to send it; each time the layer below can take a frame it asks for
//! the next stream. The decision is as late as that.
//!
//! ```
//! use proto::StreamId;
//! use proto::schedule::{Policy, Priority, PriorityField};
//!
//! let mut scheduler = "rfc9218".parse::<Policy>()?.scheduler();
//! for (stream, field) in [(1, "u=5"), (3, "u=1")] {
//!     scheduler.insert(StreamId(stream), Priority::Unset);
//!     scheduler.reprioritise(StreamId(stream), PriorityField::parse(field.as_bytes()).priority());
//!     scheduler.ready(StreamId(stream));
//! }
//! assert_eq!(scheduler.next(), Some(StreamId(3)));
//! # Ok::<(), proto::schedule::UnknownPolicy>(())
//! ```

mod auto;
mod dependency_tree;
mod dictionary;
mod fair_queue;
mod fifo;
mod in_order;
mod policy;
mod priority_field;
mod rfc9218;
mod round_robin;
mod server_driven;
mod slots;
mod spdy_levels;
#[cfg(test)]
mod tests;

use crate::StreamId;
pub use auto::Auto;
pub use dependency_tree::DependencyTree;
pub use fifo::Fifo;
pub use policy::{Policy, UnknownPolicy};
pub use priority_field::PriorityField;
pub use rfc9218::Rfc9218;
pub use round_robin::RoundRobin;
pub use server_driven::ServerDriven;
pub use spdy_levels::SpdyLevels;
use trace::AskedPriority;

/// How a stream ranks, in the terms of the protocol that said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// Nobody said.
    #[default]
    Unset,
    /// A node of a dependency tree (RFC 7540 §5.3).
    Dependency {
        /// The stream it depends on, 0 for the root.
        parent: StreamId,
        /// 1 to 256.
        weight: u16,
        /// Whether it comes between the parent and all the parent's other children.
        exclusive: Exclusive,
    },
    /// Urgency and incremental delivery (RFC 9218).
    Urgency {
        /// 0 (first) to 7 (last).
        urgency: u8,
        /// Whether parts of it are useful before the whole.
        incremental: Incremental,
    },
    /// SPDY's 0 (first) to 7 (last).
    Level(u8),
    /// The server's own decision, which goes before everything that the client says: [`ServerDriven`] alone heeds it.
    Decided {
        /// 0 to 2: before all streams without a decision, in this order. 4 to 7: after them. 3 takes a decision back.
        urgency: u8,
        /// Whether it shares the rate with its equals.
        incremental: Incremental,
    },
}

impl Priority {
    /// The nearest of SPDY's levels. Urgencies have the same eight steps (RFC 9218 §4.1); weights are
    /// cut into eight (RFC 7540 §5.3.2). None where nobody said anything.
    pub fn level(self) -> Option<u8> {
        match self {
            Self::Unset | Self::Decided { .. } => None,
            Self::Level(level) => Some(level.min(7)),
            Self::Urgency { urgency, .. } => Some(urgency.min(7)),
            Self::Dependency { weight, .. } => Some(7 - ((weight.clamp(1, 256) - 1) / 32) as u8),
        }
    }

    /// It as a record of what a client asked for. None where nobody asked for anything.
    pub(crate) fn asked(self) -> Option<AskedPriority> {
        Some(match self {
            Self::Unset | Self::Decided { .. } => return None,
            Self::Dependency { parent, weight, exclusive } => AskedPriority::Dependency {
                parent: parent.0,
                weight,
                exclusive: exclusive == Exclusive::Sole,
            },
            Self::Urgency { urgency, incremental } => {
                AskedPriority::Urgency { urgency, incremental: incremental == Incremental::Parts }
            }
            Self::Level(level) => AskedPriority::Level { level },
        })
    }
}

/// Whether a stream becomes the sole child of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusive {
    /// It takes over the parent's other children.
    Sole,
    /// It is one child among them.
    Shared,
}

/// Whether a response is useful in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incremental {
    /// In parts: share the rate with its equals.
    Parts,
    /// Only as a whole: one after another.
    Whole,
}

/// A policy of who sends next.
///
/// A stream may be given priorities of several kinds: a dependency in its HEADERS frame and an urgency
/// in its `priority` field. Each is a call of [`Scheduler::reprioritise`] of its own; one kind never
/// replaces another, and a policy ignores the kinds that it does not know.
pub trait Scheduler: std::fmt::Debug {
    /// A stream was opened. [`Priority::Unset`] leaves in force what `reprioritise` said of it before.
    fn insert(&mut self, stream: StreamId, priority: Priority);

    /// A stream's priority changed. Of a stream that is not open, a dependency is remembered by the
    /// policies with a tree (RFC 7540 §5.3.4: such streams group others); all else is ignored.
    fn reprioritise(&mut self, stream: StreamId, priority: Priority);

    /// A promise opened a stream. Policies with a tree make it depend on the stream that it belongs to, with
    /// weight 16 (RFC 7540 §5.3.5). Others open it without a priority.
    fn insert_promised(&mut self, stream: StreamId, _parent: StreamId) {
        self.insert(stream, Priority::Unset);
    }

    /// The response of this stream carries this `priority` field. Its parameters go before those of
    /// the client, now and after later signals of the client (RFC 9218 §8).
    fn merge_response(&mut self, _stream: StreamId, _field: PriorityField) {}

    /// The peer's first SETTINGS say SETTINGS_NO_RFC7540_PRIORITIES = 1 (RFC 9218 §2.1), or the
    /// protocol has no dependencies (HTTP/3). Dependencies are ignored from now on.
    fn peer_sends_no_dependencies(&mut self) {}

    /// A stream is over.
    fn remove(&mut self, stream: StreamId);

    /// The stream has something to send and credit to send it. No effect on a stream that is ready.
    fn ready(&mut self, stream: StreamId);

    /// The stream has nothing to send, or no credit.
    fn blocked(&mut self, stream: StreamId);

    /// Which ready stream sends the next frame; None where none is ready. The stream stays ready.
    fn next(&mut self) -> Option<StreamId>;

    /// Whether ready streams that nobody has ranked send one after the other by their numbers, whenever they were opened and became ready.
    fn goes_by_number(&self) -> bool {
        false
    }

    /// The stream that `next` gave has sent this many bytes. Call it before `blocked`.
    fn sent(&mut self, stream: StreamId, bytes: usize);
}
