//! The dependency tree of HTTP/2 (RFC 7540 §5.3): a stream sends only while its parent cannot, and siblings
//! share by weight. A parent's share goes to its descendants while it has nothing to send itself.
//!
//! - A dependency on a stream that is not in the tree gives the default priority: a child of the root
//!   with weight 16 (§5.3.1). So does a dependency on itself, which is an error that the connection reports.
//! - A PRIORITY frame for a stream that is not open yet puts an idle stream into the tree, and a
//!   stream that is over stays (§5.3.4): others may depend on both. [`DependencyTree::with_retained`] bounds
//!   either kind; beyond it the oldest goes, and its weight is divided among its children.
//! - Weights are kept in 1/256, so that dividing them loses nothing that matters.
//!
//! Shares are kept by a fair queue for each parent. To choose and to charge takes a step for each ancestor
//! of the chosen stream, of constant time where it has no ready sibling and else of logarithmic time in
//! their number. The depth is bounded by the number of open and retained streams; no frame makes a loop.

mod shape;

use super::fair_queue::{FairQueue, Members};
use super::slots::{Slot, Slots};
use super::{Exclusive, Priority, Scheduler};
use crate::StreamId;
use std::collections::BTreeSet;

/// Streams and how they depend on each other.
#[derive(Debug)]
pub struct DependencyTree {
    nodes: Slots<Node>,
    root: Slot,
    members: Members,
    /// Streams that are not open, in the order in which they came to be here.
    idle: BTreeSet<(u64, Slot)>,
    closed: BTreeSet<(u64, Slot)>,
    /// How many streams have been retained so far.
    retentions: u64,
    /// How many idle streams, and how many closed ones, are kept.
    limit: usize,
    /// The peer's SETTINGS rule dependencies out (RFC 9218 §2.1).
    ruled_out: bool,
}

#[derive(Debug)]
struct Node {
    name: StreamId,
    parent: Option<Slot>,
    children: Vec<Slot>,
    /// Where this node stands among its parent's children.
    position: usize,
    /// The children that are ready or have ready descendants.
    queue: FairQueue,
    state: State,
    ready: bool,
}

/// Of a stream in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Since this retention.
    Retained(Kind, u64),
}

/// Why a stream that is not open is in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A PRIORITY frame named it before it was opened.
    Idle,
    Closed,
}

impl Default for DependencyTree {
    fn default() -> Self {
        Self::new()
    }
}

impl DependencyTree {
    /// A root without streams.
    pub fn new() -> Self {
        Self::with_retained(RETAINED)
    }

    /// A root without streams that keeps at most `limit` idle streams, and as many closed ones.
    pub fn with_retained(limit: usize) -> Self {
        let mut nodes = Slots::default();
        let root = nodes.find_or_insert(ROOT, Node::new(ROOT, State::Open));
        let mut members = Members::default();
        members.insert(root, DEFAULT_WEIGHT);
        let (idle, closed) = (BTreeSet::new(), BTreeSet::new());
        Self { nodes, root, members, idle, closed, retentions: 0, limit, ruled_out: false }
    }

    /// What a stream in the tree depends on (0 for the root), and its weight in 1/256.
    #[cfg(test)]
    fn dependency(&self, stream: StreamId) -> Option<(StreamId, u32)> {
        let slot = self.nodes.find(stream)?;
        let parent = self.nodes[slot].parent.filter(|&parent| parent != self.root);
        let parent = parent.map_or(StreamId(0), |parent| self.nodes[parent].name);
        Some((parent, self.members.weight(slot)))
    }

    /// The open streams, and whether each is ready, in order.
    pub(super) fn streams(&self) -> Vec<(StreamId, bool)> {
        let open = self.nodes.iter().filter(|(name, n)| *name != ROOT && n.state == State::Open);
        let mut streams: Vec<_> = open.map(|(name, node)| (name, node.ready)).collect();
        streams.sort_unstable();
        streams
    }
}

