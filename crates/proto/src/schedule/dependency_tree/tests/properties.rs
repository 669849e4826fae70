//! The tree against the model, for arbitrary sequences of what a connection may say.

use super::model::Model;
use crate::StreamId;
use crate::schedule::{DependencyTree, Exclusive, Priority, Scheduler};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The largest frame that is sent here, and SETTINGS_MAX_FRAME_SIZE's initial value.
const FRAME: usize = 16_384;

/// How many idle and closed streams are kept here: few, so that many go.
const RETAINED: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Insert(u64, Option<Dependency>),
    Reprioritise(u64, Dependency),
    Remove(u64),
    Ready(u64),
    Blocked(u64),
    Send(usize),
}

/// Parent, weight, and whether it is exclusive.
type Dependency = (u64, u16, bool);

fn dependency() -> impl Strategy<Value = Dependency> {
    (0..14_u64, prop_oneof![1..=256_u16, Just(16), Just(256)], any::<bool>())
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 1..14_u64;
    prop_oneof![
        2 => (stream(), prop::option::of(dependency())).prop_map(|(s, d)| Step::Insert(s, d)),
        2 => (stream(), dependency()).prop_map(|(s, d)| Step::Reprioritise(s, d)),
        1 => stream().prop_map(Step::Remove),
        4 => stream().prop_map(Step::Ready),
        1 => stream().prop_map(Step::Blocked),
        9 => (1..=FRAME).prop_map(Step::Send),
    ]
}

/// Both at once, and what was sent since the ready streams or the tree last changed.
struct Pair {
    tree: DependencyTree,
    model: Model,
    sent: BTreeMap<StreamId, usize>,
}

impl Pair {
    fn new() -> Self {
        let (tree, model) = (DependencyTree::with_retained(RETAINED), Model::new(RETAINED));
        Self { tree, model, sent: BTreeMap::new() }
    }

    fn take(&mut self, step: &Step) {
        if !matches!(step, Step::Send(_)) {
            self.sent.clear();
        }
        match *step {
            Step::Insert(stream, dependency) => self.insert(StreamId(stream), dependency),
            Step::Reprioritise(stream, dependency) => {
                let stream = StreamId(stream);
                self.tree.reprioritise(stream, priority(dependency));
                self.model.idle(stream);
                self.depend(stream, dependency);
                self.model.evict();
            }
            Step::Remove(stream) => {
                self.tree.remove(StreamId(stream));
                self.model.close(StreamId(stream));
                self.model.evict();
            }
            Step::Ready(stream) => self.set_ready(StreamId(stream), true),
            Step::Blocked(stream) => self.set_ready(StreamId(stream), false),
            Step::Send(bytes) => self.send(bytes),
        }
    }

    fn insert(&mut self, stream: StreamId, dependency: Option<Dependency>) {
        self.tree.insert(stream, dependency.map_or(Priority::Unset, priority));
        self.model.insert(stream);
        if let Some(dependency) = dependency {
            self.depend(stream, dependency);
        }
    }

    fn depend(&mut self, stream: StreamId, (parent, weight, sole): Dependency) {
        self.model.depend(stream, StreamId(parent), weight, exclusive(sole));
    }

    fn set_ready(&mut self, stream: StreamId, ready: bool) {
        if ready {
            self.tree.ready(stream);
        } else {
            self.tree.blocked(stream);
        }
        if let Some(known) = self.model.streams.get_mut(&stream).filter(|known| known.open) {
            known.ready = ready;
        }
    }

    fn send(&mut self, bytes: usize) {
        let Some(stream) = self.tree.next() else {
            assert!(!self.model.is_active(StreamId(0)), "nobody is served and somebody is ready");
            return;
        };
        assert!(self.model.streams[&stream].ready, "{stream:?} is not ready");
        for above in self.model.ancestors(stream) {
            let goes_first = self.model.streams.get(&above).is_some_and(|known| known.ready);
            assert!(!goes_first, "{above:?} goes before {stream:?}");
        }
        self.tree.sent(stream, bytes);
        *self.sent.entry(stream).or_default() += bytes;
    }

    fn unfairness(&self) -> f64 {
        self.model.unfairness(StreamId(0), &self.sent)
    }
}

fn priority((parent, weight, sole): Dependency) -> Priority {
    Priority::Dependency { parent: StreamId(parent), weight, exclusive: exclusive(sole) }
}

fn exclusive(sole: bool) -> Exclusive {
    if sole { Exclusive::Sole } else { Exclusive::Shared }
}

proptest! {
    #[test]
    fn it_has_the_models_shape_and_order_and_stays_near_its_shares(
        steps in prop::collection::vec(step(), 1..300)
    ) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.take(step);
            for stream in (1..14).map(StreamId) {
                let expected = pair.model.streams.get(&stream).map(|s| (s.parent, s.weight));
                prop_assert_eq!(pair.tree.dependency(stream), expected, "{:?} after {:?}", stream, step);
            }
            // It may be a frame behind when the interval begins, and a frame ahead when it ends.
            prop_assert!(pair.unfairness() <= 2.0 * FRAME as f64, "{} bytes", pair.unfairness());
        }
    }

    #[test]
    fn siblings_stay_within_one_frame_of_their_shares(
        streams in prop::collection::vec((dependency(), any::<bool>()), 1..14),
        frames in prop::collection::vec(1..=FRAME, 1..300),
    ) {
        let mut pair = Pair::new();
        for (at, &(dependency, ready)) in streams.iter().enumerate() {
            pair.insert(StreamId(at as u64 + 1), Some(dependency));
            pair.set_ready(StreamId(at as u64 + 1), ready);
        }
        for &bytes in &frames {
            pair.send(bytes);
            prop_assert!(pair.unfairness() <= FRAME as f64 + 1.0, "{} bytes", pair.unfairness());
        }
    }
}

#[test]
fn one_heavy_stream_among_many_light_ones_is_not_kept_waiting() {
    let mut pair = Pair::new();
    for stream in 1..=100 {
        let weight = if stream == 100 { 256 } else { 1 };
        pair.insert(StreamId(stream), Some((0, weight, false)));
        pair.set_ready(StreamId(stream), true);
    }
    for _ in 0..500 {
        pair.send(FRAME);
        assert!(pair.unfairness() <= FRAME as f64 + 1.0, "{} bytes", pair.unfairness());
    }
}
