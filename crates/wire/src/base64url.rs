//! RFC 4648 §5, without padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0, |group, at| {
            group << 8 | u32::from(chunk.get(at).copied().unwrap_or_default())
        });
        for at in 0..=chunk.len() {
            let digit = group >> (18 - 6 * at) & 63;
            text.push(char::from(ALPHABET[digit as usize]));
        }
    }
    text
}

/// None where it is none.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut group = 0;
        for at in 0..4 {
            group = group << 6 | u32::from(chunk.get(at).map_or(Some(0), |&byte| digit(byte))?);
        }
        let [_, decoded @ ..] = group.to_be_bytes();
        bytes.extend_from_slice(&decoded[..chunk.len() - 1]);
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}
