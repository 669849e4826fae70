//! Messages through DEFLATE (RFC 7692 §7.2). The one rule: what comes out of an inflater is bounded by
//! its caller, whatever went in.

use super::extension::WindowBits;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::fmt;

/// What ends a flushed block, and is not sent (RFC 7692 §7.2.1).
pub const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// An empty message, compressed (RFC 7692 §7.2.3.6).
const EMPTY: u8 = 0x00;

/// Bytes that an output grows by.
const STEP: std::ops::RangeInclusive<usize> = 1024..=1024 * 1024;

/// The largest capacity that an output begins with.
const FIRST_OUTPUT: usize = 16 * 1024;

/// Compresses messages.
pub struct Deflater {
    compress: Compress,
    level: Compression,
    bits: u8,
    forgets: bool,
}

/// Decompresses messages, piece by piece.
pub struct Inflater {
    decompress: Decompress,
    forgets: bool,
}

/// Why a message could not be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InflateError {
    /// It is not DEFLATE, or points out of the window.
    Broken,
    /// More came out than the limit.
    TooBig,
}

impl Deflater {
    /// A compressor that forgets its window after each message where `no_context_takeover`. None
    /// where zlib has no such window (8 bits): messages then go as they are, which the extension
    /// always allows (RFC 7692 §6.1).
    pub fn new(level: u32, window: WindowBits, no_context_takeover: bool) -> Option<Self> {
        let level = Compression::new(level.min(9));
        let bits = Some(window.bits()).filter(|bits| *bits > 8)?;
        let compress = Compress::new_with_window_bits(level, false, bits);
        Some(Self { compress, level, bits, forgets: no_context_takeover })
    }

    /// The compressed message. None where zlib refuses, or where the output would be longer than about `limit` bytes:
    /// the message is then sent as it is, which the extension always allows (RFC 7692 §6).
    pub fn message(&mut self, data: &[u8], limit: usize) -> Option<Vec<u8>> {
        if data.is_empty() {
            return Some(vec![EMPTY]);
        }
        // Capacity is taken as output comes: what compresses well would leave most of it unused for as long as it waits.
        let mut out = Vec::with_capacity((data.len() / 2 + 64).min(FIRST_OUTPUT));
        let mut rest = data;
        loop {
            let before = self.compress.total_in();
            self.compress.compress_vec(rest, &mut out, FlushCompress::Sync).ok()?;
            rest = rest.get((self.compress.total_in() - before) as usize..)?;
            if rest.is_empty() && out.len() < out.capacity() {
                break;
            }
            if out.len() > limit {
                // The receiver never sees these bytes, so nothing may point back to them. A reset amid a block would
                // leave bits of it.
                self.compress = Compress::new_with_window_bits(self.level, false, self.bits);
                return None;
            }
            let step = out.len().clamp(*STEP.start(), *STEP.end());
            out.reserve_exact(step);
        }
        if self.forgets {
            self.compress.reset();
        }
        out.truncate(out.strip_suffix(&TAIL)?.len());
        if out.capacity() - out.len() > FIRST_OUTPUT {
            out.shrink_to_fit();
        }
        Some(out)
    }
}

impl Inflater {
    /// A decompressor that forgets its window after each message where `no_context_takeover`.
    pub fn new(window: WindowBits, no_context_takeover: bool) -> Self {
        // zlib inflates what an 8-bit window made with a greater one.
        let bits = window.bits().max(9);
        Self {
            decompress: Decompress::new_with_window_bits(false, bits),
            forgets: no_context_takeover,
        }
    }

