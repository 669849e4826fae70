//! The settings of a client.

use crate::failure::Failure;
use crate::{Cookies, Hosts, Profile, Proxies, Transport};
use endpoint::SocketSettings;
use page::{Browser, Scheme, Url};
use secure::ClientTls;
use std::collections::BTreeMap;
use std::time::Duration;
use trace::Tracer;
use transport::{Protocol, QuicSettings};
use unit::ByteSize;

/// Everything that a client needs to know before it starts.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The protocol and security to use.
    pub transport: Transport,
    /// TLS settings and its store of sessions. The names in its ALPN list must be those of
    /// [`Transport::alpn`].
    pub tls: ClientTls,
    /// The addresses of host names.
    pub hosts: Hosts,
    /// The HTTP proxies that connections over TCP go through. [`Client`](crate::Client) alone heeds them.
    pub proxies: Proxies,
    /// Hosts that share the connections of another one over HTTP/2 and HTTP/3, whose certificate is for them, too
    /// (RFC 9113 §9.1.1); by their names.
    pub shared_hosts: BTreeMap<String, String>,
    /// Whether connections serve more than one request.
    pub keep_alive: KeepAlive,
    /// How many connections the pool opens.
    pub limits: PoolLimits,
    /// The time limits.
    pub timeouts: Timeouts,
    /// Header fields sent with each request.
    pub profile: Profile,
    /// Which priority signals go to a server over HTTP/2 and HTTP/3.
    pub priorities: Priorities,
    /// The browser whose signals these are.
    pub browser: Browser,
    /// How images that can be seen are raised.
    pub raises: Raises,
    /// Whether pushed responses are taken.
    pub push: Push,
    /// Whether early hints (103) are followed.
    pub early_hints: EarlyHints,
    /// HTTP/2's own settings; `priority_signal` follows from `priorities`, `enable_push` from `push`.
    pub h2: proto::h2::Settings,
    /// HTTP/3's own settings.
    pub h3: proto::h3::Settings,
    /// QUIC's settings.
    pub quic: QuicSettings,
    /// Whether connections over QUIC race those of `transport`; None: all are of `transport`.
    pub race: Option<Race>,
    /// SPDY's own settings; `version` follows from `transport`, `enable_push` from `push`.
    pub spdy: proto::spdy::Settings,
    /// Options of each socket.
    pub socket: SocketSettings,
    /// The cookies that the client begins with; None: it keeps and sends none.
    pub cookies: Option<Cookies>,
    /// Redirects followed for one fetch.
    pub redirects: u32,
    /// Whether a redirect from https to http is followed.
    pub downgrades: Downgrades,
    /// What becomes of fetches whose connection is lost. [`Client`](crate::Client) alone heeds it.
    pub lost: LostFetches,
    /// The longest body taken; None for any.
    pub longest_body: Option<ByteSize>,
    /// What to do when bytes that belong to no response follow one over HTTP/1.1.
    pub surplus: Surplus,
    /// Where the protocol machines' trace events go.
    pub tracer: Tracer,
}

/// How long a connection over QUIC may be silent before the client sends a PING: a server may take its time over an answer (RFC 9114
/// §5.1), and those that end silent connections soonest do it after 30 s.
const SILENCE: Duration = Duration::from_secs(15);

impl ClientConfig {
    /// A browser's settings over `transport`.
    pub fn new(transport: Transport, tls: ClientTls) -> Self {
        Self {
            transport,
            tls,
            hosts: Hosts::new(),
            proxies: Proxies::default(),
            shared_hosts: BTreeMap::new(),
            keep_alive: KeepAlive::On,
            limits: PoolLimits::default(),
            timeouts: Timeouts::default(),
            profile: Profile::default(),
            priorities: Priorities::default(),
            browser: Browser::default(),
            raises: Raises::default(),
            push: Push::default(),
            early_hints: EarlyHints::default(),
            h2: proto::h2::Settings::client(),
            h3: proto::h3::Settings::client(),
            quic: QuicSettings { keep_alive: Some(SILENCE), ..QuicSettings::default() },
            race: None,
            spdy: proto::spdy::Settings::client(proto::spdy::Version::V3_1),
            socket: SocketSettings::default(),
            cookies: None,
            redirects: 10,
            downgrades: Downgrades::default(),
            lost: LostFetches::default(),
            longest_body: None,
            surplus: Surplus::default(),
            tracer: Tracer::off(),
        }
    }

    /// Whether what is spoken to the host of `url` goes through its proxy, where it has one. The error says that it does not, and
    /// the way out.
    pub fn check_proxy(&self, url: &Url) -> Result<(), String> {
        let unproxied = self.unproxied(self.transport.scheme(url.scheme), &url.host);
        unproxied.map_or(Ok(()), |failure| Err(failure.to_string()))
    }

