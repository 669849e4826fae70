//! Fine-grained events and the handle through which machines emit them. The one rule: an event without
//! a sink costs one branch.

use crate::delivery::{AskedPriority, PrioritySource};
use crate::quic::{
    QuicEnd, QuicInitiator, QuicLossTrigger, QuicMetrics, QuicPacket, QuicPacketType, QuicParameter,
};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use unit::Instant;

/// One thing that a connection did. Frame names are those of the protocol's RFC.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The transport (and TLS where there is one) is ready for requests (qlog `connection_state_updated`).
    ConnectionReady {
        /// The protocol negotiated or known beforehand, by its ALPN name.
        protocol: &'a str,
    },
    /// A frame was queued for sending (qlog `http:frame_created`).
    FrameCreated {
        /// Its stream, 0 for the connection.
        stream: u64,
        /// The RFC's name of its type.
        frame: &'static str,
        /// Bytes of payload.
        length: u64,
    },
    /// A frame was received and parsed (qlog `http:frame_parsed`).
    FrameParsed {
        /// Its stream, 0 for the connection.
        stream: u64,
        /// The RFC's name of its type.
        frame: &'static str,
        /// Bytes of payload.
        length: u64,
    },
    /// A frame of HTTP/3's control stream was queued for sending (qlog `http3:frame_created`).
    ControlFrameCreated {
        /// The control stream.
        stream: u64,
        /// The frame.
        frame: ControlFrame<'a>,
    },
    /// A frame of the peer's control stream was received and parsed (qlog `http3:frame_parsed`).
    ControlFrameParsed {
        /// The control stream.
        stream: u64,
        /// The frame.
        frame: ControlFrame<'a>,
    },
    /// A header block was coded or decoded (qlog `qpack:headers_encoded`, `headers_decoded`).
    HeaderBlock {
        /// Its stream.
        stream: u64,
        /// Bytes before compression, as [`crate::HeaderBytes`] counts them.
        plain: u64,
        /// Bytes on the wire.
        coded: u64,
    },
    /// The peer has said how a stream ranks. It may do so of a stream that is not open.
    PriorityReceived {
        /// The stream.
        stream: u64,
        /// What said it.
        by: PrioritySource,
        /// What it said.
        asked: AskedPriority,
    },
    /// A stream was reset.
    StreamReset {
        /// The stream.
        stream: u64,
        /// The RFC's error code.
        code: u64,
    },
    /// The connection is over (qlog `connection_closed`).
    ConnectionClosed {
        /// Why, in the words of the error.
        reason: &'a str,
    },
    /// A QUIC connection begins (qlog `quic:connection_started`).
    QuicStarted {
        /// This end's address, where it is known.
        local: Option<IpAddr>,
        /// The peer's.
        remote: SocketAddr,
    },
    /// Transport parameters are known (qlog `quic:parameters_set`).
    QuicParameters {
        /// Who set them.
        by: QuicInitiator,
        /// All of them.
        parameters: &'a [QuicParameter],
    },
    /// A QUIC packet was sent (qlog `quic:packet_sent`).
    QuicPacketSent(&'a QuicPacket),
    /// A QUIC packet was received and decrypted (qlog `quic:packet_received`).
    QuicPacketReceived(&'a QuicPacket),
    /// A QUIC packet that was sent is taken for lost (qlog `quic:packet_lost`).
    QuicPacketLost {
        /// Its type.
        kind: QuicPacketType,
        /// Its number.
        number: u64,
        /// By which rule.
        trigger: QuicLossTrigger,
    },
    /// Loss recovery or congestion control have changed (qlog `quic:recovery_metrics_updated`).
    QuicMetricsUpdated(QuicMetrics),
    /// A QUIC connection is over (qlog `quic:connection_closed`).
    QuicClosed(QuicEnd),
    /// Nothing more is kept of a QUIC connection: this is its last event. A closed connection gets late packets until then.
    QuicForgotten,
}

/// A frame of HTTP/3's control stream (RFC 9114 §7.2, RFC 9218 §7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlFrame<'a> {
    /// SETTINGS: each parameter's number and value.
    Settings(&'a [(u64, u64)]),
    /// GOAWAY.
    GoAway {
        /// The first request or push that is not processed.
        id: u64,
    },
    /// CANCEL_PUSH.
    CancelPush {
        /// Which.
        push: u64,
    },
    /// MAX_PUSH_ID.
    MaxPushId {
        /// The highest one.
        push: u64,
    },
    /// PRIORITY_UPDATE.
    PriorityUpdate {
        /// What it is about.
        element: PrioritizedElement,
        /// The Priority field's value.
        value: &'a [u8],
    },
    /// A frame of a type that is not known.
    Unknown {
        /// Its type.
        kind: u64,
    },
}

/// What a PRIORITY_UPDATE is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrioritizedElement {
    /// A request, by its stream.
    Request(u64),
    /// A push, by its number.
    Push(u64),
}

/// Where events go. Implementations decide what to keep.
pub trait Sink {
    /// Takes one event of the connection that the emitter was made for.
    fn record(&self, at: Instant, connection: u64, event: &Event<'_>);
}

/// A machine's handle to the sink; cheap to clone, off by default.
#[derive(Clone, Default)]
pub struct Tracer {
    sink: Option<Rc<dyn Sink>>,
    connection: u64,
}

impl Tracer {
    /// Events go nowhere.
    pub fn off() -> Self {
        Self::default()
    }

    /// Events go to `sink`.
    pub fn to(sink: Rc<dyn Sink>) -> Self {
        Self { sink: Some(sink), connection: 0 }
    }

    /// The same, with events going to `other`, too.
    pub fn and(&self, other: Rc<dyn Sink>) -> Self {
        let sink = match &self.sink {
            Some(sink) => Rc::new(Both(Rc::clone(sink), other)),
            None => other,
        };
        Self { sink: Some(sink), connection: self.connection }
    }

    /// Whether events go anywhere.
    pub fn is_on(&self) -> bool {
        self.sink.is_some()
    }

    /// The same sink, for events of `connection`.
    pub fn for_connection(&self, connection: u64) -> Self {
        Self { sink: self.sink.clone(), connection }
    }

    /// Builds and records an event where there is a sink.
    #[inline]
    pub fn emit<'a>(&self, at: Instant, event: impl FnOnce() -> Event<'a>) {
        if let Some(sink) = &self.sink {
            sink.record(at, self.connection, &event());
        }
    }
}

/// Two sinks that take the same events.
struct Both(Rc<dyn Sink>, Rc<dyn Sink>);

impl Sink for Both {
    fn record(&self, at: Instant, connection: u64, event: &Event<'_>) {
        self.0.record(at, connection, event);
        self.1.record(at, connection, event);
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer({})", if self.sink.is_some() { "on" } else { "off" })
    }
}
