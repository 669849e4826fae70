//! When the default policy switches, and that nothing is lost when it does.

use crate::StreamId;
use crate::schedule::{Auto, Exclusive, Incremental, Policy, Priority, PriorityField, Scheduler};
use proptest::prelude::*;
use std::collections::BTreeSet;

const FRAME: usize = 16_384;

fn dependency(parent: u64, weight: u16, exclusive: Exclusive) -> Priority {
    Priority::Dependency { parent: StreamId(parent), weight, exclusive }
}

fn urgency(urgency: u8) -> Priority {
    Priority::Urgency { urgency, incremental: Incremental::Whole }
}

fn opened(streams: &[(u64, Priority)]) -> Auto {
    let mut auto = Auto::default();
    for &(stream, priority) in streams {
        auto.insert(StreamId(stream), priority);
        auto.ready(StreamId(stream));
    }
    auto
}

/// Who sends the next frames.
fn order(auto: &mut Auto, frames: usize) -> Vec<u64> {
    let turn = |_| {
        let stream = auto.next()?;
        auto.sent(stream, FRAME);
        Some(stream.0)
    };
    (0..frames).map_while(turn).collect()
}

/// The ready streams in the order in which each would send all it has.
fn drain(auto: &mut Auto) -> Vec<u64> {
    let turn = || {
        let stream = auto.next()?;
        auto.blocked(stream);
        Some(stream.0)
    };
    std::iter::from_fn(turn).collect()
}

#[test]
fn without_signals_all_streams_share() {
    let mut auto = opened(&[(1, Priority::Unset), (3, Priority::Unset)]);
    assert_eq!(order(&mut auto, 4), [1, 3, 1, 3]);
}

#[test]
fn fields_alone_are_heeded() {
    let mut auto = opened(&[(1, urgency(5)), (3, Priority::Unset), (5, urgency(1))]);
    assert_eq!(drain(&mut auto), [5, 3, 1]);
}

#[test]
fn the_first_field_may_come_late() {
    let mut auto = opened(&[(1, Priority::Unset), (3, Priority::Unset)]);
    assert_eq!(order(&mut auto, 2), [1, 3]);
    auto.reprioritise(StreamId(3), urgency(0));
    assert_eq!(drain(&mut auto), [3, 1]);
}

#[test]
fn the_tree_goes_before_fields() {
    let mut auto = opened(&[(1, urgency(0)), (3, urgency(7))]);
    auto.reprioritise(StreamId(1), dependency(3, 16, Exclusive::Shared));
    assert_eq!(order(&mut auto, 2), [3, 3]);
    auto.reprioritise(StreamId(1), urgency(0));
    assert_eq!(drain(&mut auto), [3, 1]);
}

#[test]
fn chromiums_image_is_raised_by_a_priority_frame_alone() {
    // Both signals for each stream, as Chromium sends them: a chain, and urgencies beside it.
    let mut auto = Auto::default();
    for (stream, parent, weight, field) in [(1, 0, 256, 0), (3, 1, 147, 3), (5, 3, 147, 3)] {
        auto.insert(StreamId(stream), dependency(parent, weight, Exclusive::Sole));
        auto.reprioritise(StreamId(stream), urgency(field));
        auto.ready(StreamId(stream));
    }
    auto.blocked(StreamId(1));
    assert_eq!(order(&mut auto, 2), [3, 3]);
    auto.reprioritise(StreamId(5), dependency(1, 220, Exclusive::Sole));
    assert_eq!(drain(&mut auto), [5, 3]);
}

#[test]
fn a_first_dependency_that_comes_late_keeps_who_is_ready() {
    let mut auto = opened(&[(1, urgency(3)), (3, urgency(3)), (5, urgency(3))]);
    auto.blocked(StreamId(3));
    auto.reprioritise(StreamId(9), dependency(0, 16, Exclusive::Sole));
    assert_eq!(order(&mut auto, 4), [1, 5, 1, 5], "equals in the tree, below the idle stream");
    auto.ready(StreamId(3));
    assert_eq!(drain(&mut auto).into_iter().collect::<BTreeSet<_>>(), [1, 3, 5].into());
}

