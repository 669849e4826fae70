//! Client subjects as users write them: a good one, and every way to be a bad one.

use crate::bench::{Bench, outcomes, records, trials_run_here};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// What every subject of these tests begins with: the job, the lines, and a fetch.
const PREAMBLE: &str = r#"
import json, os, subprocess, sys, time, urllib.request
job = json.load(sys.stdin)
def say(**line): print(json.dumps(line), flush=True)
def ready():
    global zero
    say(event="ready", name="test", version="1")
    zero = time.monotonic()
def now(): return (time.monotonic() - zero) * 1000
def get(f, **more):
    started = now()
    with urllib.request.urlopen(f["url"]) as answer: body = answer.read()
    if f["file"]:
        with open(os.path.join(job["output"], f["file"]), "wb") as file: file.write(body)
    line = dict(event="fetch", id=f["id"], status=200, started_ms=started, ended_ms=now(), bytes=len(body))
    say(**{**line, **more})
"#;

/// The rest of one that does as it is told.
const HONEST: &str = "ready()\nfor f in job['fetches']: get(f)\nsay(event='done', connections=len(job['fetches']))\n";

fn python_runs_here() -> bool {
    let runs = Command::new("python3").arg("--version").output().is_ok_and(|o| o.status.success());
    if !runs {
        testing::skip("python3 is not installed");
    }
    runs && trials_run_here()
}

/// A bench with the subject `mine` and an experiment in which it does `workload`.
fn bench(body: &str, workload: &str) -> Bench {
    let bench = Bench::alone();
    std::fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/mine.py", format!("{PREAMBLE}{body}"));
    bench.write(
        "subjects/mine.toml",
        "name = \"mine\"\nrole = \"client\"\ncommand = [\"python3\", \"{here}/mine.py\"]\n\
         transports = [\"http/1.1\"]\n",
    );
    bench.write(
        "mine.toml",
        format!(
            "name = \"mine\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"mine\"\ntrials = 1\nwarmup = 0\n\
             timeout = \"3s\"\n[[workloads]]\n{workload}\n\
             [[contenders]]\nname = \"mine\"\ntransport = \"http/1.1\"\ntls = \"none\"\nclient = \"mine\"\n\
             [[links]]\nname = \"rtt=20ms,down=50mbit,up=50mbit\"\n"
        ),
    );
    bench
}

const FILES: &str = "kind = \"download\"\nfiles = \"80kB\"\ncount = 2";

/// How the one trial ended, and why.
fn raced(bench: &Bench) -> (String, String) {
    bench.race_undisturbed("mine.toml", "run", &[]);
    assert_eq!(bench.alive(), [], "a process is left");
    assert!(!bench.path("run/scratch").exists(), "its folder is left");
    let (_, outcome, reason) = outcomes(&bench.path("run")).remove(0);
    (outcome, reason.unwrap_or_default())
}

fn row(bench: &Bench) -> Value {
    records(&bench.path("run")).remove(0)
}

#[test]
fn a_subject_that_does_as_it_is_told_is_measured_and_its_claims_are_graded() {
    if !python_runs_here() {
        return;
    }
    let bench = bench(HONEST, FILES);
    let (outcome, reason) = raced(&bench);
    assert_eq!(outcome, "measured", "{reason}");
    let row = row(&bench);
    let grade = |claim: &str| {
        let all = row["evidence"].as_array().unwrap();
        let one = all.iter().find(|one| one["claim"] == claim).unwrap();
        (one["value"].as_str().unwrap().to_owned(), one["grade"].as_str().unwrap().to_owned())
    };
    assert_eq!(grade("protocol"), ("http/1.1".to_owned(), "server_log".to_owned()));
    assert_eq!(grade("connections"), ("2".to_owned(), "wire".to_owned()));
    assert_eq!(grade("bytes"), ("160000".to_owned(), "wire".to_owned()));
    let metric = |name: &str| row["metrics"][name].as_f64().unwrap();
    assert_eq!(metric("sha256_ok"), 1.0);
    // A round trip for each connection and each answer at the least.
    assert!(metric("transfer_ms") >= 80.0, "{row:#}");
    assert!(metric("wall_ms") > metric("startup_ms") + metric("transfer_ms"), "{row:#}");
    assert!(metric("client_peak_memory") > 1e6 && metric("client_cpu_ms") > 0.0, "{row:#}");
    assert!(row["resources"]["server"]["voluntary_switches"].as_u64() > Some(0), "{row:#}");
    assert_eq!(row["settings"]["client version"], "1");
}

