//! Heads between the wire's parts and the vocabulary of all protocols: targets and Host become scheme,
//! authority and path, and what belongs to the connection stays here.

use crate::authority::authority;
use crate::h1::connection::violation;
use crate::{Error, Field, Fields, Method, RequestHead, ResponseHead, Scheme, Status};
use wire::h1::{self, BodyLength, ConnectionOptions, FramingFields, Version};

/// A request head and what the connection must know about it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) head: Box<RequestHead>,
    pub(super) length: BodyLength,
    pub(super) version: Version,
    /// Whether the client would go on with this connection.
    pub(super) persists: bool,
    /// Whether it waits for 100 before it sends the body.
    pub(super) expects_continue: bool,
    /// Whether it would rather speak another protocol (its Upgrade field is among the fields; an ignored one is not).
    pub(super) upgrade: bool,
}

/// A response head and what the connection must know about it.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) head: ResponseHead,
    /// The length of its body, where status and method allow one.
    pub(super) length: Result<BodyLength, h1::Error>,
    pub(super) persists: bool,
}

impl Response {
    /// The same once more, in the buffers of `fields`.
    pub(super) fn again(&self, mut fields: Fields) -> Self {
        fields.copy_from(&self.head.fields);
        let head = ResponseHead { status: self.head.status, fields };
        Self { head, length: self.length, persists: self.persists }
    }
}

impl Default for Response {
    fn default() -> Self {
        Self { head: ResponseHead::new(Status::OK), length: Ok(BodyLength::Empty), persists: true }
    }
}

/// Reads a request head. The error's code is the status of the answer.
///
/// `spare` is an earlier head, whose buffers it takes over.
pub(super) fn read_request(
    bytes: &[u8],
    scheme: Scheme,
    mut spare: Box<RequestHead>,
) -> Result<Request, Error> {
    let mut scratch = h1::field_scratch();
    let parts = match h1::parse_request(bytes, &mut scratch) {
        Ok(parts) => parts,
        Err(error) => {
            return match h1::in_known_version(bytes) {
                Some(known) => read_request(&known, scheme, spare),
                None => Err(broken(error)),
            };
        }
    };
    let options = ConnectionOptions::of(parts.fields());
    let mut framing = FramingFields::new();
    let mut host = None;
    let mut expect = None;
    let mut fields = std::mem::take(&mut spare.fields);
    fields.clear();
    fields.reserve(parts.field_count(), bytes.len());
    for field in parts.fields() {
        framing.take(field).map_err(broken)?;
        if field.name.eq_ignore_ascii_case(b"host") {
            // RFC 9112 §3.2: more than one Host field line is a 400.
            if host.replace(field.value).is_some() {
                return Err(violation(400, "a request has one Host field (RFC 9112 §3.2)"));
            }
            continue;
        }
        if field.name.eq_ignore_ascii_case(b"expect") {
            expect = Some(field.value);
        }
        if !options.covers(field.name, parts.fields()) {
            fields.push(field.name, field.value);
        }
    }
    if host.is_none() && parts.version == Version::Http11 {
        return Err(violation(400, "an HTTP/1.1 request has a Host field (RFC 9112 §3.2)"));
    }
    let host = read_authority(host.unwrap_or_default())?;
    let length = framing.request_body(parts.version).map_err(broken)?;
    let method = Method::parse(parts.method.as_bytes())
        .ok_or(violation(400, "a method is a token (RFC 9112 §3.1)"))?;
    let (scheme, authority, path) = read_target(&method, parts.target, (scheme, host))?;
    let asks_upgrade = options.upgrade() && fields.find(b"upgrade").is_some();
    // RFC 9110 §7.8: a server ignores Upgrade in an HTTP/1.0 request, and switches when the whole request has come.
    let upgrade = asks_upgrade && parts.version == Version::Http11 && length == BodyLength::Empty;
    if asks_upgrade && !upgrade {
        fields = without_upgrade(&fields);
    }
    let expects_continue = reads_expect(expect, parts.version)? && length != BodyLength::Empty;
    let authority = copied(std::mem::take(&mut spare.authority), authority);
    let path = copied(std::mem::take(&mut spare.path), path);
    *spare = RequestHead { method, scheme, authority, path, protocol: None, fields };
    Ok(Request {
        head: spare,
        length,
        version: parts.version,
        persists: options.persists(parts.version),
        expects_continue,
        upgrade,
    })
}

