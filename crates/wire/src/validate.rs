//! Checks a list of fields once that is sent many times: which characters it has, and how HTTP/1.1 writes it. An HTTP/2
//! connection recognises a validated list.

use crate::fields::{Fields, ValidatedFields, is_lower_name};
use crate::h1;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

impl Fields {
    /// Validates the list, until it changes. A list that some protocol cannot send as it is stays unvalidated.
    pub fn validate(&mut self) {
        let mut framing = h1::FramingFields::new();
        let length =
            |field: crate::Field<'_>| field.name.len() + field.value.len() + ": \r\n".len();
        let mut lines = Vec::with_capacity(self.iter().map(length).sum());
        for field in self.iter() {
            let plain = is_lower_name(field.name)
                && h1::is_field_value(field.value)
                && !belongs_to_connection(field.name)
                && !field.sensitive;
            // A length is written once, and as a number.
            let doubtful = field.name == b"content-length"
                && (framing.content_length().is_some()
                    || !field.value.iter().all(u8::is_ascii_digit));
            if !plain || doubtful || framing.take(field).is_err() {
                return;
            }
            h1::put_field(&mut lines, field.name, field.value);
        }
        let has_priority = self.iter().any(|field| field.name == b"priority");
        let (lines, content_length) = (lines.into(), framing.content_length());
        let (is_sent, prepared) = (AtomicBool::new(false), OnceLock::new());
        let validated = ValidatedFields { lines, content_length, has_priority, is_sent, prepared };
        self.set_validated(validated);
    }
}

/// RFC 9110 §7.6.1, RFC 9113 §8.2.2: fields that the connection writes, or that mean something else on each. Encoders need not look for
/// them in a validated list.
fn belongs_to_connection(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection"
            | b"host"
            | b"keep-alive"
            | b"proxy-connection"
            | b"te"
            | b"transfer-encoding"
            | b"upgrade"
            | b"authorization"
            | b"proxy-authorization"
    )
}

#[cfg(test)]
mod tests {
    use crate::Fields;

    #[test]
    fn a_validation_holds_until_the_list_changes() {
        let mut fields = Fields::new().with("content-length", "5").with("etag", "\"a\"");
        let plain = fields.clone();
        fields.validate();
        let validated = fields.validated().unwrap();
        assert_eq!(validated.lines(), b"content-length: 5\r\netag: \"a\"\r\n");
        assert_eq!((validated.content_length(), validated.has_priority()), (Some(5), false));
        assert_eq!(fields, plain, "validation is not part of the value");
        fields.push(b"age", b"1");
        assert!(fields.validated().is_none());
        fields.clear();
        fields.validate();
        assert_eq!(fields.validated().map(|validated| validated.lines().len()), Some(0));
        fields.push(b"priority", b"u=1");
        fields.validate();
        assert!(fields.validated().is_some_and(|validated| validated.has_priority()));
    }

    #[test]
    fn what_not_every_protocol_could_send_is_not_validated() {
        for (name, value) in [
            ("ETag", "x"),
            ("a", "b\r\nc: d"),
            ("connection", "close"),
            ("upgrade", "h2c"),
            ("transfer-encoding", "chunked"),
            ("content-length", "-1"),
            ("content-length", "5, 5"),
            ("", "x"),
        ] {
            let mut fields = Fields::new().with(name, value);
            fields.validate();
            assert!(fields.validated().is_none(), "{name}: {value:?}");
        }
    }
}
