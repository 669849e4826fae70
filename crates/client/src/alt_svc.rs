//! The field `Alt-Svc` (RFC 7838 §3), as far as it offers HTTP/3 on the host that answered.

/// The port of HTTP/3 on the same host; None where the value offers none: `clear`, or for no time at all (`ma=0`).
pub(crate) fn http3_port(value: &[u8]) -> Option<u16> {
    let value = std::str::from_utf8(value).ok()?;
    value.split(',').find_map(|alternative| {
        let mut parts = alternative.split(';');
        let (protocol, authority) = parts.next()?.split_once('=')?;
        let authority = authority.trim().strip_prefix('"')?.strip_suffix('"')?;
        let port = authority.strip_prefix(':')?.parse().ok()?;
        let is_over = parts.any(|parameter| {
            let parameter = parameter.split_once('=');
            parameter.is_some_and(|(name, value)| {
                name.trim() == "ma" && value.trim().trim_matches('"') == "0"
            })
        });
        (protocol.trim() == "h3" && !is_over).then_some(port)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http3_on_the_same_host_is_found_among_the_alternatives() {
        for (value, port) in [
            ("h3=\":443\"; ma=86400", Some(443)),
            ("h2=\":444\", h3=\":8443\"", Some(8443)),
            ("h3=\"other.test:443\"", None),
            ("h3-29=\":443\"", None),
            ("h3=:443", None),
            ("h3=\":70000\"", None),
            ("clear", None),
            ("h3=\":443\"; ma=0", None),
            ("h3=\":443\"; persist=1; ma=\"0\", h3=\":444\"; ma=10", Some(444)),
            ("", None),
        ] {
            assert_eq!(http3_port(value.as_bytes()), port, "{value}");
        }
    }
}
