//! The text that a copy can refer to: the dictionary and what was sent last. The one rule: an offset is used only after
//! the bytes there have been compared.

use super::DICTIONARY;

/// How far back a copy may reach. zlib keeps as much of its window of 32 KiB free for the longest copy
/// and what it looks at beside it; it never sends a longer distance.
const REACH: usize = 32 * 1024 - 262;

/// Bytes at which what is out of reach is dropped.
const FULL: usize = 64 * 1024;

/// A byte's number in all that was ever sent, modulo 2^32.
pub(super) type Place = u32;

/// What was sent.
#[derive(Debug)]
pub(super) struct Window {
    text: Vec<u8>,
    /// The place of the first byte of `text`.
    first: Place,
}

impl Window {
    /// The dictionary, and nothing sent.
    pub(super) fn new() -> Self {
        Self { text: DICTIONARY.to_vec(), first: 0 }
    }

    /// Appends what is sent next; gives where it begins. Places that were looked up before are void.
    pub(super) fn push(&mut self, text: &[u8]) -> usize {
        if self.text.len() >= FULL {
            let gone = self.text.len() - REACH;
            self.text.drain(..gone);
            self.text.shrink_to(2 * FULL);
            self.first = self.first.wrapping_add(gone as u32);
        }
        let at = self.text.len();
        self.text.extend_from_slice(text);
        at
    }

    /// All that is kept.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The place of what stands at `at`.
    pub(super) fn place(&self, at: usize) -> Place {
        self.first.wrapping_add(at as u32)
    }

    /// Where the place is, if what stands at `at` can be a copy from there.
    pub(super) fn find(&self, place: Place, at: usize) -> Option<usize> {
        let found = place.wrapping_sub(self.first) as usize;
        (found < at && self.reaches(found, at)).then_some(found)
    }

    /// Whether what stands at `at` can be a copy from `from`.
    pub(super) fn reaches(&self, from: usize, at: usize) -> bool {
        at - from <= REACH
    }

    /// The four bytes at `at`.
    pub(super) fn four(&self, at: usize) -> Option<[u8; 4]> {
        self.text.get(at..)?.first_chunk().copied()
    }

    /// How many bytes are the same from `old` and from `new` on, up to `end` of the new ones.
    pub(super) fn same(&self, old: usize, new: usize, end: usize) -> usize {
        let (old, new) = (&self.text[old..], &self.text[new..end]);
        let mut same = 0;
        for (a, b) in old.as_chunks::<16>().0.iter().zip(new.as_chunks::<16>().0) {
            if a != b {
                break;
            }
            same += 16;
        }
        let rest = old[same..].iter().zip(&new[same..]);
        same + rest.take_while(|(a, b)| a == b).count()
    }

    /// How many bytes are the same before `old_end` and before `new_end`, `most` at most.
    pub(super) fn same_before(&self, old_end: usize, new_end: usize, most: usize) -> usize {
        let (old, new) = (&self.text[..old_end], &self.text[new_end - most..new_end]);
        old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_reach_is_not_found_and_not_kept() {
        let mut window = Window::new();
        let begin = window.push(b"first");
        let place = window.place(begin);
        assert_eq!(window.find(place, begin), None, "not before itself");
        let mut at = window.push(&[b'x'; 1000]);
        while window.find(place, at).is_some() {
            at = window.push(&[b'x'; 1000]);
        }
        assert!(window.place(at).wrapping_sub(place) as usize > REACH);
        for _ in 0..10_000 {
            window.push(&[b'x'; 1000]);
            assert!(window.text.capacity() <= 3 * FULL);
        }
    }

    #[test]
    fn places_go_on_where_their_numbers_begin_again() {
        let mut window = Window { first: u32::MAX - 1425, ..Window::new() };
        let begin = window.push(b"first");
        let place = window.place(begin);
        let at = window.push(&[b'x'; 1000]);
        assert!(window.place(at) < place, "the numbers have begun again");
        assert_eq!(window.find(place, at), Some(begin));
    }

    #[test]
    fn what_is_the_same_is_counted_from_either_side() {
        let mut window = Window::new();
        let old = window.push(b"https://a.test/images/1.png");
        let new = window.push(b"https://a.test/images/24.png");
        assert_eq!(window.same(old, new, new + 28), 22);
        assert_eq!(window.same(old, new, new + 13), 13);
        assert_eq!(window.same_before(new, new + 28, 6), 4);
        assert_eq!(window.same_before(new, new + 28, 3), 3);
    }
}
