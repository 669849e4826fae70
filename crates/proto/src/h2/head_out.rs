//! Heads to header blocks. Field names are put into lower case; fields that belong to an HTTP/1.1
//! connection are left out, since HTTP/2 has frames for what they say (RFC 9113 §8.2.2).

use super::head::{check_name, check_value};
use crate::{Field, Fields, Method, RequestHead, ResponseHead};
use wire::hpack::Encoder;

/// Checks that a request can be sent to a peer that takes header lists up to `limit`.
pub(crate) fn check_request(head: &RequestHead, limit: u32) -> Result<(), &'static str> {
    let connect = head.method == Method::Connect && head.protocol.is_none();
    if head.protocol.is_some() && head.method != Method::Connect {
        return Err("only CONNECT has a :protocol");
    }
    if connect && head.authority.is_empty() {
        return Err("CONNECT needs an authority");
    }
    let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if !connect && (head.path.is_empty() || !visible(&head.path)) {
        return Err("a path is visible ASCII");
    }
    if !visible(&head.authority) {
        return Err("an authority is visible ASCII");
    }
    let target = head.method.as_str().len() + head.authority.len() + head.path.len() + 150;
    check_size(head.fields.list_size() + target, limit)?;
    check_fields(&head.fields)
}

/// Checks that a response or trailers can be sent.
pub(crate) fn check_response(fields: &Fields, limit: u32) -> Result<(), &'static str> {
    check_size(fields.list_size() + 42, limit)?;
    check_fields(fields)
}

fn check_size(size: usize, limit: u32) -> Result<(), &'static str> {
    match u32::try_from(size) {
        Ok(size) if size <= limit => Ok(()),
        _ => Err("the header list is larger than the peer takes"),
    }
}

fn check_fields(fields: &Fields) -> Result<(), &'static str> {
    if fields.validated().is_some() {
        return Ok(());
    }
    for field in fields.iter() {
        let name = if has_upper(field.name) {
            check_name(&field.name.to_ascii_lowercase())
        } else {
            check_name(field.name)
        };
        if name.and_then(|()| check_value(field.value)).is_err() {
            return Err("a field with characters it cannot have");
        }
    }
    Ok(())
}

/// Appends a request's header block.
pub(crate) fn encode_request(encoder: &mut Encoder, head: &RequestHead, out: &mut Vec<u8>) {
    encoder.begin(out);
    request_fields(head, |field| encoder.field(field, out));
}

/// Hands out the fields of a request's header block.
#[inline]
pub(crate) fn request_fields(head: &RequestHead, mut put: impl FnMut(Field<'_>)) {
    let mut pseudo = |name: &[u8], value: &str| {
        put(Field { name, value: value.as_bytes(), sensitive: false });
    };
    let connect = head.method == Method::Connect && head.protocol.is_none();
    pseudo(b":method", head.method.as_str());
    if let Some(protocol) = &head.protocol {
        pseudo(b":protocol", protocol);
    }
    if !head.authority.is_empty() {
        pseudo(b":authority", &head.authority);
    }
    if !connect {
        pseudo(b":scheme", head.scheme.as_str());
        pseudo(b":path", &head.path);
    }
    regular_fields(&head.fields, put);
}

/// Appends a response's header block.
pub(crate) fn encode_response(encoder: &mut Encoder, head: &ResponseHead, out: &mut Vec<u8>) {
    encoder.begin(out);
    response_fields(head, |field| encoder.field(field, out));
}

/// Hands out the fields of a response's header block.
#[inline]
pub(crate) fn response_fields(head: &ResponseHead, mut put: impl FnMut(Field<'_>)) {
    let code = head.status.code();
    let digit = |value: u16| b'0' + (value % 10) as u8;
    let status = [digit(code / 100), digit(code / 10), digit(code)];
    put(Field { name: b":status", value: &status, sensitive: false });
    regular_fields(&head.fields, put);
}

/// Appends the block of trailers.
pub(crate) fn encode_trailers(encoder: &mut Encoder, fields: &Fields, out: &mut Vec<u8>) {
    encoder.begin(out);
    regular_fields(fields, |field| encoder.field(field, out));
}

/// Hands out regular fields as they are sent.
#[inline]
pub(crate) fn regular_fields(fields: &Fields, mut put: impl FnMut(Field<'_>)) {
    for mut field in fields.iter() {
        let lower;
        if has_upper(field.name) {
            lower = field.name.to_ascii_lowercase();
            field.name = &lower;
        }
        if !belongs_to_connection(&field) {
            // RFC 7541 §7.1.3: credentials are never indexed.
            field.sensitive |= matches!(field.name, b"authorization" | b"proxy-authorization");
            put(field);
        }
    }
}

fn belongs_to_connection(field: &Field<'_>) -> bool {
    match field.name {
        b"connection" | b"host" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
        | b"upgrade" => true,
        b"te" => !field.value.eq_ignore_ascii_case(b"trailers"),
        _ => false,
    }
}

fn has_upper(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase)
}