/// One that leaves half a second of work to a process that it does not wait for.
const HELPED: &str = "ready()\nr, w = os.pipe()\n\
    subprocess.Popen([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.5: pass'], pass_fds=[w])\n\
    os.close(w); os.read(r, 1)\nfor f in job['fetches']: get(f)\nsay(event='done')\nos._exit(0)\n";

#[test]
fn rows_say_who_counted_what_both_ends_used_of_the_machine() {
    if !python_runs_here() {
        return;
    }
    let bench = bench(HELPED, FILES);
    bench.race_undisturbed("mine.toml", "run", &["--links", "none"]);
    let row = row(&bench);
    assert_eq!(row["outcome"]["kind"], "measured", "{row:#}");
    let (client, server) = (&row["resources"]["client"], &row["resources"]["server"]);
    let doctor: Value = serde_json::from_str(&bench.run(&["doctor", "--json"]).out).unwrap();
    let findings = doctor["findings"].as_array().unwrap();
    let groups = findings.iter().find(|finding| finding["name"] == "control groups").unwrap();
    if groups["state"] != "good" {
        assert_eq!(client["cpu_counter"], "wait4");
        return testing::skip(format!("control groups: {}", groups["what"]));
    }
    let counters = [&client["cpu_counter"], &server["cpu_counter"]];
    assert!(counters.iter().all(|counter| *counter != "wait4"), "{row:#}");
    // wait4 knows nothing of who was not waited for.
    let cpu = client["user_ms"].as_f64().unwrap() + client["system_ms"].as_f64().unwrap();
    assert!(cpu >= 500.0 && row["metrics"]["client_cpu_ms"] == cpu, "{row:#}");
}

