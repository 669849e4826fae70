//! What becomes of runs whose parts go away under them, and of folders of which a part is gone: the damage is named,
//! and the rest is kept and given.

use crate::bench::{
    Bench, Ran, Running, SLOW, all_outcomes, experiment, outcomes, signal, trials_run_here,
};
use crate::faults::can;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// One of the trials failed, and the run went on. Gives the reason.
fn one_failed(bench: &Bench, folder: &str, trials: usize) -> String {
    let rows = outcomes(&bench.path(folder));
    let failed: Vec<_> = rows.iter().filter(|(_, outcome, _)| outcome == "failed").collect();
    assert_eq!((rows.len(), failed.len()), (trials, 1), "{rows:?}");
    assert_eq!(bench.alive(), [], "processes are left");
    failed[0].2.clone().unwrap()
}

/// A trial's own machinery broke: the trial is invalid, no contender failed, and the block ran again. Gives the reason.
fn ran_again(bench: &Bench, folder: &str, trials: usize) -> String {
    let rows = all_outcomes(&bench.path(folder));
    assert!(rows.iter().all(|(_, outcome, _)| outcome != "failed"), "{rows:?}");
    assert!(rows.iter().any(|(key, ..)| key.contains('~')), "{rows:?}");
    assert_eq!(outcomes(&bench.path(folder)).len(), trials);
    assert_eq!(bench.alive(), [], "processes are left");
    let is_spoilt = |(_, outcome, why): &&(String, String, Option<String>)| {
        outcome == "invalid" && !crate::bench::is_spoilt(outcome, why.as_deref())
    };
    rows.iter().find(is_spoilt).unwrap().2.clone().unwrap()
}

/// A race whose first trial runs.
fn in_a_trial(bench: &Bench, out: &str) -> Running {
    bench.write("slow.toml", experiment(SLOW, 2));
    let mut running = bench.start(bench.wirelap(&["race", "slow.toml", "--serial", "--out", out]));
    running.await_role("near");
    running
}

#[test]
fn a_killed_or_stopped_link_is_charged_to_no_contender_and_the_block_runs_again() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut running = in_a_trial(&bench, "killed");
    signal(running.await_role("trial"), "KILL");
    running.end().raced();
    let why = ran_again(&bench, "killed", 4);
    assert!(why.contains("without a row") && why.contains("SIGKILL"), "{why}");
    // Continued after the client's time is up, and the client reports that nothing came.
    bench.write("slow.toml", format!("timeout = \"2s\"\n{}", experiment(SLOW, 2)));
    let mut running =
        bench.start(bench.wirelap(&["race", "slow.toml", "--serial", "--out", "stopped"]));
    running.await_role("near");
    let link = running.await_role("trial");
    signal(link, "STOP");
    std::thread::sleep(std::time::Duration::from_secs(6));
    signal(link, "CONT");
    running.end().raced();
    ran_again(&bench, "stopped", 4);
}

#[test]
fn a_relay_to_a_service_is_charged_to_no_contender() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("file", "what stands in it");
    let (mut server, url) = crate::serving::started(&bench);
    let at = url.trim_end_matches("/file");
    let contenders = [("h1", "http/1.1"), ("h2", "h2")].map(|(name, transport)| {
        format!(
            "[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\nserver = {{ at = \"{at}\" }}\n"
        )
    });
    let toml = "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h1\"\ntrials = 1\nwarmup = 0\n\
                [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 12\nrequests = [{ path = \"/file\" }]\n";
    let link = format!("[[links]]\nname = \"{SLOW}\"\n");
    bench.write("own.toml", format!("{toml}{}{link}", contenders.concat()));
    for (name, folder) in [("KILL", "killed"), ("STOP", "stopped")] {
        let race = ["race", "own.toml", "--serial", "--out", folder];
        let mut running = bench.start(bench.wirelap(&race));
        running.await_role("near");
        let relay = running.await_role("relay");
        signal(relay, name);
        if name == "STOP" {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            signal(relay, "CONT");
        }
        running.end().raced();
        let rows = all_outcomes(&bench.path(folder));
        let why = rows.iter().filter_map(|(_, outcome, why)| (outcome == "invalid").then_some(why));
        let why: Vec<_> = why.flatten().filter(|why| why.contains("the relay to")).collect();
        assert!(!why.is_empty() && rows.iter().any(|(key, ..)| key.contains('~')), "{rows:?}");
        assert!(rows.iter().all(|(_, outcome, _)| outcome != "failed"), "{rows:?}");
    }
    signal(server.child.id(), "INT");
    server.child.wait().unwrap();
}

