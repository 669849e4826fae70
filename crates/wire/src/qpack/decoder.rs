//! Field sections to fields. The one rule: a section that needs entries which have not come is not touched, and a
//! field that is over the list's limit is neither copied nor handed out.

use super::integer::Text;
use super::section::{OVERHEAD, Prefix};
use super::{Error, Fault, Partial, integer};
use crate::coding::qpack_table::ENTRIES;
use crate::fields::Field;
use crate::hpack::TableVersion;
use crate::hpack::dynamic_table::DynamicTable;

/// How many times the list's limit the names of literals may be, all together: they are handed out, and may cost only a byte each.
const NAMES: usize = 16;

/// Capacity that is kept between fields.
const KEEP: usize = 16 * 1024;

/// Capacity that is kept for instructions: those of one section take a few bytes.
const KEEP_INSTRUCTIONS: usize = 64;

/// What the peer's encoder may use: the two settings of RFC 9204 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderLimits {
    /// Bytes of the dynamic table at most.
    pub max_capacity: usize,
    /// Streams that may be blocked.
    pub blocked_streams: usize,
}

/// What became of a field section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// All its fields were handed out, as long as the list was within the limit.
    Whole {
        /// Bytes of the whole list as RFC 9114 §4.2.2 counts them.
        size: usize,
        /// The Required Insert Count. 0 for a section without references to the dynamic table.
        required: u64,
    },
    /// It needs this many insertions and was not touched: try again when [`Decoder::inserted`] has come to it.
    Blocked {
        /// The Required Insert Count.
        required: u64,
    },
}

/// One direction's decoder.
#[derive(Debug)]
pub struct Decoder {
    limits: DecoderLimits,
    table: DynamicTable,
    /// How often its capacity was set.
    resized: u64,
    partial: Partial,
    /// Insertions that the encoder knows to have come.
    told: u64,
    /// Instructions for the decoder stream.
    out: Vec<u8>,
    /// For strings in Huffman's code.
    scratch: Vec<u8>,
}

impl Decoder {
    /// A decoder with an empty table.
    pub fn new(limits: DecoderLimits) -> Self {
        let (table, partial) = (DynamicTable::new(0), Partial::default());
        Self { limits, table, resized: 0, partial, told: 0, out: Vec::new(), scratch: Vec::new() }
    }

    /// What it allows.
    pub fn limits(&self) -> DecoderLimits {
        self.limits
    }

    /// Insertions so far.
    pub fn inserted(&self) -> u64 {
        self.table.inserted()
    }

    /// The version of the table: the same section is the same fields as long as it stays.
    pub fn table_version(&self) -> TableVersion {
        TableVersion { inserted: self.table.inserted(), resized: self.resized }
    }

    /// Follows instructions of the encoder stream (RFC 9204 §4.3); they may come in pieces.
    pub fn handle_instructions(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut partial = std::mem::take(&mut self.partial);
        // Name and value, and what stands before them.
        let most = self.limits.max_capacity + 64;
        let done = partial.run(bytes, most, |rest| self.instruction(rest));
        self.partial = partial;
        done
    }

    /// Appends to the decoder stream's instructions that entries have come, where no acknowledgement said so.
    pub fn acknowledge_insertions(&mut self) {
        let news = self.table.inserted() - self.told;
        if news > 0 {
            integer::put(news, 6, 0, &mut self.out);
            self.told = self.table.inserted();
        }
    }

    /// A stream was abandoned before all its sections were decoded (RFC 9204 §2.2.2.2).
    pub fn cancel_stream(&mut self, stream: u64) {
        if self.limits.max_capacity > 0 {
            integer::put(stream, 6, 0x40, &mut self.out);
        }
    }

