//! QUIC packets in clear: what either end sees of them between their frames and their encryption.

use std::fmt;
use std::time::Duration;

/// A QUIC packet that was sent or received, with its frames (RFC 9000 §17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuicPacket {
    /// Its type.
    pub kind: QuicPacketType,
    /// Its number, in the number space of its type.
    pub number: u64,
    /// Whom it goes to.
    pub destination: QuicConnectionId,
    /// Who sent it; None for a packet with a short header.
    pub source: Option<QuicConnectionId>,
    /// Bytes of it in its datagram: header, payload and tag.
    pub length: u64,
    /// Bytes of its frames.
    pub payload_length: u64,
    /// Its frames, in order. Those that cannot be read end with [`QuicFrame::Unknown`].
    pub frames: Vec<QuicFrame>,
}

/// The type of a packet that is encrypted (RFC 9000 §17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuicPacketType {
    /// The handshake's begin.
    Initial,
    /// Early data.
    ZeroRtt,
    /// The handshake's rest.
    Handshake,
    /// Everything after the handshake.
    OneRtt,
}

/// Which packet numbers are counted together (RFC 9000 §12.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuicSpace {
    /// Those of Initial packets.
    Initial,
    /// Those of Handshake packets.
    Handshake,
    /// Those of 0-RTT and 1-RTT packets.
    Application,
}

impl QuicPacketType {
    /// Which numbers count its packets.
    pub fn space(self) -> QuicSpace {
        match self {
            Self::Initial => QuicSpace::Initial,
            Self::Handshake => QuicSpace::Handshake,
            Self::ZeroRtt | Self::OneRtt => QuicSpace::Application,
        }
    }
}

/// A connection ID, of 0 to 20 bytes (RFC 9000 §5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QuicConnectionId {
    length: u8,
    bytes: [u8; 20],
}

impl QuicConnectionId {
    /// From its bytes; None where there are more than 20.
    pub fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; 20];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { length: id.len() as u8, bytes })
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for QuicConnectionId {
    /// In hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for QuicConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A frame of a packet (RFC 9000 §19), without the bytes that it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuicFrame {
    /// PADDING frames, one after the other.
    Padding {
        /// How many: each is a byte.
        length: u64,
    },
    /// PING.
    Ping,
    /// ACK.
    Ack(QuicAck),
    /// RESET_STREAM.
    ResetStream {
        /// The stream.
        stream: u64,
        /// The application's error code.
        code: u64,
        /// The stream's bytes in all.
        final_size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// The stream.
        stream: u64,
        /// The application's error code.
        code: u64,
    },
    /// CRYPTO.
    Crypto {
        /// Where in the handshake its bytes begin.
        offset: u64,
        /// How many there are.
        length: u64,
    },
    /// NEW_TOKEN.
    NewToken {
        /// The token's bytes.
        length: u64,
    },
    /// STREAM.
    Stream {
        /// The stream.
        stream: u64,
        /// Where in the stream its bytes begin.
        offset: u64,
        /// How many there are.
        length: u64,
        /// Whether the stream ends with them.
        is_last: bool,
    },
    /// MAX_DATA.
    MaxData {
        /// Bytes of all streams.
        maximum: u64,
    },
    /// MAX_STREAM_DATA.
    MaxStreamData {
        /// The stream.
        stream: u64,
        /// Its bytes.
        maximum: u64,
    },
    /// MAX_STREAMS.
    MaxStreams {
        /// Which streams it is about.
        kind: QuicStreamType,
        /// How many in all.
        maximum: u64,
    },
    /// DATA_BLOCKED.
    DataBlocked {
        /// The limit that keeps the sender back.
        limit: u64,
    },
    /// STREAM_DATA_BLOCKED.
    StreamDataBlocked {
        /// The stream.
        stream: u64,
        /// The limit that keeps the sender back.
        limit: u64,
    },
    /// STREAMS_BLOCKED.
    StreamsBlocked {
        /// Which streams it is about.
        kind: QuicStreamType,
        /// The limit that keeps the sender back.
        limit: u64,
    },
    /// NEW_CONNECTION_ID.
    NewConnectionId {
        /// The ID's number.
        sequence: u64,
        /// IDs with lower numbers are to be retired.
        retire_prior_to: u64,
        /// The ID.
        id: QuicConnectionId,
    },
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId {
        /// The ID's number.
        sequence: u64,
    },
    /// PATH_CHALLENGE.
    PathChallenge,
    /// PATH_RESPONSE.
    PathResponse,
    /// CONNECTION_CLOSE.
    ConnectionClose {
        /// Whether QUIC closes the connection or what is above it.
        space: QuicErrorSpace,
        /// The error code.
        code: u64,
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
    ImmediateAck,
    /// ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
    AckFrequency {
        /// Packets that may come before one is acknowledged.
        threshold: u64,
    },
    /// DATAGRAM (RFC 9221).
    Datagram {
        /// Bytes of it.
        length: u64,
    },
    /// A frame of an unknown type, or one that its packet cuts off: nothing behind it can be told.
    Unknown {
        /// Its type.
        kind: u64,
    },
}

/// An ACK frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuicAck {
    /// The delay as it stands in the frame: its unit is a parameter of the sender's.
    pub delay: u64,
    /// The first and the last number of each range, lowest first.
    pub ranges: Vec<(u64, u64)>,
    /// ECN counts.
    pub ecn: Option<QuicEcnCounts>,
}

