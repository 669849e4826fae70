//! What a gateway changes of heads (RFC 9110 §7.6): fields of one connection stay there, and `Via` tells of this server.

use proto::{Fields, Method, RequestHead, ResponseHead, Scheme};
use transport::Protocol;
use wire::h1;

/// Fields that are for one connection alone (RFC 9110 §7.6.1), or that this server answers by itself.
const OWN: [&[u8]; 10] = [
    b"connection",
    b"expect",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];

/// The request as the application gets it. `scheme` is that of the connection: what the request says of it is the client's word
/// (RFC 9110 §7.4).
pub(crate) fn forwarded_request(
    request: &RequestHead,
    scheme: Scheme,
    protocol: Protocol,
    is_early: bool,
) -> RequestHead {
    let mut fields = passed_on(&request.fields, &[b"x-forwarded-proto", b"early-data"]);
    fields.push(b"via", format!("{} wirelap", version(protocol)).as_bytes());
    fields.push(b"x-forwarded-proto", scheme.as_str().as_bytes());
    if is_early || request.fields.find(b"early-data").is_some() {
        // RFC 8470 §5.1: what a gateway before this one says of its connection stays. Several fields, or ones of another value,
        // mean the same as this one.
        fields.push(b"early-data", b"1");
    }
    if let Some(left) = forwards_left(request) {
        set_max_forwards(&mut fields, left.saturating_sub(1));
    }
    // To an origin server, which knows http alone.
    RequestHead { scheme: Scheme::Http, fields, protocol: None, ..request.clone() }
}

/// Whether a request goes no further, and this server answers it itself (RFC 9110 §7.6.2).
pub(crate) fn ends_here(request: &RequestHead) -> bool {
    forwards_left(request) == Some(0)
}

/// How often an OPTIONS or TRACE may be passed on; None for any number. Other methods have no such limit.
fn forwards_left(request: &RequestHead) -> Option<u64> {
    let is_limited = matches!(request.method, Method::Options | Method::Trace);
    let value = request.fields.find_str("max-forwards").filter(|_| is_limited)?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // RFC 9110 §7.6.2: what is too large to count with may be lowered.
    is_number.then(|| value.parse().unwrap_or(u64::MAX))
}

fn set_max_forwards(fields: &mut Fields, left: u64) {
    let others = passed_on(fields, &[b"max-forwards"]);
    *fields = others.with("max-forwards", left.to_string());
}

/// Whether HTTP/1.1 has a form for all fields: HTTP/2 and HTTP/3 also take control characters (RFC 9113 §8.2.1), which nobody may
/// pass on (RFC 9110 §5.5).
pub(crate) fn can_be_passed_on(fields: &Fields) -> bool {
    fields.iter().all(|field| h1::is_field_name(field.name) && h1::is_field_value(field.value))
}

/// The response as the client gets it, but for `Date` and `Server`, where the application has said neither.
pub(crate) fn forwarded_response(head: &ResponseHead) -> ResponseHead {
    // HTTP/3 of another port, if any, is not this server's. RFC 9110 §8.6: neither 204 nor 1xx has a Content-Length.
    let dropped: &[&[u8]] = match head.status {
        status if status.code() == 204 || status.is_informational() => {
            &[b"alt-svc", b"content-length"]
        }
        _ => &[b"alt-svc"],
    };
    ResponseHead { status: head.status, fields: passed_on(&head.fields, dropped) }
}

fn passed_on(fields: &Fields, dropped: &[&[u8]]) -> Fields {
    let mut kept = Fields::new();
    for field in fields.iter() {
        let names = OWN.iter().chain(dropped);
        if !names.into_iter().any(|name| field.name.eq_ignore_ascii_case(name)) {
            kept.push_field(field);
        }
    }
    kept
}

