//! `wirelap link`: two programs of the user's, names, streams, exit codes.

use crate::bench::{Bench, Ran, trials_run_here};

fn link(bench: &Bench, words: &str) -> Ran {
    bench.shell(&[], &format!("$W link {words}"))
}

#[test]
fn both_sides_find_each_other_by_name_and_by_variable() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let ran = link(
        &bench,
        "lan --far 'getent ahostsv4 near far > far.txt; echo $WIRELAP_NEAR $WIRELAP_FAR >> far.txt' \
        -- sh -c 'sleep 0.2; getent ahostsv4 near far; echo $WIRELAP_NEAR $WIRELAP_FAR'",
    );
    ran.said(0, &[]);
    let far = std::fs::read_to_string(bench.path("far.txt")).unwrap();
    assert_eq!(far, ran.out);
    let last = ran.out.lines().last().unwrap();
    let (near_at, far_at) = last.split_once(' ').unwrap();
    assert!(
        near_at != far_at
            && ran.out.contains(&format!("{near_at} "))
            && ran.out.contains(&format!("{far_at} "))
    );
}

#[test]
fn bytes_pass_over_ipv4_and_ipv6_with_standard_input() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("index.html", "from far");
    for address in ["-4", "-6"] {
        if address == "-6" && !std::path::Path::new("/proc/net/if_inet6").exists() {
            testing::skip("this kernel has no IPv6");
            continue;
        }
        let bind = if address == "-4" { "0.0.0.0:80" } else { "'[::]:80'" };
        let line = format!(
            "lan --ready-port 80 --far \"$W serve . --threads 1 --listen {bind} > served\" -- curl -s {address} http://far/index.html"
        );
        let ran = link(&bench, &line);
        assert_eq!((ran.code, ran.out.as_str()), (0, "from far"), "{ran:?}");
    }
    let ran = bench.shell(&[], "echo through | $W link lan -- cat");
    assert_eq!((ran.code, ran.out.as_str()), (0, "through\n"), "{ran:?}");
}

#[test]
fn what_the_link_did_is_told_at_the_end_where_it_is_asked_for() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let ran = link(&bench, "rtt=20ms,loss=100% -v -- sh -c 'ping -c 2 -W 1 far > pinged; true'");
    ran.said(0, &["link no rate limit, RTT 20 ms, loss 100 %, seed 1\n", "no packet was late\n"]);
    let up: Vec<&str> =
        ran.err.lines().find(|line| line.starts_with("up ")).unwrap().split(' ').collect();
    let at = |word: &str| up.iter().position(|one| *one == word).map(|at| up[at - 1]);
    let sent: u64 = at("packets,").unwrap().parse().unwrap();
    assert!(sent >= 2 && at("lost") == at("packets,"), "{ran:?}");
    let quiet = link(&bench, "rtt=20ms -- true");
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{quiet:?}");
}

#[test]
fn a_link_of_ones_own_has_no_tcp_proxy() {
    let ran = link(&Bench::new(), "3g,split_tcp=64kB -- true");
    ran.said(2, &["`split_tcp=` is for races", "race it"]);
}

#[test]
fn the_exit_code_is_the_near_programs() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    for (near, code) in [("true", 0), ("sh -c 'exit 42'", 42), ("sh -c 'kill -9 $$'", 137)] {
        let ran = link(&bench, &format!("3g --far 'sleep 60' -- {near}"));
        assert_eq!(ran.code, code, "{ran:?}");
        assert_eq!(bench.alive(), [], "far outlived near");
    }
}

#[test]
fn programs_that_cannot_run_are_named() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let ran = link(&bench, "lan -- no-such-program");
    ran.said(3, &["cannot start no-such-program"]);
    assert_eq!(ran.err.lines().count(), 2, "no remedy: {ran:?}");
    link(&bench, "lan --far 'exit 7' -- sleep 60")
        .said(3, &["far program", "exit status: 7", "run it by itself"]);
    link(&bench, "lan --far no-such-program -- sleep 60")
        .said(3, &["no-such-program", "far program"]);
    link(&bench, "lan").said(2, &["<COMMAND>"]);
    link(&bench, "lan --ready-port 0 --far x -- true").said(2, &["--ready-port"]);
    assert_eq!(bench.alive(), []);
}

/// A server that daemonises: it is started by a process that ends well. It writes what it has received into `got`.
const DAEMON: &str = r#"
import os, socket, sys, time
if os.fork():
    os._exit(0)
time.sleep(float(sys.argv[1]))
server = socket.create_server(("", 80))
stream, _ = server.accept()
got = open("got", "wb", buffering=0)
while part := stream.recv(65536):
    got.write(part)
"#;

/// Sends so many bytes to far and ends at once.
const SENDER: &str = r#"
import socket, sys
socket.create_connection(("far", 80)).sendall(b"x" * int(sys.argv[1]))
"#;

#[test]
fn a_far_that_daemonises_is_waited_for_and_gets_what_near_has_sent() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("daemon.py", DAEMON);
    bench.write("send.py", SENDER);
    // It listens after half a second. A packet takes 600 ms: the link is never silent for long, and never empty.
    let daemon = "--far 'exec python3 daemon.py 0.5' --ready-port 80";
    let line = format!("rtt=10ms,rate=20kbit,queue=100kB {daemon} -- python3 send.py 6000");
    link(&bench, &line).said(0, &[]);
    assert_eq!(std::fs::read(bench.path("got")).unwrap().len(), 6_000);
    assert_eq!(bench.alive(), []);
}

#[test]
fn bytes_that_do_not_arrive_in_time_are_told() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("daemon.py", DAEMON);
    bench.write("send.py", SENDER);
    let daemon = "--far 'exec python3 daemon.py 0' --ready-port 80";
    let line = format!("rtt=10ms,rate=4kbit,queue=100kB {daemon} -- python3 send.py 30000");
    let ran = link(&bench, &line);
    ran.said(0, &["note: 30", "after COMMAND ended, bytes were still on the way"]);
    assert!(std::fs::read(bench.path("got")).unwrap().len() < 30_000);
}

#[test]
fn a_killed_link_takes_both_sides_along() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut running =
        bench.start(bench.wirelap(&["link", "lan", "--far", "sleep 61", "--", "sleep", "62"]));
    running.await_role("62");
    running.signal("KILL");
    running.end();
    for _ in 0..1000 {
        if bench.alive().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("left: {:?}", bench.alive());
}

#[test]
fn a_link_that_the_machine_cannot_hold_is_refused_with_what_it_can_before_anything_runs() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    // What a short calibration says of a machine on which others work is not the machine's own bound, and it says so.
    let mut tried = (0..5).map(|_| link(&bench, "rtt=1ms,rate=100000gbit -- touch ran"));
    let is_refused = |ran: &Ran| {
        assert!(
            ran.code != 0
                || ran.err.contains("it is not known whether this machine can hold the link"),
            "{ran:?}"
        );
        ran.code != 0
    };
    let Some(refused) = tried.find(is_refused) else {
        return testing::skip("a refused link: the machine is too busy to know its bounds");
    };
    refused.said(3, &["is more than this machine forwards", "below", "--no-calibration"]);
    let _ = std::fs::remove_file(bench.path("ran"));
    link(&bench, "--no-calibration rtt=1ms,rate=100000gbit -- touch ran").said(0, &[]);
    assert!(bench.path("ran").exists());
}
