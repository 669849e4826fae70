//! WebSocket's bytes (RFC 6455, RFC 7692): frame headers, masks, close codes, text that is checked as
//! it arrives, the extension field, the key's answer, and messages through DEFLATE.
//!
//! ```
//! use wire::ws::{FrameHeader, OpCode, mask};
//!
//! // RFC 6455 §5.7: a single-frame masked text message.
//! let bytes = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
//! let (header, length) = FrameHeader::parse(&bytes)?.ok_or("more bytes are needed")?;
//! assert_eq!((header.op_code, header.length), (OpCode::Text, 5));
//! let mut payload = bytes[length..].to_vec();
//! mask(&mut payload, header.mask.ok_or("a client masks")?, 0);
//! assert_eq!(payload, b"Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod close;
mod deflate;
mod error;
mod extension;
mod frame;
mod key;
mod mask;
mod utf8;

pub use close::{CloseCode, CloseFrame, MAX_REASON};
pub use deflate::{Deflater, InflateError, Inflater, TAIL};
pub use error::Error;
pub use extension::{
    ClientWindow, DeflateOffer, DeflateParameters, Extension, WindowBits, parse_extensions,
};
pub use frame::{FrameHeader, MAX_CONTROL, MAX_HEADER, OpCode};
pub use key::{Key, accept};
pub use mask::mask;
pub use utf8::{NotUtf8, Utf8};
