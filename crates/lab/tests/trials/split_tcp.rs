//! A TCP proxy in the link: two connections in a row carry TCP, as a plain model of slow start says, and QUIC passes it by.

use crate::bench::{Bench, records, trials_run_here};
use serde_json::Value;

const EXPERIMENT: &str = r#"name = "split"
title = "a document and one image, over a long path"
question = "What does a proxy save that ends TCP?"
baseline = "h2"
trials = 1
warmup = 0
timeout = "60s"
[[workloads]]
kind = "page"
images = 1
bytes = "300kB"
[[contenders]]
name = "h2"
transport = "h2"
tls = "none"
"#;

/// Half a round trip of either half of the path, in milliseconds: `rtt=600ms` with the proxy midway.
const HOP: f64 = 150.0;

/// The kernel's own multicast (listener reports), which comes while a server is being started, is not on the link: it once
/// made each such trial one of a packet that was sent too late. So did the client's last acknowledgement, which waits while its process ends.
#[test]
fn servers_of_others_are_raced_behind_a_proxy_too() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let nginx = "[[contenders]]\nname = \"nginx\"\ntransport = \"h2\"\nserver = \"nginx\"\n";
    let link = "[[links]]\nname = \"rtt=25ms,rate=50mbit,split_tcp=1MB\"\n";
    bench.write("split.toml", format!("{EXPERIMENT}{nginx}{link}"));
    let result = bench.race_whole("split.toml", "run", &[]);
    assert_eq!(result["trials"]["measured"], 2, "{result:#}");
}

#[test]
fn two_connections_in_a_row_are_never_faster_than_the_model_and_quic_goes_past_them() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let h3 = "[[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n";
    let links = "[[links]]\nname = \"rtt=600ms\"\n[[links]]\nname = \"rtt=600ms,split_tcp=4MB\"\n";
    bench.write("split.toml", format!("{EXPERIMENT}{h3}{links}"));
    bench.race_whole("split.toml", "run", &[]);
    let rows = records(&bench.path("run"));
    let trial = |contender: &str, is_split: bool| {
        let is_it = |row: &&Value| {
            let cell = &row["plan"]["cell"];
            let link = cell["link"]["name"].as_str().unwrap();
            let is_measured = row["outcome"].to_string().contains("measured");
            is_measured
                && cell["contender"]["name"] == contender
                && link.contains("split") == is_split
        };
        rows.iter().rfind(is_it).unwrap_or_else(|| panic!("{contender} {is_split}: {rows:#?}"))
    };
    let connect = |row: &Value| row["parts"]["connect_ns"].as_f64().unwrap() / 1e6;
    let load = |row: &Value| row["metrics"]["load_ms"].as_f64().unwrap();
    let (whole, split) = (trial("h2", false), trial("h2", true));
    // The proxy answers TCP; QUIC's packets come back from far.
    assert!(connect(whole) >= 4.0 * HOP && connect(split) >= 2.0 * HOP);
    assert!(connect(trial("h3", true)) >= 4.0 * HOP);
    assert!(connect(split) < connect(trial("h3", true)));
    assert!(load(split) < load(whole), "{} {}", load(split), load(whole));
    // What the proxy has sent at any time.
    let model = flights(212);
    let bin = split["timeline"]["bin_us"].as_f64().unwrap() / 1e3;
    let mut sent = 0.0;
    for (number, bytes) in (1_u32..).zip(split["timeline"]["down"]["sent"].as_array().unwrap()) {
        sent += bytes.as_f64().unwrap();
        let by = f64::from(number) * bin;
        let possible: u32 = model.iter().filter(|(at, _)| *at <= by).map(|(_, count)| count).sum();
        // TCP's handshake, HTTP/2's SETTINGS and the document have packets of their own.
        let most = f64::from(possible) * 1_500.0 + 3_000.0;
        assert!(sent <= most, "{sent} bytes by {by} ms, the model has {most}");
    }
    assert!(sent > 300_000.0);
}

