//! `--qlog`: our own qlog is what the drafts' schema allows. It, the capture as tshark decrypts it, and the qlog of a peer agree packet
//! for packet.

use crate::bench::{Bench, trials_run_here};
use crate::capture::{captures, tshark_runs_here};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use testing::peers::current;
use testing::qlog::Schema;

/// Far away: many packets are on the link when the client has ended.
const LINK: &str = "rtt=200ms,down=20mbit,up=20mbit,loss=3%";

/// A packet as a witness tells it: its type and number, its bytes, the types of its frames in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Packet {
    length: u64,
    frames: Vec<String>,
}

type Packets = BTreeMap<(String, u64), Packet>;

/// What tshark saw of a connection.
#[derive(Debug, Default)]
struct Seen {
    /// All packets that the client sent, and those that the server did.
    up: Packets,
    down: Packets,
    /// Those that the link has lost.
    lost_up: BTreeSet<(String, u64)>,
    lost_down: BTreeSet<(String, u64)>,
}

/// The events of a qlog file, without its first record.
fn events(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let records = text.split('\u{1e}').filter(|record| !record.is_empty());
    records.skip(1).map(|record| serde_json::from_str(record).unwrap()).collect()
}

fn told(events: &[Value], name: &str) -> Packets {
    let named = events.iter().filter(|event| event["name"].as_str().unwrap().ends_with(name));
    let packet = |event: &Value| {
        let (header, data) = (&event["data"]["header"], &event["data"]);
        let frames = data["frames"].as_array().unwrap();
        let frames = frames.iter().map(|frame| frame["frame_type"].as_str().unwrap().to_owned());
        let mut frames: Vec<String> = frames.collect();
        // PADDING frames in a row are one or several.
        frames.dedup_by(|one, other| one == other && one == "padding");
        let kind = header["packet_type"].as_str().unwrap().to_owned();
        let length = data["raw"]["length"].as_u64().unwrap();
        let packet = Packet { length, frames };
        ((kind, header["packet_number"].as_u64().unwrap()), packet)
    };
    named.map(packet).collect()
}

/// Those of an array, or the only one.
fn each(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn seen(bench: &Bench, capture: &Path) -> Seen {
    let mut tshark = bench.command("tshark");
    // An ICMP message repeats the packet whose receiver has gone.
    let filter = ["-Y", "quic && !icmp", "-T", "json", "--no-duplicate-keys"];
    tshark.arg("-r").arg(capture).args(filter);
    let output = tshark.args(["-J", "frame quic pkt_comment"]).output().unwrap();
    let packets: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut seen = Seen::default();
    for layers in packets.as_array().unwrap().iter().map(|packet| &packet["_source"]["layers"]) {
        let is_near = layers["frame"]["frame.interface_id"] == "0";
        let is_up = is_near && layers["frame"]["frame.packet_flags"] == "0x00000002";
        let (all, lost) = match is_up {
            true => (&mut seen.up, &mut seen.lost_up),
            false => (&mut seen.down, &mut seen.lost_down),
        };
        for quic in each(&layers["quic"]) {
            let (number, packet) = decrypted(quic);
            if !layers["pkt_comment"].is_null() {
                lost.insert(number.clone());
            }
            assert!(all.insert(number, packet).is_none(), "a number is used once");
        }
    }
    seen
}

fn decrypted(quic: &Value) -> ((String, u64), Packet) {
    let number = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let kind = match quic["quic.long.packet_type"].as_str() {
        Some("0") => "initial",
        Some("1") => "0RTT",
        Some("2") => "handshake",
        _ => "1RTT",
    };
    let header = if kind == "1RTT" { &quic["quic.short"] } else { quic };
    let frames = each(&quic["quic.frame"]).iter();
    let frames = frames.map(|frame| name(number(&frame["quic.frame_type"])).to_owned()).collect();
    let packet = Packet { length: number(&quic["quic.packet_length"]), frames };
    ((kind.to_owned(), number(&header["quic.packet_number"])), packet)
}

/// The name that qlog has for a frame's type (RFC 9000 §19).
fn name(kind: u64) -> &'static str {
    match kind {
        0x00 => "padding",
        0x01 => "ping",
        0x02 | 0x03 => "ack",
        0x04 => "reset_stream",
        0x05 => "stop_sending",
        0x06 => "crypto",
        0x07 => "new_token",
        0x08..=0x0f => "stream",
        0x10 => "max_data",
        0x11 => "max_stream_data",
        0x12 | 0x13 => "max_streams",
        0x14 => "data_blocked",
        0x15 => "stream_data_blocked",
        0x16 | 0x17 => "streams_blocked",
        0x18 => "new_connection_id",
        0x19 => "retire_connection_id",
        0x1a => "path_challenge",
        0x1b => "path_response",
        0x1c | 0x1d => "connection_close",
        0x1e => "handshake_done",
        _ => "unknown",
    }
}

