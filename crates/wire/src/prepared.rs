//! What an encoder of HPACK or QPACK needs of a field that does not depend on its dynamic table: where the field is in the static
//! table, its hashes, and its value as a string literal. It is worked out when the encoder asks for it, or once for all fields of a
//! list that is sent many times.

use crate::coding::{Found, hpack_table, put_string, qpack_table};
use crate::entry_index::{Hashes, hash};
use crate::fields::{Field, Fields};

/// What an encoder asks of a field.
pub(crate) trait Facts {
    /// Where HPACK's static table has it.
    fn in_hpack(&self) -> Found;
    /// Where QPACK's static table has it.
    fn in_qpack(&self) -> Found;
    /// The hash of its name.
    fn name_hash(&self) -> u64;
    /// The hashes of its name and of name and value, where that of the name is known.
    fn hashes(&self, name_hash: u64) -> Hashes;
    /// Appends its value as a string literal (RFC 7541 §5.2, RFC 9204 §4.1.2).
    fn put_value(&self, out: &mut Vec<u8>);
}

/// A field of which nothing was worked out.
impl Facts for Field<'_> {
    fn in_hpack(&self) -> Found {
        hpack_table::find(self.name, self.value)
    }

    fn in_qpack(&self) -> Found {
        qpack_table::find(self.name, self.value)
    }

    fn name_hash(&self) -> u64 {
        hash(self.name, 0)
    }

    fn hashes(&self, name_hash: u64) -> Hashes {
        Hashes { name: name_hash, whole: hash(self.value, name_hash) }
    }

    fn put_value(&self, out: &mut Vec<u8>) {
        put_string(self.value, 7, 0, out);
    }
}

/// The facts of a list's fields.
#[derive(Debug)]
pub(crate) struct PreparedFields {
    facts: Box<[FieldFacts]>,
    /// The values as string literals, one after the other.
    values: Box<[u8]>,
}

#[derive(Debug)]
struct FieldFacts {
    hashes: Hashes,
    in_hpack: Found,
    in_qpack: Found,
    /// Where its value ends.
    value_end: u32,
}

impl PreparedFields {
    pub(crate) fn new(fields: &Fields) -> Self {
        let mut values = Vec::new();
        let facts = fields.iter().map(|field| {
            field.put_value(&mut values);
            FieldFacts {
                hashes: field.hashes(field.name_hash()),
                in_hpack: field.in_hpack(),
                in_qpack: field.in_qpack(),
                value_end: values.len() as u32,
            }
        });
        Self { facts: facts.collect(), values: values.into() }
    }

    /// The fields of the list that this was made of, each with its facts.
    pub(crate) fn of<'f>(&'f self, fields: &'f Fields) -> impl Iterator<Item = PreparedField<'f>> {
        let mut start = 0;
        fields.iter().zip(&self.facts).map(move |(field, facts)| {
            let end = facts.value_end as usize;
            let value = &self.values[start..end];
            start = end;
            PreparedField { field, facts, value }
        })
    }
}

/// A field with what encoders need of it.
#[derive(Debug, Clone, Copy)]
pub struct PreparedField<'f> {
    pub(crate) field: Field<'f>,
    facts: &'f FieldFacts,
    /// Its value as a string literal.
    value: &'f [u8],
}

impl Facts for PreparedField<'_> {
    fn in_hpack(&self) -> Found {
        self.facts.in_hpack
    }

    fn in_qpack(&self) -> Found {
        self.facts.in_qpack
    }

    fn name_hash(&self) -> u64 {
        self.facts.hashes.name
    }

    fn hashes(&self, _name_hash: u64) -> Hashes {
        self.facts.hashes
    }

    fn put_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.value);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Fields, PreparedField, hpack, qpack};
    use proptest::prelude::*;

    fn each(fields: &Fields, put: impl FnMut(PreparedField<'_>)) {
        let _first = fields.prepared();
        fields.prepared().into_iter().flatten().for_each(put);
    }

    const NAMES: [&str; 7] =
        ["date", "etag", "content-length", "content-type", "x-a", "accept-ranges", "age"];
    const VALUES: [&str; 7] =
        ["", "bytes", "text/html; charset=utf-8", "\"5f-1\"", "13", "~~~~", "a"];

    fn field() -> impl Strategy<Value = (&'static str, String)> {
        let usual = (0..VALUES.len()).prop_map(|at| VALUES[at].to_owned());
        let any = "[ -~]{0,40}".prop_map(|value| value.trim().to_owned());
        ((0..NAMES.len()).prop_map(|at| NAMES[at]), prop_oneof![3 => usual, 1 => any])
    }

    proptest! {
        /// Prepared or not, the same lists come out as the same bytes: blocks, sections and instructions.
        #[test]
        fn a_prepared_list_is_the_same_bytes(
            lists in proptest::collection::vec(proptest::collection::vec(field(), 0..8), 1..6),
            order in proptest::collection::vec(0..6_usize, 1..30),
            capacity in 0..400_usize,
            blocked_streams in 0..3_usize,
        ) {
            let list = |pairs: &Vec<(&str, String)>| {
                let mut fields = Fields::new();
                pairs.iter().for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
                fields.validate();
                fields
            };
            let lists: Vec<Fields> = lists.iter().map(list).collect();
            // Lists with two lengths, or a length that is none, are not validated.
            let lists: Vec<_> = lists.iter().filter(|list| list.validated().is_some()).collect();
            prop_assume!(!lists.is_empty());
            let (mut plain, mut prepared) = (hpack::Encoder::new(capacity), hpack::Encoder::new(capacity));
            let limits = qpack::EncoderLimits { max_capacity: capacity, blocked_streams };
            let mut qpacks = [qpack::Encoder::new(4096), qpack::Encoder::new(4096)];
            qpacks.iter_mut().for_each(|encoder| encoder.set_limits(limits));
            let mut decoder = qpack::Decoder::new(qpack::DecoderLimits { max_capacity: capacity, blocked_streams });
            for (stream, at) in order.into_iter().enumerate() {
                let fields = lists[at % lists.len()];
                let (mut block, mut other) = (Vec::new(), Vec::new());
                fields.iter().for_each(|field| plain.field(field, &mut block));
                each(fields, |field| prepared.prepared_field(field, &mut other));
                prop_assert_eq!(&block, &other);
                prop_assert_eq!(plain.plain_size(), prepared.plain_size());
                let [one, two] = &mut qpacks;
                one.begin(stream as u64);
                fields.iter().for_each(|field| one.field(field));
                two.begin(stream as u64);
                each(fields, |field| two.prepared_field(field));
                let (mut section, mut other) = (Vec::new(), Vec::new());
                prop_assert_eq!(one.end(&mut section), two.end(&mut other));
                prop_assert_eq!(&section, &other);
                prop_assert_eq!(one.plain_size(), two.plain_size());
                let instructions = one.take_instructions();
                prop_assert_eq!(&instructions, &two.take_instructions());
                decoder.handle_instructions(&instructions).unwrap();
                let decoded = decoder.decode(stream as u64, &section, usize::MAX, |_| {});
                let is_whole = matches!(decoded, Ok(qpack::Decoded::Whole { .. }));
                prop_assert!(is_whole, "{decoded:?}");
                decoder.acknowledge_insertions();
                // What the decoder says comes late.
                if stream % 3 == 0 {
                    let said = decoder.take_instructions();
                    one.handle_instructions(&said).unwrap();
                    two.handle_instructions(&said).unwrap();
                }
            }
        }
    }
}
