//! The settings of an origin: plain values, a copy for each thread, and what its threads share.

use crate::across_threads::AcrossThreads;
use crate::budget::BudgetLimits;
use crate::policy::DeliveryPolicy;
use crate::upstream::UpstreamSettings;
use crate::wall_clock::WallClock;
use bytes::Bytes;
use page::Table;
use proto::schedule::Policy;
use proto::ws::{DeflateOffer, Settings, Writes};
use proto::{h1, h2, h3, spdy};
use secure::ServerTls;
use std::sync::Arc;
use std::time::Duration;
use transport::{Decisions, Protocol, QuicSettings, ServerSettings};

/// Settings of an origin.
#[derive(Debug, Clone)]
pub struct OriginConfig {
    /// For each listener of the driver, in its order: what it speaks.
    pub listeners: Vec<ListenerKind>,
    /// The protocols over TLS, by ALPN name: HTTP/2 and HTTP/1.1 by default. Clear listeners always accept these two,
    /// and SPDY in the first version named here.
    pub protocols: Vec<Protocol>,
    /// The responses of a recorded page, by host and path.
    pub table: Option<Arc<Table>>,
    /// How long the resources of recorded and synthetic pages are fresh, but for documents: they get Cache-Control and
    /// ETag then, and are answered 304. None: they get neither.
    pub max_age: Option<Duration>,
    /// The value of the `Server` field.
    pub server: String,
    /// The port of the UDP socket that `Alt-Svc` offers HTTP/3 on (RFC 7838); None for no such field.
    pub alt_svc: Option<u16>,
    /// For the `Date` field.
    pub wall_clock: WallClock,
    /// The policy that chooses which response on a connection sends next. With [`Policy::ServerDriven`] the assets that
    /// block rendering (CSS, fonts, scripts that no document calls async, defer or a module) go first.
    pub priorities: Policy,
    /// What is sent besides responses, and in which order; None for nothing.
    pub delivery: Option<Arc<DeliveryPolicy>>,
    /// The settings of WebSockets.
    pub web_socket: WebSocketSettings,
    /// Whether clients may open WebSockets over HTTP/2 (RFC 8441). SETTINGS_ENABLE_CONNECT_PROTOCOL, which says so,
    /// is too much for OkHttp 2.3 to 3.0.1: they close the connection.
    pub web_socket_over_h2: bool,
    /// The page timer, which `/timer` is answered with; None: that is a path as any other.
    pub timer: Option<Bytes>,
    /// Whether there is a place for a visit before a trial's work: `/visit` is a short text, and once `/visit?close` is answered all
    /// connections are closed, those that browsers have opened beside it, too.
    pub visits: bool,
    /// The application server that answers what is no file; None: this origin's own targets do.
    pub upstream: Option<UpstreamSettings>,
    /// Whether a connection is kept that carries no request. Without it HTTP/1.1's ends with its first response, and a
    /// multiplexed one, by GOAWAY, once every response is sent.
    pub keep_alive: h1::KeepAlive,
    /// What a peer may take.
    pub limits: Limits,
    /// What its threads share: clones of this configuration are of one server.
    pub across_threads: AcrossThreads,
}

/// The settings of WebSockets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketSettings {
    /// The compression to accept where a client offers it; None declines.
    pub deflate: Option<DeflateOffer>,
    /// How frames are written.
    pub writes: Writes,
    /// zlib's level of compressed messages, 0 to 9. Default: proto's own, which is cheap.
    pub compression_level: u32,
}

impl Default for WebSocketSettings {
    fn default() -> Self {
        let compression_level = Settings::default().compression_level;
        Self { deflate: Some(DeflateOffer::default()), writes: Writes::One, compression_level }
    }
}

/// What a listener speaks.
#[derive(Debug, Clone)]
pub enum ListenerKind {
    /// No TLS. A client that begins with HTTP/2's preface gets HTTP/2 (RFC 9113 §3.3).
    Clear,
    /// TLS.
    Tls(ServerTls),
    /// A UDP socket with HTTP/3 over QUIC, by the certificates and settings of TLS.
    Quic(ServerTls, QuicSettings),
}

