//! A recorded page against the origin that replays it, in virtual time: methods, redirects, WebSockets, streams of events.

use crate::world::{DELAY, START, Trusted, config, millis};
use client::{Absence, Cache, Client, ClientConfig, PageLoad, Transport};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use page::{Browser, Load, Page, ResourceId};
use serde_json::{Value, json};
use sim::{Ended, Path};
use std::sync::Arc;
use std::time::Duration;
use trace::{CacheTally, FetchOutcome, FetchRecord};
use transport::Protocol;
use unit::Seed;

/// A resource of a page: its URL and what differs from a GET of 100 bytes at once.
fn resource(url: &str, more: Value) -> Value {
    let url: page::Url = url.parse().unwrap();
    let mut resource = json!({
        "url": url, "kind": "xhr", "status": 200, "content_type": "text/plain", "body": 100, "server_time": 0,
        "release": "navigation", "think": 0, "hint": "none",
    });
    for (name, value) in more.as_object().unwrap() {
        resource[name] = value.clone();
    }
    resource
}

fn message(from: &str, after_ms: u64, text: &str) -> Value {
    use base64::Engine as _;
    let data = base64::prelude::BASE64_STANDARD.encode(text);
    json!({"from": from, "kind": "text", "after": after_ms * 1_000_000, "data": data})
}

/// Loads the page of `resources` over a clear HTTP/1.1, or HTTP/2 over TLS; its fetches in the order of the resources.
fn load(resources: &[Value], transport: Transport) -> Vec<FetchRecord> {
    view(resources, transport, Cache::new()).1
}

/// Loads it with this cache. The origin says of what is recorded without a word on caches that it lasts an hour.
fn view(resources: &[Value], transport: Transport, cache: Cache) -> (PageLoad, Vec<FetchRecord>) {
    let resources = serde_json::from_value(Value::Array(resources.to_vec())).unwrap();
    let page = Page::new(ResourceId(0), resources).unwrap();
    let trusted = Trusted::new(&["h2"]);
    let (config, kind) = match transport {
        Transport::H1 => (config(transport), ListenerKind::Clear),
        _ => (trusted.config(transport), ListenerKind::Tls(trusted.server.clone())),
    };
    let config = ClientConfig { redirects: 0, ..config };
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(1_800_000_000) };
    let settings = OriginConfig {
        table: Some(Arc::new(page.table())),
        max_age: Some(Duration::from_secs(3_600)),
        protocols: vec![Protocol::Http2],
        web_socket_over_h2: true,
        ..OriginConfig::new(vec![kind], wall_clock)
    };
    let replayed = page.clone();
    let work = PageLoad::new(move |now| Load::replay(&replayed, Browser::Chrome156, now))
        .with_cache(cache);
    let mut world = sim::World::new(1);
    let near = world.host("10.0.0.1", Client::new(config, work));
    let far = world.listen("0.0.0.0:0", Origin::new(settings, Parts::default()));
    world.connect(near, far, Path::delay(DELAY));
    assert_eq!(world.run_until_finished(near), Ended::Finished);
    let load = world.take(near).into_work();
    let mut fetches = load.records.fetches.clone();
    fetches.sort_by_key(|fetch| load.resource(client::FetchId(fetch.id)));
    for fetch in &fetches {
        assert_eq!(fetch.outcome, FetchOutcome::Done, "{}", fetch.url);
    }
    (load, fetches)
}

#[test]
fn a_post_is_answered_when_its_body_is_whole_and_a_redirect_is_an_answer() {
    let page = [
        resource("http://a.test/", json!({})),
        resource(
            "http://a.test/api",
            json!({"method": "POST", "status": 201, "server_time": 30_000_000, "body": 7,
                "asked": {"body": 200_000, "fields": [{"name": "content-type", "value": "application/json"}]}}),
        ),
        resource(
            "http://a.test/old",
            json!({"status": 302, "body": 0,
                "answered": {"fields": [{"name": "location", "value": "http://elsewhere.test/"}]}}),
        ),
    ];
    for transport in [Transport::H1, Transport::H2] {
        let fetches = load(&page, transport);
        let told: Vec<_> =
            fetches.iter().map(|one| (one.method.as_str(), one.status, one.body_bytes)).collect();
        let expected = [("GET", Some(200), 100), ("POST", Some(201), 7), ("GET", Some(302), 0)];
        assert_eq!(told, expected);
        let post = &fetches[1].phases;
        let waited = millis(post.first_byte) - millis(post.sent);
        assert!(waited >= 130, "a round trip and the server's time: {waited} ms");
    }
}

