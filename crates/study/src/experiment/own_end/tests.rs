use crate::experiment::{Experiment, Overrides};

/// A contender over `transport` with these lines of its own and settings.
fn text(transport: &str, lines: &str, settings: &str) -> String {
    let work = match transport.starts_with("ws") {
        true => "kind = \"echo\"\npattern = \"serial\"\ncount = 5",
        false => "kind = \"page\"\nimages = 3\nbytes = 10",
    };
    format!(
        "name = \"e\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
         transport = \"{transport}\"\n{lines}\nsettings = {{ {settings} }}\n[[workloads]]\n{work}\n[[links]]\n\
         name = \"lan\"\n"
    )
}

/// What is said of it where the file names chromium as its client.
fn in_file(transport: &str, lines: &str, settings: &str) -> Result<(), String> {
    let lines = format!("client = \"chromium\"\n{lines}");
    let read = text(transport, &lines, settings).parse::<Experiment>();
    read.map(|_| ()).map_err(|error| error.message)
}

/// What is said of it where `--client` does.
fn on_the_command_line(transport: &str, lines: &str, settings: &str) -> Result<Experiment, String> {
    let read: Experiment = text(transport, lines, settings).parse().unwrap();
    let overrides = Overrides { client: Some("chromium".to_owned()), ..Overrides::default() };
    read.with(&overrides).map_err(|error| error.to_string())
}

#[test]
fn a_client_from_the_command_line_is_held_to_what_one_of_the_file_is() {
    let nginx = "server = \"nginx\"";
    for (transport, lines, settings) in [
        ("http/1.1", "", "fast_open = true"),
        ("h2", nginx, "pacing = true"),
        ("h3", nginx, "gso = false"),
        ("h3", nginx, "ack_threshold = 20"),
        ("h3", nginx, "mtu_discovery = true, mtu = 1400"),
        ("h2", nginx, "temperature = \"resumed\""),
        ("h2", nginx, "next_view = {}"),
    ] {
        let said = in_file(transport, lines, settings).unwrap_err();
        let told = on_the_command_line(transport, lines, settings).unwrap_err();
        let expected =
            format!("`c` with --client chromium: {said}; choose the others by --contenders");
        assert_eq!(told, expected, "{settings}");
    }
    assert_eq!(
        in_file("http/1.1", "", "fast_open = true").unwrap_err(),
        "`fast_open` needs wirelap's own client and server"
    );
    // One end of ours is enough for these.
    for settings in ["gso = false, ack_threshold = 20", "mtu_discovery = true, mtu = 1400"] {
        in_file("h3", "", settings).unwrap();
        on_the_command_line("h3", "", settings).unwrap();
        text("h3", nginx, settings).parse::<Experiment>().unwrap();
    }
}

#[test]
fn what_a_client_of_ours_has_alone_falls_away_with_another() {
    let settings =
        "push = true, early_hints = false, profile = \"chrome-46\", raise = \"priority-update\"";
    let given = on_the_command_line("h2", "", settings).unwrap().contenders.remove(0);
    let plain = on_the_command_line("h2", "", "").unwrap().contenders.remove(0);
    assert_eq!(given, plain);
}

#[test]
fn a_server_of_somebody_elses_has_none_of_our_servers_settings() {
    for (transport, server, settings) in [
        ("h2", "nginx", "server_nodelay = false"),
        ("h2", "nginx", "server_quickack = true"),
        ("h2", "nginx", "server_keep_alive = false"),
        ("h2", "nginx", "priorities = \"fifo\""),
        ("ws", "node-ws", "server_writes = 2"),
        ("ws", "node-ws", "server_deflate = true"),
    ] {
        let name = settings.split(' ').next().unwrap();
        let server = format!("server = \"{server}\"");
        let error = text(transport, &server, settings).parse::<Experiment>().unwrap_err();
        assert_eq!(error.message, format!("`{name}` needs wirelap's own origin"));
        // At the setting.
        let line = text(transport, &server, settings);
        let line = line.lines().nth(error.line - 1).unwrap().to_owned();
        assert!(line.starts_with("settings"), "{line}");
        text(transport, "", settings).parse::<Experiment>().unwrap();
    }
}

#[test]
fn nobody_is_said_to_try_larger_packets_where_neither_end_is_ours() {
    let shipped = "terms = \"as-shipped\"";
    let tries = |lines: &str| {
        let read: Experiment = text("h3", lines, shipped).parse().unwrap();
        read.contenders[0].settings.mtu_discovery
    };
    assert!(tries("") && tries("server = \"caddy\"") && tries("client = \"chromium\""));
    assert!(!tries("server = \"caddy\"\nclient = \"chromium\""));
    let given = on_the_command_line("h3", "server = \"caddy\"", shipped).unwrap();
    assert!(!given.contenders[0].settings.mtu_discovery);
}
