//! Settings of an HTTP/1.1 connection, with defaults.

use crate::Scheme;
use std::time::Duration;
use wire::h1::Limits;

/// Whether a connection carries more than one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepAlive {
    /// As many as both sides like.
    #[default]
    On,
    /// One: `Connection: close` stands in its first head.
    Off,
}

/// Who answers `Expect: 100-continue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expect {
    /// The machine says 100 as soon as the answer's turn has come and bytes can be sent, unless the
    /// application has given a final response by then.
    #[default]
    Automatic,
    /// The application says `inform` with 100, or responds.
    Application,
}

/// A server's settings. A time-out of None never comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The scheme of requests whose target names none: https where TLS lies below. Default: http.
    pub scheme: Scheme,
    /// Default: on.
    pub keep_alive: KeepAlive,
    /// Of a request head, and of a trailer section. Default: a line of 8 KiB, a block of 32 KiB, 100 fields.
    pub limits: Limits,
    /// Default: automatic.
    pub expect: Expect,
    /// Requests taken whose answers are not all sent. Behind an answer that takes more than one turn to send no further
    /// request is taken. Default: 32.
    pub max_pipelined: usize,
    /// Bytes held while no further request is taken; a peer that makes the end point hold more is cut
    /// off. The end point pauses its socket, so one read's worth is enough. Default: 1 MiB.
    pub max_backlog: usize,
    /// Body bytes that may be given out and not consumed before reading pauses. Default: 256 KiB.
    pub body_window: usize,
    /// Bytes of a body that nobody wants any more which are read, so that the connection lives on or
    /// the answer is not lost to a reset. Default: 1 MiB.
    pub max_discard: usize,
    /// From the first byte of a head to its last. Default: 30 s.
    pub header_timeout: Option<Duration>,
    /// From the end of an answer, or from the connection's beginning, to the next request's first
    /// byte. Default: 75 s.
    pub keep_alive_timeout: Option<Duration>,
    /// Between two pieces of a request's body. Default: 60 s.
    pub body_timeout: Option<Duration>,
    /// For the peer's FIN, after the last answer to a peer that may still be sending. Default: 2 s.
    pub linger_timeout: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            scheme: Scheme::Http,
            keep_alive: KeepAlive::On,
            limits: Limits::default(),
            expect: Expect::Automatic,
            max_pipelined: 32,
            max_backlog: 1024 * 1024,
            body_window: 256 * 1024,
            max_discard: 1024 * 1024,
            header_timeout: Some(Duration::from_secs(30)),
            keep_alive_timeout: Some(Duration::from_secs(75)),
            body_timeout: Some(Duration::from_secs(60)),
            linger_timeout: Duration::from_secs(2),
        }
    }
}

/// A client's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// Default: on.
    pub keep_alive: KeepAlive,
    /// Of a response head, and of a trailer section. Default: a line of 64 KiB, a block of 256 KiB,
    /// 256 fields: what browsers take.
    pub limits: Limits,
    /// Body bytes that may be given out and not consumed before reading pauses. Default: 1 MiB.
    pub body_window: usize,
    /// Informational responses to one request. Default: 32.
    pub max_informational: u32,
    /// How long a body waits for 100 after its head, with `Expect: 100-continue`. Default: 1 s.
    pub continue_timeout: Duration,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            keep_alive: KeepAlive::On,
            limits: Limits { line: 64 * 1024, block: 256 * 1024, count: 256 },
            body_window: 1024 * 1024,
            max_informational: 32,
            continue_timeout: Duration::from_secs(1),
        }
    }
}
