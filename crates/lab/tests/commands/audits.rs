//! What the audit sees of a trial: figures in rows and reports, and faults planted one by one: a protocol that was not
//! asked for, programs on every core, a clock that is set, a client that is suspended.

use crate::bench::{Bench, Running, SLOW, all_outcomes, experiment, trials_run_here, wirelap};
use crate::load::{Load, cores};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Figures of the audit of every row, by key.
fn figures(folder: &Path) -> BTreeMap<String, BTreeMap<String, f64>> {
    let rows = rusqlite::Connection::open(folder.join("rows.sqlite")).unwrap();
    let sql = "SELECT t.key, a.key, a.value FROM trials t, json_each(t.record -> 'audit') a";
    let mut query = rows.prepare(sql).unwrap();
    let found = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap);
    let mut figures: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (trial, figure, value) in found {
        figures.entry(trial).or_default().insert(figure, value);
    }
    figures
}

#[test]
fn every_figure_of_the_audit_stands_in_the_row_and_in_every_form_of_the_result() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 1));
    let ran = bench.run(&["race", "slow.toml", "--serial", "--out", "run", "--json"]);
    ran.raced();
    for (key, figures) in figures(&bench.path("run")) {
        for name in [
            "packet_lateness_ms",
            "unplanned_drops",
            "link_kept",
            "clock_steps",
            "client_lag_ms",
            "client_lag_cpu_ms",
            "client_busy",
            "client_cpu",
            "origin_lag_ms",
            "origin_lag_cpu_ms",
            "other_load",
            "stolen_cpu",
        ] {
            assert!(figures.contains_key(name), "{key} has no {name}: {figures:?}");
        }
        for share in ["client_busy", "client_cpu", "other_load", "stolen_cpu"] {
            assert!((0.0..=1.0).contains(&figures[share]), "{key}: {share} in {figures:?}");
        }
        // A link of 150 ms leaves it nothing to do for nearly all of the time.
        assert!(figures["client_busy"] > 0.0 && figures["client_busy"] < 0.9, "{figures:?}");
        assert_eq!(figures["unplanned_drops"], 0.0, "{key}");
    }
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let audit = result["cells"][0]["audit"].as_array().unwrap();
    let lag = audit.iter().find(|one| one["figure"] == "client_lag_ms").unwrap();
    assert!(lag["worst"].is_number() && lag["median"].is_number(), "{lag:#}");
    assert_eq!(lag["limit"], 10.0);
    let page = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(page.contains("Figures of the audit"));
    let csv = bench.run(&["report", "run", "--csv"]).out;
    assert!(csv.lines().next().unwrap().contains("audit:other_load"), "{csv}");
}

#[test]
fn the_load_of_calls_is_open_and_how_late_they_were_made_is_told() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let calls = "name = \"open\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
        [[workloads]]\nkind = \"calls\"\npattern = \"staggered\"\nevery = \"20ms\"\ncount = 10\nbytes = 500\n\
        [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
        [[links]]\nname = \"rtt=50ms\"\n";
    bench.write("open.toml", calls);
    bench.run(&["race", "open.toml", "--out", "run"]).raced();
    for (key, figures) in figures(&bench.path("run")) {
        let (late, share) = (figures["schedule_lag_ms"], figures["schedule_lag"]);
        assert!(late >= 0.0 && share >= 0.0, "{key}: {figures:?}");
        // A call takes a round trip at least.
        assert!(share <= late / 50.0, "{key}: {figures:?}");
    }
}

/// A server that says it speaks SPDY, and offers no more than HTTP/1.1 and HTTP/2.
fn server_without_spdy() -> String {
    format!(
        "name = \"no-spdy\"\nrole = \"server\"\ntransports = [\"spdy/3.1\"]\n\
         command = [\"{}\", \"serve\", \"{{root}}\", \"--listen-tls\", \"{{address}}:{{port}}\", \
         \"--cert\", \"{{chain}}\", \"--key\", \"{{key}}\", \"--threads\", \"1\"]\n",
        wirelap().display()
    )
}

#[test]
fn a_server_that_falls_back_to_another_protocol_makes_trials_invalid_and_forbids_a_verdict() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/no-spdy.toml", server_without_spdy());
    let contenders = "[[contenders]]\nname = \"fallen\"\ntransport = \"spdy/3.1\"\nserver = \"no-spdy\"\n\
         [contenders.settings]\nnegotiation = \"alpn\"\n";
    bench.write("down.toml", experiment("rtt=20ms,down=20mbit,up=20mbit", 8) + contenders);
    let ran = bench.run(&["race", "down.toml", "--out", "run", "--json"]);
    ran.raced();
    let fallen: Vec<_> = all_outcomes(&bench.path("run"))
        .into_iter()
        .filter(|(key, ..)| key.contains("/fallen/"))
        .collect();
    assert!(fallen.len() > 8 && fallen.iter().any(|(key, ..)| key.contains('~')), "{fallen:?}");
    let mut downgraded = 0;
    for (key, outcome, reason) in &fallen {
        let reason = reason.as_deref().unwrap_or_default();
        assert_eq!(outcome, "invalid", "{key}: {reason}");
        downgraded += usize::from(reason.starts_with("spdy/3.1 was asked for, but "));
        assert!(
            reason.ends_with("spoke http/1.1") || reason.starts_with("the machine was busy"),
            "{key}: {reason}"
        );
    }
    assert!(downgraded > 0, "{fallen:?}");
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let cells = result["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| cell["contender"]["name"] == "fallen").unwrap();
    assert_eq!(cell["audited"]["invalid"], cell["audited"]["trials"], "{cell:#}");
    assert!(cell["refused"].as_str().unwrap().contains("too many for a figure"), "{cell:#}");
    for pair in result["verdicts"][0]["pairs"].as_array().unwrap() {
        if pair["a"] == "fallen" || pair["b"] == "fallen" {
            assert_eq!(pair["verdict"], "undecided", "{pair:#}");
            assert!(pair["reason"].is_string(), "{pair:#}");
        }
    }
}