/// How many packets came with each mark of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicEcnCounts {
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// CE.
    pub ce: u64,
}

/// Which way a stream's bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicStreamType {
    /// Both ways.
    Bidirectional,
    /// From the end that opened it.
    Unidirectional,
}

/// The name of an error code of QUIC's own (RFC 9000 §20.1); None for one that it does not define.
pub fn quic_error_name(code: u64) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "NO_ERROR",
        "INTERNAL_ERROR",
        "CONNECTION_REFUSED",
        "FLOW_CONTROL_ERROR",
        "STREAM_LIMIT_ERROR",
        "STREAM_STATE_ERROR",
        "FINAL_SIZE_ERROR",
        "FRAME_ENCODING_ERROR",
        "TRANSPORT_PARAMETER_ERROR",
        "CONNECTION_ID_LIMIT_ERROR",
        "PROTOCOL_VIOLATION",
        "INVALID_TOKEN",
        "APPLICATION_ERROR",
        "CRYPTO_BUFFER_EXCEEDED",
        "KEY_UPDATE_ERROR",
        "AEAD_LIMIT_REACHED",
        "NO_VIABLE_PATH",
    ];
    match code {
        0x100..=0x1ff => Some("CRYPTO_ERROR"),
        _ => NAMES.get(usize::try_from(code).ok()?).copied(),
    }
}

/// Whose error code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicErrorSpace {
    /// QUIC's own.
    Transport,
    /// That of the protocol above.
    Application,
}

/// An end of a connection, as the other one sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicInitiator {
    /// The one that tells.
    Local,
    /// Its peer.
    Remote,
}

/// A transport parameter (RFC 9000 §18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuicParameter {
    /// Its number.
    pub id: u64,
    /// Its value, as it was sent.
    pub value: Vec<u8>,
}

/// Why a packet is taken for lost (RFC 9002 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicLossTrigger {
    /// Packets that were sent later have been acknowledged.
    Reordering,
    /// A later packet has been acknowledged, and the time for reordering is over.
    Time,
}

/// What loss recovery and congestion control hold (RFC 9002).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicMetrics {
    /// The smoothed round-trip time; None before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// The shortest round-trip time; None before the first sample.
    pub min_rtt: Option<Duration>,
    /// Bytes that may be in flight.
    pub congestion_window: u64,
    /// Bytes that are.
    pub bytes_in_flight: u64,
    /// Where slow start ends, in bytes; None before the first congestion.
    pub slow_start_threshold: Option<u64>,
}

/// How a connection came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicEnd {
    /// By a CONNECTION_CLOSE frame.
    Closed {
        /// Who sent it.
        by: QuicInitiator,
        /// Whose code it is.
        space: QuicErrorSpace,
        /// The error code.
        code: u64,
    },
    /// Nothing came for too long.
    IdleTimeout,
    /// The peer has forgotten it.
    StatelessReset,
    /// In another way.
    Other,
}
