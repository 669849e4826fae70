//! Where an encoder of HPACK or QPACK finds entries of its dynamic table: by the hash of name and value, or of the name alone. It may
//! be wrong: the encoder compares what it finds. The one rule: a lookup is a hash and one comparison, never a search; where two
//! fields share a bucket the older is coded again, which costs bytes and not time.
//!
//! Each bucket has the low 16 bits of the insertion count after its newest entry, so that both tables take 1 kB of an idle
//! connection, and nothing before the first insertion. An entry that is 65,536 insertions old is not found any more.

const BUCKETS: usize = 256;

/// Insertion counts by hash.
#[derive(Debug, Default)]
pub(crate) struct EntryIndex(Option<Box<Buckets>>);

#[derive(Debug)]
struct Buckets {
    whole: [u16; BUCKETS],
    names: [u16; BUCKETS],
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
        let empty = || Box::new(Buckets { whole: [0; BUCKETS], names: [0; BUCKETS] });
        let buckets = self.0.get_or_insert_with(empty);
        buckets.whole[bucket(hashes.whole)] = inserted as u16;
        buckets.names[bucket(hashes.name)] = inserted as u16;
    }

    /// The insertion count after the newest entry with this hash of name and value, where `inserted` is the table's own; 0 for
    /// none.
    pub(crate) fn whole(&self, hash: u64, inserted: u64) -> u64 {
        self.0.as_ref().map_or(0, |all| count(all.whole[bucket(hash)], inserted))
    }

    /// The same for the name alone.
    pub(crate) fn name(&self, hash: u64, inserted: u64) -> u64 {
        self.0.as_ref().map_or(0, |all| count(all.names[bucket(hash)], inserted))
    }
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

fn bucket(hash: u64) -> usize {
    (hash >> 56) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_until_65_536_others_have_come() {
        let mut index = EntryIndex::default();
        let (name, other) = (hash(b"server", 0), hash(b"x-request-id", 0));
        let whole = hash(b"1", name);
        assert_eq!((index.whole(whole, 0), index.name(name, 0)), (0, 0));
        for inserted in [1, 65_535, 65_536, 200_000] {
            index.insert(Hashes { name, whole }, inserted);
            assert_eq!(index.whole(whole, inserted), inserted);
            assert_eq!(index.name(name, inserted + 65_535), inserted);
            assert_eq!(index.name(name, inserted + 65_536), inserted + 65_536, "another entry's");
            assert_eq!(index.name(other, inserted) % 65_536, 0, "a bucket that is empty");
        }
    }
}
