//! The eight bytes before every frame (SPDY §2.2).

use super::VERSION;

/// Bytes of a frame header.
pub const HEADER_LENGTH: usize = 8;

/// DATA, SYN_STREAM, SYN_REPLY, HEADERS: the sender's side of the stream ends.
pub const FLAG_FIN: u8 = 0x1;
/// SYN_STREAM: the other side of the stream is closed from the start.
pub const FLAG_UNIDIRECTIONAL: u8 = 0x2;
/// SETTINGS: what was persisted before is to be forgotten.
pub const FLAG_CLEAR_SETTINGS: u8 = 0x1;

/// A control frame's type. Types that are not known are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u16);

#[rustfmt::skip]
impl FrameKind {
    /// A stream opens.
    pub const SYN_STREAM: Self = Self(1);
    /// A stream is answered.
    pub const SYN_REPLY: Self = Self(2);
    /// A stream ends before its time.
    pub const RST_STREAM: Self = Self(3);
    /// Parameters of the sender.
    pub const SETTINGS: Self = Self(4);
    /// An echo is asked for or given.
    pub const PING: Self = Self(6);
    /// The session ends.
    pub const GOAWAY: Self = Self(7);
    /// More fields for a stream.
    pub const HEADERS: Self = Self(8);
    /// Credit.
    pub const WINDOW_UPDATE: Self = Self(9);
}

impl FrameKind {
    /// The draft's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 11] = [
            "unknown",
            "SYN_STREAM",
            "SYN_REPLY",
            "RST_STREAM",
            "SETTINGS",
            "NOOP",
            "PING",
            "GOAWAY",
            "HEADERS",
            "WINDOW_UPDATE",
            "CREDENTIAL",
        ];
        NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown")
    }
}

/// What a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A control frame.
    Control {
        /// The protocol's version, 15 bits.
        version: u16,
        /// Type.
        kind: FrameKind,
    },
    /// Body bytes.
    Data {
        /// Their stream, 31 bits.
        stream: u32,
    },
}

/// What stands before a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Control or data.
    pub subject: Subject,
    /// Flags, as the type has them.
    pub flags: u8,
    /// Bytes of payload, 24 bits.
    pub length: u32,
}

impl FrameHeader {
    /// The header of a control frame.
    pub fn control(kind: FrameKind, flags: u8, length: u32) -> Self {
        Self { subject: Subject::Control { version: VERSION, kind }, flags, length }
    }

    /// Reads a header; every eight bytes are one.
    pub fn parse(bytes: &[u8; HEADER_LENGTH]) -> Self {
        let [a, b, c, d, flags, length @ ..] = *bytes;
        let subject = if a & 0x80 == 0 {
            Subject::Data { stream: u32::from_be_bytes([a, b, c, d]) }
        } else {
            let version = u16::from_be_bytes([a & 0x7f, b]);
            Subject::Control { version, kind: FrameKind(u16::from_be_bytes([c, d])) }
        };
        let [e, f, g] = length;
        Self { subject, flags, length: u32::from_be_bytes([0, e, f, g]) }
    }

    /// The eight bytes.
    pub fn bytes(self) -> [u8; HEADER_LENGTH] {
        let first = match self.subject {
            Subject::Data { stream } => stream & 0x7fff_ffff,
            Subject::Control { version, kind } => {
                1 << 31 | u32::from(version & 0x7fff) << 16 | u32::from(kind.0)
            }
        };
        let [a, b, c, d] = first.to_be_bytes();
        let [_, e, f, g] = self.length.to_be_bytes();
        [a, b, c, d, self.flags, e, f, g]
    }

    /// Whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The draft's name of the frame.
    pub fn name(self) -> &'static str {
        match self.subject {
            Subject::Data { .. } => "DATA",
            Subject::Control { kind, .. } => kind.name(),
        }
    }
}
