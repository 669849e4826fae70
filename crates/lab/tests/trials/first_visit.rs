//! How HTTP/3 is found, through the whole lab: what was spoken, what was dropped, and the view after the first.

use crate::bench::{Bench, records, trials_run_here};
use crate::six_images::{median, six_images};

#[test]
fn each_way_of_finding_http3_is_what_really_happened() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let mut experiment = six_images("known");
    for way in ["known", "https-record", "alt-svc", "race", "udp-blocked"] {
        experiment.push_str(&format!(
            "[[contenders]]\nname = \"{way}\"\ntransport = \"h3\"\nsettings = {{ first_visit = \"{way}\" }}\n"
        ));
    }
    bench.write("visits.toml", &experiment);
    let result = bench.race_whole("visits.toml", "run", &[]);
    assert_eq!(result["failures"], serde_json::json!([]), "{result:#}");
    let median = |contender: &str, metric: &str| median(&result, contender, metric);
    let spoken = |contender: &str| {
        let by = |protocol: &str| median(contender, &format!("connections:{protocol}"));
        (median(contender, "connections"), by("h3"), by("h2"))
    };
    // Request round trips, and those of opening: two of TCP and TLS, one of QUIC.
    for (way, connections, round_trips) in [
        ("known", (1.0, 1.0, 0.0), 3.0),
        ("https-record", (1.0, 1.0, 0.0), 3.0),
        ("alt-svc", (1.0, 0.0, 1.0), 4.0),
        ("udp-blocked", (2.0, 0.0, 1.0), 4.0),
    ] {
        assert_eq!(spoken(way), connections, "{way}");
        assert_eq!(median(way, "round_trips"), round_trips, "{way}");
    }
    // On a busy machine TCP may win.
    let (begun, h3, h2) = spoken("race");
    assert_eq!((begun, h3 + h2), (2.0, 1.0));
    assert!(median("alt-svc", "next_load_ms") >= median("alt-svc", "next_first_byte_ms"));
    // A handshake of QUIC's and a request.
    assert!(median("alt-svc", "next_first_byte_ms") >= 120.0);
    assert_eq!(median("known", "next_load_ms"), 0.0);
    for row in records(&bench.path("run")) {
        let contender = &row["plan"]["cell"]["contender"]["name"];
        let next = row["next_connections"].as_array().cloned().unwrap_or_default();
        let spoken: Vec<_> = next.iter().map(|one| &one["protocol"]).collect();
        match contender == "alt-svc" {
            true => assert_eq!(spoken, ["h3"], "{row:#}"),
            false => assert!(next.is_empty(), "{row:#}"),
        }
        for connection in &next {
            assert_eq!(connection["tls"]["resumed"], false, "{row:#}");
            assert_eq!(connection["tls"]["early_data"], "none", "{row:#}");
            assert!(connection["requests"].as_u64() > Some(0), "{row:#}");
        }
    }
}

#[test]
fn a_view_that_fails_says_why_and_the_first_one_is_kept_where_the_next_one_fails() {
    if !trials_run_here() {
        return;
    }
    // A handshake takes longer than the time limit.
    const SLOW: &str = "rtt=4s";
    // UDP has hardly any rate.
    const POLICED: &str = "rtt=20ms,udp_rate=8kbit/1500B";
    let bench = Bench::new();
    bench.write(
        "fails.toml",
        format!(
            "name = \"fails\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h2\"\ntrials = 1\nwarmup = 0\n\
         timeout = \"3s\"\n[[workloads]]\nkind = \"page\"\nimages = 1\nbytes = \"3kB\"\n\
         [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
         [[contenders]]\nname = \"found\"\ntransport = \"h3\"\nsettings = {{ first_visit = \"alt-svc\" }}\n\
         [[links]]\nname = \"{SLOW}\"\n\
         [[links]]\nname = \"{POLICED}\"\n"
        ),
    );
    bench.race_whole("fails.toml", "run", &[]);
    let rows = records(&bench.path("run"));
    let row = |contender: &str, link: &str| {
        let is_its = |row: &&serde_json::Value| {
            let cell = &row["plan"]["cell"];
            cell["contender"]["name"] == contender && cell["link"]["name"] == link
        };
        rows.iter().rfind(is_its).unwrap()
    };
    let first = row("found", SLOW);
    // The limit of the fetch and that of the connect are due at once: either may be told.
    for row in [first, row("h2", SLOW)] {
        assert_eq!(row["outcome"]["kind"], "failed", "{row:#}");
        let reason = row["outcome"]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("1 of 1 fetches failed, the first https://origin.test/page"),
            "{reason}"
        );
        assert!(reason.contains("within 3 s"), "{reason}");
    }
    assert_eq!(first["fetches"].as_array().unwrap().len(), 1, "{first:#}");
    let next = row("found", POLICED);
    let reason = next["outcome"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the next view failed: "), "{reason}");
    assert!(reason.ends_with("within 3 s"), "{reason}");
    let spoken: Vec<_> =
        next["fetches"].as_array().unwrap().iter().map(|fetch| &fetch["protocol"]).collect();
    assert_eq!(spoken, ["h2", "h2"], "{next:#}");
    assert!(next["metrics"].get("next_load_ms").is_none(), "{next:#}");
}
