//! The summary page of several published measurements, over real rows.

use crate::bench::{Bench, trials_run_here};

const ECHO: &str = include_str!("../../../../experiments/websocket-echo.toml");

#[test]
fn two_runs_of_published_measurements_end_with_one_page_and_report_makes_it_again() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("a.toml", ECHO);
    bench.write("b.toml", ECHO);
    let words =
        ["race", "a.toml", "b.toml", "--fast", "--contenders", "ws,http", "--baseline", "ws"];
    let run = bench.run(&[&words[..], &["--trials", "1", "--links", "none"]].concat());
    let out = run.said(0, &[]).out.clone();
    assert!(out.ends_with("summary: wirelap-published.html\n"), "{out}");
    let page = std::fs::read_to_string(bench.path("wirelap-published.html")).unwrap();
    assert!(page.contains("Of 4 published findings") && page.contains("class=\"hollow\""));
    let folders = ["wirelap-websocket-echo-1", "wirelap-websocket-echo-2"];
    std::fs::remove_file(bench.path("wirelap-published.html")).unwrap();
    bench.run(&[&["report"], &folders[..]].concat()).said(0, &[]);
    assert_eq!(std::fs::read_to_string(bench.path("wirelap-published.html")).unwrap(), page);
    let table = std::fs::read_to_string(bench.path("wirelap-published.md")).unwrap();
    assert_eq!(table.matches("## WebSocket against HTTP for small requests").count(), 2, "{table}");
    bench.run(&["report", folders[0], folders[1], "--csv"]).said(2, &["are for one run"]);
}
