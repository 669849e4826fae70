//! Every event and every frame is what the drafts' CDDL allows.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use testing::qlog::Schema;
use trace::{
    ControlFrame, PrioritizedElement, QuicAck, QuicConnectionId, QuicEcnCounts, QuicFrame,
    QuicParameter, QuicStreamType,
};

/// A record as it was written, its event's name and its data.
struct Told {
    record: String,
    name: String,
    data: Value,
}

/// What is told of an event, which the drafts' schema allows.
fn told_by(connection: &mut QlogConnection, event: &Event<'_>) -> Told {
    let record = connection.record(Instant::from_nanos(2_500_000), event).unwrap();
    let record = record.strip_prefix('\u{1e}').unwrap().to_owned();
    let value = schema().check_event(&record).unwrap();
    assert!(value["time"].is_f64() && value.as_object().unwrap().len() == 3, "{value}");
    let (name, data) = (value["name"].as_str().unwrap().to_owned(), value["data"].clone());
    Told { record, name, data }
}

fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_the_drafts);
    &SCHEMA
}

fn told(event: &Event<'_>) -> Told {
    told_by(&mut QlogConnection::default(), event)
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
    let Told { name, data, .. } =
        told(&Event::QuicPacketSent(&packet(QuicPacketType::OneRtt, frames.clone())));
    assert_eq!(name, "quic:packet_sent");
    assert_eq!(
        data["header"],
        json!({ "packet_type": "1RTT", "packet_number": 7, "dcid": "01ab" })
    );
    assert_eq!(data["raw"], json!({ "length": 40, "payload_length": 20 }));
    let written = data["frames"].as_array().unwrap();
    assert_eq!(written.len(), frames.len());
    let ack = json!({
        "frame_type": "ack", "ack_delay": 0.8, "acked_ranges": [[1], [4, 6]], "ect0": 1, "ect1": 2, "ce": 3,
    });
    assert_eq!(written[2], ack);
    assert_eq!(written[3]["error"], "http_request_cancelled");
    assert_eq!((&written[4]["error"], &written[4]["error_code"]), (&json!("unknown"), &json!(77)));
    assert_eq!(written[18]["error"], "crypto_error_0x128");
    let Told { name, data, .. } =
        told(&Event::QuicPacketReceived(&packet(QuicPacketType::Initial, vec![QuicFrame::Ping])));
    assert_eq!((name.as_str(), &data["header"]["scid"]), ("quic:packet_received", &json!("01ab")));
}

/// Hands each kind of event to `each`, but those of packets.
fn all_events(mut each: impl FnMut(&Event<'_>)) {
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
            smoothed_rtt: Some(Duration::from_millis(50)),
            min_rtt: Some(Duration::from_micros(40_500)),
            slow_start_threshold: Some(9),
            ..QuicMetrics::default()
        }),
        Event::QuicMetricsUpdated(QuicMetrics::default()),
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
    for event in &events {
        each(event);
    }
}

#[test]
fn every_event_is_as_the_draft_has_it() {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    all_events(|event| {
        let Told { name, data, .. } = told(event);
        seen.entry(name).or_insert(data);
    });
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
    assert_eq!(
        seen["quic:recovery_metrics_updated"],
        json!({
            "smoothed_rtt": 50.0, "min_rtt": 40.5, "congestion_window": 0, "bytes_in_flight": 0,
            "ssthresh": 9,
        })
    );
    let closed = json!({ "initiator": "remote", "application_error": "http_no_error", "trigger": "application" });
    assert_eq!(seen["quic:connection_closed"], closed);
    assert_eq!(seen.len(), 7, "the packets are another test's: {:?}", seen.keys());
}

/// quinn-proto's guess would stand there else.
#[test]
fn no_round_trip_time_is_told_before_the_first_sample() {
    let told = told(&Event::QuicMetricsUpdated(QuicMetrics::default()));
    assert_eq!(told.data, json!({ "congestion_window": 0, "bytes_in_flight": 0 }));
}

/// A validator that allowed everything would satisfy all other tests.
#[test]
fn the_schema_refuses_each_record_in_which_one_value_or_name_is_wrong() {
    let mut records = vec![];
    all_events(|event| records.push(told(event).record));
    for frame in all_frames() {
        let packet = packet(QuicPacketType::Initial, vec![frame]);
        records.push(told(&Event::QuicPacketSent(&packet)).record);
        records.push(told(&Event::QuicPacketReceived(&packet)).record);
    }
    let mut allowed = BTreeSet::new();
    let mut wrong = 0;
    for record in &records {
        let value: Value = serde_json::from_str(record).unwrap();
        for (place, changed) in each_changed(&value) {
            wrong += 1;
            if schema().check_event(&format!("{changed}\n")).is_ok() {
                allowed.insert(place);
            }
        }
    }
    assert!(wrong > 1_000, "{wrong}");
    // What is any text to the schema.
    let texts = [".data.frame.priority_field_value", ".data.remote.ip_v6"];
    assert_eq!(allowed, texts.map(|place| format!("{place} as another word")).into());
}

/// The value with one thing in it wrong: a value of another type, or a field of another name. Each with where that is.
fn each_changed(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let other = if value.is_boolean() { json!({ "a": 1 }) } else { json!(false) };
    all.push((String::new(), other));
    match value {
        Value::String(_) => all.push((" as another word".to_owned(), json!("Nonesuch"))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for (place, changed) in each_changed(item) {
                    let mut items = items.clone();
                    items[index] = changed;
                    all.push((format!("[{index}]{place}"), Value::Array(items)));
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                for (place, changed) in each_changed(field) {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), changed);
                    all.push((format!(".{name}{place}"), Value::Object(fields)));
                }
                let mut fields = fields.clone();
                fields.remove(name);
                fields.insert("nonesuch".to_owned(), field.clone());
                all.push((format!(".{name} by another name"), Value::Object(fields)));
            }
        }
        _ => {}
    }
    all
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
    let mut delay =
        |event: &Event<'_>| told_by(&mut connection, event).data["frames"][0]["ack_delay"].as_f64();
    assert_eq!(delay(&Event::QuicPacketSent(&packet)), Some(0.8));
    assert_eq!(delay(&Event::QuicPacketReceived(&packet)), Some(3.2));
}

#[test]
fn a_file_begins_with_its_schemas_and_vantage_point() {
    let head = QlogHead { title: "a trial", vantage: QlogVantage::Server, zero_unix_ms: 1_000 };
    let record = head.record("1.2");
    assert_eq!(schema().check(&record).unwrap(), Vec::<Value>::new());
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
