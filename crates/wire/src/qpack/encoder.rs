//! Fields to field sections. The one rule: an entry is not evicted while the decoder may still need it, so where no
//! entry may go a field is sent as a literal.
//!
//! A lookup is a hash and one comparison, as in [`crate::hpack`].

use super::section::{OVERHEAD, Prefix};
use super::{Error, Fault, Partial, integer};
use crate::coding::Found;
use crate::entry_index::{EntryIndex, Hashes};
use crate::fields::Field;
use crate::hpack::dynamic_table::DynamicTable;
use crate::hpack::plain_size;
use crate::indexing::is_worth_indexing;
use crate::prepared::{Facts, PreparedField};
use std::collections::{BTreeMap, VecDeque};

/// What the peer's decoder allows: the two settings of RFC 9204 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncoderLimits {
    /// Bytes of the dynamic table at most.
    pub max_capacity: usize,
    /// Streams that may be blocked.
    pub blocked_streams: usize,
}

/// One direction's encoder.
#[derive(Debug)]
pub struct Encoder {
    /// What it keeps at most, whatever the peer allows.
    most: usize,
    limits: EncoderLimits,
    table: DynamicTable,
    index: EntryIndex,
    /// Insertions that the decoder is known to have (RFC 9204 §2.1.4).
    known: u64,
    /// Sections with references that wait for their acknowledgement, in their order. Most are acknowledged in it.
    waiting: VecDeque<Waiting>,
    /// Of each stream that may be blocked, the most insertions that one of its waiting sections requires. All are more
    /// than `known`.
    blocked: BTreeMap<u64, u64>,
    /// How many of them refer to an entry as their oldest, in the order of the entries. Usually there are one or two.
    oldest: Vec<(u64, usize)>,
    /// Instructions for the encoder stream.
    out: Vec<u8>,
    partial: Partial,
    section: Section,
    /// How often the limits were set.
    generation: u32,
}

/// What a section refers to. By it the same section can go out again, see [`Encoder::repeat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct References {
    generation: u32,
    required: u64,
    oldest: Option<u64>,
}

/// A section that refers to the dynamic table.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    stream: u64,
    required: u64,
    oldest: u64,
}

/// Sections that wait for their acknowledgement at most, 24 bytes each. A busy nghttp3 is a thousand behind.
const MOST_WAITING: usize = 4096;

/// The section that is being written.
#[derive(Debug, Default)]
struct Section {
    stream: u64,
    base: u64,
    required: u64,
    /// The oldest entry that it refers to.
    oldest: Option<u64>,
    may_block: bool,
    /// Whether it may refer to the dynamic table at all.
    may_refer: bool,
    /// Whether no field of it is a literal that an entry could stand for later.
    is_settled: bool,
    lines: Vec<u8>,
    plain: usize,
}

impl Encoder {
    /// An encoder that keeps `most` bytes, and no table before [`Encoder::set_limits`].
    pub fn new(most: usize) -> Self {
        Self {
            most,
            limits: EncoderLimits::default(),
            table: DynamicTable::new(0),
            index: EntryIndex::default(),
            known: 0,
            waiting: VecDeque::new(),
            blocked: BTreeMap::new(),
            oldest: Vec::new(),
            out: Vec::new(),
            partial: Partial::default(),
            section: Section::default(),
            generation: 0,
        }
    }

    /// The peer's settings have come, or those of an earlier connection are used until they do. A capacity that was
    /// used already stays (RFC 9204 §3.2.3).
    pub fn set_limits(&mut self, limits: EncoderLimits) {
        self.limits = limits;
        self.generation += 1;
        let capacity = limits.max_capacity.min(self.most);
        if self.table.capacity() == 0 && capacity >= OVERHEAD {
            integer::put(capacity as u64, 5, 0x20, &mut self.out);
            self.table.set_capacity(capacity);
        }
    }

    /// Begins a field section on `stream`.
    pub fn begin(&mut self, stream: u64) {
        let mut lines = std::mem::take(&mut self.section.lines);
        lines.clear();
        let base = self.table.inserted();
        let may_block = self.may_block(stream);
        let may_refer = self.may_refer();
        let is_settled = may_refer;
        self.section =
            Section { stream, base, may_block, may_refer, is_settled, lines, ..Section::default() };
    }

    /// Adds a field. Its name must be in lower case.
    pub fn field(&mut self, field: Field<'_>) {
        self.put(field, &field);
    }