#[test]
fn a_killed_namespace_is_charged_to_no_contender_and_the_block_runs_again() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let running = in_a_trial(&bench, "run");
    // The first process of the trial's PID namespace: the kernel ends all others there with it.
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let first = bench.alive().into_iter().find(|(pid, _)| name(*pid).trim() == "wirelap-init");
    signal(first.unwrap().0, "KILL");
    running.end().raced();
    let why = ran_again(&bench, "run", 4);
    assert!(why.contains("the first process of the trial's namespaces was killed"), "{why}");
    // What the link and the machine told is kept of that one too.
    let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
    let sql =
        "SELECT record ->> '$.audit.clock_steps' FROM trials WHERE reason LIKE '%namespaces%'";
    assert_eq!(rows.query_row(sql, [], |row| row.get::<_, f64>(0)).unwrap(), 0.0);
}

#[test]
fn a_process_that_never_wakes_up_again_ends_its_trial_in_time_and_the_run_goes_on() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", format!("timeout = \"5s\"\n{}", experiment(SLOW, 2)));
    for role in ["near", "far", "trial"] {
        let folder = format!("without-{role}");
        let mut running =
            bench.start(bench.wirelap(&["race", "slow.toml", "--serial", "--out", &folder]));
        running.await_role("near");
        signal(running.await_role(role), "STOP");
        running.end().raced();
        let (why, expected) = match role {
            "near" => (one_failed(&bench, &folder, 4), "did not end in time"),
            "far" => (one_failed(&bench, &folder, 4), "was not done within 5 s"),
            // The link is in it: no contender is at fault.
            _ => (ran_again(&bench, &folder, 4), "hung and was ended"),
        };
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_runner_that_is_suspended_goes_on_and_no_contender_is_charged() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let running = in_a_trial(&bench, "run");
    running.signal("STOP");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal("CONT");
    running.end().raced();
    let rows = outcomes(&bench.path("run"));
    assert!(rows.len() == 4 && rows.iter().all(|(_, outcome, _)| outcome != "failed"), "{rows:?}");
    assert_eq!(bench.alive(), [], "processes are left");
}

/// A contender that is another program is at fault itself.
#[test]
fn a_killed_client_or_a_server_that_never_wakes_up_again_fails_its_trial_and_the_run_goes_on() {
    if testing::peers::program("curl").is_none() || !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/server.py", crate::bisecting::SERVER);
    let server = format!(
        "name = \"own\"\nrole = \"server\"\nclear = [\"http/1.1\"]\n\
         command = [\"{}\", \"{{here}}/server.py\", \"{{address}}\", \"{{port}}\", \"{{root}}\", \"own-server\"]\n",
        crate::bisecting::python()
    );
    bench.write("subjects/own.toml", server);
    let page = experiment(SLOW, 2);
    let downloads = page.replace(
        "kind = \"page\"\nimages = 3\nbytes = \"1kB\"",
        "kind = \"download\"\nfiles = \"80kB\"",
    );
    let ours = "transport = \"http/1.1\"\n";
    let own = "tls = \"none\"\nserver = \"own\"";
    for (work, field, role, how, expected) in [
        (downloads, "client = \"curl\"", "subject curl", "KILL", "SIGKILL"),
        (page, own, "own-server", "STOP", "was not done within"),
    ] {
        let toml = work.replace(ours, &format!("{ours}{field}\n"));
        bench.write("slow.toml", format!("timeout = \"5s\"\n{toml}"));
        let race = ["race", "slow.toml", "--serial", "--out", how];
        let mut running = bench.start(bench.wirelap(&race));
        let pid = running.await_role(role);
        if role == "own-server" {
            running.await_role("near");
        }
        signal(pid, how);
        running.end().raced();
        let why = one_failed(&bench, how, 4);
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_folder_or_its_rows_that_go_away_in_the_middle_end_the_race_at_once() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 40));
    for gone in ["run-1", "run-2/rows.sqlite"] {
        let out = gone.split('/').next().unwrap();
        let mut running =
            bench.start(bench.wirelap(&["race", "slow.toml", "--serial", "--out", out]));
        running.await_role("near");
        let path = bench.path(gone);
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
        let ran = running.end();
        ran.said(1, &["rows.sqlite was deleted or replaced", "leave the run's folder alone"]);
        assert!(!ran.err.contains("--resume"), "{ran:?}");
        assert_eq!(bench.alive(), []);
    }
}

