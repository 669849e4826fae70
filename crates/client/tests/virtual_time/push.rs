//! Pushed responses in a page load: taken, cancelled, left unused, and floods of them.

use crate::world::{
    Listener, Reply, Seen, Speaks, Trusted, Unasked, World, config, millis, ok, with,
};
use client::{Client, ClientConfig, Offer, PageLoad, Protocol, Push, Security, Transport};
use page::{Browser, Load};
use proto::spdy::Version;
use proto::{Method, RequestHead, Scheme};
use std::time::Duration;
use trace::{FetchOutcome, FetchRecord, MadeAgain, PushTally};

const SPDY: Transport =
    Transport { offer: Offer::Only(Protocol::Spdy31), security: Security::Clear };

const HTML: &str = "<link rel=stylesheet href=/style.css><script src=/app.js></script>";

/// A page that needs a style sheet and a script.
fn site(seen: &Seen) -> Reply {
    match &*seen.head.path {
        "/" => ok(HTML.as_bytes()),
        "/style.css" => ok(&[b' '; 3_000]),
        "/app.js" => ok(b";"),
        other => panic!("{other} was not asked for by the page"),
    }
}

fn taking(config: ClientConfig) -> ClientConfig {
    ClientConfig { push: Push::Taken, ..config }
}

fn load(world: &mut World, config: ClientConfig) -> PageLoad {
    let url = "http://a.test/".parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    world.run(Client::new(taking(config), load)).into_work()
}

/// A page over HTTP/2 in the clear, whose document comes with these.
fn visit(unasked: impl Fn() -> Vec<Unasked> + 'static) -> (World, PageLoad) {
    let mut world =
        World::new(Listener::Clear(Speaks::Http2), move |seen| match &*seen.head.path {
            "/" => with(unasked(), site(seen)),
            _ => site(seen),
        });
    let page = load(&mut world, config(Transport::H2_CLEAR));
    (world, page)
}

fn tally(page: &PageLoad) -> PushTally {
    page.records.connections[0].pushes
}

fn pushed(page: &PageLoad) -> Vec<&FetchRecord> {
    page.records.fetches.iter().filter(|fetch| fetch.pushed).collect()
}

fn style() -> Unasked {
    Unasked::Push("/style.css", vec![b' '; 3_000])
}

fn script() -> Unasked {
    Unasked::Push("/app.js", b";".to_vec())
}

#[test]
fn pushed_responses_wait_until_the_page_asks_and_save_a_round_trip() {
    let trusted = Trusted::new(&["h2"]);
    let listeners = [
        (Listener::Clear(Speaks::Http2), config(Transport::H2_CLEAR), 200),
        (Listener::Clear(Speaks::Spdy(Version::V3_1)), config(SPDY), 200),
        (Listener::Tls(trusted.server.clone()), trusted.config(Transport::BROWSER), 300),
    ];
    for (listener, settings, expected) in listeners {
        let security = settings.transport.security;
        let url = if security == Security::AsUrl { "https://a.test/" } else { "http://a.test/" };
        let mut world = World::new(listener, |seen| with([style(), script()], site(seen)));
        let url = url.parse().unwrap();
        let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
        let page = world.run(Client::new(taking(settings), work)).into_work();
        assert_eq!(world.asked(), ["/"]);
        assert_eq!(millis(page.milestones().load), expected);
        let pushed = pushed(&page);
        assert_eq!(pushed.len(), 2);
        for fetch in pushed {
            assert_eq!((fetch.connection, fetch.stream % 2), (Some(0), 0));
            assert_eq!(fetch.phases.sent, fetch.phases.first_byte);
        }
        let record = &page.records.connections[0];
        assert_eq!((record.requests, record.rounds, record.pushed), (1, 1, 2));
        let expected = PushTally { used: 2, bytes: 3_001, ..PushTally::default() };
        assert_eq!(record.pushes, expected);
    }
}

