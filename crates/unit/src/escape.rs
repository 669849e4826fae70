//! Text from somebody else, made safe to print.
//!
//! A terminal obeys control characters, and bidirectional controls make a line read other than it
//! is. Whatever a server, a file or another program sent goes through [`escape`] before it is
//! printed. Nothing else in the tree decides which characters are safe.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces every character that a terminal obeys or that reorders a line, so that `text` prints
/// on one line as it is.
///
/// Replaced are C0 controls (line feed and tab too), DEL, C1 controls, the line and paragraph
/// separators, and the bidirectional controls of Unicode (UAX #9). Each is written as Rust writes
/// it: `\n`, `\u{1b}`. A backslash stays as it is, so the result cannot be read back.
///
/// ```
/// assert_eq!(unit::escape("plain"), "plain");
/// assert_eq!(unit::escape("\x1b]0;title\x07"), "\\u{1b}]0;title\\u{7}");
/// ```
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, is_unsafe)
}

/// As [`escape`], for text that may have several lines: line feeds and tabs stay.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| is_unsafe(c) && c != '\n' && c != '\t')
}

/// As [`escape`], for bytes. What is no UTF-8 is written as `\xff`.
#[must_use]
pub fn escape_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return escape(text);
    }
    let mut safe = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        safe.push_str(&escape(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(safe, "\\x{byte:02x}");
        }
    }
    Cow::Owned(safe)
}

/// As [`escape`], for JSON text: the same characters in strings become `\u009b`, which leaves the value as it is.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let replaced = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.contains(replaced) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if replaced(c) => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

fn escape_if(text: &str, replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&replaced) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if replaced(c) => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether [`escape`] replaces a character. For texts whose unsafe characters are dropped or replaced by a fixed one.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_bidirectional_control(c)
}

/// The characters of Unicode's property `Bidi_Control`.
fn is_bidirectional_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_is_written_out_and_nothing_else() {
        let controls = (0..0x20).chain(0x7f..0xa0).filter_map(char::from_u32);
        let bidirectional =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{2028}\u{2029}";
        for c in controls.chain(bidirectional.chars()) {
            let safe = escape(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(safe.starts_with('\\'), "{c:?} became {safe:?}");
            assert!(safe.bytes().all(|byte| byte.is_ascii_graphic()), "{c:?} became {safe:?}");
        }
        let harmless = r"C:\path, Grüße, 日本語, 👍🏽, שלום";
        assert!(matches!(escape(harmless), Cow::Borrowed(text) if text == harmless));
    }

    #[test]
    fn several_lines_keep_their_breaks() {
        assert_eq!(escape_lines("a\n\tb\r\x1b[2J"), "a\n\tb\\r\\u{1b}[2J");
        assert_eq!(escape("a\nb"), "a\\nb");
    }

    #[test]
    fn json_stays_the_same_value() {
        assert_eq!(escape_json("{\"a\": \"\u{9b}2J\u{7f}\"}\n"), "{\"a\": \"\\u009b2J\\u007f\"}\n");
    }

    #[test]
    fn bytes_that_are_no_text_are_written_in_hexadecimal() {
        assert_eq!(escape_bytes(b"a\x9b2J\xff"), "a\\x9b2J\\xff");
        assert_eq!(escape_bytes(b"\x1b[m\xc2\x9bK"), "\\u{1b}[m\\u{9b}K");
        assert_eq!(escape_bytes(b"plain"), "plain");
    }
}