/// The plain model: when the proxy sends how many segments to near, in milliseconds from the first SYN. Both senders begin with
/// ten segments, and each segment that is acknowledged lets two go.
fn flights(mut left: u32) -> Vec<(f64, u32)> {
    // Near connects to the proxy, the proxy to far; the document goes all the way, then the request for the image.
    let asked = 2.0 * HOP + 2.0 * HOP + HOP + HOP + 2.0 * HOP + HOP + HOP;
    // At the proxy: when segments come from far, and when near's acknowledgements come.
    let (mut events, mut far_window) = (Vec::new(), 10);
    let mut at = asked + HOP;
    while left > 0 {
        let flight = far_window.min(left);
        events.push((at, flight, 0));
        left -= flight;
        far_window *= 2;
        at += 2.0 * HOP;
    }
    let (mut waiting, mut window, mut sent) = (0, 10, Vec::new());
    while !events.is_empty() {
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (now, came, acknowledged) = events.remove(0);
        waiting += came;
        window += 2 * acknowledged;
        let flight = waiting.min(window);
        if flight > 0 {
            waiting -= flight;
            window -= flight;
            sent.push((now, flight));
            events.push((now + 2.0 * HOP, 0, flight));
        }
    }
    sent
}

#[test]
fn what_tcp_carries_of_contenders_of_http3_has_the_parts_that_http2_has() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let over_tls = EXPERIMENT.replace("tls = \"none\"\n", "").replace("300kB", "10kB");
    let contenders = ["alt-svc", "udp-blocked"].map(|way| {
        let settings = format!("settings = {{ first_visit = \"{way}\" }}");
        format!("[[contenders]]\nname = \"{way}\"\ntransport = \"h3\"\n{settings}\n")
    });
    let link = "[[links]]\nname = \"rtt=300ms,down=20mbit,up=5mbit,split_tcp=256kB/20%\"\n";
    bench.write("found.toml", format!("{over_tls}{}{link}", contenders.concat()));
    bench.race_whole("found.toml", "run", &[]);
    let (near, far) = (0.2 * 300.0, 0.8 * 300.0);
    for contender in ["h2", "alt-svc", "udp-blocked"] {
        let rows = records(&bench.path("run"));
        let is_it = |row: &&Value| {
            row["plan"]["cell"]["contender"]["name"] == contender
                && row["outcome"].to_string().contains("measured")
        };
        let row = rows.iter().rfind(is_it).unwrap_or_else(|| panic!("{contender}: {rows:#?}"));
        let part = |name: &str| row["parts"][name].as_f64().unwrap() / 1e6;
        // The document's request and the image's: what is behind the proxy is the server's time.
        assert_eq!(part("request_ns"), 2.0 * near, "{contender}: {}", row["parts"]);
        assert!(part("server_ns") >= 2.0 * far, "{contender}: {}", row["parts"]);
    }
}

#[test]
fn a_lossy_last_mile_hurts_tcp_less_where_a_proxy_stands_behind_it() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let links = "[[links]]\nname = \"rtt=200ms,loss_down=3%\"\n[[links]]\nname = \"rtt=200ms,loss_down=3%,split_tcp=256kB/5%\"\n";
    let experiment = EXPERIMENT.replace("trials = 1", "trials = 3");
    bench.write("lossy.toml", format!("{experiment}{links}"));
    let result = bench.race_whole("lossy.toml", "run", &[]);
    let load = |is_split: bool| {
        let cells = result["cells"].as_array().unwrap();
        let is_it =
            |cell: &&Value| cell["link"]["name"].as_str().unwrap().contains("split") == is_split;
        cells.iter().find(is_it).unwrap()["metrics"]["load_ms"]["median"].as_f64().unwrap()
    };
    assert!(load(true) < load(false), "{} {}", load(true), load(false));
}
