//! Fields to a header block. The one rule: a lookup is a hash and one comparison, never a search;
//! where two fields share a bucket the older is coded again, which costs bytes and not time.

use super::static_table::{self, Found};
use super::{dynamic_table::DynamicTable, huffman, integer};
use crate::fields::Field;

const STATIC: usize = static_table::ENTRIES.len();
const BUCKETS: usize = 256;

/// One direction's encoder.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    /// Serial number of the newest entry with this hash of name and value; 0 for none.
    whole: Box<[u64; BUCKETS]>,
    /// The same for the name alone.
    names: Box<[u64; BUCKETS]>,
    /// The smallest capacity since the last block, where it changed.
    announce: Option<usize>,
    /// Bytes of the block's fields.
    plain: usize,
    /// How often the table's capacity has changed.
    resized: u64,
}

impl Encoder {
    /// Begins with a table of `capacity` bytes, which both sides know (4096 in HTTP/2).
    pub fn new(capacity: usize) -> Self {
        let table = DynamicTable::new(capacity);
        let (whole, names) = (Box::new([0; BUCKETS]), Box::new([0; BUCKETS]));
        Self { table, whole, names, announce: None, plain: 0, resized: 0 }
    }

    /// Changes the table's capacity; the next block signals it to the decoder.
    pub fn set_capacity(&mut self, bytes: usize) {
        if bytes == self.table.capacity() {
            return;
        }
        self.resized += 1;
        self.announce = Some(self.announce.unwrap_or(bytes).min(bytes));
        self.table.set_capacity(bytes);
    }

    /// What the next block depends on besides its fields: as long as this is the same, and no change of capacity waits
    /// to be announced, the same fields come out as the same bytes.
    pub fn table_version(&self) -> Option<TableVersion> {
        let version = TableVersion { inserted: self.table.inserted(), resized: self.resized };
        self.announce.is_none().then_some(version)
    }

    /// Begins a header block.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.plain = 0;
        let Some(smallest) = self.announce.take() else { return };
        // RFC 7541 §4.2: the smallest size in between, then the final one.
        if smallest < self.table.capacity() {
            integer::encode(smallest, 5, 0x20, out);
        }
        integer::encode(self.table.capacity(), 5, 0x20, out);
    }

    /// Appends a field to the block. Its name must be in lower case.
    pub fn field(&mut self, field: Field<'_>, out: &mut Vec<u8>) {
        self.plain += plain_size(field);
        let Field { name, value, sensitive } = field;
        let found = static_table::find(name, value);
        if let (Found::Whole(index), false) = (found, sensitive) {
            integer::encode(index, 7, 0x80, out);
            return;
        }
        let name_hash = hash(name, 0);
        let name_index = match found {
            Found::Whole(index) | Found::Name(index) => index,
            Found::Nothing => {
                self.age(self.names[bucket(name_hash)], |(n, _)| n == name).unwrap_or(0)
            }
        };
        if sensitive {
            literal(name_index, Form::Never, name, value, out);
            return;
        }
        if !worth_indexing(name, value, self.table.capacity()) {
            literal(name_index, Form::Without, name, value, out);
            return;
        }
        let whole_hash = hash(value, name_hash);
        let known = self.whole[bucket(whole_hash)];
        if let Some(index) = self.age(known, |(n, v)| n == name && v == value) {
            integer::encode(index, 7, 0x80, out);
            return;
        }
        literal(name_index, Form::Incremental, name, value, out);
        self.table.insert(name, value);
        self.whole[bucket(whole_hash)] = self.table.inserted();
        self.names[bucket(name_hash)] = self.table.inserted();
    }

    /// Bytes of the block so far, before compression: [`plain_size`] of its fields.
    pub fn plain_size(&self) -> usize {
        self.plain
    }

    /// The index of the entry with that serial number, where it is alive and `fits`.
    fn age(&self, serial: u64, fits: impl Fn((&[u8], &[u8])) -> bool) -> Option<usize> {
        if serial == 0 {
            return None;
        }
        let age = usize::try_from(self.table.inserted() - serial).ok()?;
        self.table.entry(age).filter(|&entry| fits(entry)).map(|_| STATIC + 1 + age)
    }
}

/// A version of a table's content and capacity. Equal versions of one table are the same table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableVersion {
    pub(crate) inserted: u64,
    pub(crate) resized: u64,
}

/// Bytes of a field as HTTP/1.1 writes it (RFC 9112 §5): name, colon, a space, value, CRLF.
#[inline]
pub fn plain_size(field: Field<'_>) -> usize {
    const AROUND: usize = ": \r\n".len();
    field.name.len() + field.value.len() + AROUND
}

/// RFC 7541 §6.2.
#[derive(Clone, Copy)]
enum Form {
    Incremental,
    Without,
    Never,
}

fn literal(name_index: usize, form: Form, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match form {
        Form::Incremental => integer::encode(name_index, 6, 0x40, out),
        Form::Without => integer::encode(name_index, 4, 0x00, out),
        Form::Never => integer::encode(name_index, 4, 0x10, out),
    }
    if name_index == 0 {
        string(name, out);
    }
    string(value, out);
}

fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        integer::encode(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len(), 7, 0x00, out);
        out.extend_from_slice(text);
    }
}

/// Fields whose value is seldom the same twice would only push useful ones out.
fn worth_indexing(name: &[u8], value: &[u8], capacity: usize) -> bool {
    if (name.len() + value.len() + super::dynamic_table::OVERHEAD) * 4 > capacity * 3 {
        return false;
    }
    !matches!(
        name,
        b":path"
            | b"age"
            | b"content-length"
            | b"content-range"
            | b"etag"
            | b"if-modified-since"
            | b"if-none-match"
            | b"last-modified"
            | b"location"
            | b"range"
            | b"set-cookie"
    )
}

fn bucket(hash: u64) -> usize {
    (hash >> 56) as usize % BUCKETS
}

/// A multiply-rotate hash over eight bytes at a time (as in FxHash): the peer cannot gain by
/// collisions, since a bucket has one place.
fn hash(text: &[u8], start: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let mut hash = mix(start, text.len() as u64);
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    chunks.remainder().iter().fold(hash, |hash, &byte| mix(hash, u64::from(byte)))
}
