//! Real pages' recordings, read where they lie (`../shared/hars` from the repository's root), and loaded
//! over an idealised network in virtual time. A clone that lacks them skips these tests.

// Lints know functions of a `#[cfg(test)]` module for test code, but not those of a test's own crate.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::explicit_write)]

use page::har::{self, Assumptions, Dependencies, HarOptions, Recording, Think};
use page::{Browser, ExpectedResponse, Load, ResourceId};
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::Duration;
use unit::{ByteSize, Instant};

const FLAT: HarOptions =
    HarOptions { dependencies: Dependencies::Flat, think: Think::Recorded, page: 0 };

fn file(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hars").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        testing::skip(format_args!("{} is not there", path.display()));
    }
    bytes
}

fn recording(name: &str, options: HarOptions) -> Option<Recording> {
    Some(har::parse(&file(name)?, options).unwrap())
}

/// Replays a recording where each response takes a round trip, its server time and its bytes at 1 MB/s,
/// nobody in another's way; tells the load time.
fn replay(recording: &Recording) -> Duration {
    let page = &recording.page;
    let mut load = Load::replay(page, Browser::Chrome156, Instant::ZERO);
    let mut now = Instant::ZERO;
    let mut fetched = vec![0; page.resources().len()];
    // (when, what): 0 the head, 1 the middle, 2 the end. A heap of the earliest.
    let mut events: BinaryHeap<std::cmp::Reverse<(Instant, u8, ResourceId)>> = BinaryHeap::new();
    while !load.is_finished() {
        while let Some(fetch) = load.poll_fetch(now) {
            fetched[fetch.id.index()] += 1;
            let resource = page.resource(fetch.id).unwrap();
            let expected =
                ExpectedResponse { status: resource.status, body: resource.received_body() };
            assert_eq!(fetch.expected, Some(expected));
            let head = now + Duration::from_millis(50) + resource.server_time;
            let whole = Duration::from_micros(resource.body.0);
            for (part, at) in [(0, head), (1, head + whole / 2), (2, head + whole)] {
                events.push(std::cmp::Reverse((at, part, fetch.id)));
            }
        }
        let event = events.peek().map(|event| event.0);
        match (event, load.poll_timeout()) {
            (Some((at, part, id)), due) if due.is_none_or(|due| at <= due) => {
                events.pop();
                now = at;
                match part {
                    0 => load.handle_head(id, now),
                    1 => load.handle_body(
                        id,
                        &vec![0; page.resource(id).unwrap().body.0 as usize / 2],
                        now,
                    ),
                    _ => load.handle_done(id, now),
                }
            }
            (_, Some(due)) => {
                now = due;
                load.handle_timeout(now);
            }
            (None, None) => assert!(load.is_finished(), "nothing to wait for, yet not finished"),
            (Some(_), None) => unreachable!("an event without a time-out is taken above"),
        }
    }
    assert!(fetched.iter().all(|&times| times == 1), "{fetched:?}");
    assert!(!load.critical_path().is_empty());
    // A trial ends with its load.
    assert_eq!(load.milestones().load, Some(now));
    now.since(Instant::ZERO)
}

/// What is counted, how many there are, and where the count stands.
type Expected<'a> = (&'a str, u32, fn(&Assumptions) -> u32);

