//! What can be turned on QUIC, read back into each row; and the rows of contenders that TCP and QUIC have no like of.
use crate::bench::{Bench, records, trials_run_here};

const RACE: &str = "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
    timeout = \"20s\"\n[[links]]\nname = \"rtt=20ms,down=50mbit,up=50mbit\"\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = \"500kB\"\n\
    [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n\
    [[contenders]]\nname = \"shipped\"\ntransport = \"h3\"\nsettings = { terms = \"as-shipped\" }\n\
    [[contenders]]\nname = \"turned\"\ntransport = \"h3\"\nsettings = { congestion_control = \"reno\", initial_window = 20, \
    mtu = 1300, mtu_discovery = true, gso = false, ack_threshold = 9, stream_window = \"200kB\", connection_window = \"300kB\" }\n\
    [[contenders]]\nname = \"bbr\"\ntransport = \"h3\"\nsettings = { congestion_control = \"bbr\" }\n\
    [[contenders]]\nname = \"found\"\ntransport = \"h3\"\nsettings = { terms = \"as-shipped\", first_visit = \"alt-svc\" }\n\
    [[contenders]]\nname = \"h2-shipped\"\ntransport = \"h2\"\nsettings = { terms = \"as-shipped\" }\n";

#[test]
fn what_is_turned_on_quic_is_read_back_and_said_to_be_unequal() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("own.toml", RACE);
    bench.run(&["race", "own.toml", "--out", "out"]).raced();
    let rows = records(&bench.path("out"));
    let settings = |contender: &str| {
        let is_its =
            |row: &&serde_json::Value| row["plan"]["cell"]["contender"]["name"] == contender;
        rows.iter().find(is_its).unwrap()["settings"].clone()
    };
    let (usual, turned) = (settings("h3"), settings("turned"));
    for (what, of_usual, of_turned) in [
        ("far quic congestion control", "cubic", "reno"),
        ("far quic initial window", "10", "20"),
        ("far quic datagram size", "1472", "1272"),
        ("far quic last datagram size", "1472", "1272"),
        ("far quic ack frequency frames", "0", "1"),
        ("near quic stream window", "6291456", "200000"),
        ("near quic connection window", "15728640", "300000"),
        // Uploads have the windows that our server has over HTTP/2.
        ("far quic stream window", "1048576", "1048576"),
        ("far quic connection window", "4194304", "4194304"),
    ] {
        assert_eq!((&usual[what], &turned[what]), (&of_usual.into(), &of_turned.into()), "{what}");
    }
    let batch =
        |of: &serde_json::Value| of["far quic largest batch"].as_str().unwrap().parse::<u16>();
    assert!(batch(&usual).unwrap() > 1 && batch(&turned) == Ok(1), "{usual} {turned}");
    let count = |of: &serde_json::Value, what: &str| {
        of[what].as_str().unwrap_or_else(|| panic!("{what}: {of}")).parse::<u32>().unwrap()
    };
    let probes = |of: &serde_json::Value| count(of, "far quic mtu probes");
    assert!(probes(&usual) == 0 && probes(&turned) > 0, "{usual} {turned}");
    // As the wild has it: small datagrams at first, and larger ones where they pass.
    let shipped = settings("shipped");
    assert_eq!(count(&shipped, "far quic datagram size"), 1200);
    assert!(probes(&shipped) > 0 && count(&shipped, "far quic last datagram size") > 1200);
    assert!(shipped["terms"].as_str().unwrap().starts_with("unequal: datagrams begin with 1200"));
    // The view that is judged is over TCP; the next one is over QUIC.
    let found = settings("found");
    assert_eq!(found["terms"], settings("h2-shipped")["terms"]);
    assert_eq!(found["near socket paced"], "false");
    for (what, expected) in [
        ("near quic congestion control", "cubic"),
        ("near quic initial window", "10"),
        ("near quic datagram size", "1200"),
        ("near quic stream window", "6291456"),
        ("far quic datagram size", "1200"),
        ("far quic connection window", "4194304"),
        ("transport last selected", "h2"),
    ] {
        assert_eq!(found[what], expected, "{what}: {found}");
    }
    assert!(count(&found, "near quic largest batch") > 0);
    let bbr = settings("bbr");
    assert_eq!(bbr["far quic congestion control"], "bbr");
    assert!(bbr["terms"].as_str().unwrap().starts_with("unequal: congestion control bbr"));
    // QUIC paces always. TCP does beside it, at QUIC's rates, but where it is as shipped.
    for end in ["near", "far"] {
        let paced = |of: &serde_json::Value| of[format!("{end} socket paced")].clone();
        assert_eq!([paced(&settings("h2")), paced(&settings("h2-shipped"))], ["true", "false"]);
        let rate = format!("{end} net.ipv4.tcp_pacing_ss_ratio");
        assert_eq!(settings("h2")[rate], "200");
    }
    assert_eq!(settings("h2")["terms"], "equal");
    assert_eq!(usual["terms"], "equal");
    let terms = turned["terms"].as_str().unwrap();
    for part in [
        "MTU 1300, where h2 has 1500",
        "initial window 20, where h2 has 10",
        "congestion control reno, where h2 has cubic",
        "stream window",
        "connection window",
    ] {
        assert!(terms.starts_with("unequal: ") && terms.contains(part), "{part}: {terms}");
    }
}

/// A window of 64 KiB lets so much through in each round trip at most, so 2 MB take 30 of them at least. `get`'s own tests have what a server
/// is told.
#[test]
fn downloads_have_the_receive_windows_that_are_asked_for() {
    if !trials_run_here() {
        return;
    }
    let windows = "settings = { stream_window = \"64KiB\", connection_window = \"100kB\" }";
    let mut race = "name = \"windows\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
        timeout = \"20s\"\n[[links]]\nname = \"rtt=40ms,down=50mbit,up=50mbit\"\n\
        [[workloads]]\nkind = \"download\"\nfiles = [\"2MB\"]\ncount = 1\n"
        .to_owned();
    for (name, rest) in [
        ("h2", format!("transport = \"h2\"\n{windows}")),
        ("h3", format!("transport = \"h3\"\n{windows}")),
        ("usual", "transport = \"h3\"".to_owned()),
        ("curl", format!("transport = \"h2\"\nclient = \"curl\"\n{windows}")),
    ] {
        race += &format!("[[contenders]]\nname = \"{name}\"\n{rest}\n");
    }
    let bench = Bench::new();
    bench.write("windows.toml", race);
    let result = bench.race_whole("windows.toml", "out", &[]);
    let rows = records(&bench.path("out"));
    let row = |contender: &str| {
        let is_its =
            |row: &&serde_json::Value| row["plan"]["cell"]["contender"]["name"] == contender;
        rows.iter().rfind(is_its).unwrap()
    };
    for slow in ["h2", "h3"] {
        let total = row(slow)["metrics"]["load_ms"].as_f64().unwrap();
        assert!(total > 30.0 * 40.0, "{slow}: {total} ms");
    }
    for (what, of_usual, of_turned) in [
        ("near quic stream window", "6291456", "65536"),
        ("near quic connection window", "15728640", "100000"),
    ] {
        let settings = ["usual", "h3"].map(|contender| &row(contender)["settings"][what]);
        assert_eq!(settings, [of_usual, of_turned], "{what}");
    }
    let curl = &row("curl")["outcome"];
    assert_eq!(curl["kind"], "unsupported", "{result}");
    let reason = curl["reason"].as_str().unwrap();
    assert!(reason.starts_with("curl has receive windows of its own (contract 2)"), "{reason}");
}