#[test]
fn a_peer_that_rules_dependencies_out_is_believed() {
    let mut auto = Auto::default();
    auto.peer_sends_no_dependencies();
    for (stream, priority) in [(1, Priority::Unset), (3, urgency(5)), (5, Priority::Unset)] {
        auto.insert(StreamId(stream), priority);
        auto.ready(StreamId(stream));
    }
    auto.reprioritise(StreamId(1), dependency(3, 1, Exclusive::Sole));
    assert_eq!(order(&mut auto, 3), [1, 1, 1], "one after another, by RFC 9218's default");
    assert_eq!(drain(&mut auto), [1, 5, 3]);
}

#[test]
fn urgencies_that_were_kept_beside_the_tree_are_known_when_it_goes() {
    let mut auto = opened(&[(1, dependency(0, 256, Exclusive::Shared)), (3, urgency(1))]);
    auto.merge_response(StreamId(1), PriorityField { urgency: Some(0), incremental: None });
    auto.peer_sends_no_dependencies();
    assert_eq!(drain(&mut auto), [1, 3]);
    let mut auto = opened(&[(1, urgency(6)), (3, dependency(1, 256, Exclusive::Shared))]);
    assert_eq!(auto.next(), Some(StreamId(1)), "the tree decides");
    auto.peer_sends_no_dependencies();
    assert_eq!(drain(&mut auto), [3, 1]);
}

#[test]
fn a_response_field_before_the_first_signal_is_kept() {
    let mut auto = opened(&[(1, Priority::Unset), (3, Priority::Unset), (5, Priority::Unset)]);
    auto.merge_response(StreamId(5), PriorityField { urgency: Some(1), incremental: None });
    assert_eq!(order(&mut auto, 3), [1, 3, 5], "a response is no signal of the peer");
    auto.reprioritise(StreamId(3), urgency(2));
    assert_eq!(drain(&mut auto), [5, 3, 1]);
}

#[test]
fn spdys_levels_are_strict_and_take_turns_within() {
    let levels = [(1, 3), (3, 1), (5, 1), (7, 0)].map(|(s, level)| (s, Priority::Level(level)));
    let mut auto = opened(&levels);
    auto.remove(StreamId(7));
    assert_eq!(order(&mut auto, 4), [3, 5, 3, 5]);
    assert_eq!(drain(&mut auto).last(), Some(&1));
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u64, Priority),
    Reprioritise(u64, Priority),
    MergeResponse(u64, u8),
    RuleOut,
    Remove(u64),
    Ready(u64),
    Blocked(u64),
    Send,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 1..8_u64;
    let priority = || {
        prop_oneof![
            4 => Just(Priority::Unset),
            2 => (0..8_u8).prop_map(urgency),
            2 => (0..9_u64, 1..=256_u16).prop_map(|(p, w)| dependency(p, w, Exclusive::Sole)),
            1 => (0..8_u8).prop_map(Priority::Level),
        ]
    };
    prop_oneof![
        60 => (stream(), priority()).prop_map(|(s, p)| Step::Insert(s, p)),
        20 => (stream(), priority()).prop_map(|(s, p)| Step::Reprioritise(s, p)),
        10 => (stream(), 0..8_u8).prop_map(|(s, u)| Step::MergeResponse(s, u)),
        1 => Just(Step::RuleOut),
        20 => stream().prop_map(Step::Remove),
        60 => stream().prop_map(Step::Ready),
        20 => stream().prop_map(Step::Blocked),
        60 => Just(Step::Send),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_the_ready_streams_and_they_alone_are_served(
        steps in prop::collection::vec(step(), 1..200)
    ) {
        let mut auto = Auto::default();
        let (mut open, mut ready) = (BTreeSet::new(), BTreeSet::new());
        for step in &steps {
            match *step {
                Step::Insert(stream, priority) => {
                    auto.insert(StreamId(stream), priority);
                    open.insert(stream);
                }
                Step::Reprioritise(stream, priority) => auto.reprioritise(StreamId(stream), priority),
                Step::MergeResponse(stream, urgency) => {
                    let field = PriorityField { urgency: Some(urgency), incremental: None };
                    auto.merge_response(StreamId(stream), field);
                }
                Step::RuleOut => auto.peer_sends_no_dependencies(),
                Step::Remove(stream) => {
                    auto.remove(StreamId(stream));
                    open.remove(&stream);
                    ready.remove(&stream);
                }
                Step::Ready(stream) => {
                    auto.ready(StreamId(stream));
                    if open.contains(&stream) {
                        ready.insert(stream);
                    }
                }
                Step::Blocked(stream) => {
                    auto.blocked(StreamId(stream));
                    ready.remove(&stream);
                }
                Step::Send => {
                    if let Some(stream) = auto.next() {
                        auto.sent(stream, FRAME);
                    }
                }
            }
            let served = auto.next().map(|stream| stream.0);
            prop_assert!(served.map_or(ready.is_empty(), |stream| ready.contains(&stream)));
        }
        prop_assert_eq!(drain(&mut auto).into_iter().collect::<BTreeSet<_>>(), ready);
    }
}

