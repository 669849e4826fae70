//! Frames and header blocks of SPDY/3 and SPDY/3.1 (draft-mbelshe-httpbis-spdy-00 and its successor;
//! both put version 3 on the wire): bytes to values and back. What a frame means for a stream or a
//! session is not known here.
//!
//! ```
//! use wire::spdy::{Frame, FrameHeader};
//!
//! let mut bytes = Vec::new();
//! Frame::WindowUpdate { stream: 3, increment: 100 }.encode(&mut bytes);
//! let (header, payload) = bytes.split_first_chunk().unwrap();
//! let header = FrameHeader::parse(header);
//! assert_eq!(header.length, 8);
//! assert_eq!(Frame::parse(header, payload)?, Frame::WindowUpdate { stream: 3, increment: 100 });
//! # Ok::<(), wire::spdy::FrameError>(())
//! ```

mod code;
mod decoder;
mod dictionary;
mod encode;
mod encoder;
mod field_coder;
mod fixed_code;
mod frame;
mod header;
mod name_filter;
mod parse;
mod window;

pub use code::{GoAwayCode, ResetCode};
pub use decoder::{BlockError, Decoder, List};
pub use dictionary::{DICTIONARY, DICTIONARY_CHECK};
pub use encoder::{Effort, Encoder};
pub use frame::{Frame, Persistence, Setting, SettingId, SettingsList};
pub use header::{FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL};
pub use header::{FrameHeader, FrameKind, HEADER_LENGTH, Subject};
pub use parse::{FrameError, Reach};

/// The version that control frames carry, for SPDY/3 and SPDY/3.1 alike.
pub const VERSION: u16 = 3;

/// The largest window that there can be (SPDY §2.6.8).
pub const LARGEST_WINDOW: u32 = 0x7fff_ffff;

/// The highest stream identifier.
pub const LAST_STREAM: u32 = 0x7fff_ffff;
