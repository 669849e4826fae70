//! What can be turned on QUIC, read back into each row; and the rows of contenders that TCP and QUIC have no like of.
use crate::bench::{Bench, records, trials_run_here};

const RACE: &str = "name = \"own\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
    timeout = \"20s\"\n[[links]]\nname = \"rtt=20ms,down=50mbit,up=50mbit\"\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = \"500kB\"\n\
    [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n\
    [[contenders]]\nname = \"shipped\"\ntransport = \"h3\"\nsettings = { terms = \"as-shipped\" }\n\
    [[contenders]]\nname = \"turned\"\ntransport = \"h3\"\nsettings = { congestion_control = \"reno\", initial_window = 20, \
    mtu = 1300, mtu_discovery = true, gso = false, ack_threshold = 9, stream_window = \"200kB\", connection_window = \"300kB\" }\n";

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
    ] {
        assert_eq!((&usual[what], &turned[what]), (&of_usual.into(), &of_turned.into()), "{what}");
    }
    let batch =
        |of: &serde_json::Value| of["far quic largest batch"].as_str().unwrap().parse::<u16>();
    assert!(batch(&usual).unwrap() > 1 && batch(&turned) == Ok(1), "{usual} {turned}");
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
