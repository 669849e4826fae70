//! Other people's servers in trials of ours: the same bytes from each, faults in their own words, and nothing
//! left behind.
use crate::bench::{Bench, outcomes, record_of, signal, trials_run_here};
use serde_json::Value;
use std::fs;
use std::process::Command;
use testing::is_root;

pub(crate) const HEAD: &str = "name = \"servers\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"origin\"\ntrials = 1\n\
    warmup = 0\ntimeout = \"20s\"\n[[contenders]]\nname = \"origin\"\ntransport = \"http/1.1\"\n\
    [[links]]\nname = \"rtt=10ms,down=20mbit,up=20mbit\"\n";

pub(crate) const PAGE: &str = "[[workloads]]\nkind = \"page\"\nimages = 8\nbytes = \"20kB\"\n";

pub(crate) fn contender(name: &str, server: &str, transport: &str, tls: &str) -> String {
    format!(
        "[[contenders]]\nname = \"{name}\"\nserver = \"{server}\"\ntransport = \"{transport}\"\ntls = \"{tls}\"\n"
    )
}

/// Outcome and reason of the one trial of a contender.
pub(crate) fn outcome(bench: &Bench, folder: &str, contender: &str) -> (String, String) {
    let rows = outcomes(&bench.path(folder));
    let mark = format!("/{contender}/");
    let (_, outcome, reason) = rows.into_iter().find(|(key, ..)| key.contains(&mark)).unwrap();
    (outcome, reason.unwrap_or_default())
}

