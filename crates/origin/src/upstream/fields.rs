//! What a gateway changes of heads (RFC 9110 §7.6): fields of one connection stay there, and `Via` tells of this server.

use proto::{Fields, RequestHead, ResponseHead, Scheme};
use transport::Protocol;
use wire::h1;

/// Fields that are for one connection alone (RFC 9110 §7.6.1), or that this server answers by itself.
const OWN: [&[u8]; 9] = [
    b"connection",
    b"expect",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
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
    // To an origin server, which knows http alone.
    RequestHead { scheme: Scheme::Http, fields, protocol: None, ..request.clone() }
}

/// Whether HTTP/1.1 has a form for all fields: HTTP/2 and HTTP/3 also take control characters (RFC 9113 §8.2.1), which nobody may
/// pass on (RFC 9110 §5.5).
pub(crate) fn can_be_passed_on(fields: &Fields) -> bool {
    fields.iter().all(|field| h1::is_field_name(field.name) && h1::is_field_value(field.value))
}

/// The response as the client gets it, but for `Date` and `Server`, where the application has said neither.
pub(crate) fn forwarded_response(head: &ResponseHead) -> ResponseHead {
    // HTTP/3 of another port, if any, is not this server's.
    ResponseHead { status: head.status, fields: passed_on(&head.fields, &[b"alt-svc"]) }
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
