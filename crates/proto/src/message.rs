//! Heads of requests and responses, in the terms of RFC 9110, the same for every protocol.

use crate::Fields;
use std::fmt;

/// A request method (RFC 9110 §9).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// GET
    #[default]
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// CONNECT
    Connect,
    /// OPTIONS
    Options,
    /// TRACE
    Trace,
    /// PATCH (RFC 5789)
    Patch,
    /// Any other token.
    Other(Box<str>),
}

impl Method {
    /// Reads a method token; None where it is not a token (RFC 9110 §5.6.2).
    pub fn parse(token: &[u8]) -> Option<Self> {
        Some(match token {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"CONNECT" => Self::Connect,
            b"OPTIONS" => Self::Options,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            other if !other.is_empty() && other.iter().all(|&byte| is_token(byte)) => {
                Self::Other(std::str::from_utf8(other).ok()?.into())
            }
            _ => return None,
        })
    }

    /// Whether a request asks for nothing but information (RFC 9110 §9.2.1), so that it may come twice.
    pub fn is_safe(&self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// The token.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::Patch => "PATCH",
            Self::Other(token) => token,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The scheme of a request's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// `http`
    #[default]
    Http,
    /// `https`
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// 80 or 443.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A status code, 100 to 999 (RFC 9110 §15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(u16);

impl Status {
    /// 103 Early Hints (RFC 8297).
    pub const EARLY_HINTS: Self = Self(103);
    /// 200
    pub const OK: Self = Self(200);
    /// 304 Not Modified.
    pub const NOT_MODIFIED: Self = Self(304);
    /// 425 Too Early (RFC 8470 §5.2).
    pub const TOO_EARLY: Self = Self(425);

    /// `code` where it has three digits.
    pub const fn new(code: u16) -> Option<Self> {
        if code >= 100 && code <= 999 { Some(Self(code)) } else { None }
    }

    /// The number.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Whether the final response is still to come.
    pub const fn is_informational(self) -> bool {
        self.0 < 200
    }

    /// Whether the response never has a body (RFC 9112 §6.3): 1xx, 204 and 304.
    pub const fn forbids_body(self) -> bool {
        self.is_informational() || self.0 == 204 || self.0 == 304
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Method, target and fields of a request. `Host` is the authority, never a field here: each protocol
/// writes and reads it in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestHead {
    /// Method.
    pub method: Method,
    /// Scheme of the target.
    pub scheme: Scheme,
    /// Host and, where it is not the scheme's own, port.
    pub authority: String,
    /// Path and query; `*` for OPTIONS on the server itself, empty for CONNECT.
    pub path: String,
    /// The `:protocol` of an extended CONNECT (RFC 8441).
    pub protocol: Option<Box<str>>,
    /// All other fields, without those that belong to the connection.
    pub fields: Fields,
}

impl RequestHead {
    /// Bytes that its buffers hold, filled or not.
    pub(crate) fn capacity(&self) -> usize {
        self.path.capacity() + self.authority.capacity() + self.fields.capacity()
    }

    /// Becomes the same as `other`, in its own buffers.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.method.clone_from(&other.method);
        self.scheme = other.scheme;
        self.authority.clone_from(&other.authority);
        self.path.clone_from(&other.path);
        self.protocol.clone_from(&other.protocol);
        self.fields.copy_from(&other.fields);
    }

    /// A GET without fields.
    pub fn get(scheme: Scheme, authority: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            method: Method::Get,
            scheme,
            authority: authority.into(),
            path: path.into(),
            protocol: None,
            fields: Fields::new(),
        }
    }
}

/// Status and fields of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status code.
    pub status: Status,
    /// Fields, without those that belong to the connection.
    pub fields: Fields,
}

impl ResponseHead {
    /// A head without fields.
    pub fn new(status: Status) -> Self {
        Self { status, fields: Fields::new() }
    }
}

/// RFC 9110 §5.6.2: tchar.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_token_and_nothing_else() {
        assert_eq!(Method::parse(b"GET"), Some(Method::Get));
        assert_eq!(Method::parse(b"PURGE").map(|m| m.to_string()), Some("PURGE".to_owned()));
        assert_eq!(Method::parse(b"GE T"), None);
        assert_eq!(Method::parse(b""), None);
    }

    #[test]
    fn a_status_has_three_digits() {
        assert_eq!(Status::new(99), None);
        assert_eq!(Status::new(1000), None);
        assert!(Status::new(304).is_some_and(Status::forbids_body));
    }
}
