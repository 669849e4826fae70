//! Loads on idealised networks in virtual time.

use super::*;
use crate::priority::{Hint, Rank};
use crate::resource::{Fold, Resource};
use crate::synthetic::Synthetic;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn resource(path: &str, release: Release) -> Resource {
    Resource {
        url: format!("http://a/{path}").parse().unwrap(),
        kind: Kind::Image,
        method: Method::Get,
        status: 200,
        content_type: String::new(),
        body: ByteSize(1000),
        server_time: Duration::ZERO,
        release,
        think: Duration::ZERO,
        hint: Hint::None,
        blocks: Blocks::Nothing,
        pixels: None,
        fold: Fold::Unknown,
        asked: Default::default(),
        answered: Default::default(),
    }
}

fn parsed(offset: u64) -> Release {
    Release::Parsed { by: ResourceId(0), offset: ByteSize(offset) }
}

fn completed(by: u32) -> Release {
    Release::Completed { by: ResourceId(by) }
}

fn page(resources: Vec<Resource>) -> Page {
    Page::new(ResourceId(0), resources).unwrap()
}

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// The numbers of all fetches that can start now.
fn start_all(load: &mut Load, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| load.poll_fetch(now)).map(|fetch| fetch.id.0).collect()
}

#[test]
fn an_image_is_found_when_its_place_in_the_html_has_arrived() {
    let page = page(vec![
        resource("", Release::Navigation),
        resource("at-500", parsed(500)),
        resource("at-head", parsed(0)),
        resource("at-end", completed(0)),
        resource("beyond", parsed(5000)),
    ]);
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    assert_eq!(start_all(&mut load, ms(0)), [0]);
    load.handle_head(ResourceId(0), ms(1));
    assert_eq!(start_all(&mut load, ms(1)), [2]);
    load.handle_body(ResourceId(0), &[0; 499], ms(2));
    assert_eq!(start_all(&mut load, ms(2)), [0; 0]);
    load.handle_body(ResourceId(0), &[0; 1], ms(3));
    assert_eq!(start_all(&mut load, ms(3)), [1]);
    load.handle_done(ResourceId(0), ms(4));
    assert_eq!(start_all(&mut load, ms(4)), [4, 3]);
    assert_eq!(load.history(ResourceId(1)).unwrap().released_by, Some(ResourceId(0)));
    assert_eq!(load.milestones().first_byte, Some(ms(1)));
    assert_eq!(load.milestones().document, Some(ms(4)));
    assert_eq!(load.milestones().load, None);
}

#[test]
fn the_more_urgent_fetch_starts_first_whatever_was_found_first() {
    let style = Resource { kind: Kind::Stylesheet, ..resource("style", completed(0)) };
    let page =
        page(vec![resource("", Release::Navigation), resource("image", completed(0)), style]);
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    start_all(&mut load, ms(0));
    load.handle_done(ResourceId(0), ms(1));
    assert_eq!(start_all(&mut load, ms(1)), [2, 1]);
}

#[test]
fn a_think_gap_delays_a_fetch_and_is_a_time_out() {
    let script = Resource { think: Duration::from_millis(30), ..resource("script", completed(0)) };
    let page = page(vec![resource("", Release::Navigation), script]);
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    start_all(&mut load, ms(0));
    assert_eq!(load.poll_timeout(), None);
    load.handle_done(ResourceId(0), ms(10));
    assert_eq!(load.poll_timeout(), Some(ms(40)));
    assert_eq!(start_all(&mut load, ms(39)), [0; 0]);
    assert_eq!(start_all(&mut load, ms(40)), [1]);
    assert_eq!(load.poll_timeout(), None);
    load.handle_done(ResourceId(1), ms(50));
    assert_eq!(load.milestones().load, Some(ms(50)));
    assert_eq!(load.critical_path(), [ResourceId(0), ResourceId(1)]);
    assert_eq!(load.history(ResourceId(1)).unwrap().found, Some(ms(10)));
    assert_eq!(load.history(ResourceId(1)).unwrap().started, Some(ms(40)));
}

#[test]
fn a_failure_abandons_what_it_would_have_released_and_the_load_is_never_reached() {
    let page = page(vec![
        resource("", Release::Navigation),
        resource("script", completed(0)),
        resource("by-script", completed(1)),
    ]);
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    start_all(&mut load, ms(0));
    load.handle_done(ResourceId(0), ms(1));
    assert_eq!(start_all(&mut load, ms(1)), [1]);
    load.handle_failed(ResourceId(1), "connection reset", ms(2));
    assert!(load.is_finished());
    assert_eq!(load.milestones().load, None);
    assert_eq!(load.failures().collect::<Vec<_>>(), [(ResourceId(1), "connection reset")]);
    assert_eq!(load.critical_path(), []);
    assert_eq!(start_all(&mut load, ms(3)), [0; 0]);
}