fn without_upgrade(fields: &Fields) -> Fields {
    let others = fields.iter().filter(|field| !field.name.eq_ignore_ascii_case(b"upgrade"));
    let mut kept = Fields::new();
    others.for_each(|field| kept.push_field(field));
    kept
}

/// A copy of `text` in `buffer`.
fn copied(mut buffer: String, text: &str) -> String {
    buffer.clear();
    buffer.push_str(text);
    buffer
}

/// RFC 9110 §10.1.1: 100-continue or nothing; an HTTP/1.0 client does not know what it says.
fn reads_expect(expect: Option<&[u8]>, version: Version) -> Result<bool, Error> {
    match expect {
        None => Ok(false),
        Some(_) if version == Version::Http10 => Ok(false),
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => Ok(true),
        Some(_) => {
            Err(violation(417, "no expectation but 100-continue is known (RFC 9110 §10.1.1)"))
        }
    }
}

/// Tells the four forms of a target apart (RFC 9112 §3.2). `known` is what the connection and the Host
/// field say.
fn read_target<'t>(
    method: &Method,
    target: &'t str,
    known: (Scheme, &'t str),
) -> Result<(Scheme, &'t str, &'t str), Error> {
    let (scheme, host) = known;
    if target.contains('#') {
        return Err(violation(400, "a request target has no fragment (RFC 9112 §3.2)"));
    }
    if *method == Method::Connect {
        let authority = read_authority(target.as_bytes())?;
        let port = authority.rsplit_once(':').map(|(_, port)| port);
        if port.is_none_or(str::is_empty) {
            return Err(violation(400, "the target of CONNECT is host and port (RFC 9112 §3.2.3)"));
        }
        return Ok((scheme, authority, ""));
    }
    if target.starts_with('/') || (target == "*" && *method == Method::Options) {
        return Ok((scheme, host, target));
    }
    let (scheme, rest) = match target.split_once("://") {
        Some((name, rest)) if name.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
        Some((name, rest)) if name.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
        _ => {
            return Err(violation(
                400,
                "a target is a path, a URI or, for OPTIONS, * (RFC 9112 §3.2)",
            ));
        }
    };
    // RFC 9112 §3.2.2: the authority of the target replaces the Host field.
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if authority.is_empty() {
        return Err(violation(400, "an http URI has a host (RFC 9110 §4.2.1)"));
    }
    let path = match path {
        // RFC 9112 §3.2.4: the last proxy of a chain would have written `*`.
        "" if *method == Method::Options => "*",
        "" => "/",
        _ if path.starts_with('?') => {
            return Err(violation(
                400,
                "a query in a request target follows a path (RFC 9112 §3.2.1)",
            ));
        }
        _ => path,
    };
    Ok((scheme, read_authority(authority.as_bytes())?, path))
}

/// The host and the port that a request is for.
fn read_authority(bytes: &[u8]) -> Result<&str, Error> {
    authority(bytes).ok_or_else(|| violation(400, "Host is a host and a port (RFC 9112 §3.2)"))
}

/// Reads a response head into `fields`, which are empty.
pub(super) fn read_response(bytes: &[u8], mut fields: Fields) -> Result<Response, Error> {
    let mut scratch = h1::field_scratch();
    let parts = match h1::parse_response(bytes, &mut scratch) {
        Ok(parts) => parts,
        Err(error) => {
            return match h1::in_known_version(bytes) {
                Some(known) => read_response(&known, fields),
                None => Err(foreign(error)),
            };
        }
    };
    let options = ConnectionOptions::of(parts.fields());
    let mut framing = FramingFields::new();
    fields.reserve(parts.field_count(), bytes.len());
    let mut fault = None;
    for field in parts.fields() {
        // A response that has no body cannot be framed wrongly (RFC 9112 §6.3): the caller decides.
        if let Err(error) = framing.take(field) {
            fault = Some(error);
        }
        if !options.covers(field.name, parts.fields()) {
            h1::ResponseParts::push_unfolded(&mut fields, field);
        }
    }
    let status = Status::new(parts.status)
        .ok_or(violation(CLIENT_CODE, "a status code has three digits (RFC 9112 §4)"))?;
    Ok(Response {
        head: ResponseHead { status, fields },
        length: fault.map_or_else(|| framing.response_body(parts.version), Err),
        persists: options.persists(parts.version),
    })
}

/// What a client calls a response that breaks the protocol: 502, as a gateway would (RFC 9110 §15.6.3).
pub(super) const CLIENT_CODE: u16 = 502;

