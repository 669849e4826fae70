//! Field compression for HTTP/3 (RFC 9204). Field sections travel on their requests' streams; the dynamic table
//! is changed by instructions on streams of their own, so that a section may come before what it refers to.
//!
//! ```
//! use wire::{Field, qpack::{Decoded, Decoder, DecoderLimits, Encoder, EncoderLimits}};
//!
//! let mut encoder = Encoder::new(4096);
//! encoder.set_limits(EncoderLimits { max_capacity: 4096, blocked_streams: 16 });
//! let mut decoder = Decoder::new(DecoderLimits { max_capacity: 4096, blocked_streams: 16 });
//! let mut section = Vec::new();
//! encoder.begin(0);
//! encoder.field(Field { name: b"x-a", value: b"1", sensitive: false });
//! encoder.end(&mut section);
//! let blocked = decoder.decode(0, &section, 1000, |_| {})?;
//! assert!(matches!(blocked, Decoded::Blocked { required: 1 }));
//! decoder.handle_instructions(&encoder.take_instructions())?;
//! let mut seen = Vec::new();
//! decoder.decode(0, &section, 1000, |field| seen.push(field.value.to_vec()))?;
//! assert_eq!(seen, [b"1"]);
//! encoder.handle_instructions(&decoder.take_instructions())?;
//! # Ok::<(), wire::qpack::Error>(())
//! ```

mod decoder;
mod encoder;
mod integer;
mod section;
#[cfg(test)]
mod tests;

pub use decoder::{Decoded, Decoder, DecoderLimits};
pub use encoder::{Encoder, EncoderLimits, References};

use std::fmt;

/// Why bytes cannot be read, and where. The connection's compression state is lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Bytes from the start of the section, or of what was handed in of an instruction stream.
    pub at: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a field section or an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It ends in the middle of a field.
    Truncated,
    /// An integer beyond 62 bits (RFC 9204 §4.1.1).
    Overflow,
    /// An index that the table does not have, or that lies at or above the Required Insert Count (RFC 9204 §2.2.3).
    Index,
    /// A Required Insert Count that no encoder can mean (RFC 9204 §4.5.1.1).
    RequiredInsertCount,
    /// A Base below zero (RFC 9204 §4.5.1.2).
    Base,
    /// A Huffman string with EOS in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
    /// A table capacity above the agreed one (RFC 9204 §4.3.1).
    Capacity,
    /// An entry or a string larger than the table, or the list, may be (RFC 9204 §3.2.2).
    TooLong,
    /// Short references to long names, over and over: more work than any list within the limit.
    Excess,
    /// An Insert Count Increment of zero, or beyond what was sent (RFC 9204 §4.4.3).
    Increment,
    /// An acknowledgement of a section that does not wait for one (RFC 9204 §4.4.1).
    Acknowledgement,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QPACK, byte {}: {}", self.at, self.fault.text())
    }
}

impl std::error::Error for Error {}

impl Fault {
    /// The rule broken, with its RFC section.
    pub fn text(self) -> &'static str {
        match self {
            Self::Truncated => "RFC 9204 §4: it ends in the middle of a field",
            Self::Overflow => "RFC 9204 §4.1.1: an integer is too large",
            Self::Index => "RFC 9204 §2.2.3: a reference to no entry",
            Self::RequiredInsertCount => "RFC 9204 §4.5.1.1: an impossible Required Insert Count",
            Self::Base => "RFC 9204 §4.5.1.2: a Base below zero",
            Self::Huffman => "RFC 9204 §4.1.2: a Huffman string is malformed",
            Self::Capacity => "RFC 9204 §4.3.1: a table capacity above the agreed one",
            Self::TooLong => "RFC 9204 §3.2.2: an entry larger than the table",
            Self::Excess => "RFC 9204 §7.3: names are copied from the table over and over",
            Self::Increment => "RFC 9204 §4.4.3: an impossible Insert Count Increment",
            Self::Acknowledgement => "RFC 9204 §4.4.1: an acknowledgement of nothing",
        }
    }
}

/// Bytes of an instruction stream that wait for the rest of their instruction.
#[derive(Debug, Default)]
struct Partial(Vec<u8>);

impl Partial {
    /// Has `step` take one instruction after another off what waits and `bytes`. An instruction longer than `most` is
    /// an error.
    fn run(
        &mut self,
        bytes: &[u8],
        most: usize,
        mut step: impl FnMut(&mut &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        let held;
        let all = if self.0.is_empty() {
            bytes
        } else {
            self.0.extend_from_slice(bytes);
            held = std::mem::take(&mut self.0);
            &held
        };
        let mut rest = all;
        while !rest.is_empty() {
            let before = rest;
            match step(&mut rest) {
                Ok(()) => {}
                Err(Fault::Truncated) if before.len() <= most => {
                    self.0 = before.to_vec();
                    return Ok(());
                }
                Err(fault) => {
                    let fault = if fault == Fault::Truncated { Fault::TooLong } else { fault };
                    return Err(Error { at: all.len() - before.len(), fault });
                }
            }
        }
        Ok(())
    }
}
