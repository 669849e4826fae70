//! What shows the packets of QUIC in clear: key logs, and captures that tshark decrypts.

use crate::bench::{Bench, trials_run_here};
use crate::capture::{captures, fields, tshark_runs_here};
use std::path::Path;
use testing::peers::current;

/// A page by HTTP/3.
const PAGE: &str = "name = \"tiny\"\ntitle = \"a page\"\nquestion = \"can it be read?\"\nbaseline = \"h3\"\n\
    trials = 1\nwarmup = 0\n\
    [[workloads]]\nkind = \"page\"\nimages = 12\nbytes = \"9kB\"\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n";

/// Enough for batches of datagrams, which the kernel carries as one super-packet where the link does nothing but delay.
const BATCHES: usize = 200_000;

/// QUIC packets that stay encrypted. An ICMP message repeats a part of the packet that nobody has taken.
fn unread(bench: &Bench, file: &Path) -> Vec<String> {
    fields(bench, file, "quic && !quic.frame_type && !icmp && !icmpv6", "frame.number")
}

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
        bench.write("index.html", vec![b'x'; BATCHES]);
        let frames = frames_over_a_link(&bench, prefix, &client);
        // SETTINGS of both ends, a request, and a response's HEADERS and DATA.
        let count = |kind: &str| frames.iter().filter(|frame| *frame == kind).count();
        assert!(count("4") >= 2 && count("1") >= 2 && count("0") >= 1, "{client}: {frames:?}");
        assert!(bench.path("got").exists());
        assert_eq!(unread(&bench, &bench.path("all.pcapng")), [""; 0], "{client}");
    }
}

#[test]
fn tshark_decrypts_the_http3_of_a_trial_without_any_option() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    // The first link takes datagrams one by one; over the others they go in super-packets.
    for link in ["rtt=20ms,down=20mbit,up=20mbit", "rtt=20ms", "none"] {
        let bench = Bench::new();
        bench.write("tiny.toml", format!("{PAGE}[[links]]\nname = \"{link}\"\n"));
        bench.run(&["race", "tiny.toml", "--capture", "--out", "run"]).raced();
        let file = captures(&bench, "run").remove(0);
        let heads = |way: u8| {
            let filter = format!("http3.frame_type == 1 && frame.packet_flags_direction == {way}");
            let frames = fields(&bench, &file, &filter, "http3.frame_type");
            frames.iter().filter(|kind| *kind == "1").count()
        };
        let (received, sent) = (heads(1), heads(2));
        // tshark 4.0 passes over a response that begins in a packet with bytes of other streams.
        assert!(
            sent == 13 && (1..=13).contains(&received),
            "{link}: {sent} requests, {received} responses"
        );
        assert_eq!(unread(&bench, &file), [""; 0], "{link}: packets stay encrypted");
    }
}
