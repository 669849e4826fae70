//! Delivery policies as a client sees them: pushes, CASPER, early hints, links and the server's order, without sockets.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod digest;
mod hostile;
mod learned;
mod log;
mod visit;

use origin::{
    ByLink, CasperSettings, DeliveryPolicy, ExchangeEnd, NotPushed, PushPlace, PushSettings, Rule,
    Tracking, Urgency,
};
use proto::schedule::{Incremental, Policy};
use proto::{ByteStreamConnection, ClientConnection};
use std::time::Duration;
use visit::{SIZE, Visit, config, origin, refusing, spdy, taking, thread};
use wire::casper::{Capacity, Fingerprint};

const STYLE: &str = "</style.css>; rel=preload; as=style";

fn page(rule: Rule) -> DeliveryPolicy {
    let path = Some("/".parse().unwrap());
    DeliveryPolicy { rules: vec![Rule { path, ..rule }], ..DeliveryPolicy::default() }
}

fn pushing(paths: &[&str]) -> DeliveryPolicy {
    page(Rule { push: paths.iter().map(|path| (*path).to_owned()).collect(), ..Rule::default() })
}

fn linking(links: &[&str]) -> DeliveryPolicy {
    let links = links.iter().map(|link| link.parse().unwrap()).collect();
    let push = PushSettings { by_link: ByLink::Pushed, ..PushSettings::default() };
    DeliveryPolicy { push, ..page(Rule { links, ..Rule::default() }) }
}

fn with_casper(policy: DeliveryPolicy, tracking: Tracking) -> DeliveryPolicy {
    let casper = CasperSettings { capacity: Capacity::default(), tracking };
    DeliveryPolicy { casper: Some(casper), ..policy }
}

fn pushes_by_list<C: ClientConnection + ByteStreamConnection>(client: C) {
    let (mut origin, log) = origin(Policy::Auto, pushing(&["/style.css", "/app.js"]));
    let mut visit = Visit::new(&mut origin, client);
    let page = visit.view("/", None);
    assert_eq!((page.status, page.body, page.is_whole), (200, 2 * SIZE, true));
    assert_eq!(visit.pushed(), ["/style.css", "/app.js"]);
    for pushed in visit.responses.values().filter(|response| response.promised_with.is_some()) {
        assert_eq!((pushed.status, pushed.body, pushed.is_whole), (200, SIZE, true), "{pushed:?}");
    }
    assert_eq!(visit.first_bytes(), ["/style.css", "/app.js", "/"], "pushes go first");
    // What was pushed here once is not pushed again, and a pushed path can still be asked for.
    visit.view("/", None);
    assert_eq!(visit.view("/style.css", None).body, SIZE);
    assert_eq!(visit.pushed().len(), 2);
    let records = log.records.borrow();
    let pushed: Vec<_> = records.iter().filter(|record| record.pushed_with.is_some()).collect();
    assert_eq!(pushed.len(), 2);
    assert!(pushed.iter().all(|push| push.pushed_with == Some(1) && push.sent == SIZE as u64));
    assert_eq!((records.len(), log.skipped.borrow().len()), (5, 0));
}

#[test]
fn a_list_is_pushed_over_http_2_before_the_page() {
    pushes_by_list(taking());
}

#[test]
fn a_list_is_pushed_over_spdy_before_the_page() {
    pushes_by_list(spdy());
}

#[test]
fn pushes_use_the_time_in_which_the_page_is_made() {
    let policy = DeliveryPolicy {
        rules: vec![Rule { push: vec!["/style.css".to_owned()], ..Rule::default() }],
        ..DeliveryPolicy::default()
    };
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    let stream = visit.ask("/?delay_ms=200", None);
    visit.settle();
    assert_eq!(visit.pushed(), ["/style.css"]);
    assert!(visit.responses.values().any(|response| response.is_whole));
    assert_eq!(visit.responses[&stream].status, 0);
    visit.settle_after(Duration::from_millis(200));
    assert_eq!((visit.responses[&stream].status, visit.responses[&stream].is_whole), (200, true));
}

#[test]
fn preload_links_push_unless_they_say_nopush_or_name_another_origin() {
    let (mut origin, log) = origin(
        Policy::Auto,
        linking(&[
            STYLE,
            "</app.js>; rel=preload; as=script; nopush",
            "<font.woff2>; rel=preload; as=font; crossorigin",
            "<http://a.test/sub/style.css>; rel=preload",
            "<https://a.test/a.png>; rel=preload",
            "<//b.test/a.png>; rel=preload",
            "<https://b.test>; rel=preconnect",
        ]),
    );
    let mut visit = Visit::new(&mut origin, taking());
    let page = visit.view("/", None);
    assert_eq!(page.links.len(), 7, "the client hears of all of them");
    assert_eq!(visit.pushed(), ["/style.css", "/font.woff2", "/sub/style.css"]);
    let other = NotPushed::OtherOrigin;
    let told = ["https://a.test/a.png", "//b.test/a.png"].map(|target| (target.to_owned(), other));
    assert_eq!(*log.skipped.borrow(), told);
}

