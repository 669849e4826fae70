//! Early hints (103) and `Link` fields in a page load: followed, matched, left unused, and floods of them.

use crate::world::{Listener, Reply, Seen, Speaks, Unasked, World, config, millis, ok, with};
use client::{Client, ClientConfig, EarlyHints, PageLoad, Transport};
use page::{Browser, Load, Page, ResourceId};
use proto::{Fields, Status};
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord, HintTally};

const HTML: &str = "<link rel=stylesheet href=/style.css><img src=/pic.png>";
const STYLE: &str = "</style.css>; rel=preload; as=style";

/// How long the server thinks about the document.
const THINK: Duration = Duration::from_millis(200);

fn document() -> Reply {
    Reply::Late(THINK, HTML.into())
}

fn site(seen: &Seen) -> Reply {
    match &*seen.head.path {
        "/" => document(),
        "/style.css" => ok(&[b' '; 300]),
        "/pic.png" => ok(&[1; 300]),
        "/other.css" => ok(&[b' '; 70]),
        other => panic!("{other} was not asked for by the page"),
    }
}

/// A page whose document comes after these.
fn visit(
    speaks: Speaks,
    settings: ClientConfig,
    unasked: impl Fn() -> Vec<Unasked> + 'static,
) -> (World, PageLoad) {
    let mut world = World::new(Listener::Clear(speaks), move |seen| match &*seen.head.path {
        "/" => with(unasked(), site(seen)),
        _ => site(seen),
    });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let page = world.run(Client::new(settings, work)).into_work();
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    (world, page)
}

fn over_h2(unasked: impl Fn() -> Vec<Unasked> + 'static) -> (World, PageLoad) {
    visit(Speaks::Http2, config(Transport::H2_CLEAR), unasked)
}

fn fetch<'p>(page: &'p PageLoad, path: &str) -> &'p FetchRecord {
    page.records.fetches.iter().find(|fetch| fetch.url.ends_with(path)).unwrap()
}

#[test]
fn a_hinted_fetch_begins_while_the_server_thinks_and_is_matched_when_it_is_found() {
    let (world, page) = over_h2(|| vec![Unasked::Hints(&[STYLE])]);
    assert_eq!(world.asked(), ["/", "/style.css", "/pic.png"]);
    // The 103 comes 200 ms after the start, the document 200 ms after that.
    let style = fetch(&page, "/style.css");
    assert!(style.hinted && !fetch(&page, "/pic.png").hinted);
    assert_eq!(millis(Some(style.phases.queued)), 200);
    assert_eq!(millis(style.phases.last_byte), 300);
    assert_eq!(millis(page.milestones().document), 400);
    assert_eq!(millis(page.milestones().load), 500);
    let head = &world.seen[1].head.fields;
    assert_eq!(
        (head.find_str("priority"), head.find_str("sec-fetch-dest")),
        (Some("u=0, i"), Some("style"))
    );
    assert_eq!(head.find_str("referer"), Some("http://a.test/"));
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
}

/// A recorded page has each hop of a redirect as a fetch of its own, and the client follows none.
#[test]
fn hints_are_followed_on_a_recorded_page_that_begins_with_a_redirect() {
    let resource = |url: &str, kind: &str, status: u16, body: usize, release: serde_json::Value| {
        let url: page::Url = url.parse().unwrap();
        serde_json::json!({"url": url, "kind": kind, "status": status, "content_type": "", "body": body,
            "server_time": 0, "release": release, "think": 0, "hint": "none"})
    };
    let by = |by: u32| serde_json::json!({"completed": {"by": by}});
    let resources = serde_json::json!([
        resource("http://old.test/", "document", 301, 0, "navigation".into()),
        resource("http://a.test/", "document", 200, HTML.len(), by(0)),
        resource("http://a.test/style.css", "stylesheet", 200, 300, by(1)),
        resource("http://a.test/pic.png", "image", 200, 300, by(2)),
    ]);
    let page = Page::new(ResourceId(1), serde_json::from_value(resources).unwrap()).unwrap();
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| {
        match (&*seen.head.authority, &*seen.head.path) {
            ("old.test", _) => {
                let fields = Fields::new().with("location", "http://a.test/");
                Reply::Whole(Status::new(301).unwrap(), fields, Vec::new())
            }
            (_, "/") => with([Unasked::Hints(&[STYLE])], site(seen)),
            _ => site(seen),
        }
    });
    let settings = ClientConfig { redirects: 0, ..config(Transport::H2_CLEAR) };
    let work = PageLoad::new(move |now| Load::replay(&page, Browser::Chrome156, now));
    let page = world.run(Client::new(settings, work)).into_work();
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
    let referers: Vec<_> =
        world.seen.iter().map(|seen| seen.head.fields.find_str("referer")).collect();
    let own = Some("http://a.test/");
    assert_eq!(referers, [None, None, own, own]);
}

#[test]
fn only_the_first_103_is_followed_and_none_where_the_client_ignores_them() {
    let twice = || vec![Unasked::Hints(&[]), Unasked::Hints(&[STYLE])];
    let (_, page) = over_h2(twice);
    assert_eq!(page.hints(), HintTally::default());
    let ignoring = ClientConfig { early_hints: EarlyHints::Ignored, ..config(Transport::H2_CLEAR) };
    let (_, page) = visit(Speaks::Http2, ignoring, || vec![Unasked::Hints(&[STYLE])]);
    assert_eq!(page.hints(), HintTally::default());
}