#[test]
fn events_for_fetches_that_are_not_in_flight_are_ignored() {
    let page = page(vec![resource("", Release::Navigation), resource("image", completed(0))]);
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    load.handle_done(ResourceId(1), ms(0));
    load.handle_failed(ResourceId(77), "?", ms(0));
    start_all(&mut load, ms(0));
    load.handle_done(ResourceId(0), ms(1));
    load.handle_done(ResourceId(0), ms(2));
    load.handle_failed(ResourceId(0), "late", ms(3));
    assert_eq!(load.milestones().document, Some(ms(1)));
    assert!(!load.is_finished());
}

#[test]
fn a_browsed_page_is_found_in_its_own_bytes_and_each_url_is_asked_for_once() {
    let html = b"<base href=/b/><img src=1><img src='data:image/gif,'><img src=1><script src=//c/s></script>";
    let mut load = Load::browse("https://a/p?x".parse().unwrap(), Browser::Chrome156, ms(0));
    assert_eq!(load.poll_fetch(ms(0)).unwrap().url.path, "/p?x");
    for byte in html.chunks(1) {
        load.handle_body(ResourceId(0), byte, ms(1));
    }
    let urls: Vec<_> =
        std::iter::from_fn(|| load.poll_fetch(ms(1))).map(|fetch| fetch.url.to_string()).collect();
    assert_eq!(urls, ["https://a/b/1", "https://c/s"], "both of urgency 2");
    load.handle_done(ResourceId(0), ms(2));
    load.handle_done(ResourceId(1), ms(3));
    load.handle_done(ResourceId(2), ms(4));
    assert!(load.is_finished());
    assert_eq!(load.milestones().load, Some(ms(4)));
    assert_eq!(load.received(ResourceId(0)), ByteSize(html.len() as u64));
}

#[test]
fn a_response_that_begins_anew_is_parsed_anew_and_asks_for_nothing_twice() {
    let page = page(vec![
        resource("", Release::Navigation),
        resource("at-500", parsed(500)),
        resource("at-900", parsed(900)),
    ])
    .with_body_at(ByteSize(100));
    let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
    let document = ResourceId(0);
    assert_eq!(start_all(&mut load, ms(0)), [0]);
    load.handle_head(document, ms(10));
    load.handle_body(document, &[0; 600], ms(11));
    assert_eq!(start_all(&mut load, ms(11)), [1]);
    load.handle_done(ResourceId(1), ms(12));
    load.handle_head(document, ms(40));
    assert_eq!(load.received(document), ByteSize(0));
    load.handle_body(document, &[0; 600], ms(50));
    assert_eq!(start_all(&mut load, ms(50)), [0; 0], "it was asked for before");
    load.handle_body(document, &[0; 400], ms(60));
    assert_eq!(start_all(&mut load, ms(60)), [2]);
    load.handle_done(document, ms(61));
    load.handle_done(ResourceId(2), ms(70));
    assert_eq!(load.received(document), ByteSize(1_000));
    assert_eq!(load.milestones().first_byte, Some(ms(40)));
    assert_eq!(load.milestones().load, Some(ms(70)));
    let painted = load.paint_times();
    assert_eq!(painted.first_paint, Some(Duration::from_millis(50)), "of the second response");
}

/// A random tree of resources: each but the first is found by an earlier one. Some pages have a layout, which their fonts wait for.
fn any_page() -> impl Strategy<Value = Page> {
    let one = (any::<u32>(), 0_u8..3, 0_u64..1500, 0_u64..40, 0_u8..4);
    let all = proptest::collection::vec(one, 0..40);
    (all, any::<bool>()).prop_map(|(specs, has_layout)| {
        let fold = if has_layout { Fold::Above } else { Fold::Unknown };
        let mut resources = vec![Resource { fold, ..resource("", Release::Navigation) }];
        for (index, (pick, way, offset, think, kind)) in specs.into_iter().enumerate() {
            let by = ResourceId(pick % resources.len() as u32);
            let release = match way {
                0 => Release::Parsed { by, offset: ByteSize(offset) },
                1 => Release::Completed { by },
                _ => Release::Navigation,
            };
            let (kind, blocks) = [
                (Kind::Image, Blocks::Nothing),
                (Kind::Script, Blocks::Parsing),
                (Kind::Stylesheet, Blocks::Painting),
                (Kind::Font, Blocks::Nothing),
            ][usize::from(kind)];
            resources.push(Resource {
                think: Duration::from_millis(think),
                kind,
                blocks,
                ..resource(&index.to_string(), release)
            });
        }
        page(resources).with_body_at(ByteSize(500))
    })
}

