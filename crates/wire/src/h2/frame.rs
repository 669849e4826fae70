//! Frames as values.

use super::{ErrorCode, FrameHeader, FrameKind};

/// A place in the dependency tree (RFC 7540 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// The stream depended on, 0 for the root.
    pub parent: u32,
    /// Whether it takes over the parent's other children.
    pub exclusive: bool,
    /// Weight less one, as it is on the wire.
    pub weight: u8,
}

impl Dependency {
    /// It as it stands in PRIORITY, and in HEADERS before the block (RFC 7540 §6.2, §6.3).
    pub fn bytes(self) -> [u8; 5] {
        let exclusive = u32::from(self.exclusive) << 31;
        let [a, b, c, d] = (self.parent | exclusive).to_be_bytes();
        [a, b, c, d, self.weight]
    }
}

/// A setting's identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SettingId(pub u16);

#[rustfmt::skip]
impl SettingId {
    /// Bytes that the sender's decoder keeps.
    pub const HEADER_TABLE_SIZE: Self = Self(0x1);
    /// Whether the sender takes promises.
    pub const ENABLE_PUSH: Self = Self(0x2);
    /// How many streams the sender lets the receiver open.
    pub const MAX_CONCURRENT_STREAMS: Self = Self(0x3);
    /// Credit of new streams.
    pub const INITIAL_WINDOW_SIZE: Self = Self(0x4);
    /// Largest payload that the sender takes.
    pub const MAX_FRAME_SIZE: Self = Self(0x5);
    /// Largest header list that the sender takes.
    pub const MAX_HEADER_LIST_SIZE: Self = Self(0x6);
    /// Extended CONNECT is taken (RFC 8441 §3).
    pub const ENABLE_CONNECT_PROTOCOL: Self = Self(0x8);
    /// The dependency tree is ignored (RFC 9218 §2.1).
    pub const NO_RFC7540_PRIORITIES: Self = Self(0x9);
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub id: SettingId,
    /// Its value.
    pub value: u32,
}

/// The payload of SETTINGS, a multiple of six bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsList<'a>(pub(super) &'a [u8]);

impl<'a> SettingsList<'a> {
    /// The parameters in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Setting> + 'a {
        self.0.chunks_exact(6).map(|bytes| Setting {
            id: SettingId(u16::from_be_bytes([bytes[0], bytes[1]])),
            value: u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]),
        })
    }
}

/// A frame. `padding` is the value of the Pad Length field, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Body bytes.
    Data {
        /// Its stream.
        stream: u32,
        /// The bytes.
        data: &'a [u8],
        /// END_STREAM.
        end_stream: bool,
        /// Padding.
        padding: Option<u8>,
    },
    /// The begin of a header block.
    Headers {
        /// Its stream.
        stream: u32,
        /// Bytes of the block.
        block: &'a [u8],
        /// END_STREAM.
        end_stream: bool,
        /// END_HEADERS.
        end_headers: bool,
        /// Priority fields.
        dependency: Option<Dependency>,
        /// Padding.
        padding: Option<u8>,
    },
    /// A place in the tree.
    Priority {
        /// Its stream.
        stream: u32,
        /// The place.
        dependency: Dependency,
    },
    /// The end of a stream.
    ResetStream {
        /// Its stream.
        stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// Parameters.
    Settings(SettingsList<'a>),
    /// Parameters are in force.
    SettingsAck,
    /// A promise, with the begin of its header block.
    PushPromise {
        /// The stream that it belongs to.
        stream: u32,
        /// The stream that is promised.
        promised: u32,
        /// Bytes of the block.
        block: &'a [u8],
        /// END_HEADERS.
        end_headers: bool,
        /// Padding.
        padding: Option<u8>,
    },
    /// An echo is asked for.
    Ping([u8; 8]),
    /// An echo.
    PingAck([u8; 8]),
    /// The end of the connection.
    GoAway {
        /// The highest stream that was or may be acted on.
        last: u32,
        /// Why.
        code: ErrorCode,
        /// Words for a log.
        debug: &'a [u8],
    },
    /// Credit.
    WindowUpdate {
        /// Its stream, 0 for the connection.
        stream: u32,
        /// Bytes, 1 to 2^31 - 1.
        increment: u32,
    },
    /// More of a header block.
    Continuation {
        /// Its stream.
        stream: u32,
        /// Bytes of the block.
        block: &'a [u8],
        /// END_HEADERS.
        end_headers: bool,
    },
    /// A response's urgency.
    PriorityUpdate {
        /// The stream that it is about.
        prioritised: u32,
        /// The value of a Priority field (RFC 9218 §4).
        value: &'a [u8],
    },
    /// A type that is not known, to be ignored (RFC 9113 §4.1).
    Unknown {
        /// Its header.
        header: FrameHeader,
        /// Its payload.
        payload: &'a [u8],
    },
}

impl Frame<'_> {
    /// Its type.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::Data { .. } => FrameKind::DATA,
            Self::Headers { .. } => FrameKind::HEADERS,
            Self::Priority { .. } => FrameKind::PRIORITY,
            Self::ResetStream { .. } => FrameKind::RST_STREAM,
            Self::Settings(_) | Self::SettingsAck => FrameKind::SETTINGS,
            Self::PushPromise { .. } => FrameKind::PUSH_PROMISE,
            Self::Ping(_) | Self::PingAck(_) => FrameKind::PING,
            Self::GoAway { .. } => FrameKind::GOAWAY,
            Self::WindowUpdate { .. } => FrameKind::WINDOW_UPDATE,
            Self::Continuation { .. } => FrameKind::CONTINUATION,
            Self::PriorityUpdate { .. } => FrameKind::PRIORITY_UPDATE,
            Self::Unknown { header, .. } => header.kind,
        }
    }
}