#[test]
fn what_cannot_be_pushed_is_told_once_and_the_page_still_loads() {
    let mut policy = pushing(&["/none.css", "/sub", "/ws/echo", "/style.css", "/app.js"]);
    // A loop: the style pushes the page, itself, what the page pushes, too, and a picture that nothing else names.
    policy.rules.push(Rule {
        path: Some("/style.css".parse().unwrap()),
        push: ["/", "/style.css", "/app.js", "/a.png"].map(str::to_owned).into(),
        ..Rule::default()
    });
    let (mut origin, log) = origin(Policy::Auto, policy);
    for _ in 0..3 {
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view("/", None).is_whole);
        assert_eq!(visit.pushed(), ["/style.css", "/app.js"]);
    }
    let expected = [
        ("/none.css", NotPushed::Status(404)),
        ("/sub", NotPushed::Status(301)),
        ("/ws/echo", NotPushed::NotPlain),
        ("/a.png", NotPushed::Nested),
    ];
    assert_eq!(*log.skipped.borrow(), expected.map(|(path, why)| (path.to_owned(), why)));
}

#[test]
fn threads_number_the_connections_and_tell_of_skipped_pushes_together() {
    let config = config(Policy::Auto, pushing(&["/none.css"]));
    let mut threads = [thread(&config), thread(&config)];
    for _ in 0..2 {
        for (origin, _) in &mut threads {
            assert!(Visit::new(origin, taking()).view("/", None).is_whole);
        }
    }
    let [(_, first), (_, second)] = &threads;
    let numbers = |log: &visit::Log| {
        let records = log.records.borrow();
        records.iter().map(|record| record.connection).collect::<Vec<_>>()
    };
    assert_eq!((numbers(first), numbers(second)), (vec![1, 3], vec![2, 4]));
    assert_eq!((first.skipped.borrow().len(), second.skipped.borrow().len()), (1, 0));
}

#[test]
fn a_rule_for_all_paths_that_names_one_of_them_leaves_nothing_out() {
    let rule = Rule { push: vec!["/style.css".to_owned()], ..Rule::default() };
    let policy = DeliveryPolicy { rules: vec![rule], ..DeliveryPolicy::default() };
    let (mut origin, log) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    assert!(visit.view("/", None).is_whole);
    assert_eq!((visit.pushed(), log.skipped.borrow().len()), (vec!["/style.css"], 0));
}

#[test]
fn a_request_has_no_more_pushes_than_it_may() {
    let paths: Vec<String> = (0..500).map(|n| format!("/image/{n}?bytes=10")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for (most, pushed) in [(64, 64), (500, 100)] {
        let push = PushSettings { most, ..PushSettings::default() };
        let policy = DeliveryPolicy { push, ..pushing(&paths) };
        let (mut origin, log) = origin(Policy::Auto, policy);
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view("/", None).is_whole);
        assert_eq!(visit.pushed().len(), pushed);
        let told = [(format!("/image/{pushed}?bytes=10"), NotPushed::TooMany)];
        assert_eq!(*log.skipped.borrow(), told);
    }
}

#[test]
fn what_a_client_has_and_what_is_named_twice_is_no_push_of_a_request() {
    let push = PushSettings { most: 1, ..PushSettings::default() };
    let list = ["/style.css", "/style.css", "/none.css", "/app.js", "/b.png"];
    let policy = with_casper(DeliveryPolicy { push, ..pushing(&list) }, Tracking::All);
    let (mut origin, log) = origin(Policy::Auto, policy);
    let mut seen = Fingerprint::new(Capacity::default());
    seen.insert("/style.css");
    let mut visit = Visit::new(&mut origin, taking());
    assert!(visit.view("/", Some(&format!("h2o_casper={}", seen.value()))).is_whole);
    assert_eq!(visit.pushed(), ["/app.js"]);
    let told = [("/none.css", NotPushed::Status(404)), ("/b.png", NotPushed::TooMany)];
    assert_eq!(*log.skipped.borrow(), told.map(|(target, why)| (target.to_owned(), why)));
}

#[test]
fn a_client_that_takes_no_pushes_is_pushed_nothing_and_gets_no_cookie() {
    let policy = with_casper(pushing(&["/style.css"]), Tracking::All);
    let (mut origin, log) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, refusing());
    for _ in 0..2 {
        let page = visit.view("/", None);
        assert_eq!((page.is_whole, page.cookie), (true, None));
    }
    assert_eq!((visit.pushed().len(), log.skipped.borrow().len()), (0, 0));
}

