//! The URLs that a page is made of: http and https, split into the parts that a fetch needs.
//!
//! A path keeps every character that RFC 3986 allows. Other characters are percent-encoded. The one rule: nothing else
//! changes a path.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use thiserror::Error;

/// The URL's scheme, as in the page. It does not decide which transport serves the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// In the clear, port 80.
    Http,
    /// Over TLS, port 443.
    Https,
}

impl Scheme {
    /// The port where none is written.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// An absolute http or https URL without user info and fragment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Url {
    /// http or https.
    pub scheme: Scheme,
    /// Host name (A-labels) or address literal, in lower case; an IPv6 literal keeps its brackets.
    pub host: String,
    /// The port where it is not the scheme's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Path and query, from the first slash: the target of the request line.
    pub path: String,
}

/// Why a text is not a URL that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// The scheme is neither http nor https.
    #[error("scheme `{0}` is not fetched over http")]
    Scheme(String),
    /// It does not begin with a scheme.
    #[error("no scheme: an absolute http or https URL is expected")]
    Relative,
    /// The host is missing or not a host name: a byte that is not allowed, an empty label or one of more than 63 bytes.
    #[error("`{0}` is not a host name")]
    Host(String),
    /// The port is not a number from 1 to 65535.
    #[error("`{0}` is not a port")]
    Port(String),
}

impl Url {
    /// Resolves `reference`, found on the page with this URL (RFC 3986 §5.2).
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        let reference = tidy(reference);
        let reference = without_fragment(&reference);
        if split_scheme(reference).is_some() {
            return reference.parse();
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return format!("{}://{rest}", self.scheme).parse();
        }
        let own_path = self.path.split('?').next().unwrap_or("/");
        let joined = match reference.as_bytes().first() {
            None => self.path.clone(),
            Some(b'/' | b'\\') => reference.to_owned(),
            Some(b'?') => format!("{own_path}{reference}"),
            Some(_) => {
                let folder = own_path.rfind('/').map_or("/", |slash| &own_path[..=slash]);
                format!("{folder}{reference}")
            }
        };
        Ok(Self { path: encode_path(&without_dot_segments(&joined)), ..self.clone() })
    }

    /// The value of the Host field: the host, and the port if it is not the scheme's default.
    pub fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(self.scheme.default_port())
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(input: &str) -> Result<Self, UrlError> {
        let input = tidy(input);
        let input = without_fragment(&input);
        let (scheme, rest) = split_scheme(input).ok_or(UrlError::Relative)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => return Err(UrlError::Scheme(other.to_owned())),
        };
        let rest = rest.strip_prefix("//").ok_or_else(|| UrlError::Host(String::new()))?;
        let authority_end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_end);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(authority)?;
        let port = port.filter(|&port| port != scheme.default_port());
        let path = match path.as_bytes().first() {
            Some(b'/') => encode_path(path),
            Some(b'\\') => encode_path(&path.replacen('\\', "/", 1)),
            _ => encode_path(&format!("/{path}")),
        };
        Ok(Self { scheme, host: host_name(host)?, port, path })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)
    }
}

/// Whether `raw` had to be rewritten to become `url`'s path.
pub(crate) fn path_was_mended(raw: &str, url: &Url) -> bool {
    let tidied = tidy(raw);
    let kept = without_fragment(&tidied);
    let bare = url.path == "/" || url.path.starts_with("/?");
    !(kept.ends_with(&url.path) || bare && kept.ends_with(&url.path[1..]))
}

/// What browsers remove from a URL first: surrounding white space, tabs and newlines.
fn tidy(input: &str) -> String {
    let trimmed = input.trim_matches(|c: char| c <= ' ');
    trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect()
}

fn without_fragment(input: &str) -> &str {
    input.split('#').next().unwrap_or("")
}

/// Splits `scheme:rest` (RFC 3986 §3.1).
fn split_scheme(input: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = input.split_once(':')?;
    let mut bytes = scheme.bytes();
    let begins = bytes.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    (begins && goes_on).then_some((scheme, rest))
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let literal_end = authority.rfind(']').unwrap_or(0);
    let Some(colon) = authority[literal_end..].rfind(':').map(|at| at + literal_end) else {
        return Ok((authority, None));
    };
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    match port.parse::<u16>() {
        _ if port.is_empty() => Ok((host, None)),
        Ok(number) if number > 0 && port.bytes().all(|b| b.is_ascii_digit()) => {
            Ok((host, Some(number)))
        }
        _ => Err(UrlError::Port(port.to_owned())),
    }
}

