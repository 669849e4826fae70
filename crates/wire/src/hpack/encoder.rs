//! Fields to a header block. The one rule: what may stand in a table is looked up by [`EntryIndex`], and never searched.

use super::dynamic_table::{DynamicTable, OVERHEAD};
use super::integer;
use crate::coding::hpack_table::ENTRIES;
use crate::coding::{Found, put_string};
use crate::entry_index::EntryIndex;
use crate::fields::Field;
use crate::indexing::is_worth_indexing;
use crate::prepared::{Facts, PreparedField};

const STATIC: usize = ENTRIES.len();

/// One direction's encoder.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    index: EntryIndex,
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
        Self { table, index: EntryIndex::default(), announce: None, plain: 0, resized: 0 }
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
        self.put(field, &field, out);
    }

    /// The same for a field of a validated list.
    pub fn prepared_field(&mut self, field: PreparedField<'_>, out: &mut Vec<u8>) {
        self.put(field.field, &field, out);
    }

    #[inline]
    fn put(&mut self, field: Field<'_>, facts: &impl Facts, out: &mut Vec<u8>) {
        self.plain += plain_size(field);
        let Field { name, value, sensitive } = field;
        let found = facts.in_hpack();
        if let (Found::Whole(index), false) = (found, sensitive) {
            integer::encode(usize::from(index), 7, 0x80, out);
            return;
        }
        let (name_hash, inserted) = (facts.name_hash(), self.table.inserted());
        let name_index = match found {
            Found::Whole(index) | Found::Name(index) => usize::from(index),
            Found::Nothing => {
                let newest = self.index.name(name_hash, inserted);
                self.index_of(newest, |(n, _)| n == name).unwrap_or(0)
            }
        };
        let literal = |form, out: &mut Vec<u8>| {
            put_name(name_index, form, name, out);
            facts.put_value(out);
        };
        if sensitive {
            return literal(Form::Never, out);
        }
        let entry = name.len() + value.len() + OVERHEAD;
        if !is_worth_indexing(name, entry, self.table.capacity()) {
            return literal(Form::Without, out);
        }
        let hashes = facts.hashes(name_hash);
        let newest = self.index.whole(hashes.whole, inserted);
        if let Some(index) = self.index_of(newest, |(n, v)| n == name && v == value) {
            integer::encode(index, 7, 0x80, out);
            return;
        }
        literal(Form::Incremental, out);
        self.table.insert(name, value);
        self.index.insert(hashes, self.table.inserted());
    }

    /// Bytes of the block so far, before compression: [`plain_size`] of its fields.
    pub fn plain_size(&self) -> usize {
        self.plain
    }

    /// The index of the entry that was inserted as the `count`th, where it is alive and `fits`; 0 is none.
    fn index_of(&self, count: u64, fits: impl Fn((&[u8], &[u8])) -> bool) -> Option<usize> {
        if count == 0 {
            return None;
        }
        let age = usize::try_from(self.table.inserted() - count).ok()?;
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

/// The beginning of a literal. Its value follows.
fn put_name(name_index: usize, form: Form, name: &[u8], out: &mut Vec<u8>) {
    match form {
        Form::Incremental => integer::encode(name_index, 6, 0x40, out),
        Form::Without => integer::encode(name_index, 4, 0x00, out),
        Form::Never => integer::encode(name_index, 4, 0x10, out),
    }
    if name_index == 0 {
        put_string(name, 7, 0, out);
    }
}
