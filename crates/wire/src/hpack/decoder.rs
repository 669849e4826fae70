//! A header block to fields. The one rule: the table stays in step whatever the block holds, and a
//! field that is over the list's limit is neither copied nor handed out.

use super::dynamic_table::{DynamicTable, OVERHEAD};
use super::encoder::TableVersion;
use super::{Error, Fault, integer};
use crate::coding::hpack_table::ENTRIES;
use crate::coding::huffman;
use crate::fields::Field;

/// How many times the list's limit may be copied out of the table by literals that name an entry: two
/// bytes can copy a whole table, and a block can hold thousands of them.
const COPIES: usize = 16;

/// Capacity that is kept between fields.
const KEEP: usize = 16 * 1024;

/// One direction's decoder.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// What we allow the peer's encoder.
    allowed: usize,
    /// Whether the next block must begin with a size update, since `allowed` fell below the capacity.
    update_due: bool,
    scratch: Vec<u8>,
    /// How often the table's capacity, or what is allowed of it, has changed.
    resized: u64,
}

impl Decoder {
    /// Begins with a table of `capacity` bytes, which both sides know (4096 in HTTP/2).
    pub fn new(capacity: usize) -> Self {
        let (table, scratch) = (DynamicTable::new(capacity), Vec::new());
        Self { table, allowed: capacity, update_due: false, scratch, resized: 0 }
    }

    /// Changes what the peer may use. Call it when the peer has acknowledged the setting.
    pub fn set_allowed(&mut self, bytes: usize) {
        self.resized += 1;
        self.allowed = bytes;
        self.update_due = self.table.capacity() > bytes;
    }

    /// The version of the table: as long as it is the same, the same bytes are the same fields. None while a change
    /// of capacity is due.
    pub fn table_version(&self) -> Option<TableVersion> {
        let version = TableVersion { inserted: self.table.inserted(), resized: self.resized };
        (!self.update_due).then_some(version)
    }

    /// Reads a whole header block and hands its fields to `emit`, as long as the list (counted as in
    /// RFC 9113 §6.5.2) is not above `limit`. Returns the size of the whole list: above `limit`,
    /// fields are missing.
    pub fn decode(
        &mut self,
        block: &[u8],
        limit: usize,
        mut emit: impl FnMut(Field<'_>),
    ) -> Result<usize, Error> {
        let mut rest = block;
        let (mut size, mut fields) = (0_usize, 0_usize);
        let mut copies_left = limit.max(OVERHEAD).saturating_mul(COPIES);
        while let Some(&first) = rest.first() {
            let at = block.len() - rest.len();
            let positioned = |fault| Error { at, fault };
            if first & 0xe0 == 0x20 {
                // RFC 7541 §4.2: at the beginning of the block only.
                if fields > 0 {
                    return Err(positioned(Fault::SizeUpdate));
                }
                self.resize(&mut rest).map_err(positioned)?;
                continue;
            }
            if self.update_due {
                return Err(positioned(Fault::SizeUpdate));
            }
            fields += 1;
            let mut guarded = |field: Field<'_>| {
                size = size.saturating_add(field.name.len() + field.value.len() + OVERHEAD);
                if size <= limit {
                    emit(field);
                }
            };
            if first & 0x80 != 0 {
                let index = integer::decode(&mut rest, 7).map_err(positioned)?;
                let (name, value) = self.entry(index).map_err(positioned)?;
                guarded(Field { name, value, sensitive: false });
            } else {
                let name = self.literal(first, &mut rest, &mut guarded).map_err(positioned)?;
                copies_left = copies_left.checked_sub(name).ok_or(positioned(Fault::Excess))?;
            }
        }
        Ok(size)
    }

    fn resize(&mut self, rest: &mut &[u8]) -> Result<(), Fault> {
        let capacity = integer::decode(rest, 5)?;
        if capacity > self.allowed {
            return Err(Fault::TableSize);
        }
        self.resized += 1;
        self.update_due = false;
        self.table.set_capacity(capacity);
        Ok(())
    }

    /// Reads a literal field; gives the length of its name.
    fn literal(
        &mut self,
        first: u8,
        rest: &mut &[u8],
        emit: &mut impl FnMut(Field<'_>),
    ) -> Result<usize, Fault> {
        let incremental = first & 0xc0 == 0x40;
        let index = integer::decode(rest, if incremental { 6 } else { 4 })?;
        // Both texts are put into the scratch buffer: the entry that names the field may have to
        // make space for it (RFC 7541 §4.4).
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        let outcome = (|| {
            match index {
                0 => string(rest, &mut text)?,
                _ => text.extend_from_slice(self.entry(index)?.0),
            }
            let name_end = text.len();
            string(rest, &mut text)?;
            Ok(name_end)
        })();
        if let Ok(name_end) = outcome {
            let (name, value) = text.split_at(name_end);
            let sensitive = first & 0xf0 == 0x10;
            emit(Field { name, value, sensitive });
            if incremental {
                self.table.insert(name, value);
            }
        }
        // One huge field must not cost every connection its size for ever.
        text.clear();
        text.shrink_to(KEEP);
        self.scratch = text;
        outcome
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), Fault> {
        match index {
            0 => Err(Fault::Index),
            _ if index <= ENTRIES.len() => Ok(ENTRIES[index - 1]),
            _ => self.table.entry(index - ENTRIES.len() - 1).ok_or(Fault::Index),
        }
    }
}

/// Appends the string at the front of `rest` (RFC 7541 §5.2).
#[inline(always)]
fn string(rest: &mut &[u8], text: &mut Vec<u8>) -> Result<(), Fault> {
    let huffman = rest.first().is_some_and(|&first| first & 0x80 != 0);
    let length = integer::decode(rest, 7)?;
    let (coded, tail) = rest.split_at_checked(length).ok_or(Fault::Truncated)?;
    *rest = tail;
    if huffman {
        huffman::decode(coded, text).map_err(|_| Fault::Huffman)
    } else {
        text.extend_from_slice(coded);
        Ok(())
    }
}