/// Whether all that was `received` was also `sent`, and the same.
fn agree((sent, received): (&Packets, &Packets), way: &str) {
    for (number, packet) in received {
        assert_eq!(sent.get(number), Some(packet), "{way}: {number:?}");
    }
}

/// As [`agree`], and everything sent was received, but for what was still on its way when an end closed: the last
/// packets of their kind, `most` of them.
fn agree_to_the_end((sent, received): (&Packets, &Packets), way: &str, most: usize) {
    agree((sent, received), way);
    let missing: Vec<_> =
        sent.iter().filter(|(number, _)| !received.contains_key(*number)).collect();
    for ((kind, number), _) in &missing {
        let later = received.keys().any(|(other, later)| other == kind && later > number);
        assert!(!later, "{way}: {kind} packet {number} is missing, and later ones are there");
    }
    assert!(missing.len() <= most, "{way}: {missing:?} of {}", sent.len());
}

fn without(packets: &Packets, lost: &BTreeSet<(String, u64)>) -> Packets {
    let kept = packets.iter().filter(|(number, _)| !lost.contains(number));
    kept.map(|(number, packet)| (number.clone(), packet.clone())).collect()
}

fn qlogs(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// One trial of this work over the link.
fn experiment(workload: &str, contenders: &str) -> String {
    format!(
        "name = \"tiny\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"h3\"\ntrials = 1\nwarmup = 0\n\
         [[workloads]]\n{workload}{contenders}[[links]]\nname = \"{LINK}\"\n"
    )
}

/// Pages with 0-RTT, PRIORITY_UPDATE, small windows, ACK_FREQUENCY and larger packets tried.
const CONTENDERS: &str = "[[contenders]]\nname = \"early\"\ntransport = \"h3\"\n\
    settings = { terms = \"as-shipped\", temperature = \"early\", raise = \"priority-update\", ack_threshold = 10, mtu_discovery = true, \
    stream_window = 65535, connection_window = 65535 }\n\
    [[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n";

#[test]
fn the_drafts_schema_allows_each_record_of_both_ends_and_refuses_a_changed_one() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "pages.toml",
        experiment("kind = \"page\"\nimages = 30\nbytes = \"3kB\"\n", CONTENDERS),
    );
    bench.run(&["race", "pages.toml", "--qlog", "--out", "run"]).raced();
    bench.write("big", vec![7; 300_000]);
    // A Retry first.
    let line = format!(
        "$W link {LINK} --ready-port 443 --far '$W serve . --threads 1 --quic-retry --listen-tls 0.0.0.0:443 \
         --listen-quic 0.0.0.0:443 --qlog far > served' -- $W get -k --http3 --qlog near -o got https://far/big"
    );
    bench.shell(&[], &line).said(0, &[]);
    let (schema, mut all) = (Schema::of_the_drafts(), String::new());
    let files = ["run/qlogs", "far", "near"].map(|folder| qlogs(&bench.path(folder))).concat();
    assert!(files.len() >= 2 * 3 + 2, "{files:?}");
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let checked = schema.check(&text);
        assert!(checked.as_ref().is_ok_and(|events| events.len() > 20), "{file:?}: {checked:?}");
        for (right, wrong) in [
            ("\"packet_number\":", "\"packet_number\":-"),
            ("\"time\":", "\"at\":"),
            ("quic:packet_sent", "quic:packet_posted"),
            ("\"1RTT\"", "\"2RTT\""),
            ("\"stream_id\":", "\"stream\":"),
            ("\"type\":\"", "\"type\":\"other "),
            ("\u{1e}", ""),
        ] {
            assert!(text.contains(right), "{file:?} has no {right}");
            let changed = text.replacen(right, wrong, 1);
            assert!(schema.check(&changed).is_err(), "{file:?}: {wrong}");
        }
        all.push_str(&text);
    }
    for file in &files {
        parameters_are_those_of_this_connection(file);
    }
    // So that no kind of record goes unseen: a Retry is in the server's parameters, and each of these in a record.
    for kind in [
        "retry_source_connection_id",
        "\"0RTT\"",
        "\"priority_update\"",
        "\"unknown\"",
        "\"frame_type\":\"reserved\"",
        "quic:packet_lost",
        "quic:recovery_metrics_updated",
        "quic:connection_closed",
        "http3:frame_parsed",
    ] {
        assert!(all.contains(kind), "no {kind}");
    }
}

