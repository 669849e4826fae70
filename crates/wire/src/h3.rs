//! HTTP/3's bytes (RFC 9114): frames, settings, stream types and error codes. A frame is read piece by piece, since
//! QUIC hands over a stream's bytes as they come.
//!
//! ```
//! use wire::h3::{Frame, FrameKind, FrameReader, Read};
//!
//! let mut bytes = Vec::new();
//! Frame::GoAway { id: 8 }.encode(&mut bytes);
//! let (mut reader, mut input) = (FrameReader::default(), &bytes[..]);
//! let Read::Header(header) = reader.read(&mut input) else { panic!("the header is whole") };
//! assert_eq!((header.kind, header.length), (FrameKind::GOAWAY, 1));
//! assert_eq!(Frame::parse(header.kind, input)?, Frame::GoAway { id: 8 });
//! # Ok::<(), wire::h3::FrameError>(())
//! ```

mod code;
mod frame;
mod settings;
mod varint;

pub use code::ErrorCode;
pub use frame::{Frame, FrameError, FrameHeader, FrameKind, FrameReader, Read};
pub use settings::{Setting, SettingId, SettingsList};
pub use varint::{LARGEST, VarintReader, parse_varint, put_varint, varint_length};

/// What a unidirectional stream begins with (RFC 9114 §6.2, RFC 9204 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamType(pub u64);

#[rustfmt::skip]
impl StreamType {
    /// Frames that belong to the connection.
    pub const CONTROL: Self = Self(0x0);
    /// A pushed response.
    pub const PUSH: Self = Self(0x1);
    /// Instructions of a QPACK encoder.
    pub const QPACK_ENCODER: Self = Self(0x2);
    /// Instructions of a QPACK decoder.
    pub const QPACK_DECODER: Self = Self(0x3);
}

/// Whether a number of a frame, setting, stream type or error is reserved to exercise the rule that unknown ones are
/// ignored (RFC 9114 §7.2.8): 0x1f * N + 0x21.
pub fn is_reserved(number: u64) -> bool {
    number >= 0x21 && (number - 0x21).is_multiple_of(0x1f)
}

/// The Nth such number.
pub fn reserved(n: u64) -> u64 {
    0x21 + 0x1f * (n % (LARGEST / 0x20))
}
