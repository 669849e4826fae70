//! What the readers of heads have in common, whatever their pseudo-header fields are called. A rule that
//! a head breaks is a text: the framing knows what follows from it.

use crate::{Field, Fields, Scheme, Status};

/// The regular fields of a head, as they come.
#[derive(Debug, Default)]
pub(crate) struct RegularFields {
    list: Fields,
    cookie: Vec<u8>,
    content_length: Option<u64>,
}

impl RegularFields {
    /// No fields yet, in the buffers of an earlier list.
    pub(crate) fn in_buffers(mut list: Fields) -> Self {
        list.clear();
        Self { list, ..Self::default() }
    }

    pub(crate) fn push(&mut self, field: Field<'_>) -> Result<(), &'static str> {
        if field.name == b"content-length" {
            self.take_length(field.value)?;
        }
        self.list.push_field(field);
        Ok(())
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), &'static str> {
        const RULE: &str = "RFC 9110 §8.6: Content-Length is one number";
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).ok().filter(|_| digits).ok_or(RULE)?;
        let length = text.parse().map_err(|_| RULE)?;
        match self.content_length.replace(length) {
            Some(other) if other != length => Err(RULE),
            _ => Ok(()),
        }
    }

    /// Takes a piece of the cookie: the pieces are put together again (RFC 9113 §8.2.3).
    pub(crate) fn push_cookie(&mut self, crumb: &[u8]) {
        if !self.cookie.is_empty() {
            self.cookie.extend_from_slice(b"; ");
        }
        self.cookie.extend_from_slice(crumb);
    }

    /// What they say of the body's length.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// All of them, the cookie last.
    pub(crate) fn into_fields(mut self) -> Fields {
        if !self.cookie.is_empty() {
            self.list.push(b"cookie", &self.cookie);
        }
        self.list
    }
}

/// Fills a slot that is filled once.
pub(crate) fn once<T>(
    slot: &mut Option<T>,
    value: T,
    rule: &'static str,
) -> Result<(), &'static str> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(rule),
    }
}

/// The scheme of a target.
pub(crate) fn scheme(value: &[u8]) -> Option<Scheme> {
    match value {
        b"http" => Some(Scheme::Http),
        b"https" => Some(Scheme::Https),
        _ => None,
    }
}

/// A status of three digits.
pub(crate) fn status(value: &[u8]) -> Option<Status> {
    if value.len() != 3 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Status::new(value.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
}

/// ASCII without controls and spaces, as text.
pub(crate) fn visible(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|_| value.iter().all(u8::is_ascii_graphic))
}
