//! Where an encoder of HPACK or QPACK finds entries of its dynamic table: by the hash of name and value, or of the name alone. It may
//! be wrong: the encoder compares what it finds. The one rule: a lookup is a hash and one comparison, never a search; where two
//! fields share a bucket the older is coded again, which costs bytes and not time.
//!
//! A few entries stand in a list, with 32 bits of their hashes. From the seventeenth on there is a table of buckets. Each bucket has the
//! low 16 bits of the insertion count after its newest entry, so that both tables take 1 kB, and an idle connection with few
//! entries 200 bytes. An entry that is 65,536 insertions old is not found any more.

const BUCKETS: usize = 256;

/// Entries of the list.
const FEW: usize = 16;

/// Insertion counts by hash.
#[derive(Debug)]
pub(crate) enum EntryIndex {
    Few(Vec<Entry>),
    Many(Box<Buckets>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    whole: u32,
    name: u32,
    inserted: u16,
}

#[derive(Debug)]
pub(crate) struct Buckets {
    whole: [u16; BUCKETS],
    names: [u16; BUCKETS],
}

impl Default for EntryIndex {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Buckets {
    fn insert(&mut self, entry: Entry) {
        self.whole[bucket(entry.whole)] = entry.inserted;
        self.names[bucket(entry.name)] = entry.inserted;
    }
}

/// The hashes of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashes {
    /// Of its name.
    pub(crate) name: u64,
    /// Of its name and value.
    pub(crate) whole: u64,
}

impl EntryIndex {
    /// An entry with these hashes was inserted, the table's `inserted`th.
    pub(crate) fn insert(&mut self, hashes: Hashes, inserted: u64) {
        let (whole, name) = (upper(hashes.whole), upper(hashes.name));
        let entry = Entry { whole, name, inserted: inserted as u16 };
        match self {
            Self::Few(few) if few.len() < FEW => few.push(entry),
            Self::Few(few) => {
                let mut many = Box::new(Buckets { whole: [0; BUCKETS], names: [0; BUCKETS] });
                few.iter().for_each(|earlier| many.insert(*earlier));
                many.insert(entry);
                *self = Self::Many(many);
            }
            Self::Many(many) => many.insert(entry),
        }
    }

    /// The insertion count after the newest entry with this hash of name and value, where `inserted` is the table's own; 0 for
    /// none.
    pub(crate) fn whole(&self, hash: u64, inserted: u64) -> u64 {
        let hash = upper(hash);
        match self {
            Self::Few(few) => newest(few, inserted, |entry| entry.whole == hash),
            Self::Many(many) => count(many.whole[bucket(hash)], inserted),
        }
    }

    /// The same for the name alone.
    pub(crate) fn name(&self, hash: u64, inserted: u64) -> u64 {
        let hash = upper(hash);
        match self {
            Self::Few(few) => newest(few, inserted, |entry| entry.name == hash),
            Self::Many(many) => count(many.names[bucket(hash)], inserted),
        }
    }
}

fn newest(few: &[Entry], inserted: u64, is_it: impl Fn(&Entry) -> bool) -> u64 {
    let found = few.iter().rev().find(|entry| is_it(entry));
    found.map_or(0, |entry| count(entry.inserted, inserted))
}

/// The greatest count up to `inserted` that ends with these bits; 0 where there is none.
fn count(low: u16, inserted: u64) -> u64 {
    let age = (inserted as u16).wrapping_sub(low);
    inserted.saturating_sub(u64::from(age))
}

/// A multiply-rotate hash over eight bytes at a time (as in FxHash), from `seed` on: 0 for a name, the name's hash for the value
/// behind it. A peer cannot gain by collisions, since a bucket has one place.
pub(crate) fn hash(text: &[u8], seed: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let mut hash = mix(seed, text.len() as u64);
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    chunks.remainder().iter().fold(hash, |hash, &byte| mix(hash, u64::from(byte)))
}

fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

fn bucket(upper: u32) -> usize {
    (upper >> 24) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of which so many entries are none that a test asks for.
    fn with_others(count: u64) -> EntryIndex {
        let mut index = EntryIndex::default();
        for number in 1..=count {
            let name = hash(&number.to_be_bytes(), 7);
            index.insert(Hashes { name, whole: hash(b"other", name) }, number);
        }
        index
    }

    #[test]
    fn an_entry_is_found_until_65_536_others_have_come() {
        for others in [0, 8, 12, 15, 16, 17, 40] {
            let mut index = with_others(others);
            let (name, other) = (hash(b"server", 0), hash(b"x-request-id", 0));
            let whole = hash(b"1", name);
            assert_eq!((index.whole(whole, 0), index.name(name, 0)), (0, 0));
            for inserted in [others + 1, 65_535, 65_536, 200_000] {
                index.insert(Hashes { name, whole }, inserted);
                assert_eq!(index.whole(whole, inserted), inserted, "{others}");
                assert_eq!(index.name(name, inserted + 65_535), inserted, "{others}");
                let anothers = inserted + 65_536;
                assert_eq!(index.name(name, anothers), anothers, "{others}: another entry's");
                assert_eq!(index.name(other, inserted) % 65_536, 0, "{others}: there is none");
            }
        }
    }

    #[test]
    fn a_few_entries_are_all_found_and_take_little() {
        let index = with_others(FEW as u64);
        let EntryIndex::Few(few) = &index else { panic!("{index:?}") };
        assert!(few.capacity() * size_of::<Entry>() <= 192);
        for number in 1..=FEW as u64 {
            let name = hash(&number.to_be_bytes(), 7);
            let found =
                (index.name(name, FEW as u64), index.whole(hash(b"other", name), FEW as u64));
            assert_eq!(found, (number, number));
        }
    }
}
