//! The messages of a WebSocket in a recording, as Chromium's developer tools write them (`_webSocketMessages`), and as
//! a replay sends them.

use crate::exchange::{Message, MessageKind, Sender};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use std::time::Duration;

/// A message with its time, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimedMessage {
    at: Option<i64>,
    from: Sender,
    kind: MessageKind,
    data: Vec<u8>,
}

/// Bytes of the messages of one WebSocket that are kept.
const MOST_BYTES: usize = 16 << 20;

/// Reads them; what is no message (a ping, a close) is left out.
pub(super) fn messages(value: &Value) -> Vec<TimedMessage> {
    value.as_array().into_iter().flatten().filter_map(message).collect()
}

fn message(value: &Value) -> Option<TimedMessage> {
    let from = match value.get("type")?.as_str()? {
        "send" => Sender::Client,
        "receive" => Sender::Server,
        _ => return None,
    };
    let text = value.get("data")?.as_str()?;
    // RFC 6455 §11.8.
    let (kind, data) = match value.get("opcode").and_then(Value::as_u64).unwrap_or(1) {
        1 => (MessageKind::Text, text.as_bytes().to_vec()),
        2 => (MessageKind::Binary, BASE64_STANDARD.decode(text).ok()?),
        _ => return None,
    };
    let seconds = value.get("time").and_then(Value::as_f64).filter(|s| s.is_finite());
    let at = seconds.map(|seconds| (seconds * 1e9) as i64);
    Some(TimedMessage { at, from, kind, data })
}

/// Between which times messages count, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until {
    /// When the WebSocket was open at the latest.
    pub(super) opened: i64,
    /// When the load was over.
    pub(super) end: i64,
    /// Whether the gaps between messages are replayed.
    pub(super) gaps: bool,
}

/// The messages that are replayed, with the gaps between them; the first one's counts from the opening. Also how many are
/// left out: those after the load, and those after the first 16 MiB.
pub(super) fn replayed(messages: &[TimedMessage], until: Until) -> (Vec<Message>, u32) {
    let Until { opened, end, gaps } = until;
    let first = messages.first().and_then(|message| message.at);
    let mut before = first.map_or(opened, |first| first.min(opened));
    let mut bytes = 0;
    let mut kept = Vec::new();
    for message in messages {
        let at = message.at.unwrap_or(before).max(before);
        bytes += message.data.len();
        if at > end || bytes > MOST_BYTES {
            break;
        }
        let gap = Duration::from_nanos(u64::try_from(at - before).unwrap_or(0));
        before = at;
        let TimedMessage { from, kind, ref data, .. } = *message;
        let after = if gaps { gap } else { Duration::ZERO };
        kept.push(Message { from, kind, after, data: data.clone() });
    }
    let left_out = (messages.len() - kept.len()) as u32;
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_keep_their_order_their_gaps_and_their_bytes() {
        let value = json!([
            {"type": "send", "time": 10.5, "opcode": 1, "data": "hello"},
            {"type": "receive", "time": 10.75, "opcode": 2, "data": "AP8="},
            {"type": "receive", "time": 10.7, "opcode": 9, "data": ""},
            {"type": "receive", "time": 99.0, "opcode": 1, "data": "late"},
        ]);
        let all = messages(&value);
        let until = Until { opened: 10_000_000_000, end: 20_000_000_000, gaps: true };
        let (kept, left_out) = replayed(&all, until);
        assert_eq!((kept.len(), left_out), (2, 1));
        assert_eq!((kept[0].from, kept[0].after), (Sender::Client, Duration::from_millis(500)));
        assert_eq!(
            (kept[1].data.as_slice(), kept[1].after),
            (&[0, 255][..], Duration::from_millis(250))
        );
        let (kept, _) = replayed(&all, Until { gaps: false, ..until });
        assert_eq!(kept[1].after, Duration::ZERO);
        assert!(messages(&json!({"type": "send"})).is_empty());
    }
}
