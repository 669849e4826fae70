//! Ctrl-C at a terminal in each phase of the commands that take long: they end at once, with the exit code of an
//! interrupt or of what was done so far, and leave no process. `wirelap link` has a file of its own.

use crate::bench::{Bench, Ran, Running, SLOW, experiment, trials_run_here, wirelap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

/// `wirelap WORDS` in the foreground of a terminal of its own.
pub(crate) fn on_a_terminal(bench: &Bench, words: &str) -> Running {
    let mut command = bench.command("script");
    let line = format!("exec {} {words}", wirelap().display());
    command.args(["-qefc", &line, "/dev/null"]).stdin(Stdio::piped());
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
        let words = format!("race slow.toml --no-wait --out in-{role}");
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