/// Too large for the memory that a trial has: once made, later trials of the run serve them, too.
#[test]
fn large_files_of_a_server_are_taken_away_with_the_run_and_follow_no_link() {
    if !trials_run_here() || testing::peers::program("nginx").is_none() {
        return;
    }
    let bench = Bench::new();
    let download = "[[workloads]]\nkind = \"download\"\nfiles = \"70MB\"\n";
    let head = HEAD.replace("rtt=10ms,down=20mbit,up=20mbit", "none");
    let nginx = contender("nginx", "nginx", "http/1.1", "none");
    bench.write("large.toml", head + download + &nginx);
    bench.run(&["race", "large.toml", "--out", "run"]).raced();
    let (ended, reason) = outcome(&bench, "run", "nginx");
    assert!(ended == "measured" || ended == "invalid", "{ended}: {reason}");
    let names = |folder: &str| {
        let entries = fs::read_dir(bench.path(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("run"), ["inputs", "report.html", "result.json", "rows.sqlite"]);
    // As somebody else may have left it.
    fs::create_dir(bench.path("elsewhere")).unwrap();
    for name in ["materials", "large-files"] {
        std::os::unix::fs::symlink(bench.path("elsewhere"), bench.path("run").join(name)).unwrap();
    }
    fs::create_dir(bench.path("run/scratch")).unwrap();
    let link = bench.path("run/scratch/large-files");
    std::os::unix::fs::symlink(bench.path("elsewhere"), link).unwrap();
    bench.run(&["race", "--resume", "run", "--add", "1"]).raced();
    assert!(names("elsewhere").is_empty(), "{:?}", names("elsewhere"));
}

#[test]
fn every_server_gives_the_page_that_the_origin_gives() {
    if !trials_run_here() {
        return;
    }
    let servers = [
        ("nginx", &[("http/1.1", "none"), ("http/1.1", "1.3"), ("h2", "1.3"), ("h2", "1.2")][..]),
        ("h2o", &[("http/1.1", "none"), ("http/1.1", "1.3"), ("h2", "1.3"), ("h2", "1.2")]),
        ("caddy", &[("http/1.1", "none"), ("http/1.1", "1.3"), ("h2", "1.3"), ("h2", "1.2")]),
        ("apache", &[("http/1.1", "none"), ("http/1.1", "1.3"), ("h2", "1.3"), ("h2", "1.2")]),
        ("node-spdy", &[("spdy/3.1", "1.3"), ("spdy/3.1", "1.2")]),
    ];
    let bench = Bench::new();
    let mut text = HEAD.to_owned() + PAGE;
    for (server, ways) in servers {
        for (transport, tls) in ways {
            text += &contender(
                &format!("{server} {transport} {tls}").replace('/', ""),
                server,
                transport,
                tls,
            );
        }
    }
    bench.write("servers.toml", text);
    bench.race_undisturbed("servers.toml", "run", &[]);
    let own = record_of(&bench.path("run"), "origin");
    let sizes = |record: &Value| -> Vec<(String, u64)> {
        let fetches = record["fetches"].as_array().unwrap().iter();
        let path = |fetch: &Value| {
            let url = fetch["url"].as_str().unwrap().to_owned();
            url.split_once("origin.test").unwrap().1.to_owned()
        };
        let mut sizes: Vec<_> =
            fetches.map(|fetch| (path(fetch), fetch["body_bytes"].as_u64().unwrap())).collect();
        sizes.sort();
        sizes
    };
    assert_eq!(sizes(&own).len(), 9);
    for (server, ways) in servers {
        for (transport, tls) in ways {
            let name = format!("{server} {transport} {tls}").replace('/', "");
            let (outcome, reason) = outcome(&bench, "run", &name);
            if outcome == "unsupported" {
                testing::skip(format!("{name}: {reason}"));
                continue;
            }
            assert_eq!(outcome, "measured", "{name}: {reason}");
            let row = record_of(&bench.path("run"), &name);
            assert_eq!(sizes(&row), sizes(&own), "{name}");
            let settings = &row["settings"];
            assert_eq!(settings["server"], server);
            assert_ne!(settings["server version"], "unknown");
            assert_eq!(settings["server log: requests"], "9", "{name}: {settings:#}");
            assert_eq!(settings["server log: refused requests"], "0", "{name}");
            let bodies: u64 = sizes(&own).iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(settings["server log: body bytes"], bodies.to_string(), "{name}");
            let spoken = row["connections"].as_array().unwrap().len().to_string();
            assert_eq!(
                settings[format!("server log: connections of {transport}")],
                spoken,
                "{name}"
            );
            if *tls != "none" {
                assert_eq!(
                    settings[format!("server log: connections over TLS {tls}")],
                    spoken,
                    "{name}"
                );
            }
            assert!(row["cpu"]["origin_ms"].as_f64().unwrap() > 0.0, "{name}");
        }
    }
    assert_eq!(bench.alive(), [], "a server is left");
}

#[test]
fn servers_race_without_root() {
    if !trials_run_here() {
        return;
    }
    if !is_root() {
        return testing::skip(
            "becoming another user needs root; the other tests run without it already",
        );
    }
    let bench = Bench::new();
    let mut text = HEAD.to_owned() + PAGE;
    let servers = ["nginx", "h2o", "caddy", "apache"];
    for server in servers {
        text += &contender(server, server, "h2", "1.3");
    }
    bench.write("servers.toml", text);
    let doctor = bench.shell_as_nobody("$W doctor");
    if doctor.code != 0 {
        return testing::skip(format!("trials without root: {}", doctor.out));
    }
    bench.shell_as_nobody("$W race servers.toml --out run").said(0, &[]);
    for server in servers {
        let (outcome, reason) = outcome(&bench, "run", server);
        match outcome.as_str() {
            "unsupported" => testing::skip(format!("{server}: {reason}")),
            // What the page is worth on a busy machine is not asked here.
            _ => assert!(matches!(&*outcome, "measured" | "invalid"), "{server}: {reason}"),
        }
    }
    assert_eq!(bench.alive(), []);
}

#[test]
fn the_files_have_the_bytes_that_the_origin_answers_with() {
    if !trials_run_here() {
        return;
    }
    if Command::new("curl").arg("--version").output().is_err() {
        return testing::skip("curl is not installed: ./peers install");
    }
    let bench = Bench::new();
    // It is no server: it looks at what it was to serve and says so.
    declare(
        &bench,
        "look",
        "command = [\"sh\", \"-c\", \"cd {root} && sha256sum page image/3; exit 1\"]\n",
    );
    bench.write(
        "look.toml",
        HEAD.to_owned() + PAGE + &contender("look", "look", "http/1.1", "none"),
    );
    bench.run(&["race", "look.toml", "--out", "run"]).raced();
    let (_, words) = outcome(&bench, "run", "look");
    let fetches = record_of(&bench.path("run"), "origin")["fetches"].clone();
    let target = |path: &str| {
        let urls = fetches.as_array().unwrap().iter().map(|fetch| fetch["url"].as_str().unwrap());
        urls.map(|url| url.split_once("origin.test").unwrap().1)
            .find(|target| target.starts_with(path))
            .unwrap()
            .to_owned()
    };
    // The origin itself, asked by somebody else's client over a link of its own.
    for path in ["/page", "/image/3"] {
        let line = format!(
            "$W link lan --far '$W serve . --listen 0.0.0.0:80 >&2' --ready-port 80 -- \
             curl -sf 'http://far{}' | sha256sum",
            target(path)
        );
        let sum = bench.shell(&["env"], &line).out;
        let sum = sum.split_whitespace().next().unwrap().to_owned();
        assert!(words.contains(&sum), "{path} is {sum}, and the files are {words}");
    }
}

/// Where a user declares a server: beside the experiment.
fn declare(bench: &Bench, name: &str, body: &str) {
    fs::create_dir_all(bench.path("subjects")).unwrap();
    let text = format!("name = \"{name}\"\nrole = \"server\"\nclear = [\"http/1.1\"]\n{body}");
    bench.write(&format!("subjects/{name}.toml"), text);
}

#[test]
fn a_user_s_own_server_races_from_a_file_beside_the_experiment() {
    if !trials_run_here() {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        return testing::skip("python3 is not installed");
    }
    let bench = Bench::new();
    declare(
        &bench,
        "python",
        "command = [\"python3\", \"-m\", \"http.server\", \"-b\", \"{address}\", \"-d\", \"{root}\", \"{port}\"]\n\
         version = [\"python3\", \"--version\"]\nremedy = \"sudo apt install python3\"\n",
    );
    bench.write(
        "mine.toml",
        HEAD.to_owned() + PAGE + &contender("mine", "python", "http/1.1", "none"),
    );
    bench.race_undisturbed("mine.toml", "run", &[]);
    let (outcome, reason) = outcome(&bench, "run", "mine");
    assert_eq!(outcome, "measured", "{reason}");
    let row = record_of(&bench.path("run"), "mine");
    assert!(row["settings"]["server version"].as_str().unwrap().starts_with("Python 3"));
    // The run's folder is whole by itself, and a folder of subjects may stand anywhere.
    fs::rename(bench.path("subjects"), bench.path("elsewhere")).unwrap();
    bench.run(&["race", "mine.toml", "--out", "no"]).said(2, &["no server is called `python`"]);
    bench.run(&["race", "mine.toml", "--subjects", "elsewhere", "--out", "yes"]).raced();
    assert_eq!(bench.alive(), []);
}

#[test]
fn a_server_that_may_be_in_the_background_is_told_as_such() {
    if !trials_run_here() {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        return testing::skip("python3 is not installed");
    }
    let bench = Bench::new();
    let command = |line: &str| format!("command = [\"sh\", \"-c\", \"{line}\"]\n");
    // It has ended before its child listens.
    declare(&bench, "hasty", &command("sleep 1000 & exit 0"));
    // Its child listens first.
    let listens = "python3 -u -m http.server -d {root} -b {address} {port} >log 2>&1 &";
    let line = format!("{listens} until grep -q Serving log; do sleep 0.01; done");
    declare(&bench, "forking", &command(&line));
    let contenders =
        ["hasty", "forking"].map(|name| contender(name, name, "http/1.1", "none")).concat();
    bench.write("away.toml", HEAD.to_owned() + PAGE + &contenders);
    bench.run(&["race", "away.toml", "--out", "run"]).raced();
    for name in ["hasty", "forking"] {
        let (outcome, reason) = outcome(&bench, "run", name);
        let words = format!(
            "{name} ended with exit code 0 (it may have put itself into the background; its command or configuration has to \
             keep it in the foreground, as `daemon off;` keeps nginx) and printed nothing"
        );
        assert!(outcome == "failed" && reason.contains(&words), "{name}: {outcome}: {reason}");
    }
    assert_eq!(bench.alive(), []);
}

#[test]
fn what_is_wrong_with_a_server_is_told_in_its_own_words() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    declare(&bench, "ghost", "command = [\"wirelap-no-such-server\"]\nremedy = \"build it\"\n");
    declare(
        &bench,
        "broken",
        "command = [\"sh\", \"{folder}/run.sh\"]\n[[files]]\npath = \"run.sh\"\n\
         text = \"echo line 3: unknown directive frobnicate >&2; exit 1\"\n",
    );
    declare(
        &bench,
        "deaf",
        "command = [\"sh\", \"-c\", \"echo I hear nothing; exec sleep 1000\"]\nready_ms = 300\n",
    );
    declare(
        &bench,
        "choosy",
        "command = [\"sh\", \"-c\", \"echo no module spdy here; exit 127\"]\nremedy = \"get it\"\n",
    );
    let mut text = HEAD.to_owned() + PAGE;
    for name in ["ghost", "broken", "deaf", "choosy"] {
        text += &contender(name, name, "http/1.1", "none");
    }
    text += &contender("clear h2", "nginx", "h2", "none");
    bench.write("bad.toml", text);
    bench.run(&["race", "bad.toml", "--out", "run"]).raced();
    for (name, kind, words) in [
        ("ghost", "unsupported", "ghost is not on this machine"),
        ("broken", "failed", "line 3: unknown directive frobnicate"),
        ("deaf", "failed", "did not listen on 10.77.1.1:80 within 300ms: I hear nothing"),
        ("choosy", "unsupported", "no module spdy here"),
        ("clear h2", "unsupported", "nginx does not speak h2 without TLS"),
    ] {
        let (outcome, reason) = outcome(&bench, "run", name);
        assert!(outcome == kind && reason.contains(words), "{name}: {outcome}: {reason}");
    }
    assert_eq!(bench.alive(), []);
}

#[test]
fn workloads_that_need_a_program_are_unsupported_by_a_file_server() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let calls = "[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = \"2kB\"\nserver_time = \"5ms\"\n";
    bench.write(
        "calls.toml",
        HEAD.to_owned() + calls + &contender("nginx", "nginx", "http/1.1", "none"),
    );
    bench.run(&["race", "calls.toml", "--out", "run"]).raced();
    let (kind, reason) = outcome(&bench, "run", "nginx");
    assert_eq!(kind, "unsupported");
    assert!(reason.contains("calls with a server time are answered by a program"), "{reason}");
}

