//! Every event and every frame is what the drafts' CDDL allows: the tables below are taken from it.

use super::*;
use std::collections::BTreeMap;
use trace::{
    ControlFrame, PrioritizedElement, QuicAck, QuicConnectionId, QuicEcnCounts, QuicFrame,
    QuicParameter, QuicStreamType,
};

/// A map's name, what it must have, and what it may have.
type Rule = (&'static str, &'static str, &'static str);

/// draft-ietf-quic-qlog-quic-events-12 and -h3-events-12.
const EVENTS: &[Rule] = &[
    ("quic:connection_started", "local remote", ""),
    (
        "quic:parameters_set",
        "",
        "initiator original_destination_connection_id initial_source_connection_id retry_source_connection_id \
         disable_active_migration max_idle_timeout max_udp_payload_size ack_delay_exponent \
         max_ack_delay active_connection_id_limit initial_max_data initial_max_stream_data_bidi_local \
         initial_max_stream_data_bidi_remote initial_max_stream_data_uni initial_max_streams_bidi \
         initial_max_streams_uni unknown_parameters max_datagram_frame_size grease_quic_bit",
    ),
    ("quic:packet_sent", "header", "frames raw"),
    ("quic:packet_received", "header", "frames raw"),
    ("quic:packet_lost", "header", "frames trigger"),
    (
        "quic:recovery_metrics_updated",
        "",
        "min_rtt smoothed_rtt congestion_window bytes_in_flight ssthresh",
    ),
    (
        "quic:connection_closed",
        "",
        "initiator connection_error application_error error_code trigger",
    ),
    ("http3:frame_created", "stream_id frame", ""),
    ("http3:frame_parsed", "stream_id frame", ""),
];

/// By `frame_type`.
const QUIC_FRAMES: &[Rule] = &[
    ("padding", "", "raw"),
    ("ping", "", "raw"),
    ("ack", "", "ack_delay acked_ranges ect1 ect0 ce raw"),
    ("reset_stream", "stream_id error final_size", "error_code raw"),
    ("stop_sending", "stream_id error", "error_code raw"),
    ("crypto", "offset raw", ""),
    ("new_token", "token", "raw"),
    ("stream", "stream_id", "offset fin raw"),
    ("max_data", "maximum", "raw"),
    ("max_stream_data", "stream_id maximum", "raw"),
    ("max_streams", "stream_type maximum", "raw"),
    ("data_blocked", "limit", "raw"),
    ("stream_data_blocked", "stream_id limit", "raw"),
    ("streams_blocked", "stream_type limit", "raw"),
    (
        "new_connection_id",
        "sequence_number retire_prior_to connection_id",
        "connection_id_length stateless_reset_token raw",
    ),
    ("retire_connection_id", "sequence_number", "raw"),
    ("path_challenge", "", "data raw"),
    ("path_response", "", "data raw"),
    ("connection_close", "", "error_space error error_code reason reason_bytes raw"),
    ("handshake_done", "", "raw"),
    ("unknown", "frame_type_bytes", "raw"),
    ("datagram", "", "raw"),
];

const HTTP3_FRAMES: &[Rule] = &[
    ("data", "", "raw"),
    ("headers", "headers", "raw"),
    ("cancel_push", "push_id", "raw"),
    ("settings", "settings", "raw"),
    ("goaway", "id", "raw"),
    ("max_push_id", "push_id", "raw"),
    ("reserved", "frame_type_bytes", "raw"),
    ("unknown", "frame_type_bytes", "raw"),
    ("priority_update", "priority_field_value", "stream_id push_id raw"),
];

const HEADER: &[Rule] = &[(
    "header",
    "packet_type",
    "packet_number version scil dcil scid dcid token length packet_number_length",
)];

const RAW: &[Rule] = &[("raw", "", "length payload_length data")];

fn check(rules: &[Rule], name: &str, value: &Value, besides: &[&str]) {
    let (_, required, optional) = rules.iter().find(|rule| rule.0 == name).unwrap();
    let object = value.as_object().unwrap();
    for key in required.split_whitespace() {
        assert!(object.contains_key(key), "{name} lacks {key}: {value}");
    }
    for key in object.keys() {
        let mut known = required.split_whitespace().chain(optional.split_whitespace());
        let is_known = besides.contains(&key.as_str()) || known.any(|one| one == key);
        assert!(is_known, "{name} has {key}: {value}");
    }
    if let Some(raw) = object.get("raw") {
        check(RAW, "raw", raw, &[]);
    }
}

/// Checks a record, and gives its event's name and data.
fn checked(record: &str) -> (String, Value) {
    let text = record.strip_prefix('\u{1e}').unwrap().strip_suffix('\n').unwrap();
    let event: Value = serde_json::from_str(text).unwrap();
    assert!(event["time"].is_f64() && event.as_object().unwrap().len() == 3, "{event}");
    let (name, data) = (event["name"].as_str().unwrap(), &event["data"]);
    check(EVENTS, name, data, &[]);
    if let Some(header) = data.get("header") {
        check(HEADER, "header", header, &[]);
    }
    let of_type = |rules: &[Rule], frame: &Value| {
        check(rules, frame["frame_type"].as_str().unwrap(), frame, &["frame_type"]);
    };
    for frame in data.get("frames").and_then(Value::as_array).into_iter().flatten() {
        of_type(QUIC_FRAMES, frame);
    }
    if let Some(frame) = data.get("frame") {
        of_type(HTTP3_FRAMES, frame);
    }
    (name.to_owned(), data.clone())
}

fn told(event: &Event<'_>) -> (String, Value) {
    checked(&QlogConnection::default().record(Instant::from_nanos(2_500_000), event).unwrap())
}

fn packet(kind: QuicPacketType, frames: Vec<QuicFrame>) -> QuicPacket {
    let id = QuicConnectionId::new(b"\x01\xab").unwrap();
    let source = (kind != QuicPacketType::OneRtt).then_some(id);
    QuicPacket { kind, number: 7, destination: id, source, length: 40, payload_length: 20, frames }
}

fn all_frames() -> Vec<QuicFrame> {
    let (id, kind) = (QuicConnectionId::new(b"abcd").unwrap(), QuicStreamType::Unidirectional);
    let (stream, code, limit) = (4, 0x10c, 9);
    let ecn = Some(QuicEcnCounts { ect0: 1, ect1: 2, ce: 3 });
    vec![
        QuicFrame::Padding { length: 3 },
        QuicFrame::Ping,
        QuicFrame::Ack(QuicAck { delay: 100, ranges: vec![(1, 1), (4, 6)], ecn }),
        QuicFrame::ResetStream { stream, code, final_size: 5 },
        QuicFrame::StopSending { stream, code: 77 },
        QuicFrame::Crypto { offset: 1, length: 2 },
        QuicFrame::NewToken { length: 30 },
        QuicFrame::Stream { stream, offset: 10, length: 20, is_last: true },
        QuicFrame::MaxData { maximum: 1 },
        QuicFrame::MaxStreamData { stream, maximum: 1 },
        QuicFrame::MaxStreams { kind, maximum: 1 },
        QuicFrame::DataBlocked { limit },
        QuicFrame::StreamDataBlocked { stream, limit },
        QuicFrame::StreamsBlocked { kind: QuicStreamType::Bidirectional, limit },
        QuicFrame::NewConnectionId { sequence: 1, retire_prior_to: 0, id },
        QuicFrame::RetireConnectionId { sequence: 1 },
        QuicFrame::PathChallenge,
        QuicFrame::PathResponse,
        QuicFrame::ConnectionClose { space: QuicErrorSpace::Transport, code: 0x128 },
        QuicFrame::HandshakeDone,
        QuicFrame::ImmediateAck,
        QuicFrame::AckFrequency { threshold: 10 },
        QuicFrame::Datagram { length: 5 },
        QuicFrame::Unknown { kind: 0x21 },
    ]
}

#[test]
fn every_frame_of_a_packet_is_as_the_draft_has_it() {
    let frames = all_frames();
    let (name, data) =
        told(&Event::QuicPacketSent(&packet(QuicPacketType::OneRtt, frames.clone())));
    assert_eq!(name, "quic:packet_sent");
    assert_eq!(
        data["header"],
        json!({ "packet_type": "1RTT", "packet_number": 7, "dcid": "01ab" })
    );
    assert_eq!(data["raw"], json!({ "length": 40, "payload_length": 20 }));
    let written = data["frames"].as_array().unwrap();
    assert_eq!(written.len(), frames.len());
    let kinds: Vec<&str> =
        written.iter().map(|frame| frame["frame_type"].as_str().unwrap()).collect();
    for (kind, ..) in QUIC_FRAMES {
        assert!(kinds.contains(kind), "{kind} is never written");
    }
    let ack = json!({
        "frame_type": "ack", "ack_delay": 0.8, "acked_ranges": [[1], [4, 6]], "ect0": 1, "ect1": 2, "ce": 3,
    });
    assert_eq!(written[2], ack);
    assert_eq!(written[3]["error"], "http_request_cancelled");
    assert_eq!((&written[4]["error"], &written[4]["error_code"]), (&json!("unknown"), &json!(77)));
    assert_eq!(written[18]["error"], "crypto_error_0x128");
    let (name, data) =
        told(&Event::QuicPacketReceived(&packet(QuicPacketType::Initial, vec![QuicFrame::Ping])));
    assert_eq!((name.as_str(), &data["header"]["scid"]), ("quic:packet_received", &json!("01ab")));
}

#[test]
fn every_event_is_as_the_draft_has_it() {
    let (by, space) = (QuicInitiator::Remote, QuicErrorSpace::Application);
    let parameter = |id, value: &[u8]| QuicParameter { id, value: value.to_vec() };
    let parameters = [
        parameter(0x0a, b"\x05"),
        parameter(0x04, b"\x80\x01\x00\x00"),
        parameter(0x0c, b""),
        // Who knows it can end the connection.
        parameter(0x02, b"0123456789abcdef"),
        parameter(0x0f, b"\xab"),
        parameter(0x1234, b"\x01"),
    ];
    let settings = [(0x01, 4096), (0x21, 1), (0x99, 2)];
    let (kind, number, value) = (QuicPacketType::Handshake, 3, &b"u=1, i"[..]);
    let request = PrioritizedElement::Request(4);
    let control = |frame| Event::ControlFrameParsed { stream: 3, frame };
    let events = [
        Event::QuicStarted { local: None, remote: "[::1]:443".parse().unwrap() },
        Event::QuicParameters { by, parameters: &parameters },
        Event::QuicPacketLost { kind, number, trigger: QuicLossTrigger::Reordering },
        Event::QuicPacketLost { kind, number, trigger: QuicLossTrigger::Time },
        Event::QuicMetricsUpdated(QuicMetrics {
            slow_start_threshold: Some(9),
            ..QuicMetrics::default()
        }),
        Event::QuicClosed(QuicEnd::Closed { by, space, code: 0x100 }),
        Event::QuicClosed(QuicEnd::IdleTimeout),
        Event::QuicClosed(QuicEnd::StatelessReset),
        Event::QuicClosed(QuicEnd::Other),
        Event::FrameCreated { stream: 4, frame: "HEADERS", length: 30 },
        Event::FrameParsed { stream: 4, frame: "DATA", length: 30 },
        Event::ControlFrameCreated { stream: 2, frame: ControlFrame::Settings(&settings) },
        control(ControlFrame::GoAway { id: 8 }),
        control(ControlFrame::CancelPush { push: 1 }),
        control(ControlFrame::MaxPushId { push: 1 }),
        control(ControlFrame::PriorityUpdate { element: request, value }),
        control(ControlFrame::PriorityUpdate { element: PrioritizedElement::Push(1), value }),
        control(ControlFrame::Unknown { kind: 0x40 }),
        control(ControlFrame::Unknown { kind: 0x55 }),
    ];
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for event in &events {
        let (name, data) = told(event);
        seen.entry(name).or_insert(data);
    }
    assert_eq!(
        seen["quic:connection_started"]["remote"],
        json!({ "ip_v6": "::1", "port_v6": 443 })
    );
    assert_eq!(
        seen["quic:parameters_set"],
        json!({
            "initiator": "remote", "ack_delay_exponent": 5, "initial_max_data": 65536,
            "disable_active_migration": true, "initial_source_connection_id": "ab",
            "unknown_parameters": [{ "id": 0x1234, "value": "01" }],
        })
    );
    let closed = json!({ "initiator": "remote", "application_error": "http_no_error", "trigger": "application" });
    assert_eq!(seen["quic:connection_closed"], closed);
    assert_eq!(seen.len(), EVENTS.len() - 2, "the packets are another test's");
}

#[test]
fn delays_of_acknowledgements_are_in_the_unit_of_the_end_that_wrote_them() {
    let mut connection = QlogConnection::default();
    let parameters = [QuicParameter { id: 0x0a, value: b"\x05".to_vec() }];
    let at = Instant::ZERO;
    connection
        .record(at, &Event::QuicParameters { by: QuicInitiator::Remote, parameters: &parameters });
    let ack = QuicFrame::Ack(QuicAck { delay: 100, ranges: vec![(0, 0)], ecn: None });
    let packet = packet(QuicPacketType::OneRtt, vec![ack]);
    let mut delay = |event: &Event<'_>| {
        let (_, data) = checked(&connection.record(at, event).unwrap());
        data["frames"][0]["ack_delay"].as_f64()
    };
    assert_eq!(delay(&Event::QuicPacketSent(&packet)), Some(0.8));
    assert_eq!(delay(&Event::QuicPacketReceived(&packet)), Some(3.2));
}

#[test]
fn a_file_begins_with_its_schemas_and_vantage_point() {
    let head = QlogHead { title: "a trial", vantage: QlogVantage::Server, zero_unix_ms: 1_000 };
    let record = head.record("1.2");
    let head: Value = serde_json::from_str(record.trim_start_matches('\u{1e}')).unwrap();
    assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(head["serialization_format"], "application/qlog+json-seq");
    let trace = &head["trace"];
    assert_eq!(trace["vantage_point"]["type"], "server");
    let reference = &trace["common_fields"]["reference_time"];
    assert_eq!(reference["wall_clock_time"], "1970-01-01T00:00:01.000Z");
    // Nothing of other protocols is written as HTTP/3's.
    let mut connection = QlogConnection::default();
    let other = Event::FrameCreated { stream: 1, frame: "WINDOW_UPDATE", length: 4 };
    assert_eq!(connection.record(Instant::ZERO, &other), None);
    assert_eq!(connection.record(Instant::ZERO, &Event::ConnectionReady { protocol: "h3" }), None);
}