#[test]
fn a_subject_that_breaks_the_contract_fails_its_trial_with_its_own_words() {
    if !python_runs_here() {
        return;
    }
    for (body, told) in [
        ("print('hello there', flush=True)\ntime.sleep(60)", "hello there"),
        ("while True: sys.stdout.write('x' * 65536)", "longer than 65536 bytes"),
        ("sys.exit('no luck today')", "no luck today"),
        ("ready(); get(job['fetches'][0]); sys.exit(3)", "ended early (exit code 3), after 1 of 2"),
        ("ready(); sys.stderr.write('thinking'); sys.stderr.flush(); time.sleep(60)", "thinking"),
        ("time.sleep(60)", "was not ready in time"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        (
            "ready()\nfor f in job['fetches']: get(f)\nsay(event='done'); time.sleep(60)",
            "did not end",
        ),
        ("say(event='unsupported', reason='not on a Sunday'); sys.exit(127)", "not on a Sunday"),
    ] {
        let bench = bench(body, FILES);
        let (outcome, reason) = raced(&bench);
        let expected = if body.contains("unsupported") { "unsupported" } else { "failed" };
        assert_eq!(outcome, expected, "{body}: {reason}");
        assert!(reason.contains(told) && reason.contains("mine"), "{body}: {reason}");
    }
}

#[test]
fn a_claim_that_does_not_hold_fails_the_trial() {
    if !python_runs_here() {
        return;
    }
    const ALL: &str = "ready()\nfor f in job['fetches']: get(f, MORE)\nsay(event='done', DONE)";
    let with = |more: &str, done: &str| ALL.replace("MORE", more).replace("DONE", done);
    let nothing = "ready()\nfor f in job['fetches']: say(event='fetch', id=f['id'], status=200, started_ms=0, \
                   ended_ms=1, bytes=80000)\nsay(event='done')";
    for (body, told) in [
        (with("protocol='h2'", ""), "the client says that it spoke h2"),
        (with("", "connections=1"), "opened 1 connection, but the link saw 2"),
        (with("bytes=79999", ""), "has 79999 bytes, but it has 80000"),
        (with("started_ms=0, ended_ms=1", ""), "bytes after 1.0 ms, but the link had delivered only"),
        (nothing.to_owned(), "the link delivered only 0"),
        (
            "ready()\nfor f in job['fetches']:\n  get(f)\n  p = os.path.join(job['output'], f['file'])\n  \
             b = bytearray(open(p, 'rb').read()); b[70000] ^= 1; open(p, 'wb').write(b)\nsay(event='done')"
                .to_owned(),
            "the SHA-256 of its file of 80kB-0 is wrong",
        ),
    ] {
        let bench = bench(&body, FILES);
        let (outcome, reason) = raced(&bench);
        assert_eq!(outcome, "failed", "{body}: {reason}");
        assert!(reason.contains(told), "{body}: {reason}");
    }
}

/// One that burns its core beside its calls, with processes enough that hardly anybody else gets at it.
const BURNING: &str = "hogs = [subprocess.Popen(['sh', '-c', 'while :; do :; done']) for _ in range(8)]\nready()\n\
    for f in job['fetches']: get(f)\nfor hog in hogs: hog.kill(); hog.wait()\nsay(event='done')\n";

/// Whether a trial was refused because its client took most of its core, which a trial that counts never did. Whoever
/// else was on that core may have left it less, and spoilt the trial by other means.
fn is_told_to_burn(row: &Value) -> bool {
    let used = row["audit"]["client_cpu"].as_f64().unwrap();
    let reason = &row["outcome"]["reason"];
    let is_told = reason == "the client itself was too slow: it was working for most of the load";
    let key = row["plan"]["key"].as_str().unwrap();
    assert!(!is_told || used > 0.8 && key.contains("/burning/"), "{key}: {row:#}");
    assert!(used <= 0.8 || row["outcome"]["kind"] == "invalid", "{key}: {row:#}");
    is_told
}

#[test]
fn a_subject_that_burns_its_core_beside_its_calls_is_refused_with_the_reason_and_gets_no_verdict() {
    if !python_runs_here() {
        return;
    }
    let calls = "kind = \"calls\"\npattern = \"serial\"\ncount = 6\nbytes = 500";
    let bench = bench(HONEST, calls);
    bench.write("subjects/burning.py", format!("{PREAMBLE}{BURNING}"));
    let declaration = std::fs::read_to_string(bench.path("subjects/mine.toml")).unwrap();
    bench.write("subjects/burning.toml", declaration.replace("mine", "burning"));
    let burning = "[[contenders]]\nname = \"burning\"\ntransport = \"http/1.1\"\ntls = \"none\"\nclient = \"burning\"\n";
    let text = std::fs::read_to_string(bench.path("mine.toml")).unwrap() + burning;
    bench.write("mine.toml", text.replace("trials = 1", "trials = 6").replace("3s", "20s"));
    let found_out = (0..5).any(|attempt| {
        let run = format!("run-{attempt}");
        let ran = bench.run(&["race", "mine.toml", "--out", &run, "--json"]);
        ran.raced();
        let rows = records(&bench.path(&run));
        let told = rows.iter().filter(|row| is_told_to_burn(row)).count();
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        let pair = &result["verdicts"][0]["pairs"][0];
        let burning = |row: &&Value| row["plan"]["key"].as_str().unwrap().contains("/burning/");
        let counts = rows.iter().filter(burning).any(|row| row["outcome"]["kind"] == "measured");
        assert!(counts || pair["verdict"] == "undecided", "{pair:#}");
        told > 0
    });
    assert!(found_out, "nobody ever noticed a client that burns its core");
}

#[test]
fn what_a_subject_leaves_running_is_gone_when_its_trial_is() {
    if !python_runs_here() {
        return;
    }
    // A child in a session of its own, with every pipe closed, that ignores what can be ignored.
    let daemon = "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP INT; sleep 600; :'], start_new_session=True, \
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n";
    // And one that keeps the pipes open.
    let holder = "subprocess.Popen(['sleep', '600'], start_new_session=True)\n";
    for left in [daemon, holder] {
        let bench = bench(&format!("{left}{HONEST}"), FILES);
        let (outcome, reason) = raced(&bench);
        assert_eq!(outcome, "measured", "{reason}");
    }
    let bench = bench(&format!("{daemon}time.sleep(600)"), FILES);
    assert_eq!(raced(&bench).0, "failed");
}

#[test]
fn a_process_a_file_is_started_for_each_file() {
    if !python_runs_here() {
        return;
    }
    let bench = bench(HONEST, &format!("{FILES}\nprocesses = \"each\""));
    let (outcome, reason) = raced(&bench);
    assert_eq!(outcome, "measured", "{reason}");
    let row = row(&bench);
    assert_eq!(row["fetches"].as_array().unwrap().len(), 2);
    assert_eq!(row["metrics"]["sha256_ok"], 1.0);
}

#[test]
fn a_client_that_is_not_declared_is_told_before_anything_runs() {
    let bench = bench(HONEST, FILES);
    let text = std::fs::read_to_string(bench.path("mine.toml")).unwrap();
    bench.write("mine.toml", text.replace("client = \"mine\"", "client = \"crul\""));
    bench
        .run(&["race", "mine.toml"])
        .said(2, &["no client `crul` is declared", "did you mean `curl`?", "--subjects DIR"]);
    bench.write("subjects/mine.toml", "name = \"mine\"\nrole = \"clint\"\n");
    bench.run(&["race", "mine.toml"]).said(2, &["subjects/mine.toml", "clint"]);
}

#[test]
fn a_subject_that_cannot_be_asked_for_this_is_not_even_started() {
    if !trials_run_here() {
        return;
    }
    let bench = bench("open('/dev/full', 'w').write('started')", FILES);
    let text = std::fs::read_to_string(bench.path("mine.toml")).unwrap();
    bench.write("mine.toml", text.replace("http/1.1", "h2"));
    let (outcome, reason) = raced(&bench);
    assert_eq!(
        (outcome.as_str(), reason.contains("not declared to speak h2")),
        ("unsupported", true)
    );
}

#[test]
fn a_race_of_which_no_trial_was_measured_exits_1_with_the_reason() {
    if !trials_run_here() {
        return;
    }
    let bench = bench(HONEST, FILES);
    let text = std::fs::read_to_string(bench.path("mine.toml")).unwrap();
    bench.write("mine.toml", text.replace("http/1.1", "h2"));
    let ran = bench.run(&["race", "mine.toml", "--out", "run", "--links", "none"]);
    ran.said(
        1,
        &[
            "error: ",
            " answers nothing: no trial was measured: ",
            " unsupported: ",
            "not declared to speak h2",
        ],
    );
    // How long it was to take was said before, and the report is there all the same.
    ran.said(1, &["mine: 1 trial, about "]);
    assert!(bench.path("run/report.html").exists());
    bench.run(&["report", "run"]).said(0, &[]);
}

#[test]
fn a_plan_tells_how_long_it_takes_and_a_busy_machine_is_told_before_anything_runs() {
    let bench = bench(HONEST, FILES);
    let planned = bench.run(&["race", "quick", "--dry-run"]);
    assert!(planned.out.contains("144 trials and 8 warm-ups, about "), "{}", planned.out);
    // What matters is not behind a list of 152 trials.
    assert!(planned.out.lines().count() < 12, "{}", planned.out);
    let listed = bench.run(&["race", "quick", "--dry-run", "-v"]).out;
    assert_eq!(listed.lines().filter(|line| line.contains(" seed ")).count(), 153, "{listed}");
    // One experiment says it by itself; of several nobody has to add them up.
    assert!(!planned.out.contains(" in all"), "{}", planned.out);
    let both = bench.run(&["race", "quick", "lossy", "--dry-run"]).out;
    let all = both.lines().last().unwrap();
    assert!(all.starts_with("2 experiments, about ") && all.ends_with(" min in all"), "{all}");
    if !trials_run_here() {
        return;
    }
    let _load = crate::load::Load::begin(&bench);
    let ran = bench.run(&["race", "mine.toml", "--out", "run", "--links", "none"]);
    // The bench says --no-wait.
    ran.raced().said(ran.code, &["busy: ", "; going on: counts"]);
}

/// The code blocks of `docs/subjects.md` of this language, as they stand there.
fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/subjects.md");
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(str::to_owned).collect()
}

