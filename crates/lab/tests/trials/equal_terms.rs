//! Equal terms, packet for packet: one answer over h2 and over h3 begins with rounds of as many packets, as the link counts them.

use crate::bench::{Bench, await_idle_cores, records, trials_run_here};
use serde_json::Value;

/// 20 Mbit/s times 100 ms are 170 packets: five rounds of slow start are no more than that.
const EXPERIMENT: &str = r#"name = "terms"
title = "one answer of 2 MB"
question = "Do TCP and QUIC begin alike?"
baseline = "h2"
trials = 3
warmup = 0
[[workloads]]
kind = "calls"
pattern = "serial"
count = 1
bytes = "2MB"
[[contenders]]
name = "h2"
transport = "h2"
[[contenders]]
name = "h3"
transport = "h3"
[[links]]
name = "rtt=100ms,down=20mbit,up=20mbit"
"#;

/// Full packets of the first five rounds.
type Rounds = Vec<u64>;

/// The rounds of all trials of a contender, and whether any of them passed the audit.
fn rounds(bench: &Bench, name: &str) -> (Vec<Rounds>, bool) {
    let records = records(&bench.path("run"));
    let is_its = |record: &&Value| record["plan"]["cell"]["contender"]["name"] == name;
    let own: Vec<&Value> = records.iter().filter(is_its).collect();
    let rounds = own.iter().map(|record| {
        assert_eq!(record["settings"]["terms"], "equal", "{:#}", record["settings"]);
        let asks = if name == "h2" { "1" } else { "2" };
        assert_eq!(record["settings"]["near net.ipv4.tcp_ecn"], asks, "{:#}", record["settings"]);
        let rounds = record["packets"]["first_rounds"].as_array().unwrap();
        rounds.iter().map(|packets| packets.as_u64().unwrap()).collect()
    });
    let is_measured = own.iter().any(|record| record["outcome"]["kind"] == "measured");
    (rounds.collect(), is_measured)
}

/// A busy machine delays packets into later rounds, of which the trial with most packets in all has least.
#[test]
fn the_first_five_rounds_of_h2_and_h3_on_equal_terms_are_within_one_packet_of_each_other() {
    if !trials_run_here() {
        return;
    }
    let (mut h2, mut h3, mut is_measured) = (Rounds::new(), Rounds::new(), false);
    for _ in 0..RACES {
        let bench = Bench::alone();
        bench.write("terms.toml", EXPERIMENT);
        bench.run(&["race", "terms.toml", "--out", "run"]).raced();
        for (name, most) in [("h2", &mut h2), ("h3", &mut h3)] {
            let (seen, passed) = rounds(&bench, name);
            is_measured |= passed;
            let all = seen.into_iter().chain([std::mem::take(most)]);
            *most = all.max_by_key(|rounds| rounds.iter().sum::<u64>()).unwrap_or_default();
        }
        let alike = h2.iter().zip(&h3).all(|(tcp, quic)| tcp.abs_diff(*quic) <= 1);
        if alike && h2[..4] == [10, 20, 40, 80] && h2[4].abs_diff(160) <= 1 {
            return;
        }
        await_idle_cores();
    }
    assert!(!is_measured, "h2 {h2:?}, h3 {h3:?}");
    testing::skip("the machine was busy in every trial");
}

const RACES: u32 = 4;

/// On a slow path the kernel holds few bytes, and the origin is asked for more before each response of 5 kB is sent. The client asks for all of them at
/// once, as Firefox: Chromium's requests are packets of their own, and each is acknowledged.
#[test]
fn equal_terms_need_full_packets_on_a_slow_path() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    let page = "[[workloads]]\nkind = \"page\"\nimages = 50\nbytes = \"5kB\"\n";
    let head = EXPERIMENT.split_once("[[workloads]]").unwrap().0;
    let settings = "settings = { profile = \"firefox-153\" }\n";
    let contender = format!("[[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n{settings}");
    let rest = format!("{contender}[[links]]\nname = \"3g\"\n");
    bench.write("terms.toml", format!("{head}{page}{rest}"));
    bench.run(&["race", "terms.toml", "--out", "run"]).raced();
    let records = records(&bench.path("run"));
    assert_eq!(records.len(), 3);
    for record in records {
        let down = &record["packets"]["down"];
        let of = |name: &str| down[name].as_u64().unwrap_or_else(|| panic!("{name} in {down}"));
        let full = (of("payload") + of("retransmitted")).div_ceil(1_448);
        // Besides them: the handshakes, the ends of flights that waited for the client, and acknowledgements.
        assert!(of("packets") <= full + 12, "{full} full packets would do: {down}");
    }
}