#[test]
fn over_http1_hints_are_read_and_ignored() {
    let (world, page) =
        visit(Speaks::Http1, config(Transport::H1), || vec![Unasked::Hints(&[STYLE])]);
    assert_eq!(world.asked(), ["/", "/style.css", "/pic.png"]);
    assert_eq!(page.hints(), HintTally::default());
    assert!(page.records.fetches.iter().all(|fetch| !fetch.hinted));
}

#[test]
fn hints_of_other_responses_than_the_document_are_ignored() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| match &*seen.head.path {
        "/style.css" => {
            with([Unasked::Hints(&["</other.css>; rel=preload; as=style"])], site(seen))
        }
        _ => site(seen),
    });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let page = world.run(Client::new(config(Transport::H2_CLEAR), work)).into_work();
    assert_eq!(world.asked(), ["/", "/style.css", "/pic.png"]);
    assert_eq!(page.hints(), HintTally::default());
}

#[test]
fn what_is_hinted_and_never_found_is_counted_and_does_not_prolong_the_load() {
    let (world, page) = over_h2(|| vec![Unasked::Hints(&["</other.css>; rel=preload; as=style"])]);
    assert_eq!(world.asked(), ["/", "/other.css", "/style.css", "/pic.png"]);
    assert_eq!(millis(page.milestones().load), 500);
    assert_eq!(page.records.fetches.len(), 3);
    let expected = HintTally { fetches: 1, wasted_bytes: 70, ..HintTally::default() };
    assert_eq!(page.hints(), expected);
}

#[test]
fn a_hinted_fetch_that_is_still_under_way_when_the_page_is_loaded_is_cancelled() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| match &*seen.head.path {
        "/" => with([Unasked::Hints(&["</slow>; rel=preload; as=fetch"])], site(seen)),
        "/slow" => Reply::Late(Duration::from_secs(9), vec![0; 50]),
        _ => site(seen),
    });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let page = world.run(Client::new(config(Transport::H2_CLEAR), work)).into_work();
    assert_eq!(millis(page.milestones().load), 500);
    assert!(world.now.since(crate::world::START) < Duration::from_secs(5));
    assert!(page.records.fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done));
    assert_eq!(page.hints(), HintTally { fetches: 1, ..HintTally::default() });
}

#[test]
fn a_hinted_fetch_that_failed_is_made_again() {
    let mut refused = false;
    let mut world =
        World::new(Listener::Clear(Speaks::Http2), move |seen| match &*seen.head.path {
            "/" => with([Unasked::Hints(&[STYLE])], site(seen)),
            // Once for the fetch, once for its repetition.
            "/style.css" if !std::mem::replace(&mut refused, true) => {
                let status = Status::new(302).unwrap();
                Reply::Whole(status, Fields::new().with("location", "ftp://a.test/"), Vec::new())
            }
            _ => site(seen),
        });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let page = world.run(Client::new(config(Transport::H2_CLEAR), work)).into_work();
    assert!(page.milestones().load.is_some());
    assert_eq!(world.asked(), ["/", "/style.css", "/style.css", "/pic.png"]);
    assert_eq!(page.hints(), HintTally { fetches: 1, ..HintTally::default() });
}

#[test]
fn links_of_the_documents_own_head_begin_before_its_body_is_read() {
    let mut world = World::new(Listener::Clear(Speaks::Http1), |seen| match &*seen.head.path {
        "/" => {
            let fields =
                Fields::new().with("link", "</pic.png>; rel=preload; as=image; fetchpriority=high");
            Reply::Whole(Status::OK, fields, HTML.into())
        }
        _ => site(seen),
    });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    // Its body comes after its head.
    world.piece = 60;
    let settings = config(Transport::H1);
    let page = world.run(Client::new(settings, work)).into_work();
    assert!(fetch(&page, "/pic.png").hinted);
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
}

#[test]
fn preconnect_opens_a_connection_that_a_later_fetch_finds_open() {
    let html = "<img src=http://b.test/pic.png>";
    for hints in [&["<http://b.test>; rel=preconnect"][..], &[]] {
        let mut world =
            World::new(Listener::Clear(Speaks::Http2), move |seen| match &*seen.head.path {
                "/" => with([Unasked::Hints(hints)], Reply::Late(THINK, html.into())),
                _ => site(seen),
            });
        let url = "http://a.test/".parse().unwrap();
        let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
        let page = world.run(Client::new(config(Transport::H2_CLEAR), work)).into_work();
        let pic = fetch(&page, "/pic.png");
        assert_eq!(pic.phases.connect_start.is_none(), !hints.is_empty());
        let expected = if hints.is_empty() { 600 } else { 500 };
        assert_eq!(millis(page.milestones().load), expected);
        assert_eq!(page.hints().connections, hints.len() as u32);
        assert_eq!(world.opened(), 2);
    }
}

#[test]
fn a_flood_of_103_is_bounded_and_the_page_still_loads() {
    let (world, page) = over_h2(|| {
        let first = Unasked::Hints(&[STYLE]);
        let more = (0..2_000).map(|_| Unasked::Hints(&["</x>; rel=preload; as=image"]));
        [first].into_iter().chain(more).collect()
    });
    assert_eq!(world.asked(), ["/", "/style.css", "/pic.png"]);
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
}