    /// Instructions for the decoder stream, since the last call.
    pub fn take_instructions(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Whether there are instructions.
    pub fn has_instructions(&self) -> bool {
        !self.out.is_empty()
    }

    /// Appends the instructions for the decoder stream, since the last call, to `out`.
    pub fn move_instructions(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
        self.out.shrink_to(KEEP_INSTRUCTIONS);
    }

    /// Reads a whole field section of `stream` and hands its fields to `emit`, as long as the list is not above
    /// `limit`. The section is acknowledged where it refers to the dynamic table.
    pub fn decode(
        &mut self,
        stream: u64,
        section: &[u8],
        limit: usize,
        mut emit: impl FnMut(Field<'_>),
    ) -> Result<Decoded, Error> {
        let mut rest = section;
        let capacity = self.limits.max_capacity;
        let prefix = Prefix::decode(&mut rest, capacity, self.table.inserted())
            .map_err(|fault| Error { at: 0, fault })?;
        if prefix.required > self.table.inserted() {
            return Ok(Decoded::Blocked { required: prefix.required });
        }
        let mut size = 0_usize;
        let mut names_left = limit.max(OVERHEAD).saturating_mul(NAMES);
        while !rest.is_empty() {
            let at = section.len() - rest.len();
            let mut guarded = |field: Field<'_>| {
                size = size.saturating_add(field.name.len() + field.value.len() + OVERHEAD);
                if size <= limit {
                    emit(field);
                }
            };
            let name = self.field(prefix, &mut rest, &mut guarded);
            let name = name.map_err(|fault| Error { at, fault })?;
            names_left = names_left.checked_sub(name).ok_or(Error { at, fault: Fault::Excess })?;
        }
        self.acknowledge_section(stream, prefix.required);
        Ok(Decoded::Whole { size, required: prefix.required })
    }

    /// Acknowledges a section of `stream` that was read, here or, where the same bytes came before and no entry since, then
    /// (RFC 9204 §4.4.1).
    pub fn acknowledge_section(&mut self, stream: u64, required: u64) {
        if required > 0 {
            integer::put(stream, 7, 0x80, &mut self.out);
            self.told = self.told.max(required);
        }
    }

    /// Reads one field line (RFC 9204 §4.5.2 to §4.5.6); gives the length of a literal's name.
    fn field(
        &mut self,
        prefix: Prefix,
        rest: &mut &[u8],
        emit: &mut impl FnMut(Field<'_>),
    ) -> Result<usize, Fault> {
        let first = rest.first().copied().ok_or(Fault::Truncated)?;
        let (name, value) = match first {
            // Indexed field line.
            0x80.. => {
                let index = integer::take(rest, 6)?;
                self.indexed(prefix, index, first & 0x40 != 0)?
            }
            // Indexed field line with post-base index.
            0x10..0x20 => {
                let index = integer::take(rest, 4)?;
                self.after_base(prefix, index)?
            }
            _ => return self.literal(prefix, first, rest, emit),
        };
        emit(Field { name, value, sensitive: false });
        Ok(0)
    }

    /// Reads a literal field line; gives the length of its name.
    fn literal(
        &mut self,
        prefix: Prefix,
        first: u8,
        rest: &mut &[u8],
        emit: &mut impl FnMut(Field<'_>),
    ) -> Result<usize, Fault> {
        let mut decoded = std::mem::take(&mut self.scratch);
        let outcome = (|| {
            let (sensitive, name) = match first {
                // With name reference.
                0x40.. => {
                    let index = integer::take(rest, 4)?;
                    let (name, _) = self.indexed(prefix, index, first & 0x10 != 0)?;
                    (first & 0x20 != 0, Text::Plain(name))
                }
                // With post-base name reference.
                0x00..0x10 => {
                    let index = integer::take(rest, 3)?;
                    let (name, _) = self.after_base(prefix, index)?;
                    (first & 0x08 != 0, Text::Plain(name))
                }
                // With literal name.
                _ => (first & 0x10 != 0, integer::take_text(rest, 3, &mut decoded)?),
            };
            let value = integer::take_text(rest, 7, &mut decoded)?;
            let (name, value) = (name.bytes(&decoded), value.bytes(&decoded));
            emit(Field { name, value, sensitive });
            Ok(name.len())
        })();
        decoded.clear();
        decoded.shrink_to(KEEP);
        self.scratch = decoded;
        outcome
    }

    /// The static entry `index`, or the dynamic one that far before the base.
    fn indexed(
        &self,
        prefix: Prefix,
        index: u64,
        is_static: bool,
    ) -> Result<(&[u8], &[u8]), Fault> {
        if is_static { static_entry(index) } else { self.before_base(prefix, index) }
    }

    /// The entry `index` before the base (RFC 9204 §3.2.5).
    fn before_base(&self, prefix: Prefix, index: u64) -> Result<(&[u8], &[u8]), Fault> {
        let absolute = prefix.base.checked_sub(index + 1).ok_or(Fault::Index)?;
        self.referred(prefix, absolute)
    }

    /// The entry `index` from the base on (RFC 9204 §3.2.6).
    fn after_base(&self, prefix: Prefix, index: u64) -> Result<(&[u8], &[u8]), Fault> {
        self.referred(prefix, prefix.base + index)
    }

    fn referred(&self, prefix: Prefix, absolute: u64) -> Result<(&[u8], &[u8]), Fault> {
        // RFC 9204 §2.2.3: below the Required Insert Count.
        if absolute >= prefix.required {
            return Err(Fault::Index);
        }
        self.absolute(absolute)
    }

    fn absolute(&self, absolute: u64) -> Result<(&[u8], &[u8]), Fault> {
        let age = self.table.inserted().checked_sub(absolute + 1).ok_or(Fault::Index)?;
        let age = usize::try_from(age).map_err(|_| Fault::Index)?;
        self.table.entry(age).ok_or(Fault::Index)
    }

    /// Follows one instruction of the encoder stream.
    fn instruction(&mut self, rest: &mut &[u8]) -> Result<(), Fault> {
        let first = rest.first().copied().ok_or(Fault::Truncated)?;
        let most = self.limits.max_capacity;
        let (mut input, mut text) = (*rest, Vec::new());
        let newest = |table: &Self, index: u64| {
            let age = usize::try_from(index).map_err(|_| Fault::Index)?;
            table.table.entry(age).map(|(n, v)| (n.to_vec(), v.to_vec())).ok_or(Fault::Index)
        };
        let name_end = match first {
            // Insert with name reference.
            0x80.. => {
                let index = integer::take(&mut input, 6)?;
                match first & 0x40 != 0 {
                    true => text.extend_from_slice(static_entry(index)?.0),
                    false => text = newest(self, index)?.0,
                }
                let name_end = text.len();
                integer::take_string(&mut input, 7, most, &mut text)?;
                name_end
            }
            // Insert with literal name.
            0x40..0x80 => {
                integer::take_string(&mut input, 5, most, &mut text)?;
                let name_end = text.len();
                integer::take_string(&mut input, 7, most, &mut text)?;
                name_end
            }
            // Set dynamic table capacity.
            0x20..0x40 => {
                let capacity = integer::take(&mut input, 5)?;
                let capacity = usize::try_from(capacity).ok().filter(|&bytes| bytes <= most);
                self.resized += 1;
                self.table.set_capacity(capacity.ok_or(Fault::Capacity)?);
                *rest = input;
                return Ok(());
            }
            // Duplicate.
            0x00..0x20 => {
                let (name, value) = newest(self, integer::take(&mut input, 5)?)?;
                text = [&name[..], &value].concat();
                name.len()
            }
        };
        *rest = input;
        if text.len() + OVERHEAD > self.table.capacity() {
            return Err(Fault::TooLong);
        }
        let (name, value) = text.split_at(name_end);
        self.table.insert(name, value);
        Ok(())
    }
}

fn static_entry(index: u64) -> Result<(&'static [u8], &'static [u8]), Fault> {
    usize::try_from(index).ok().and_then(|index| ENTRIES.get(index)).copied().ok_or(Fault::Index)
}