#[test]
fn programs_on_every_core_are_seen_and_spoil_the_trials_beside_them() {
    if !trials_run_here() {
        return;
    }
    if machine_cores() != cores() {
        return testing::skip("a hog on every core: not all cores of this machine may be used");
    }
    let bench = Bench::alone();
    bench.write("slow.toml", experiment(SLOW, 4));
    // Whoever wakes up waits for some of them, on some kernels only for a few milliseconds each.
    let found_out = [2, 8, 16].into_iter().any(|each| {
        let run = format!("beside-{each}");
        let load: Vec<Load> = (0..each).map(|_| Load::begin(&bench)).collect();
        bench.run(&["race", "slow.toml", "--serial", "--out", &run]).raced();
        drop(load);
        spoilt_beside_load(&bench.path(&run)) > 0
    });
    assert!(found_out, "nobody ever had to wait for a core");
}

/// How many trials of a run on which the load was put were spoilt; each of them by what was late, and no other.
fn spoilt_beside_load(folder: &Path) -> usize {
    // A page takes more than a second on an idle link: busy loops take all that it leaves.
    let figures = figures(folder);
    for (key, figures) in &figures {
        assert!(figures["other_load"] + figures["stolen_cpu"] > 0.8, "{key}: {figures:?}");
    }
    let rows = all_outcomes(folder);
    for (key, outcome, reason) in &rows {
        let late = ["packet_lateness_ms", "client_lag_ms", "origin_lag_ms"]
            .iter()
            .any(|name| figures[key][*name] > 10.0);
        let told = reason.as_deref().unwrap_or_default().starts_with("the machine was busy");
        assert_eq!(outcome == "invalid" && told, late, "{key}: {outcome}, {reason:?}");
    }
    rows.iter().filter(|(_, outcome, _)| outcome == "invalid").count()
}

#[test]
fn a_program_on_a_core_of_the_trials_spoils_quick_loads_though_nothing_is_very_late() {
    if !trials_run_here() {
        return;
    }
    if cores() < 2 || machine_cores() != cores() {
        return testing::skip("a hog beside the link: it has no core of its own here");
    }
    if !Command::new("taskset").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        return testing::skip("a hog beside the link: there is no taskset");
    }
    let bench = Bench::alone();
    bench.write("quick.toml", experiment("lan", 4).replace("1kB", "20kB"));
    // Where `Placement::on` puts the link and the client.
    for (core, figure) in [("0", "link_kept"), ("1", "client_kept")] {
        let run = format!("beside-{figure}");
        let hogs: Vec<_> = (0..3)
            .map(|_| {
                let mut hog = bench.command("taskset");
                hog.args(["-c", core, "sh", "-c", "while :; do :; done"]).spawn().unwrap()
            })
            .collect();
        bench.run(&["race", "quick.toml", "--out", &run]).raced();
        for mut hog in hogs {
            hog.kill().unwrap();
            hog.wait().unwrap();
        }
        let figures = figures(&bench.path(&run));
        if figures.values().all(|figures| figures[figure] == 0.0) {
            return testing::skip("a hog beside a trial: this kernel does not tell who waited");
        }
        let mut told = 0;
        for (key, outcome, reason) in all_outcomes(&bench.path(&run)) {
            let reason = reason.unwrap_or_default();
            assert!(figures[&key][figure] <= 0.2 || outcome == "invalid", "{key}: {reason}");
            assert!(
                outcome == "measured" || reason.starts_with("the machine was busy"),
                "{reason}"
            );
            told += usize::from(outcome == "invalid");
        }
        assert!(told > 0, "nobody noticed: {figures:?}");
    }
}

/// Cores of the machine, whoever may use them.
fn machine_cores() -> usize {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let core = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    text.lines().filter(core).count()
}

/// Sets the wall clock for those that load it, an hour ahead for as long as a file is there. The machine's own cannot
/// be set without everybody's notice, and time namespaces (time_namespaces(7)) have no wall clock of their own.
const SET_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && access(getenv("CLOCK_IS_SET"), F_OK) == 0)
        time->tv_sec += 3600;
    return result;
}
"#;

#[test]
fn a_wall_clock_that_is_set_makes_the_trial_invalid_and_its_block_runs_again() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("clock.c", SET_CLOCK);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"])
        .current_dir(&bench.folder)
        .output();
    if !built.is_ok_and(|output| output.status.success()) {
        return testing::skip("setting a clock: there is no C compiler");
    }
    bench.write("slow.toml", experiment(SLOW, 1));
    let file = bench.path("set");
    let set = |_: &mut Running| {
        fs::write(&file, "").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        fs::remove_file(&file).unwrap();
    };
    let found = |outcome: &str, reason: &str| {
        outcome == "invalid" && reason == "the wall clock was set during the trial"
    };
    let library = bench.path("clock.so");
    let variables = [("LD_PRELOAD", library.as_path()), ("CLOCK_IS_SET", file.as_path())];
    assert!(bench.finds_out(set, found, &variables), "a clock that was set was never noticed");
}

#[test]
fn a_suspended_client_is_found_out_and_its_block_runs_again() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 1));
    let found = |outcome: &str, reason: &str| {
        let late = "the machine was busy: the client handled an event too late";
        outcome == "invalid" && reason == late
    };
    assert!(
        bench.finds_out(|running| running.suspend("near"), found, &[]),
        "a client that stood still was never noticed"
    );
}
