//! Trace events of a connection as qlog (draft-ietf-quic-qlog-main-schema, -quic-events and -h3-events): JSON text sequences,
//! a record an event. What a frame carries is left out, and so are header fields: they hold cookies.

mod frames;
mod http3;
mod parameters;

use crate::number::timestamp;
use frames::FrameTimes;
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use trace::{
    Event, QuicEnd, QuicErrorSpace, QuicInitiator, QuicLossTrigger, QuicMetrics, QuicPacket,
    QuicPacketType,
};
use unit::Instant;

/// Where a connection was traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QlogVantage {
    /// At the end that opened it.
    Client,
    /// At the end that accepted it.
    Server,
}

/// What stands before the events of a connection.
#[derive(Debug, Clone, Copy)]
pub struct QlogHead<'a> {
    /// What it is a trace of.
    pub title: &'a str,
    /// Where it was traced.
    pub vantage: QlogVantage,
    /// The wall clock's time in milliseconds since 1970 when our clock stood at zero.
    pub zero_unix_ms: u64,
}

/// One connection's events as records. Their times are those of the machine's monotonic clock: traces of both ends on one
/// machine have the same.
#[derive(Debug, Default)]
pub struct QlogConnection {
    times: FrameTimes,
}

impl QlogHead<'_> {
    /// The first record of a file.
    pub fn record(&self, version: &str) -> String {
        let vantage = match self.vantage {
            QlogVantage::Client => "client",
            QlogVantage::Server => "server",
        };
        record(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": self.title,
            "trace": {
                "vantage_point": { "name": format!("wirelap {version}"), "type": vantage },
                "event_schemas": [QUIC_SCHEMA, HTTP3_SCHEMA],
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {
                        "clock_type": "monotonic",
                        "epoch": "unknown",
                        "wall_clock_time": timestamp(self.zero_unix_ms),
                    },
                },
            },
        }))
    }
}

impl QlogConnection {
    /// The record of an event; None for one that qlog has no name for.
    pub fn record(&mut self, at: Instant, event: &Event<'_>) -> Option<String> {
        let (name, data) = match event {
            Event::QuicStarted { local, remote } => {
                ("quic:connection_started", started(*local, *remote))
            }
            Event::QuicParameters { by, parameters } => {
                self.times.learn(*by, parameters);
                ("quic:parameters_set", parameters::set(*by, parameters))
            }
            Event::QuicPacketSent(packet) => {
                ("quic:packet_sent", self.packet(packet, QuicInitiator::Local))
            }
            Event::QuicPacketReceived(packet) => {
                ("quic:packet_received", self.packet(packet, QuicInitiator::Remote))
            }
            Event::QuicPacketLost { kind, number, trigger } => {
                ("quic:packet_lost", lost(*kind, *number, *trigger))
            }
            Event::QuicMetricsUpdated(metrics) => {
                ("quic:recovery_metrics_updated", recovery(metrics))
            }
            Event::QuicClosed(end) => ("quic:connection_closed", closed(*end)),
            Event::FrameCreated { stream, frame, length } => {
                ("http3:frame_created", http3::message_frame(*stream, frame, *length)?)
            }
            Event::FrameParsed { stream, frame, length } => {
                ("http3:frame_parsed", http3::message_frame(*stream, frame, *length)?)
            }
            Event::ControlFrameCreated { stream, frame } => {
                ("http3:frame_created", http3::control_frame(*stream, frame))
            }
            Event::ControlFrameParsed { stream, frame } => {
                ("http3:frame_parsed", http3::control_frame(*stream, frame))
            }
            Event::ConnectionReady { .. }
            | Event::HeaderBlock { .. }
            | Event::PriorityReceived { .. }
            | Event::StreamReset { .. }
            | Event::ConnectionClosed { .. }
            | Event::QuicForgotten => return None,
        };
        Some(record(
            &json!({ "time": millis(at.since(Instant::ZERO)), "name": name, "data": data }),
        ))
    }