    /// The same for a field of a validated list.
    pub fn prepared_field(&mut self, field: PreparedField<'_>) {
        self.put(field.field, &field);
    }

    #[inline]
    fn put(&mut self, field: Field<'_>, facts: &impl Facts) {
        self.section.plain += plain_size(field);
        let Field { name, value, sensitive } = field;
        let found = facts.in_qpack();
        if let (Found::Whole(index), false) = (found, sensitive) {
            return integer::put(u64::from(index), 6, 0xc0, &mut self.section.lines);
        }
        let name_hash = facts.name_hash();
        let may_refer = self.section.may_refer;
        let entry = name.len() + value.len() + OVERHEAD;
        if !sensitive && may_refer && is_worth_indexing(name, entry, self.table.capacity()) {
            let hashes = facts.hashes(name_hash);
            let known = self.index.whole(hashes.whole, self.table.inserted());
            let entry = self.usable(known, |(n, v)| n == name && v == value);
            let entry = match entry {
                Err(InUse) => None,
                Ok(Some(entry)) => Some(entry),
                Ok(None) => self.insert(field, facts, hashes),
            };
            if let Some(entry) = entry {
                return self.put_indexed(entry);
            }
            self.section.is_settled = false;
        }
        let name_entry = match found {
            Found::Nothing if may_refer => {
                let known = self.index.name(name_hash, self.table.inserted());
                self.usable(known, |(n, _)| n == name)
            }
            _ => Ok(None),
        };
        self.put_literal(field, facts, name_entry.ok().flatten());
    }