#[test]
fn a_web_socket_that_is_a_hosts_first_request_waits_for_its_settings_and_keeps_the_gaps() {
    let messages = [
        message("client", 0, "hello"),
        message("server", 40, "good day"),
        message("server", 25, "anything else?"),
        message("client", 60, "bye"),
        message("server", 0, "bye"),
    ];
    let page = [
        resource("http://a.test/", json!({})),
        resource(
            "http://b.test/chat",
            json!({"status": 101, "body": 25, "answered": {"messages": messages}}),
        ),
    ];
    for (transport, status) in [(Transport::H1, 101), (Transport::H2, 200)] {
        let fetches = load(&page, transport);
        let socket = &fetches[1];
        assert_eq!((socket.status, socket.body_bytes), (Some(status), 25));
        let talked = millis(socket.phases.last_byte) - millis(socket.phases.first_byte);
        // Two round trips of 100 ms, and the gaps.
        assert_eq!(talked, 200 + 40 + 25 + 60, "{transport:?}");
    }
}

#[test]
fn a_web_socket_without_messages_is_opened_and_closed_and_a_stream_takes_its_time() {
    let page = [
        resource("http://a.test/", json!({})),
        resource(
            "http://a.test/chat",
            json!({"status": 101, "body": 0, "answered": {"messages": []}}),
        ),
        resource(
            "http://a.test/events",
            json!({"body": 5_000, "answered": {"streamed": 700_000_000}}),
        ),
    ];
    for transport in [Transport::H1, Transport::H2] {
        let fetches = load(&page, transport);
        assert_eq!(fetches[1].body_bytes, 0);
        let stream = &fetches[2];
        let took = millis(stream.phases.last_byte) - millis(stream.phases.first_byte);
        assert_eq!((stream.body_bytes, took), (5_000, 700), "{transport:?}");
    }
}

#[test]
fn in_a_next_view_what_was_recorded_of_caches_stands_and_the_origin_adds_what_is_missing() {
    let answered = |path: &str, fields: &[(&str, &str)]| {
        let field = |(name, value): &(&str, &str)| json!({"name": name, "value": value});
        let fields: Vec<Value> = fields.iter().map(field).collect();
        resource(&format!("http://a.test{path}"), json!({"answered": {"fields": fields}}))
    };
    let page = [
        resource(
            "http://a.test/",
            json!({"content_type": "text/html",
                "answered": {"fields": [{"name": "etag", "value": "\"d\""}]}}),
        ),
        answered("/silent", &[]),
        answered("/tagged", &[("etag", "\"r\""), ("cache-control", "max-age=60")]),
        answered("/weak", &[("etag", "W/\"r\"")]),
        answered("/dated", &[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]),
        answered("/long", &[("cache-control", "max-age=86400")]),
        answered("/never", &[("cache-control", "no-store")]),
        resource(
            "http://a.test/moved",
            json!({"status": 301, "body": 0,
                "answered": {"fields": [{"name": "location", "value": "/long"}]}}),
        ),
    ];
    for transport in [Transport::H1, Transport::H2] {
        let (first, _) = view(&page, transport, Cache::new());
        let absence = Absence { away: Duration::from_secs(7_200), evicted: 0, seed: Seed(1) };
        let cache = first.into_cache().unwrap().after(absence);
        let (load, fetches) = view(&page, transport, cache);
        let statuses: Vec<_> = fetches
            .iter()
            .map(|fetch| (fetch.url.rsplit('/').next().unwrap(), fetch.status.unwrap()))
            .collect();
        let expected = [
            ("", 304),
            ("silent", 304),
            ("tagged", 304),
            ("weak", 304),
            ("dated", 304),
            ("never", 200),
        ];
        assert_eq!(statuses, expected, "{transport:?}");
        assert_eq!(load.cached(), CacheTally { fresh: 2, revalidated: 5, bytes: 600 });
    }
}
