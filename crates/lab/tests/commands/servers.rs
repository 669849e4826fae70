//! Servers that this machine does not have.

use crate::bench::{Bench, experiment};
use std::fs;
use std::os::unix::fs::PermissionsExt;

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

/// Their programs are on most machines. What they run is not.
#[test]
fn a_server_whose_module_or_jars_are_missing_is_told_by_race_list_and_doctor() {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).unwrap();
    for program in ["node", "python3", "java"] {
        bench.write(&format!("bin/{program}"), "#!/bin/sh\nexit 1\n");
        let runs = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bench.path(&format!("bin/{program}")), runs).unwrap();
    }
    let missing = [
        ("node-spdy", "spdy/3.1", "1.3", "node/node_modules/spdy"),
        ("node-ws", "ws", "none", "node/node_modules/ws"),
        ("python-websockets", "ws", "none", "python/websockets"),
        ("jetty-12-server", "ws", "none", "jvm/jetty-12-server"),
    ];
    let run = |arguments: &[&str]| {
        let mut command = bench.wirelap(arguments);
        let path = format!("{}:/usr/bin:/bin", bench.path("bin").display());
        command.env("PATH", path).env("XDG_CACHE_HOME", "/nowhere");
        bench.start(command).end()
    };
    for (name, transport, tls, module) in missing {
        let contender = format!(
            "[[contenders]]\nname = \"theirs\"\ntransport = \"{transport}\"\ntls = \"{tls}\"\nserver = \"{name}\"\n"
        );
        let text = experiment("lan", 1).replace(
            "kind = \"page\"\nimages = 3\nbytes = \"1kB\"",
            "kind = \"echo\"\npattern = \"serial\"\ncount = 2",
        );
        bench.write("theirs.toml", text + &contender);
        let said = format!(
            "{name} needs /nowhere/wirelap/peers/{module}, which is not here, so its trials will be unsupported: ./peers install"
        );
        run(&["race", "theirs.toml", "--dry-run"]).said(0, &[&said]);
    }
    let (list, doctor) = (run(&["list"]), run(&["doctor"]));
    let servers = doctor.out.lines().find(|line| line.contains("servers to race")).unwrap();
    let not_found = servers.split_once("not found: ").unwrap().1;
    for (name, ..) in missing {
        assert!(not_found.contains(name), "{doctor:?}");
        // Its name and what it speaks, and below them whether it is here.
        let mut lines =
            list.out.lines().skip_while(|line| !line.starts_with(&format!("  {name} ")));
        assert_eq!(lines.nth(1).unwrap().trim(), "not here: ./peers install", "{name}: {list:?}");
    }
    assert!(doctor.out.contains("mend it: ./peers install"), "{doctor:?}");
}