#[test]
fn a_page_asks_for_everything_itself_unless_its_client_takes_pushes() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| match &*seen.head.path {
        "/" => with([style(), script()], site(seen)),
        _ => site(seen),
    });
    let url = "http://a.test/".parse().unwrap();
    let work = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let page = world.run(Client::new(config(Transport::H2_CLEAR), work)).into_work();
    assert_eq!(world.asked(), ["/", "/style.css", "/app.js"]);
    assert_eq!(millis(page.milestones().load), 300);
    assert_eq!(page.records.connections[0].pushed, 0);
}

#[test]
fn a_fetch_waits_for_the_push_that_was_promised() {
    let late = || Unasked::LatePush(Duration::from_millis(70), "/style.css", vec![b' '; 3_000]);
    let (world, page) = visit(move || vec![late(), script()]);
    assert_eq!(world.asked(), ["/"]);
    assert_eq!(millis(page.milestones().load), 270);
    assert_eq!(tally(&page).used, 2);
}

#[test]
fn a_push_of_what_is_under_way_or_was_fetched_is_cancelled() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| match &*seen.head.path {
        // The style sheet is asked for before the script, so it is under way.
        "/app.js" => with([style(), script(), Unasked::Push("/", vec![b' '; 10])], site(seen)),
        _ => site(seen),
    });
    let page = load(&mut world, config(Transport::H2_CLEAR));
    assert!(page.milestones().load.is_some());
    assert_eq!(world.asked(), ["/", "/style.css", "/app.js"]);
    let tally = tally(&page);
    assert_eq!((tally.used, tally.cancelled, tally.unused), (0, 3, 0));
    assert_eq!(page.records.connections[0].pushed, 3);
}

#[test]
fn what_nobody_asks_for_is_counted_with_its_bytes() {
    let (world, page) = visit(|| vec![Unasked::Push("/other.css", vec![b' '; 500]), style()]);
    assert_eq!(world.asked(), ["/", "/app.js"]);
    assert!(page.milestones().load.is_some());
    let tally = tally(&page);
    assert_eq!((tally.used, tally.cancelled, tally.unused), (1, 0, 1));
    assert_eq!((tally.bytes, tally.wasted_bytes), (3_500, 500));
    assert_eq!(page.records.fetches.len(), 3);
}

#[test]
fn a_promise_that_must_not_be_made_is_refused() {
    let get = |scheme, authority| RequestHead::get(scheme, authority, "/style.css");
    let head = RequestHead { method: Method::Head, ..get(Scheme::Http, "a.test") };
    let heads = [
        get(Scheme::Http, "b.test"),
        get(Scheme::Http, "a.test:81"),
        get(Scheme::Https, "a.test"),
        head,
    ];
    let (world, page) =
        visit(move || heads.iter().cloned().map(Unasked::Promise).collect::<Vec<_>>());
    assert_eq!(world.asked(), ["/", "/style.css", "/app.js"]);
    assert!(page.milestones().load.is_some());
    assert_eq!(tally(&page), PushTally { cancelled: 4, ..PushTally::default() });
}

#[test]
fn the_second_promise_of_a_path_is_cancelled() {
    let (world, page) = visit(|| vec![style(), style(), script()]);
    assert_eq!(world.asked(), ["/"]);
    let tally = tally(&page);
    assert_eq!((tally.used, tally.cancelled, tally.unused), (2, 1, 0));
}

#[test]
fn more_bytes_than_may_wait_cancel_a_push_and_leave_the_windows_open() {
    let large = |path| Unasked::Push(path, vec![0; 3_000_000]);
    let mut world = World::new(Listener::Clear(Speaks::Http2), move |seen| {
        let pushes = ["/1", "/2", "/3", "/4", "/5"].map(large);
        let pushes = pushes.into_iter().chain([style(), script()]);
        match &*seen.head.path {
            "/" => with(pushes, Reply::Late(Duration::from_secs(5), HTML.into())),
            _ => site(seen),
        }
    });
    let page = load(&mut world, config(Transport::H2_CLEAR));
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    assert_eq!(world.asked(), ["/"]);
    let tally = tally(&page);
    assert_eq!((tally.used, tally.cancelled + tally.unused), (2, 5));
    assert!(tally.cancelled >= 3, "{tally:?}");
    assert_eq!(tally.wasted_bytes, 15_000_000);
}

