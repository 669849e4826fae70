//! Ctrl-C and its kin: finished rows stay, every process goes, and `--resume` goes on.

use crate::bench::{Bench, Ran, SLOW, experiment, outcomes, signal, trials_run_here, wirelap};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const TRIALS: u32 = 4;

/// The keys of every trial of the run, as its plan tells them.
fn planned(bench: &Bench) -> BTreeSet<String> {
    let plan = bench.run(&["race", "slow.toml", "--dry-run", "-v"]).out;
    let keys: BTreeSet<String> = plan
        .lines()
        .filter(|line| {
            line.contains(" seed ") && line.trim_start().starts_with(|c: char| c.is_ascii_digit())
        })
        .filter(|line| !line.contains("baseline"))
        .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(keys.len(), 2 * TRIALS as usize, "{plan}");
    keys
}

fn slow_bench() -> Option<Bench> {
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, TRIALS));
    trials_run_here().then_some(bench)
}

fn nothing_is_left(bench: &Bench) {
    assert_eq!(bench.alive(), [], "processes are left");
    assert_eq!(bench.namespaces(), 0);
}

/// It ended as Ctrl-C ends it, and said how to go on.
fn stopped(ran: &Ran, folder: &str) {
    ran.said(
        130,
        &["stopped: ", " kept in ", &format!("wirelap race --resume {folder}"), "wirelap report"],
    );
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("error")).count(), 0, "{ran:?}");
}

fn resumed_whole(bench: &Bench, folder: &str) {
    bench.run(&["race", "--resume", folder]).raced();
    let rows = outcomes(&bench.path(folder));
    let keys: BTreeSet<String> = rows.iter().map(|(key, _, _)| key.clone()).collect();
    assert_eq!((rows.len(), &keys), (keys.len(), &planned(bench)));
    assert!(bench.path(folder).join("result.json").exists());
}

/// Whether the first row is written; the file may not be laid out yet.
pub(crate) fn has_rows(folder: &Path) -> bool {
    let count = || -> rusqlite::Result<u32> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let rows = rusqlite::Connection::open_with_flags(folder.join("rows.sqlite"), flags)?;
        rows.query_row("SELECT count(*) FROM trials", [], |row| row.get(0))
    };
    count().is_ok_and(|count| count > 0)
}

#[test]
fn an_interrupt_in_the_first_trial_leaves_nothing_running_and_can_be_gone_on_from() {
    let Some(bench) = slow_bench() else { return };
    for (folder, role) in [("in-worker", "trial"), ("in-far", "far"), ("in-near", "near")] {
        let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--out", folder]));
        running.await_role(role);
        running.signal("INT");
        stopped(&running.end(), folder);
        nothing_is_left(&bench);
    }
    resumed_whole(&bench, "in-near");
}

/// It reaches the command alone, and not what it measures with, as `kill` and container engines send it.
#[test]
fn an_interrupt_while_the_links_are_calibrated_ends_the_race_before_anything_is_made() {
    let Some(bench) = slow_bench() else { return };
    let mut command = bench.command(wirelap());
    command.args(["race", "slow.toml", "--no-wait", "--out", "early"]);
    let mut running = bench.start(command);
    running.await_role("gauge");
    running.signal("INT");
    running.end().said(130, &["stopped: a signal came before the first trial; nothing was made"]);
    assert!(!bench.path("early").exists());
    nothing_is_left(&bench);
}

/// What measures the instrument is no contender: without its figures there is no race.
#[test]
fn a_killed_measurement_of_the_links_ends_the_race_with_one_sentence() {
    let Some(bench) = slow_bench() else { return };
    for role in ["gauge", "probe"] {
        let mut command = bench.command(wirelap());
        command.args(["race", "slow.toml", "--no-wait", "--out", "run"]);
        let mut running = bench.start(command);
        signal(running.await_role(role), "KILL");
        let ran = running.end();
        ran.said(1, &["error: calibrating ", "SIGKILL"]);
        let said = ran.err.lines().filter(|line| line.starts_with("error"));
        assert_eq!(said.count(), 1, "{ran:?}");
        assert!(!bench.path("run").exists());
        nothing_is_left(&bench);
    }
}

#[test]
fn a_suspended_measurement_of_the_links_goes_on() {
    let Some(bench) = slow_bench() else { return };
    bench.write("slow.toml", experiment(SLOW, 1));
    let mut command = bench.command(wirelap());
    command.args(["race", "slow.toml", "--no-wait", "--out", "run"]);
    let mut running = bench.start(command);
    running.suspend("gauge");
    running.end().raced();
    assert_eq!(outcomes(&bench.path("run")).len(), 2);
    nothing_is_left(&bench);
}

#[test]
fn an_interrupt_between_trials_keeps_the_rows_that_are_there() {
    let Some(bench) = slow_bench() else { return };
    let running =
        bench.start(bench.wirelap(&["race", "slow.toml", "--serial", "--out", "between"]));
    let folder = bench.path("between");
    while !has_rows(&folder) {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal("TERM");
    stopped(&running.end(), "between");
    nothing_is_left(&bench);
    let kept = outcomes(&folder);
    assert!(!kept.is_empty() && kept.len() < 2 * TRIALS as usize, "{kept:?}");
    bench.run(&["report", "between"]).said(0, &[]);
    resumed_whole(&bench, "between");
    let after = outcomes(&folder);
    assert!(kept.iter().all(|row| after.contains(row)));
}

#[test]
fn impatience_changes_nothing() {
    let Some(bench) = slow_bench() else { return };
    let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--out", "twice"]));
    running.await_role("near");
    for _ in 0..3 {
        running.signal("INT");
    }
    stopped(&running.end(), "twice");
    nothing_is_left(&bench);
}

#[test]
fn a_killed_runner_takes_its_workers_and_their_children_along() {
    let Some(bench) = slow_bench() else { return };
    let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--out", "killed"]));
    running.await_role("near");
    assert!(bench.namespaces() > 1);
    running.signal("KILL");
    assert_eq!(running.end().code, 128 + 9);
    // The kernel ends the others, each after its parent; nobody can wait for them.
    for _ in 0..1000 {
        if bench.alive().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    nothing_is_left(&bench);
    resumed_whole(&bench, "killed");
}

#[test]
fn a_folder_takes_one_run_at_a_time() {
    let Some(bench) = slow_bench() else { return };
    let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--out", "busy"]));
    running.await_role("trial");
    bench
        .run(&["race", "--resume", "busy"])
        .said(2, &["another wirelap runs in busy", "wait until"]);
    running.signal("INT");
    stopped(&running.end(), "busy");
    resumed_whole(&bench, "busy");
    let before = outcomes(&bench.path("busy"));
    bench.run(&["race", "--resume", "busy"]).raced();
    assert_eq!(outcomes(&bench.path("busy")), before, "a finished run has nothing to go on with");
}
