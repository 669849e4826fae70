//! Servers that this machine does not have.

use crate::bench::{Bench, experiment};
use std::fs;
use std::os::unix::fs::PermissionsExt;

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
