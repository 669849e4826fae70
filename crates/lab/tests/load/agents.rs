//! One load from several agents: what the first one prints is what all of them did.

use crate::answered;
use crate::bench::{Bench, Ran, Running};
use crate::output::{histograms, serve};
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use testing::peers::free_address;

fn agent(bench: &Bench, agent: &str, at: &str, words: &[&str]) -> Running {
    let own = ["load", "--json", "--agent", agent, "--rendezvous", at];
    bench.start(bench.wirelap(&[&own, words].concat()))
}

/// Runs three agents, the first one last.
fn three(bench: &Bench, words: &[&str]) -> (Value, [Ran; 3]) {
    let at = free_address().to_string();
    let [third, second, first] = ["3/3", "2/3", "1/3"].map(|name| agent(bench, name, &at, words));
    let ran = [first.end(), second.end(), third.end()];
    let result = serde_json::from_str(&ran[0].out).unwrap_or_else(|_| panic!("{ran:?}"));
    (result, ran)
}

#[test]
fn three_agents_share_a_load_and_end_with_one_exit_code() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let (result, ran) = three(&bench, &["-c", "7", "-n", "500", "--hdr", "all.hlog", &url]);
    assert_eq!(answered(&result), 500);
    assert_eq!(
        (&result["connects"]["opened"], &result["setting"]["threads"]),
        (&7.into(), &3.into())
    );
    for ran in &ran {
        ran.said(0, &[]);
    }
    assert!(ran[1].out.is_empty() && ran[2].out.is_empty(), "the first one prints: {ran:?}");
    let log = histograms(&std::fs::read(bench.path("all.hlog")).unwrap());
    assert_eq!(log.iter().map(hdrhistogram::Histogram::len).sum::<u64>(), 500);
    // A schedule is one of all agents: none of its requests is made twice or by nobody.
    let (result, _) = three(&bench, &["-c", "6", "--rate", "300:1s,600:1s", &url]);
    assert_eq!(answered(&result), 900);
    let of_stages: Vec<&Value> = result["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| &stage["part"]["requests"])
        .collect();
    assert_eq!(of_stages, [&Value::from(300), &Value::from(600)]);
    // In its first second one agent makes a hundred requests.
    let first = &result["course"][0];
    assert!(first["answers"].as_u64().unwrap() > 110, "of all agents: {first}");
    // Nobody answers at this address.
    let (result, ran) =
        three(&bench, &["-c", "3", "-n", "3", &format!("http://{}/", free_address())]);
    assert_eq!(result["connects"]["opened"], 0);
    assert_eq!(ran.map(|ran| ran.code), [1, 1, 1]);
}

#[test]
fn an_agent_that_is_lost_or_called_otherwise_ends_all_and_a_stranger_does_not() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let at = free_address().to_string();
    let words = ["-c", "2", "-d", "60s", &url];
    let (first, second) = (agent(&bench, "1/2", &at, &words), agent(&bench, "2/2", &at, &words));
    let mut stranger = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        TcpStream::connect(&at).ok()
    });
    // It comes before the second agent, or after: either way the load begins.
    if let Some(stranger) = &mut stranger {
        let _refused = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n");
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    first.signal("KILL");
    first.end();
    second.end().said(1, &["the first agent was lost"]);
    // A build of this version from before counts had another format.
    let at = free_address().to_string();
    let first = agent(&bench, "1/2", &at, &words);
    let mut older = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        TcpStream::connect(&at).ok()
    });
    let version = env!("CARGO_PKG_VERSION");
    let hello = format!("{{\"version\":\"{version}\",\"agent\":\"2/2\",\"words\":[]}}");
    let older = older.as_mut().unwrap();
    older.write_all(&[&(hello.len() as u32).to_be_bytes(), hello.as_bytes()].concat()).unwrap();
    let both = [format!("is wirelap {version} (format 0)"), format!("this is {version} (format ")];
    first.end().said(2, &[&both[0], &both[1]]);
    let at = free_address().to_string();
    let first = agent(&bench, "1/2", &at, &["-c", "2", "-n", "2", &url]);
    let second = agent(&bench, "2/2", &at, &["-c", "2", "-n", "4", &url]);
    first.end().said(2, &["agent 2/2 was called otherwise: ", "-n 4"]);
    second.end().said(1, &["the first agent was lost"]);
    let alone = ["load", "--agent", "1/2", &url];
    bench.run(&alone).said(2, &["--rendezvous"]);
    let few = ["load", "-c", "1", "--agent", "1/2", "--rendezvous", &at, &url];
    bench.run(&few).said(2, &["2 agents need 2 connections"]);
    let strange = ["load", "-c", "2", "--agent", "1/2", "--rendezvous", "nowhere", &url];
    bench.run(&strange).said(2, &["`nowhere` is no address"]);
}

#[test]
fn an_interrupt_of_any_agent_ends_the_load_of_all() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let run = ["-c", "4", "-d", "60s", "--rate", "400", &url];
    let search = ["-c", "4", "-d", "60s", "--slo", "p99<5s", "--rate", "400", &url];
    for (words, at_first, code) in
        [(run.as_slice(), true, 0), (&run, false, 0), (&search, false, 130)]
    {
        let at = free_address().to_string();
        let (second, first) = (agent(&bench, "2/2", &at, words), agent(&bench, "1/2", &at, words));
        std::thread::sleep(std::time::Duration::from_millis(2_500));
        if at_first { &first } else { &second }.signal("INT");
        let (first, second) = (first.end(), second.end());
        assert_eq!((first.code, second.code), (code, code), "{first:?} {second:?}");
        let result: Value = serde_json::from_str(&first.out).unwrap();
        let (answers, warnings) = (answered(&result), result["warnings"].to_string());
        assert_eq!(result["interrupted"], true, "{result}");
        assert!((1..400 * 30).contains(&answers), "{result}");
        // Both stopped together: the rate is that of both, and all connections were there.
        for word in ["were due", "could be opened", "handed in nothing"] {
            assert!(!warnings.contains(word), "{warnings}");
        }
        assert_eq!(result["connects"]["opened"], 4);
    }
    // Before the load begins there is nobody to hear of it.
    let waiting = agent(&bench, "1/2", &free_address().to_string(), &run);
    std::thread::sleep(std::time::Duration::from_millis(500));
    waiting.signal("INT");
    waiting.end().said(130, &["the load had not begun"]);
}
