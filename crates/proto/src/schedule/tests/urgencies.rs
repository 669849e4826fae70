//! [`Rfc9218`] against RFC 9218 §4, §8 and §10 in the plainest way: a list that is searched again each time.

use crate::StreamId;
use crate::schedule::{Exclusive, Incremental, Priority, PriorityField, Rfc9218, Scheduler};
use proptest::prelude::*;
use std::collections::BTreeMap;

const FRAME: usize = 16_384;

/// A field: urgency, and whether it is incremental.
type Field = (Option<u8>, Option<bool>);

#[derive(Debug, Clone)]
enum Step {
    Insert(u64, Option<Field>),
    Reprioritise(u64, Field),
    Depend(u64),
    MergeResponse(u64, Field),
    Remove(u64),
    Ready(u64),
    Blocked(u64),
    Send(usize),
}

fn field() -> impl Strategy<Value = Field> {
    (prop::option::of(prop_oneof![0..8_u8, Just(3)]), prop::option::of(any::<bool>()))
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..10_u64;
    prop_oneof![
        2 => (stream(), prop::option::of(field())).prop_map(|(s, f)| Step::Insert(s, f)),
        1 => (stream(), field()).prop_map(|(s, f)| Step::Reprioritise(s, f)),
        1 => stream().prop_map(Step::Depend),
        1 => (stream(), field()).prop_map(|(s, f)| Step::MergeResponse(s, f)),
        1 => stream().prop_map(Step::Remove),
        4 => stream().prop_map(Step::Ready),
        1 => stream().prop_map(Step::Blocked),
        12 => (1..=FRAME).prop_map(Step::Send),
    ]
}

fn read((urgency, parts): Field) -> PriorityField {
    let incremental = parts.map(|p| if p { Incremental::Parts } else { Incremental::Whole });
    PriorityField { urgency, incremental }
}

#[derive(Debug, Default, Clone)]
struct Stream {
    asked: Field,
    answered: Field,
    ready: bool,
}

impl Stream {
    fn urgency(&self) -> u8 {
        self.answered.0.or(self.asked.0).unwrap_or(3)
    }

    fn is_incremental(&self) -> bool {
        self.answered.1.or(self.asked.1).unwrap_or(false)
    }
}

#[derive(Default)]
struct Pair {
    scheduler: Rfc9218,
    streams: BTreeMap<StreamId, Stream>,
    /// Since anything but a frame happened.
    sent: BTreeMap<StreamId, usize>,
}

impl Pair {
    fn take(&mut self, step: &Step) {
        if let Step::Send(bytes) = *step {
            return self.send(bytes);
        }
        self.sent.clear();
        match *step {
            Step::Insert(name, field) => {
                let priority = field.map_or(Priority::Unset, |field| read(field).priority());
                self.scheduler.insert(StreamId(name), priority);
                let stream = self.streams.entry(StreamId(name)).or_default();
                stream.asked = field.unwrap_or(stream.asked);
            }
            Step::Reprioritise(name, field) => {
                self.scheduler.reprioritise(StreamId(name), read(field).priority());
                self.change(name, |stream| stream.asked = field);
            }
            Step::Depend(name) => {
                let (parent, weight, exclusive) = (StreamId(1), 256, Exclusive::Sole);
                let priority = Priority::Dependency { parent, weight, exclusive };
                self.scheduler.reprioritise(StreamId(name), priority);
            }
            Step::MergeResponse(name, field) => {
                self.scheduler.merge_response(StreamId(name), read(field));
                self.change(name, |stream| stream.answered = field);
            }
            Step::Remove(name) => {
                self.scheduler.remove(StreamId(name));
                self.streams.remove(&StreamId(name));
            }
            Step::Ready(name) => {
                self.scheduler.ready(StreamId(name));
                self.change(name, |stream| stream.ready = true);
            }
            Step::Blocked(name) => {
                self.scheduler.blocked(StreamId(name));
                self.change(name, |stream| stream.ready = false);
            }
            Step::Send(_) => {}
        }
    }