/// What happens to a scheduler over HTTP/3.
#[derive(Debug, Clone, Copy)]
enum Http3Step {
    Insert(u64),
    Reprioritise(u64, u8, Incremental),
    MergeResponse(u64, u8),
    Remove(u64),
    Ready(u64),
    Blocked(u64),
    Send(usize),
}

fn http3_step() -> impl Strategy<Value = Http3Step> {
    let stream = 0..8_u64;
    let kind = prop_oneof![Just(Incremental::Whole), Just(Incremental::Parts)];
    prop_oneof![
        stream.clone().prop_map(Http3Step::Insert),
        (stream.clone(), 0..8_u8, kind).prop_map(|(s, u, i)| Http3Step::Reprioritise(s, u, i)),
        (stream.clone(), 0..8_u8).prop_map(|(s, u)| Http3Step::MergeResponse(s, u)),
        stream.clone().prop_map(Http3Step::Remove),
        stream.clone().prop_map(Http3Step::Ready),
        stream.prop_map(Http3Step::Blocked),
        (1..20_000_usize).prop_map(Http3Step::Send),
    ]
}

fn take_http3_step(scheduler: &mut dyn Scheduler, step: Http3Step) {
    match step {
        Http3Step::Insert(stream) => scheduler.insert(StreamId(stream), Priority::Unset),
        Http3Step::Reprioritise(stream, urgency, incremental) => {
            let priority = Priority::Urgency { urgency, incremental };
            scheduler.reprioritise(StreamId(stream), priority);
        }
        Http3Step::MergeResponse(stream, urgency) => {
            let field = PriorityField { urgency: Some(urgency), incremental: None };
            scheduler.merge_response(StreamId(stream), field);
        }
        Http3Step::Remove(stream) => scheduler.remove(StreamId(stream)),
        Http3Step::Ready(stream) => scheduler.ready(StreamId(stream)),
        Http3Step::Blocked(stream) => scheduler.blocked(StreamId(stream)),
        Http3Step::Send(bytes) => {
            if let Some(stream) = scheduler.next() {
                scheduler.sent(stream, bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn over_http3_the_default_decides_as_rfc_9218_does(
        steps in proptest::collection::vec(http3_step(), 0..120),
    ) {
        let mut auto = Policy::Auto.scheduler();
        let mut chosen = Policy::Auto.over_http3().scheduler();
        auto.peer_sends_no_dependencies();
        chosen.peer_sends_no_dependencies();
        for step in steps {
            take_http3_step(&mut *auto, step);
            take_http3_step(&mut *chosen, step);
            prop_assert_eq!(auto.next(), chosen.next());
        }
    }
}
