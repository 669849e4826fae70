//! The proof that a server understood the handshake (RFC 6455 §4.2.2): SHA-1 over key and GUID. It is
//! no secret: it only tells a WebSocket server from one that answers anything.

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The nonce of a client (RFC 6455 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The value of `Sec-WebSocket-Key`.
    pub fn encode(self) -> String {
        base64(&self.0)
    }

    /// Whether a field's value is the base64 of 16 bytes (RFC 6455 §4.2.1).
    pub fn is_encoded(value: &[u8]) -> bool {
        let (Some(digits), Some(b"==")) = (value.get(..22), value.get(22..)) else { return false };
        digits.iter().all(|digit| ALPHABET.contains(digit))
    }
}

/// The value of `Sec-WebSocket-Accept` for that of `Sec-WebSocket-Key`.
pub fn accept(key: &[u8]) -> String {
    let mut digest = sha1_smol::Sha1::new();
    digest.update(key);
    digest.update(GUID);
    base64(&digest.digest().bytes())
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0_u32, |bits, (index, byte)| bits | u32::from(*byte) << (16 - 8 * index));
        for digit in 0..4 {
            let is_padding = digit > group.len();
            let value = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if is_padding { '=' } else { char::from(ALPHABET[value]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_answered_as_it_says() {
        // RFC 6455 §1.3
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(Key(*b"the sample nonce").encode(), "dGhlIHNhbXBsZSBub25jZQ==");
    }

    #[test]
    fn base64_is_that_of_its_rfc() {
        // RFC 4648 §10
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_key_has_sixteen_bytes() {
        assert!(Key::is_encoded(b"dGhlIHNhbXBsZSBub25jZQ=="));
        for value in [
            "",
            "dGhlIHNhbXBsZSBub25jZQ",
            "dGhlIHNhbXBsZSBub25jZQ=a",
            "dGhlIHNhbXBsZSBub25jZ===",
            "ZG9n",
        ] {
            assert!(!Key::is_encoded(value.as_bytes()), "{value}");
        }
    }
}
