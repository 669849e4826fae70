//! Percent-encoding (RFC 3986 §2.1).

/// The bytes that `text` stands for: `%3A` and the like are one. A `%` before anything but two hexadecimal digits stays.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_two_digits_and_everything_else_stays() {
        for (text, bytes) in [
            ("a%3Ab", &b"a:b"[..]),
            ("%e2%82%AC", "€".as_bytes()),
            ("100%", b"100%"),
            ("%4", b"%4"),
            ("%zz%+5", b"%zz%+5"),
            ("%%41", b"%A"),
            ("", b""),
        ] {
            assert_eq!(decoded(text), bytes, "{text}");
        }
    }
}
