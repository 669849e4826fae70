//! QUIC's frames as qlog has them (draft-ietf-quic-qlog-quic-events, "QUIC Data Type Definitions").

use super::{http3, millis};
use serde_json::{Value, json};
use std::time::Duration;
use trace::{
    QuicAck, QuicErrorSpace, QuicFrame, QuicInitiator, QuicParameter, QuicStreamType,
    quic_error_name,
};

/// How the times in frames are to be read.
#[derive(Debug)]
pub(super) struct FrameTimes {
    /// The exponents of the delays that either end writes into its ACK frames (RFC 9000 §18.2).
    local_exponent: u64,
    remote_exponent: u64,
}

impl Default for FrameTimes {
    fn default() -> Self {
        Self { local_exponent: DEFAULT_EXPONENT, remote_exponent: DEFAULT_EXPONENT }
    }
}

impl FrameTimes {
    /// Takes what an end's transport parameters say.
    pub(super) fn learn(&mut self, by: QuicInitiator, parameters: &[QuicParameter]) {
        let exponent = parameters.iter().find(|parameter| parameter.id == ACK_DELAY_EXPONENT);
        let Some(exponent) = exponent.and_then(|one| super::parameters::integer(&one.value)) else {
            return;
        };
        match by {
            QuicInitiator::Local => self.local_exponent = exponent,
            QuicInitiator::Remote => self.remote_exponent = exponent,
        }
    }

    /// A frame that this end has written.
    pub(super) fn frame(&self, frame: &QuicFrame, by: QuicInitiator) -> Value {
        match frame {
            QuicFrame::Ack(ack) => self.ack(ack, by),
            other => plain(other),
        }
    }

    fn ack(&self, ack: &QuicAck, by: QuicInitiator) -> Value {
        let exponent = match by {
            QuicInitiator::Local => self.local_exponent,
            QuicInitiator::Remote => self.remote_exponent,
        };
        // RFC 9000 §18.2: an exponent above 20 is an error, which QUIC finds.
        let micros = ack.delay.saturating_mul(1 << exponent.min(20));
        let ranges: Vec<Value> = ack.ranges.iter().map(|range| range_of(*range)).collect();
        let mut value = json!({
            "frame_type": "ack",
            "ack_delay": millis(Duration::from_micros(micros)),
            "acked_ranges": ranges,
        });
        if let Some(ecn) = ack.ecn {
            value["ect0"] = json!(ecn.ect0);
            value["ect1"] = json!(ecn.ect1);
            value["ce"] = json!(ecn.ce);
        }
        value
    }
}

/// A lone packet number is written once.
fn range_of((first, last): (u64, u64)) -> Value {
    if first == last { json!([first]) } else { json!([first, last]) }
}