    fn packet(&self, packet: &QuicPacket, by: QuicInitiator) -> Value {
        let mut header = header(packet.kind, packet.number);
        if let Some(source) = packet.source {
            header.insert("version".to_owned(), json!("00000001"));
            header.insert("scil".to_owned(), json!(source.as_slice().len()));
            header.insert("dcil".to_owned(), json!(packet.destination.as_slice().len()));
            header.insert("scid".to_owned(), json!(source.to_string()));
        }
        header.insert("dcid".to_owned(), json!(packet.destination.to_string()));
        let frames: Vec<Value> =
            packet.frames.iter().map(|frame| self.times.frame(frame, by)).collect();
        json!({
            "header": header,
            "frames": frames,
            "raw": { "length": packet.length, "payload_length": packet.payload_length },
        })
    }
}

/// A record of a JSON text sequence (RFC 7464).
fn record(value: &Value) -> String {
    format!("\u{1e}{value}\n")
}

fn header(kind: QuicPacketType, number: u64) -> Map<String, Value> {
    let kind = match kind {
        QuicPacketType::Initial => "initial",
        QuicPacketType::Handshake => "handshake",
        QuicPacketType::ZeroRtt => "0RTT",
        QuicPacketType::OneRtt => "1RTT",
    };
    let fields = [("packet_type", json!(kind)), ("packet_number", json!(number))];
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

fn started(local: Option<IpAddr>, remote: SocketAddr) -> Value {
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => json!({ "ip_v4": ip.to_string() }),
        IpAddr::V6(ip) => json!({ "ip_v6": ip.to_string() }),
    };
    let mut far = address(remote.ip());
    far[if remote.is_ipv4() { "port_v4" } else { "port_v6" }] = json!(remote.port());
    json!({ "local": local.map_or_else(|| json!({}), address), "remote": far })
}

fn lost(kind: QuicPacketType, number: u64, trigger: QuicLossTrigger) -> Value {
    let trigger = match trigger {
        QuicLossTrigger::Reordering => "reordering_threshold",
        QuicLossTrigger::Time => "time_threshold",
    };
    json!({ "header": header(kind, number), "trigger": trigger })
}

fn recovery(metrics: &QuicMetrics) -> Value {
    let mut data = json!({
        "congestion_window": metrics.congestion_window,
        "bytes_in_flight": metrics.bytes_in_flight,
    });
    for (name, time) in [("min_rtt", metrics.min_rtt), ("smoothed_rtt", metrics.smoothed_rtt)] {
        if let Some(time) = time {
            data[name] = json!(millis(time));
        }
    }
    if let Some(threshold) = metrics.slow_start_threshold {
        data["ssthresh"] = json!(threshold);
    }
    data
}

fn closed(end: QuicEnd) -> Value {
    match end {
        QuicEnd::Closed { by, space, code } => {
            let mut data = frames::error(space, code, ["connection_error", "application_error"]);
            data["initiator"] = json!(initiator(by));
            data["trigger"] = json!(match (space, code) {
                (QuicErrorSpace::Application, _) => "application",
                (QuicErrorSpace::Transport, 0) => "unspecified",
                (QuicErrorSpace::Transport, _) => "error",
            });
            data
        }
        QuicEnd::IdleTimeout => json!({ "initiator": "local", "trigger": "idle_timeout" }),
        QuicEnd::StatelessReset => json!({ "initiator": "remote", "trigger": "stateless_reset" }),
        QuicEnd::Other => json!({ "trigger": "unspecified" }),
    }
}

fn initiator(by: QuicInitiator) -> &'static str {
    match by {
        QuicInitiator::Local => "local",
        QuicInitiator::Remote => "remote",
    }
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Drafts are told by their numbers (draft-ietf-quic-qlog-quic-events, "Draft Event Schema Identification").
const QUIC_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-12";
const HTTP3_SCHEMA: &str = "urn:ietf:params:qlog:events:http3-12";

#[cfg(test)]
mod tests;
