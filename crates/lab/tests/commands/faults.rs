//! What goes wrong that is nobody's slip: killed processes, full disks, missing rights, damaged folders.

use crate::bench::{Bench, Ran, SLOW, all_outcomes, experiment, outcomes, signal, trials_run_here};
use std::fs;
use std::process::Command;
use testing::is_root;

#[test]
fn a_killed_process_fails_its_trial_and_the_run_goes_on() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 2));
    for (role, reason) in [("far", "the far side died"), ("near", "the near side died")] {
        let folder = format!("without-{role}");
        let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--out", &folder]));
        // A trial's far is told from the others by its near: with both, it is under way.
        running.await_role("near");
        signal(running.await_role(role), "KILL");
        running.end().raced();
        let rows = outcomes(&bench.path(&folder));
        let failed: Vec<_> = rows.iter().filter(|(_, outcome, _)| outcome == "failed").collect();
        assert_eq!((rows.len(), failed.len()), (4, 1), "{rows:?}");
        let told = failed[0].2.as_deref().unwrap();
        assert!(told.contains(reason) && told.contains("SIGKILL"), "{told}");
        assert_eq!(bench.alive(), []);
    }
}

/// As root of a user namespace of its own, so that its limits can be turned without anybody else's notice.
const OWN_USERS: [&str; 3] = ["unshare", "--user", "--map-root-user"];

pub(crate) fn can(wrapper: &[&str], line: &str) -> bool {
    let works = Command::new(wrapper[0]).args(&wrapper[1..]).args(["sh", "-c", line]).output();
    let works = works.is_ok_and(|output| output.status.success());
    if !works {
        testing::skip(format!("`{}` does not work here", wrapper.join(" ")));
    }
    works
}

#[test]
fn refused_namespaces_are_told_by_race_link_list_and_doctor() {
    const FORBID: &str =
        "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces; ";
    if !can(&OWN_USERS, FORBID) {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 1));
    let run = |command: &str| bench.shell(&OWN_USERS, &format!("{FORBID} exec $W {command}"));
    let remedy = "sudo sysctl -w user.max_user_namespaces=10000";
    for command in ["race tiny.toml", "link lan -- true"] {
        let ran = run(command);
        ran.said(3, &["cannot make namespaces", remedy]);
        assert_eq!(ran.err.lines().count(), 2, "{ran:?}");
    }
    assert!(!bench.path("wirelap-tiny-1").exists());
    let doctor = run("doctor");
    assert!(
        doctor.code == 3 && doctor.out.contains("LACKING") && doctor.out.contains(remedy),
        "{doctor:?}"
    );
    let list = run("list").out;
    let trials = list.lines().find(|line| line.trim_start().starts_with("trials "));
    assert!(trials.is_some_and(|line| line.contains(" no: cannot make namespaces")), "{list}");
    run("race tiny.toml --dry-run").said(0, &[]);
}

#[test]
fn a_full_disk_keeps_finished_rows_and_tells_how_to_go_on() {
    const OWN_MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];
    if !can(&OWN_MOUNTS, "mount -t tmpfs none /mnt") || !trials_run_here() {
        return;
    }
    // A run whose first blocks are all refused ends early.
    let bench = Bench::alone();
    bench.write("tiny.toml", experiment("lan", 6));
    fs::create_dir(bench.path("disk")).unwrap();
    let run = |size: &str| -> Ran {
        let line = format!(
            "mount -t tmpfs -o size={size} none disk && $W race tiny.toml --no-wait --no-calibration --out disk/run; code=$?; \
             mount -o remount,size=64m disk; ls disk; cp -r disk/run kept-{size}; exit $code"
        );
        bench.shell(&OWN_MOUNTS, &line)
    };
    // Too full to begin: nothing is left, so that the same command works once there is space.
    for size in ["4k", "16k", "40k"] {
        let ran = run(size);
        ran.said(3, &["rows.sqlite", "free some space on that disk"]);
        assert_eq!(ran.out, "", "a half-made folder is left");
    }
    // Full in the middle: what is finished stays.
    let ran = run("120k");
    ran.said(
        3,
        &["writing to disk/run/rows.sqlite", "free some space", "wirelap race --resume disk/run"],
    );
    let kept = outcomes(&bench.path("kept-120k")).len();
    assert!((1..12).contains(&kept), "{kept}");
    bench.run(&["race", "--resume", "kept-120k"]).raced();
    assert_eq!(outcomes(&bench.path("kept-120k")).len(), 12);
}