#[test]
fn a_cancelled_push_is_recorded_as_such_with_its_bytes() {
    let (mut origin, log) = origin(Policy::Auto, pushing(&["/style.css", "/app.js"]));
    let mut visit = Visit::new(&mut origin, taking());
    visit.refuse = vec!["/style.css"];
    assert!(visit.view("/", None).is_whole);
    assert_eq!(visit.pushed(), ["/app.js"]);
    let records = log.records.borrow();
    let style = records.iter().find(|record| record.path == "/style.css").unwrap();
    assert_eq!((style.end, style.pushed_with), (ExchangeEnd::CutOff, Some(1)));
    assert!(style.sent > 0 && style.sent <= SIZE as u64);
    let script = records.iter().find(|record| record.path == "/app.js").unwrap();
    assert_eq!((script.end, script.sent), (ExchangeEnd::Done, SIZE as u64));
}

#[test]
fn pushed_bytes_stand_before_between_or_after_those_of_the_page() {
    let order = |place| {
        let push = PushSettings { place, ..PushSettings::default() };
        let policy = DeliveryPolicy { push, ..pushing(&["/style.css"]) };
        let (mut origin, _) = origin(Policy::Rfc7540, policy);
        let mut visit = Visit::new(&mut origin, taking());
        visit.view("/", None);
        visit.order
    };
    assert_eq!(order(PushPlace::Before), ["/style.css", "/"]);
    assert_eq!(order(PushPlace::After), ["/", "/style.css"]);
    let shared = order(PushPlace::Interleaved);
    assert!(shared.len() > 3, "{shared:?}");
}

#[test]
fn a_page_between_several_pushes_has_one_half_of_the_bytes() {
    let push = PushSettings { place: PushPlace::Interleaved, ..PushSettings::default() };
    let list = ["/style.css", "/app.js", "/font.woff2", "/a.png"];
    let policy = DeliveryPolicy { push, ..pushing(&list) };
    for priorities in [Policy::Auto, Policy::Rfc7540] {
        let (mut origin, _) = origin(priorities, policy.clone());
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view("/", None).is_whole);
        // Of each turn a frame, until the page is whole.
        let end = visit.order.iter().rposition(|path| path == "/").unwrap();
        let turns = &visit.order[..=end];
        let of_page = turns.iter().filter(|path| *path == "/").count();
        assert!(of_page > 5 && turns.len().abs_diff(2 * of_page) <= 2, "{turns:?}");
        assert_eq!(
            visit.first_bytes().into_iter().filter(|path| *path != "/").collect::<Vec<_>>(),
            list
        );
    }
}

/// A first view, then one on another connection with its cookie and with parts of it.
fn two_views(policy: DeliveryPolicy) -> (Fingerprint, Vec<String>) {
    let capacity = policy.casper.unwrap().capacity;
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut first = Visit::new(&mut origin, taking());
    assert_eq!(first.view("/a.png", None).cookie, None, "nothing was pushed yet");
    let cookie = first.view("/", None).cookie.unwrap();
    assert_eq!(first.pushed(), ["/style.css", "/app.js", "/b.png"]);
    let name_and_value =
        cookie.strip_suffix("; Path=/; Expires=Tue, 01 Jan 2030 00:00:00 GMT; Secure");
    let name_and_value = name_and_value.unwrap().to_owned();
    assert!(first.view("/a.png", None).cookie.is_some(), "on every answer from then on");
    let mut seen = Fingerprint::new(capacity);
    assert_eq!(seen.merge_cookies(name_and_value.as_bytes()), None);
    let mut second = Visit::new(&mut origin, taking());
    second.view("/", Some(&format!("x=y; {name_and_value}")));
    let pushed = second.pushed().into_iter().map(str::to_owned).collect();
    let mut partial = Fingerprint::new(capacity);
    partial.insert("/app.js");
    let mut third = Visit::new(&mut origin, taking());
    third.view("/", Some(&format!("h2o_casper={}", partial.value())));
    assert_eq!(third.pushed(), ["/style.css", "/b.png"], "only what is missing");
    let mut fourth = Visit::new(&mut origin, taking());
    fourth.view("/", Some("h2o_casper=AAAAAAAAAAAAAA!!!!"));
    assert_eq!(fourth.pushed(), ["/style.css", "/app.js", "/b.png"], "a broken cookie is ignored");
    (seen, pushed)
}

#[test]
fn a_second_view_is_pushed_what_its_cookie_lacks_and_no_more() {
    let list = || pushing(&["/style.css", "/app.js", "/b.png"]);
    let (seen, pushed) = two_views(with_casper(list(), Tracking::BlockingAssets));
    assert!(seen.contains("/style.css") && seen.contains("/app.js"));
    assert_eq!((seen.len(), pushed), (2, vec!["/b.png".to_owned()]), "a picture is not tracked");
    let (seen, pushed) = two_views(with_casper(list(), Tracking::All));
    assert!(seen.contains("/") && seen.contains("/b.png"));
    assert_eq!((seen.len(), pushed), (4, Vec::new()));
}