/// Limits for peers; a peer that exceeds one is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. Further ones are closed at once.
    pub connections: usize,
    /// Time for a TLS handshake.
    pub handshake: Duration,
    /// Time for a request head, from its first byte.
    pub head: Duration,
    /// Time without a request in progress.
    pub idle: Duration,
    /// Bytes of one `/echo` that may wait until the client reads them. At the limit no more is read from the client,
    /// and it is reset if it reads nothing for [`echo_stall`](Self::echo_stall).
    pub echo: usize,
    /// Bytes of all echoes of a thread that may wait. At the limit a new echo is answered with 413.
    pub echoes: usize,
    /// For an echo at its limit of which nothing is read.
    pub echo_stall: Duration,
    /// Bytes that one connection may hold: bodies and echoes that wait to be sent, messages of WebSockets. Above it the
    /// exchange that holds most is reset. Enough for a message of 16 MiB and its echo.
    pub held_by_connection: usize,
    /// Bytes that all connections of a peer's address (IPv6: 64 bits of it) may hold in a thread. Above it the one that
    /// holds most is reset.
    pub held_by_peer: usize,
    /// The same for all connections of a thread. At half of it new WebSockets are opened without compression.
    pub held: usize,
    /// With a request under way, but without a byte in either direction.
    pub stall: Duration,
    /// For a peer to take the last bytes of a connection that failed, anew each time that it takes some. What it sends meanwhile does not count.
    pub last_bytes: Duration,
    /// Time for the requests in progress when the origin is stopped.
    pub drain: Duration,
    /// Time, when the origin is stopped, for a connection without requests to end, and for a peer that neither sends nor
    /// takes a byte. Its own server times do not count.
    pub drain_stall: Duration,
}

impl Limits {
    pub(crate) fn budgets(&self) -> BudgetLimits {
        BudgetLimits { thread: self.held, peer: self.held_by_peer }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 100_000,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            echo: 16 * 1024 * 1024,
            echoes: 64 * 1024 * 1024,
            echo_stall: Duration::from_secs(10),
            held_by_connection: 48 * 1024 * 1024,
            held_by_peer: 96 * 1024 * 1024,
            held: 128 * 1024 * 1024,
            stall: Duration::from_secs(120),
            last_bytes: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            drain_stall: Duration::from_secs(2),
        }
    }
}

impl OriginConfig {
    /// The defaults for these listeners.
    pub fn new(listeners: Vec<ListenerKind>, wall_clock: WallClock) -> Self {
        Self {
            listeners,
            protocols: vec![Protocol::Http2, Protocol::Http1],
            table: None,
            max_age: None,
            server: "wirelap".to_owned(),
            alt_svc: None,
            wall_clock,
            priorities: Policy::default(),
            delivery: None,
            web_socket: WebSocketSettings::default(),
            web_socket_over_h2: true,
            timer: None,
            visits: false,
            upstream: None,
            keep_alive: h1::KeepAlive::On,
            limits: Limits::default(),
            across_threads: AcrossThreads::default(),
        }
    }

    /// The transport settings of its connections.
    pub(crate) fn transport(&self) -> ServerSettings {
        let limits = &self.limits;
        let h1 = h1::ServerSettings {
            keep_alive: self.keep_alive,
            expect: h1::Expect::Application,
            header_timeout: Some(limits.head),
            keep_alive_timeout: Some(limits.idle),
            body_timeout: Some(limits.stall),
            ..h1::ServerSettings::default()
        };
        let h2 = h2::Settings {
            send_low_water: LOW_WATER,
            head_timeout: limits.head,
            stall_timeout: limits.stall,
            // RFC 9113 §6.8: a round trip, and no longer for a peer that does not answer the PING.
            drain_timeout: limits.drain_stall / 2,
            enable_connect_protocol: self.web_socket_over_h2,
            ..h2::Settings::server()
        };
        let h3 = h3::Settings {
            send_low_water: LOW_WATER,
            head_timeout: limits.head,
            stall_timeout: limits.stall,
            enable_connect_protocol: self.web_socket_over_h2,
            ..h3::Settings::server()
        };
        let h3 = Arc::new(h3);
        let spdy = spdy::Settings {
            send_low_water: LOW_WATER,
            head_timeout: limits.head,
            stall_timeout: limits.stall,
            // The protocol's default, which is not announced. OkHttp 1.5.1 (Twitter4J's SPDY module) returns credit
            // when half of the *server's* window has arrived. Its own window of 64 KiB never holds that much where the
            // server's is above 128 KiB.
            stream_window: 65_536,
            ..spdy::Settings::server(spdy::Version::V3_1)
        };
        let priorities = self.priorities;
        let decisions = match &self.delivery {
            Some(delivery) if delivery.decides() => Decisions::Taken,
            _ => Decisions::None,
        };
        // What TLS agrees on by ALPN is its own setting: there HTTP/3 is never offered.
        let protocols = self.protocols.iter().copied().chain([Protocol::Http3]).collect();
        ServerSettings { priorities, decisions, h1, h2, h3, spdy, ..ServerSettings::new(protocols) }
    }
}

/// A stream with fewer queued bytes asks for more. It is low because many streams share a connection.
const LOW_WATER: usize = 16 * 1024;
