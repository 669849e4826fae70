//! Where a redirect leads, and with which request (RFC 9110 §15.4). The one rule: pure functions.

use crate::FetchSpec;
use crate::failure::Failure;
use crate::profile::same_origin;
use bytes::Bytes;
use proto::{Fields, Method, ResponseHead};

/// Whether the response is a redirect.
pub(crate) fn is_redirect(head: &ResponseHead) -> bool {
    matches!(head.status.code(), 301 | 302 | 303 | 307 | 308)
        && head.fields.find(b"location").is_some()
}

/// The request that follows.
pub(crate) fn next(spec: &FetchSpec, head: &ResponseHead) -> Result<FetchSpec, Failure> {
    let location = head.fields.find(b"location").unwrap_or_default();
    let location = String::from_utf8_lossy(location);
    let url = spec.url.join(&location).map_err(|error| Failure::BadRedirect {
        to: location.into_owned(),
        reason: error.to_string(),
    })?;
    let mut next = FetchSpec { url, ..spec.clone() };
    if becomes_get(head.status.code(), &spec.method) {
        next.method = Method::Get;
        next.body = Bytes::new();
        next.fields = without(&next.fields, is_about_body);
    }
    if !same_origin(&spec.url, &next.url) {
        // Credentials are for the origin that was asked, and are not sent to another (RFC 9110 §15.4, WHATWG Fetch
        // §4.4).
        next.fields = without(&next.fields, is_credential);
    }
    Ok(next)
}

/// Whether the request becomes a GET (RFC 9110 §15.4.2 to §15.4.4): as browsers do on 301 and 302, and as 303 means.
fn becomes_get(status: u16, method: &Method) -> bool {
    match status {
        301 | 302 => *method == Method::Post,
        303 => !matches!(method, Method::Get | Method::Head),
        _ => false,
    }
}

fn is_about_body(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] =
        [b"content-type", b"content-length", b"content-encoding", b"content-language"];
    NAMES.iter().any(|about| name.eq_ignore_ascii_case(about))
}

fn is_credential(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 3] = [b"authorization", b"cookie", b"proxy-authorization"];
    NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

fn without(fields: &Fields, unwanted: impl Fn(&[u8]) -> bool) -> Fields {
    let mut kept = Fields::new();
    for field in fields.iter().filter(|field| !unwanted(field.name)) {
        kept.push_field(field);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Status;

    fn follow(method: Method, status: u16, location: &str) -> Result<FetchSpec, Failure> {
        let spec = FetchSpec {
            method,
            body: Bytes::from_static(b"a=1"),
            fields: Fields::new().with("Content-Type", "text/plain").with("Authorization", "x"),
            ..FetchSpec::get("http://a.example/one/two".parse().unwrap())
        };
        let mut head = ResponseHead::new(Status::new(status).unwrap());
        head.fields.push(b"Location", location.as_bytes());
        assert!(is_redirect(&head));
        next(&spec, &head)
    }

    #[test]
    fn only_a_post_and_a_see_other_turn_into_a_get() {
        for (method, status, expected) in [
            (Method::Post, 301, Method::Get),
            (Method::Post, 302, Method::Get),
            (Method::Put, 302, Method::Put),
            (Method::Put, 303, Method::Get),
            (Method::Head, 303, Method::Head),
            (Method::Post, 307, Method::Post),
            (Method::Post, 308, Method::Post),
        ] {
            let next = follow(method.clone(), status, "three").unwrap();
            assert_eq!(next.method, expected, "{method} {status}");
            assert_eq!(next.body.is_empty(), method != expected);
            assert_eq!(next.fields.find(b"content-type").is_none(), method != expected);
            assert_eq!(next.url.to_string(), "http://a.example/one/three");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        for (location, stays) in [
            ("/x", true),
            ("http://A.example:80/x", true),
            ("https://a.example/x", false),
            ("//b.example/x", false),
        ] {
            let next = follow(Method::Get, 302, location).unwrap();
            assert_eq!(next.fields.find(b"authorization").is_some(), stays, "{location}");
        }
    }

    #[test]
    fn a_redirect_to_what_is_no_web_page_is_told() {
        let error = follow(Method::Get, 302, "ftp://a.example/").unwrap_err().to_string();
        assert!(error.contains("ftp"), "{error}");
    }
}
