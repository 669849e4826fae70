//! Frames of HTTP/2 (RFC 9113 §4, §6; RFC 9218 §7.1): bytes to frames and back, one frame at a time.
//! What a frame means for a stream or a connection is not known here.
//!
//! ```
//! use wire::h2::{Frame, FrameHeader};
//!
//! let mut bytes = Vec::new();
//! Frame::WindowUpdate { stream: 3, increment: 100 }.encode(&mut bytes);
//! let (header, payload) = bytes.split_first_chunk().unwrap();
//! let header = FrameHeader::parse(header);
//! assert_eq!((header.stream, header.length), (3, 4));
//! assert_eq!(Frame::parse(header, payload)?, Frame::WindowUpdate { stream: 3, increment: 100 });
//! # Ok::<(), wire::h2::FrameError>(())
//! ```

mod code;
mod encode;
mod frame;
mod header;
mod parse;

pub use code::ErrorCode;
pub use frame::{Dependency, Frame, Setting, SettingId, SettingsList};
pub use header::{FLAG_ACK, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PADDED, FLAG_PRIORITY};
pub use header::{FrameHeader, FrameKind, HEADER_LENGTH};
pub use parse::{FrameError, Reach};

/// What a client sends before its first frame (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest window that there can be (RFC 9113 §6.9.1).
pub const LARGEST_WINDOW: u32 = 0x7fff_ffff;

/// The highest stream identifier.
pub const LAST_STREAM: u32 = 0x7fff_ffff;