#[test]
fn a_slip_in_a_declaration_or_a_server_s_name_shows_before_anything_runs() {
    let bench = Bench::new();
    bench.write("typo.toml", HEAD.to_owned() + PAGE + &contender("n", "ngnix", "http/1.1", "none"));
    bench
        .run(&["race", "typo.toml", "--dry-run"])
        .said(2, &["no server is called `ngnix`", "did you mean `nginx`?"]);
    declare(&bench, "mine", "command = [\"mine\", \"{adress}\"]\n");
    bench
        .run(&["race", "typo.toml", "--dry-run"])
        .said(2, &["subjects/mine.toml, line 1", "nothing is known as `{adress}`", "address"]);
}

#[test]
fn nothing_of_a_server_is_left_whoever_is_killed() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    // It starts others, in a session of their own and without a parent.
    declare(
        &bench,
        "clan",
        "command = [\"sh\", \"{folder}/run.sh\"]\n[[files]]\npath = \"run.sh\"\ntext = \"\"\"\n\
         setsid sh -c 'sleep 1000 & sleep 1001 &' &\n\
         exec python3 -m http.server -b {address} -d {root} {port}\n\"\"\"\n",
    );
    if Command::new("python3").arg("--version").output().is_err() {
        return testing::skip("python3 is not installed");
    }
    let slow = HEAD.replace("rtt=10ms,down=20mbit,up=20mbit", "rtt=300ms,down=1mbit,up=1mbit");
    bench.write("slow.toml", slow + PAGE + &contender("clan", "clan", "http/1.1", "none"));
    // The link is in the worker: no contender is at fault.
    let roles = [("trial", "invalid", "without a row"), ("near", "failed", "the near side died")];
    for (role, expected, killed) in roles {
        // A folder's name that no process of the trial could be taken for.
        let folder = format!("without-{role}");
        let only =
            ["race", "slow.toml", "--contenders", "clan", "--baseline", "clan", "--out", &folder];
        let mut running = bench.start(bench.wirelap(&only));
        running.await_role("near");
        assert!(
            bench.alive().iter().any(|(_, line)| line.contains("sleep 1001")),
            "the clan is there"
        );
        signal(running.await_role(role), "KILL");
        running.end().raced();
        let (kind, reason) = outcome(&bench, &folder, "clan");
        assert!(kind == expected && reason.contains(killed), "{kind}: {reason}");
        assert_eq!(bench.alive(), [], "after the {role} was killed");
    }
    let only = [
        "race",
        "slow.toml",
        "--contenders",
        "clan",
        "--baseline",
        "clan",
        "--out",
        "without-server",
    ];
    let mut running = bench.start(bench.wirelap(&only));
    running.await_role("near");
    let server = bench.alive().into_iter().find(|(_, line)| line.contains("http.server")).unwrap();
    signal(server.0, "KILL");
    running.end().raced();
    let (kind, reason) = outcome(&bench, "without-server", "clan");
    assert!(
        kind == "failed" && reason.contains("clan died") && reason.contains("SIGKILL"),
        "{kind}: {reason}"
    );
    assert_eq!(bench.alive(), []);
}

#[test]
fn list_and_doctor_show_the_servers() {
    let bench = Bench::new();
    let listed: Value = serde_json::from_str(&bench.run(&["list", "--json"]).out).unwrap();
    let names: Vec<&str> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let of_messages = ["node-ws", "python-websockets", "jetty-12-server"];
    assert_eq!(names[..6], ["nginx", "h2o", "caddy", "apache", "haproxy", "node-spdy"]);
    assert_eq!(names[6..], of_messages);
    assert!(bench.run(&["list"]).out.contains("\nServers (server = \"NAME\""));
    assert!(bench.run(&["doctor"]).out.contains("servers to race"));
}
