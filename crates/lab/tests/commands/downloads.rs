//! `race jvm-downloads`, in small: what is there is measured, told with what it took, and set beside what was published.

use crate::bench::{Bench, outcomes, trials_run_here};

#[test]
fn the_fast_race_of_downloaders_tells_what_each_took_and_judges_the_published_findings() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    let result = bench.race_undisturbed("jvm-downloads", "run", &["--fast", "--trials", "1"]);
    assert_eq!(bench.alive(), [], "a process is left");
    let rows = outcomes(&bench.path("run"));
    // The seven that were published.
    assert_eq!(rows.len(), 7, "{rows:?}");
    for (key, outcome, reason) in &rows {
        let reason = reason.clone().unwrap_or_default();
        match outcome.as_str() {
            "measured" => {}
            "unsupported" => testing::skip(format!("{key}: {reason}")),
            _ => panic!("{key} {outcome}: {reason}"),
        }
    }
    let text = bench.run(&["report", "run"]).out;
    let page = std::fs::read_to_string(bench.path("run/report.html")).unwrap();
    // curl is always there.
    assert!(text.contains(" CPU s per GiB, "), "{text}");
    assert!(page.contains("Processor time and memory"));
    let findings = result["published"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 6);
    // One trial carries no interval, and the large file was left out.
    assert!(findings.iter().all(|finding| finding["verdict"] == "cannot_tell"), "{findings:#?}");
    assert!(text.contains("CANNOT TELL: small: cURL wins by far"), "{text}");
}
