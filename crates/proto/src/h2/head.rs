//! Decoded fields to heads, of HTTP/2 and HTTP/3: the rules of RFC 9113 §8.2 and §8.3 are those of RFC 9114 §4.2 and §4.3.
//! A head that breaks one is malformed, which ends the stream and not the connection (RFC 9113 §8.1.1, RFC 9114 §4.1.2).

use crate::multiplex::Received;
use crate::multiplex::head::{self, RegularFields};
use crate::{Field, Fields, Method, RequestHead, ResponseHead, Scheme, Status};
use wire::is_lower_name;

/// What kind of head is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Response,
    Trailers,
}

/// Whether extended CONNECT was offered (RFC 8441 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtendedConnect {
    Offered,
    NotOffered,
}

/// Takes fields one by one; `request`, `response` or `trailers` checks the whole.
#[derive(Debug)]
pub(crate) struct HeadReader {
    kind: Kind,
    method: Option<Method>,
    scheme: Option<Scheme>,
    authority: Option<String>,
    path: Option<String>,
    protocol: Option<Box<str>>,
    status: Option<Status>,
    host: Option<String>,
    fields: RegularFields,
    /// Buffers of an earlier request, for the authority and path of this one.
    buffers: [String; 2],
    regular: bool,
    malformed: Option<&'static str>,
}

