//! Declarations of clients, servers and policies that somebody else wrote: nothing in them that a terminal would obey is printed.

use crate::bench::{Bench, experiment, trials_run_here};
use crate::foreign::{EVIL, EVIL_ESCAPED, is_harmless};
use std::fs;

const CLIENT: &str = "name = \"x\"\nrole = \"client\"\ncommand = [\"x-is-nowhere\"]\nversion = [\"x\", \"-v\"]\n\
                      transports = [\"http/1.1\"]\nneeds = [\"x-is-nowhere\"]\nremedy = \"install x\"\n";

const SERVER: &str = "name = \"x\"\nrole = \"server\"\ncommand = [\"x-is-nowhere\", \"{port}\"]\nversion = [\"x\", \"-v\"]\n\
                      transports = [\"http/1.1\"]\nremedy = \"install x\"\n";

/// What is written in place of a word of a declaration: the word is the key of a table, or a value.
fn evil(text: &str, from: &str) -> [String; 2] {
    assert!(text.contains(from), "{from}");
    // As TOML escapes it, and as it stands, which TOML forbids: then the error shows the line.
    [EVIL_ESCAPED, EVIL].map(|evil| {
        let to = match from.strip_suffix('"') {
            Some(value) => format!("{value}{evil}\""),
            None => format!("\"{evil}\" = 1\n{from}"),
        };
        text.replacen(from, &to, 1)
    })
}

#[test]
fn no_escape_of_a_declared_client_or_server_reaches_the_terminal() {
    let bench = Bench::new();
    fs::create_dir(bench.path("subjects")).unwrap();
    let words = [
        "name = \"x\"",
        "role = \"client\"",
        "role = \"server\"",
        "\"x-is-nowhere\"",
        "[\"x\"",
        "[\"http/1.1\"",
        "remedy = \"install x\"",
        "remedy = ",
    ];
    for (declaration, field) in [(CLIENT, "client"), (SERVER, "server")] {
        let used = format!("transport = \"http/1.1\"\n{field} = \"x\"\n");
        bench.write("mine.toml", experiment("lan", 1).replace("transport = \"http/1.1\"\n", &used));
        bench.write("subjects/x.toml", declaration);
        bench.run(&["race", "mine.toml", "--dry-run"]).said(0, &[]);
        for word in words.iter().filter(|word| declaration.contains(**word)) {
            for (evil, is_toml) in evil(declaration, word).into_iter().zip([true, false]) {
                bench.write("subjects/x.toml", evil);
                let ran = bench.run(&["race", "mine.toml", "--dry-run", "-v"]);
                is_harmless(&ran, false);
                assert!(!ran.err.contains("panicked"), "{ran:?}");
                assert!(is_toml || (ran.code == 2 && ran.err.contains("x.toml")), "{ran:?}");
            }
        }
    }
    // A name in the experiment that is declared nowhere.
    let toml = experiment("lan", 1);
    for field in ["client", "server", "server_profile"] {
        let used = format!("transport = \"http/1.1\"\n{field} = \"{EVIL_ESCAPED}\"\n");
        bench.write("mine.toml", toml.replace("transport = \"http/1.1\"\n", &used));
        is_harmless(&bench.run(&["race", "mine.toml", "--dry-run"]), true);
    }
}

#[test]
fn no_escape_of_a_client_that_is_missing_reaches_the_terminal() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("subjects")).unwrap();
    let remedy = CLIENT.replace("install x", &format!("install {EVIL_ESCAPED}"));
    bench.write("subjects/x.toml", remedy);
    let used = "transport = \"http/1.1\"\nclient = \"x\"\n";
    let tiny = experiment("lan", 1);
    bench.write(
        "mine.toml",
        tiny.replace("transport = \"http/1.1\"\n", used).replace(
            "kind = \"page\"\nimages = 3\nbytes = \"1kB\"",
            "kind = \"download\"\nfiles = \"1kB\"",
        ),
    );
    let ran = bench.run(&["race", "mine.toml", "--out", "run"]);
    is_harmless(&ran, true);
    is_harmless(&bench.run(&["report", "run"]), true);
}

const POLICY: &str = "# What it is for\npriorities = \"server-driven\"\n[[rules]]\npath = \"/a*\"\ntype = \"image/*\"\n\
                      push = [\"/none.css\"]\nurgency = 2\n";

#[test]
fn no_escape_of_a_policys_file_reaches_the_terminal() {
    let bench = Bench::new();
    fs::create_dir(bench.path("policies")).unwrap();
    for word in [
        "priorities = \"server-driven\"",
        "path = \"/a*\"",
        "type = \"image/*\"",
        "\"/none.css\"",
        "urgency = ",
        "priorities = ",
    ] {
        for evil in evil(POLICY, word) {
            bench.write("mine.toml", &evil);
            let serve = ["serve", ".", "--listen", "127.0.0.1:0", "--policy", "mine.toml"];
            let ran = bench.run(&serve);
            is_harmless(&ran, false);
            ran.said(2, &["mine.toml:"]);
            let tiny = experiment("lan", 1);
            let used = "transport = \"h2\"\npolicy = \"mine.toml\"\n";
            bench.write("race.toml", tiny.replace("transport = \"h2\"\n", used));
            is_harmless(&bench.run(&["race", "race.toml", "--dry-run", "-v"]), false);
        }
    }
    let serve = ["serve", ".", "--listen", "127.0.0.1:0", "--policy", EVIL];
    is_harmless(&bench.run(&serve), true);
}
