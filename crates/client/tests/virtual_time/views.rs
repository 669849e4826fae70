//! The next view of a page: what the first one left in the cache, and its cookies, against servers in virtual time.

use crate::world::{
    DELAY, Listener, Reply, START, Seen, Speaks, Trusted, Unasked, World, config, ok, with,
};
use bytes::Bytes;
use client::{Absence, Cache, Client, ClientConfig, Cookies, PageLoad, Push, Transport};
use origin::{
    ByLink, CasperSettings, DeliveryPolicy, File, FileFacts, Files, FilesError, Found,
    ListenerKind, Origin, OriginConfig, Parts, PushSettings, Rule, WallClock,
};
use page::{Browser, Load};
use proto::{Fields, Status};
use sim::{Ended, Path};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use trace::{CacheTally, FetchOutcome, HintTally};
use transport::QuicSettings;
use unit::{Instant, Seed};

const HTML: &str = "<link rel=stylesheet href=/fresh.css><script src=/stale.js></script>\
                    <img src=/changed.png><img src=/unstored.png>";

/// A site whose files last differently, in its first version.
fn site(seen: &Seen) -> Reply {
    version(seen, "\"1\"")
}

/// The same later, when a picture has changed.
fn later(seen: &Seen) -> Reply {
    version(seen, "\"2\"")
}

fn version(seen: &Seen, picture: &str) -> Reply {
    let head = &seen.head;
    let asks = head.fields.find_str("if-none-match");
    let answer = |caching: &str, etag: &str, body: &[u8]| {
        let fields = Fields::new().with("cache-control", caching).with("etag", etag);
        match asks == Some(etag) {
            true => Reply::Whole(Status::NOT_MODIFIED, fields, Vec::new()),
            false => Reply::Whole(Status::OK, fields, body.to_vec()),
        }
    };
    match &*head.path {
        "/" => ok(HTML.as_bytes()),
        "/fresh.css" => answer("max-age=3600", "\"f\"", &[b' '; 100]),
        "/stale.js" => answer("max-age=60", "\"s\"", b";;"),
        "/changed.png" => answer("no-cache", picture, &[1; 30]),
        "/unstored.png" => answer("no-store", "\"u\"", &[2; 40]),
        other => panic!("{other} was not asked for by the page"),
    }
}

fn page_load() -> PageLoad {
    let url = "http://a.test/".parse().unwrap();
    PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now))
}

/// A view over HTTP/2 in the clear with this cache, and the paths that it asked for with their validators.
fn view(
    cache: Cache,
    site: impl FnMut(&Seen) -> Reply + 'static,
    settings: ClientConfig,
) -> (PageLoad, Vec<(String, bool)>) {
    let mut world = World::new(Listener::Clear(Speaks::Http2), site);
    let page = world.run(Client::new(settings, page_load().with_cache(cache))).into_work();
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    let asked = world.seen.iter().map(|seen| {
        (seen.head.path.to_string(), seen.head.fields.find(b"if-none-match").is_some())
    });
    (page, asked.collect())
}

/// What the first view of the site leaves after a while.
fn first_view(away: u64, evicted: u32) -> Cache {
    let (page, asked) = view(Cache::new(), site, config(Transport::H2_CLEAR));
    assert_eq!(asked.len(), 5);
    assert_eq!(page.cached(), CacheTally::default());
    let absence = Absence { away: Duration::from_secs(away), evicted, seed: Seed(1) };
    page.into_cache().unwrap().after(absence)
}

fn asked(those: &[(&str, bool)]) -> Vec<(String, bool)> {
    those.iter().map(|(path, asks)| ((*path).to_owned(), *asks)).collect()
}

#[test]
fn a_next_view_asks_for_what_is_stale_changed_or_was_not_stored() {
    let (page, seen) = view(first_view(600, 0), later, config(Transport::H2_CLEAR));
    assert_eq!(
        seen,
        asked(&[
            ("/", false),
            ("/stale.js", true),
            ("/changed.png", true),
            ("/unstored.png", false)
        ])
    );
    assert_eq!(page.cached(), CacheTally { fresh: 1, revalidated: 1, bytes: 102 });
    let script = page.records.fetches.iter().find(|one| one.url.ends_with("stale.js")).unwrap();
    assert_eq!(
        (script.status, script.body_bytes, &script.outcome),
        (Some(304), 0, &FetchOutcome::Done)
    );
}

#[test]
fn a_cache_that_was_evicted_is_that_of_a_first_view() {
    let (page, seen) = view(first_view(0, 100), site, config(Transport::H2_CLEAR));
    assert_eq!((seen.len(), page.cached()), (5, CacheTally::default()));
    assert!(seen.iter().all(|(_, asks)| !asks));
}

#[test]
fn pushes_and_hints_of_what_is_fresh_are_of_no_use() {
    let settings = ClientConfig { push: Push::Taken, ..config(Transport::H2_CLEAR) };
    let pushing = |seen: &Seen| match &*seen.head.path {
        "/" => with(
            [
                Unasked::Push("/fresh.css", vec![b' '; 100]),
                Unasked::Hints(&["</fresh.css>; rel=preload; as=style"]),
            ],
            site(seen),
        ),
        _ => site(seen),
    };
    let (page, seen) = view(first_view(600, 0), pushing, settings);
    assert!(!seen.iter().any(|(path, _)| path == "/fresh.css"));
    let pushes = page.records.connections[0].pushes;
    assert_eq!((pushes.used, pushes.cancelled, pushes.unused), (0, 1, 0));
    assert_eq!(page.hints(), HintTally::default());
    assert_eq!(page.cached().fresh, 1);
}