    /// Appends to `out` what the next bytes of a message give. `out` never holds more than about
    /// `limit` bytes, and holds them only on the way to the error.
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), InflateError> {
        loop {
            if out.len() == out.capacity() {
                let most = (limit + 1).saturating_sub(out.len()).max(1);
                out.reserve_exact(out.len().clamp(*STEP.start(), *STEP.end()).min(most));
            }
            let (before_in, before_out) = (self.decompress.total_in(), out.len());
            let status = self
                .decompress
                .decompress_vec(bytes, out, FlushDecompress::Sync)
                .map_err(|_| InflateError::Broken)?;
            let taken = (self.decompress.total_in() - before_in) as usize;
            bytes = bytes.get(taken..).ok_or(InflateError::Broken)?;
            if out.len() > limit {
                return Err(InflateError::TooBig);
            }
            if status == Status::StreamEnd {
                // RFC 7692 §7.2.3.5: a block may have BFINAL set; another follows. Whoever made it with
                // zlib began anew after it, so nothing points back across it.
                self.decompress.reset(false);
            }
            if bytes.is_empty() && out.len() < out.capacity() {
                return Ok(());
            }
            if taken == 0 && out.len() == before_out && status != Status::StreamEnd {
                return Err(InflateError::Broken);
            }
        }
    }

    /// The message ends here.
    pub fn end(&mut self, out: &mut Vec<u8>, limit: usize) -> Result<(), InflateError> {
        self.take(&TAIL, out, limit)?;
        if self.forgets {
            self.decompress.reset(false);
        }
        Ok(())
    }
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deflater(forgets: {})", self.forgets)
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inflater(forgets: {})", self.forgets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 1 << 20;

    fn window(bits: u8) -> WindowBits {
        WindowBits::new(bits).unwrap()
    }

    fn inflate(inflater: &mut Inflater, bytes: &[u8]) -> Result<Vec<u8>, InflateError> {
        let mut out = Vec::new();
        inflater.take(bytes, &mut out, LIMIT)?;
        inflater.end(&mut out, LIMIT)?;
        Ok(out)
    }

    #[test]
    fn the_examples_of_the_rfc_give_hello() {
        let fresh = || Inflater::new(WindowBits::MAX, false);
        // RFC 7692 §7.2.3.1: one block.
        let one = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(inflate(&mut fresh(), &one).as_deref(), Ok(&b"Hello"[..]));
        // §7.2.3.2: the window is shared.
        let mut shared = fresh();
        assert_eq!(inflate(&mut shared, &one).as_deref(), Ok(&b"Hello"[..]));
        assert_eq!(
            inflate(&mut shared, &[0xf2, 0x00, 0x11, 0x00, 0x00]).as_deref(),
            Ok(&b"Hello"[..])
        );
        // §7.2.3.3: a block without compression.
        let stored = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00];
        assert_eq!(inflate(&mut fresh(), &stored).as_deref(), Ok(&b"Hello"[..]));
        // §7.2.3.4: a block with BFINAL set.
        let last = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
        assert_eq!(inflate(&mut fresh(), &last).as_deref(), Ok(&b"Hello"[..]));
        // §7.2.3.5: two blocks.
        let two = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(inflate(&mut fresh(), &two).as_deref(), Ok(&b"Hello"[..]));
        // §7.2.3.6: an empty message.
        assert_eq!(inflate(&mut fresh(), &[0x00]).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn the_compressor_writes_the_examples_of_the_rfc() {
        let mut deflater = Deflater::new(6, WindowBits::MAX, false).unwrap();
        let one = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(deflater.message(b"Hello", LIMIT).as_deref(), Some(&one[..]));
        assert_eq!(
            deflater.message(b"Hello", LIMIT).as_deref(),
            Some(&[0xf2, 0x00, 0x11, 0x00, 0x00][..])
        );
        assert_eq!(deflater.message(b"", LIMIT).as_deref(), Some(&[0][..]));
        let mut forgetful = Deflater::new(6, WindowBits::MAX, true).unwrap();
        assert_eq!(forgetful.message(b"Hello", LIMIT).as_deref(), Some(&one[..]));
        assert_eq!(forgetful.message(b"Hello", LIMIT).as_deref(), Some(&one[..]));
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let mut deflater = Deflater::new(9, WindowBits::MAX, false).unwrap();
        let bomb = deflater.message(&vec![0; 50 << 20], LIMIT).unwrap();
        assert!(bomb.len() < 64 * 1024);
        let mut out = Vec::new();
        let mut inflater = Inflater::new(WindowBits::MAX, false);
        assert_eq!(inflater.take(&bomb, &mut out, LIMIT), Err(InflateError::TooBig));
        assert!(out.capacity() <= 2 * LIMIT, "{}", out.capacity());
    }

    #[test]
    fn what_points_out_of_the_window_is_broken() {
        // The second message of §7.2.3.2 without the first.
        let mut fresh = Inflater::new(WindowBits::MAX, false);
        assert_eq!(inflate(&mut fresh, &[0xf2, 0x00, 0x11, 0x00, 0x00]), Err(InflateError::Broken));
    }

    #[test]
    fn a_window_that_zlib_does_not_have_is_not_compressed_for() {
        assert!(Deflater::new(6, window(8), false).is_none());
        assert!(Deflater::new(6, window(9), false).is_some());
    }

    #[test]
    fn an_output_that_waits_has_little_unused_capacity() {
        let mut deflater = Deflater::new(1, WindowBits::MAX, false).unwrap();
        let out = deflater.message(&vec![0; 16_000_000], LIMIT).unwrap();
        assert!(out.capacity() - out.len() <= FIRST_OUTPUT, "{} for {}", out.capacity(), out.len());
    }

    #[test]
    fn what_is_too_long_compressed_is_declined_and_the_next_message_can_be_read() {
        let mut deflater = Deflater::new(1, WindowBits::MAX, false).unwrap();
        let mut inflater = Inflater::new(WindowBits::MAX, false);
        let mut random = noise(300_000);
        assert_eq!(
            inflate(&mut inflater, &deflater.message(b"before", LIMIT).unwrap()).as_deref(),
            Ok(&b"before"[..])
        );
        assert_eq!(deflater.message(&random, 100_000), None);
        random.truncate(10_000);
        let bytes = deflater.message(&random, LIMIT).unwrap();
        assert_eq!(inflate(&mut inflater, &bytes), Ok(random));
    }

    /// Bytes that do not compress: a linear congruential generator's (Knuth, MMIX).
    fn noise(count: usize) -> Vec<u8> {
        let next = |state: &u64| {
            Some(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        };
        std::iter::successors(Some(1), next)
            .map(|state: u64| (state >> 56) as u8)
            .take(count)
            .collect()
    }

    proptest! {
        #[test]
        fn messages_come_back_whatever_the_window_and_wherever_they_are_cut(
            bits in 9..16_u8,
            forgets in any::<bool>(),
            level in 0..10_u32,
            messages in proptest::collection::vec(
                proptest::collection::vec(prop::sample::select(b"abcd\0".to_vec()), 0..3000), 1..6),
            size in 1..500_usize,
        ) {
            let mut deflater = Deflater::new(level, window(bits), forgets).unwrap();
            let mut inflater = Inflater::new(window(bits), forgets);
            for message in messages {
                let bytes = deflater.message(&message, LIMIT).unwrap();
                let mut out = Vec::new();
                for piece in bytes.chunks(size) {
                    prop_assert_eq!(inflater.take(piece, &mut out, LIMIT), Ok(()));
                }
                prop_assert_eq!(inflater.end(&mut out, LIMIT), Ok(()));
                prop_assert_eq!(out, message);
            }
        }

        #[test]
        fn any_bytes_are_inflated_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut inflater = Inflater::new(WindowBits::MAX, false);
            let _either = inflate(&mut inflater, &bytes);
        }
    }
}
