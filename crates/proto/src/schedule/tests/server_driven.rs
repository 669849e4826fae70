//! The server's decisions go before and after what the client asks for.

use crate::StreamId;
use crate::schedule::{Exclusive, Incremental, Policy, Priority, Scheduler};

fn decided(urgency: u8) -> Priority {
    Priority::Decided { urgency, incremental: Incremental::Whole }
}

/// What the scheduler gives for so many frames of a kilobyte.
fn frames(scheduler: &mut dyn Scheduler, count: usize) -> Vec<u64> {
    let mut order = Vec::new();
    for _ in 0..count {
        let Some(stream) = scheduler.next() else { break };
        scheduler.sent(stream, 1_000);
        order.push(stream.0);
    }
    order
}

/// Chromium's chain: each stream depends on the one before it alone.
fn chain() -> Box<dyn Scheduler> {
    let mut scheduler = Policy::ServerDriven.scheduler();
    for stream in [1, 3, 5, 7] {
        let parent = StreamId(if stream == 1 { 0 } else { stream - 2 });
        let (weight, exclusive) = (220, Exclusive::Sole);
        scheduler.insert(StreamId(stream), Priority::Dependency { parent, weight, exclusive });
        scheduler.ready(StreamId(stream));
    }
    scheduler
}

#[test]
fn without_decisions_the_client_decides() {
    let mut scheduler = chain();
    assert_eq!(frames(&mut *scheduler, 2), [1, 1]);
    scheduler.blocked(StreamId(1));
    assert_eq!(frames(&mut *scheduler, 2), [3, 3]);
}

#[test]
fn a_decision_goes_before_the_clients_tree_and_after_it() {
    let mut scheduler = chain();
    scheduler.reprioritise(StreamId(7), decided(1));
    scheduler.reprioritise(StreamId(1), decided(5));
    assert_eq!(frames(&mut *scheduler, 2), [7, 7]);
    // What the client says later changes nothing of it.
    let urgency = Priority::Urgency { urgency: 7, incremental: Incremental::Parts };
    scheduler.reprioritise(StreamId(7), urgency);
    assert_eq!(frames(&mut *scheduler, 1), [7]);
    for (done, next) in [(7, 3), (3, 5), (5, 1)] {
        scheduler.remove(StreamId(done));
        assert_eq!(frames(&mut *scheduler, 2), [next, next]);
    }
    scheduler.blocked(StreamId(1));
    assert_eq!(scheduler.next(), None);
}

#[test]
fn a_decision_is_taken_back_by_the_default_and_changed_by_another() {
    let mut scheduler = chain();
    scheduler.reprioritise(StreamId(5), decided(0));
    scheduler.reprioritise(StreamId(7), decided(1));
    assert_eq!(frames(&mut *scheduler, 1), [5]);
    scheduler.reprioritise(StreamId(5), decided(2));
    assert_eq!(frames(&mut *scheduler, 1), [7]);
    scheduler.reprioritise(StreamId(5), decided(3));
    scheduler.reprioritise(StreamId(7), decided(3));
    assert_eq!(frames(&mut *scheduler, 1), [1]);
    // Of a stream that is not open there is nothing to decide.
    scheduler.reprioritise(StreamId(99), decided(0));
    assert_eq!(frames(&mut *scheduler, 1), [1]);
}

#[test]
fn incremental_decisions_share_and_each_policy_can_be_below() {
    for policy in Policy::ALL {
        let mut scheduler = policy.decided_scheduler();
        for stream in [1, 2, 3] {
            scheduler.insert(StreamId(stream), Priority::Unset);
            scheduler.ready(StreamId(stream));
        }
        for stream in [2, 3] {
            let incremental = Incremental::Parts;
            scheduler.reprioritise(StreamId(stream), Priority::Decided { urgency: 1, incremental });
        }
        let mut order = frames(&mut *scheduler, 4);
        order.sort_unstable();
        assert_eq!(order, [2, 2, 3, 3], "{policy}");
        scheduler.remove(StreamId(2));
        scheduler.remove(StreamId(3));
        assert_eq!(frames(&mut *scheduler, 1), [1], "{policy}");
    }
}
