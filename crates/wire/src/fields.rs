//! An ordered list of header fields in one buffer: no allocation a field, and `clear` keeps the buffer.
//!
//! A list that is sent many times can be validated once (`validate.rs`); the result is kept until the list changes.

use crate::prepared::{PreparedField, PreparedFields};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes that RFC 7541 §4.1 and RFC 9113 §6.5.2 count for a field beside its name and value.
const FIELD_OVERHEAD: usize = 32;

/// Header or trailer fields in the order of the message. Names compare without case.
#[derive(Clone, Default)]
pub struct Fields {
    text: Vec<u8>,
    entries: Vec<Entry>,
    validated: Option<Arc<ValidatedFields>>,
}

/// What [`Fields::validate`] found out about a list: every name is a token in lower case, every value may stand in a
/// line, and no field belongs to one connection.
#[derive(Debug)]
pub struct ValidatedFields {
    pub(crate) lines: Box<[u8]>,
    pub(crate) content_length: Option<u64>,
    pub(crate) has_priority: bool,
    /// Whether HPACK or QPACK has asked for it once.
    pub(crate) is_sent: AtomicBool,
    /// Made when one of them asks again.
    pub(crate) prepared: OnceLock<PreparedFields>,
}

impl ValidatedFields {
    /// The fields as HTTP/1.1 writes them.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// What the list says of the body's length.
    pub fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether there is a `priority` field (RFC 9218 §5).
    pub fn has_priority(&self) -> bool {
        self.has_priority
    }
}

/// Two lists are equal where their fields are.
impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.entries == other.entries
    }
}

impl Eq for Fields {}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    start: u32,
    name_end: u32,
    value_end: u32,
    sensitive: bool,
}

/// One field of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value, without surrounding white space.
    pub value: &'a [u8],
    /// Whether it must never be put into a compression table (RFC 7541 §7.1.3).
    pub sensitive: bool,
}

impl Field<'_> {
    /// Bytes as RFC 9113 §6.5.2 counts them: name, value and 32.
    pub fn list_size(&self) -> usize {
        self.name.len() + self.value.len() + FIELD_OVERHEAD
    }
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// No fields, with capacity for so many, and for so many bytes of names and values.
    pub fn with_capacity(fields: usize, bytes: usize) -> Self {
        Self {
            text: Vec::with_capacity(bytes),
            entries: Vec::with_capacity(fields),
            validated: None,
        }
    }

    /// Adds capacity for so many more fields, and for so many more bytes of names and values.
    pub fn reserve(&mut self, fields: usize, bytes: usize) {
        self.entries.reserve(fields);
        self.text.reserve(bytes);
    }

    /// Appends a field.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.push_field(Field { name, value, sensitive: false });
    }

    /// Appends a field, with its mark.
    pub fn push_field(&mut self, field: Field<'_>) {
        self.validated = None;
        let start = self.text.len() as u32;
        self.text.extend_from_slice(field.name);
        let name_end = self.text.len() as u32;
        self.text.extend_from_slice(field.value);
        let value_end = self.text.len() as u32;
        self.entries.push(Entry { start, name_end, value_end, sensitive: field.sensitive });
    }

    /// Appends a field and hands the list on, for building in one expression.
    pub fn with(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.push(name.as_ref(), value.as_ref());
        self
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Field<'_>> + ExactSizeIterator + Clone {
        self.entries.iter().map(|entry| Field {
            name: &self.text[entry.start as usize..entry.name_end as usize],
            value: &self.text[entry.name_end as usize..entry.value_end as usize],
            sensitive: entry.sensitive,
        })
    }

    /// The value of the first field called `name`.
    pub fn find<'s>(&'s self, name: &[u8]) -> Option<&'s [u8]> {
        self.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// The first field called `name`, where its value is text.
    pub fn find_str(&self, name: &str) -> Option<&str> {
        self.find(name.as_bytes()).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The values of all fields called `name`, in order.
    pub fn all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// How many fields.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes as RFC 9113 §6.5.2 counts them: name, value and 32 a field.
    pub fn list_size(&self) -> usize {
        self.text.len() + self.entries.len() * FIELD_OVERHEAD
    }

    /// Becomes the same list as `other`, in its own buffer.
    pub fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.text.extend_from_slice(&other.text);
        self.entries.extend_from_slice(&other.entries);
    }

    /// Bytes that its buffers hold, filled or not.
    pub fn capacity(&self) -> usize {
        self.text.capacity() + self.entries.capacity() * std::mem::size_of::<Entry>()
    }

    /// Drops all fields and keeps the buffer.
    pub fn clear(&mut self) {
        self.validated = None;
        self.text.clear();
        self.entries.clear();
    }

    /// Keeps the result of a validation until the list changes.
    pub(crate) fn set_validated(&mut self, validated: ValidatedFields) {
        self.validated = Some(Arc::new(validated));
    }

    /// The fields with what encoders of HPACK and QPACK need of them. It is worked out when they ask for it the second time, for many lists
    /// are sent once: None before, and where the list is not validated.
    pub fn prepared(&self) -> Option<impl Iterator<Item = PreparedField<'_>>> {
        let validated = self.validated.as_ref()?;
        let prepared = match validated.prepared.get() {
            Some(prepared) => prepared,
            None if validated.is_sent.swap(true, Ordering::Relaxed) => {
                validated.prepared.get_or_init(|| PreparedFields::new(self))
            }
            None => return None,
        };
        Some(prepared.of(self))
    }

    /// The result of `validate`; None where it failed or the list has changed since.
    pub fn validated(&self) -> Option<&Arc<ValidatedFields>> {
        self.validated.as_ref()
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|field| {
                let value = if field.sensitive {
                    "…".into()
                } else {
                    String::from_utf8_lossy(field.value)
                };
                (String::from_utf8_lossy(field.name), value)
            }))
            .finish()
    }
}

/// Whether a name is a token without upper case, as HTTP/2 and SPDY have it.
pub fn is_lower_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| NAME_BYTES[usize::from(byte)])
}

static NAME_BYTES: [bool; 256] = name_bytes();

const fn name_bytes() -> [bool; 256] {
    let mut allowed = [false; 256];
    let others = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut at = 0;
    while at < others.len() {
        allowed[others[at] as usize] = true;
        at += 1;
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_their_repeats() {
        let fields = Fields::new().with("a", "1").with("B", "2").with("A", "3");
        assert_eq!(fields.all(b"a").collect::<Vec<_>>(), [b"1", b"3"]);
        assert_eq!(fields.iter().nth(1).map(|f| f.name), Some(&b"B"[..]));
    }

    #[test]
    fn a_lower_name_is_a_token_without_upper_case() {
        for name in [&b"etag"[..], b"x-1", b"!#$%&'*+-.^_`|~"] {
            assert!(is_lower_name(name) && crate::h1::is_field_name(name), "{name:?}");
        }
        for name in [&b""[..], b"ETag", b"a b", b"a:b", b"a\0", b"\xc3\xa4"] {
            assert!(!is_lower_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_sensitive_value_is_not_printed() {
        let mut fields = Fields::new();
        fields.push_field(Field { name: b"cookie", value: b"secret", sensitive: true });
        assert!(!format!("{fields:?}").contains("secret"));
    }
}