#[test]
fn a_disk_that_captures_fill_fails_no_contender_and_the_run_can_be_gone_on_with() {
    const OWN_MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];
    if !can(&OWN_MOUNTS, "mount -t tmpfs none /mnt") || !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let pages = experiment("rtt=10ms,down=50mbit,up=50mbit", 4);
    bench.write("tiny.toml", pages.replace("bytes = \"1kB\"", "bytes = \"100kB\""));
    fs::create_dir(bench.path("disk")).unwrap();
    let line = "mount -t tmpfs -o size=1500k none disk && $W race tiny.toml --no-calibration --serial \
                --capture --out disk/run; code=$?; mount -o remount,size=64m disk; cp -r disk/run kept; exit $code";
    let ran: Ran = bench.shell(&OWN_MOUNTS, line);
    // Where there is space for rows, the run ends as usual; where there is none, it says how to go on.
    if ran.code != 3 {
        ran.raced();
    }
    if ran.code == 3 {
        ran.said(3, &["free some space", "wirelap race --resume disk/run"]);
    }
    let rows = outcomes(&bench.path("kept"));
    assert!(rows.iter().all(|(_, outcome, _)| outcome != "failed"), "{rows:?}");
    let whole = |folder: &Path| {
        let files = fs::read_dir(folder.join("captures")).unwrap().filter_map(Result::ok);
        files.map(|file| file.file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    let kept = whole(&bench.path("kept"));
    assert!((1..8).contains(&kept.len()), "{kept:?}");
    assert!(kept.iter().all(|name| name.ends_with(".pcapng")), "{kept:?}");
    assert!(!bench.path("kept/scratch").exists());
    bench.run(&["race", "--resume", "kept", "--capture"]).raced();
    let after = outcomes(&bench.path("kept"));
    assert_eq!(after.len(), 8);
    let unsupported = after.iter().filter(|(_, outcome, _)| outcome == "unsupported").count();
    assert_eq!(unsupported, 0, "{after:?}");
    let counted = rows.iter().filter(|(_, outcome, _)| outcome != "unsupported");
    assert!(counted.clone().count() > 0 && counted.clone().all(|row| after.contains(row)));
}

/// A finished run of sixteen trials, its log folded into the file of rows. It is made once: each test has a copy of its own.
pub(crate) fn finished() -> Option<Bench> {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    if !trials_run_here() {
        return None;
    }
    // Its bench is gone before this test has its own: two tests that hold shares could wait for each other.
    let made = MADE.get_or_init(make_finished);
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 8));
    copy(made, &bench.path("run"));
    Some(bench)
}

/// The folder that `finished` copies, below the folder of builds.
fn make_finished() -> PathBuf {
    const MADE: &str = "finished-run-";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for old in fs::read_dir(folder).unwrap().flatten() {
        let file_name = old.file_name().into_string().unwrap_or_default();
        let pid = file_name.strip_prefix(MADE).unwrap_or_default();
        if !pid.is_empty() && !Path::new("/proc").join(pid).exists() {
            // Another user's stays.
            let _removed = fs::remove_dir_all(old.path());
        }
    }
    let made = folder.join(format!("{MADE}{}", std::process::id()));
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("lan", 8));
    bench.run(&["race", "tiny.toml", "--out", "run"]).raced();
    let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
    rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(rows);
    copy(&bench.path("run"), &made);
    made
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

#[test]
fn rows_that_are_cut_short_are_named_and_the_rest_is_reported_on() {
    let Some(bench) = finished() else { return };
    let all = all_outcomes(&bench.path("run")).len();
    let rows = fs::read(bench.path("run/rows.sqlite")).unwrap();
    fs::write(bench.path("run/rows.sqlite"), &rows[..rows.len() * 9 / 10]).unwrap();
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(bench.path(&format!("run/rows.sqlite{side}")));
    }
    let ran = bench.run(&["report", "run", "--csv"]);
    ran.said(0, &["damaged and left out"]);
    let kept = ran.out.lines().count() - 1;
    assert!((1..all).contains(&kept), "{kept} of {all}: {ran:?}");
    for told in ["result.json", "report.html"] {
        let told = fs::read_to_string(bench.path("run").join(told)).unwrap();
        assert!(told.contains("cannot be read, and are left out"), "{told}");
    }
    // Nothing is to be written behind the cut.
    let before = fs::read(bench.path("run/rows.sqlite")).unwrap();
    bench.run(&["race", "--resume", "run"]).said(2, &["rows.sqlite is damaged", "takes no more"]);
    assert_eq!(fs::read(bench.path("run/rows.sqlite")).unwrap(), before);
}

