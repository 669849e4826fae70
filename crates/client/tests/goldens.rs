//! The model of a browser against recordings of the real ones (`goldens/`): which stream comes when, its place in HTTP/2's tree,
//! its `priority` field, and the frames that raise it. Both sides are what the origin's delivery log saw, over the same link.
//!
//! Not modelled, and left out of the order: prefetches, requests by inline scripts, the favicon. Firefox's order of requests is not
//! modelled either; its frames are compared one resource at a time.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

mod world;

use bytes::Bytes;
use client::{Client, ClientConfig, PageLoad, Raises, Transport};
use origin::{
    DeliveryLog, File, FileFacts, Files, FilesError, Found, ListenerKind, Origin, OriginConfig,
    Parts, WallClock,
};
use page::{Browser, Class, Load, Place, Priority, Synthetic, Url};
use proto::schedule::Policy;
use sim::{Ended, Path, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use trace::{AskedPriority, DeliveryRecord, PrioritySource, Tracer};
use unit::Instant;
use world::{START, Trusted};

const KINDS: &str = include_str!("goldens/kinds.html");

/// The page `late-hero` as it was recorded.
const LATE_HERO: &str = "/page?images=0&bytes=60000&seed=1&css=1&scripts=1&async=1&defer=1&below_fold=7&css_bytes=20000\
                         &script_bytes=20000&hero=60000";

/// A page that waits for its style sheet.
const LONG_SHEET: &str =
    "/page?images=0&bytes=60000&seed=1&css=1&css_bytes=100000&below_fold=2&hero=200000";

/// The page of every kind of resource, the one file of the origin.
struct Kinds;

impl Files for Kinds {
    fn find(&self, _: Instant, path: &str) -> Result<Found, FilesError> {
        match path {
            "kinds.html" => Ok(Found::File(Rc::new(Self))),
            _ => Err(FilesError::NotFound),
        }
    }
}

impl File for Kinds {
    fn facts(&self) -> FileFacts {
        FileFacts { length: KINDS.len() as u64, modified: 0, modified_nanos: 0, identity: 1 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        let text = Bytes::from_static(KINDS.as_bytes());
        let start = (offset as usize).min(text.len());
        Some(text.slice(start..(start + length).min(text.len())))
    }
}

/// What the model says of each stream of the page at `target`, in the lines of a golden.
fn modelled(config: ClientConfig, kind: ListenerKind, target: &str) -> Vec<String> {
    let origin_url: Url = "https://a.test/".parse().unwrap();
    let browser = config.browser;
    let url = origin_url.join(target).unwrap();
    let page = target.parse::<Synthetic>().ok().map(|page| page.page(&origin_url).unwrap());
    let work = PageLoad::new(move |now| match &page {
        Some(page) => Load::replay(page, browser, now),
        None => Load::browse(url, browser, now),
    });
    let records: Rc<RefCell<Vec<DeliveryRecord>>> = Rc::default();
    let kept = Rc::clone(&records);
    let keep = move |record| kept.borrow_mut().push(record);
    let log = Rc::new(DeliveryLog::new(Policy::Rfc7540, Box::new(keep)));
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let is_quic = matches!(kind, ListenerKind::Quic(..));
    let settings =
        OriginConfig { priorities: Policy::Rfc7540, ..OriginConfig::new(vec![kind], wall_clock) };
    let tracer = Tracer::to(log.clone());
    let parts = Parts { files: Some(Box::new(Kinds)), log: Some(log), tracer, ..Parts::default() };
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Client::new(config, work));
    let origin = Origin::new(settings, parts);
    let far = match is_quic {
        true => {
            let far = world.host("10.0.0.2", origin);
            world.listen_datagrams(far, "10.0.0.2:443");
            far
        }
        false => world.listen("0.0.0.0:0", origin),
    };
    world.connect(near, far, Path::link(link::find("slow-4g").unwrap().spec()));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    drop(world.take(near));
    lines(records.take())
}

fn lines(mut records: Vec<DeliveryRecord>) -> Vec<String> {
    records.sort_by_key(|record| (record.connection, record.stream));
    let path = |record: &DeliveryRecord| record.path.split('?').next().unwrap().to_owned();
    let names: BTreeMap<u64, String> =
        records.iter().map(|record| (record.stream, path(record))).collect();
    let line = |record: &DeliveryRecord| {
        let said = record.asked.iter().map(|signal| {
            let by = match signal.by {
                PrioritySource::Headers => "HEADERS",
                PrioritySource::Priority => "PRIORITY",
                PrioritySource::Field => "priority field",
                PrioritySource::PriorityUpdate => "PRIORITY_UPDATE",
                PrioritySource::SynStream => "SYN_STREAM",
            };
            match signal.asked {
                AskedPriority::Dependency { parent, weight, exclusive } => {
                    let parent = match names.get(&parent) {
                        Some(path) => path.clone(),
                        None if parent == 0 => "root".to_owned(),
                        None => format!("group {parent}"),
                    };
                    let kind = if exclusive { "exclusive" } else { "shared" };
                    let soon = signal.at.since(record.requested) < Duration::from_millis(100);
                    let when = match signal.by {
                        PrioritySource::Headers => "",
                        _ if soon => " at once",
                        _ => " later",
                    };
                    format!("{by}{when} {parent} {weight} {kind}")
                }
                AskedPriority::Urgency { urgency, incremental } => {
                    format!("{by} u={urgency}{}", if incremental { ", i" } else { "" })
                }
                AskedPriority::Level { level } => format!("{by} {level}"),
            }
        });
        let mut said: Vec<String> = said.collect();
        said.sort();
        std::iter::once(path(record)).chain(said).collect::<Vec<_>>().join("; ")
    };
    records.iter().map(line).collect()
}

fn over_tls(browser: Browser, target: &str) -> Vec<String> {
    let trusted = Trusted::new(&["h2"]);
    let config = ClientConfig { browser, ..trusted.config(Transport::H2) };
    modelled(config, ListenerKind::Tls(trusted.server.clone()), target)
}

/// The lines of a recording, without its comments and what the model does not fetch.
fn recorded(text: &str) -> Vec<String> {
    let is_modelled = |line: &&str| {
        !line.starts_with('#') && !line.starts_with(PREFETCH) && !line.starts_with(FETCHED)
    };
    text.lines().filter(is_modelled).map(str::to_owned).collect()
}

/// The prefetched script, and what an inline script asks for.
const PREFETCH: &str = "/script/9.js;";
const FETCHED: &str = "/image/0;";

#[test]
fn chromium_156_is_reproduced_frame_by_frame_on_the_late_hero() {
    let golden = recorded(include_str!("goldens/chrome-156-late-hero.txt"));
    assert_eq!(golden.len(), 13);
    assert_eq!(over_tls(Browser::Chrome156, LATE_HERO), golden);
}

#[test]
fn chromium_156_is_reproduced_frame_by_frame_on_a_page_of_every_kind() {
    let golden = recorded(include_str!("goldens/chrome-156-kinds.txt"));
    assert_eq!(golden.len(), 15);
    assert_eq!(over_tls(Browser::Chrome156, "/kinds.html"), golden);
}

#[test]
fn chromium_156_is_reproduced_frame_by_frame_where_the_markup_raises_the_hero() {
    let golden = recorded(include_str!("goldens/chrome-156-late-hero-high.txt"));
    assert_eq!(golden.len(), 13);
    assert_eq!(over_tls(Browser::Chrome156, &format!("{LATE_HERO}&hero_high=1")), golden);
}

/// The hero is asked for at once and raised when the style sheet is there; over HTTP/3 it is not raised.
#[test]
fn chromium_156_is_reproduced_frame_by_frame_on_a_page_that_waits_for_its_style_sheet() {
    let golden = recorded(include_str!("goldens/chrome-156-long-sheet.txt"));
    assert_eq!(golden.len(), 5);
    assert_eq!(over_tls(Browser::Chrome156, LONG_SHEET), golden);
    let golden = recorded(include_str!("goldens/chrome-156-long-sheet-h3.txt"));
    assert_eq!(golden.len(), 5);
    let trusted = Trusted::new(&["h3"]);
    let kind = ListenerKind::Quic(trusted.server.clone(), Default::default());
    assert_eq!(modelled(trusted.config(Transport::H3), kind, LONG_SHEET), golden);
}

#[test]
fn chromium_156_lets_one_async_script_go_beside_one_that_stops_the_parser() {
    let golden = recorded(include_str!("goldens/chrome-156-async.txt"));
    assert_eq!(golden.len(), 5);
    let target = "/page?images=0&bytes=60000&seed=1&scripts=1&script_bytes=150000&async=3";
    assert_eq!(over_tls(Browser::Chrome156, target), golden);
}

#[test]
fn chromium_156_over_http3_updates_each_request_and_raises_none() {
    let golden = recorded(include_str!("goldens/chrome-156-late-hero-h3.txt"));
    assert_eq!(golden.len(), 13);
    let trusted = Trusted::new(&["h3"]);
    let kind = ListenerKind::Quic(trusted.server.clone(), Default::default());
    assert_eq!(modelled(trusted.config(Transport::H3), kind, LATE_HERO), golden);
}

#[test]
fn chromium_92_is_reproduced_frame_by_frame_on_the_late_hero() {
    let golden = recorded(include_str!("goldens/chrome-92-late-hero.txt"));
    assert_eq!(golden.len(), 13);
    assert_eq!(over_tls(Browser::Chrome92, LATE_HERO), golden);
}

#[test]
fn firefox_153_says_the_same_of_each_resource() {
    for (target, golden) in [
        (LATE_HERO, include_str!("goldens/firefox-153-late-hero.txt")),
        ("/kinds.html", include_str!("goldens/firefox-153-kinds.txt")),
    ] {
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        let golden = sorted(recorded(golden));
        assert!(golden.len() >= 13, "{golden:?}");
        assert_eq!(sorted(over_tls(Browser::Firefox153, target)), golden);
    }
}

/// No recording, but what was published of it (`page::Browser`): leaders depend on 3, unblocked on 5, followers on 11.
#[test]
fn firefox_38_puts_each_resource_into_one_of_its_groups() {
    let expected = [
        "/page; HEADERS group 11 32 shared",
        "/style/0.css; HEADERS group 3 2 shared",
        "/script/0.js; HEADERS group 3 2 shared",
        "/script/1.js; HEADERS group 5 2 shared",
        "/script/2.js; HEADERS group 5 2 shared",
        "/picture/hero.png; HEADERS group 11 12 shared",
    ];
    let said = over_tls(Browser::Firefox38, LATE_HERO);
    for line in expected {
        assert!(said.iter().any(|one| one == line), "{line} is not among {said:#?}");
    }
    let images = said.iter().filter(|line| line.ends_with("HEADERS group 11 12 shared")).count();
    assert_eq!((said.len(), images), (13, 8), "the hero and seven below: none is raised");
}

/// The classes that the model of a load does not fetch stand in the tables as they were recorded.
#[test]
fn prefetches_and_requests_by_scripts_are_in_the_tables_as_recorded() {
    for (browser, golden) in [
        (Browser::Chrome92, include_str!("goldens/chrome-92-kinds.txt")),
        (Browser::Chrome156, include_str!("goldens/chrome-156-kinds.txt")),
        (Browser::Firefox153, include_str!("goldens/firefox-153-kinds.txt")),
    ] {
        for (path, class) in [(PREFETCH, Class::Prefetch), (FETCHED, Class::Xhr)] {
            let line = golden.lines().find(|line| line.starts_with(path)).unwrap();
            let signals = browser.signals(class);
            let weight = match signals.place {
                Place::Chain { level } => page::CHROMIUM_WEIGHTS[usize::from(level)],
                Place::Root { weight } | Place::Group { weight, .. } => weight,
            };
            let kind = match signals.place {
                Place::Chain { .. } => "exclusive",
                Place::Root { .. } | Place::Group { .. } => "shared",
            };
            assert!(line.contains(&format!(" {weight} {kind}")), "{browser:?}: {line}");
            let Priority { urgency, incremental } = signals.priority;
            let field = format!("u={urgency}{}", if incremental { ", i" } else { "" });
            assert_eq!(line.ends_with(&field), browser.sends_field(), "{browser:?}: {line}");
        }
    }
}

#[test]
fn the_control_client_raises_the_hero_by_priority_update_too_and_says_all_else_as_chromium() {
    let trusted = Trusted::new(&["h2"]);
    let config = ClientConfig { raises: Raises::PriorityUpdate, ..trusted.config(Transport::H2) };
    let control = modelled(config, ListenerKind::Tls(trusted.server.clone()), LATE_HERO);
    let browser = over_tls(Browser::Chrome156, LATE_HERO);
    let differing: Vec<_> =
        control.iter().zip(&browser).filter(|(one, other)| one != other).collect();
    let [(raised, plain)] = *differing else { panic!("{differing:?}") };
    assert!(raised.starts_with("/picture/hero.png;"), "{raised}");
    assert_eq!(raised.replace("; PRIORITY_UPDATE u=1, i", ""), *plain);
}
