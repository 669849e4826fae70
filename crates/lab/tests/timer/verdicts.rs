//! A planted difference of ten per cent is found, and none is a tie, in each browser and by `race`.

use crate::bench::{Bench, trials_run_here};
use crate::browser::{Timed, start, time};
use crate::site::Site;
use serde_json::Value;

/// The server's time before A, in milliseconds. What the browser itself takes, and its noise, is small beside it.
const SERVER_MS: u32 = 900;
const BLOCKS: &str = "10";

/// B's page over A's, `more` milliseconds slower at the server.
fn timed(name: &str, more: u32) -> Option<(Bench, Timed)> {
    let bench = Bench::alone();
    let mut browser = start(name, &bench)?;
    let site = Site::start(&bench, &[]);
    let page = |ms: u32| format!("/page?images=4&bytes=2000&css=1&delay_ms={ms}");
    let (a, b) = (page(SERVER_MS), page(SERVER_MS + more));
    let settings = [("a", &*a), ("b", &b), ("runs", BLOCKS), ("settle", "100")];
    let timed = time(browser.as_mut(), &site.timer(), &settings);
    drop(browser);
    assert_eq!(timed.state, "done", "{timed:?}");
    Some((bench, timed))
}

/// The verdict of `wirelap report` on the download, B over A.
fn reported(bench: &Bench, timed: &Timed) -> Value {
    bench.write("timer.json", timed.download.to_string());
    let ran = bench.run(&["report", "timer.json", "--json"]);
    ran.said(0, &[]);
    serde_json::from_str(&ran.out).unwrap()
}

/// `race` on the same planted difference: a call that the server thinks as long about.
fn raced(more: u32) -> Option<String> {
    if !trials_run_here() {
        return None;
    }
    let bench = Bench::alone();
    let toml = format!(
        "name = \"planted\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"A\"\ntrials = {BLOCKS}\nwarmup = 1\n\
         [[workloads]]\nkind = \"calls\"\ncount = 1\npattern = \"serial\"\nbytes = 2000\nserver_time = \"{SERVER_MS}ms\"\n\
         [[contenders]]\nname = \"A\"\ntransport = \"http/1.1\"\n\
         [[contenders]]\nname = \"B\"\ntransport = \"http/1.1\"\n[contenders.settings]\nserver_time = \"{more}ms\"\n\
         [[links]]\nname = \"lan\"\n"
    );
    bench.write("planted.toml", toml);
    let result = bench.race_whole("planted.toml", "run", &[]);
    Some(result["verdicts"][0]["ranking"][0]["verdict"].as_str().unwrap().to_owned())
}

fn verdict_in(name: &str, more: u32, wanted: &str) {
    let Some((bench, timed)) = timed(name, more) else { return };
    assert_eq!(timed.verdicts["load_ms"], wanted, "{timed:?}");
    let found = if wanted == "tie" { "B and A tie (" } else { "B is slower than A (1." };
    assert!(timed.finding.starts_with(found), "{timed:?}");
    let result = reported(&bench, &timed);
    let verdict = &result["verdict"];
    assert_eq!(verdict["verdict"], wanted, "{result}");
    assert_eq!(verdict["n"], 10, "{result}");
    assert!(
        verdict["ci95"].is_array() && result["refused"].as_array().unwrap().is_empty(),
        "{result}"
    );
    // The report's figures are those that the page shows, for each metric that it could tell.
    let metrics = result["metrics"].as_array().unwrap();
    assert!(metrics.len() >= 6, "{metrics:?}");
    for one in metrics {
        let shown = &timed.verdicts[one["metric"].as_str().unwrap()];
        assert_eq!(*shown, one["comparison"]["verdict"], "{one}");
    }
    let source = if name == "chromium" { "paint_timing" } else { "body_height" };
    let rows = timed.download["rows"].as_array().unwrap();
    assert!(rows.len() == 20 && rows.iter().all(|row| row["first_paint"] == source), "{rows:?}");
    let ratio = verdict["ratio"].as_f64().unwrap();
    let planted = f64::from(SERVER_MS + more) / f64::from(SERVER_MS);
    assert!((ratio / planted - 1.0).abs() < 0.04, "{ratio} where {planted} was planted");
}

#[test]
fn chromium_finds_ten_per_cent() {
    verdict_in("chromium", SERVER_MS / 10, "slower");
}

#[test]
fn chromium_ties_what_is_the_same() {
    verdict_in("chromium", 0, "tie");
}

#[test]
fn firefox_finds_ten_per_cent() {
    verdict_in("firefox", SERVER_MS / 10, "slower");
}

#[test]
fn firefox_ties_what_is_the_same() {
    verdict_in("firefox", 0, "tie");
}

#[test]
fn race_gives_the_same_verdicts_on_what_was_planted_in_the_browsers() {
    for (more, wanted) in [(SERVER_MS / 10, "slower"), (0, "tie")] {
        let Some(verdict) = raced(more) else { return };
        assert_eq!(verdict, wanted);
    }
}