/// PUSH_PROMISE of a GET of `http://a.test` + `path`, of which no header table hears.
fn promise_frame(parent: u32, promised: u32, path: &str) -> Vec<u8> {
    let mut payload = promised.to_be_bytes().to_vec();
    payload.extend([0x82, 0x86, 0x01, 6]);
    payload.extend(b"a.test");
    payload.extend([0x04, path.len() as u8]);
    payload.extend(path.as_bytes());
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([5, 4]);
    frame.extend(parent.to_be_bytes());
    frame.extend(payload);
    frame
}

#[test]
fn ten_thousand_promises_are_bounded_and_the_page_still_loads() {
    let (world, page) = visit(|| {
        let frames = (1..=10_000).map(|n| promise_frame(1, 2 * n, &format!("/{n}")));
        vec![Unasked::Raw(frames.flatten().collect())]
    });
    assert_eq!(world.asked(), ["/", "/style.css", "/app.js"]);
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    let tally = tally(&page);
    assert_eq!((tally.used, tally.unused), (0, 256));
    assert_eq!(tally.unused + tally.cancelled, page.records.connections[0].pushed);
}

#[test]
fn a_promise_on_a_stream_that_is_closed_or_was_promised_itself_ends_the_connection_by_name() {
    for parent in [1, 2] {
        let mut world =
            World::new(Listener::Clear(Speaks::Http2), move |seen| match &*seen.head.path {
                "/style.css" => {
                    let loops = promise_frame(3, 2, "/loop");
                    let next = promise_frame(parent, 4, "/next");
                    let frames = if parent == 1 { next } else { [loops, next].concat() };
                    with([Unasked::Raw(frames)], Reply::Silence)
                }
                _ => site(seen),
            });
        let page = load(&mut world, config(Transport::H2_CLEAR));
        let reasons: Vec<&str> = page
            .records
            .fetches
            .iter()
            .filter_map(|fetch| match &fetch.outcome {
                FetchOutcome::Failed(reason) => Some(&**reason),
                FetchOutcome::Done => None,
            })
            .collect();
        assert!(!reasons.is_empty());
        assert!(reasons.iter().all(|reason| reason.contains("RFC 9113 §6.6")), "{reasons:?}");
    }
}

#[test]
fn a_push_that_the_server_resets_is_asked_for() {
    let (world, page) = visit(|| {
        let reset = [0, 0, 4, 3, 0, 0, 0, 0, 2, 0, 0, 0, 8];
        let promise = promise_frame(1, 2, "/style.css");
        vec![Unasked::Raw([promise, reset.to_vec()].concat())]
    });
    assert_eq!(world.asked(), ["/", "/style.css", "/app.js"]);
    assert!(page.milestones().load.is_some());
    assert_eq!(tally(&page), PushTally { cancelled: 1, ..PushTally::default() });
}

#[test]
fn a_push_that_the_server_resets_after_a_fetch_has_taken_it_is_asked_for() {
    let mut world = World::new(Listener::Clear(Speaks::Http2), |seen| match &*seen.head.path {
        "/" => with([Unasked::Raw(promise_frame(1, 2, "/style.css"))], site(seen)),
        "/app.js" => {
            // INTERNAL_ERROR.
            let reset = [0, 0, 4, 3, 0, 0, 0, 0, 2, 0, 0, 0, 2];
            with([Unasked::Raw(reset.to_vec())], site(seen))
        }
        _ => site(seen),
    });
    let page = load(&mut world, config(Transport::H2_CLEAR));
    assert_eq!(world.asked(), ["/", "/app.js", "/style.css"]);
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    let style = page.records.fetches.iter().find(|fetch| fetch.url.ends_with("/style.css"));
    let style = style.unwrap();
    assert_eq!((style.status, style.pushed), (Some(200), false));
    assert_eq!(style.made_again, [MadeAgain::NotProcessed]);
}
