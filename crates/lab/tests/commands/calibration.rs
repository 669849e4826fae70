//! What the instrument says of itself. Figures depend on who else uses the machine; that they are there, and that
//! loss is the seed's, does not.

use crate::bench::{Bench, experiment, trials_run_here, wirelap};
use serde_json::Value;
use std::fs;

#[test]
fn a_race_is_calibrated_before_its_first_trial_and_the_report_shows_it() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::alone();
    bench.write("tiny.toml", experiment("rtt=5ms,down=50mbit,up=50mbit", 2));
    let mut race = bench.command(wirelap());
    race.args(["race", "tiny.toml", "--out", "run"]);
    let ran = bench.start(race).end();
    ran.said(0, &[]);
    assert!(ran.out.contains("calibration  emulated round trips"), "{ran:?}");
    let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let calibration = &result["host"]["calibration"];
    assert_eq!(calibration["short"], true);
    assert!(calibration["floor"]["p50_us"].as_f64().unwrap() > 0.0, "{calibration:#}");
    assert_eq!(calibration["round_trips"][0]["rtt_ms"], 10.0);
    assert!(calibration["throughput"]["link_segments"].as_f64().unwrap() > 0.0);
    let page = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(
        page.contains("id=\"instrument\"") && page.contains("gaps between packets at 9"),
        "no picture of it"
    );
}

#[test]
fn the_full_calibration_finds_loss_exactly_as_the_seed_planned_it() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let ran = bench.run(&["doctor", "--calibrate", "--json"]);
    ran.said(0, &[]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let calibration = &told["calibration"];
    assert_eq!(calibration["loss"]["against_plan"], 0, "{calibration:#}");
    let planned = calibration["loss"]["planned"].as_u64().unwrap();
    assert!((300..500).contains(&planned), "2 % of 20,000 are 400, not {planned}");
    assert_eq!(calibration["round_trips"].as_array().unwrap().len(), 3);
    assert_eq!(calibration["rates"].as_array().unwrap().len(), 5);
    for load in ["trains", "single", "tcp"] {
        let load = &calibration["datagrams"][load];
        let figure = |name: &str| load[name].as_f64().unwrap();
        assert!(figure("bits_per_second") > 0.0 && figure("cpu_s_per_gb") > 0.0, "{load:#}");
    }
}

#[test]
fn a_link_beyond_the_machine_is_refused_with_what_it_can_hold() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("rtt=5ms,down=100gbit,up=100gbit", 2));
    let mut race = bench.command(wirelap());
    race.args(["race", "tiny.toml", "--out", "run"]);
    let ran = bench.start(race).end();
    if ran.code != 3 {
        // Where others use the processor, what was measured is no bound of the machine's, and trials are tried. It may be
        // that none of them is measured then.
        assert!([0, 1].contains(&ran.code), "{}", ran.code);
        let result = fs::read_to_string(bench.path("run/result.json")).unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        let spare = result["host"]["calibration"]["spare_cpu"].as_f64().unwrap();
        assert!(spare < 0.8, "100 Gbit/s was not refused with {spare} of the processor ours");
        return testing::skip("a refused link: the machine is too busy to know its bounds");
    }
    ran.said(3, &["100000 Mbit/s is more than this machine forwards", "choose a rate below"]);
    assert!(!bench.path("run").exists(), "a refused race leaves no folder");
}
