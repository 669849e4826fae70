//! What a contender asks of TCP, seen in the packets that the link carried.

use crate::bench::{Bench, trials_run_here};
use crate::capture::{captures, fields, tshark_runs_here};

/// Two answers of 70 segments with a pause between them of several retransmission time-outs, each of which halves the window.
const EXPERIMENT: &str = "name = \"tcp\"\ntitle = \"two calls\"\nquestion = \"what did TCP do?\"\nbaseline = \"usual\"\n\
    trials = 1\nwarmup = 0\n\
    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 2\nbytes = \"100kB\"\nserver_time = \"2500ms\"\n\
    [[contenders]]\nname = \"usual\"\ntransport = \"http/1.1\"\n\
    [[contenders]]\nname = \"kept\"\ntransport = \"http/1.1\"\nsettings = { slow_start_after_idle = false }\n\
    [[contenders]]\nname = \"four\"\ntransport = \"http/1.1\"\nsettings = { initial_window = 4 }\n\
    [[contenders]]\nname = \"narrow\"\ntransport = \"http/1.1\"\nsettings = { mtu = 1000, congestion_control = \"reno\" }\n\
    [[contenders]]\nname = \"fast\"\ntransport = \"http/1.1\"\nsettings = { fast_open = true }\n\
    [[contenders]]\nname = \"fast-tls\"\ntransport = \"h2\"\nsettings = { fast_open = true }\n\
    [[links]]\nname = \"rtt=100ms,down=50mbit,up=50mbit\"\n";

/// A run whose packets were kept.
struct Kept<'b> {
    bench: &'b Bench,
    run: &'b str,
}

impl Kept<'_> {
    fn read(&self, contender: &str, filter: &str, field: &str) -> Vec<String> {
        let end = format!("+{contender}+0.pcapng");
        let files = captures(self.bench, self.run);
        let file = files.iter().find(|file| file.to_str().unwrap().ends_with(&end)).unwrap();
        fields(self.bench, file, filter, field)
    }

    /// Segments with data in the first flight of each answer: those that came within half a round trip of its first.
    fn first_flights(&self, contender: &str) -> Vec<usize> {
        let times = self.read(contender, "tcp.srcport == 80 && tcp.len > 0", "frame.time_relative");
        let times: Vec<f64> = times.iter().map(|time| time.parse().unwrap()).collect();
        let answers = times.chunk_by(|a, b| b - a < 0.4);
        answers.map(|all| all.iter().filter(|at| **at < all[0] + 0.05).count()).collect()
    }

    /// What was read back of a setting.
    fn told(&self, contender: &str, name: &str) -> String {
        let file = self.bench.path(self.run).join("rows.sqlite");
        let rows = rusqlite::Connection::open(file).unwrap();
        let query = "SELECT json_extract(record, ?1), json_extract(record, '$.outcome') FROM trials WHERE contender = ?2";
        let path = format!("$.settings.\"{name}\"");
        let (told, outcome) = rows
            .query_row(query, [path, contender.to_owned()], |row| {
                Ok((row.get::<_, Option<String>>(0)?, row.get::<_, String>(1)?))
            })
            .unwrap();
        assert!(outcome.contains("measured"), "{contender}: {outcome}");
        told.unwrap_or_else(|| panic!("{contender} has no {name}"))
    }
}

fn has_what_it_asked_for(kept: &Kept<'_>) {
    // RFC 5681 §4.1: after an idle time the initial window again (Linux halves down to it, RFC 2861); else what the first
    // answer had opened.
    assert_eq!(kept.first_flights("usual"), [10, 10]);
    let flights = kept.first_flights("kept");
    assert!(flights[0] == 10 && flights[1] > 40, "{flights:?}");
    assert_eq!(kept.first_flights("four"), [4, 4]);
    for end in ["near", "far"] {
        let slow_start = format!("{end} net.ipv4.tcp_slow_start_after_idle");
        assert_eq!(
            (kept.told("usual", &slow_start), kept.told("kept", &slow_start)),
            ("1".into(), "0".into())
        );
    }
    let widest = |contender: &str| {
        let lengths = kept.read(contender, "ip", "ip.len");
        lengths.iter().map(|length| length.parse::<u32>().unwrap()).max()
    };
    assert_eq!((widest("usual"), widest("narrow")), (Some(1500), Some(1000)));
    for end in ["near", "far"] {
        let control = format!("{end} socket congestion control");
        assert_eq!(kept.told("narrow", &control), "reno");
        assert_eq!(kept.told("usual", &control), "cubic");
    }
    assert_eq!(kept.told("four", "near socket initial window"), "4");

    let syns = |contender: &str| {
        kept.read(contender, "tcp.flags.syn == 1 && tcp.flags.ack == 0", "tcp.len")
    };
    assert_eq!(syns("usual"), ["0"]);
    for contender in ["fast", "fast-tls"] {
        let syns = syns(contender);
        // The first asks for the cookie, and says nothing.
        assert!(syns.len() == 2 && syns[0] == "0" && syns[1] != "0", "{contender}: {syns:?}");
        assert_eq!(kept.told(contender, "near fast open"), "data in 1 of 1 SYNs");
        assert_eq!(kept.told(contender, "far net.ipv4.tcp_fastopen"), "3");
    }
}

#[test]
fn each_setting_of_tcp_is_seen_on_the_wire_and_again_when_the_run_is_made_again() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tcp.toml", EXPERIMENT);
    bench.run(&["race", "tcp.toml", "--capture", "--out", "run"]).raced();
    has_what_it_asked_for(&Kept { bench: &bench, run: "run" });
    bench.run(&["race", "--again", "run", "--capture", "--out", "second"]).raced();
    has_what_it_asked_for(&Kept { bench: &bench, run: "second" });
}

#[test]
fn fast_open_is_refused_where_the_client_is_somebody_elses() {
    let bench = Bench::new();
    let toml = EXPERIMENT.replace(
        "settings = { fast_open = true }\n[[links",
        "client = \"curl\"\nsettings = { fast_open = true }\n[[links",
    );
    bench.write("tcp.toml", toml);
    bench.run(&["race", "tcp.toml", "--dry-run"]).said(2, &["fast_open", "own client and server"]);
}
