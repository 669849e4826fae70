//! What `race` says before its first trial of contenders that this machine or their declarations rule out.

use crate::bench::{Bench, experiment};

/// Said before anything runs: a race whose servers are not here is no surprise at its end.
#[test]
fn a_server_that_this_machine_lacks_is_named_before_the_race_with_what_brings_it() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("subjects")).unwrap();
    bench.write(
        "subjects/ghost.toml",
        "name = \"ghost\"\nrole = \"server\"\ncommand = [\"no-such-server\"]\n\
         remedy = \"sudo apt install ghost\"\ntransports = [\"http/1.1\"]\n",
    );
    let contender =
        "[[contenders]]\nname = \"theirs\"\ntransport = \"http/1.1\"\nserver = \"ghost\"\n";
    bench.write("theirs.toml", experiment("rtt=20ms", 8) + contender);
    let ran = bench.run(&["race", "theirs.toml", "--dry-run"]);
    let said =
        "ghost is not on this machine, so its trials will be unsupported: sudo apt install ghost";
    ran.said(0, &[said]);
    bench.write("ours.toml", experiment("rtt=20ms", 8));
    let ran = bench.run(&["race", "ours.toml", "--dry-run"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn what_a_dry_run_tells_is_true_of_the_race() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("subjects")).unwrap();
    bench.write(
        "subjects/ghost.toml",
        "name = \"ghost\"\nrole = \"client\"\ncommand = [\"no-such-client\"]\nworkloads = [\"page\"]\n\
         remedy = \"sudo apt install ghost\"\ntransports = [\"http/1.1\"]\n",
    );
    bench.write(
        "subjects/old.toml",
        "name = \"old\"\nrole = \"client\"\ncommand = [\"true\"]\nworkloads = [\"page\"]\n\
         transports = [\"http/1.1\"]\n",
    );
    bench.write(
        "subjects/files.toml",
        "name = \"files\"\nrole = \"client\"\ncommand = [\"true\"]\nworkloads = [\"download\"]\n\
         transports = [\"http/1.1\"]\n",
    );
    bench.write(
        "subjects/single.toml",
        "name = \"single\"\nrole = \"server\"\ncommand = [\"true\"]\ntransports = [\"http/1.1\"]\n",
    );
    let contenders = "[[contenders]]\nname = \"gone\"\ntransport = \"http/1.1\"\nclient = \"ghost\"\n\
                      [[contenders]]\nname = \"older\"\ntransport = \"h3\"\nclient = \"old\"\n\
                      [[contenders]]\nname = \"filer\"\ntransport = \"http/1.1\"\nclient = \"files\"\n\
                      [[contenders]]\nname = \"many\"\ntransport = \"h2\"\nserver = \"single\"\n";
    bench.write("theirs.toml", experiment("rtt=20ms", 8) + contenders);
    let dry =
        |more: &[&str]| bench.run(&[&["race", "theirs.toml", "--dry-run"][..], more].concat());
    let said = [
        "ghost needs no-such-client, which is not here, so its trials will be unsupported: sudo apt install ghost",
        "old is not declared to speak h3, so the trials of older will be unsupported",
        "files is not declared to do this kind of workload, so the trials of filer with ",
        "single does not speak h2 over TLS 1.3, so the trials of many will be unsupported: it speaks ",
    ];
    let ran = dry(&["--margin", "7%"]);
    ran.said(0, &said);
    assert!(ran.out.contains("margin 7 %,"), "{ran:?}");
    // What the race refuses is refused at once.
    dry(&["--film"]).said(2, &["no contender is a browser"]);
    dry(&["--capture=nobody"]).said(2, &["no trial of", "nobody"]);
}

#[test]
fn what_the_contract_cannot_ask_a_client_for_is_told_before_the_race() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("subjects")).unwrap();
    bench.write(
        "subjects/caller.toml",
        "name = \"caller\"\nrole = \"client\"\ncommand = [\"true\"]\nworkloads = [\"page\", \"calls\"]\n\
         transports = [\"http/1.1\", \"h2\"]\n",
    );
    let more = "[[workloads]]\nkind = \"calls\"\npattern = \"mixed\"\nevery = \"50ms\"\ntabs = 2\ncount = 9\nbytes = 100\n\
                [[contenders]]\nname = \"caller\"\ntransport = \"http/1.1\"\nclient = \"caller\"\n\
                [[contenders]]\nname = \"warm\"\ntransport = \"h2\"\nclient = \"caller\"\nsettings = { temperature = \"resumed\" }\n";
    bench.write("theirs.toml", experiment("rtt=20ms", 8) + more);
    let said = [
        "caller is asked for calls in one pattern, and these are mixed, so the trials of caller with mixed-50ms-2tabs-9x100B will be unsupported: ",
        "caller makes no visit before its work: browsers and wirelap's own client do, so the trials of warm with page-3x1kB will be unsupported: ",
    ];
    bench.run(&["race", "theirs.toml", "--dry-run"]).said(0, &said);
}