#[test]
fn an_ordinary_user_races_without_root() {
    if !is_root() {
        return testing::skip(
            "becoming another user needs root; the other tests run without it already",
        );
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("rtt=20ms,down=5mbit,up=5mbit", 6));
    let doctor = bench.shell_as_nobody("$W doctor");
    if doctor.code != 0 {
        return testing::skip(format!("trials without root: {}", doctor.out));
    }
    let ran = bench.shell_as_nobody("$W race tiny.toml --out run");
    ran.said(0, &[]);
    assert!(ran.out.contains(" of 12 trials measured") && ran.out.contains(" 0 failed"), "{ran:?}");
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["host"]["root"], false);
    assert!(result["verdicts"][0]["pairs"][0]["verdict"].is_string(), "{result:#}");
    bench
        .shell_as_nobody("mkdir locked && chmod 500 locked && $W race tiny.toml --out locked/run")
        .said(2, &["locked/run", "Permission denied", "choose a place"]);
}

#[test]
fn a_damaged_folder_is_told_as_such_and_left_alone() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 1));
    bench.run(&["race", "tiny.toml", "--out", "whole"]).raced();
    let rows = fs::read(bench.path("whole/rows.sqlite")).unwrap();
    let damages: [(&str, Vec<u8>); 4] = [
        ("truncated", rows[..6000].to_vec()),
        ("empty", Vec::new()),
        (
            "of-another-kind",
            b"this is a text, and no database at all; it is long enough to be looked at. "
                .repeat(9),
        ),
        ("without-its-run", rows.clone()),
    ];
    for (folder, content) in damages {
        fs::create_dir(bench.path(folder)).unwrap();
        let file = bench.path(folder).join("rows.sqlite");
        fs::write(&file, content).unwrap();
        if folder == "without-its-run" {
            rusqlite::Connection::open(&file).unwrap().execute("DELETE FROM run", []).unwrap();
        }
        for command in [&["report", folder][..], &["race", "--resume", folder]] {
            let ran = bench.run(command);
            ran.said(2, &["rows.sqlite", "damaged", "run the experiment again"]);
        }
    }
}

#[test]
fn a_folder_with_a_damaged_place_names_it_and_gives_the_rest() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 20));
    // A run whose first blocks are all refused ends early.
    bench.race_whole("tiny.toml", "run", &[]);
    let file = bench.path("run/rows.sqlite");
    let number = |sql: &str| -> usize {
        let rows = rusqlite::Connection::open(&file).unwrap();
        rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        rows.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    let size = number("PRAGMA page_size");
    let root = number("SELECT rootpage FROM sqlite_schema WHERE name = 'trials'");
    let all = all_outcomes(&bench.path("run")).len();
    let mut bytes = fs::read(&file).unwrap();
    let page = |number: usize| (number - 1) * size;
    let middle = middle_child(&bytes[page(root)..][..size]);
    bytes[page(middle)..][..size].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    let ran = bench.run(&["report", "run", "--csv"]);
    ran.said(0, &["damaged"]);
    let kept = ran.out.lines().count() - 1;
    assert!((1..all).contains(&kept), "{kept} of {all}: {ran:?}");
}

/// The page below an inner page of a table without row IDs, in the middle of its cells (SQLite's file format, §1.6).
fn middle_child(page: &[u8]) -> usize {
    const INNER: u8 = 0x02;
    assert_eq!(page[0], INNER, "the table is larger than a page");
    let number = |at: usize| u16::from_be_bytes([page[at], page[at + 1]]) as usize;
    let (cells, header) = (number(3), 12);
    let cell = number(header + cells / 2 * 2);
    u32::from_be_bytes(page[cell..cell + 4].try_into().unwrap()) as usize
}

#[test]
fn a_suspended_process_spoils_no_more_than_its_trial() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 2));
    // The link stands still for as long as the page takes: the audit tells.
    let spoilt = |outcome: &str, _: &str| outcome != "measured";
    assert!(
        bench.finds_out(|running| running.suspend("trial"), spoilt, &[]),
        "a link that stood still was never noticed"
    );
}
