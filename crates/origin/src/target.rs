//! A request's target taken apart: once decoded, a path is a list of plain names. The one rule: what
//! could mean two things to two readers (RFC 3986 §7.3: encoded slashes, dots, NUL) is refused here.

use std::borrow::Cow;

/// The path and query of a request (RFC 9112 §3.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// Names joined by single slashes, decoded, without a slash at either end.
    pub(crate) path: Cow<'a, str>,
    /// Whether the path ended in a slash.
    pub(crate) is_folder: bool,
    /// What follows the question mark, as it was sent; empty for none.
    pub(crate) query: &'a str,
}

/// The target names no path that could be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadTarget(pub(crate) &'static str);

impl<'a> Target<'a> {
    pub(crate) fn parse(target: &'a str) -> Result<Self, BadTarget> {
        let (raw, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(names) = raw.strip_prefix('/') else {
            return Err(BadTarget("the path does not begin with a slash"));
        };
        // Most targets are plain names already, and mean what they say.
        if is_plain(names) {
            let path = names.strip_suffix('/').unwrap_or(names);
            return Ok(Self { path: path.into(), is_folder: raw.ends_with('/'), query });
        }
        let mut path = String::with_capacity(names.len());
        for name in names.split('/').filter(|name| !name.is_empty()) {
            if !path.is_empty() {
                path.push('/');
            }
            let start = path.len();
            decode(name, &mut path)?;
            if matches!(&path[start..], "." | "..") {
                return Err(BadTarget("the path has a dot segment"));
            }
        }
        Ok(Self { path: path.into(), is_folder: raw.ends_with('/'), query })
    }

    /// The first value of a parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// The first name in the query that is none of `known`.
    pub(crate) fn unknown_parameter(&self, known: &[&str]) -> Option<&'a str> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let mut names = pairs.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
        names.find(|name| !known.contains(name))
    }

    /// The path with a slash at its end, encoded, and the query: where a folder's own address is.
    pub(crate) fn folder_location(&self) -> String {
        let mut location = String::from("/");
        for byte in self.path.bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
            if plain {
                location.push(char::from(byte));
            } else {
                location.push_str(&format!("%{byte:02X}"));
            }
        }
        location.push('/');
        if !self.query.is_empty() {
            location.push('?');
            location.push_str(self.query);
        }
        location
    }
}

/// Whether decoding would change nothing but a slash at the end: names of bytes without a meaning of their own,
/// none of which begins with a dot, between single slashes.
fn is_plain(names: &str) -> bool {
    let mut previous = b'/';
    for byte in names.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_~!$&'()*+,;=:@".contains(&byte);
        if !plain && (!matches!(byte, b'/' | b'.') || previous == b'/') {
            return false;
        }
        previous = byte;
    }
    true
}

/// Appends one decoded name.
fn decode(name: &str, path: &mut String) -> Result<(), BadTarget> {
    if !name.contains('%') {
        if name.contains(['\0', '\\']) {
            return Err(BadTarget("the path has a NUL or a backslash"));
        }
        path.push_str(name);
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (rest.next().and_then(digit), rest.next().and_then(digit))
        else {
            return Err(BadTarget("a percent sign is not followed by two hexadecimal digits"));
        };
        bytes.push(high << 4 | low);
    }
    if bytes.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0)) {
        return Err(BadTarget("the path has an encoded slash, backslash or NUL"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| BadTarget("the path is not UTF-8"))?;
    path.push_str(text);
    Ok(())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        let target = Target::parse("/a%20b//c%2525/?x=1&delay_ms=20").unwrap();
        assert_eq!(target.path, "a b/c%25");
        for plain in ["/a", "/a/", "/a/b.html", "/"] {
            let names = plain.trim_matches('/');
            assert_eq!(Target::parse(plain).map(|target| target.path), Ok(names.into()), "{plain}");
        }
        assert!(target.is_folder);
        assert_eq!(target.parameter("delay_ms"), Some("20"));
        assert_eq!(target.parameter("delay"), None);
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        for path in [
            "",
            "a",
            "/..",
            "/a/../b",
            "/%2e%2e/b",
            "/.",
            "/a%2Fb",
            "/a%5cb",
            "/a%00",
            "/%",
            "/%g0",
            "/%ff",
        ] {
            assert!(Target::parse(path).is_err(), "{path}");
        }
        assert_eq!(Target::parse("/...").map(|target| target.path), Ok("...".into()));
    }

    #[test]
    fn a_folder_location_never_names_another_host() {
        let target = Target::parse("//evil.example/%0d%0aX:y").unwrap();
        assert_eq!(target.folder_location(), "/evil.example/%0D%0AX:y/");
    }
}