    /// Why the protocol spoken to `host` does not go through its proxy; None where it does. Tunnels are of TCP, and a proxy
    /// is asked for whole URLs over HTTP/1.1.
    pub(crate) fn unproxied(&self, scheme: Scheme, host: &str) -> Option<Failure> {
        let (proxy, protocol) = (self.proxies.find(scheme, host)?, self.transport.known(scheme)?);
        let may_be_proxied = match scheme {
            Scheme::Http => protocol == Protocol::Http1,
            Scheme::Https => !protocol.is_over_quic(),
        };
        (!may_be_proxied)
            .then(|| Failure::Unproxied { protocol: protocol.name(), proxy: proxy.to_string() })
    }

    /// Sets the receive windows of HTTP/2, HTTP/3 and SPDY.
    pub fn set_receive_windows(&mut self, windows: ReceiveWindows) {
        let ReceiveWindows { stream, connection } = windows;
        (self.h2.stream_window, self.h2.connection_window) = (stream, connection);
        (self.quic.stream_window, self.quic.connection_window) = (stream, connection);
        (self.spdy.stream_window, self.spdy.session_window) = (stream, connection);
    }
}

/// How many bytes a server may send before the client allows more (flow control).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveWindows {
    /// On each stream.
    pub stream: u32,
    /// On all streams of a connection together.
    pub connection: u32,
}

/// HTTP/3 raced against the client's transport over TLS. To each origin a connection over QUIC is begun, and one over TCP
/// `head_start` later, or at once where QUIC has failed by then. The first that can send a request gets them all; the
/// other is dropped. Settings of TLS are for TCP, and QUIC has them with its own ALPN.
///
/// Chromium's head start is 1.5 smoothed round trips of the server, 300 ms where it knows none, and nothing where QUIC
/// has not worked on the network before (net/quic/quic_session_pool.cc, `GetTimeDelayForWaitingJob`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Race {
    /// How much later than QUIC TCP begins.
    pub head_start: Duration,
}

/// Whether a redirect from https to http is followed. Whoever sits on the path can change what comes over http.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Downgrades {
    /// Followed, as browsers do.
    #[default]
    Followed,
    /// The fetch fails.
    Refused,
}

/// What becomes of a fetch whose connection is reset, or ends, before the response is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LostFetches {
    /// It fails, unless nothing of the response has come and the server had probably closed a kept connection before the
    /// request arrived (RFC 9112 §9.3.1).
    #[default]
    Failed,
    /// Over TCP, and where its method is safe (RFC 9110 §9.2.1), it is made again whole on another connection, as by a user who reloads
    /// it, three times at most. The part of the response that had come is dropped; its times still count from when it was
    /// first asked for. A fetch by any method that has waited for a handshake waits for another one.
    MadeAgain,
}

/// Whether a connection is used again after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepAlive {
    /// Until either side closes it.
    #[default]
    On,
    /// HTTP/1.1: one request per connection (`Connection: close`). A multiplexed connection has no such field; it is
    /// closed as soon as nothing is in flight on it.
    Off,
}

/// How to treat bytes after a response that no request asked for. Its Content-Length may be too small, or they may be
/// anything (RFC 9112 §6.3 and §9.2 leave it to the client). HTTP/2 detects this by itself (RFC 9113 §8.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surplus {
    /// The response is complete, as in browsers. The connection is closed.
    #[default]
    Dropped,
    /// The response fails, if they are there when it ends. For that the driver reads the socket once more before a
    /// response counts as complete.
    Blamed,
}

/// Which priority signals a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priorities {
    /// Those of the client's browser: the `priority` field (RFC 9218) where it sends one, and over HTTP/2 a place in the
    /// dependency tree (RFC 7540 §5.3).
    #[default]
    Browser,
    /// The `priority` field alone.
    Field,
    /// None.
    Silent,
}

/// How a client says that a request which is under way has become more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Raises {
    /// As its browser: Chromium by PRIORITY over HTTP/2, and not at all over HTTP/3.
    #[default]
    Browser,
    /// By PRIORITY_UPDATE (RFC 9218 §7) over HTTP/2 and HTTP/3, beside what its browser sends. No browser does so; a
    /// control that shows what the missing signal costs.
    PriorityUpdate,
}

/// Whether pushed responses are taken, over HTTP/2 and SPDY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Push {
    /// None are: SETTINGS_ENABLE_PUSH is 0. Browsers of today.
    #[default]
    Refused,
    /// They wait in their connection until a fetch is for them, as in Chromium up to 105.
    Taken,
}

/// Whether early hints (103, RFC 8297) are followed, over HTTP/2 and HTTP/3. Over HTTP/1.1 they are read and ignored, as
/// by browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyHints {
    /// The work is told of them.
    #[default]
    Followed,
    /// They are read and ignored.
    Ignored,
}

/// How many connections a pool opens. The defaults are Chromium's (net/socket/client_socket_pool_manager.cc).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// HTTP/1.1 connections to one origin.
    pub per_origin: usize,
    /// Connections in all.
    pub total: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { per_origin: 6, total: 256 }
    }
}

/// The time limits. A fetch that exceeds one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// TCP and TLS together.
    pub connect: Duration,
    /// The stall time-out: no byte on the fetch's connection for this long after the request is sent.
    pub stall: Duration,
    /// From when a fetch was asked for to its last byte; None for no limit.
    pub whole: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(30), stall: Duration::from_secs(60), whole: None }
    }
}