#[test]
fn a_hinted_fetch_of_what_is_stale_asks_whether_it_is_current() {
    let hinting = |seen: &Seen| match &*seen.head.path {
        "/" => with(
            [Unasked::Hints(&["</stale.js>; rel=preload; as=script"])],
            Reply::Late(DELAY, HTML.into()),
        ),
        _ => later(seen),
    };
    let (page, seen) = view(first_view(600, 0), hinting, config(Transport::H2_CLEAR));
    assert_eq!(seen[1], ("/stale.js".to_owned(), true));
    assert_eq!(page.hints().used, 1);
    assert_eq!(page.cached(), CacheTally { fresh: 1, revalidated: 1, bytes: 102 });
}

/// Two pages that share a style sheet, as files in memory.
struct Memory;

struct Held(Bytes);

impl Files for Memory {
    fn find(&self, _: Instant, path: &str) -> Result<Found, FilesError> {
        let page = |script: &str| {
            format!("<link rel=stylesheet href=/style.css><script src=/{script}></script>").into()
        };
        let body = match path {
            "one.html" => page("one.js"),
            "two.html" => page("two.js"),
            "style.css" => Bytes::from(vec![b' '; 20_000]),
            "one.js" | "two.js" => Bytes::from(vec![b';'; 10_000]),
            _ => return Err(FilesError::NotFound),
        };
        Ok(Found::File(Rc::new(Held(body))))
    }
}

impl File for Held {
    fn facts(&self) -> FileFacts {
        FileFacts { length: self.0.len() as u64, modified: 0, modified_nanos: 0, identity: 1 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        let begin = (offset as usize).min(self.0.len());
        Some(self.0.slice(begin..self.0.len().min(begin + length)))
    }
}

fn rule(page: &str, targets: [&str; 2]) -> Rule {
    let links = targets.map(|target| format!("<{target}>; rel=preload; as=x").parse().unwrap());
    Rule { path: Some(page.parse().unwrap()), links: links.into(), ..Rule::default() }
}

/// A load of a page of the origin over TLS, with what an earlier one has left.
fn visit(
    trusted: &Trusted,
    settings: ClientConfig,
    policy: DeliveryPolicy,
    load: PageLoad,
) -> Client<PageLoad> {
    let tls = trusted.server.clone();
    let kinds =
        vec![ListenerKind::Tls(tls.clone()), ListenerKind::Quic(tls, QuicSettings::default())];
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let delivery = Some(Arc::new(policy));
    let config = OriginConfig { delivery, ..OriginConfig::new(kinds, wall_clock) };
    let origin = Origin::new(config, Parts { files: Some(Box::new(Memory)), ..Parts::default() });
    let mut world = sim::World::new(1);
    let near = world.host("10.0.0.1", Client::new(settings, load));
    let far = world.listen("10.0.0.2:443", origin);
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::delay(DELAY));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    world.take(near)
}

fn load_of(page: &str) -> PageLoad {
    let url = format!("https://a.test/{page}").parse().unwrap();
    PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now))
}

#[test]
fn the_casper_cookie_comes_back_and_only_the_rest_is_pushed() {
    let trusted = Trusted::new(&["h2"]);
    let policy = |casper| DeliveryPolicy {
        rules: vec![
            rule("/one.html", ["/style.css", "/one.js"]),
            rule("/two.html", ["/style.css", "/two.js"]),
        ],
        push: PushSettings { by_link: ByLink::Pushed, ..PushSettings::default() },
        casper,
        ..DeliveryPolicy::default()
    };
    for (casper, expected) in [(Some(CasperSettings::default()), (1, 1, 0)), (None, (2, 1, 1))] {
        let settings = ClientConfig {
            push: Push::Taken,
            cookies: Some(Cookies::new()),
            ..trusted.config(Transport::H2)
        };
        let first = load_of("one.html").with_cache(Cache::new());
        let first = visit(&trusted, settings.clone(), policy(casper), first);
        let cookies = first.cookies().cloned();
        assert_eq!(cookies != Some(Cookies::new()), casper.is_some());
        let first = first.into_work();
        assert_eq!(first.records.connections[0].pushes.used, 2);
        assert_eq!(first.records.fetches.len(), 3);
        let absence = Absence { away: Duration::ZERO, evicted: 0, seed: Seed(1) };
        let cache = first.into_cache().unwrap().after(absence);
        let settings = ClientConfig { cookies, ..settings };
        let next = load_of("two.html").with_cache(cache);
        let next = visit(&trusted, settings, policy(casper), next).into_work();
        assert!(next.milestones().load.is_some());
        let connection = &next.records.connections[0];
        let pushes = connection.pushes;
        // Blind pushes: the client cancels what it has.
        assert_eq!((connection.pushed, pushes.used, pushes.cancelled), expected);
        assert_eq!(next.cached().fresh, 1);
        assert_eq!(connection.requests, 1);
    }
}

#[test]
fn hints_are_followed_over_http3() {
    let trusted = Trusted::new(&["h2"]);
    let hints = vec!["</style.css>; rel=preload; as=style".parse().unwrap()];
    let rule = Rule { path: Some("/one.html".parse().unwrap()), hints, ..Rule::default() };
    let policy = DeliveryPolicy { rules: vec![rule], ..DeliveryPolicy::default() };
    let page = load_of("one.html?delay_ms=300");
    let page = visit(&trusted, trusted.config(Transport::H3), policy, page).into_work();
    assert!(page.milestones().load.is_some(), "{:?}", page.records.fetches);
    assert_eq!(page.hints(), HintTally { fetches: 1, used: 1, ..HintTally::default() });
    let style = page.records.fetches.iter().find(|one| one.url.ends_with("style.css")).unwrap();
    assert!(style.hinted && style.phases.last_byte < page.milestones().first_byte);
}
