//! Ctrl-C at a terminal in each phase of the commands that take long: they end at once, with the exit code of an
//! interrupt or of what was done so far, and leave no process. `wirelap link` has a file of its own.

use crate::bench::{Bench, Ran, Running, SLOW, experiment, outcomes, trials_run_here, wirelap};
use crate::bisecting::prepared;
use crate::damage::finished;
use crate::interrupts::has_rows;
use crate::load::Load;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use testing::peers::program;

/// `wirelap WORDS` in the foreground of a terminal of its own.
pub(crate) fn on_a_terminal(bench: &Bench, words: &str) -> Running {
    on_a_terminal_with(bench, words, &[])
}

fn on_a_terminal_with(bench: &Bench, words: &str, variables: &[(&str, PathBuf)]) -> Running {
    let mut command = bench.command("script");
    let line = format!("exec {} {words}", wirelap().display());
    command.args(["-qefc", &line, "/dev/null"]).stdin(Stdio::piped());
    command.envs(variables.iter().map(|(name, value)| (*name, value)));
    bench.start(command)
}

/// What the terminal's driver makes SIGINT of.
pub(crate) fn press_ctrl_c(running: &mut Running) {
    running.child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
}

/// Presses Ctrl-C, and gives how it ended.
fn interrupted(bench: &Bench, mut running: Running) -> Ran {
    press_ctrl_c(&mut running);
    let ran = running.end();
    assert_eq!(bench.alive(), [], "{ran:?}");
    ran
}

#[test]
fn in_each_phase_of_a_race() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 4));
    for role in ["gauge", "trial", "far", "near"] {
        let calibrates = if role == "gauge" { "" } else { "--no-calibration" };
        let words = format!("race slow.toml --no-wait {calibrates} --out in-{role}");
        let mut running = on_a_terminal(&bench, &words);
        running.await_role(role);
        let ran = interrupted(&bench, running);
        assert_eq!(ran.code, 130, "{role}: {ran:?}");
        assert!(ran.out.contains("stopped: "), "{role}: {ran:?}");
        let is_kept = bench.path(&format!("in-{role}")).exists();
        assert_eq!(is_kept, role != "gauge", "{role}: {ran:?}");
        assert_eq!(ran.out.contains("--resume"), is_kept, "{role}: {ran:?}");
    }
}

/// Reads what it prints until `words` have come.
fn await_words(running: &mut Running, words: &str) {
    let mut said = String::new();
    let out = running.child.stdout.as_mut().unwrap();
    while !said.contains(words) {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap_or_else(|_| panic!("no {words:?} in {said:?}"));
        said.push(char::from(byte[0]));
    }
}

/// It ended as Ctrl-C ends it, and said so in one sentence.
fn is_stopped(ran: &Ran) {
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(ran.out.matches("stopped: ").count(), 1, "{ran:?}");
    assert!(!ran.out.contains("error: ") && !ran.out.contains("panicked"), "{ran:?}");
}

#[test]
fn while_a_race_waits_for_a_quiet_machine() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("slow.toml", experiment(SLOW, 1));
    let load = Load::begin(&bench);
    let mut running = on_a_terminal(&bench, "race slow.toml --out never");
    await_words(&mut running, "--no-wait to go on");
    press_ctrl_c(&mut running);
    let ran = running.end();
    drop(load);
    is_stopped(&ran);
    assert!(ran.out.contains("nothing has run yet"), "{ran:?}");
    assert!(!bench.path("never").exists());
    assert_eq!(bench.alive(), [], "{ran:?}");
}

#[test]
fn between_the_trials_of_a_race() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("slow.toml", experiment(SLOW, 4));
    let running =
        on_a_terminal(&bench, "race slow.toml --no-wait --no-calibration --serial --out between");
    while !has_rows(&bench.path("between")) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let ran = interrupted(&bench, running);
    is_stopped(&ran);
    assert!(ran.out.contains(" kept in ") && ran.out.contains("--resume between"), "{ran:?}");
    let kept = outcomes(&bench.path("between"));
    assert!((1..8).contains(&kept.len()), "{kept:?}");
}

