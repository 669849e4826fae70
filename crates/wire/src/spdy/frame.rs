//! Frames as values.

use super::{FrameHeader, FrameKind, GoAwayCode, ResetCode};

/// A setting's identifier, 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SettingId(pub u32);

#[rustfmt::skip]
impl SettingId {
    /// Expected rate from client to server, KiB/s.
    pub const UPLOAD_BANDWIDTH: Self = Self(1);
    /// Expected rate from server to client, KiB/s.
    pub const DOWNLOAD_BANDWIDTH: Self = Self(2);
    /// Expected round trip, ms.
    pub const ROUND_TRIP_TIME: Self = Self(3);
    /// How many streams the sender lets the receiver open.
    pub const MAX_CONCURRENT_STREAMS: Self = Self(4);
    /// TCP's congestion window, packets.
    pub const CURRENT_CWND: Self = Self(5);
    /// Retransmitted bytes of all, per cent.
    pub const DOWNLOAD_RETRANS_RATE: Self = Self(6);
    /// Credit of new streams.
    pub const INITIAL_WINDOW_SIZE: Self = Self(7);
    /// Slots for client certificates (SPDY/3).
    pub const CLIENT_CERTIFICATE_VECTOR_SIZE: Self = Self(8);
}

/// Whether a setting outlives its session (SPDY §2.6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// It does not.
    Session,
    /// A server asks the client to bring it to the next session.
    Persist,
    /// A client brings it from an earlier session.
    Persisted,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub id: SettingId,
    /// Its value.
    pub value: u32,
    /// Whether it outlives the session.
    pub persistence: Persistence,
}

/// The parameters of SETTINGS, eight bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsList<'a>(pub(super) &'a [u8]);

impl<'a> SettingsList<'a> {
    /// The parameters in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Setting> + 'a {
        self.0.chunks_exact(8).map(|bytes| Setting {
            id: SettingId(u32::from_be_bytes([0, bytes[1], bytes[2], bytes[3]])),
            value: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            persistence: match bytes[0] & 3 {
                0 => Persistence::Session,
                1 => Persistence::Persist,
                _ => Persistence::Persisted,
            },
        })
    }
}

/// A frame. `fin` is FLAG_FIN: the sender's side of the stream ends. A block is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Body bytes.
    Data {
        /// Their stream.
        stream: u32,
        /// The bytes.
        data: &'a [u8],
        /// FLAG_FIN.
        fin: bool,
    },
    /// A stream opens.
    SynStream {
        /// The stream.
        stream: u32,
        /// The stream that it belongs to, 0 for none.
        associated: u32,
        /// 0 (first) to 7 (last).
        priority: u8,
        /// FLAG_FIN.
        fin: bool,
        /// FLAG_UNIDIRECTIONAL.
        unidirectional: bool,
        /// Name/value header block.
        block: &'a [u8],
    },
    /// A stream is answered.
    SynReply {
        /// The stream.
        stream: u32,
        /// FLAG_FIN.
        fin: bool,
        /// Name/value header block.
        block: &'a [u8],
    },
    /// The end of a stream.
    ResetStream {
        /// Its stream.
        stream: u32,
        /// Why.
        code: ResetCode,
    },
    /// Parameters.
    Settings {
        /// FLAG_CLEAR_SETTINGS: what was persisted before is to be forgotten.
        clear: bool,
        /// The parameters.
        list: SettingsList<'a>,
    },
    /// An echo is asked for, or given: odd identifiers are the client's.
    Ping(u32),
    /// The end of the session.
    GoAway {
        /// The highest stream of the receiver's that was or may be acted on.
        last: u32,
        /// Why.
        code: GoAwayCode,
    },
    /// More fields for a stream.
    Headers {
        /// The stream.
        stream: u32,
        /// FLAG_FIN.
        fin: bool,
        /// Name/value header block.
        block: &'a [u8],
    },
    /// Credit.
    WindowUpdate {
        /// Its stream; 0 for the session, in SPDY/3.1.
        stream: u32,
        /// Bytes, 1 to 2^31 - 1.
        increment: u32,
    },
    /// A type that is not known, to be ignored (SPDY §2.2.1).
    Unknown {
        /// Its header.
        header: FrameHeader,
        /// Its payload.
        payload: &'a [u8],
    },
}

impl Frame<'_> {
    /// The draft's name of its type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Data { .. } => "DATA",
            Self::SynStream { .. } => FrameKind::SYN_STREAM.name(),
            Self::SynReply { .. } => FrameKind::SYN_REPLY.name(),
            Self::ResetStream { .. } => FrameKind::RST_STREAM.name(),
            Self::Settings { .. } => FrameKind::SETTINGS.name(),
            Self::Ping(_) => FrameKind::PING.name(),
            Self::GoAway { .. } => FrameKind::GOAWAY.name(),
            Self::Headers { .. } => FrameKind::HEADERS.name(),
            Self::WindowUpdate { .. } => FrameKind::WINDOW_UPDATE.name(),
            Self::Unknown { header, .. } => header.name(),
        }
    }

    /// Its stream, 0 for the session.
    pub fn stream(&self) -> u32 {
        match *self {
            Self::Data { stream, .. }
            | Self::SynStream { stream, .. }
            | Self::SynReply { stream, .. }
            | Self::ResetStream { stream, .. }
            | Self::Headers { stream, .. }
            | Self::WindowUpdate { stream, .. } => stream,
            Self::Settings { .. } | Self::Ping(_) | Self::GoAway { .. } | Self::Unknown { .. } => 0,
        }
    }
}