#[test]
fn the_example_of_the_documentation_races_as_it_stands_there() {
    let modules = ["-MJSON::PP", "-MHTTP::Tiny", "-MTime::HiRes", "-e", "1"];
    let runs = Command::new("perl").args(modules).output().is_ok_and(|o| o.status.success());
    if !runs {
        return testing::skip("Perl with its core modules is not installed");
    }
    if !trials_run_here() {
        return;
    }
    let program = blocks("perl").remove(0);
    let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 34, "the example has {lines} lines");
    let [declaration, experiment] = blocks("toml").try_into().unwrap();
    let bench = Bench::alone();
    std::fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/tiny.pl", program);
    bench.write("subjects/tiny.toml", declaration);
    bench.write("mine.toml", experiment);
    let only = ["--contenders", "tiny", "--baseline", "tiny", "--trials", "3"];
    bench.race_undisturbed("mine.toml", "run", &only);
    let rows = outcomes(&bench.path("run"));
    assert!(rows.iter().all(|(_, outcome, _)| outcome == "measured"), "{rows:?}");
}

#[test]
fn without_a_link_there_is_a_packet_log_all_the_same() {
    if !python_runs_here() {
        return;
    }
    let bench = bench(HONEST, FILES);
    bench.race_undisturbed("mine.toml", "run", &["--links", "none"]);
    assert_eq!(bench.alive(), []);
    let row = row(&bench);
    assert_eq!(row["outcome"]["kind"], "measured", "{row:#}");
    assert_eq!(
        (&row["packets"]["connections"], &row["metrics"]["connections"]),
        (&2.into(), &2.0.into())
    );
    assert!(row["packets"]["down"]["payload"].as_u64() >= Some(160_000), "{row:#}");
    let wire = row["evidence"].as_array().unwrap().iter().filter(|one| one["grade"] == "wire");
    assert_eq!(wire.count(), 3, "{row:#}");
    // And a client that says that it did what it did not is caught here as on any link.
    let idle = "ready()\nfor f in job['fetches']: say(event='fetch', id=f['id'], status=200, started_ms=0, \
                ended_ms=1, bytes=80000)\nsay(event='done')";
    bench.write("subjects/mine.py", format!("{PREAMBLE}{idle}"));
    bench.run(&["race", "mine.toml", "--out", "idle", "--links", "none"]).raced();
    let reason = outcomes(&bench.path("idle")).remove(0).2.unwrap();
    assert!(reason.contains("the link delivered only 0"), "{reason}");
}

