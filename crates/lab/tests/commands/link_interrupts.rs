//! Ctrl-C at a terminal in each phase of `wirelap link`: while far is waited for, while near runs, while what near has
//! sent is on its way, and where there is no near program.

use crate::bench::{Bench, Running, trials_run_here};
use crate::terminal::{self, press_ctrl_c};
use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// `wirelap link` in the foreground of a terminal of its own.
fn on_a_terminal(bench: &Bench, words: &str) -> Option<Running> {
    trials_run_here().then(|| terminal::on_a_terminal(bench, &format!("link {words}")))
}

fn await_file(bench: &Bench, name: &str) {
    for _ in 0..4000 {
        if bench.path(name).exists() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("there was never a {name}");
}

#[test]
fn while_far_is_waited_for_it_ends_the_link_and_near_never_starts() {
    for ready in ["", "--ready-port 80"] {
        let bench = Bench::new();
        let words = format!("lan {ready} --far 'exec sleep 71' -- touch ran");
        let Some(mut running) = on_a_terminal(&bench, &words) else { return };
        running.await_role("71");
        press_ctrl_c(&mut running);
        let ran = running.end();
        assert_eq!(ran.code, 130, "{ran:?}");
        assert!(ran.out.contains("stopped: a signal came before COMMAND was started"), "{ran:?}");
        assert!(!bench.path("ran").exists(), "near was started");
        assert_eq!(bench.alive(), []);
    }
}

#[test]
fn while_near_runs_it_is_nears() {
    let bench = Bench::new();
    bench
        .write("near.sh", "trap 'touch heard; exit 7' INT; touch up; while :; do sleep 0.05; done");
    let Some(mut running) = on_a_terminal(&bench, "lan --far 'exec sleep 72' -- sh near.sh") else {
        return;
    };
    await_file(&bench, "up");
    press_ctrl_c(&mut running);
    let ran = running.end();
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(bench.path("heard").exists());
    assert_eq!(bench.alive(), []);
}

#[test]
fn after_near_it_ends_the_wait_for_what_near_has_sent() {
    const SENT: usize = 200_000;
    let bench = Bench::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    // 16 s of bytes, which fit into near's kernel.
    bench.write("near.sh", format!("head -c {SENT} /dev/zero > /dev/tcp/far/80; touch sent"));
    let words = format!(
        "rtt=20ms,rate=100kbit,queue=1000kB --forward far:80=127.0.0.1:{port} -- bash near.sh"
    );
    let Some(mut running) = on_a_terminal(&bench, &words) else { return };
    let (mut stream, _) = service.accept().unwrap();
    await_file(&bench, "sent");
    while bench.alive().iter().any(|(_, line)| line.starts_with("bash ")) {
        thread::sleep(Duration::from_millis(5));
    }
    press_ctrl_c(&mut running);
    let ran = running.end();
    assert_eq!(ran.code, 0, "near had ended well: {ran:?}");
    let mut came = Vec::new();
    let _cut = stream.read_to_end(&mut came);
    assert!(came.len() < SENT, "it waited for all of it");
    assert_eq!(bench.alive(), []);
}

#[test]
fn without_a_near_program_it_is_the_end() {
    let bench = Bench::new();
    let Some(mut running) = on_a_terminal(&bench, "lan --expose 0:127.0.0.1:9") else { return };
    // The relay in near is the last process that starts.
    let relays = || bench.alive().iter().filter(|(_, line)| line.ends_with(" relay")).count();
    while relays() < 2 {
        assert!(running.child.try_wait().unwrap().is_none(), "ended before both relays ran");
        thread::sleep(Duration::from_millis(5));
    }
    press_ctrl_c(&mut running);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(bench.alive(), []);
}
