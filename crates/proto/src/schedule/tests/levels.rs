//! [`SpdyLevels`] and [`Fifo`] against lists that are searched from the front.

use crate::StreamId;
use crate::schedule::{Exclusive, Fifo, Incremental, Priority, Scheduler, SpdyLevels};
use proptest::prelude::*;

#[test]
fn every_kind_of_priority_but_none_has_a_level() {
    let weight = |weight| {
        let (parent, exclusive) = (StreamId(0), Exclusive::Shared);
        Priority::Dependency { parent, weight, exclusive }.level()
    };
    let weights = [256, 16, 1, 0].map(weight);
    assert_eq!(weights, [Some(0), Some(7), Some(7), Some(7)]);
    assert_eq!(Priority::Unset.level(), None);
    assert_eq!(Priority::Level(9).level(), Some(7));
    let urgency = Priority::Urgency { urgency: 1, incremental: Incremental::Whole };
    assert_eq!(urgency.level(), Some(1));
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u64, Option<u8>),
    Reprioritise(u64, u8),
    Remove(u64),
    Ready(u64),
    Blocked(u64),
    Send,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..10_u64;
    prop_oneof![
        2 => (stream(), prop::option::of(0..8_u8)).prop_map(|(s, l)| Step::Insert(s, l)),
        1 => (stream(), 0..8_u8).prop_map(|(s, l)| Step::Reprioritise(s, l)),
        1 => stream().prop_map(Step::Remove),
        4 => stream().prop_map(Step::Ready),
        1 => stream().prop_map(Step::Blocked),
        5 => Just(Step::Send),
    ]
}

#[derive(Debug)]
struct Stream {
    name: StreamId,
    level: u8,
    ready: bool,
}

/// Streams in order of opening, and the ready ones in order of their next turn.
#[derive(Debug, Default)]
struct Model {
    opened: Vec<Stream>,
    turns: Vec<StreamId>,
}

impl Model {
    fn find(&mut self, name: u64) -> Option<&mut Stream> {
        self.opened.iter_mut().find(|stream| stream.name == StreamId(name))
    }

    fn level(&self, name: StreamId) -> u8 {
        self.opened.iter().find(|stream| stream.name == name).unwrap().level
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Insert(name, level) => match self.find(name) {
                None => {
                    let level = level.unwrap_or(3);
                    self.opened.push(Stream { name: StreamId(name), level, ready: false });
                }
                Some(_) => level.into_iter().for_each(|level| self.set_level(name, level)),
            },
            Step::Reprioritise(name, level) => self.set_level(name, level),
            Step::Remove(name) => {
                self.set_ready(name, false);
                self.opened.retain(|stream| stream.name != StreamId(name));
            }
            Step::Ready(name) => self.set_ready(name, true),
            Step::Blocked(name) => self.set_ready(name, false),
            Step::Send => {
                let first = self.first_of_levels();
                self.turns.retain(|&name| Some(name) != first);
                self.turns.extend(first);
            }
        }
    }

    fn set_level(&mut self, name: u64, level: u8) {
        let Some(stream) = self.find(name) else { return };
        if std::mem::replace(&mut stream.level, level) != level && stream.ready {
            // Into another level it comes last.
            self.turns.retain(|&other| other != StreamId(name));
            self.turns.push(StreamId(name));
        }
    }

    fn set_ready(&mut self, name: u64, ready: bool) {
        let Some(stream) = self.find(name) else { return };
        if std::mem::replace(&mut stream.ready, ready) == ready {
            return;
        }
        self.turns.retain(|&other| other != StreamId(name));
        self.turns.extend(ready.then_some(StreamId(name)));
    }

    fn first_of_levels(&self) -> Option<StreamId> {
        self.turns.iter().copied().min_by_key(|&name| self.level(name))
    }

    fn first_opened(&self) -> Option<StreamId> {
        self.opened.iter().find(|stream| stream.ready).map(|stream| stream.name)
    }
}

fn drive(scheduler: &mut dyn Scheduler, step: &Step) {
    match *step {
        Step::Insert(stream, level) => {
            scheduler.insert(StreamId(stream), level.map_or(Priority::Unset, Priority::Level));
        }
        Step::Reprioritise(stream, level) => {
            scheduler.reprioritise(StreamId(stream), Priority::Level(level));
        }
        Step::Remove(stream) => scheduler.remove(StreamId(stream)),
        Step::Ready(stream) => scheduler.ready(StreamId(stream)),
        Step::Blocked(stream) => scheduler.blocked(StreamId(stream)),
        Step::Send => {
            if let Some(stream) = scheduler.next() {
                scheduler.sent(stream, 1000);
            }
        }
    }
}

proptest! {
    #[test]
    fn spdy_levels_are_strict_and_take_turns_within(steps in prop::collection::vec(step(), 1..300)) {
        let (mut scheduler, mut model) = (SpdyLevels::default(), Model::default());
        for step in &steps {
            drive(&mut scheduler, step);
            model.take(step);
            prop_assert_eq!(scheduler.next(), model.first_of_levels(), "after {:?}", step);
        }
    }

    #[test]
    fn fifo_serves_what_was_opened_first(steps in prop::collection::vec(step(), 1..300)) {
        let (mut scheduler, mut model) = (Fifo::default(), Model::default());
        for step in &steps {
            drive(&mut scheduler, step);
            model.take(step);
            prop_assert_eq!(scheduler.next(), model.first_opened(), "after {:?}", step);
        }
    }
}

#[test]
fn every_protocols_priority_has_a_level() {
    let weight = |weight| {
        let (parent, exclusive) = (StreamId(0), Exclusive::Shared);
        Priority::Dependency { parent, weight, exclusive }.level()
    };
    assert_eq!([256, 225, 224, 16, 1, 0].map(weight), [0, 0, 1, 7, 7, 7].map(Some));
    assert_eq!(Priority::Unset.level(), None);
    assert_eq!(Priority::Level(9).level(), Some(7));
    let urgency = Priority::Urgency { urgency: 1, incremental: Incremental::Whole };
    assert_eq!(urgency.level(), Some(1));
}
