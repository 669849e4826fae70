//! Programs across real links: root and rootless, IPv4 and IPv6, and what remains when one is killed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testing::is_root;
use unit::Seed;

/// A folder with the programs in it that anybody may enter, removed at the end.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let built = std::env::current_exe().unwrap();
        let built = built.parent().and_then(Path::parent).unwrap().join("examples");
        for program in ["link", "peer"] {
            let built = built.join(program);
            assert!(built.exists(), "{built:?} is missing: cargo build -p os --examples");
            fs::copy(built, folder.path().join(program)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn peer(&self, words: &str) -> String {
        format!("{} {words}", self.path("peer"))
    }

    /// The command for a link with far's and near's shell commands.
    fn link(&self, spec: &str, far: &str, near: &str) -> Command {
        let mut command = Command::new(self.path("link"));
        command.args([spec, "--packets", &self.path("packets"), "--far", far, "--"]);
        command.args(["sh", "-c", near]).stdin(Stdio::null());
        command
    }

    fn packets(&self) -> Vec<Row> {
        let text = fs::read_to_string(self.path("packets")).unwrap();
        text.lines().map(Row::of).collect()
    }
}

/// A row of the packet log.
#[derive(Debug)]
struct Row {
    at: u64,
    way: String,
    index: u64,
    length: u64,
    /// When it was let out, or why not.
    fate: Result<u64, String>,
}

impl Row {
    fn of(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        Self {
            at: words[0].parse().unwrap(),
            way: words[1].to_owned(),
            index: words[2].parse().unwrap(),
            length: words[3].parse().unwrap(),
            fate: words[4].parse().map_err(|_| words[4].to_owned()),
        }
    }
}

/// As an ordinary user, whoever runs the test.
fn rootless(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(65534).gid(65534) } else { command }
}

fn run(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    (stdout, stderr)
}

fn assert_round_trips(stdout: &str, count: usize, least: Duration) {
    let trips: Vec<u128> = stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(trips.len(), count, "{stdout}");
    // Never earlier than the model; how much later is the machine's affair.
    assert!(trips.iter().all(|&trip| trip >= least.as_nanos()), "{trips:?}");
}

#[test]
fn a_round_trip_never_takes_less_than_the_link_says() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("echo 0.0.0.0:7"), bench.peer("ping far:7 10"));
    let (stdout, stderr) = run(&mut bench.link("rtt=30ms", &far, &near));
    assert_round_trips(&stdout, 10, Duration::from_millis(30));
    assert!(stderr.contains("RTT 30 ms"), "{stderr}");
}

#[test]
fn an_ordinary_user_gets_the_same_link() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("echo 0.0.0.0:7"), bench.peer("ping $WIRELAP_FAR:7 10"));
    let mut command = bench.link("rtt=20ms,rate=1mbit", &far, &near);
    let (stdout, stderr) = run(rootless(&mut command));
    // 32 bytes of IP each way at 1 Mbit/s.
    assert_round_trips(&stdout, 10, Duration::from_micros(20_512));
    assert!(stderr.contains("namespaces = user namespace"), "{stderr}");
    assert!(stderr.contains("near IPv4 route = congctl cubic initcwnd 10"), "{stderr}");
}

#[test]
fn ipv6_crosses_the_link_too() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("echo [::]:7"), bench.peer("ping [fd77::2]:7 5"));
    let (stdout, _) = run(&mut bench.link("rtt=10ms", &far, &near));
    assert_round_trips(&stdout, 5, Duration::from_millis(10));
    let (far, near) = (bench.peer("serve [::]:80 200000"), bench.peer("fetch [fd77::2]:80"));
    let (stdout, _) = run(&mut bench.link("rtt=10ms,rate=50mbit", &far, &near));
    assert_eq!(stdout, "200000 0\n");
}