/// Every built-in client, at what it can do, against our origin.
const BUILT_IN: &str = r#"name = "mine"
title = "t"
question = "q"
baseline = "curl-h1"
trials = 1
warmup = 0
timeout = "60s"
[[workloads]]
kind = "download"
files = "80kB"
count = 3
[[workloads]]
kind = "calls"
pattern = "serial"
count = 3
bytes = 500
[[workloads]]
kind = "calls"
pattern = "parallel"
count = 8
bytes = 500
[[links]]
name = "none"
"#;

#[test]
fn the_built_in_clients_do_their_work_and_what_they_say_of_it_holds() {
    if !trials_run_here() {
        return;
    }
    let ways = [
        ("curl", "http/1.1", "1.3"),
        ("curl", "h2", "1.2"),
        ("wget", "http/1.1", "1.3"),
        ("nghttp", "h2", "1.3"),
        ("h2load", "h2", "1.3"),
        ("h2load", "http/1.1", "1.3"),
        ("wrk", "http/1.1", "none"),
        ("node-fetch", "http/1.1", "1.3"),
        ("node-fetch", "h2", "1.3"),
        ("httpx", "http/1.1", "1.2"),
        ("httpx", "h2", "1.3"),
        ("go-http", "http/1.1", "1.2"),
        ("go-http", "h2", "1.3"),
        ("wirelap-get", "http/1.1", "none"),
        ("wirelap-get", "http/1.1", "1.3"),
        ("wirelap-get", "h2", "none"),
        ("wirelap-get", "h2", "1.3"),
        ("wirelap-get", "h3", "1.3"),
    ];
    let mut text = BUILT_IN.replace("curl-h1", "curl h1 1.3");
    for (client, transport, tls) in ways {
        let name = format!("{client} {} {tls}", transport.replace("http/1.1", "h1"));
        text.push_str(&format!(
            "[[contenders]]\nname = \"{name}\"\ntransport = \"{transport}\"\ntls = \"{tls}\"\nclient = \"{client}\"\n"
        ));
    }
    let bench = Bench::alone();
    bench.write("mine.toml", text);
    bench.race_undisturbed("mine.toml", "run", &[]);
    assert_eq!(bench.alive(), [], "a process is left");
    let mut left_out = BTreeSet::new();
    for (key, outcome, reason) in outcomes(&bench.path("run")) {
        let reason = reason.unwrap_or_default();
        match outcome.as_str() {
            "measured" => {}
            // A program that is missing comes with the way to install it.
            "unsupported" if reason.contains("install") => {
                testing::skip(format!("{key}: {reason}"));
            }
            "unsupported" => {
                let mut parts = key.split('/');
                let workload = parts.next().unwrap().split('-').next().unwrap().to_owned();
                left_out.insert((workload, parts.nth(1).unwrap().to_owned()));
            }
            _ => panic!("{key} {outcome}: {reason}"),
        }
    }
    // Of `parallel` all are asked for at once, also those that then wait for a connection.
    for record in records(&bench.path("run")) {
        let cell = &record["plan"]["cell"];
        if cell["workload"]["pattern"] == "parallel" && record["outcome"]["kind"] == "measured" {
            let fetches = record["fetches"].as_array().unwrap();
            let at = |phase: &'static str| {
                fetches.iter().filter_map(move |f| f["phases"][phase].as_u64())
            };
            let (asked, ended) = (at("queued").max(), at("last_byte").min());
            assert!(
                asked < ended && asked.is_some(),
                "{}: {fetches:#?}",
                cell["contender"]["name"]
            );
        }
    }
    let is = |left: &(String, String), known: &(&str, &str)| {
        left.0 == known.0 && left.1.starts_with(known.1)
    };
    for left in &left_out {
        assert!(NOT_DONE.iter().any(|known| is(left, known)), "{left:?}");
    }
    for known in NOT_DONE {
        assert!(left_out.iter().any(|left| is(left, &known)), "{known:?}");
    }
}

/// What a client does not do, and says so.
const NOT_DONE: [(&str, &str); 8] = [
    // They write no files.
    ("download", "h2load"),
    ("download", "nghttp"),
    ("download", "wrk"),
    // It writes nothing else.
    ("serial", "wirelap-get"),
    ("parallel", "wirelap-get"),
    // It makes all its requests at once.
    ("serial", "nghttp"),
    // It cannot be stopped at a number of fetches over several connections.
    ("parallel", "wrk"),
    // Each of its connections begins the list of URLs anew.
    ("parallel", "h2load h1"),
];
