//! Fields of a block to heads: SPDY §3.2. Fields that belong to an HTTP/1.1 connection are dropped, as
//! SPDY's implementations did; what is missing or cannot be read makes the message malformed, which
//! ends the stream and not the session.

use crate::authority::authority;
use crate::multiplex::Received;
use crate::multiplex::head::{self, RegularFields};
use crate::{Field, Fields, Method, RequestHead, ResponseHead, Scheme, Status};
use wire::h1::is_field_value;
use wire::is_lower_name;

/// The rule that a head breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    /// A name that has to be there is not.
    Incomplete(&'static str),
    /// Something is there that cannot be.
    Wrong(&'static str),
}

/// What kind of head is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Response,
    /// A request that the server made up, with or without its answer.
    Push,
    Trailers,
}

/// Takes fields one by one; `request`, `response` or `trailers` checks the whole.
#[derive(Debug)]
pub(super) struct HeadReader {
    kind: Kind,
    method: Option<Method>,
    scheme: Option<Scheme>,
    host: Option<String>,
    path: Option<String>,
    has_version: bool,
    status: Option<Status>,
    fields: RegularFields,
    wrong: Option<&'static str>,
}

impl HeadReader {
    /// A reader with capacity for so many fields, and for so many bytes of them.
    pub(super) fn with_capacity(kind: Kind, fields: usize, bytes: usize) -> Self {
        Self {
            kind,
            method: None,
            scheme: None,
            host: None,
            path: None,
            has_version: false,
            status: None,
            fields: RegularFields::in_buffers(Fields::with_capacity(fields, bytes)),
            wrong: None,
        }
    }

    /// Takes the next field.
    pub(super) fn field(&mut self, field: Field<'_>) {
        if self.wrong.is_none() {
            let taken = match field.name {
                [b':', ..] => self.special(field.name, field.value),
                _ => self.regular(field),
            };
            self.wrong = taken.err();
        }
    }