fn check(name: &str, expected: &[Expected<'_>]) {
    let Some(inferred) = recording(name, HarOptions::default()) else { return };
    for (what, count, of) in expected {
        assert_eq!(of(&inferred.assumptions), *count, "{name}: {what}\n{}", inferred.assumptions);
    }
    assert_eq!(inferred.page.resources().len() as u32, inferred.assumptions.replayed);
    let flat = recording(name, FLAT).unwrap();
    let quick =
        recording(name, HarOptions { think: Think::None, ..HarOptions::default() }).unwrap();
    let times = [replay(&flat), replay(&quick), replay(&inferred)];
    assert!(times[0] <= times[2] && times[1] <= times[2], "{name}: {times:?}");
    assert!(times[2] < Duration::from_secs(60), "{name}: {times:?}");
    println!(
        "{name}: flat {:?}, no gaps {:?}, inferred {:?}\n{}\n",
        times[0], times[1], times[2], inferred.assumptions
    );
}

#[test]
fn h2o_is_read_from_chrome() {
    check(
        "h2o.examp1e.net.har",
        &[
            ("entries", 16, |a| a.entries),
            ("hosts", 3, |a| a.hosts),
            ("an extension answered two requests", 2, |a| a.answered_inside),
            ("replayed", 14, |a| a.replayed),
            ("sizes", 14, |a| a.size_from_transfer),
        ],
    );
}

#[test]
fn github_is_read_from_chrome() {
    check(
        "github.com.har",
        &[
            ("entries", 20, |a| a.entries),
            ("hosts", 5, |a| a.hosts),
            ("replayed", 18, |a| a.replayed),
            ("beacons after onLoad", 2, |a| a.after_load),
            ("other methods", 1, |a| a.not_get),
        ],
    );
}

#[test]
fn filamentgroup_is_read_from_webpagetest() {
    check(
        "filamentgroup.com.har",
        &[
            ("entries", 41, |a| a.entries),
            ("hosts", 3, |a| a.hosts),
            ("pushed and unused", 12, |a| a.unanswered),
            ("replayed", 19, |a| a.replayed),
            ("after onLoad", 10, |a| a.after_load),
        ],
    );
    let Some(recording) = recording("filamentgroup.com.har", HarOptions::default()) else { return };
    let document = recording.page.resource(recording.page.document()).unwrap();
    assert_eq!(document.url.to_string(), "https://www.filamentgroup.com/");
    assert_eq!(document.body, ByteSize(2270));
    let rtt = |name: &str| {
        recording.page.hosts().iter().find(|host| host.name == name).unwrap().recorded_rtt.unwrap()
    };
    assert_eq!(rtt("www.filamentgroup.com"), Duration::from_millis(47), "connect less ssl");
    assert_eq!(document.server_time, Duration::from_millis(3), "50 ms of wait");
}

#[test]
fn bbc_is_read_as_a_cold_load_of_a_warm_recording() {
    check(
        "bbc.com.har",
        &[
            ("entries", 120, |a| a.entries),
            ("hosts", 37, |a| a.hosts),
            ("replayed", 85, |a| a.replayed),
            ("after onLoad", 35, |a| a.after_load),
            ("the document not modified", 1, |a| u32::from(a.document_whole)),
            ("hosts with a connect", 7, |a| a.rtt_measured),
            ("hosts without one", 23, |a| a.rtt_assumed),
        ],
    );
    let Some(recording) = recording("bbc.com.har", HarOptions::default()) else { return };
    assert_eq!(recording.page.hosts().len(), 30);
    let document = recording.page.resource(recording.page.document()).unwrap();
    assert_eq!(document.body, ByteSize(30_536), "its Content-Length: the other sizes are 0");
}

#[test]
fn nytimes_is_the_first_of_two_loads_and_names_its_initiators() {
    check(
        "nytimes.com.har",
        &[
            ("entries", 328, |a| a.entries),
            ("hosts", 84, |a| a.hosts),
            ("pages", 2, |a| a.pages),
            ("of the other page", 101, |a| a.of_other_pages),
        ],
    );
    let Some(first) = recording("nytimes.com.har", HarOptions::default()) else { return };
    let named = first.assumptions.initiators_recorded;
    assert!(named > first.assumptions.replayed / 2, "{}", first.assumptions);
    let second =
        recording("nytimes.com.har", HarOptions { page: 1, ..HarOptions::default() }).unwrap();
    assert_eq!(second.assumptions.of_other_pages, 227);
}