    /// Ends the section and appends it to `out`. Gives what it refers to; None where the same fields may take fewer bytes
    /// the next time.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Option<References> {
        let Section { stream, base, required, oldest, is_settled, .. } = self.section;
        Prefix { required, base }.encode(self.limits.max_capacity, out);
        out.extend_from_slice(&self.section.lines);
        let references = References { generation: self.generation, required, oldest };
        self.wait(stream, references);
        is_settled.then_some(references)
    }

    /// Whether a section may go out again as it was written before: the decoder is known to have all that it refers to, and
    /// nothing of that was evicted.
    pub fn can_repeat(&self, references: &References) -> bool {
        let first = self.table.inserted() - self.table.len() as u64;
        let References { generation, required, oldest } = *references;
        generation == self.generation
            && required <= self.known
            && oldest.is_none_or(|oldest| oldest >= first && self.may_refer())
    }

    /// Notes that a section goes out on `stream` again. Only where [`Encoder::can_repeat`] says so.
    pub fn repeat(&mut self, stream: u64, references: References) {
        self.wait(stream, references);
    }

    /// Notes a section whose acknowledgement will come (RFC 9204 §4.4.1).
    fn wait(&mut self, stream: u64, references: References) {
        if let References { required, oldest: Some(oldest), .. } = references {
            self.waiting.push_back(Waiting { stream, required, oldest });
            if required > self.known {
                let most = self.blocked.entry(stream).or_default();
                *most = required.max(*most);
            }
            match self.find_oldest(oldest) {
                Ok(at) => self.oldest[at].1 += 1,
                Err(at) => self.oldest.insert(at, (oldest, 1)),
            }
        }
    }

    /// Bytes of the section's fields before compression, as HTTP/1.1 writes them.
    pub fn plain_size(&self) -> usize {
        self.section.plain
    }

    /// Instructions for the encoder stream, since the last call. They go before the sections that were written since.
    pub fn take_instructions(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Whether there are instructions.
    pub fn has_instructions(&self) -> bool {
        !self.out.is_empty()
    }

    /// Follows instructions of the decoder stream (RFC 9204 §4.4); they may come in pieces.
    pub fn handle_instructions(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut partial = std::mem::take(&mut self.partial);
        let done = partial.run(bytes, 16, |rest| self.instruction(rest));
        self.partial = partial;
        done
    }

    /// Streams that may be blocked now, by what the encoder knows.
    pub fn blocked_streams(&self) -> usize {
        self.blocked.len()
    }

    /// Sections that wait for their acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.waiting.len()
    }

    fn instruction(&mut self, rest: &mut &[u8]) -> Result<(), Fault> {
        let first = rest.first().copied().ok_or(Fault::Truncated)?;
        match first {
            // Section acknowledgment.
            0x80.. => {
                let stream = integer::take(rest, 7)?;
                let section = self.take_waiting(stream).ok_or(Fault::Acknowledgement)?;
                self.release(section.oldest);
                if section.required > self.known {
                    self.handle_known(section.required);
                }
            }
            // Stream cancellation.
            0x40..0x80 => {
                let stream = integer::take(rest, 6)?;
                let is_of = |section: &&Waiting| section.stream == stream;
                let oldest = self.waiting.iter().filter(is_of).map(|section| section.oldest);
                for oldest in oldest.collect::<Vec<_>>() {
                    self.release(oldest);
                }
                self.waiting.retain(|section| section.stream != stream);
                self.blocked.remove(&stream);
            }
            // Insert count increment.
            0x00..0x40 => {
                let increment = integer::take(rest, 6)?;
                let known = self.known + increment;
                if increment == 0 || known > self.table.inserted() {
                    return Err(Fault::Increment);
                }
                self.handle_known(known);
            }
        }
        Ok(())
    }

    /// The stream's first section that waits. Usually it is the first of all.
    fn take_waiting(&mut self, stream: u64) -> Option<Waiting> {
        if self.waiting.front().is_some_and(|section| section.stream == stream) {
            return self.waiting.pop_front();
        }
        let at = self.waiting.iter().position(|section| section.stream == stream)?;
        self.waiting.remove(at)
    }

    /// The decoder has so many insertions.
    fn handle_known(&mut self, known: u64) {
        self.known = known;
        self.blocked.retain(|_, required| *required > known);
    }

    fn release(&mut self, oldest: u64) {
        if let Ok(at) = self.find_oldest(oldest) {
            self.oldest[at].1 -= 1;
            if self.oldest[at].1 == 0 {
                self.oldest.remove(at);
            }
        }
    }

    /// Where an entry is in `oldest`, or would be.
    fn find_oldest(&self, entry: u64) -> Result<usize, usize> {
        self.oldest.binary_search_by_key(&entry, |&(known, _)| known)
    }

    /// Whether a section may refer to the dynamic table: not where the peer acknowledges nothing.
    fn may_refer(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Whether the stream may refer to entries that have not been acknowledged (RFC 9204 §2.1.2).
    fn may_block(&self, stream: u64) -> bool {
        let most = self.limits.blocked_streams;
        most > 0 && (self.blocked.len() < most || self.blocked.contains_key(&stream))
    }

    /// The entry after whose insertion the count was `count`, where it is alive and `fits`. `Err` where it is the one
    /// that is asked for, and cannot be referred to yet.
    fn usable(
        &self,
        count: u64,
        fits: impl Fn((&[u8], &[u8])) -> bool,
    ) -> Result<Option<u64>, InUse> {
        let Some(absolute) = count.checked_sub(1) else { return Ok(None) };
        let age = (self.table.inserted() - count) as usize;
        match self.table.entry(age) {
            Some(entry) if fits(entry) => {
                let usable = count <= self.known || self.section.may_block;
                if usable { Ok(Some(absolute)) } else { Err(InUse) }
            }
            _ => Ok(None),
        }
    }

    /// Inserts an entry where older ones can make space for it; gives it where this section may refer to it.
    fn insert(&mut self, field: Field<'_>, facts: &impl Facts, hashes: Hashes) -> Option<u64> {
        let Field { name, value, .. } = field;
        if !self.can_insert(name.len() + value.len() + OVERHEAD) {
            return None;
        }
        let name_count = self.index.name(hashes.name, self.table.inserted());
        match facts.in_qpack() {
            Found::Whole(index) | Found::Name(index) => {
                integer::put(u64::from(index), 6, 0xc0, &mut self.out);
            }
            Found::Nothing => match self.live(name_count, |(n, _)| n == name) {
                Some(age) => integer::put(age, 6, 0x80, &mut self.out),
                None => integer::put_string(name, 5, 0x40, &mut self.out),
            },
        }
        facts.put_value(&mut self.out);
        self.table.insert(name, value);
        let count = self.table.inserted();
        self.index.insert(hashes, count);
        self.section.may_block.then_some(count - 1)
    }

    /// How many insertions ago the entry came, where it is alive and `fits`.
    fn live(&self, count: u64, fits: impl Fn((&[u8], &[u8])) -> bool) -> Option<u64> {
        let age = self.table.inserted() - count;
        (count > 0 && self.table.entry(age as usize).is_some_and(fits)).then_some(age)
    }

    /// Whether every entry that must go for `size` bytes may go (RFC 9204 §2.1.1): the decoder is known to have it,
    /// and no section that waits refers to it.
    fn can_insert(&self, size: usize) -> bool {
        let mut space = self.table.capacity() - self.table.size();
        let first = self.table.inserted() - self.table.len() as u64;
        let referred = self.oldest.first().map_or(u64::MAX, |&(entry, _)| entry);
        let pinned = referred.min(self.section.oldest.unwrap_or(u64::MAX)).min(self.known);
        let mut absolute = first;
        while space < size {
            let age = self.table.inserted() - absolute - 1;
            if absolute >= pinned {
                return false;
            }
            let Some((name, value)) = self.table.entry(age as usize) else { return false };
            space += name.len() + value.len() + OVERHEAD;
            absolute += 1;
        }
        true
    }

    /// Notes that the section refers to an entry.
    fn refer(&mut self, absolute: u64) {
        let section = &mut self.section;
        section.required = section.required.max(absolute + 1);
        section.oldest = Some(section.oldest.map_or(absolute, |oldest| oldest.min(absolute)));
    }

    fn put_indexed(&mut self, absolute: u64) {
        self.refer(absolute);
        let Section { base, lines, .. } = &mut self.section;
        match base.checked_sub(absolute + 1) {
            Some(index) => integer::put(index, 6, 0x80, lines),
            None => integer::put(absolute - *base, 4, 0x10, lines),
        }
    }

    fn put_literal(&mut self, field: Field<'_>, facts: &impl Facts, entry: Option<u64>) {
        let never = |bit: u8| if field.sensitive { bit } else { 0 };
        if let Some(absolute) = entry {
            self.refer(absolute);
        }
        let Section { base, lines, .. } = &mut self.section;
        match (facts.in_qpack(), entry) {
            (Found::Whole(index) | Found::Name(index), _) => {
                integer::put(u64::from(index), 4, 0x50 | never(0x20), lines);
            }
            (Found::Nothing, Some(absolute)) => match base.checked_sub(absolute + 1) {
                Some(index) => integer::put(index, 4, 0x40 | never(0x20), lines),
                None => integer::put(absolute - *base, 3, never(0x08), lines),
            },
            (Found::Nothing, None) => {
                integer::put_string(field.name, 3, 0x20 | never(0x10), lines);
            }
        }
        facts.put_value(lines);
    }
}

