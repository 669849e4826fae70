//! The statistics in the page, under node, against those of `study` on the same rows. The crate `study` holds the file of
//! verdicts to its own.

use crate::browser::program;
use std::path::Path;
use std::process::Command;

/// Runs one of the scripts beside this file; gives what it printed.
fn node(script: &str, files: &[&str]) -> Option<String> {
    let node = program(&["node", "nodejs"])?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(node);
    command.arg(root.join("crates/lab/tests/timer").join(script));
    let ran = command.args(files.iter().map(|file| root.join(file))).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    Some(said)
}

#[test]
fn blocks_are_in_random_order_and_urls_are_new() {
    node("order.mjs", &["crates/report/src/timer/run.js"]);
}

#[test]
fn a_browser_that_lacks_a_programming_interface_tells_the_rest() {
    node("sampler.mjs", &["crates/report/src/timer/sampler.js"]);
}

#[test]
fn the_page_has_the_verdicts_of_race_on_the_same_rows() {
    let files = ["crates/report/src/timer/statistics.js", "vectors/timer/verdicts.json"];
    let Some(said) = node("statistics.mjs", &files) else { return };
    let agree: u32 = said.trim().trim_end_matches(" cases agree").parse().unwrap();
    assert!(agree >= 40, "{said}");
}
