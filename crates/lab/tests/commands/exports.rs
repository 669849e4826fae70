//! What a run exports, read by other people's programs.

use crate::bench::{Bench, experiment, trials_run_here};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// Runs Python where it has `module`; None, and a skip, where it has not.
fn python(module: &str, arguments: &[&Path]) -> Option<Output> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let home = Command::new(peers).arg("home").output().unwrap();
    let modules = Path::new(String::from_utf8_lossy(&home.stdout).trim()).join("science");
    let python = |arguments: &[&OsStr]| {
        Command::new("python3").env("PYTHONPATH", &modules).args(arguments).output()
    };
    let has = python(&["-c".as_ref(), format!("import {module}").as_ref()]);
    if !has.is_ok_and(|output| output.status.success()) {
        testing::skip(format!("Python's {module} is not installed: ./peers install"));
        return None;
    }
    let arguments: Vec<&OsStr> = arguments.iter().map(|path| path.as_os_str()).collect();
    Some(python(&arguments).unwrap())
}

/// An experiment of eight blocks.
fn plan(bench: &Bench) {
    bench.write("tiny.toml", experiment("rtt=20ms,down=20mbit,up=20mbit", 8));
}

/// Writes the rows of the run as CSV to `rows.csv`.
fn export(bench: &Bench) {
    let csv = bench.run(&["report", "run", "--csv"]);
    csv.said(0, &[]);
    bench.write("rows.csv", csv.out);
}

#[test]
fn scipy_comes_to_the_figures_of_the_result_from_the_exported_rows() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    plan(&bench);
    // A cell of which the audit refused too much has no figures.
    bench.race_whole("tiny.toml", "run", &[]);
    export(&bench);
    let header = std::fs::read_to_string(bench.path("rows.csv")).unwrap();
    let names: Vec<&str> = header.lines().next().unwrap().split(',').collect();
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/stats/check_rows.py");
    let (rows, result) = (bench.path("rows.csv"), bench.path("run/result.json"));
    let Some(output) = python("scipy", &[&check, &rows, &result]) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("4 figures, 0 differ"), "{output:?}");
}

#[test]
fn parquet_is_written_by_a_build_that_can_and_another_says_how_to_get_it() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    plan(&bench);
    bench.run(&["race", "tiny.toml", "--out", "run"]).raced();
    export(&bench);
    let wrote = bench.run(&["report", "run", "--parquet", "rows.parquet"]);
    if !cfg!(feature = "parquet") {
        wrote.said(3, &["without Parquet", "--features parquet"]);
        assert!(!bench.path("rows.parquet").exists());
        return;
    }
    wrote.said(0, &[]);
    let script = "import sys, csv, pyarrow.parquet as parquet\n\
        table = parquet.read_table(sys.argv[1]).to_pylist()\n\
        rows = list(csv.DictReader(open(sys.argv[2], newline='')))\n\
        assert [row['key'] for row in table] == [row['key'] for row in rows]\n\
        assert [row['load_ms'] for row in table] == [float(row['load_ms']) for row in rows]\n\
        assert list(table[0]) == list(rows[0]), (list(table[0]), list(rows[0]))\n";
    bench.write("read.py", script);
    let [script, parquet, csv] =
        ["read.py", "rows.parquet", "rows.csv"].map(|name| bench.path(name));
    let Some(output) = python("pyarrow", &[&script, &parquet, &csv]) else { return };
    assert!(output.status.success(), "{output:?}");
}
