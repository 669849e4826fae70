//! Who sends next: one small interface for every protocol that multiplexes, so that a policy is
//! written once and compared everywhere.
//!
//! A connection tells the scheduler which streams exist, how they rank and which of them have
//! something to send and credit to send it; each time the layer below can take a frame it asks for
//! the next stream. The decision is as late as that.

mod round_robin;

use crate::connection::StreamId;
pub use round_robin::RoundRobin;

/// How a stream ranks, in the words of the protocol that said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// Nobody said.
    #[default]
    Unset,
    /// A place in a dependency tree (RFC 7540 §5.3).
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
}

/// Whether a stream becomes the sole child of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusive {
    /// It takes over the parent's other children.
    Sole,
    /// It stands beside them.
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
pub trait Scheduler: std::fmt::Debug {
    /// A stream came to be.
    fn insert(&mut self, stream: StreamId, priority: Priority);

    /// A stream's rank changed. Streams that are not there (yet) are remembered or ignored, as the
    /// policy's source says.
    fn reprioritise(&mut self, stream: StreamId, priority: Priority);

    /// A stream is over.
    fn remove(&mut self, stream: StreamId);

    /// The stream has something to send and credit to send it. Told again while ready: no effect.
    fn ready(&mut self, stream: StreamId);

    /// The stream has nothing to send, or no credit.
    fn blocked(&mut self, stream: StreamId);

    /// Which ready stream sends the next frame; None where none is ready. The stream stays ready.
    fn next(&mut self) -> Option<StreamId>;

    /// The stream that `next` gave has sent this many bytes.
    fn sent(&mut self, stream: StreamId, bytes: usize);
}