/// The version as `Via` names it (RFC 9110 §7.6.3).
fn version(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "1.1",
        Protocol::Http2 => "2",
        Protocol::Http3 => "3",
        Protocol::Spdy31 => "SPDY/3.1",
        Protocol::Spdy3 => "SPDY/3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Status;

    #[test]
    fn fields_of_one_connection_stay_there_and_via_is_added_behind_those_of_others() {
        let mut request = RequestHead::get(Scheme::Https, "shop.test", "/a?b");
        for (name, value) in [
            ("accept", "*/*"),
            ("Expect", "100-continue"),
            ("te", "trailers"),
            ("trailer", "x-digest"),
            ("via", "1.1 cdn"),
            ("x-forwarded-proto", "http"),
            ("upgrade", "websocket"),
        ] {
            request.fields.push(name.as_bytes(), value.as_bytes());
        }
        let forwarded = forwarded_request(&request, Scheme::Https, Protocol::Http2, true);
        let fields: Vec<_> = forwarded
            .fields
            .iter()
            .map(|field| [field.name, field.value].map(String::from_utf8_lossy).join(": "))
            .collect();
        let expected = [
            "accept: */*",
            "via: 1.1 cdn",
            "via: 2 wirelap",
            "x-forwarded-proto: https",
            "early-data: 1",
        ];
        assert_eq!(fields, expected);
        assert_eq!((forwarded.authority.as_str(), forwarded.path.as_str()), ("shop.test", "/a?b"));
    }

    #[test]
    fn a_request_that_was_early_anywhere_on_its_way_says_so_once() {
        let said = |values: &[&str], is_early| {
            let mut request = RequestHead::get(Scheme::Https, "shop.test", "/");
            for value in values {
                request.fields.push(b"Early-Data", value.as_bytes());
            }
            let forwarded = forwarded_request(&request, Scheme::Https, Protocol::Http2, is_early);
            let named = |field: &proto::Field<'_>| field.name == b"early-data";
            forwarded
                .fields
                .iter()
                .filter(named)
                .map(|field| field.value.to_vec())
                .collect::<Vec<_>>()
        };
        let once: Vec<Vec<u8>> = vec![b"1".to_vec()];
        assert_eq!(said(&[], false), Vec::<Vec<u8>>::new());
        assert_eq!(said(&[], true), once);
        assert_eq!(said(&["1"], false), once);
        assert_eq!(said(&["1"], true), once);
        assert_eq!(said(&["1", "yes"], false), once);
    }

    fn limited(method: Method, forwards: &str) -> RequestHead {
        let mut request = RequestHead::get(Scheme::Https, "shop.test", "/");
        request.method = method;
        request.fields.push(b"Max-Forwards", forwards.as_bytes());
        request
    }

    /// RFC 9110 §7.6.2.
    #[test]
    fn options_and_trace_go_no_further_than_they_may() {
        let passed = |method: &Method, forwards: &str| {
            let request = limited(method.clone(), forwards);
            assert!(!ends_here(&request), "{method:?} {forwards}");
            let passed = forwarded_request(&request, Scheme::Https, Protocol::Http2, false);
            passed.fields.find_str("max-forwards").map(str::to_owned)
        };
        for method in [Method::Options, Method::Trace] {
            let left = ["1", "10", "99999999999999999999", "one"].map(|sent| passed(&method, sent));
            let expected = ["0", "9", "18446744073709551614", "one"];
            assert_eq!(left, expected.map(|left| Some(left.to_owned())));
        }
        assert_eq!(passed(&Method::Get, "0").as_deref(), Some("0"));
        assert!(
            ends_here(&limited(Method::Options, "0")) && ends_here(&limited(Method::Trace, "0"))
        );
    }

    /// RFC 9110 §8.6.
    #[test]
    fn a_response_that_can_have_no_body_tells_no_length() {
        let length = |status: Status| {
            let mut head = ResponseHead::new(status);
            head.fields.push(b"Content-Length", b"3");
            forwarded_response(&head).fields.find_str("content-length").map(str::to_owned)
        };
        let no_content = Status::new(204).unwrap();
        assert_eq!([no_content, Status::EARLY_HINTS].map(length), [None, None]);
        assert_eq!(length(Status::OK).as_deref(), Some("3"));
    }

    #[test]
    fn a_response_keeps_what_is_the_applications() {
        let mut head = ResponseHead::new(Status::OK);
        for (name, value) in
            [("content-length", "3"), ("alt-svc", "h3=\":1\""), ("transfer-encoding", "chunked")]
        {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        let forwarded = forwarded_response(&head);
        assert_eq!(forwarded.fields.len(), 1);
        assert_eq!(forwarded.fields.find_str("content-length"), Some("3"));
    }
}
