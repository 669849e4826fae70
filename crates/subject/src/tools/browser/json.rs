//! JSON that a browser wrote. A string of JavaScript may hold half of a surrogate pair, such as an emoji cut by `slice`. JSON
//! writes it as an escape (`\ud83d`) that no text of Unicode has, and serde_json refuses the whole message.

use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Reads `bytes`. Lone surrogates become U+FFFD, as in a browser's own TextEncoder.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes).or_else(|error| match well_formed(bytes) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(bytes) => serde_json::from_slice(&bytes),
    })
}

/// JSON whose escapes of lone surrogates are replaced.
fn well_formed(json: &[u8]) -> Cow<'_, [u8]> {
    let mut json = Cow::Borrowed(json);
    let mut at = 0;
    while at < json.len() {
        at += match (json[at], unit(&json[at..])) {
            (b'\\', Some(0xd800..=0xdbff)) if is_low(&json[at + ESCAPE..]) => 2 * ESCAPE,
            (b'\\', Some(0xd800..=0xdfff)) => {
                json.to_mut()[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                ESCAPE
            }
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    json
}

fn is_low(text: &[u8]) -> bool {
    unit(text).is_some_and(|unit| (0xdc00..=0xdfff).contains(&unit))
}

/// The UTF-16 code unit of the escape at the start of `text`.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..ESCAPE)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Bytes of `\uXXXX`.
const ESCAPE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn half_a_surrogate_pair_costs_no_more_than_itself() {
        for (text, expected) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\uDE00 \ud83d\ud83d\ude00 a""#, "\u{fffd} \u{fffd}😀 a"),
            (r#""\\ud83d \ud83d\n\" \ud83d""#, "\\ud83d \u{fffd}\n\" \u{fffd}"),
        ] {
            assert_eq!(read_json::<Value>(text.as_bytes()).unwrap(), json!(expected), "{text}");
        }
        for wrong in [&b"\"\\ud8"[..], b"\"\\ud83d", b"{", b"\"\\", b"\"\xff\""] {
            assert!(read_json::<Value>(wrong).is_err(), "{wrong:?}");
        }
    }
}
