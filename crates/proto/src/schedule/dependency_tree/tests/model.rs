//! RFC 7540 §5.3 in the plainest way: a map from each stream to its parent, walked again for every
//! question, and ideal shares computed by recursion from the root.

use crate::StreamId;
use crate::schedule::Exclusive;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) streams: BTreeMap<StreamId, Stream>,
    idle: Vec<StreamId>,
    closed: Vec<StreamId>,
    limit: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) parent: StreamId,
    /// In 1/256.
    pub(super) weight: u32,
    pub(super) open: bool,
    pub(super) ready: bool,
}

const ROOT: StreamId = StreamId(0);
const DEFAULT: Stream = Stream { parent: ROOT, weight: 16 * 256, open: true, ready: false };

impl Model {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(super) fn insert(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_insert(DEFAULT).open = true;
        self.idle.retain(|other| *other != stream);
        self.closed.retain(|other| *other != stream);
    }

    pub(super) fn idle(&mut self, stream: StreamId) {
        if let Entry::Vacant(vacant) = self.streams.entry(stream) {
            vacant.insert(Stream { open: false, ..DEFAULT });
            self.idle.push(stream);
        }
    }

    pub(super) fn close(&mut self, stream: StreamId) {
        let Some(known) = self.streams.get_mut(&stream).filter(|known| known.open) else { return };
        (known.open, known.ready) = (false, false);
        self.closed.push(stream);
    }

    pub(super) fn depend(
        &mut self,
        stream: StreamId,
        parent: StreamId,
        weight: u16,
        exclusive: Exclusive,
    ) {
        if parent == stream {
            return;
        }
        // §5.3.1: "A dependency on a stream that is not currently in the tree […] default priority".
        if parent != ROOT && !self.streams.contains_key(&parent) {
            let known = self.streams.get_mut(&stream).unwrap();
            (known.parent, known.weight) = (ROOT, DEFAULT.weight);
            return;
        }
        // §5.3.3: the new parent first depends on the moved stream's previous parent, and keeps its weight.
        if self.ancestors(parent).contains(&stream) {
            self.streams.get_mut(&parent).unwrap().parent = self.streams[&stream].parent;
        }
        let known = self.streams.get_mut(&stream).unwrap();
        (known.parent, known.weight) = (parent, u32::from(weight) * 256);
        if exclusive == Exclusive::Sole {
            for child in self.children(parent).into_iter().filter(|&child| child != stream) {
                self.streams.get_mut(&child).unwrap().parent = stream;
            }
        }
    }

    /// The oldest beyond the limit go, and divide their weight (§5.3.4).
    pub(super) fn evict(&mut self) {
        let limit = self.limit;
        let mut gone = Vec::new();
        for retained in [&mut self.idle, &mut self.closed] {
            gone.extend(retained.drain(..retained.len().saturating_sub(limit)));
        }
        for stream in gone {
            let Stream { parent, weight, .. } = self.streams[&stream];
            let children = self.children(stream);
            let total: u32 = children.iter().map(|child| self.streams[child].weight).sum();
            for child in children {
                let child = self.streams.get_mut(&child).unwrap();
                let share = f64::from(child.weight) * f64::from(weight) / f64::from(total);
                (child.parent, child.weight) = (parent, (share.round() as u32).max(1));
            }
            self.streams.remove(&stream);
        }
    }

    pub(super) fn children(&self, parent: StreamId) -> Vec<StreamId> {
        let children = self.streams.iter().filter(|(_, known)| known.parent == parent);
        children.map(|(&stream, _)| stream).collect()
    }

    pub(super) fn ancestors(&self, mut stream: StreamId) -> Vec<StreamId> {
        let mut ancestors = Vec::new();
        while let Some(known) = self.streams.get(&stream) {
            ancestors.push(known.parent);
            stream = known.parent;
            assert!(ancestors.len() <= self.streams.len(), "a loop");
        }
        ancestors
    }

    /// Whether a stream or one below it is ready.
    pub(super) fn is_active(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(|known| known.ready)
            || self.children(stream).into_iter().any(|child| self.is_active(child))
    }

    /// What a stream and all below it have sent, of `sent`.
    fn total(&self, stream: StreamId, sent: &BTreeMap<StreamId, usize>) -> f64 {
        let own = sent.get(&stream).copied().unwrap_or(0) as f64;
        self.children(stream).into_iter().map(|child| self.total(child, sent)).sum::<f64>() + own
    }

    /// The largest distance, in bytes, of any active stream's bytes from its share of what its parent's
    /// children sent together, while the same streams were ready all the time.
    pub(super) fn unfairness(&self, parent: StreamId, sent: &BTreeMap<StreamId, usize>) -> f64 {
        let children = self.children(parent);
        let active: Vec<_> = children.into_iter().filter(|&child| self.is_active(child)).collect();
        let weight = |child: &StreamId| f64::from(self.streams[child].weight);
        let weights: f64 = active.iter().map(weight).sum();
        let total: f64 = active.iter().map(|&child| self.total(child, sent)).sum();
        let mut worst: f64 = 0.0;
        for child in active {
            let ideal = total * weight(&child) / weights;
            worst = worst.max((self.total(child, sent) - ideal).abs());
            worst = worst.max(self.unfairness(child, sent));
        }
        worst
    }
}