/// What an ordinary user's transfers of a megabyte over `spec`, IPv4 and IPv6, leave in the log and say.
fn transfers(spec: &str, how: &str) -> (Vec<Row>, String) {
    let bench = Bench::new();
    let far = bench.peer("serve [::]:80 1000000");
    let near = ["far:80", "[fd77::2]:80"].map(|to| bench.peer(&format!("fetch {to}"))).join(" && ");
    let command = bench.link(spec, &far, &near);
    // Options stand before the two dashes.
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut command = Command::new(bench.path("link"));
    command.arg(&arguments[0]).arg(how).args(&arguments[1..]).stdin(Stdio::null());
    let (stdout, stderr) = run(rootless(&mut command));
    assert_eq!(stdout, "1000000 0\n1000000 0\n");
    (bench.packets(), stderr)
}

#[test]
fn packets_that_the_kernel_holds_fare_as_those_that_are_copied() {
    for (how, manner) in [("--keep-whole", "held by the kernel"), ("--copy", "copied")] {
        if how == "--keep-whole" && !os::net::can_queue_packets() {
            testing::skip("packets wait in the kernel with br_netfilter and nfnetlink_queue");
            continue;
        }
        let (rows, stderr) = transfers("rtt=800us", how);
        assert!(stderr.contains(&format!("link packets = {manner}\n")), "{stderr}");
        assert!(stderr.contains("unplanned drops 0"), "{stderr}");
        for way in ["Up", "Down"] {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.way == way).collect();
            assert!(rows.iter().enumerate().all(|(number, row)| row.index == number as u64));
            // Two processors may stamp packets of the kernel's queue in another order than they stand in it, and none overtakes.
            let mut arrived = 0;
            for row in &rows {
                arrived = row.at.max(arrived);
                assert!(row.fate == Ok(arrived + 400_000), "{row:?} of {rows:?}");
            }
            let told = format!("{}: {} packets", way.to_lowercase(), rows.len());
            assert!(stderr.contains(&told), "{told}\n{stderr}");
        }
        let down = rows.iter().filter(|row| row.way == "Down");
        assert!(down.clone().map(|row| row.length).sum::<u64>() > 2_000_000);
        assert!(down.clone().any(|row| row.length > 1500), "{how} split a super-packet");
    }
}

#[test]
fn with_jitter_each_packet_is_delayed_by_itself() {
    let (rows, stderr) = transfers("rtt=4ms,jitter=2ms", "--keep-whole");
    assert!(stderr.contains("unplanned drops 0"), "{stderr}");
    for way in ["Up", "Down"] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.way == way).collect();
        let draws = Seed(1).child(&way.to_lowercase()).child("jitter");
        let (mut arrived, mut left) = (0, 0);
        for row in rows {
            assert!(row.length <= 1500, "a super-packet got through whole: {row:?}");
            let jitter = (u128::from(draws.draw(row.index)) * 2_000_001) >> 64;
            arrived = row.at.max(arrived);
            // It waits for the packets before it.
            left = left.max(arrived + 2_000_000 + jitter as u64);
            assert_eq!(row.fate, Ok(left), "{row:?}");
        }
    }
}

#[test]
fn a_transfer_over_a_lossy_link_is_whole_and_the_log_tells_why_it_was_slow() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("serve 0.0.0.0:80 1000000"), bench.peer("fetch far:80"));
    let mut command = bench.link("rtt=20ms,rate=9mbit,loss=1%,queue=64kB", &far, &near);
    let (stdout, stderr) = run(rootless(&mut command));
    assert_eq!(stdout, "1000000 0\n");
    let rows = bench.packets();
    for way in ["Up", "Down"] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.way == way).collect();
        let losses = Seed(1).child(&way.to_lowercase()).child("loss");
        for (number, row) in rows.iter().enumerate() {
            assert_eq!(row.index, number as u64);
            assert!(row.length <= 1500, "a super-packet got through whole: {row:?}");
            let lost = losses.fraction(row.index) < 0.01;
            match &row.fate {
                Ok(at) => assert!(!lost && *at >= row.at + 10_000_000, "{row:?}"),
                Err(why) => assert!(why == "queue-full" || lost, "{row:?}"),
            }
        }
        assert_rate_kept(&rows, 9_000_000);
        let told = format!("{}: {} packets", way.to_lowercase(), rows.len());
        assert!(stderr.contains(&told), "{told}\n{stderr}");
    }
    assert!(stderr.contains("unplanned drops 0"), "{stderr}");
    let delivered: u64 =
        rows.iter().filter(|row| row.way == "Down" && row.fate.is_ok()).map(|row| row.length).sum();
    assert!(delivered > 1_000_000, "{delivered}");
}

