//! Policies against clients that mean harm, or that make mistakes: the page still loads.

use super::visit::{Visit, origin, taking};
use super::{pushing, with_casper};
use origin::{ByLink, DeliveryPolicy, PushSettings, Rule, Tracking};
use proto::schedule::Policy;
use wire::casper::{Capacity, Fingerprint};
use wire::golomb::BadSet;
use wire::h2::{Dependency, Frame};

#[test]
fn what_a_client_has_cancelled_is_not_pushed_again_on_its_connection() {
    let (mut origin, log) = origin(Policy::Auto, pushing(&["/style.css", "/app.js"]));
    let mut visit = Visit::new(&mut origin, taking());
    visit.refuse = vec!["/style.css"];
    for _ in 0..3 {
        assert!(visit.view("/", None).is_whole);
    }
    assert_eq!(visit.pushed(), ["/app.js"]);
    let records = log.records.borrow();
    let promised = records.iter().filter(|record| record.path == "/style.css");
    assert_eq!(promised.count(), 1);
    drop(records);
    let style = visit.view("/style.css", None);
    assert!(style.is_whole, "it can still be asked for");
}

#[test]
fn links_and_lists_of_every_response_push_in_no_loop() {
    let links = ["</style.css>; rel=preload", "</>; rel=preload", "</app.js>; rel=preload"];
    let list = Rule { push: vec!["/style.css".to_owned(), "/".to_owned()], ..Rule::default() };
    let links = links.iter().map(|link| link.parse().unwrap()).collect();
    let everywhere = Rule { links, ..Rule::default() };
    for (rule, pushed) in [(everywhere, &["/style.css", "/app.js"][..]), (list, &["/style.css"])] {
        let push = PushSettings { by_link: ByLink::Pushed, ..PushSettings::default() };
        let policy = DeliveryPolicy { rules: vec![rule], push, ..DeliveryPolicy::default() };
        let (mut origin, _) = origin(Policy::Auto, policy);
        let mut visit = Visit::new(&mut origin, taking());
        for _ in 0..3 {
            assert!(visit.view("/", None).is_whole);
            assert_eq!(visit.pushed(), pushed, "each once, and never the page itself");
        }
    }
}

#[test]
fn a_poisoned_cookie_costs_pushes_and_nothing_else() {
    let policy = || with_casper(pushing(&["/style.css", "/app.js"]), Tracking::All);
    // What it names, and as many others as there can be.
    let mut full = Fingerprint::new(Capacity::default());
    full.insert("/style.css");
    full.insert("/app.js");
    (0..100_000).for_each(|n| full.insert(&format!("/{n}")));
    let full = format!("h2o_casper={}", full.value());
    // As many as fit into a header list, one that is longer than any cookie, and one that ends too early.
    let many = vec!["h2o_casper=AAAB4AAAAAAAAAAAXw"; 1_000].join("; ");
    let long = format!("h2o_casper={}", "A".repeat(30_000));
    let cut = "h2o_casper=AQ; h2o_casper=!".to_owned();
    let both: &[&str] = &["/style.css", "/app.js"];
    for (cookie, pushed, why) in [
        (&full, &[][..], None),
        (&many, both, None),
        (&long, both, Some(BadSet::TooLong)),
        (&cut, both, Some(BadSet::CutOff)),
    ] {
        let (mut origin, log) = origin(Policy::Auto, policy());
        let mut visit = Visit::new(&mut origin, taking());
        let page = visit.view("/", Some(cookie));
        assert!(page.is_whole);
        assert_eq!(visit.pushed(), pushed);
        let told = why.map(|why| ("h2o_casper".to_owned(), why));
        assert_eq!(*log.unreadable.borrow(), Vec::from_iter(told), "a line in the log");
        let set = visit.responses.values().filter_map(|response| response.cookie.as_ref());
        let longest = set.map(String::len).max();
        assert!(longest.is_some_and(|longest| longest < 4_096), "one that browsers take");
    }
}

#[test]
fn a_tree_of_phantom_nodes_and_loops_holds_nobody_up() {
    for policy in [Policy::Auto, Policy::Rfc7540, Policy::ServerDriven] {
        let (mut origin, _) = origin(policy, pushing(&["/style.css"]));
        let mut visit = Visit::new(&mut origin, taking());
        visit.view("/a.png", None);
        let mut bytes = Vec::new();
        let mut node = |stream: u32, parent: u32| {
            let dependency =
                Dependency { parent, exclusive: stream.is_multiple_of(3), weight: 200 };
            Frame::Priority { stream, dependency }.encode(&mut bytes);
        };
        for stream in (101..9_001).step_by(2) {
            node(stream, stream + 2);
            // A loop: the next hangs on this one.
            node(stream + 2, stream);
        }
        visit.say(&bytes);
        let page = visit.view("/", None);
        assert!(page.is_whole, "{policy}");
        assert!(visit.view("/app.js", None).is_whole, "{policy}");
    }
}

#[test]
fn a_flood_of_priorities_ends_its_connection_with_a_line_in_the_log() {
    let (mut origin, log) = origin(Policy::Auto, pushing(&["/style.css"]));
    let mut visit = Visit::new(&mut origin, taking());
    visit.view("/a.png", None);
    let mut bytes = Vec::new();
    for stream in 0..11_000 {
        Frame::PriorityUpdate { prioritised: 101 + 2 * stream, value: b"u=1" }.encode(&mut bytes);
    }
    visit.say(&bytes);
    let errors = log.errors.borrow().clone();
    let [(1, error)] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.contains("too many frames without effect"), "{error}");
    let mut next = Visit::new(&mut origin, taking());
    assert!(next.view("/", None).is_whole, "others load their pages");
}
