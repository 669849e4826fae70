//! `bench/run`, where it does not measure.

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