/// A fault in a request.
pub(super) fn broken(error: h1::Error) -> Error {
    violation(error.status(), error.rule)
}

/// A fault in a response.
pub(super) fn foreign(error: h1::Error) -> Error {
    violation(CLIENT_CODE, error.rule)
}

/// Whether these fields can be written.
pub(super) fn check_fields(fields: &Fields) -> Result<(), &'static str> {
    for Field { name, value, .. } in fields.iter() {
        if !h1::is_field_name(name) {
            return Err("a field name is a token (RFC 9110 §5.1)");
        }
        if !h1::is_field_value(value) {
            return Err("a field value has no control characters (RFC 9110 §5.5)");
        }
    }
    Ok(())
}

/// What an application's fields say about the length of the body.
pub(super) fn declared_length(fields: &Fields) -> Result<Option<u64>, &'static str> {
    let mut framing = FramingFields::new();
    for field in fields.iter().filter(|field| field.name.eq_ignore_ascii_case(b"content-length")) {
        framing.take(field).map_err(|error| error.rule)?;
    }
    Ok(framing.content_length())
}

/// Writes the application's fields, but for those that the machine decides on.
pub(super) fn put_fields(out: &mut Vec<u8>, fields: &Fields) {
    for Field { name, value, .. } in fields.iter().filter(|field| !is_machines(field.name)) {
        h1::put_field(out, name, value);
    }
}

/// Fields that the machine writes by itself.
fn is_machines(name: &[u8]) -> bool {
    const MACHINES: [&[u8]; 6] = [
        b"connection",
        b"content-length",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
    ];
    MACHINES.iter().any(|machines| name.eq_ignore_ascii_case(machines))
}

/// Writes `content-length`.
pub(super) fn put_length(out: &mut Vec<u8>, length: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = length;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    h1::put_field(out, b"content-length", &digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Request, u64> {
        read_request(text.as_bytes(), Scheme::Http, Box::default()).map_err(|error| match error {
            Error::PeerViolation { code, .. } => code,
            other => panic!("{other}"),
        })
    }

    fn target(text: &str) -> Result<(String, String), u64> {
        let text = format!("{text} HTTP/1.1\r\nHost: h:1\r\n\r\n");
        request(&text).map(|request| (request.head.authority, request.head.path))
    }

    #[test]
    fn every_form_of_target_becomes_authority_and_path() {
        let parts = |authority: &str, path: &str| Ok((authority.to_owned(), path.to_owned()));
        assert_eq!(target("GET /a?b"), parts("h:1", "/a?b"));
        assert_eq!(target("GET http://x:2/a"), parts("x:2", "/a"));
        assert_eq!(target("GET HTTPS://[::1]:2"), parts("[::1]:2", "/"));
        assert_eq!(target("OPTIONS *"), parts("h:1", "*"));
        assert_eq!(target("OPTIONS http://x"), parts("x", "*"));
        assert_eq!(target("CONNECT x:443"), parts("x:443", ""));
    }

    #[test]
    fn other_targets_are_refused() {
        for text in [
            "GET *",
            "GET a",
            "GET x:443",
            "GET ftp://x/",
            "GET http:///a",
            "GET http://u@x/",
            "GET http://x?q",
            "GET /a#b",
            "CONNECT /",
            "CONNECT x",
            "CONNECT http://x:1/",
        ] {
            assert_eq!(target(text), Err(400), "{text}");
        }
    }

    #[test]
    fn host_is_one_and_well_formed() {
        let with = |fields: &str| request(&format!("GET / HTTP/1.1\r\n{fields}\r\n")).map(|_| ());
        assert_eq!(with("Host: a\r\n"), Ok(()));
        assert_eq!(with("Host:\r\n"), Ok(()));
        for fields in
            ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: u@a\r\n"]
        {
            assert_eq!(with(fields), Err(400), "{fields:?}");
        }
        assert!(request("GET / HTTP/1.0\r\n\r\n").is_ok());
    }

    #[test]
    fn fields_of_the_connection_are_not_handed_on() {
        let request = request(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nTE: trailers\r\n\
             Upgrade: websocket\r\nAccept: b\r\n\r\n",
        )
        .unwrap();
        assert_eq!(request.head.fields, Fields::new().with("Accept", "b"));
        assert!(!request.persists);
    }

    #[test]
    fn an_unknown_expectation_is_a_417() {
        let text = "POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n";
        assert_eq!(request(text).map(|_| ()), Err(417));
    }
}
