//! Equal terms, packet for packet: one answer over h2 and over h3 begins with rounds of as many packets, as the link counts them.

use crate::bench::{Bench, records, trials_run_here};

/// 20 Mbit/s times 100 ms are 170 packets: five rounds of slow start are no more than that.
const EXPERIMENT: &str = r#"name = "terms"
title = "one answer of 2 MB"
question = "Do TCP and QUIC begin alike?"
baseline = "h2"
trials = 1
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

#[test]
fn the_first_five_rounds_of_h2_and_h3_on_equal_terms_are_within_one_packet_of_each_other() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("terms.toml", EXPERIMENT);
    bench.race_undisturbed("terms.toml", "run", &[]);
    let rounds = |name: &str| -> Vec<u64> {
        let records = records(&bench.path("run"));
        let is_its =
            |record: &&serde_json::Value| record["plan"]["cell"]["contender"]["name"] == name;
        let record = records.iter().find(is_its).unwrap();
        assert_eq!(record["settings"]["terms"], "equal", "{:#}", record["settings"]);
        let rounds = record["packets"]["first_rounds"].as_array().unwrap();
        rounds.iter().map(|packets| packets.as_u64().unwrap()).collect()
    };
    let (h2, h3) = (rounds("h2"), rounds("h3"));
    assert!(
        h2[..2] == [10, 20] && h2.iter().zip(&h3).all(|(a, b)| a.abs_diff(*b) <= 1),
        "{h2:?} {h3:?}"
    );
}
