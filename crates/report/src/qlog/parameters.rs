//! Transport parameters as qlog has them (RFC 9000 §18.2).

use super::initiator;
use serde_json::{Value, json};
use trace::{QuicInitiator, QuicParameter};

/// The data of `parameters_set`.
pub(super) fn set(by: QuicInitiator, parameters: &[QuicParameter]) -> Value {
    let mut data = json!({ "initiator": initiator(by) });
    let mut unknown = Vec::new();
    for QuicParameter { id, value } in parameters {
        match name(*id) {
            Some((name, Kind::Integer)) => {
                if let Some(number) = integer(value) {
                    data[name] = json!(number);
                }
            }
            Some((name, Kind::Bytes)) => data[name] = json!(hexadecimal(value)),
            Some((name, Kind::Flag)) => data[name] = json!(true),
            Some((_, Kind::Secret)) => {}
            None => unknown.push(json!({ "id": id, "value": hexadecimal(value) })),
        }
    }
    if !unknown.is_empty() {
        data["unknown_parameters"] = json!(unknown);
    }
    data
}

enum Kind {
    Integer,
    Bytes,
    Flag,
    Secret,
}

fn name(id: u64) -> Option<(&'static str, Kind)> {
    Some(match id {
        0x00 => ("original_destination_connection_id", Kind::Bytes),
        0x01 => ("max_idle_timeout", Kind::Integer),
        0x02 => ("stateless_reset_token", Kind::Secret),
        0x03 => ("max_udp_payload_size", Kind::Integer),
        0x04 => ("initial_max_data", Kind::Integer),
        0x05 => ("initial_max_stream_data_bidi_local", Kind::Integer),
        0x06 => ("initial_max_stream_data_bidi_remote", Kind::Integer),
        0x07 => ("initial_max_stream_data_uni", Kind::Integer),
        0x08 => ("initial_max_streams_bidi", Kind::Integer),
        0x09 => ("initial_max_streams_uni", Kind::Integer),
        0x0a => ("ack_delay_exponent", Kind::Integer),
        0x0b => ("max_ack_delay", Kind::Integer),
        0x0c => ("disable_active_migration", Kind::Flag),
        0x0e => ("active_connection_id_limit", Kind::Integer),
        0x0f => ("initial_source_connection_id", Kind::Bytes),
        0x10 => ("retry_source_connection_id", Kind::Bytes),
        0x20 => ("max_datagram_frame_size", Kind::Integer),
        0x2ab2 => ("grease_quic_bit", Kind::Flag),
        _ => return None,
    })
}

/// A value that is one variable-length integer (RFC 9000 §16).
pub(super) fn integer(value: &[u8]) -> Option<u64> {
    let (&first, rest) = value.split_first()?;
    if value.len() != 1 << (first >> 6) {
        return None;
    }
    Some(rest.iter().fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte)))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
