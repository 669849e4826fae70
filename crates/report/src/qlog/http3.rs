//! HTTP/3's frames as qlog has them (draft-ietf-quic-qlog-h3-events).

use serde_json::{Value, json};
use trace::{ControlFrame, PrioritizedElement};

/// A frame of a request's stream, by the RFC's name of its type; None for a frame of another protocol.
pub(super) fn message_frame(stream: u64, frame: &str, length: u64) -> Option<Value> {
    let raw = json!({ "payload_length": length });
    let frame = match frame {
        "DATA" => json!({ "frame_type": "data", "raw": raw }),
        "HEADERS" => json!({ "frame_type": "headers", "headers": [], "raw": raw }),
        _ => return None,
    };
    Some(json!({ "stream_id": stream, "frame": frame }))
}

/// A frame of a control stream.
pub(super) fn control_frame(stream: u64, frame: &ControlFrame<'_>) -> Value {
    let frame = match *frame {
        ControlFrame::Settings(settings) => {
            let settings: Vec<Value> = settings.iter().map(setting).collect();
            json!({ "frame_type": "settings", "settings": settings })
        }
        ControlFrame::GoAway { id } => json!({ "frame_type": "goaway", "id": id }),
        ControlFrame::CancelPush { push } => {
            json!({ "frame_type": "cancel_push", "push_id": push })
        }
        ControlFrame::MaxPushId { push } => {
            json!({ "frame_type": "max_push_id", "push_id": push })
        }
        ControlFrame::PriorityUpdate { element, value } => {
            let (key, id) = match element {
                PrioritizedElement::Request(stream) => ("stream_id", stream),
                PrioritizedElement::Push(push) => ("push_id", push),
            };
            let value = String::from_utf8_lossy(value);
            json!({ "frame_type": "priority_update", key: id, "priority_field_value": value })
        }
        ControlFrame::Unknown { kind } => {
            let name = if is_reserved(kind) { "reserved" } else { "unknown" };
            json!({ "frame_type": name, "frame_type_bytes": kind })
        }
    };
    json!({ "stream_id": stream, "frame": frame })
}

fn setting(&(id, value): &(u64, u64)) -> Value {
    let name = match id {
        0x01 => "settings_qpack_max_table_capacity",
        0x06 => "settings_max_field_section_size",
        0x07 => "settings_qpack_blocked_streams",
        0x08 => "settings_enable_connect_protocol",
        0x33 => "settings_h3_datagram",
        id if is_reserved(id) => "reserved",
        id => return json!({ "name": "unknown", "name_bytes": id, "value": value }),
    };
    json!({ "name": name, "value": value })
}

/// RFC 9114 §7.2.8: numbers that mean nothing.
fn is_reserved(number: u64) -> bool {
    number >= 0x21 && (number - 0x21).is_multiple_of(0x1f)
}

/// RFC 9114 §8.1.
pub(super) fn error_name(code: u64) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "http_no_error",
        "http_general_protocol_error",
        "http_internal_error",
        "http_stream_creation_error",
        "http_closed_critical_stream",
        "http_frame_unexpected",
        "http_frame_error",
        "http_excessive_load",
        "http_id_error",
        "http_settings_error",
        "http_missing_settings",
        "http_request_rejected",
        "http_request_cancelled",
        "http_request_incomplete",
        // Its name in qlog; the RFC calls it H3_MESSAGE_ERROR.
        "http_early_response",
        "http_connect_error",
        "http_version_fallback",
    ];
    let index = usize::try_from(code.checked_sub(0x100)?).ok()?;
    NAMES.get(index).copied()
}
