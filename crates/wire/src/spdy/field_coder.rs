//! Header blocks to a zlib stream (RFC 1950, RFC 1951) without a search through the text: it knows where
//! fields begin. The one rule: what a copy is made of never depends on a part of a secret, only on the
//! whole of it, so that an attacker who controls other fields cannot guess a secret piece by piece from
//! the sizes of blocks (CRIME).
//!
//! A pair that was sent before is a copy of it, and pairs that were neighbours then are one copy. A name
//! with a new value is a copy up to where the value differs from the last one, and from where it is the
//! same again. New text is looked through for four bytes that were new text before. Each of the
//! three is a lookup with a comparison of what it finds; where two things share a bucket the older is
//! forgotten, which costs bytes and not time.

use super::fixed_code::{FixedBlock, LEAST_COPY, MOST_COPY};
use super::window::{Place, Window};
use super::{DICTIONARY, DICTIONARY_CHECK};
use std::ops::Range;
use std::sync::LazyLock;

/// RFC 1950 §2.2: DEFLATE with a window of 32 KiB, of least effort, with a dictionary.
const STREAM_HEADER: [u8; 2] = [0x78, 0x3f];

/// Fewest bytes that new text is looked up by, and that are copied of a value's end.
const GRAM: usize = 4;

/// Buckets of each kind.
const NAMES: usize = 512;
const PAIRS: usize = 1024;
const GRAMS: usize = 2048;

/// Bytes of a length in a header block.
const LENGTH: usize = 4;

/// What the size of a block may reveal of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secrecy {
    /// Which parts of it were sent before.
    Open,
    /// Whether all of it was.
    Whole,
    /// Nothing but its length.
    Full,
}

/// Where a pair stands in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// The name.
    pub(super) name: usize,
    /// Where the value's length stands, right behind the name.
    pub(super) value_length: usize,
    /// The end of the value.
    pub(super) end: usize,
    pub(super) secrecy: Secrecy,
}

/// What codes the blocks of one direction of a connection.
#[derive(Debug)]
pub(super) struct FieldCoder {
    window: Window,
    places: Box<Places>,
    /// Where the last block begins; None before the first.
    last: Option<Place>,
}

/// Where things were sent last. A place of something else, as all are at first, is found out.
#[derive(Debug, Clone)]
struct Places {
    /// Pairs, by name.
    names: [Place; NAMES],
    /// Pairs that another value has followed, by name and value.
    pairs: [Place; PAIRS],
    /// New text, by four bytes.
    grams: [Place; GRAMS],
}

impl FieldCoder {
    pub(super) fn new() -> Self {
        static DICTIONARY_PLACES: LazyLock<Places> = LazyLock::new(Places::of_dictionary);
        Self { window: Window::new(), places: Box::new(DICTIONARY_PLACES.clone()), last: None }
    }

    /// Appends the block of these pairs to `out`, flushed.
    pub(super) fn block(&mut self, plain: &[u8], pairs: &[Pair], out: &mut Vec<u8>) {
        // What is copied takes little, what is not takes nine bits a byte at most.
        out.reserve(64 + plain.len() / 4);
        if self.last.is_none() {
            out.extend_from_slice(&STREAM_HEADER);
            out.extend_from_slice(&DICTIONARY_CHECK.to_be_bytes());
        }
        let begin = self.window.push(plain);
        let last = self.last.replace(self.window.place(begin));
        let mut turn = Turn {
            window: &self.window,
            places: &mut self.places,
            block: FixedBlock::begin(out),
            begun: None,
        };
        turn.count(last, begin);
        for pair in pairs {
            turn.pair(&Spot::new(pair, begin));
        }
        turn.write_copy();
        turn.block.end();
    }
}

impl Places {
    /// What the dictionary has.
    fn of_dictionary() -> Self {
        let mut places = Self { names: [0; NAMES], pairs: [0; PAIRS], grams: [0; GRAMS] };
        for (at, gram) in DICTIONARY.windows(GRAM).enumerate() {
            places.grams[bucket::<GRAMS>(hash(gram))] = at as Place;
        }
        let mut rest = &DICTIONARY[..];
        // Behind its names the dictionary has values without lengths: they would be far too long.
        while let Some((length, text)) = rest.split_first_chunk()
            && let Some((name, more)) = text.split_at_checked(u32::from_be_bytes(*length) as usize)
        {
            let at = DICTIONARY.len() - rest.len();
            places.names[bucket::<NAMES>(hash(name))] = at as Place;
            rest = more;
        }
        places
    }
}

/// A pair in the window.
#[derive(Debug)]
struct Spot {
    /// Of its name's length.
    begin: usize,
    name_end: usize,
    end: usize,
    secrecy: Secrecy,
}

impl Spot {
    fn new(pair: &Pair, block: usize) -> Self {
        Self {
            begin: block + pair.name - LENGTH,
            name_end: block + pair.value_length,
            end: block + pair.end,
            secrecy: pair.secrecy,
        }
    }
}

/// A copy that the next one may make longer.
#[derive(Debug, Clone, Copy)]
struct Echo {
    distance: usize,
    length: usize,
}

/// The coding of one block.
#[derive(Debug)]
struct Turn<'c> {
    window: &'c Window,
    places: &'c mut Places,
    block: FixedBlock<'c>,
    begun: Option<Echo>,
}

