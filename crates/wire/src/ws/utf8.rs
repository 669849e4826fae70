//! Text that is checked as it arrives (RFC 6455 §8.1). The one rule: a fault is reported with the byte
//! that makes it one, however the text is cut.

/// A check under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Utf8 {
    /// The beginning of a character whose end has not arrived.
    begun: [u8; 4],
    length: usize,
}

/// The bytes are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8;

impl Utf8 {
    /// No bytes so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes. The standard library's check runs over ASCII by the word.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), NotUtf8> {
        while self.length > 0 {
            let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            self.begun[self.length] = first;
            self.length += 1;
            match std::str::from_utf8(&self.begun[..self.length]) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_some() => return Err(NotUtf8),
                Err(_) => {}
            }
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            if error.error_len().is_some() {
                return Err(NotUtf8);
            }
            let begun = &bytes[error.valid_up_to()..];
            self.begun[..begun.len()].copy_from_slice(begun);
            self.length = begun.len();
        }
        Ok(())
    }

    /// The text ends here.
    pub fn end(self) -> Result<(), NotUtf8> {
        if self.length == 0 { Ok(()) } else { Err(NotUtf8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fault_shows_with_the_byte_that_makes_it_one() {
        // After F4, 90 is already beyond U+10FFFF; after ED, A0 begins a surrogate.
        for (bytes, faulty) in [
            (&[0xf4, 0x90, 0x80, 0x80][..], 1),
            (&[0xed, 0xa0, 0x80], 1),
            (&[0xc0, 0x80], 0),
            (&[b'a', 0xe2, 0x82, b'b'], 3),
            (&[0xf8], 0),
        ] {
            let mut check = Utf8::new();
            for (index, byte) in bytes.iter().enumerate() {
                let taken = check.take(&[*byte]);
                assert_eq!(taken.is_err(), index == faulty, "{bytes:x?} at {index}");
                if taken.is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_character_that_is_cut_off_at_the_end_is_a_fault() {
        let mut check = Utf8::new();
        assert_eq!(check.take(&[0xe2, 0x82]), Ok(()));
        assert_eq!(check.end(), Err(NotUtf8));
    }

    proptest! {
        #[test]
        fn the_verdict_is_the_standard_librarys_however_the_bytes_are_cut(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                "\\PC*".prop_map(String::into_bytes),
                proptest::collection::vec(prop::sample::select(vec![
                    0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4,
                ]), 0..12),
            ],
            size in 1..9_usize,
        ) {
            let mut check = Utf8::new();
            let taken = bytes.chunks(size).try_for_each(|piece| check.take(piece));
            prop_assert_eq!(taken.and_then(|()| check.end()).is_ok(), std::str::from_utf8(&bytes).is_ok());
        }
    }
}