    fn change(&mut self, name: u64, change: impl FnOnce(&mut Stream)) {
        if let Some(stream) = self.streams.get_mut(&StreamId(name)) {
            change(stream);
        }
    }

    /// The ready streams of the most urgent level: those that are not incremental, and those that are.
    fn first(&self) -> (Vec<StreamId>, Vec<StreamId>) {
        let ready = || self.streams.iter().filter(|(_, stream)| stream.ready);
        let urgency = ready().map(|(_, stream)| stream.urgency()).min();
        let level = ready().filter(|(_, stream)| Some(stream.urgency()) == urgency);
        let (parts, whole): (Vec<_>, Vec<_>) = level.partition(|(_, s)| s.is_incremental());
        let names = |list: Vec<(&StreamId, _)>| list.into_iter().map(|(&name, _)| name).collect();
        (names(whole), names(parts))
    }

    fn send(&mut self, bytes: usize) {
        let (whole, parts) = self.first();
        let Some(served) = self.scheduler.next() else {
            assert!(whole.is_empty() && parts.is_empty(), "nobody is served, somebody is ready");
            return;
        };
        let in_turn = whole.first() == Some(&served) || parts.contains(&served);
        assert!(in_turn, "{served:?} of {whole:?} and {parts:?}");
        self.scheduler.sent(served, bytes);
        *self.sent.entry(served).or_default() += bytes;
    }

    /// The largest distance of bytes from their ideal: both kinds have equal shares, and
    /// incremental streams have equal shares of theirs.
    fn unfairness(&self) -> f64 {
        let (whole, parts) = self.first();
        let sent = |name: &StreamId| self.sent.get(name).copied().unwrap_or(0) as f64;
        let of_parts: f64 = parts.iter().map(sent).sum();
        let of_whole: f64 = whole.iter().map(sent).sum();
        let mut worst: f64 = 0.0;
        if !whole.is_empty() && !parts.is_empty() {
            worst = (of_whole - of_parts).abs() / 2.0;
        }
        let ideal = of_parts / parts.len() as f64;
        parts.iter().map(|name| (sent(name) - ideal).abs()).fold(worst, f64::max)
    }
}

proptest! {
    #[test]
    fn urgencies_are_strict_and_shares_stay_near_their_ideal(
        steps in prop::collection::vec(step(), 1..300)
    ) {
        let mut pair = Pair::default();
        for step in &steps {
            pair.take(step);
            // It may be a frame behind when the interval begins, and a frame ahead when it ends.
            prop_assert!(pair.unfairness() <= 2.0 * FRAME as f64, "{} bytes", pair.unfairness());
        }
    }

    #[test]
    fn equals_stay_within_one_frame_of_their_shares(
        streams in prop::collection::vec(any::<bool>(), 1..10),
        frames in prop::collection::vec(1..=FRAME, 1..300),
    ) {
        let mut pair = Pair::default();
        for (name, parts) in streams.into_iter().enumerate() {
            pair.take(&Step::Insert(name as u64, Some((None, Some(parts)))));
            pair.take(&Step::Ready(name as u64));
        }
        for bytes in frames {
            pair.send(bytes);
            prop_assert!(pair.unfairness() <= FRAME as f64, "{} bytes", pair.unfairness());
        }
    }
}

#[test]
fn a_response_field_goes_before_the_clients_then_and_later() {
    let mut scheduler = Rfc9218::default();
    for name in [1, 3] {
        scheduler.insert(StreamId(name), Priority::Unset);
        scheduler.ready(StreamId(name));
    }
    let urgency = |urgency| PriorityField { urgency: Some(urgency), incremental: None };
    scheduler.merge_response(StreamId(3), urgency(1));
    assert_eq!(scheduler.next(), Some(StreamId(3)));
    scheduler.reprioritise(StreamId(3), urgency(7).priority());
    assert_eq!(scheduler.next(), Some(StreamId(3)), "PRIORITY_UPDATE does not undo it");
    scheduler.merge_response(StreamId(3), PriorityField::default());
    assert_eq!(scheduler.next(), Some(StreamId(1)), "and is kept");
}
