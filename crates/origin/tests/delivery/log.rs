//! The delivery log: what each stream asked for and what it got.

use super::visit::{Visit, logging_origin, spdy, taking};
use super::{SIZE, pushing};
use origin::{DeliveryPolicy, Rule, Urgency};
use proto::schedule::{Incremental, Policy};
use std::time::Duration;
use trace::{AskedPriority, DeliveryEnd, DeliveryRecord, PrioritySource, PushFate};
use wire::h2::{Dependency, Frame};

fn said(record: &DeliveryRecord) -> Vec<(PrioritySource, AskedPriority)> {
    record.asked.iter().map(|signal| (signal.by, signal.asked)).collect()
}

const fn urgency(urgency: u8, incremental: bool) -> AskedPriority {
    AskedPriority::Urgency { urgency, incremental }
}

#[test]
fn a_priority_update_before_its_stream_stands_before_what_came_later() {
    let (mut origin, records) = logging_origin(Policy::Auto, DeliveryPolicy::default());
    let mut visit = Visit::new(&mut origin, taking());
    visit.settle();
    let mut early = Vec::new();
    Frame::PriorityUpdate { prioritised: 1, value: b"u=0" }.encode(&mut early);
    visit.say(&early);
    visit.settle_after(Duration::from_millis(500));
    visit.view_with("/style.css", &[("priority", "u=5")]);
    let records = records.take();
    let [style] = &records[..] else { panic!("{records:?}") };
    let expected = [
        (PrioritySource::PriorityUpdate, urgency(0, false)),
        (PrioritySource::Field, urgency(5, false)),
    ];
    assert_eq!(said(style), expected);
    assert_eq!(style.asked[1].at.since(style.asked[0].at), Duration::from_millis(500));
}

#[test]
fn a_row_says_what_a_stream_of_http_2_asked_for_and_what_it_got() {
    let rule = Rule {
        media_type: Some("image/*".parse().unwrap()),
        urgency: Some(Urgency { urgency: 6, incremental: Incremental::Parts }),
        ..Rule::default()
    };
    let policy = DeliveryPolicy { rules: vec![rule], ..DeliveryPolicy::default() };
    let (mut origin, records) = logging_origin(Policy::ServerDriven, policy);
    let mut visit = Visit::new(&mut origin, taking());
    visit.ask_with("/style.css", &[("priority", "u=5")]);
    visit.ask_with("/image/1?bytes=100&delay_ms=10", &[("priority", "u=2, i")]);
    visit.settle();
    let mut raised = Vec::new();
    let dependency = Dependency { parent: 1, exclusive: true, weight: 219 };
    Frame::Priority { stream: 3, dependency }.encode(&mut raised);
    Frame::PriorityUpdate { prioritised: 3, value: b"u=0" }.encode(&mut raised);
    visit.say(&raised);
    visit.settle_after(Duration::from_millis(10));
    let records = records.take();
    let [style, picture] = &records[..] else { panic!("{records:?}") };
    assert_eq!(
        (style.path.as_str(), style.media_type.as_str()),
        ("/style.css", "text/css; charset=utf-8")
    );
    assert_eq!(said(style), [(PrioritySource::Field, urgency(5, false))]);
    assert_eq!(style.decided, Some(urgency(1, false)), "CSS goes first");
    assert_eq!((style.policy.as_str(), style.status), ("server-driven", Some(200)));
    assert_eq!((style.bytes, style.end, style.push), (SIZE as u64, DeliveryEnd::Done, None));
    assert!(
        style.requested <= style.first_byte.unwrap() && style.first_byte.unwrap() <= style.ended
    );
    assert_eq!(picture.decided, Some(urgency(6, true)), "by its media type");
    let asked = AskedPriority::Dependency { parent: 1, weight: 220, exclusive: true };
    let expected = [
        (PrioritySource::Field, urgency(2, true)),
        (PrioritySource::Priority, asked),
        (PrioritySource::PriorityUpdate, urgency(0, false)),
    ];
    assert_eq!(said(picture), expected);
}

#[test]
fn a_push_is_cancelled_or_its_use_unknown() {
    let (mut origin, records) = logging_origin(Policy::Auto, pushing(&["/style.css", "/app.js"]));
    let mut visit = Visit::new(&mut origin, taking());
    visit.refuse = vec!["/style.css"];
    visit.view("/", None);
    let records = records.take();
    let of = |path: &str| records.iter().find(|record| record.path == path).unwrap();
    assert_eq!(
        (of("/style.css").push, of("/style.css").pushed_with),
        (Some(PushFate::Cancelled), Some(1))
    );
    assert_eq!(of("/app.js").push, Some(PushFate::UseUnknown));
    assert_eq!((of("/app.js").decided, of("/").push), (Some(urgency(1, false)), None));
}

#[test]
fn spdys_level_and_times_that_pass_stand_in_the_row() {
    let (mut origin, records) = logging_origin(Policy::Auto, DeliveryPolicy::default());
    let mut visit = Visit::new(&mut origin, spdy());
    visit.ask("/a.png?delay_ms=0", None);
    visit.ask("/api?bytes=10&delay_ms=30", None);
    visit.settle();
    visit.settle_after(Duration::from_millis(30));
    let records = records.take();
    let [image, api] = &records[..] else { panic!("{records:?}") };
    let [(PrioritySource::SynStream, AskedPriority::Level { .. })] = said(image)[..] else {
        panic!("{image:?}")
    };
    assert_eq!(api.first_byte.unwrap().since(api.requested), Duration::from_millis(30));
    assert_eq!(api.bytes, 10);
}

#[test]
fn signals_for_streams_that_never_come_and_floods_of_them_are_bounded() {
    let (mut origin, records) = logging_origin(Policy::Auto, DeliveryPolicy::default());
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/a.png", None);
    let mut bytes = Vec::new();
    for stream in 0..2_000_u32 {
        // Phantom nodes: each hangs on the one before it, the first on the last.
        let parent = if stream == 0 { 4_001 + 2 * 1_999 } else { 4_001 + 2 * (stream - 1) };
        let dependency = Dependency { parent, exclusive: stream % 2 == 0, weight: 7 };
        Frame::Priority { stream: 4_001 + 2 * stream, dependency }.encode(&mut bytes);
        Frame::PriorityUpdate { prioritised: 9_001 + 2 * stream, value: b"u=1" }.encode(&mut bytes);
    }
    visit.say(&bytes);
    let early = visit.ask("/style.css", None);
    visit.settle();
    assert!(visit.responses[&early].is_whole, "the page still loads");
    let mut bytes = Vec::new();
    for weight in 0..100 {
        let dependency = Dependency { parent: 0, exclusive: false, weight };
        Frame::Priority { stream: 5, dependency }.encode(&mut bytes);
    }
    visit.ask("/api?bytes=10&delay_ms=10", None);
    visit.settle();
    visit.say(&bytes);
    visit.settle_after(Duration::from_millis(10));
    let records = records.take();
    assert_eq!(records.len(), 3, "no row for what never came");
    let last = records.last().unwrap();
    assert_eq!((last.stream, last.asked.len() as u64 + last.asked_more), (5, 100));
    assert_eq!(last.asked.len(), 32);
}
