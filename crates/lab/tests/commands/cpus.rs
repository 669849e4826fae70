//! CPUs that are not numbered from 0, as a container with `--cpuset-cpus=1` or taskset(1) leaves them: everything that
//! binds itself chooses among those that it may use.

use crate::bench::{Bench, Ran, experiment, records, trials_run_here};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// The last CPU that this test may use; None where it is CPU 0, as on a machine with one CPU.
fn last_cpu() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let last = list.trim().rsplit([',', '-']).next().unwrap().to_owned();
    if last == "0" {
        testing::skip("this machine lets us use CPU 0 alone");
        return None;
    }
    Some(last)
}

/// A way to leave a program one CPU.
enum Confinement {
    /// The program may undo it.
    Affinity(String),
    /// A control group (cpuset(7)), as containers have it: other CPUs are refused.
    Group(String),
}

impl Confinement {
    /// Both ways to leave a program the last CPU; the group only where we may make one.
    fn to_last_cpu() -> Vec<Self> {
        let Some(cpu) = last_cpu() else { return Vec::new() };
        let mut ways = vec![Self::Affinity(cpu.clone())];
        match make_group(&cpu) {
            Some(folder) => ways.push(Self::Group(folder)),
            None => testing::skip("no control group of CPUs may be made here (taskset ran)"),
        }
        ways
    }

    fn command(&self, bench: &Bench, line: &str) -> Command {
        let (mut command, line) = match self {
            Self::Affinity(cpu) => {
                let mut command = bench.command("taskset");
                command.args(["-c", cpu, "sh", "-c"]);
                (command, line.to_owned())
            }
            Self::Group(folder) => {
                let mut command = bench.command("sh");
                command.arg("-c");
                (command, format!("echo $$ > {folder}/cgroup.procs && {line}"))
            }
        };
        command.arg(line).env("W", crate::bench::wirelap());
        command
    }

    fn run(&self, bench: &Bench, line: &str) -> Ran {
        bench.start(self.command(bench, line)).end()
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        if let Self::Group(folder) = self {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn make_group(cpu: &str) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let has_cpus = |root: &&str| fs::exists(format!("{root}/cpuset.mems")).unwrap_or(false);
    let root = mounts.lines().filter_map(|line| line.split(' ').nth(1)).find(has_cpus)?;
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let folder = format!("{root}/wirelap-test-{}-{number}", std::process::id());
    let memory = fs::read_to_string(format!("{root}/cpuset.mems")).ok()?;
    fs::create_dir(&folder).ok()?;
    let set = fs::write(format!("{folder}/cpuset.cpus"), cpu)
        .and_then(|()| fs::write(format!("{folder}/cpuset.mems"), memory));
    if set.is_err() {
        fs::remove_dir(&folder).ok()?;
        return None;
    }
    Some(folder)
}

#[test]
fn a_server_binds_its_threads_to_cpus_that_it_may_use_and_a_load_too() {
    let bench = Bench::new();
    bench.write("file", "what stands in it");
    for way in Confinement::to_last_cpu() {
        let serve = "exec $W serve . --listen 127.0.0.1:0 --threads 2";
        let mut running = bench.start(way.command(&bench, serve));
        let mut url = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        let ask = b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(ask).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("what stands in it"), "{answer}");
        let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
        for task in tasks.filter_map(Result::ok) {
            let status = fs::read_to_string(task.path().join("status")).unwrap();
            let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
            assert_eq!(cpus.split_whitespace().nth(1), last_cpu().as_deref());
        }
        let load = format!("exec $W load {url}file --threads 2 -c 2 -n 50");
        way.run(&bench, &load).said(0, &[]);
        running.signal("INT");
        assert_eq!(running.end().code, 0);
    }
}

#[test]
fn trials_and_links_run_on_the_cpus_that_there_are_and_rows_name_them() {
    let bench = Bench::new();
    // Quick enough that each trial runs alone, with CPUs of its own.
    bench.write("tiny.toml", experiment("rtt=1ms,down=900mbit,up=900mbit", 1));
    if !trials_run_here() {
        return;
    }
    for (number, way) in Confinement::to_last_cpu().into_iter().enumerate() {
        let race = format!("exec $W race tiny.toml --no-calibration --no-wait --out run-{number}");
        way.run(&bench, &race).raced();
        let cpu = last_cpu().unwrap();
        for row in records(&bench.path(&format!("run-{number}"))) {
            // A link and two ends on one CPU keep each other from it: the audit may refuse the figures.
            assert!(["measured", "invalid"].contains(&outcome(&row)), "{:#}", row["outcome"]);
            assert_eq!(row["settings"]["cores"], format!("link {cpu}, client {cpu}, origin {cpu}"),);
        }
        let near = "grep Cpus_allowed_list: /proc/self/status";
        let ran = way.run(&bench, &format!("exec $W link lan -- {near}"));
        ran.said(0, &[]);
        assert_eq!(ran.out.split_whitespace().nth(1), Some(cpu.as_str()), "{ran:?}");
    }
}

/// The processes that measure are bound as trials are.
#[test]
fn a_race_is_calibrated_on_the_cpus_that_there_are() {
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("rtt=20ms,down=10mbit,up=10mbit", 1));
    if !trials_run_here() {
        return;
    }
    for (number, way) in Confinement::to_last_cpu().into_iter().enumerate() {
        let race = format!("exec $W race tiny.toml --no-wait --out run-{number}");
        way.run(&bench, &race).raced();
        let result = fs::read(bench.path(&format!("run-{number}/result.json"))).unwrap();
        let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
        let floor = &result["host"]["calibration"]["floor"];
        assert!(floor["p50_us"].as_f64().unwrap() > 0.0, "{floor:#}");
    }
}

fn outcome(row: &serde_json::Value) -> &str {
    row["outcome"]["kind"].as_str().unwrap()
}