impl HeadReader {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with_buffers(RequestHead::default(), kind)
    }

    /// The same, in the buffers of an earlier head.
    pub(crate) fn with_buffers(head: RequestHead, kind: Kind) -> Self {
        let RequestHead { authority, path, fields, .. } = head;
        Self {
            kind,
            method: None,
            scheme: None,
            authority: None,
            path: None,
            protocol: None,
            status: None,
            host: None,
            fields: RegularFields::in_buffers(fields),
            buffers: [authority, path],
            regular: false,
            malformed: None,
        }
    }

    /// Takes the next field.
    pub(crate) fn field(&mut self, field: Field<'_>) {
        if self.malformed.is_some() {
            return;
        }
        let taken = match field.name {
            [b':', ..] => self.pseudo(field.name, field.value),
            _ => self.regular(field),
        };
        self.malformed = taken.err();
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if self.regular {
            return Err("RFC 9113 §8.3, RFC 9114 §4.3: a pseudo-header field after a regular one");
        }
        match (self.kind, name) {
            (Kind::Request, b":method") => {
                let method = Method::parse(value);
                once(&mut self.method, method.ok_or("RFC 9110 §9.1: not a method")?)
            }
            (Kind::Request, b":scheme") => once(&mut self.scheme, scheme(value)?),
            (Kind::Request, b":authority") => {
                let text = copied(&mut self.buffers[0], authority(value)?);
                once(&mut self.authority, text)
            }
            (Kind::Request, b":path") => {
                let text = copied(&mut self.buffers[1], path(value)?);
                once(&mut self.path, text)
            }
            (Kind::Request, b":protocol") => once(
                &mut self.protocol,
                visible(value, "RFC 8441 §4, RFC 9220 §3: :protocol")?.into(),
            ),
            (Kind::Response, b":status") => once(&mut self.status, status(value)?),
            (Kind::Trailers, _) => {
                Err("RFC 9113 §8.1, RFC 9114 §4.3: a pseudo-header field among trailers")
            }
            _ => {
                Err("RFC 9113 §8.3, RFC 9114 §4.3: a pseudo-header field that is not defined here")
            }
        }
    }

    fn regular(&mut self, field: Field<'_>) -> Result<(), &'static str> {
        self.regular = true;
        check_name(field.name)?;
        check_value(field.value)?;
        match field.name {
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => {
                return Err("RFC 9113 §8.2.2, RFC 9114 §4.2: a connection-specific field");
            }
            b"te" if !field.value.eq_ignore_ascii_case(b"trailers") => {
                return Err("RFC 9113 §8.2.2, RFC 9114 §4.2: TE is `trailers` or nothing");
            }
            b"host" if self.kind == Kind::Request => {
                return once(&mut self.host, authority(field.value)?.to_owned());
            }
            b"cookie" if self.kind == Kind::Request => self.fields.push_cookie(field.value),
            _ => self.fields.push(field)?,
        }
        Ok(())
    }

    /// The request that the fields make.
    pub(crate) fn request(
        mut self,
        extended: ExtendedConnect,
    ) -> Result<Received<RequestHead>, &'static str> {
        self.check()?;
        let method =
            self.method.take().ok_or("RFC 9113 §8.3.1, RFC 9114 §4.3.1: :method is missing")?;
        let scheme_and_path = match (&method, &self.protocol) {
            (Method::Connect, None) => {
                if self.scheme.is_some() || self.path.is_some() || self.authority.is_none() {
                    return Err("RFC 9113 §8.5, RFC 9114 §4.4: CONNECT has :authority alone");
                }
                (Scheme::Http, String::new())
            }
            (Method::Connect, Some(_)) if extended == ExtendedConnect::NotOffered => {
                return Err("RFC 8441 §3, RFC 9220 §3: extended CONNECT was not offered");
            }
            (Method::Connect, Some(_)) | (_, None) => self.target(&method)?,
            (_, Some(_)) => return Err("RFC 8441 §4, RFC 9220 §3: :protocol belongs to CONNECT"),
        };
        let authority = match (self.authority.take(), self.host.take()) {
            (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(&host) => {
                return Err("RFC 9113 §8.3.1, RFC 9114 §4.3.1: Host and :authority differ");
            }
            (Some(authority), _) | (None, Some(authority)) => authority,
            (None, None) => String::new(),
        };
        let (scheme, path) = scheme_and_path;
        let content_length = self.fields.content_length();
        let (protocol, fields) = (self.protocol, self.fields.into_fields());
        let head = RequestHead { method, scheme, authority, path, protocol, fields };
        Ok(Received { head, content_length })
    }

    fn target(&mut self, method: &Method) -> Result<(Scheme, String), &'static str> {
        let scheme = self.scheme.ok_or("RFC 9113 §8.3.1, RFC 9114 §4.3.1: :scheme is missing")?;
        let path = self.path.take().ok_or("RFC 9113 §8.3.1, RFC 9114 §4.3.1: :path is missing")?;
        let asterisk = path == "*" && *method == Method::Options;
        if !path.starts_with('/') && !asterisk {
            return Err("RFC 9113 §8.3.1, RFC 9114 §4.3.1: :path begins with a slash");
        }
        Ok((scheme, path))
    }

    /// The response that the fields make.
    pub(crate) fn response(self) -> Result<Received<ResponseHead>, &'static str> {
        self.check()?;
        let status = self.status.ok_or("RFC 9113 §8.3.2, RFC 9114 §4.3.2: :status is missing")?;
        if status.code() == 101 {
            return Err("RFC 9113 §8.6, RFC 9114 §4.5: there is no 101 in HTTP/2 and HTTP/3");
        }
        let content_length = self.fields.content_length();
        let head = ResponseHead { status, fields: self.fields.into_fields() };
        Ok(Received { head, content_length })
    }

    /// The trailers that the fields make.
    pub(crate) fn trailers(self) -> Result<Fields, &'static str> {
        self.check().map(|()| self.fields.into_fields())
    }

    fn check(&self) -> Result<(), &'static str> {
        self.malformed.map_or(Ok(()), Err)
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), &'static str> {
    head::once(slot, value, "RFC 9113 §8.3, RFC 9114 §4.3: a field that stands once stands twice")
}

fn scheme(value: &[u8]) -> Result<Scheme, &'static str> {
    head::scheme(value).ok_or("RFC 9113 §8.3.1, RFC 9114 §4.3.1: a scheme that is not served here")
}

fn authority(value: &[u8]) -> Result<&str, &'static str> {
    crate::authority::authority(value)
        .ok_or("RFC 9113 §8.3.1, RFC 9114 §4.3.1: an authority is a host and a port, without user information")
}

fn path(value: &[u8]) -> Result<&str, &'static str> {
    if value.is_empty() {
        return Err("RFC 9113 §8.3.1, RFC 9114 §4.3.1: :path is empty");
    }
    if value.contains(&b'#') {
        return Err(
            "RFC 9113 §8.3.1, RFC 9114 §4.3.1: :path has a path and a query, and no fragment",
        );
    }
    visible(value, "RFC 9113 §8.3.1, RFC 9114 §4.3.1: a path has visible characters only")
}

fn status(value: &[u8]) -> Result<Status, &'static str> {
    head::status(value).ok_or("RFC 9113 §8.3.2, RFC 9114 §4.3.2: a status has three digits")
}