/// The peer's transport parameters have the connection ID that its handshake packets come from (RFC 9000 §7.3): they are
/// not those that a ticket remembers of another connection.
fn parameters_are_those_of_this_connection(file: &Path) {
    let events = events(file);
    let is_remote = |event: &&Value| {
        event["name"] == "quic:parameters_set" && event["data"]["initiator"] == "remote"
    };
    let told: Vec<&Value> = events
        .iter()
        .filter(is_remote)
        .map(|event| &event["data"]["initial_source_connection_id"])
        .collect();
    let received = events.iter().filter(|event| event["name"] == "quic:packet_received");
    let headers = received.map(|event| &event["data"]["header"]);
    let mut handshake = headers.filter(|header| header["packet_type"] == "handshake");
    let source = &handshake.next().unwrap()["scid"];
    assert_eq!(told, [source], "{file:?}");
}

#[test]
fn the_qlogs_of_both_ends_and_the_decrypted_capture_of_a_trial_agree_packet_for_packet() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "tiny.toml",
        experiment(
            "kind = \"calls\"\npattern = \"serial\"\ncount = 1\nbytes = \"300kB\"\n",
            "[[contenders]]\nname = \"h3\"\ntransport = \"h3\"\n",
        ),
    );
    bench.run(&["race", "tiny.toml", "--capture", "--qlog", "--out", "run"]).raced();
    let files = qlogs(&bench.path("run/qlogs"));
    let [near, far] = &files[..2] else { panic!("{files:?}") };
    assert!(near.to_str().unwrap().ends_with(".client-0.sqlog"), "{files:?}");
    assert!(far.to_str().unwrap().ends_with(".server-0.sqlog"), "{files:?}");
    let (near, far) = (events(near), events(far));
    let seen = seen(&bench, &captures(&bench, "run")[0]);
    assert!(!seen.lost_down.is_empty(), "nothing was lost");
    // Every packet that was sent is in the capture, and nothing else.
    assert_eq!(told(&near, "packet_sent"), seen.up);
    let sent = told(&far, "packet_sent");
    agree_to_the_end((&sent, &seen.down), "capture of what the server sent", AFTER_THE_END);
    let down = without(&seen.down, &seen.lost_down);
    agree_to_the_end((&down, &told(&near, "packet_received")), "down", AFTER_THE_END);
    let up = without(&seen.up, &seen.lost_up);
    agree_to_the_end((&up, &told(&far, "packet_received")), "up", AFTER_THE_END);
    // What the server takes for lost the link has lost.
    for event in far.iter().filter(|event| event["name"] == "quic:packet_lost") {
        let header = &event["data"]["header"];
        let kind = header["packet_type"].as_str().unwrap().to_owned();
        let number = header["packet_number"].as_u64().unwrap();
        assert!(seen.lost_down.contains(&(kind, number)), "{event}");
    }
    for name in [
        "quic:connection_started",
        "quic:parameters_set",
        "quic:packet_lost",
        "quic:recovery_metrics_updated",
        "http3:frame_created",
        "http3:frame_parsed",
    ] {
        assert!(far.iter().any(|event| event["name"] == name), "no {name}");
    }
    let slip = bench.run(&["race", "tiny.toml", "--qlog=nobody", "--out", "other"]);
    slip.said(2, &["no trial of tiny", "nobody", "--dry-run"]);
    for (args, said) in [
        (&["--contenders", "h2", "--qlog"][..], "no trial of quick is over QUIC"),
        (&["--qlog=page-50x5kB/3g/h2/"], "no trial of quick with such a key is over QUIC"),
    ] {
        let quick = [&["race", "quick", "--baseline", "h2", "--out", "other"], args].concat();
        bench.run(&quick).said(2, &[said, "h3"]);
        assert!(!bench.path("other").exists());
    }
}

