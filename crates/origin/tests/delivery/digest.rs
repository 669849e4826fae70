//! `Cache-Digest` fields: what they name is not pushed, where the policy heeds them.

use super::visit::{Visit, origin, spdy, taking};
use super::{linking, pushing};
use origin::{DeliveryPolicy, Heed, PushSettings};
use proto::schedule::Policy;
use std::time::Duration;
use wire::cache_digest::{Digest, FIELD, UrlHash, Validators};
use wire::golomb::BadSet;

const LIST: [&str; 3] = ["/style.css", "/app.js", "/b.png"];

fn policy(cache_digest: Heed) -> DeliveryPolicy {
    let push = PushSettings { cache_digest, ..PushSettings::default() };
    DeliveryPolicy { push, ..pushing(&LIST) }
}

fn named(urls: &[&str]) -> String {
    let hashes: Vec<UrlHash> = urls.iter().map(|url| UrlHash::of_url(url)).collect();
    Digest::new(Validators::Left, &hashes, 20).value()
}

#[test]
fn what_a_digest_names_is_not_pushed_over_http_2_and_spdy() {
    let (mut origin, log) = origin(Policy::Auto, policy(Heed::Heeded));
    let digest =
        named(&["http://a.test/app.js", "http://b.test/style.css", "https://a.test/b.png"]);
    let mut visit = Visit::new(&mut origin, taking());
    assert!(visit.view_with("/", &[(FIELD, &digest)]).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/b.png"], "other origins are not this one");
    // The word of one request is that of this request.
    assert!(visit.view_with("/", &[]).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/b.png", "/app.js"]);
    let mut visit = Visit::new(&mut origin, spdy());
    assert!(visit.view_with("/", &[(FIELD, &digest)]).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/b.png"]);
    assert_eq!(*log.unreadable.borrow(), []);
}

#[test]
fn a_large_request_that_waits_is_still_asked_for_its_digest() {
    let push = PushSettings { cache_digest: Heed::Heeded, ..linking(&[]).push };
    let links = ["</app.js>; rel=preload", "</b.png>; rel=preload"];
    let (mut origin, _) = origin(Policy::Auto, DeliveryPolicy { push, ..linking(&links) });
    let digest = named(&["http://a.test/app.js"]);
    let cookie = "s".repeat(5_000);
    let mut visit = Visit::new(&mut origin, taking());
    visit.view_with("/?delay_ms=50", &[("cookie", &cookie), (FIELD, &digest)]);
    visit.settle_after(Duration::from_millis(50));
    assert_eq!(visit.pushed(), ["/b.png"]);
}

#[test]
fn a_digest_with_validators_names_what_has_not_changed() {
    let (mut origin, _) = origin(Policy::Auto, policy(Heed::Heeded));
    let mut visit = Visit::new(&mut origin, taking());
    let etag = visit.view("/app.js", None).etag.unwrap();
    let hashes = [
        UrlHash::of_response("http://a.test/app.js", etag.as_bytes()),
        UrlHash::of_response("http://a.test/style.css", b"\"of-yesterday\""),
    ];
    let field =
        format!("{}; validators; complete", Digest::new(Validators::Joined, &hashes, 20).value());
    assert!(visit.view_with("/", &[(FIELD, &field)]).is_whole);
    assert_eq!(visit.pushed(), ["/style.css", "/b.png"]);
}

#[test]
fn a_policy_that_does_not_heed_digests_pushes_what_they_name() {
    let (mut origin, _) = origin(Policy::Auto, policy(Heed::Ignored));
    let mut visit = Visit::new(&mut origin, taking());
    assert!(visit.view_with("/", &[(FIELD, &named(&["http://a.test/app.js"]))]).is_whole);
    assert_eq!(visit.pushed(), LIST);
}

#[test]
fn a_digest_that_cannot_be_read_is_told_and_costs_nothing() {
    let (mut origin, log) = origin(Policy::Auto, policy(Heed::Heeded));
    let long = "A".repeat(30_000);
    let many = format!("{},", named(&["http://a.test/none"])).repeat(1_000);
    for field in ["!", "AeI", &long, &many] {
        let mut visit = Visit::new(&mut origin, taking());
        assert!(visit.view_with("/", &[(FIELD, field)]).is_whole);
        assert_eq!(visit.pushed(), LIST);
    }
    let why = [BadSet::NotBase64, BadSet::CutOff, BadSet::TooLong, BadSet::TooLong];
    assert_eq!(*log.unreadable.borrow(), why.map(|why| (FIELD.to_owned(), why)));
}
