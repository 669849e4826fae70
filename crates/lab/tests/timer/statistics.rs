//! The statistics in the page, under node, against those of `study` on the same rows. The crate `study` holds the file of
//! verdicts to its own.

use crate::browser::program;
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_has_the_verdicts_of_race_on_the_same_rows() {
    let Some(node) = program(&["node"]).or_else(|| program(&["nodejs"])) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(node)
        .arg(root.join("crates/lab/tests/timer/statistics.mjs"))
        .arg(root.join("crates/report/src/timer/statistics.js"))
        .arg(root.join("vectors/timer/verdicts.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let agree: u32 = said.trim().trim_end_matches(" cases agree").parse().unwrap();
    assert!(agree >= 40, "{said}");
}