#[test]
fn a_cookie_names_a_long_path_whose_answer_waited() {
    let policy = with_casper(pushing(&["/style.css"]), Tracking::All);
    for (length, is_named) in [(500, true), (3_000, true), (6_000, false)] {
        let (mut origin, _) = origin(Policy::Auto, policy.clone());
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view("/", None).is_whole);
        let path = format!("/api?bytes=5&delay_ms=50&x={}", "x".repeat(length));
        let stream = visit.ask(&path, None);
        visit.settle();
        visit.settle_after(Duration::from_millis(50));
        let cookie = visit.responses[&stream].cookie.clone();
        let mut seen = Fingerprint::new(Capacity::default());
        let unread = cookie.as_ref().and_then(|cookie| seen.merge_cookies(cookie.as_bytes()));
        assert_eq!(unread, None);
        assert_eq!((seen.contains(&path), cookie.is_some()), (is_named, is_named), "{length}");
        assert_eq!(seen.len(), if is_named { 3 } else { 0 });
    }
}

#[test]
fn a_cookie_waits_for_pushes_that_are_not_answered_yet() {
    let policy = with_casper(pushing(&["/style.css", "/api?bytes=5&delay_ms=50"]), Tracking::All);
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    assert_eq!(visit.view("/", None).cookie, None);
    visit.settle_after(Duration::from_millis(50));
    let last = visit.responses.values().find(|response| response.path.starts_with("/api")).unwrap();
    let mut seen = Fingerprint::new(Capacity::default());
    assert_eq!(seen.merge_cookies(last.cookie.as_ref().unwrap().as_bytes()), None);
    assert!(seen.contains("/api?bytes=5&delay_ms=50") && seen.contains("/") && seen.len() == 3);
}

#[test]
fn hints_come_at_once_and_links_with_the_answer() {
    let policy = DeliveryPolicy {
        rules: vec![Rule {
            host: Some("*.test".parse().unwrap()),
            path: Some("/*".parse().unwrap()),
            hints: vec![STYLE.parse().unwrap()],
            links: vec!["<https://b.test>; rel=preconnect".parse().unwrap()],
            ..Rule::default()
        }],
        ..DeliveryPolicy::default()
    };
    let (mut origin, _) = origin(Policy::Auto, policy);
    let mut visit = Visit::new(&mut origin, taking());
    let stream = visit.ask("/?delay_ms=10", None);
    visit.settle();
    let hints = vec![(STYLE.to_owned(), Duration::ZERO)];
    assert_eq!((&visit.responses[&stream].hints, visit.responses[&stream].status), (&hints, 0));
    visit.settle_after(Duration::from_millis(10));
    let answer = &visit.responses[&stream];
    assert_eq!((&answer.hints, answer.status, answer.is_whole), (&hints, 200, true));
    assert_eq!(answer.links, ["<https://b.test>; rel=preconnect"]);
    assert_eq!(visit.view("/sub/style.css", None).hints, [], "another folder");
}

#[test]
fn the_server_sends_blocking_assets_first_whatever_was_asked_for_first() {
    let ask = |priorities, delivery| {
        let (mut origin, _) = origin(priorities, delivery);
        let mut visit = Visit::new(&mut origin, taking());
        for path in ["/a.png", "/b.png", "/style.css", "/font.woff2", "/app.js"] {
            visit.ask(path, None);
        }
        visit.settle();
        assert!(visit.responses.values().all(|response| response.body == SIZE));
        visit.first_bytes().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let none = DeliveryPolicy::default;
    assert_eq!(ask(Policy::Auto, none())[..2], ["/a.png", "/b.png"]);
    let driven = ask(Policy::ServerDriven, none());
    assert_eq!(driven[..3], ["/style.css", "/font.woff2", "/app.js"]);
    // A rule goes before that, and needs no such policy.
    let rule = |path: &str, urgency| Rule {
        path: Some(path.parse().unwrap()),
        urgency: Some(Urgency { urgency, incremental: Incremental::Whole }),
        ..Rule::default()
    };
    let rules = vec![rule("/b*", 0), rule("/app.js", 7)];
    let ruled = DeliveryPolicy { rules, ..DeliveryPolicy::default() };
    let order = ask(Policy::ServerDriven, ruled.clone());
    assert_eq!(order, ["/b.png", "/style.css", "/font.woff2", "/a.png", "/app.js"]);
    let order = ask(Policy::Fifo, ruled);
    assert_eq!(order, ["/b.png", "/a.png", "/style.css", "/font.woff2", "/app.js"]);
}