fn plain(frame: &QuicFrame) -> Value {
    match *frame {
        // `FrameTimes::frame` writes it.
        QuicFrame::Ack(_) => json!({ "frame_type": "ack" }),
        QuicFrame::Padding { length } => {
            json!({ "frame_type": "padding", "raw": { "length": length } })
        }
        QuicFrame::Ping => json!({ "frame_type": "ping" }),
        QuicFrame::ResetStream { stream, code, final_size } => {
            let mut value = application(code);
            value["frame_type"] = json!("reset_stream");
            value["stream_id"] = json!(stream);
            value["final_size"] = json!(final_size);
            value
        }
        QuicFrame::StopSending { stream, code } => {
            let mut value = application(code);
            value["frame_type"] = json!("stop_sending");
            value["stream_id"] = json!(stream);
            value
        }
        QuicFrame::Crypto { offset, length } => json!({
            "frame_type": "crypto", "offset": offset, "raw": { "payload_length": length },
        }),
        QuicFrame::NewToken { length } => json!({
            "frame_type": "new_token", "token": { "type": "resumption", "raw": { "length": length } },
        }),
        QuicFrame::Stream { stream, offset, length, is_last } => json!({
            "frame_type": "stream", "stream_id": stream, "offset": offset, "fin": is_last,
            "raw": { "payload_length": length },
        }),
        QuicFrame::MaxData { maximum } => json!({ "frame_type": "max_data", "maximum": maximum }),
        QuicFrame::MaxStreamData { stream, maximum } => {
            json!({ "frame_type": "max_stream_data", "stream_id": stream, "maximum": maximum })
        }
        QuicFrame::MaxStreams { kind, maximum } => json!({
            "frame_type": "max_streams", "stream_type": stream_type(kind), "maximum": maximum,
        }),
        QuicFrame::DataBlocked { limit } => json!({ "frame_type": "data_blocked", "limit": limit }),
        QuicFrame::StreamDataBlocked { stream, limit } => {
            json!({ "frame_type": "stream_data_blocked", "stream_id": stream, "limit": limit })
        }
        QuicFrame::StreamsBlocked { kind, limit } => json!({
            "frame_type": "streams_blocked", "stream_type": stream_type(kind), "limit": limit,
        }),
        QuicFrame::NewConnectionId { sequence, retire_prior_to, id } => json!({
            "frame_type": "new_connection_id", "sequence_number": sequence,
            "retire_prior_to": retire_prior_to, "connection_id_length": id.as_slice().len(),
            "connection_id": id.to_string(),
        }),
        QuicFrame::RetireConnectionId { sequence } => {
            json!({ "frame_type": "retire_connection_id", "sequence_number": sequence })
        }
        QuicFrame::PathChallenge => json!({ "frame_type": "path_challenge" }),
        QuicFrame::PathResponse => json!({ "frame_type": "path_response" }),
        QuicFrame::ConnectionClose { space, code } => {
            let mut value = error(space, code, ["error", "error"]);
            value["frame_type"] = json!("connection_close");
            value["error_space"] = json!(match space {
                QuicErrorSpace::Transport => "transport",
                QuicErrorSpace::Application => "application",
            });
            value
        }
        QuicFrame::HandshakeDone => json!({ "frame_type": "handshake_done" }),
        // draft-ietf-quic-ack-frequency has no names in qlog.
        QuicFrame::ImmediateAck => unknown(0x1f),
        QuicFrame::AckFrequency { .. } => unknown(0xaf),
        QuicFrame::Datagram { length } => {
            json!({ "frame_type": "datagram", "raw": { "payload_length": length } })
        }
        QuicFrame::Unknown { kind } => unknown(kind),
    }
}

fn unknown(kind: u64) -> Value {
    json!({ "frame_type": "unknown", "frame_type_bytes": kind })
}

fn stream_type(kind: QuicStreamType) -> &'static str {
    match kind {
        QuicStreamType::Bidirectional => "bidirectional",
        QuicStreamType::Unidirectional => "unidirectional",
    }
}

/// An error code of HTTP/3's.
fn application(code: u64) -> Value {
    error(QuicErrorSpace::Application, code, ["error", "error"])
}

/// An error code by its name, under the first key for QUIC's own and the second for HTTP/3's.
pub(super) fn error(space: QuicErrorSpace, code: u64, [own, above]: [&str; 2]) -> Value {
    let (key, name) = match space {
        QuicErrorSpace::Transport => (own, transport_error(code)),
        QuicErrorSpace::Application => (above, http3::error_name(code).map(str::to_owned)),
    };
    match name {
        Some(name) => json!({ key: name }),
        None => json!({ key: "unknown", "error_code": code }),
    }
}

/// qlog writes RFC 9000's names in small letters, and TLS's alerts with their number.
fn transport_error(code: u64) -> Option<String> {
    let name = quic_error_name(code)?.to_ascii_lowercase();
    Some(if code >= 0x100 { format!("{name}_0x{code:x}") } else { name })
}

const DEFAULT_EXPONENT: u64 = 3;
const ACK_DELAY_EXPONENT: u64 = 0x0a;