impl Turn<'_> {
    /// The count of pairs, which the last block began with.
    fn count(&mut self, last: Option<Place>, begin: usize) {
        let last = last.and_then(|place| self.window.find(place, begin));
        match last.filter(|&last| self.window.four(last) == self.window.four(begin)) {
            Some(last) => self.copy(begin - last, LENGTH),
            None => self.literals(begin..begin + LENGTH),
        }
    }

    fn pair(&mut self, spot: &Spot) {
        let Spot { begin, name_end, end, .. } = *spot;
        if spot.secrecy == Secrecy::Full {
            return self.literals(begin..end);
        }
        let name = bucket::<NAMES>(hash(&self.window.text()[begin + LENGTH..name_end]));
        let latest = std::mem::replace(&mut self.places.names[name], self.window.place(begin));
        let Some(old) = self.window.find(latest, begin) else { return self.new_pair(spot) };
        let same = self.window.same(old, begin, end);
        if same == end - begin {
            self.copy(begin - old, same);
        } else if same < name_end - begin {
            self.new_pair(spot);
        } else {
            self.new_value(spot, old, same);
        }
    }

    /// A name that was not sent before, or was forgotten.
    fn new_pair(&mut self, spot: &Spot) {
        self.new_text(spot.begin..spot.name_end);
        match spot.secrecy {
            Secrecy::Open => self.new_text(spot.name_end..spot.end),
            Secrecy::Whole | Secrecy::Full => self.literals(spot.name_end..spot.end),
        }
    }

    /// A name that stood at `old` last, with something else behind it; so many bytes are the same.
    fn new_value(&mut self, spot: &Spot, old: usize, same: usize) {
        let Spot { begin, name_end, end, .. } = *spot;
        let old_end = self.replaced(old, old + name_end - begin, begin);
        let earlier = self.places.pairs[bucket::<PAIRS>(self.hash_of(begin..end))];
        let earlier = self.window.find(earlier, begin);
        if let Some(earlier) = earlier.filter(|&e| self.window.same(e, begin, end) == end - begin) {
            return self.copy(begin - earlier, end - begin);
        }
        if spot.secrecy == Secrecy::Whole {
            self.copy(begin - old, name_end - begin);
            return self.literals(name_end..end);
        }
        self.copy(begin - old, same);
        let rest = begin + same..end;
        // A value that is much longer than the last one ends further behind it than it began.
        let old_end = old_end.filter(|&old_end| self.window.reaches(old_end, end));
        let tail = old_end.map_or(0, |old| self.window.same_before(old, end, rest.len()));
        match old_end.filter(|_| tail >= GRAM) {
            Some(old_end) => {
                self.new_text(rest.start..end - tail);
                self.copy(end - old_end, tail);
            }
            None => self.new_text(rest),
        }
    }

    /// Remembers the pair at `old`, whose name's last place is another's now; gives where it ends.
    fn replaced(&mut self, old: usize, name_end: usize, before: usize) -> Option<usize> {
        // In the dictionary there may be anything behind a name.
        let length = u32::from_be_bytes(self.window.four(name_end)?) as usize;
        let end = name_end.checked_add(LENGTH + length).filter(|&end| end <= before)?;
        self.places.pairs[bucket::<PAIRS>(self.hash_of(old..end))] = self.window.place(old);
        Some(end)
    }

    fn hash_of(&self, range: Range<usize>) -> u64 {
        hash(&self.window.text()[range])
    }

    /// Text that is not known from where it stands.
    fn new_text(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at + GRAM <= range.end {
            let gram = self.hash_of(at..at + GRAM);
            let place = &mut self.places.grams[bucket::<GRAMS>(gram)];
            let earlier = std::mem::replace(place, self.window.place(at));
            let earlier = self.window.find(earlier, at);
            let same = earlier.map_or(0, |earlier| self.window.same(earlier, at, range.end));
            match earlier.filter(|_| same >= GRAM) {
                Some(earlier) => {
                    self.copy(at - earlier, same);
                    at += same;
                }
                None => {
                    self.literals(at..at + 1);
                    at += 1;
                }
            }
        }
        self.literals(at..range.end);
    }

    fn literals(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.write_copy();
        }
        for byte in &self.window.text()[range] {
            self.block.literal(*byte);
        }
    }

    fn copy(&mut self, distance: usize, length: usize) {
        match &mut self.begun {
            Some(begun) if begun.distance == distance => begun.length += length,
            _ => {
                self.write_copy();
                self.begun = Some(Echo { distance, length });
            }
        }
    }

    fn write_copy(&mut self) {
        let Some(Echo { distance, mut length }) = self.begun.take() else { return };
        while length > MOST_COPY {
            // What is left is long enough for another.
            let part = MOST_COPY.min(length - LEAST_COPY);
            self.block.copy(part, distance);
            length -= part;
        }
        self.block.copy(length, distance);
    }
}

/// What tells bytes apart, eight a step: the two halves of a product, folded.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * FACTOR;
        (product >> 64) as u64 ^ product as u64
    };
    let mut hash = bytes.len() as u64;
    let mut rest = bytes;
    while let Some((eight, more)) = rest.split_first_chunk() {
        hash = mix(hash, u64::from_le_bytes(*eight));
        rest = more;
    }
    // The last bytes, some of them twice, but for short ones.
    let tail = match (bytes.last_chunk(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(eight), ..) => u64::from_le_bytes(*eight),
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    mix(hash, tail)
}

fn bucket<const BUCKETS: usize>(hash: u64) -> usize {
    (hash >> 40) as usize % BUCKETS
}
