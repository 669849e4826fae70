//! Firefox in trials of ours, as Chromium beside it.

use super::{
    HEAD, PAGE, assert_unsupported, contender, figure, grade, has, race_under, race_unhurried,
    record,
};
use crate::bench::{Bench, outcomes, trials_run_here};
use serde_json::Value;
use std::fs;

/// The head of Firefox's experiments. Over a slow link its own work is a small part of a load, which the audit asks for; and the
/// round trip is below the 250 ms after which Firefox opens a second connection beside the first.
pub(super) fn head() -> String {
    HEAD.replace("rtt=40ms,down=8mbit,up=4mbit", "rtt=150ms,down=400kbit,up=400kbit")
}

pub(super) fn race(bench: &Bench, contenders: &[(&str, &str)]) -> Vec<Value> {
    race_under(bench, &head(), contenders, &[])
}

fn is_here() -> bool {
    has("firefox-esr") && has("certutil")
}

#[test]
fn firefox_tells_of_a_page_over_every_protocol_that_it_speaks() {
    if !is_here() {
        return;
    }
    let bench = Bench::alone();
    let contenders = [
        ("first", "transport = \"http/1.1\"\ntls = \"none\"\nclient = \"firefox\""),
        ("h1-tls", "transport = \"http/1.1\"\nclient = \"firefox\""),
        ("h1-tls12", "transport = \"http/1.1\"\ntls = \"1.2\"\nclient = \"firefox\""),
        ("h2", "transport = \"h2\"\nclient = \"firefox\""),
        ("h3", "transport = \"h3\"\nclient = \"firefox\""),
    ];
    for (row, (name, _)) in race(&bench, &contenders).iter().zip(contenders) {
        // The document, a style sheet, a script, four images and the hero, each once.
        let fetches = row["fetches"].as_array().unwrap();
        assert_eq!(fetches.len(), 8, "{name}");
        let asked = &row["plan"]["cell"]["contender"]["transport"];
        for fetch in fetches {
            let found = (&fetch["status"], &fetch["outcome"], &fetch["protocol"]);
            assert_eq!(found, (&200.into(), &"done".into(), asked), "{name}: {fetch}");
        }
        // In the order in which a page comes to be.
        let times = ["first_byte_ms", "fcp_ms", "lcp_ms"].map(|one| figure(row, one));
        assert!(times.is_sorted() && times[0] > 40.0, "{name}: {times:?}");
        assert!(figure(row, "dom_content_loaded_ms") > times[0], "{name}");
        assert!(figure(row, "load_ms") < 10_000.0, "{name}");
        let element = row["settings"]["client lcp element"].as_str().unwrap();
        assert!(element.starts_with("img /picture/hero"), "{name}: {element}");
        assert_eq!(row["settings"]["client subject"], "firefox");
        assert_eq!(row["settings"]["client name"], "Firefox");
        // What it does not tell is absent.
        for absent in ["first_paint_ms", "cls", "long_tasks_ms", "speed_index_ms", "unload_ms"] {
            assert!(row["metrics"].get(absent).is_none(), "{name}: {absent}");
        }
        assert_eq!(grade(row, "protocol"), "server_log", "{name}");
        for claim in ["bytes", "connections", "times"] {
            assert_eq!(grade(row, claim), "wire", "{name}: {claim}");
        }
    }
    assert_eq!(bench.alive(), [], "a browser is left");
}

#[test]
fn firefox_loads_pages_from_other_peoples_servers() {
    if !is_here() {
        return;
    }
    let bench = Bench::alone();
    let contenders = [
        ("first", "transport = \"h2\"\nclient = \"firefox\"\nserver = \"nginx\""),
        ("h2o", "transport = \"h2\"\nclient = \"firefox\"\nserver = \"h2o\""),
        ("caddy", "transport = \"h3\"\nclient = \"firefox\"\nserver = \"caddy\""),
        ("apache", "transport = \"h2\"\nclient = \"firefox\"\nserver = \"apache\""),
    ];
    for (row, (name, _)) in race(&bench, &contenders).iter().zip(contenders) {
        let element = row["settings"]["client lcp element"].as_str().unwrap();
        assert!(element.starts_with("img /picture/hero"), "{name}: {element}");
        let asked = &row["plan"]["cell"]["contender"]["transport"];
        assert!(row["fetches"].as_array().unwrap().iter().all(|fetch| fetch["protocol"] == *asked));
    }
}