/// The value of a counter in the kernel's /proc/net/netstat.
fn netstat(text: &str, table: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(table));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|word| word == name).unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}

#[test]
fn active_queues_mark_what_takes_ecn_and_the_ends_count_the_marks() {
    for (aqm, address) in [("codel", "far:80"), ("fq_codel", "[fd77::2]:80")] {
        let bench = Bench::new();
        let near = bench.peer(&format!("fetch {address}"));
        let asks = "echo 1 > /proc/sys/net/ipv4/tcp_ecn";
        let near = format!("{asks} && {near} && cat /proc/net/netstat /proc/net/snmp6");
        let spec = format!("rtt=20ms,rate=8mbit,queue=1MB,aqm={aqm}/5ms/20ms");
        let far = bench.peer("serve [::]:80 1500000");
        let (stdout, stderr) = run(rootless(&mut bench.link(&spec, &far, &near)));
        assert!(stdout.starts_with("1500000 0\n"), "{stdout}");
        let rows = bench.packets();
        assert!(rows.iter().all(|row| row.fate.is_ok()), "a packet was dropped");
        let marked: u64 = stderr
            .lines()
            .find_map(|line| line.trim().strip_prefix("down: ")?.split_once("marked "))
            .and_then(|(_, rest)| rest.split(',').next()?.parse().ok())
            .unwrap();
        assert!(marked > 0, "{stderr}");
        // What the queue marked is what near's kernel saw, with checksums that it accepts.
        let v6 = stdout.lines().find_map(|line| line.strip_prefix("Ip6InCEPkts")).unwrap();
        let seen = netstat(&stdout, "IpExt:", "InCEPkts") + v6.trim().parse::<u64>().unwrap();
        assert_eq!(seen, marked, "{stdout}");
        assert_eq!(netstat(&stdout, "IpExt:", "InCsumErrors"), 0);
    }
}

#[test]
fn without_ecn_an_active_queue_drops() {
    let bench = Bench::new();
    let far = bench.peer("serve 0.0.0.0:80 1500000");
    let near = format!("echo 0 > /proc/sys/net/ipv4/tcp_ecn && {}", bench.peer("fetch far:80"));
    let spec = "rtt=20ms,rate=8mbit,queue=1MB,aqm=codel/5ms/20ms";
    let (stdout, stderr) = run(rootless(&mut bench.link(spec, &far, &near)));
    assert_eq!(stdout, "1500000 0\n");
    let dropped = |row: &&Row| row.fate.as_ref().is_err_and(|why| why == "aqm-dropped");
    let count = bench.packets().iter().filter(dropped).count();
    assert!(count > 0 && stderr.contains(&format!("AQM {count},")), "{stderr}");
    assert!(stderr.contains("unplanned drops 0"), "{stderr}");
}

