//! Heads to header blocks (SPDY §3.2). Fields that belong to an HTTP/1.1 connection are left out.

use crate::{Fields, Method, RequestHead, ResponseHead};
use wire::h1::{is_field_name, is_field_value, reason};
use wire::spdy::Encoder;

/// A frame's length has 24 bits; no peer takes a list of a hundredth of that.
const LARGEST_LIST: usize = 1 << 20;

/// Checks that a request can be sent.
pub(super) fn check_request(head: &RequestHead) -> Result<(), &'static str> {
    if head.protocol.is_some() {
        return Err("SPDY has no extended CONNECT");
    }
    let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if head.method != Method::Connect && !visible(&head.path) {
        return Err("a path is visible ASCII");
    }
    if !visible(&head.authority) {
        return Err("SPDY §3.2.1: a request names its host");
    }
    check_fields(&head.fields)
}

/// Checks that fields can be sent.
pub(super) fn check_fields(fields: &Fields) -> Result<(), &'static str> {
    if fields.list_size() > LARGEST_LIST {
        return Err("the header list is larger than any peer takes");
    }
    let sendable = |name: &[u8], value: &[u8]| is_field_name(name) && is_field_value(value);
    match fields.iter().all(|field| sendable(field.name, field.value)) {
        true => Ok(()),
        false => Err("a field with characters it cannot have"),
    }
}

/// Begins a request's header block.
pub(super) fn put_request(encoder: &mut Encoder, head: &RequestHead) {
    let connect = head.method == Method::Connect;
    encoder.begin();
    encoder.field(b":host", head.authority.as_bytes());
    encoder.field(b":method", head.method.as_str().as_bytes());
    encoder.field(b":path", if connect { &head.authority } else { &head.path }.as_bytes());
    encoder.field(b":scheme", head.scheme.as_str().as_bytes());
    encoder.field(b":version", b"HTTP/1.1");
    put_fields(encoder, &head.fields);
}

/// Begins the header block of a push with its answer.
pub(super) fn put_push(encoder: &mut Encoder, head: &RequestHead, answer: &ResponseHead) {
    put_request(encoder, &RequestHead { fields: Fields::new(), ..head.clone() });
    put_status(encoder, answer);
    put_fields(encoder, &answer.fields);
}

/// Begins a response's header block.
pub(super) fn put_response(encoder: &mut Encoder, head: &ResponseHead) {
    encoder.begin();
    put_status(encoder, head);
    encoder.field(b":version", b"HTTP/1.1");
    put_fields(encoder, &head.fields);
}

fn put_status(encoder: &mut Encoder, head: &ResponseHead) {
    let code = head.status.code();
    // SPDY §3.2.2: code and phrase, as in "200 OK".
    match (code, reason(code)) {
        (200, _) => encoder.field(b":status", b"200 OK"),
        (_, phrase) => encoder.field(b":status", format!("{code} {phrase}").trim_end().as_bytes()),
    }
}

/// Begins the block of trailers.
pub(super) fn put_trailers(encoder: &mut Encoder, fields: &Fields) {
    encoder.begin();
    put_fields(encoder, fields);
}

fn put_fields(encoder: &mut Encoder, fields: &Fields) {
    for field in fields.iter().filter(|field| !is_of_connection(field.name)) {
        encoder.add(field);
    }
}

/// SPDY §3.2.1: not valid in SPDY.
fn is_of_connection(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [
        b"connection",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"upgrade",
    ];
    NAMES.iter().any(|other| name.eq_ignore_ascii_case(other))
}
