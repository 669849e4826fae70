//! The host and port of a request, by one grammar over every protocol: a gateway passes it on as it is.

/// RFC 3986 §3.2, without user information (RFC 9110 §4.2.4): host and port. None where it is no such thing.
pub(crate) fn authority(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    // A name or an address of version 4, with or without a port, is told by its bytes alone.
    let colon = bytes.iter().position(|&byte| byte == b':').unwrap_or(bytes.len());
    let (name, port) = bytes.split_at(colon);
    // RFC 9110 §4.2.1: an http URI without a host is invalid.
    if name.is_empty() && !port.is_empty() {
        return None;
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    if name.iter().all(plain) && port.iter().skip(1).all(u8::is_ascii_digit) {
        return Some(text);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, ""),
    };
    let literal = host.strip_prefix('[').map(|inner| inner.strip_suffix(']'));
    let is_host = match literal {
        Some(Some(inner)) => {
            inner.bytes().all(|b| b.is_ascii_alphanumeric() || b":.%-_~".contains(&b))
        }
        Some(None) => false,
        None => host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'.' || b"-_~!$&'()*+,;=%".contains(&b)),
    };
    (is_host && port.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_and_nothing_else() {
        for text in ["", "a.test", "a.test:8443", "[::1]:80", "a_b.test", "127.0.0.1"] {
            assert_eq!(authority(text.as_bytes()), Some(text));
        }
        for text in ["a/b", "u@a.test", "a\"<x>", "a b", "[::1", "a:8x", "a#b", ":80", ":"] {
            assert_eq!(authority(text.as_bytes()), None, "{text}");
        }
    }
}