#[test]
fn a_row_that_cannot_be_read_is_named_by_its_key_and_runs_again() {
    let Some(bench) = finished() else { return };
    let all = all_outcomes(&bench.path("run")).len();
    let (key, page) = {
        let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
        let sql = "SELECT key FROM trials WHERE key NOT LIKE '%~%' ORDER BY key LIMIT 1";
        let key: String = rows.query_row(sql, [], |row| row.get(0)).unwrap();
        rows.execute("UPDATE trials SET record = '{\"plan\":' WHERE key = ?1", [&key]).unwrap();
        (key, bench.path("run/report.html"))
    };
    fs::remove_file(&page).unwrap();
    let ran = bench.run(&["report", "run", "--csv"]);
    ran.said(0, &["damaged and left out", &key]);
    assert_eq!(ran.out.lines().count() - 1, all - 1, "{ran:?}");
    assert!(page.exists(), "what is computed from rows is made again");
    bench.run(&["race", "--resume", "run"]).raced();
    let mended = bench.run(&["report", "run", "--csv"]);
    assert!(
        !mended.err.contains("damaged") && mended.out.contains(&format!("\n{key},")),
        "{mended:?}"
    );
}

#[test]
fn rows_of_another_layout_are_told_from_damaged_ones_and_left_alone() {
    let Some(bench) = finished() else { return };
    {
        let rows = rusqlite::Connection::open(bench.path("run/rows.sqlite")).unwrap();
        let later = "UPDATE run SET header = json_set(header, '$.schema', 'wirelap.rows/2', '$.version', '7.1.0')";
        rows.execute(later, []).unwrap();
        rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }
    let before = fs::read(bench.path("run/rows.sqlite")).unwrap();
    let told = ["follows `wirelap.rows/2`", "reads `wirelap.rows/1`", "with wirelap 7.1.0"];
    for command in [
        &["report", "run"][..],
        &["race", "--resume", "run"],
        &["race", "--again", "run", "--out", "second"],
        &["compare", "run", "run"],
    ] {
        bench.run(command).said(2, &told);
    }
    assert_eq!(fs::read(bench.path("run/rows.sqlite")).unwrap(), before);
    assert!(!bench.path("second").exists());
}

#[test]
fn a_folder_that_takes_no_writing_is_read_all_the_same() {
    const OWN_MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];
    if !can(&OWN_MOUNTS, "mount -t tmpfs none /mnt") {
        return;
    }
    let Some(bench) = finished() else { return };
    fs::rename(bench.path("run"), bench.path("run 100%?#")).unwrap();
    fs::create_dir(bench.path("run")).unwrap();
    // A log that is folded in leaves nothing beside the file of rows.
    let copy = "cp -r 'run 100%?#' open && rm -f 'run 100%?#'/rows.sqlite-* && mount --bind 'run 100%?#' run && \
                mount -o remount,ro,bind run && ";
    let run = |command: &str| bench.shell(&OWN_MOUNTS, &format!("{copy} $W {command}; exit $?"));
    let clear = || fs::remove_dir_all(bench.path("open")).unwrap();
    let told = run("report run --csv");
    assert_eq!(told.out.lines().count() - 1, all_outcomes(&bench.path("open")).len(), "{told:?}");
    told.said(2, &["run/result.json", "choose a place"]);
    clear();
    run("compare run open").said(0, &[]);
    clear();
    run("compare open run").said(2, &["run/compare.html", "--html"]);
    clear();
    run("compare open run --html page.html").said(0, &[]);
    assert!(bench.path("page.html").exists());
    clear();
    run("race --again run --dry-run").said(0, &[]);
    clear();
    run("race --resume run").said(2, &["run/rows.sqlite", "choose a place"]);
}

#[test]
fn a_file_that_is_missing_from_a_folder_is_named() {
    let Some(bench) = finished() else { return };
    // What a page's workload needs stands in the rows.
    fs::remove_dir_all(bench.path("run/inputs")).unwrap();
    bench.run(&["report", "run"]).said(0, &[]);
    fs::remove_file(bench.path("run/rows.sqlite")).unwrap();
    for command in
        [&["report", "run"][..], &["race", "--resume", "run"], &["compare", "run", "run"]]
    {
        bench.run(command).said(2, &["rows.sqlite is not there"]);
    }
}