    /// Names with a colon; their order is free, and others than these say nothing.
    fn special(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let asks = matches!(self.kind, Kind::Request | Kind::Push);
        let answers = matches!(self.kind, Kind::Response | Kind::Push);
        match name {
            b":method" if asks => {
                once(&mut self.method, Method::parse(value).ok_or("RFC 9110 §9.1: not a method")?)
            }
            b":scheme" if asks => once(&mut self.scheme, scheme(value)?),
            b":host" if asks => {
                let host = authority(value).filter(|text| !text.is_empty());
                once(&mut self.host, host.ok_or("SPDY §3.2.1: :host")?.to_owned())
            }
            b":path" if asks => once(&mut self.path, visible(value, "SPDY §3.2.1: :path")?),
            b":status" if answers => once(&mut self.status, status(value)?),
            b":version" if asks || answers => {
                self.has_version = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn regular(&mut self, field: Field<'_>) -> Result<(), &'static str> {
        if !is_lower_name(field.name) {
            return Err("SPDY §2.6.10: a name is a token in lower case");
        }
        let value = field.value.trim_ascii();
        if !is_field_value(value) {
            return Err("SPDY §3.2: a field value with characters it cannot have");
        }
        match field.name {
            // SPDY §3.2.1: not valid here, and sent by nobody who means it.
            b"connection" | b"host" | b"keep-alive" | b"proxy-connection"
            | b"transfer-encoding" => {}
            b"cookie" if matches!(self.kind, Kind::Request) => self.fields.push_cookie(value),
            _ => self.fields.push(Field { value, ..field })?,
        }
        Ok(())
    }

    /// The request that the fields make: SPDY §3.2.1 demands five names.
    pub(super) fn request(mut self) -> Result<Received<RequestHead>, Malformed> {
        self.check()?;
        if !self.has_version {
            return Err(Malformed::Incomplete("SPDY §3.2.1: :version is missing"));
        }
        let method = self.method.take();
        let method = method.ok_or(Malformed::Incomplete("SPDY §3.2.1: :method is missing"))?;
        let content_length = self.fields.content_length();
        let head = self.asked(method)?;
        Ok(Received { head, content_length })
    }

    /// The request that a push answers (a GET where nothing else is said), and its answer where that is
    /// there already.
    pub(super) fn push(
        mut self,
    ) -> Result<(RequestHead, Option<Received<ResponseHead>>), Malformed> {
        self.check()?;
        let method = self.method.take().unwrap_or_default();
        let (status, content_length) = (self.status, self.fields.content_length());
        // The fields are the answer's; before it, there is nobody else to say them.
        let fields = std::mem::take(&mut self.fields).into_fields();
        let mut request = self.asked(method)?;
        let response = match status {
            Some(status) => {
                let head = ResponseHead { status, fields };
                Some(Received { head, content_length })
            }
            None => {
                request.fields = fields;
                None
            }
        };
        Ok((request, response))
    }

    /// Target and fields of a request.
    fn asked(mut self, method: Method) -> Result<RequestHead, Malformed> {
        let missing = |rule| Malformed::Incomplete(rule);
        let scheme = self.scheme.ok_or(missing("SPDY §3.2.1: :scheme is missing"))?;
        let host = self.host.take().ok_or(missing("SPDY §3.2.1: :host is missing"))?;
        let path = self.path.take().ok_or(missing("SPDY §3.2.1: :path is missing"))?;
        let asterisk = path == "*" && method == Method::Options;
        let (authority, path) = match &method {
            // CONNECT names its target as the path.
            Method::Connect => (path, String::new()),
            _ if path.starts_with('/') || asterisk => (host, path),
            _ => return Err(Malformed::Wrong("SPDY §3.2.1: :path begins with a slash")),
        };
        let fields = self.fields.into_fields();
        Ok(RequestHead { method, scheme, authority, path, protocol: None, fields })
    }

    /// The response that the fields make.
    pub(super) fn response(self) -> Result<Received<ResponseHead>, Malformed> {
        self.check()?;
        let status = self.status.ok_or(Malformed::Incomplete("SPDY §3.2.2: :status is missing"))?;
        if !self.has_version {
            return Err(Malformed::Incomplete("SPDY §3.2.2: :version is missing"));
        }
        let content_length = self.fields.content_length();
        let head = ResponseHead { status, fields: self.fields.into_fields() };
        Ok(Received { head, content_length })
    }

    /// The trailers that the fields make.
    pub(super) fn trailers(self) -> Result<Fields, Malformed> {
        self.check().map(|()| self.fields.into_fields())
    }

    fn check(&self) -> Result<(), Malformed> {
        self.wrong.map_or(Ok(()), |rule| Err(Malformed::Wrong(rule)))
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), &'static str> {
    head::once(slot, value, "SPDY §3.2: a name with a colon has one value")
}

fn scheme(value: &[u8]) -> Result<Scheme, &'static str> {
    head::scheme(value).ok_or("SPDY §3.2.1: a scheme that is not served here")
}

/// Three digits, and words behind a space that say the same.
fn status(value: &[u8]) -> Result<Status, &'static str> {
    const RULE: &str = "SPDY §3.2.2: a status has three digits";
    let (digits, rest) = value.split_at_checked(3).ok_or(RULE)?;
    if !matches!(rest, [] | [b' ', ..]) {
        return Err(RULE);
    }
    let status = head::status(digits).ok_or(RULE)?;
    // A stream is answered once.
    if status.is_informational() { Err("SPDY §2.6.2: an answer is final") } else { Ok(status) }
}

fn visible(value: &[u8], rule: &'static str) -> Result<String, &'static str> {
    head::visible(value).filter(|text| !text.is_empty()).map(str::to_owned).ok_or(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    const WHOLE: [(&str, &str); 5] = [
        (":method", "GET"),
        (":path", "/"),
        (":version", "HTTP/1.1"),
        (":host", "a.test"),
        (":scheme", "https"),
    ];

    fn read(kind: Kind, fields: Pairs<'_>) -> HeadReader {
        let mut reader = HeadReader::with_capacity(kind, 0, 0);
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            reader.field(Field { name, value, sensitive: false });
        }
        reader
    }

    fn request(extra: Pairs<'_>) -> Result<RequestHead, Malformed> {
        read(Kind::Request, &[extra, &WHOLE].concat()).request().map(|read| read.head)
    }

    #[test]
    fn a_request_without_one_of_its_five_names_is_incomplete() {
        assert_eq!(request(&[]).unwrap().authority, "a.test");
        for missing in 0..5 {
            let mut fields = WHOLE.to_vec();
            fields.remove(missing);
            let outcome = read(Kind::Request, &fields).request();
            assert!(matches!(outcome, Err(Malformed::Incomplete(_))), "{missing}: {outcome:?}");
        }
    }

    #[test]
    fn what_cannot_stand_in_a_head_is_wrong() {
        for bad in [
            ("Upper", "case"),
            ("sp ace", "x"),
            ("x", "line\nfeed"),
            ("content-length", "+1"),
            (":path", "/again"),
            (":path", "no-slash"),
        ] {
            assert!(matches!(request(&[bad]), Err(Malformed::Wrong(_))), "{bad:?}");
        }
    }

    #[test]
    fn fields_of_a_connection_are_dropped_and_cookies_joined() {
        let head = request(&[
            ("connection", "close"),
            ("host", "b.test"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("x", " padded "),
        ]);
        let expected = Fields::new().with("x", "padded").with("cookie", "a=1; b=2");
        assert_eq!(head.unwrap().fields, expected);
    }

    #[test]
    fn a_status_is_three_digits_with_or_without_words() {
        let status = |value| {
            let fields = [(":status", value), (":version", "HTTP/1.1")];
            read(Kind::Response, &fields).response().map(|read| read.head.status.code())
        };
        assert_eq!((status("200"), status("404 Not Found")), (Ok(200), Ok(404)));
        for bad in ["100 Continue", "20", "2000", "2x0", ""] {
            assert!(status(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_push_may_bring_its_answer_along() {
        let fields = [&WHOLE[1..], &[(":status", "200 OK"), ("content-length", "3")]].concat();
        let (request, response) = read(Kind::Push, &fields).push().unwrap();
        assert_eq!((request.method, request.fields.len()), (Method::Get, 0));
        assert_eq!(response.unwrap().content_length, Some(3));
        let (_, response) = read(Kind::Push, &WHOLE).push().unwrap();
        assert!(response.is_none());
    }
}
