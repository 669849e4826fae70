//! Recognises the protocol of a connection without ALPN by its first bytes.

use crate::protocol::Protocol;

/// What the first bytes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recognised {
    /// Too little has arrived.
    NotYet,
    /// This protocol.
    Speaks(Protocol),
    /// One of these protocols, which begin alike. Used only where the server is configured for one of them.
    OneOf(&'static [Protocol]),
    /// No known protocol. The peer gets no answer, because it could misread one.
    Nothing,
}

/// Looks at the first bytes. RFC 9113 §3.4: no HTTP/1.1 request begins like the preface of HTTP/2;
/// RFC 9112 §3: a request line names its version. SPDY §2.2.1: a control frame of version 3 begins with 80 03,
/// which no text does. The first bytes of SPDY/3 and SPDY/3.1 are the same.
pub(crate) fn recognise(seen: &[u8]) -> Recognised {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    /// Longer lines are left to HTTP/1.1, which has a limit and an answer for them.
    const LINE: usize = 8 * 1024;
    const SPDY_CONTROL: &[u8] = &[0x80, 0x03];
    if seen.starts_with(&SPDY_CONTROL[..1]) {
        return match seen.get(..2) {
            None => Recognised::NotYet,
            Some(SPDY_CONTROL) => Recognised::OneOf(&[Protocol::Spdy31, Protocol::Spdy3]),
            Some(_) => Recognised::Nothing,
        };
    }
    let common = seen.len().min(PREFACE.len());
    if seen[..common] == PREFACE[..common] {
        let is_whole = common == PREFACE.len();
        return if is_whole { Recognised::Speaks(Protocol::Http2) } else { Recognised::NotYet };
    }
    // RFC 9112 §2.2: empty lines may stand before a request.
    let blank = seen.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let line = &seen[blank..];
    match line.iter().position(|&byte| byte == b'\n') {
        Some(end) if !line[..end].windows(5).any(|window| window == b"HTTP/") => {
            Recognised::Nothing
        }
        None if seen.len() < LINE => Recognised::NotYet,
        _ => Recognised::Speaks(Protocol::Http1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_protocol_however_they_are_cut() {
        let name = |seen: &[u8]| match recognise(seen) {
            Recognised::NotYet => "not yet",
            Recognised::Speaks(protocol) => protocol.name(),
            Recognised::OneOf(alike) => {
                assert_eq!(alike, [Protocol::Spdy31, Protocol::Spdy3]);
                "spdy"
            }
            Recognised::Nothing => "nothing",
        };
        assert_eq!(name(b""), "not yet");
        assert_eq!(name(b"PRI * HTTP/2."), "not yet");
        assert_eq!(name(b"PRI * HTTP/2.0"), "h2");
        assert_eq!(name(b"PRI * HTTP/2.0\r\n\r\nSM"), "h2");
        assert_eq!(name(b"GET / HTTP/1.1\r"), "not yet");
        assert_eq!(name(b"\r\nGET / HTTP/1.1\r\n"), "http/1.1");
        assert_eq!(name(b"GET /a b HTTP/1.1\r\n"), "http/1.1");
        assert_eq!(name(b"INVALID CONNECTION PREFACE\r\n\r\n"), "nothing");
        assert_eq!(name(b"\x80"), "not yet");
        assert_eq!(name(b"\x80\x03\x00\x01"), "spdy");
        assert_eq!(name(b"\x80\x02\x00\x01"), "nothing");
        assert_eq!(name(&[b'x'; 8 * 1024]), "http/1.1");
    }
}
