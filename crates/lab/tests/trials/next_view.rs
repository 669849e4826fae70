//! Next views through the whole lab: what the first view left is not transferred again.

use crate::bench::{Bench, outcomes, trials_run_here};
use crate::recorded::{HEAD, is_whole};
use crate::servers::contender;
use crate::six_images::{median, six_images};

#[test]
fn a_next_view_fetches_what_is_evicted_and_asks_for_what_is_stale() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut experiment = six_images("first");
    for (name, transport, settings) in [
        ("first", "h2", ""),
        ("fresh", "h2", "next_view = {}"),
        ("fresh-h1", "http/1.1", "next_view = {}"),
        ("resumed", "h3", "next_view = {}, temperature = \"resumed\""),
        ("stale", "h2", "next_view = { away = \"2h\", max_age = \"1h\" }, push = true"),
        ("evicted", "h2", "next_view = { evicted = 100 }"),
    ] {
        experiment.push_str(&format!(
            "[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\ntls = \"1.3\"\n\
             settings = {{ {settings} }}\n"
        ));
    }
    bench.write("views.toml", &experiment);
    let result = bench.race_undisturbed("views.toml", "run", &[]);
    assert_eq!(result["failures"], serde_json::json!([]), "{result:#}");
    let median = |contender: &str, metric: &str| median(&result, contender, metric);
    // The document is never stored; each of six images has 1000 bytes.
    for (contender, fresh, revalidated) in [
        ("first", 0.0, 0.0),
        ("fresh", 6.0, 0.0),
        ("fresh-h1", 6.0, 0.0),
        ("resumed", 6.0, 0.0),
        ("stale", 0.0, 6.0),
        ("evicted", 0.0, 0.0),
    ] {
        let found = (median(contender, "cache_fresh"), median(contender, "cache_revalidated"));
        assert_eq!(found, (fresh, revalidated), "{contender}");
        assert_eq!(median(contender, "cached_bytes"), 1_000.0 * (fresh + revalidated));
        let expected = if fresh > 0.0 { 1.0 } else { 2.0 };
        assert_eq!(median(contender, "rounds"), expected, "{contender}");
    }
    assert!(median("stale", "bytes") + 5_000.0 < median("evicted", "bytes"));
    assert!(median("fresh", "load_ms") < median("stale", "load_ms"));
    assert_eq!(median("resumed", "resumed_connections"), 1.0);
    assert_eq!(median("fresh", "resumed_connections"), 0.0);
}

#[test]
fn casper_pushes_nothing_that_the_next_view_has() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut experiment =
        six_images("first").replace("bytes = 1000", "bytes = 1000\ncss = 1\nscripts = 2");
    for (name, policy, view) in [
        ("first", "push", ""),
        ("blind", "push", ", next_view = {}"),
        ("casper", "push-casper", ", next_view = {}"),
    ] {
        experiment.push_str(&format!(
            "[[contenders]]\nname = \"{name}\"\ntransport = \"h2\"\ntls = \"1.3\"\n\
             settings = {{ push = true, policy = \"{policy}\"{view} }}\n"
        ));
    }
    bench.write("casper.toml", &experiment);
    let result = bench.race_undisturbed("casper.toml", "run", &[]);
    assert_eq!(result["failures"], serde_json::json!([]), "{result:#}");
    // The style sheet and the scripts block; each view but the first has them and the images.
    for (name, pushed, used, cancelled, fresh) in [
        ("first", 3.0, 3.0, 0.0, 0.0),
        ("blind", 3.0, 0.0, 3.0, 9.0),
        ("casper", 0.0, 0.0, 0.0, 9.0),
    ] {
        let metrics = ["pushed_streams", "pushes_used", "pushes_cancelled", "cache_fresh"];
        let found = metrics.map(|metric| median(&result, name, metric));
        assert_eq!(found, [pushed, used, cancelled, fresh], "{name}");
    }
    assert!(median(&result, "blind", "wasted_bytes") > 0.0);
}

#[test]
fn a_recorded_redirect_stays_a_fetch_of_its_own_in_both_views_of_a_page() {
    if !trials_run_here() {
        return;
    }
    let entry = |url: &str, start: u64, answer: &str| {
        format!(
            r#"{{"startedDateTime":"2026-01-01T00:00:00.{start:03}Z","time":20,
"request":{{"method":"GET","url":"https://{url}"}},"response":{{{answer}}},
"timings":{{"wait":15,"receive":5}}}}"#
        )
    };
    let html = r#""status":200,"bodySize":900,"content":{"mimeType":"text/html"}"#;
    let entries = [
        entry("shop.test/", 0, r#""status":301,"redirectURL":"https://www.shop.test/""#),
        entry("www.shop.test/", 30, html),
    ];
    let bench = Bench::new();
    bench.write(
        "page.har",
        format!(
            r#"{{"log":{{"pages":[{{"id":"p","startedDateTime":"2026-01-01T00:00:00.000Z","pageTimings":{{"onLoad":200}}}}],"entries":[{}]}}}}"#,
            entries.join(",")
        ),
    );
    let contenders = [("origin h1", "http/1.1"), ("h2", "h2")].map(|(name, transport)| {
        let contender = contender(name, "origin", transport, "1.3");
        format!("{contender}settings = {{ next_view = {{}} }}\n")
    });
    bench.write("recorded.toml", HEAD.to_owned() + &contenders.concat());
    bench.run(&["race", "recorded.toml", "--out", "run"]).raced();
    let ended = outcomes(&bench.path("run"));
    assert_eq!(ended.len(), 2, "{ended:?}");
    for (key, outcome, reason) in ended {
        assert!(is_whole(&outcome), "{key}: {outcome}: {reason:?}");
    }
}