#[test]
fn the_qlog_of_curl_agrees_with_our_servers() {
    if !trials_run_here() {
        return;
    }
    let Some(curl) = current("curl") else { return };
    let bench = Bench::new();
    bench.write("big", vec![7; 300_000]);
    // The shell that the redirection makes ends before the server, whose qlog is whole all the same.
    let line = format!(
        "export QLOGDIR=$PWD; $W link {LINK} --ready-port 443 --far '$W serve . --threads 1 --listen-tls 0.0.0.0:443 \
         --listen-quic 0.0.0.0:443 --qlog own > served' -- {curl} -sSk --http3-only -o got https://far/big"
    );
    bench.shell(&[], &line).said(0, &[]);
    assert_eq!(std::fs::metadata(bench.path("got")).unwrap().len(), 300_000);
    // curl may have begun twice.
    let longest = |folder: &Path| {
        let is_qlog = |file: &PathBuf| file.extension().is_some_and(|end| end == "sqlog");
        let files = qlogs(folder).into_iter().filter(is_qlog);
        files.map(|file| events(&file)).max_by_key(Vec::len).unwrap()
    };
    let (own, theirs) = (longest(&bench.path("own")), longest(&bench.folder));
    let (sent, received) = (told(&own, "packet_sent"), told(&own, "packet_received"));
    let (asked, came) = (told(&theirs, "packet_sent"), told(&theirs, "packet_received"));
    for (sent, received, way) in [(&asked, &received, "up"), (&sent, &came, "down")] {
        agree((sent, received), way);
        assert!(
            received.len() + sent.len() / 5 >= sent.len(),
            "{way}: {} of {}",
            received.len(),
            sent.len()
        );
    }
}

#[test]
fn a_server_keeps_no_file_of_a_connection_that_is_over() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("index.html", "from far");
    // A closed connection is forgotten after 3 s at the latest.
    let line = "$W link rtt=1ms --no-calibration --ready-port 443 --far '$W serve . --threads 1 --listen-tls 0.0.0.0:443 \
         --listen-quic 0.0.0.0:443 --qlog own > served' -- sh -c 'for k in 1 2 3 4 5 6; do \
         $W get -k --http3 -o got https://far/index.html || exit 7; done; sleep 4; \
         ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c \"$PWD/own/\"'";
    let ran = bench.shell(&[], line);
    assert_eq!(ran.out.trim(), "0", "{ran:?}");
    assert_eq!(qlogs(&bench.path("own")).len(), 6);
}

/// Packets at a connection's end, which one side no longer sees.
const AFTER_THE_END: usize = 4;
