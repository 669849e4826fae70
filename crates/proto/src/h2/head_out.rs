//! Heads to header blocks. Field names are put into lower case; fields that belong to an HTTP/1.1
//! connection are left out, since HTTP/2 has frames for what they say (RFC 9113 §8.2.2).

use super::head::{check_name, check_value};
use crate::{Field, Fields, Method, RequestHead, ResponseHead};
use wire::PreparedField;
use wire::hpack::Encoder;

/// What takes the fields of a head as they are sent, one after the other.
pub(crate) trait FieldSink {
    fn put(&mut self, field: Field<'_>);
    fn put_prepared(&mut self, field: PreparedField<'_>);
}

/// A header block of HTTP/2, and its encoder.
struct Block<'b> {
    encoder: &'b mut Encoder,
    out: &'b mut Vec<u8>,
}

impl FieldSink for Block<'_> {
    fn put(&mut self, field: Field<'_>) {
        self.encoder.field(field, self.out);
    }

    fn put_prepared(&mut self, field: PreparedField<'_>) {
        self.encoder.prepared_field(field, self.out);
    }
}

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
    put_request(head, &mut Block { encoder, out });
}

/// Gives a request's fields to `sink`.
#[inline]
pub(crate) fn put_request(head: &RequestHead, sink: &mut impl FieldSink) {
    let mut pseudo = |name: &[u8], value: &str| {
        sink.put(Field { name, value: value.as_bytes(), sensitive: false });
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
    put_regular(&head.fields, sink);
}

/// Appends a response's header block.
pub(crate) fn encode_response(encoder: &mut Encoder, head: &ResponseHead, out: &mut Vec<u8>) {
    encoder.begin(out);
    put_response(head, &mut Block { encoder, out });
}

/// Gives a response's fields to `sink`.
#[inline]
pub(crate) fn put_response(head: &ResponseHead, sink: &mut impl FieldSink) {
    let code = head.status.code();
    let digit = |value: u16| b'0' + (value % 10) as u8;
    let status = [digit(code / 100), digit(code / 10), digit(code)];
    sink.put(Field { name: b":status", value: &status, sensitive: false });
    put_regular(&head.fields, sink);
}

/// Appends the block of trailers.
pub(crate) fn encode_trailers(encoder: &mut Encoder, fields: &Fields, out: &mut Vec<u8>) {
    encoder.begin(out);
    put_regular(fields, &mut Block { encoder, out });
}

/// Gives regular fields to `sink`, as they are sent.
#[inline]
pub(crate) fn put_regular(fields: &Fields, sink: &mut impl FieldSink) {
    // A validated list has no field that is changed or left out below.
    if let Some(prepared) = fields.prepared() {
        return prepared.for_each(|field| sink.put_prepared(field));
    }
    for mut field in fields.iter() {
        let lower;
        if has_upper(field.name) {
            lower = field.name.to_ascii_lowercase();
            field.name = &lower;
        }
        if !belongs_to_connection(&field) {
            // RFC 7541 §7.1.3: credentials are never indexed.
            field.sensitive |= matches!(field.name, b"authorization" | b"proxy-authorization");
            sink.put(field);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_a_field_that_is_changed_or_left_out_is_not_validated() {
        for name in [
            "connection",
            "host",
            "keep-alive",
            "proxy-connection",
            "te",
            "transfer-encoding",
            "upgrade",
            "authorization",
            "proxy-authorization",
            "Server",
        ] {
            let mut fields = Fields::new().with(name, "x");
            let before = blocks(&fields);
            fields.validate();
            assert!(fields.validated().is_none(), "{name}");
            assert_eq!(blocks(&fields), before, "{name}");
        }
    }

    /// What is sent of a list, the first time and later.
    fn blocks(fields: &Fields) -> Vec<Vec<u8>> {
        let block = |_| {
            let mut block = Vec::new();
            encode_trailers(&mut Encoder::new(0), fields, &mut block);
            block
        };
        (0..3).map(block).collect()
    }
}
