//! Header compression for HTTP/2 (RFC 7541). One side encodes with a table that the other side's
//! decoder mirrors; both bound their memory by the size that was agreed on.
//!
//! ```
//! use wire::{Field, hpack::{Decoder, Encoder}};
//!
//! let (mut encoder, mut decoder) = (Encoder::new(4096), Decoder::new(4096));
//! let mut block = Vec::new();
//! encoder.begin(&mut block);
//! encoder.field(Field { name: b":method", value: b"GET", sensitive: false }, &mut block);
//! assert_eq!(block, [0x82]);
//! let mut seen = Vec::new();
//! let list = decoder.decode(&block, 1000, |field| seen.push(field.value.to_vec()))?;
//! assert_eq!((seen, list), (vec![b"GET".to_vec()], 7 + 3 + 32));
//! # Ok::<(), wire::hpack::Error>(())
//! ```

mod decoder;
pub(crate) mod dynamic_table;
mod encoder;
pub(crate) mod integer;

pub use decoder::Decoder;
pub use encoder::{Encoder, TableVersion, plain_size};

use std::fmt;

/// Why a header block cannot be read, and where. The connection's compression state is lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Bytes from the start of the block.
    pub at: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It ends in the middle of a field.
    Truncated,
    /// An integer beyond what any index or length can be (RFC 7541 §5.1).
    Overflow,
    /// An index that neither table has (RFC 7541 §2.3.3).
    Index,
    /// A Huffman string with EOS in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
    /// A table size above the agreed one (RFC 7541 §6.3).
    TableSize,
    /// Short references to long names, over and over: more work than any list within the limit.
    Excess,
    /// A table size update after the first field, or none where one was due (RFC 7541 §4.2).
    SizeUpdate,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            Fault::Truncated => "it ends in the middle of a field",
            Fault::Overflow => "an integer is too large",
            Fault::Index => "an index is in neither table",
            Fault::Huffman => "a Huffman string is malformed",
            Fault::TableSize => "a table size is above the agreed one",
            Fault::Excess => "names are copied from the table over and over",
            Fault::SizeUpdate => "a table size update is misplaced or missing",
        };
        write!(f, "header block, byte {}: {what}", self.at)
    }
}

impl std::error::Error for Error {}