/// A copy of `text` in `buffer`.
fn copied(buffer: &mut String, text: &str) -> String {
    let mut copy = std::mem::take(buffer);
    copy.clear();
    copy.push_str(text);
    copy
}

fn visible<'v>(value: &'v [u8], rule: &'static str) -> Result<&'v str, &'static str> {
    head::visible(value).ok_or(rule)
}

/// RFC 9113 §8.2.1: no upper case, no controls, no colon, and a token besides (RFC 9110 §5.1).
pub(crate) fn check_name(name: &[u8]) -> Result<(), &'static str> {
    match is_lower_name(name) {
        true => Ok(()),
        false => Err("RFC 9113 §8.2.1, RFC 9114 §4.2: a field name with characters it cannot have"),
    }
}

/// RFC 9113 §8.2.1: no NUL, CR, LF; no white space at the ends.
pub(crate) fn check_value(value: &[u8]) -> Result<(), &'static str> {
    const RULE: &str =
        "RFC 9113 §8.2.1, RFC 9114 §4.2: a field value with characters it cannot have";
    let space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let control = value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'));
    if control || space(value.first()) || space(value.last()) { Err(RULE) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn read(kind: Kind, fields: Pairs<'_>) -> HeadReader {
        let mut reader = HeadReader::new(kind);
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            reader.field(Field { name, value, sensitive: false });
        }
        reader
    }

    fn request(extra: Pairs<'_>) -> Result<RequestHead, &'static str> {
        let fields = [&[(":method", "GET"), (":scheme", "http"), (":path", "/")], extra].concat();
        read(Kind::Request, &fields).request(ExtendedConnect::NotOffered).map(|read| read.head)
    }

    #[test]
    fn a_request_names_its_target_once_and_in_order() {
        assert_eq!(request(&[(":authority", "a.test")]).unwrap().authority, "a.test");
        for bad in [
            &[(":path", "/again")][..],
            &[("x", "y"), (":authority", "a.test")],
            &[(":status", "200")],
            &[(":unheard", "of")],
            &[(":authority", "user@a.test")],
            &[(":authority", "a.test"), ("host", "b.test")],
            &[(":protocol", "websocket")],
        ] {
            assert!(request(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn host_stands_in_for_the_authority_and_is_no_field() {
        let head = request(&[("host", "a.test"), ("x", "y")]).unwrap();
        assert_eq!((head.authority.as_str(), head.fields.len()), ("a.test", 1));
    }

    #[test]
    fn fields_of_the_connection_and_bad_characters_are_malformed() {
        for bad in [
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("te", "gzip"),
            ("Upper", "case"),
            ("sp ace", "x"),
            ("", "x"),
            ("x", " padded"),
            ("x", "line\nfeed"),
            ("content-length", "+1"),
            ("content-length", ""),
        ] {
            assert!(request(&[bad]).is_err(), "{bad:?}");
        }
        assert!(request(&[("te", "trailers")]).is_ok());
        assert!(request(&[("content-length", "1"), ("content-length", "2")]).is_err());
    }

    #[test]
    fn cookie_crumbs_are_put_together() {
        let head = request(&[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")]).unwrap();
        assert_eq!(head.fields.find_str("cookie"), Some("a=1; b=2"));
    }

    #[test]
    fn connect_has_an_authority_alone_unless_it_is_extended() {
        let connect = [(":method", "CONNECT"), (":authority", "a.test:443")];
        let extended =
            [&connect[..], &[(":protocol", "websocket"), (":scheme", "https"), (":path", "/c")]]
                .concat();
        assert!(read(Kind::Request, &connect).request(ExtendedConnect::NotOffered).is_ok());
        assert!(read(Kind::Request, &extended).request(ExtendedConnect::NotOffered).is_err());
        let head = read(Kind::Request, &extended).request(ExtendedConnect::Offered).unwrap().head;
        assert_eq!(head.protocol.as_deref(), Some("websocket"));
    }

    #[test]
    fn a_status_is_three_digits_and_never_101() {
        let status =
            |value| read(Kind::Response, &[(":status", value)]).response().map(|r| r.head.status);
        assert_eq!(status("200"), Ok(Status::OK));
        for bad in ["101", "20", "2000", "2x0", ""] {
            assert!(status(bad).is_err(), "{bad}");
        }
        assert!(read(Kind::Trailers, &[(":status", "200")]).trailers().is_err());
    }
}