/// The server thinks about the document, and says by a 103 what the page will need.
#[test]
fn firefox_heeds_hints_and_a_103_is_no_first_byte() {
    if !is_here() {
        return;
    }
    let bench = Bench::alone();
    let page = PAGE.to_owned() + "server_time = \"300ms\"\n";
    let hinting =
        "transport = \"h2\"\nclient = \"firefox\"\nsettings = { policy = \"early-hints\" }";
    bench.write("browsers.toml", head() + &page + &contender("first", hinting));
    race_unhurried(&bench, &[]);
    let row = record(&bench, "first");
    assert_eq!(row["outcome"]["kind"], "measured", "{}", row["outcome"]);
    let at = |id: usize, phase: &str| row["fetches"][id]["phases"][phase].as_u64().unwrap();
    let waited = at(0, "first_byte").saturating_sub(at(0, "sent"));
    assert!(waited > 300_000_000, "{waited} ns");
    // The style sheet was asked for before the document came.
    assert!(at(1, "sent") < at(0, "first_byte"), "{:#}", row["fetches"]);
}

#[test]
fn what_firefox_cannot_tell_or_do_is_unsupported_and_says_why() {
    if !is_here() {
        return;
    }
    let page = "kind = \"page\"\nimages = 1\nbytes = 300";
    let asking = |metric: &str| format!("{page}\nmetric = \"{metric}\"");
    for (workload, transport, reason) in [
        (asking("first_paint_ms"), "transport = \"h2\"", "does not tell of first_paint_ms"),
        (asking("speed_index_ms"), "transport = \"h2\"", "does not tell of speed_index_ms"),
        (page.to_owned(), "transport = \"spdy/3.1\"", "not declared to speak spdy/3.1"),
        (page.to_owned(), "transport = \"h2\"\ntls = \"none\"", "over TLS alone"),
    ] {
        let bench = Bench::new();
        let asked = contender("first", &format!("{transport}\nclient = \"firefox\""));
        bench.write("browsers.toml", format!("{HEAD}[[workloads]]\n{workload}\n{asked}"));
        assert_unsupported(&bench, reason);
    }
}

/// A declaration of a Firefox under the name `nobody`, whose program is `program`.
fn declare(bench: &Bench, program: &str, needs: &str) {
    let subject = format!(
        "name = \"nobody\"\nrole = \"client\"\ncommand = [\"{{wirelap}}\", \"subject\", \"firefox\", \"{program}\"]\n\
         transports = [\"http/1.1\"]\nworkloads = [\"page\"]\nmilestones = [\"lcp_ms\"]\n{needs}"
    );
    fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/nobody.toml", subject);
    let asked = contender("first", "transport = \"http/1.1\"\ntls = \"none\"\nclient = \"nobody\"");
    bench.write("browsers.toml", HEAD.to_owned() + PAGE + &asked);
}

#[test]
fn a_firefox_that_is_not_here_is_unsupported_with_its_remedy() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let remedy = "sudo apt-get install no-such-firefox";
    declare(
        &bench,
        "no-such-firefox",
        &format!("needs = [\"no-such-firefox\"]\nremedy = \"{remedy}\"\n"),
    );
    assert_unsupported(&bench, "no-such-firefox, which is not here");
    assert_eq!(record(&bench, "first")["outcome"]["remedy"], remedy);
}

/// A program that ends at once, in the place of a browser.
#[test]
fn a_firefox_that_ends_by_itself_fails_the_trial_and_says_so() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    declare(&bench, "true", "");
    bench.run(&["race", "browsers.toml", "--out", "run"]).said(1, &[]);
    let (_, outcome, reason) = outcomes(&bench.path("run")).remove(0);
    let reason = reason.unwrap();
    assert_eq!(outcome, "failed", "{reason}");
    assert!(reason.contains("the browser ended by itself"), "{reason}");
}