#[test]
fn transfers_over_bursts_reordering_and_a_policer_are_whole() {
    for (spec, why) in [
        ("rtt=10ms,rate=30mbit,loss=3%/4", "lost"),
        ("rtt=10ms,rate=30mbit,reorder=2%/3,reorder_up=2%/4ms", ""),
        ("rtt=10ms,policer=20mbit/32kB", "policed"),
    ] {
        let bench = Bench::new();
        let (far, near) = (bench.peer("serve 0.0.0.0:80 1000000"), bench.peer("fetch far:80"));
        let (stdout, stderr) = run(rootless(&mut bench.link(spec, &far, &near)));
        assert_eq!(stdout, "1000000 0\n", "{spec}");
        let rows = bench.packets();
        let dropped = rows.iter().filter(|row| row.fate.as_ref().is_err_and(|fate| fate == why));
        assert!((dropped.count() > 0) != why.is_empty(), "{spec}");
        assert!(rows.iter().all(|row| row.length <= 1500), "{spec}");
        assert!(stderr.contains("unplanned drops 0"), "{stderr}");
    }
}

#[test]
fn a_limit_on_udp_lets_its_rate_through_and_a_block_nothing() {
    for (limit, passing) in [("udp_rate=1mbit/1800B", 50..51), ("udp=blocked", 0..1)] {
        let bench = Bench::new();
        // Each datagram is 36 bytes of IP: fifty fill the bucket. All come within a millisecond of tokens or two.
        let near = bench.peer("cast far:7 400");
        let (far, spec) = (bench.peer("sink 0.0.0.0:7 400"), format!("rtt=2ms,{limit}"));
        run(rootless(&mut bench.link(&spec, &far, &near)));
        let rows = bench.packets();
        let (mut tokens, mut last) = (1_800 * 8_000_000_000_u128, None::<u64>);
        for row in rows.iter().filter(|row| row.way == "Up" && row.length == 36) {
            let at = row.at.max(last.unwrap_or(0));
            let since = last.replace(at).map_or(0, |last| at - last);
            tokens = (1_800 * 8_000_000_000).min(tokens + u128::from(since) * 1_000_000);
            let passes = passing.start > 0 && tokens >= 36 * 8_000_000_000;
            tokens -= if passes { 36 * 8_000_000_000 } else { 0 };
            assert_eq!(row.fate.is_ok(), passes, "{row:?}");
        }
        let passed = rows.iter().filter(|row| row.length == 36 && row.fate.is_ok()).count();
        assert!(passed >= passing.start && (passed == 0) == (passing.start == 0), "{passed}");
    }
}

#[test]
fn trains_of_datagrams_are_packets_of_their_own_on_the_link() {
    for address in ["10.77.0.2:7", "[fd77::2]:7"] {
        for spec in ["rtt=4ms", "rtt=4ms,rate=20mbit,queue=100kB"] {
            let bench = Bench::new();
            let (far, near) = (bench.peer("echo [::]:7"), bench.peer(&format!("gso {address} 40")));
            let (stdout, stderr) = run(rootless(&mut bench.link(spec, &far, &near)));
            assert_eq!(stdout, "40\n", "{spec}");
            let header = if address.starts_with('[') { 48 } else { 28 };
            let rows = bench.packets();
            let rows: Vec<&Row> = rows.iter().filter(|row| row.length == 1_000 + header).collect();
            assert_eq!(rows.len(), 80, "{spec}");
            assert!(stderr.contains("unplanned drops 0"), "{stderr}");
        }
    }
}

/// As segments of TCP do: a receiver that has the kernel join datagrams gets no more from the link than from a wire.
#[test]
fn datagrams_of_a_train_arrive_one_by_one() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("train 0.0.0.0:7 40"), bench.peer("largest far:7 40"));
    let (stdout, stderr) = run(rootless(&mut bench.link("rtt=4ms", &far, &near)));
    assert_eq!(stdout, "1000\n");
    assert!(stderr.contains("near offloads = tx-checksum on"), "{stderr}");
    assert!(stderr.contains("udp-gso "), "{stderr}");
}

