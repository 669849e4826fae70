//! Pages over the pool.

use crate::world::{Listener, Reply, Seen, Speaks, Trusted, World, config, millis, ok};
use client::{Client, ClientConfig, FetchId, PageLoad, Transport};
use page::{Browser, Load};
use trace::FetchOutcome;

const HTML: &str = r#"<!doctype html><head><link rel=stylesheet href="/style.css"></head><body>
<img src="a.png"><img src="b.png"><img src="/a.png"><script src="late.js"></script></body>"#;

fn site(seen: &Seen) -> Reply {
    match &*seen.head.path {
        "/" => ok(HTML.as_bytes()),
        "/style.css" => ok(b"p{}"),
        "/a.png" | "/b.png" => ok(&[9; 5_000]),
        "/late.js" => ok(b";"),
        other => panic!("{other} was not asked for by the page"),
    }
}

fn load(world: &mut World, config: ClientConfig, url: &str) -> PageLoad {
    let url = url.parse().unwrap();
    let load = PageLoad::new(move |now| Load::browse(url, Browser::Chrome156, now));
    let client = world.run(Client::new(config, load));
    client.into_work()
}

#[test]
fn a_page_is_loaded_in_the_order_of_its_urgencies_over_http1() {
    let mut world = World::new(Listener::Clear(Speaks::Http1), site);
    let mut settings = config(Transport::H1);
    settings.limits.per_origin = 1;
    let page = load(&mut world, settings, "http://a.test/");
    let order: Vec<&str> = world.seen.iter().map(|seen| &*seen.head.path).collect();
    // The first five images and a script behind an image have one urgency.
    assert_eq!(order, ["/", "/style.css", "/a.png", "/b.png", "/late.js"]);
    // Connect 100, then a round trip a resource.
    let milestones = page.milestones();
    assert_eq!(millis(milestones.first_byte), 200);
    assert_eq!(millis(milestones.document), 200);
    assert_eq!(millis(milestones.load), 600);
    assert_eq!(page.records.connections[0].rounds, 5);
    for fetch in &page.records.fetches {
        let resource = page.resource(FetchId(fetch.id)).unwrap();
        assert_eq!(page.load().unwrap().url(resource).unwrap().to_string(), fetch.url);
    }
}

#[test]
fn http2_is_told_the_priorities_and_needs_two_rounds() {
    let trusted = Trusted::new(&["h2"]);
    let mut world = World::new(Listener::Tls(trusted.server.clone()), site);
    let page = load(&mut world, trusted.config(Transport::BROWSER), "https://a.test/");
    // Connect, TLS, document, the rest.
    assert_eq!(millis(page.milestones().load), 400);
    assert_eq!(page.records.connections[0].rounds, 2);
    assert_eq!(page.load().unwrap().critical_path().len(), 2);
    let told: Vec<_> = world.seen.iter().map(|s| s.head.fields.find_str("priority")).collect();
    let (document, style, image, script) =
        (Some("u=0, i"), Some("u=0"), Some("u=2, i"), Some("u=2"));
    assert_eq!(told, [document, style, image, image, script]);
    let image = &world.seen[3].head;
    assert_eq!(image.fields.find_str("referer"), Some("https://a.test/"));
    assert_eq!(image.fields.find_str("sec-fetch-dest"), Some("image"));
}

#[test]
fn a_page_whose_image_fails_is_never_loaded() {
    let mut world = World::new(Listener::Clear(Speaks::Http1), |seen| {
        if seen.head.path == "/b.png" { Reply::Close } else { site(seen) }
    });
    let page = load(&mut world, config(Transport::H1), "http://a.test/");
    let failed = page.records.fetches.iter().filter(|f| f.outcome != FetchOutcome::Done);
    assert_eq!(failed.map(|fetch| &*fetch.url).collect::<Vec<_>>(), ["http://a.test/b.png"]);
    assert!(page.milestones().document.is_some());
    assert_eq!(page.milestones().load, None);
    assert_eq!(page.load().unwrap().failures().count(), 1);
}
