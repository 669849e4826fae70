//! What shows the packets of QUIC in clear: key logs, and captures that tshark decrypts.

use crate::bench::{Bench, trials_run_here};
use crate::capture::{captures, fields, tshark_runs_here};
use crate::started::current;

/// A page by HTTP/3 over a link that loses nothing.
const PAGE: &str = "name = \"tiny\"\ntitle = \"a page\"\nquestion = \"can it be read?\"\nbaseline = \"h3\"\n\
    trials = 1\nwarmup = 0\n\
    [[workloads]]\nkind = \"page\"\nimages = 12\nbytes = \"9kB\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n\
    [[links]]\nname = \"rtt=20ms,down=20mbit,up=20mbit\"\n";

/// Runs `client` over a link to our server, whose command `prefix` precedes, and captures it with the secrets that either of
/// them logs. Gives the types of the HTTP/3 frames that tshark sees: once for each packet.
fn frames_over_a_link(bench: &Bench, prefix: &str, client: &str) -> Vec<String> {
    let line = format!(
        "SSLKEYLOGFILE=keys $W link rtt=20ms --capture all.pcapng --ready-port 443 --far '{prefix} $W serve . \
         --threads 1 --listen-tls 0.0.0.0:443 --listen-quic 0.0.0.0:443 > served' -- {client}"
    );
    bench.shell(&[], &line).said(0, &[]);
    fields(bench, &bench.path("all.pcapng"), "http3.frame_type", "http3.frame_type")
}

#[test]
fn the_key_log_of_either_end_decrypts_http3() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let without_keys = "env -u SSLKEYLOGFILE";
    let get = "$W get -k --http3 -o got https://far/index.html";
    let load = "$W load -k --http3 -n 3 -c 1 https://far/index.html > got";
    let mut ends = vec![
        ("", format!("{without_keys} {get}")),
        (without_keys, get.to_owned()),
        (without_keys, format!("sh -c '{load}'")),
    ];
    if let Some(curl) = current("curl") {
        ends.push((
            "",
            format!("{without_keys} {curl} -sSk --http3-only -o got https://far/index.html"),
        ));
    }
    for (prefix, client) in ends {
        let bench = Bench::new();
        bench.write("index.html", "from far");
        let frames = frames_over_a_link(&bench, prefix, &client);
        // SETTINGS of both ends, a request, and a response's HEADERS and DATA.
        let count = |kind: &str| frames.iter().filter(|frame| *frame == kind).count();
        assert!(count("4") >= 2 && count("1") >= 2 && count("0") >= 1, "{client}: {frames:?}");
        assert!(bench.path("got").exists());
    }
}

#[test]
fn tshark_decrypts_the_http3_of_a_trial_without_any_option() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", PAGE);
    bench.run(&["race", "tiny.toml", "--capture", "--out", "run"]).raced();
    let file = captures(&bench, "run").remove(0);
    let heads = |way: u8| {
        let filter = format!("http3.frame_type == 1 && frame.packet_flags_direction == {way}");
        let frames = fields(&bench, &file, &filter, "http3.frame_type");
        frames.iter().filter(|kind| *kind == "1").count()
    };
    let (received, sent) = (heads(1), heads(2));
    // tshark 4.0 passes over a response that begins in a packet with bytes of other streams.
    assert!(sent == 13 && (1..=13).contains(&received), "{sent} requests, {received} responses");
    let unread = fields(&bench, &file, "quic && !quic.frame_type", "frame.number");
    assert_eq!(unread, Vec::<String>::new(), "packets stay encrypted");
}