impl Scheduler for DependencyTree {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        let slot = match self.nodes.find(stream) {
            Some(slot) => self.reopen(slot),
            None => self.add(stream, State::Open),
        };
        self.follow(slot, priority);
    }

    fn insert_promised(&mut self, stream: StreamId, parent: StreamId) {
        let (weight, exclusive) = (16, Exclusive::Shared);
        self.insert(stream, Priority::Dependency { parent, weight, exclusive });
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        if !matches!(priority, Priority::Dependency { .. }) {
            return;
        }
        if let Some(slot) = self.nodes.find(stream) {
            return self.follow(slot, priority);
        }
        if self.ruled_out {
            return;
        }
        let slot = self.add(stream, State::Open);
        self.follow(slot, priority);
        self.retain(slot, Kind::Idle);
    }

    fn peer_sends_no_dependencies(&mut self) {
        self.ruled_out = true;
    }

    fn remove(&mut self, stream: StreamId) {
        self.blocked(stream);
        let Some(slot) = self.find_open(stream) else { return };
        self.retain(slot, Kind::Closed);
    }

    fn ready(&mut self, stream: StreamId) {
        let Some(slot) = self.find_open(stream) else { return };
        if !std::mem::replace(&mut self.nodes[slot].ready, true) {
            self.activate(slot);
        }
    }

    fn blocked(&mut self, stream: StreamId) {
        let Some(slot) = self.find_open(stream) else { return };
        if std::mem::take(&mut self.nodes[slot].ready) {
            self.deactivate(slot);
        }
    }

    fn next(&mut self) -> Option<StreamId> {
        let mut node = &self.nodes[self.root];
        while !node.ready {
            node = &self.nodes[node.queue.first()?];
        }
        Some(node.name)
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        let Some(mut slot) = self.find_open(stream) else { return };
        while let Some(parent) = self.nodes[slot].parent {
            if self.members.is_queued(slot) {
                self.nodes[parent].queue.charge(slot, bytes, &mut self.members);
            }
            slot = parent;
        }
    }
}

impl DependencyTree {
    fn find_open(&self, stream: StreamId) -> Option<Slot> {
        self.nodes.find(stream).filter(|&slot| self.nodes[slot].state == State::Open)
    }

    /// A retained stream is opened, or opened again by a caller that reuses names.
    fn reopen(&mut self, slot: Slot) -> Slot {
        let before = std::mem::replace(&mut self.nodes[slot].state, State::Open);
        if let State::Retained(kind, since) = before {
            self.retained(kind).remove(&(since, slot));
        }
        slot
    }

    /// Does what a dependency says; other priorities say nothing here.
    fn follow(&mut self, slot: Slot, priority: Priority) {
        let Priority::Dependency { parent, weight, exclusive } = priority else { return };
        if self.ruled_out || parent == self.nodes[slot].name {
            return;
        }
        let weight = u32::from(weight.clamp(1, 256)) * FRACTIONS;
        match self.find_parent(parent) {
            Some(parent) => self.depend(slot, parent, weight, exclusive),
            None => self.depend(slot, self.root, DEFAULT_WEIGHT, Exclusive::Shared),
        }
    }

    fn find_parent(&self, parent: StreamId) -> Option<Slot> {
        if parent == StreamId(0) { Some(self.root) } else { self.nodes.find(parent) }
    }

    /// Keeps a stream that is not open. The oldest of its kind beyond the limit goes.
    fn retain(&mut self, slot: Slot, kind: Kind) {
        self.retentions += 1;
        let since = self.retentions;
        self.nodes[slot].state = State::Retained(kind, since);
        self.retained(kind).insert((since, slot));
        if self.retained(kind).len() > self.limit
            && let Some((_, oldest)) = self.retained(kind).pop_first()
        {
            self.dissolve(oldest);
        }
    }

    fn retained(&mut self, kind: Kind) -> &mut BTreeSet<(u64, Slot)> {
        match kind {
            Kind::Idle => &mut self.idle,
            Kind::Closed => &mut self.closed,
        }
    }
}

impl Node {
    fn new(name: StreamId, state: State) -> Self {
        let (children, queue) = (Vec::new(), FairQueue::default());
        Self { name, parent: None, children, position: 0, queue, state, ready: false }
    }

    /// Whether it or a descendant is ready.
    fn is_active(&self) -> bool {
        self.ready || !self.queue.is_empty()
    }
}

/// The root's key. The protocols' stream 0 is not it: HTTP/3 has a request with this identifier.
const ROOT: StreamId = StreamId(u64::MAX);

/// Parts of a weight.
const FRACTIONS: u32 = 256;

/// RFC 7540 §5.3.5.
const DEFAULT_WEIGHT: u32 = 16 * FRACTIONS;

/// As many as a server's streams at once, which is the least that RFC 7540 §5.3.4 recommends.
const RETAINED: usize = 128;

#[cfg(test)]
mod tests;
