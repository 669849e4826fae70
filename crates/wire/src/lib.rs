//! Bytes to frames and back, with no roles and no lifecycle: a codec returns a value or a positioned
//! error, never panics, and bounds its memory.
//!
//! ```
//! use wire::Fields;
//!
//! let mut fields = Fields::new();
//! fields.push(b"content-type", b"text/html");
//! fields.push(b"content-length", b"5");
//! assert_eq!(fields.find(b"Content-Length"), Some(&b"5"[..]));
//! assert_eq!(fields.list_size(), 12 + 9 + 32 + 14 + 1 + 32);
//! ```

mod base64url;
pub mod cache_digest;
pub mod casper;
mod coding;
mod entry_index;
mod fields;
pub mod golomb;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod hpack;
mod indexing;
pub mod ip;
pub mod pcapng;
mod prepared;
pub mod qpack;
pub mod quic;
pub mod spdy;
mod validate;
pub mod ws;

pub use fields::{Field, Fields, ValidatedFields, is_lower_name};
pub use prepared::PreparedField;