/// The host in lower case; a name in Unicode becomes its A-label (UTS 46).
fn host_name(host: &str) -> Result<String, UrlError> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let refused = || UrlError::Host(host.to_owned());
    if let Some(literal) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        literal.parse::<Ipv6Addr>().map_err(|_| refused())?;
        return Ok(host.to_ascii_lowercase());
    }
    let name = match host.is_ascii() {
        true => host.to_ascii_lowercase(),
        false => idna::domain_to_ascii(host).map_err(|_| refused())?,
    };
    if name.len() > LONGEST_NAME || !name.split('.').all(is_label) {
        return Err(refused());
    }
    Ok(name)
}

/// RFC 1035 §2.3.4.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// RFC 1123 §2.1, and the underscore, which names in use have. No certificate can be checked against another label.
fn is_label(label: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !label.is_empty()
        && label.len() <= LONGEST_LABEL
        && label.bytes().all(fits)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Percent-encodes what RFC 3986 §3.3 and §3.4 do not allow in a path or query. A `%` is kept, so that an already
/// encoded path is sent unchanged.
fn encode_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        let legal = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%[]".contains(&byte);
        if legal {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// RFC 3986 §5.2.4, on the path alone.
fn without_dot_segments(path_and_query: &str) -> String {
    let (path, query) = match path_and_query.find('?') {
        Some(mark) => path_and_query.split_at(mark),
        None => (path_and_query, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split(['/', '\\']).skip(1).collect();
    let last = segments.len().saturating_sub(1);
    for (index, &segment) in segments.iter().enumerate() {
        match segment {
            ".." => {
                kept.pop();
            }
            "." => {}
            _ => kept.push(segment),
        }
        if index == last && matches!(segment, "." | "..") {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_splits_into_the_parts_of_a_request() {
        let parsed = url("HTTPS://user:pass@Example.COM.:8443/a/b?q=1|2#frag");
        assert_eq!(parsed.to_string(), "https://example.com:8443/a/b?q=1%7C2");
        assert_eq!(url("http://h").path, "/");
        assert_eq!(url("http://h?x").path, "/?x");
        assert_eq!(url("http://h:80/").port, None);
        assert_eq!(url("http://[::1]:8080/").host, "[::1]");
        assert_eq!(url("http://[::1]/").port(), 80);
    }

    #[test]
    fn what_cannot_be_fetched_says_why() {
        assert_eq!("data:image/gif;base64,R0".parse::<Url>(), Err(UrlError::Scheme("data".into())));
        assert_eq!("/a".parse::<Url>(), Err(UrlError::Relative));
        assert_eq!("http://h:99999/".parse::<Url>(), Err(UrlError::Port("99999".into())));
        assert_eq!("http:///a".parse::<Url>(), Err(UrlError::Host(String::new())));
        assert!("http://bad host/".parse::<Url>().is_err());
        assert!("http://h:+80/".parse::<Url>().is_err());
    }

    #[test]
    fn a_host_in_unicode_becomes_its_a_label() {
        assert_eq!(
            url("https://BÜCHER.example/ü").to_string(),
            "https://xn--bcher-kva.example/%C3%BC"
        );
        assert_eq!(url("https://xn--bcher-kva.example/").host, "xn--bcher-kva.example");
        // Decomposed, and with an ideographic full stop.
        assert_eq!(url("https://bu\u{308}cher\u{3002}example/").host, "xn--bcher-kva.example");
        assert!("https://\u{202e}example/".parse::<Url>().is_err());
    }

    #[test]
    fn a_host_that_no_certificate_could_be_for_is_refused() {
        let long = "a".repeat(64);
        for host in [
            "..",
            "a..b",
            ".a",
            "-a.b",
            "a-.b",
            &long,
            &format!("{long}.example"),
            "[::g]",
            "[a.b]",
        ] {
            let refused = format!("http://{host}/").parse::<Url>();
            assert!(matches!(refused, Err(UrlError::Host(_))), "{host}: {refused:?}");
        }
        for host in
            ["a_b.example", "_dmarc.example", "3com.example", &long[..63], "10.0.0.1", "xn--p1ai"]
        {
            assert_eq!(url(&format!("http://{host}/")).host, host);
        }
    }

    #[test]
    fn references_resolve_as_in_rfc_3986_section_5_4() {
        let base = url("http://a/b/c/d;p?q");
        for (reference, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ] {
            assert_eq!(base.join(reference).unwrap().to_string(), expected, "{reference}");
        }
        assert!(base.join("javascript:void(0)").is_err());
    }

    #[test]
    fn only_an_illegal_path_counts_as_mended() {
        for (raw, mended) in [
            ("http://h/a%20b?c=d", false),
            ("http://h", false),
            ("http://h?x=1", false),
            ("http://h/#top", false),
            ("http://h/a b", true),
            ("http://h/?a|b", true),
            ("http://h/ü", true),
        ] {
            assert_eq!(path_was_mended(raw, &url(raw)), mended, "{raw}");
        }
    }
}
