//! What a document is known to load: pushed, hinted and linked without a list.

use super::visit::{Visit, origin, spdy, taking};
use super::{SIZE, with_casper};
use origin::{
    Assets, DeliveryPolicy, LearnedSettings, NotPushed, PushPlace, PushSettings, Rule, Tracking,
    Urgency,
};
use proto::schedule::{Incremental, Policy};
use std::time::Duration;

const STYLE: &str = "</style.css>; rel=preload; as=style; nopush";
const BLOCKING: [&str; 5] = [
    STYLE,
    "</app.js>; rel=preload; as=script; nopush",
    "</font.woff2>; rel=preload; as=font; crossorigin; nopush",
    "<http://b.test/far.css>; rel=preload; as=style; nopush",
    "</missing.css>; rel=preload; as=style; nopush",
];

fn learned(learned: LearnedSettings) -> DeliveryPolicy {
    DeliveryPolicy { learned, ..DeliveryPolicy::default() }
}

fn pushing(push: Assets) -> DeliveryPolicy {
    learned(LearnedSettings { push, ..LearnedSettings::default() })
}

#[test]
fn the_blocking_assets_of_a_page_are_pushed_in_its_order_over_http_2_and_spdy() {
    let (mut origin, log) = origin(Policy::Auto, pushing(Assets::Blocking));
    let mut visit = Visit::new(&mut origin, taking());
    assert!(visit.view("/page.html", None).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/app.js", "/font.woff2"]);
    let mut visit = Visit::new(&mut origin, spdy());
    assert!(visit.view("/page.html", None).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/app.js", "/font.woff2"]);
    let missing = [("/missing.css".to_owned(), NotPushed::Status(404))];
    assert_eq!(*log.skipped.borrow(), missing, "said once; another host's is not tried");
}

#[test]
fn all_assets_of_a_page_are_pushed_where_that_is_asked_for() {
    let (mut origin, _) = origin(Policy::Auto, pushing(Assets::All));
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/page.html", None);
    assert_eq!(visit.pushed(), ["/style.css", "/app.js", "/font.woff2", "/a.png", "/b.png"]);
    // A synthetic page, known before it is sent.
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/page?images=3&bytes=100&seed=1", None);
    let pushed = visit.pushed();
    assert!(pushed.len() == 3 && pushed[0].starts_with("/image/"), "{pushed:?}");
}

#[test]
fn the_blocking_parts_of_a_synthetic_page_are_pushed_and_its_hero_goes_before_other_images() {
    let rule = Rule {
        path: Some("**hero*".parse().unwrap()),
        urgency: Some(Urgency { urgency: 2, incremental: Incremental::Whole }),
        ..Rule::default()
    };
    let policy = DeliveryPolicy { rules: vec![rule], ..pushing(Assets::Blocking) };
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    let html = "/page?images=0&bytes=60000&css=1&scripts=1&async=1&defer=1&below_fold=3&hero=60000";
    assert!(visit.view(html, None).is_whole);
    let pushed = visit.pushed();
    let [style, script] = pushed[..] else { panic!("{pushed:?}") };
    assert!(style.starts_with("/style/") && script.starts_with("/script/"), "{pushed:?}");
    let page: page::Synthetic = html.parse().unwrap();
    let page = page.page(&"http://a.test/".parse().unwrap()).unwrap();
    let images = page.resources().iter().filter(|resource| resource.kind == page::Kind::Image);
    let images: Vec<String> = images.map(|image| image.url.path.clone()).collect();
    let before = visit.first_bytes().len();
    for path in &images {
        visit.ask(path, None);
    }
    visit.settle();
    assert_eq!((images.len(), visit.first_bytes()[before]), (4, images[3].as_str()), "asked last");
}

#[test]
fn server_driven_puts_those_scripts_first_that_a_document_waits_for() {
    let html = "/page?images=2&bytes=60000&css=1&scripts=1&async=1&defer=1&modules=1&seed=7";
    let page: page::Synthetic = html.parse().unwrap();
    let page = page.page(&"http://a.test/".parse().unwrap()).unwrap();
    let targets = |kind| {
        let of_kind = page.resources().iter().filter(move |resource| resource.kind == kind);
        of_kind.map(|resource| resource.url.path.clone()).collect::<Vec<_>>()
    };
    let (images, style) = (targets(page::Kind::Image), targets(page::Kind::Stylesheet));
    let scripts = targets(page::Kind::Script);
    let order = |pages: &[&str]| {
        let (mut origin, _) = origin(Policy::ServerDriven, DeliveryPolicy::default());
        let mut visit = Visit::new(&mut origin, taking());
        for page in pages {
            visit.view(page, None);
        }
        let before = visit.first_bytes().len();
        images.iter().chain(&scripts).chain(&style).for_each(|path| {
            visit.ask(path, None);
        });
        visit.settle();
        visit.first_bytes()[before..].iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()
    };
    // The classic script and the style sheet, asked for last; then images and the other three, as they were asked for.
    let seen = order(&[html]);
    assert_eq!(seen[..2], [scripts[0].clone(), style[0].clone()]);
    assert_eq!(seen[2..4], images[..]);
    assert_eq!(seen[4..], scripts[1..]);
    // Of a document that was not seen the media type tells.
    assert_eq!(order(&[])[..5], [&scripts[..], &style[..]].concat());
    // Where another document waits for a script, it goes first: here the one that is async above.
    let other = "/page?images=2&bytes=60000&css=1&scripts=2&defer=1&modules=1&seed=7";
    let seen = order(&[html, other]);
    assert_eq!(seen[..3], [scripts[0].clone(), scripts[1].clone(), style[0].clone()]);
}

#[test]
fn what_a_browser_has_by_its_cookie_is_not_pushed_again() {
    let policy = with_casper(pushing(Assets::Blocking), Tracking::BlockingAssets);
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/page.html", None);
    let cookie = visit.responses.values().find_map(|response| response.cookie.clone()).unwrap();
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/page.html", Some(cookie.split(';').next().unwrap()));
    assert_eq!(visit.pushed(), ["/font.woff2"], "a font is not tracked");
}

#[test]
fn a_list_ends_with_the_first_push_that_is_too_large_for_it() {
    for (most_bytes, pushed) in [(2 * SIZE as u64, 2), (2 * SIZE as u64 - 1, 1), (1, 0)] {
        let push = PushSettings {
            most_bytes: Some(most_bytes),
            place: PushPlace::After,
            ..PushSettings::default()
        };
        let policy = DeliveryPolicy { push, ..pushing(Assets::Blocking) };
        let (mut origin, _) = origin(Policy::Auto, policy);
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view("/page.html", None).is_whole);
        assert_eq!(visit.pushed().len(), pushed, "{most_bytes}");
    }
}

#[test]
fn hints_come_while_the_origin_thinks_and_links_with_the_answer() {
    let policy = learned(LearnedSettings {
        hints: Assets::Blocking,
        links: Assets::Blocking,
        push: Assets::Unused,
    });
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    let page = visit.view("/page.html", None);
    let hints: Vec<&str> = page.hints.iter().map(|(link, _)| link.as_str()).collect();
    // Chromium ignores a hint that has `nopush`.
    assert_eq!(hints, BLOCKING.map(|link| link.strip_suffix("; nopush").unwrap()));
    assert_eq!(page.links, BLOCKING);
    assert_eq!(visit.pushed(), [""; 0]);
    // Without markup of its own there is nothing to hint.
    let style = visit.view("/style.css", None);
    assert_eq!((style.hints.len(), style.links.len()), (0, 0));
    let policy = learned(LearnedSettings { hints: Assets::All, ..LearnedSettings::default() });
    let (mut origin, _) = super::origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    let page = visit.ask("/page?images=2&bytes=10&seed=1&delay_ms=50", None);
    visit.settle();
    let told = &visit.responses[&page];
    assert_eq!((told.hints.len(), told.status), (2, 0), "before the answer");
    visit.settle_after(Duration::from_millis(50));
    assert_eq!((visit.responses[&page].hints.len(), visit.responses[&page].status), (2, 200));
}

#[test]
fn a_thousand_pages_leave_the_latest_known() {
    let (mut origin, _) = origin(Policy::Auto, pushing(Assets::All));
    for seed in 0..1_000 {
        let mut visit = Visit::new(&mut origin, taking());
        visit.view(&format!("/page?images=20&bytes=1&seed={seed}"), None);
        assert_eq!(visit.pushed().len(), 20);
    }
}
