//! The nine bytes before every frame (RFC 9113 §4.1).

/// Bytes of a frame header.
pub const HEADER_LENGTH: usize = 9;

/// SETTINGS, PING: an acknowledgement.
pub const FLAG_ACK: u8 = 0x1;
/// DATA, HEADERS: the sender's side of the stream ends.
pub const FLAG_END_STREAM: u8 = 0x1;
/// HEADERS, PUSH_PROMISE, CONTINUATION: the header block ends.
pub const FLAG_END_HEADERS: u8 = 0x4;
/// DATA, HEADERS, PUSH_PROMISE: padding is there.
pub const FLAG_PADDED: u8 = 0x8;
/// HEADERS: priority fields are there.
pub const FLAG_PRIORITY: u8 = 0x20;

/// A frame's type. Types that are not known are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

#[rustfmt::skip]
impl FrameKind {
    /// Body bytes.
    pub const DATA: Self = Self(0x0);
    /// A header block opens a stream, answers or trails.
    pub const HEADERS: Self = Self(0x1);
    /// A place in the dependency tree (RFC 7540 §6.3).
    pub const PRIORITY: Self = Self(0x2);
    /// A stream ends before its time.
    pub const RST_STREAM: Self = Self(0x3);
    /// Parameters of the sender.
    pub const SETTINGS: Self = Self(0x4);
    /// A response is promised.
    pub const PUSH_PROMISE: Self = Self(0x5);
    /// An echo is asked for or given.
    pub const PING: Self = Self(0x6);
    /// The connection ends.
    pub const GOAWAY: Self = Self(0x7);
    /// Credit.
    pub const WINDOW_UPDATE: Self = Self(0x8);
    /// A header block goes on.
    pub const CONTINUATION: Self = Self(0x9);
    /// A response's urgency (RFC 9218 §7.1).
    pub const PRIORITY_UPDATE: Self = Self(0x10);
}

impl FrameKind {
    /// The RFC's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        match self {
            Self::PRIORITY_UPDATE => "PRIORITY_UPDATE",
            Self(kind) => NAMES.get(usize::from(kind)).copied().unwrap_or("unknown"),
        }
    }
}

/// What stands before a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of payload, 24 bits.
    pub length: u32,
    /// Type.
    pub kind: FrameKind,
    /// Flags, as the type has them.
    pub flags: u8,
    /// Stream, 31 bits; 0 for the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Reads a header; every nine bytes are one.
    pub fn parse(bytes: &[u8; HEADER_LENGTH]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind: FrameKind(kind),
            flags,
            // RFC 9113 §4.1: the reserved bit is ignored.
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    /// The nine bytes.
    pub fn bytes(self) -> [u8; HEADER_LENGTH] {
        let [_, a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind.0, self.flags, d, e, f, g]
    }

    /// Whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}
