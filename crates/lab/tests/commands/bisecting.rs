//! `wirelap bisect` over a real git repository, one of whose commits makes the server slow.

use crate::bench::{Bench, Ran, await_idle_cores, trials_run_here};
use std::fs;

/// A server of files that waits a while before each answer.
pub(crate) const SERVER: &str = r#"import http.server, sys, time
WAIT = 0.0
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(WAIT)
        super().do_GET()
    def log_message(self, *ignored):
        pass
http.server.ThreadingHTTPServer.address_family = __import__("socket").AF_INET6 if ":" in sys.argv[1] else 2
handler = lambda *args: Handler(*args, directory=sys.argv[3])
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), handler).serve_forever()
"#;

const DECLARATION: &str = "name = \"app\"\nrole = \"server\"\n\
     command = [\"PYTHON\", \"{checkout}/built.py\", \"{address}\", \"{port}\", \"{root}\"]\n\
     clear = [\"http/1.1\"]\n";

const EXPERIMENT: &str = "name = \"app\"\ntitle = \"app\"\nquestion = \"which commit?\"\nbaseline = \"app\"\n\
     [[workloads]]\nkind = \"page\"\nimages = 2\nbytes = \"1kB\"\n\
     [[contenders]]\nname = \"app\"\ntransport = \"http/1.1\"\ntls = \"none\"\nserver = \"app\"\n\
     [[links]]\nname = \"path\"\nfigures = \"rtt=300ms,down=2mbit,up=2mbit\"\n";

/// A repository of four commits: the third waits for 300 ms, and the second does not build where `broken`.
fn repository(bench: &Bench, broken: bool) {
    let git = |args: &[&str]| {
        let mut command = bench.command("git");
        command.args(["-C", "repo", "-c", "user.name=t", "-c", "user.email=t@t.test"]).args(args);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    fs::create_dir(bench.path("repo")).unwrap();
    git(&["init", "--quiet"]);
    for number in 1..=4 {
        let wait = if number >= 3 { "WAIT = 0.3" } else { "WAIT = 0.0" };
        bench
            .write("repo/server.py", format!("# {number}\n{}", SERVER.replace("WAIT = 0.0", wait)));
        let build = if broken && number == 2 { "exit 1" } else { "cp server.py built.py" };
        bench.write("repo/build.sh", build);
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", &format!("change {number}")]);
        git(&["tag", &format!("v{number}")]);
    }
    bench.write("repo/server.py", "what the user is writing");
}

pub(crate) fn prepared(broken: bool) -> Bench {
    let bench = Bench::alone();
    repository(&bench, broken);
    fs::create_dir_all(bench.path("lab/subjects")).unwrap();
    bench.write("lab/subjects/app.toml", DECLARATION.replace("PYTHON", python()));
    bench.write("lab/app.toml", EXPERIMENT);
    // A step has a race's folder of this name.
    bench.write("lab/run", "the user's own");
    bench
}

pub(crate) fn python() -> &'static str {
    if fs::exists("/usr/bin/python3").unwrap() { "/usr/bin/python3" } else { "python3" }
}

fn bisect(bench: &Bench, good: &str, bad: &str, out: &str) -> Ran {
    bisect_by("load_ms<1.2", bench, [good, bad], out)
}

fn bisect_by(gate: &str, bench: &Bench, range: [&str; 2], out: &str) -> Ran {
    bisection(gate, bench, range, &["--out", out, "--", "sh", "build.sh"])
}

fn bisection(gate: &str, bench: &Bench, [good, bad]: [&str; 2], rest: &[&str]) -> Ran {
    let args = ["bisect", good, bad, "--experiment", "lab/app.toml", "--gate", gate];
    let more = ["--repository", "repo", "--until-decided", "60s", "--no-calibration"];
    let mut command = bench.wirelap(&[&args[..], &more, rest].concat());
    // As in a hook of git's.
    command.env("GIT_DIR", bench.path("repo/.git"));
    // Several races take longer than what a bench allows a command.
    let ended = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: ended.status.code().unwrap(), out: text(&ended.stdout), err: text(&ended.stderr) }
}

/// Bisects until others on the machine leave every comparison decided; None where they spoil three in a row.
fn decided(bench: &Bench, good: &str, bad: &str) -> Option<Ran> {
    for attempt in 0..3 {
        let ran = bisect(bench, good, bad, &format!("out-{good}-{bad}-{attempt}"));
        if ran.code != 4 || !ran.out.contains("the audit refused") {
            return Some(ran);
        }
        await_idle_cores();
    }
    testing::skip("bisections: others on the machine spoil every comparison");
    None
}