#[test]
fn after_a_rebinding_datagrams_go_on_and_a_tcp_connection_is_reset() {
    let bench = Bench::new();
    let (far, near) = (bench.peer("echo 0.0.0.0:7"), bench.peer("ping far:7 20"));
    let (stdout, _) = run(rootless(&mut bench.link("rtt=10ms,rebind=60ms", &far, &near)));
    // An answer that is on its way to the old port at that moment is lost. All others come.
    let answers: String = stdout
        .lines()
        .filter(|&line| line != "lost")
        .fold(String::new(), |all, line| all + line + "\n");
    let count = answers.lines().count();
    assert!(count >= 19, "{stdout}");
    assert_round_trips(&answers, count, Duration::from_millis(10));
    let far = bench.peer("serve [::]:80 2000000");
    for address in ["far:80", "[fd77::2]:80"] {
        let near = bench.peer(&format!("fetch {address}"));
        let spec = "rtt=10ms,rate=8mbit,rebind=200ms";
        let output = bench.link(spec, &far, &near).output().unwrap();
        assert!(!output.status.success(), "the connection went on");
        let again = "rtt=10ms,rate=80mbit,rebind=0ms";
        let (stdout, _) = run(rootless(&mut bench.link(again, &far, &near)));
        assert_eq!(stdout, "2000000 0\n");
    }
}

/// No two packets leave closer together than the bottleneck lets them.
fn assert_rate_kept(rows: &[&Row], rate: u64) {
    let delivered: Vec<(u64, u64)> =
        rows.iter().filter_map(|row| Some((*row.fate.as_ref().ok()?, row.length))).collect();
    for pair in delivered.windows(2) {
        let least = pair[1].1 * 8 * 1_000_000_000 / rate;
        assert!(pair[1].0 - pair[0].0 >= least, "{pair:?}");
    }
}

#[test]
fn a_killed_far_fails_near_and_nothing_remains() {
    let bench = Bench::new();
    let mark = format!("{}.{}", 86_400, std::process::id());
    // A daemon that left its group and session must go too.
    let far = format!(
        "readlink /proc/self/ns/net > {}; setsid sleep {mark} & exec {}",
        bench.path("namespace"),
        bench.peer("serve 0.0.0.0:80 100000000")
    );
    let near = format!(
        "{} & sleep 0.3; for p in /proc/[0-9]*; do grep -qs serve $p/cmdline && kill -9 ${{p#/proc/}}; done; wait $!",
        bench.peer("fetch far:80")
    );
    let output = bench.link("rtt=20ms,rate=2mbit", &far, &near).output().unwrap();
    assert!(!output.status.success(), "near cannot have had all of 100 MB");
    assert_nothing_remains(&bench, &mark);
}

#[test]
fn a_killed_worker_takes_everything_with_it() {
    let bench = Bench::new();
    let mark = format!("{}.{}", 86_401, std::process::id());
    let far =
        format!("readlink /proc/self/ns/net > {}; exec sleep {mark}", bench.path("namespace"));
    let near = format!("setsid sleep {mark} & touch {}; exec sleep {mark}", bench.path("running"));
    let mut worker = bench.link("rtt=20ms", &far, &near).spawn().unwrap();
    wait_until("near runs", || Path::new(&bench.path("running")).exists());
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_nothing_remains(&bench, &mark);
}

fn assert_nothing_remains(bench: &Bench, mark: &str) {
    let namespace = fs::read_to_string(bench.path("namespace")).unwrap();
    assert!(namespace.starts_with("net:["), "{namespace}");
    wait_until("all is gone", || {
        processes().iter().all(|(folder, command)| {
            let own = fs::read_link(folder.join("ns/net"));
            let inside = own.is_ok_and(|own| own.to_string_lossy() == namespace.trim());
            !inside && !command.contains(mark)
        })
    });
}

fn processes() -> HashMap<PathBuf, String> {
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    folders
        .filter_map(|folder| {
            let command = fs::read_to_string(folder.join("cmdline")).ok()?;
            Some((folder, command))
        })
        .collect()
}

/// Looks until `done`; a wait without end, cut off long after any machine would be done.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain until {what}");
}