/// The entry is there, and this section must not refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InUse;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// What happens to an encoder: a section with one of a few fields, or an instruction of the decoder's.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Section { stream: u64, value: u8 },
        Acknowledge { stream: u64 },
        Cancel { stream: u64 },
        Increment { by: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let stream = 0..6_u64;
        prop_oneof![
            3 => (stream.clone(), any::<u8>()).prop_map(|(stream, value)| Step::Section { stream, value }),
            2 => stream.clone().prop_map(|stream| Step::Acknowledge { stream }),
            1 => stream.prop_map(|stream| Step::Cancel { stream }),
            1 => (1..3_u64).prop_map(|by| Step::Increment { by }),
        ]
    }

    proptest! {
        /// The counts that are kept are those of the sections that wait, gone through one by one.
        #[test]
        fn blocked_streams_are_those_whose_sections_require_what_is_not_known(
            blocked_streams in 0..4_usize,
            steps in proptest::collection::vec(step(), 1..80),
        ) {
            let mut encoder = Encoder::new(4096);
            encoder.set_limits(EncoderLimits { max_capacity: 400, blocked_streams });
            for step in steps {
                let mut instruction = Vec::new();
                match step {
                    Step::Section { stream, value } => {
                        encoder.begin(stream);
                        encoder.field(Field { name: b"x", value: &[value % 16], sensitive: false });
                        encoder.end(&mut Vec::new());
                    }
                    Step::Acknowledge { stream } => integer::put(stream, 7, 0x80, &mut instruction),
                    Step::Cancel { stream } => integer::put(stream, 6, 0x40, &mut instruction),
                    Step::Increment { by } => integer::put(by, 6, 0, &mut instruction),
                }
                // One that acknowledges what never was is refused, and changes nothing.
                let _refused = encoder.handle_instructions(&instruction);
                let blocked = encoder.waiting.iter().filter(|one| one.required > encoder.known);
                let blocked: BTreeSet<u64> = blocked.map(|one| one.stream).collect();
                prop_assert_eq!(encoder.blocked_streams(), blocked.len());
                let mut oldest = BTreeMap::new();
                for waiting in &encoder.waiting {
                    *oldest.entry(waiting.oldest).or_default() += 1;
                }
                prop_assert!(encoder.oldest.iter().copied().eq(oldest));
                prop_assert!(blocked.len() <= blocked_streams);
            }
        }
    }
}