/// The user's checkout is as it was, and no worktree is left.
fn is_untouched(bench: &Bench) {
    let text = fs::read_to_string(bench.path("repo/server.py")).unwrap();
    assert_eq!(text, "what the user is writing");
    let mut list = bench.command("git");
    let list = list.args(["-C", "repo", "worktree", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 1);
}

#[test]
fn a_bisection_finds_the_commit_that_made_the_server_slow() {
    if !trials_run_here() {
        return;
    }
    let bench = prepared(false);
    let Some(ran) = decided(&bench, "v1", "v4") else { return };
    ran.said(0, &[]);
    for part in [
        "3 commits after",
        "at most 3 comparisons: a chance of at most 1.67 % each and 5.00 % in all",
        "first bad commit: ",
        " change 3\n",
        "is at most 5.00 %",
    ] {
        assert!(ran.out.contains(part), "no {part:?} in {ran:?}");
    }
    let evidence =
        ran.out.lines().find_map(|line| line.strip_prefix("evidence: wirelap ")).unwrap();
    let words: Vec<&str> = evidence.split(' ').collect();
    let told = bench.run(&words);
    assert!(told.out.contains("candidate/good load_ms<1.2: 1 failed"), "{told:?}");
    is_untouched(&bench);
}

#[test]
fn a_bad_end_that_is_not_bad_is_said_and_a_commit_that_does_not_build_is_stepped_over() {
    if !trials_run_here() {
        return;
    }
    let bench = prepared(true);
    let Some(ran) = decided(&bench, "v1", "v3") else { return };
    assert!(ran.code == 4 && ran.out.contains("skipped  "), "{ran:?}");
    assert!(ran.out.contains("one of 2:") && ran.out.contains("change 2"), "{ran:?}");
    let Some(ran) = decided(&bench, "v3", "v4") else { return };
    ran.said(2, &["change 4, passes the gate", "wirelap report"]);
    is_untouched(&bench);
}

#[test]
fn a_bisection_that_cannot_be_is_refused_before_anything_runs() {
    let bench = prepared(false);
    bisect(&bench, "v9", "v4", "out").said(2, &["there is no commit `v9`"]);
    bisect(&bench, "v4", "v1", "out").said(2, &["is not before", "ancestor of BAD"]);
    bisect(&bench, "v4", "v4", "out").said(2, &["same commit"]);
    let ran = bisect_by("loda_ms<1.2", &bench, ["v1", "v4"], "out");
    ran.said(2, &["no workload here has", "did you mean `load_ms`?"]);
    assert!(!ran.out.contains("comparisons"), "nothing is built: {}", ran.out);
    bench.write("lab/app.toml", EXPERIMENT.replace("\"http/1.1\"", "\"h1\""));
    let ran = bisect(&bench, "v1", "v4", "out");
    ran.said(2, &["app.toml, line", "did you mean `http/1.1`?"]);
    assert!(
        !ran.out.contains("comparisons"),
        "the user's own file is checked before any commit: {}",
        ran.out
    );
    bench.write("lab/app.toml", EXPERIMENT.replace("server = \"app\"\n", ""));
    assert!(!bench.path("out").exists());
    if trials_run_here() {
        let ran = bisect(&bench, "v1", "v4", "out");
        ran.said(2, &["comes from a commit", "{checkout}"]);
    }
    is_untouched(&bench);
}

#[test]
fn a_build_finds_the_repository_that_it_runs_in() {
    if !trials_run_here() {
        return;
    }
    let bench = prepared(false);
    let build = "test $(git rev-parse HEAD) != $WIRELAP_COMMIT";
    let rest = ["--out", "out", "--", "sh", "-c", build];
    bisection("load_ms<1.2", &bench, ["v1", "v4"], &rest).said(1, &["GOOD, ", "does not build"]);
    assert_eq!(fs::read_dir(bench.path("out")).unwrap().count(), 0, "the checkout is removed");
    is_untouched(&bench);
}

#[test]
fn trials_that_fail_are_told_of_both_sides_and_more_time_is_not_advised() {
    if !trials_run_here() {
        return;
    }
    let bench = prepared(false);
    let rest = ["--out", "out", "--", "sh", "-c", "echo 'raise SystemExit(1)' > built.py"];
    let ran = bisection("load_ms<1.2", &bench, ["v3", "v4"], &rest);
    assert_eq!(ran.code, 4, "{ran:?}");
    for words in
        ["trials of `good` failed, and ", "trials of `candidate` failed; the report says why"]
    {
        assert!(ran.out.contains(words), "no {words:?} in {ran:?}");
    }
    assert!(!ran.out.contains("--until-decided"), "{ran:?}");
    is_untouched(&bench);
}