/// A FIFO that nobody reads keeps it from ever coming to its end.
#[test]
fn while_a_report_is_written() {
    let Some(bench) = finished() else { return };
    let html = fs::read(bench.path("run/report.html")).unwrap();
    let names = || -> BTreeSet<_> {
        fs::read_dir(bench.path("run")).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let files = names();
    bench.shell(&[], "mkfifo fifo").said(0, &[]);
    let mut running = on_a_terminal(&bench, "report run --bmf fifo");
    running.await_role("--bmf fifo");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let ran = interrupted(&bench, running);
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(names(), files, "a temporary file is left");
    assert!(fs::read(bench.path("run/report.html")).unwrap() == html);
    bench.run(&["report", "run"]).said(0, &[]);
}

#[test]
fn while_a_page_is_recorded() {
    if program("chromium").is_none() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("tmp")).unwrap();
    let (url, was_asked) = silent(b"");
    let words = format!("record {url} -o site --har page.har");
    let running = on_a_terminal_with(&bench, &words, &[("TMPDIR", bench.path("tmp"))]);
    was_asked.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let ran = interrupted(&bench, running);
    is_stopped(&ran);
    assert!(ran.out.contains("nothing was written"), "{ran:?}");
    assert!(!bench.path("site").exists() && !bench.path("page.har").exists());
    assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 0, "a profile is left");
}

#[test]
fn in_each_phase_of_a_bisection() {
    if program("git").is_none() || !trials_run_here() {
        return;
    }
    let bench = prepared(false);
    let words = "bisect v1 v4 --repository repo --experiment lab/app.toml --gate 'load_ms<1.2' \
                 --until-decided 60s --no-calibration --no-wait";
    bench.write("slow-build", "exec sleep 600");
    let slow = bench.path("slow-build").display().to_string();
    for (phase, build, role) in [("build", &*slow, "600"), ("race", "build.sh", "near")] {
        let words = format!("{words} --out in-{phase} -- sh {build}");
        let mut running = on_a_terminal(&bench, &words);
        running.await_role(role);
        let ran = interrupted(&bench, running);
        assert_eq!(ran.code, 130, "{phase}: {ran:?}");
        assert!(ran.out.contains("stopped: ") && !ran.out.contains("panicked"), "{phase}: {ran:?}");
        let trees = bench.shell(&[], "git -C repo worktree list").out;
        assert_eq!(trees.lines().count(), 1, "{phase}: {trees}");
    }
}

/// A server that takes requests and never answers, or only the beginning.
fn silent(beginning: &'static [u8]) -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let (asked, was_asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            stream.write_all(beginning).unwrap();
            let _ = asked.send(());
            open.push(stream);
        }
    });
    (url, was_asked)
}

const BEGINNING: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nETag: \"a\"\r\n\r\nbeginning";

#[test]
fn in_each_phase_of_a_download_and_of_a_load() {
    let bench = Bench::new();
    // A load says what it has counted so far.
    for (words, code) in [("get -o file", 130), ("load -d 10min", 0), ("load --warm-up 10min", 0)] {
        for beginning in [&b""[..], BEGINNING] {
            let (url, was_asked) = silent(beginning);
            let running = on_a_terminal(&bench, &format!("{words} {url}"));
            was_asked.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            let ran = interrupted(&bench, running);
            assert_eq!(ran.code, code, "{words}: {ran:?}");
        }
    }
}

#[test]
fn while_a_server_serves() {
    let bench = Bench::new();
    let mut running = on_a_terminal(&bench, "serve . --listen 127.0.0.1:0");
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        running.child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let ran = interrupted(&bench, running);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn while_a_link_is_calibrated() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut running = on_a_terminal(&bench, "link rtt=1ms,down=2gbit,up=2gbit -- touch ran");
    running.await_role("gauge");
    let ran = interrupted(&bench, running);
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(!bench.path("ran").exists());
}
