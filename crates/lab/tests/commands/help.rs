//! What a new user reads first.

use crate::bench::Bench;
use std::fs;

const COMMANDS: [&str; 17] = [
    "race",
    "record",
    "get",
    "load",
    "serve",
    "link",
    "list",
    "doctor",
    "report",
    "timer",
    "bisect",
    "compare",
    "merge",
    "slurm",
    "k8s",
    "completions",
    "man",
];
const HIDDEN: [&str; 5] = ["trial", "near", "far", "gauge", "probe"];

#[test]
fn every_command_explains_itself_with_examples() {
    let bench = Bench::new();
    let all = bench.run(&["--help"]);
    for command in COMMANDS {
        assert!(all.out.contains(&format!("\n  {command} ")), "{command} is not in {}", all.out);
        let help = bench.run(&[command, "--help"]);
        assert!(help.code == 0 && help.out.contains("Examples:"), "{help:?}");
        assert!(help.out.contains(&format!("wirelap {command}")), "{help:?}");
    }
    for command in HIDDEN {
        assert!(!all.out.contains(&format!("\n  {command} ")), "{command} is for wirelap itself");
    }
}

/// The busy machine's message names --no-wait whichever command it comes from.
#[test]
fn every_command_that_waits_for_a_quiet_machine_has_the_switch_that_its_message_names() {
    let bench = Bench::new();
    for command in ["race", "bisect"] {
        let help = bench.run(&[command, "--help"]);
        assert!(help.out.contains("--no-wait"), "{command}: {}", help.out);
    }
}

#[test]
fn completions_offer_every_command_and_no_hidden_one() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.run(&["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(COMMANDS.iter().all(|command| script.out.contains(command)), "{shell}");
        for line in script.out.lines() {
            // The commands' own word lists: a line that offers `race` offers its siblings.
            let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            let offers = words.contains(&"doctor");
            assert!(
                !offers || HIDDEN.iter().all(|hidden| !words.contains(hidden)),
                "{shell}: {line}"
            );
        }
        assert!(!script.out.contains("The client's side of a trial"), "{shell}");
    }
}

#[test]
fn man_pages_are_written_for_every_command_and_no_hidden_one() {
    let bench = Bench::new();
    bench.run(&["man", "new/pages"]).said(0, &[]);
    let mut pages: Vec<String> = fs::read_dir(bench.path("new/pages"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let mut wanted: Vec<String> =
        COMMANDS.iter().map(|command| format!("wirelap-{command}.1")).collect();
    wanted.push("wirelap.1".to_owned());
    wanted.sort();
    assert_eq!(pages, wanted);
    bench.write("file", "");
    bench.run(&["man", "file/pages"]).said(2, &["file/pages"]);
}

#[test]
fn the_list_tells_links_with_figures_and_sources_transports_and_the_machine() {
    let bench = Bench::new();
    let text = bench.run(&["list"]).out;
    for words in [
        "1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB",
        "from: WebPageTest 3G",
        "http/1.1",
        "h2",
        "trials ",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&bench.run(&["list", "--json"]).out).unwrap();
    assert_eq!(json["experiments"][0]["name"], "quick");
    assert!(
        json["links"]
            .as_array()
            .unwrap()
            .iter()
            .any(|link| link["name"] == "3g" && link["rtt_ms"] == 300.0)
    );
    assert!(json["machine"]["trials"].is_boolean());
}

#[test]
fn the_list_tells_what_a_server_was_built_without() {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).unwrap();
    let line = "printf '#!/bin/sh\necho nginx version: nginx/1.22.1\n' > bin/nginx; chmod 755 bin/nginx; \
                PATH=$PWD/bin:$PATH $W list";
    let list = bench.shell(&[], line).out;
    assert!(list.contains("nginx/1.22.1; this nginx is built without HTTP/3\n"), "{list}");
}

#[test]
fn commands_that_are_wirelaps_own_complain_about_a_job_that_is_none() {
    let bench = Bench::new();
    for command in HIDDEN {
        bench.shell(&[], &format!("echo nonsense | $W {command}")).said(2, &["wirelap --help"]);
        // Nothing at all: whoever was to give the job was ended, and nobody is there to read.
        let ran = bench.shell(&[], &format!("$W {command} < /dev/null"));
        assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    }
}

#[test]
fn shells_complete_what_list_names_and_columns_of_the_list_are_apart() {
    let bench = Bench::new();
    let script = bench.run(&["completions", "bash"]).out;
    for name in ["websocket-echo", "slow-4g", "h2-clear"] {
        assert!(script.contains(name), "{name} is not completed");
    }
    let race = bench.run(&["race", "--help"]).out;
    for group in ["What races:", "Trials and verdicts:", "Records of trials:", "Output:"] {
        assert!(race.contains(&format!("\n{group}\n")), "{group} is not in {race}");
    }
    let list = bench.run(&["list"]).out;
    for name in ["websocket-echo", "apache-asyncclient-4", "twitter4j-4.0.2-spdy", "rules-of-thumb"]
    {
        let apart = format!("\n  {name}  ");
        assert!(list.contains(&apart), "{name} touches its neighbour: {list}");
    }
    let named = ["--contenders", "http/1.1,spdy/3.1", "--baseline", "h1"];
    let ran = bench.run(&[&["race", "quick", "--dry-run", "-v"], &named[..]].concat());
    assert!(ran.code == 0 && ran.out.contains("/spdy"), "{ran:?}");
}
