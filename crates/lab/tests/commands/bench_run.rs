//! `bench/run`, where it does not measure: what it refuses, and a driver that does not end.

use crate::bench::{Bench, Ran};
use std::path::{Path, PathBuf};

fn bench_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
}

/// Python with these arguments; None, and a skip, where it is too old or not there.
fn python(arguments: &[&str]) -> Option<Ran> {
    let bench = Bench::new();
    if bench.shell(&[], "python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'").code != 0 {
        testing::skip("python3 of 3.9 or later is not installed");
        return None;
    }
    let mut command = bench.command("python3");
    command.args(arguments).current_dir(bench_folder());
    Some(bench.start(command).end())
}

#[test]
fn the_table_of_a_commit_is_not_written_for_another_program() {
    // It is not there, so that nothing would be measured if this were not refused.
    let Some(ran) = python(&["run", "--write", "--wirelap", "/nowhere/wirelap"]) else { return };
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("--write tells the commit of this checkout"), "{ran:?}");
}

#[test]
fn a_driver_that_does_not_end_is_killed_with_what_it_started() {
    const PROGRAM: &str = r#"
from sides import drivers
class Server:
    def cpu(self): return 0.0
drivers.patience = lambda seconds: 1.5
for line in ("echo half a word; sleep 1000 & wait", "exec >/dev/null 2>&1; sleep 1000"):
    try: drivers.run(["sh", "-c", line], 0, Server(), 1)
    except drivers.Failed as failed: print(failed)
"#;
    let Some(ran) = python(&["-c", PROGRAM]) else { return };
    let said = "sh did not end within 1.5 s and was killed";
    assert_eq!(ran.out, format!("{said}: half a word\n{said}: it printed nothing\n"), "{ran:?}");
}