/// A recorded priority says what a fetch is, not that the browser holds nothing back.
#[test]
fn chrome_holds_back_what_a_recording_ranks_low_while_a_script_in_the_head_stops_the_parser() {
    let ranked = |path: &str, kind: Kind, rank: Rank, blocks: Blocks| Resource {
        kind,
        blocks,
        hint: Hint::Recorded(rank),
        ..resource(path, parsed(100))
    };
    let page = |rank: Rank| {
        page(vec![
            resource("", Release::Navigation),
            ranked("head.js", Kind::Script, rank, Blocks::Parsing),
            ranked("all.css", Kind::Stylesheet, Rank::VeryHigh, Blocks::Painting),
            ranked("1.png", Kind::Image, Rank::Low, Blocks::Nothing),
            ranked("2.png", Kind::Image, Rank::Low, Blocks::Nothing),
        ])
        .with_body_at(ByteSize(101))
    };
    let begun = |page: &Page, browser: Browser| {
        let mut load = Load::replay(page, browser, ms(0)).with_priorities();
        start_all(&mut load, ms(0));
        load.handle_body(ResourceId(0), &[0; 200], ms(1));
        let first = start_all(&mut load, ms(1));
        load.handle_done(ResourceId(2), ms(2));
        load.handle_done(ResourceId(1), ms(3));
        (first, start_all(&mut load, ms(3)))
    };
    let head = page(Rank::High);
    assert_eq!(begun(&head, Browser::Chrome156), (vec![2, 1], vec![3, 4]));
    assert_eq!(begun(&head, Browser::Chrome92), (vec![2, 1], vec![3, 4]));
    assert_eq!(begun(&head, Browser::Chrome46).0.len(), 4, "over HTTP/2 it holds nothing back");
    // A script late in the body is no reason.
    assert_eq!(begun(&page(Rank::Medium), Browser::Chrome156).0.len(), 4);
}

/// Chrome of 2015 held images back where the server hears of no priorities, and asked for everything at once where it does.
#[test]
fn chrome_46_holds_images_back_over_http_1_alone() {
    let origin: Url = "https://a/".parse().unwrap();
    let page: Synthetic = "/page?images=4&bytes=300&css=1&scripts=1".parse().unwrap();
    let page = page.page(&origin).unwrap();
    let asked_at_once = |load: Load| {
        let mut load = load;
        let document = load.poll_fetch(ms(0)).unwrap().id;
        load.handle_done(document, ms(1));
        std::iter::from_fn(|| load.poll_fetch(ms(1))).count()
    };
    let load = |browser| Load::replay(&page, browser, ms(0));
    assert_eq!(asked_at_once(load(Browser::Chrome46).with_priorities()), 6);
    assert_eq!(asked_at_once(load(Browser::Chrome46)), 2);
    // Its first images are of medium urgency, of which two go.
    assert_eq!(asked_at_once(load(Browser::Chrome156).with_priorities()), 4);
    assert_eq!(asked_at_once(load(Browser::Firefox38)), 6);
}

proptest! {
    #[test]
    fn every_resource_is_fetched_once_in_whatever_order_they_arrive(
        page in any_page(),
        order in proptest::collection::vec(any::<u16>(), 1..200),
    ) {
        let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
        let mut fetched: BTreeMap<ResourceId, u32> = BTreeMap::new();
        let mut flying = Vec::new();
        let (mut now, mut picks) = (ms(0), order.iter().cycle());
        while !load.is_finished() {
            while let Some(fetch) = load.poll_fetch(now) {
                *fetched.entry(fetch.id).or_default() += 1;
                flying.push(fetch.id);
            }
            if flying.is_empty() {
                now = load.poll_timeout().expect("a load that is not finished waits for something");
                continue;
            }
            let pick = usize::from(*picks.next().unwrap());
            let id = flying[pick % flying.len()];
            now += Duration::from_millis(1);
            if pick % 3 == 0 && load.received(id) < ByteSize(1400) {
                load.handle_body(id, &[0; 700], now);
            } else {
                load.handle_done(id, now);
                flying.retain(|&other| other != id);
            }
        }
        prop_assert!(fetched.values().all(|&times| times == 1));
        prop_assert_eq!(fetched.len(), page.resources().len());
        let load_at = load.milestones().load.unwrap();
        for (index, resource) in page.resources().iter().enumerate() {
            let history = load.history(ResourceId(index as u32)).unwrap();
            prop_assert!(history.ended.unwrap() <= load_at);
            if let Some(by) = resource.release.initiator() {
                let released = load.history(by).unwrap();
                prop_assert!(history.found.unwrap() >= released.started.unwrap());
                prop_assert!(history.found.unwrap() <= released.ended.unwrap());
            }
        }
    }

    #[test]
    fn a_load_with_failures_ends_too(page in any_page(), fates in proptest::collection::vec(any::<bool>(), 1..60)) {
        let mut load = Load::replay(&page, Browser::Chrome156, ms(0));
        let (mut now, mut fates) = (ms(0), fates.iter().cycle());
        let mut failed = false;
        while !load.is_finished() {
            match load.poll_fetch(now) {
                Some(fetch) if *fates.next().unwrap() => {
                    failed = true;
                    load.handle_failed(fetch.id, "test", now);
                }
                Some(fetch) => load.handle_done(fetch.id, now),
                // The end of a gap may have abandoned the last of them.
                None if load.is_finished() => {}
                None => now = load.poll_timeout().expect("something to wait for"),
            }
        }
        prop_assert_eq!(load.milestones().load.is_none(), failed);
    }
}