#[test]
fn what_near_sent_before_it_ended_still_arrives() {
    let bench = Bench::new();
    let far = format!("{} && touch {}", bench.peer("sink 0.0.0.0:7 3"), bench.path("arrived"));
    run(&mut bench.link("rtt=400ms", &far, &bench.peer("cast far:7 3")));
    assert!(Path::new(&bench.path("arrived")).exists());
}

#[test]
fn far_may_put_itself_into_the_background_and_a_slow_packet_is_waited_for() {
    let bench = Bench::new();
    let sink = bench.peer("sink 0.0.0.0:7 3");
    // It ends at once with 0. What it leaves behind listens later.
    let far = format!("(sleep 0.5; {sink} && touch {}) &", bench.path("arrived"));
    // A datagram takes 576 ms: longer than the link may be silent while it is empty.
    let mut command = bench.link("rtt=10ms,rate=500bit", &far, &bench.peer("cast far:7 3"));
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    command = Command::new(bench.path("link"));
    command.arg(&words[0]).args(["--ready-port", "7"]).args(&words[1..]).stdin(Stdio::null());
    run(&mut command);
    assert!(Path::new(&bench.path("arrived")).exists());
}

#[test]
fn a_far_that_leaves_nothing_behind_is_never_ready() {
    let bench = Bench::new();
    let mut command = Command::new(bench.path("link"));
    let near = format!("touch {}", bench.path("started"));
    command.args(["rtt=1ms", "--far", "true", "--ready-port", "7", "--", "sh", "-c", &near]);
    let Output { status, stderr, .. } = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(String::from_utf8_lossy(&stderr).contains("wait 10 s for far to listen on port 7"));
    assert!(!Path::new(&bench.path("started")).exists());
}

#[test]
fn far_is_asked_once_to_end_and_has_its_time_behind_a_shell_too() {
    for (name, before, after) in [("alone", "", ""), ("behind", "sh -c '", "'; true")] {
        let bench = Bench::new();
        let (asked, ended) = (bench.path("asked"), bench.path("ended"));
        // What it does for half a second after it was asked: a second signal would be counted, a kill would be seen.
        let program = format!(
            "trap \"echo >> {asked}\" TERM; touch {asked} {asked}.ready; while [ ! -s {asked} ]; do sleep 0.01; done; \
             for i in 1 2 3 4 5; do sleep 0.1; done; touch {ended}"
        );
        let far = format!("{before}{program}{after}");
        let near = format!("while [ ! -e {asked}.ready ]; do sleep 0.01; done");
        run(&mut bench.link("rtt=1ms", &far, &near));
        assert!(Path::new(&ended).exists(), "{name}: it was killed before its end");
        assert_eq!(fs::read_to_string(&asked).unwrap(), "\n", "{name}");
    }
}

#[test]
fn near_s_exit_status_is_the_link_s_and_a_missing_program_has_a_remedy() {
    let bench = Bench::new();
    let status = bench.link("rtt=1ms", "sleep 100", "exit 7").output().unwrap().status;
    assert_eq!(status.code(), Some(7));
    let output = Command::new(bench.path("link"))
        .args(["rtt=1ms", "--", "no-such-program"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("start no-such-program") && stderr.contains("remedy"), "{stderr}");
}

#[test]
fn names_and_processes_are_those_of_the_namespace() {
    let bench = Bench::new();
    let near = "cat /etc/hosts; ls -d /proc/[0-9]* | wc -l; echo $WIRELAP_NEAR $WIRELAP_FAR";
    let (stdout, _) = run(&mut bench.link("rtt=1ms", "sleep 100", near));
    assert!(stdout.contains("10.77.0.1 near\n") && stdout.contains("10.77.0.2 far\n"), "{stdout}");
    assert!(stdout.ends_with("10.77.0.1 10.77.0.2\n"), "{stdout}");
    let machine = fs::read_to_string("/etc/hosts").unwrap();
    assert!(!machine.contains("10.77.0.1 near"), "{machine}");
}
