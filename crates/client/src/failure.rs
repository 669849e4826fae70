//! Why a fetch failed: messages that name the host and, where there is one, a remedy.

use crate::ExpectedStatus;
use endpoint::SocketError;
use secure::TlsError;
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;
use transport::{ClientSettings, Phase, TunnelFailure};
use unit::format_duration;

/// Why a fetch failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Failure {
    #[error("the address of {host} is not known; is the name right, and the network up?")]
    UnknownHost { host: String },
    #[error("no connection to {destination}: {error}{hint}")]
    Connect { destination: Destination, error: SocketError, hint: &'static str },
    #[error("no connection to {destination} within {}: {missing} did not answer", format_duration(*.within))]
    ConnectTime { destination: Destination, within: Duration, missing: &'static str },
    #[error(
        "no connection to {destination} within {}: nothing answered over UDP; does it speak HTTP/3?",
        format_duration(*.within)
    )]
    Unanswered { destination: Destination, within: Duration },
    #[error("no secured connection to {destination}: {error}")]
    Handshake { destination: Destination, error: TlsError },
    #[error("{destination}: the proxy opened no tunnel, it answered {status}{}", proxy_hint(*.status))]
    NoTunnel { destination: Destination, status: u16 },
    #[error(
        "{protocol} does not go through the proxy {proxy}: choose another version of HTTP, or leave the proxy away"
    )]
    Unproxied { protocol: &'static str, proxy: String },
    #[error(
        "{destination} did not agree to the protocol asked for (ALPN {offered}): it chose {chosen}"
    )]
    NoAgreement { destination: Destination, offered: String, chosen: String },
    #[error("the connection to {destination} broke: {error}")]
    Socket { destination: Destination, error: SocketError },
    #[error("the connection to {destination} broke: {error}")]
    Tls { destination: Destination, error: TlsError },
    #[error("{destination}: {error}")]
    Protocol { destination: Destination, error: proto::Error },
    #[error("{destination} closed the connection before its response was whole")]
    Closed { destination: Destination },
    #[error(
        "{destination} sent more after the end of the body: its Content-Length is too small, or its framing is broken"
    )]
    Surplus { destination: Destination },
    #[error("the request cannot be sent to {destination}: {reason}")]
    Unsendable { destination: Destination, reason: String },
    #[error("{destination}: {reason}")]
    Refused { destination: Destination, reason: String },
    #[error("nothing came from {destination} for {}", format_duration(*.span))]
    Stalled { destination: Destination, span: Duration },
    #[error("the fetch was not done within {}", format_duration(*.limit))]
    TooSlow { limit: Duration },
    #[error("more than {limit} redirects, the last one to {to}")]
    TooManyRedirects { limit: u32, to: String },
    #[error("the redirects run in a circle: {to} was asked for before")]
    RedirectLoop { to: String },
    #[error(
        "a redirect leads from https to {to}, where anybody on the path could change the answer; \
         allow it with --redirect-to-http"
    )]
    Downgrade { to: String },
    #[error("a redirect leads to `{to}`, which is no URL that can be fetched: {reason}")]
    BadRedirect { to: String, reason: String },
    #[error("the body has {got} bytes where {expected} were expected")]
    WrongLength { expected: u64, got: u64 },
    #[error("{method} {path} was answered with status {status}, and {expected} was expected")]
    WrongStatus { method: String, path: String, status: u16, expected: ExpectedStatus },
    #[error("the body is longer than the {limit} bytes allowed")]
    TooLong { limit: u64 },
    #[error("{STOPPED}")]
    Stopped,
    #[error("it is not wanted any more")]
    Cancelled,
}

/// The reason of a fetch that ended because its client was told to stop.
pub const STOPPED: &str = "it was stopped";

/// Whether repeating the fetch may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hope {
    /// It may: the server or the path had a temporary problem.
    Transient,
    /// It would fail in the same way.
    Lasting,
}

impl Failure {
    /// The failure of a fetch whose connection's transport failed.
    pub(crate) fn of_transport(
        destination: &Destination,
        failure: transport::Failure,
        settings: &ClientSettings,
    ) -> Self {
        use transport::Failure as Of;
        let destination = destination.clone();
        match failure {
            Of::Name(error) | Of::Handshake(error) => Self::Handshake { destination, error },
            Of::Tls(error) => Self::Tls { destination, error },
            Of::TimedOut { phase: Phase::Connecting } => {
                Self::ConnectTime { destination, within: within(settings), missing: "TCP" }
            }
            Of::TimedOut { phase: Phase::Tunnelling } => {
                Self::ConnectTime { destination, within: within(settings), missing: "the proxy" }
            }
            Of::TimedOut { .. } => {
                Self::ConnectTime { destination, within: within(settings), missing: "TLS" }
            }
            Of::NoAgreement { chosen } => Self::NoAgreement {
                destination,
                offered: settings.offer.alpn().join(", "),
                chosen: chosen.unwrap_or_else(|| "none".to_owned()),
            },
            Of::Tunnel(TunnelFailure::Refused { status }) => Self::NoTunnel { destination, status },
            Of::Tunnel(TunnelFailure::Broken(error)) => Self::Protocol { destination, error },
            Of::Tunnel(TunnelFailure::Unsendable(reason)) => {
                Self::Unsendable { destination, reason }
            }
            Of::PeerClosed { code, name } => {
                Self::Protocol { destination, error: proto::Error::PeerClosed { code, name } }
            }
            Of::Ended | Of::UnknownProtocol => Self::Closed { destination },
        }
    }

    /// The failure of a fetch whose socket failed while its connection was in `phase`.
    pub(crate) fn of_socket(
        destination: &Destination,
        error: SocketError,
        phase: Phase,
        settings: &ClientSettings,
    ) -> Self {
        let destination = destination.clone();
        match (phase, error) {
            (Phase::Connecting, SocketError::TimedOut) => {
                Self::ConnectTime { destination, within: within(settings), missing: "TCP" }
            }
            (Phase::Connecting, _) => {
                Self::Connect { destination, error, hint: connect_hint(error) }
            }
            _ => Self::Socket { destination, error },
        }
    }

    /// The failure of a fetch whose UDP socket failed while its connection over QUIC was in `phase`.
    pub(crate) fn of_datagrams(
        destination: &Destination,
        error: SocketError,
        phase: Phase,
    ) -> Self {
        let destination = destination.clone();
        match (phase, error) {
            (Phase::Securing, SocketError::Refused) => {
                let hint = "; nothing listens on its UDP port, does it speak HTTP/3?";
                Self::Connect { destination, error, hint }
            }
            (Phase::Securing, _) => Self::Connect { destination, error, hint: connect_hint(error) },
            _ => Self::Socket { destination, error },
        }
    }

    /// The failure of a fetch whose connection over QUIC came to nothing without one datagram from the server.
    pub(crate) fn unanswered(destination: &Destination, settings: &ClientSettings) -> Self {
        Self::Unanswered { destination: destination.clone(), within: within(settings) }
    }

    /// Whether a connection was lost: it was reset, or ended before the response was whole.
    pub(crate) fn is_loss(&self) -> bool {
        match self {
            Self::Socket { .. } | Self::Closed { .. } => true,
            Self::Tls { error, .. } => matches!(error, TlsError::Truncated),
            Self::Protocol { error, .. } => matches!(error, proto::Error::Truncated { .. }),
            _ => false,
        }
    }

    /// Whether another try may succeed.
    pub(crate) fn hope(&self) -> Hope {
        match self {
            Self::Connect { .. }
            | Self::ConnectTime { .. }
            | Self::Unanswered { .. }
            | Self::Socket { .. }
            | Self::Closed { .. }
            | Self::Stalled { .. } => Hope::Transient,
            Self::Handshake { error, .. } | Self::Tls { error, .. } => match error {
                TlsError::Truncated | TlsError::ClosedInHandshake => Hope::Transient,
                TlsError::Untrusted { .. }
                | TlsError::Alert { .. }
                | TlsError::Incompatible(_)
                | TlsError::PeerViolation { .. }
                | TlsError::BadName(_) => Hope::Lasting,
            },
            Self::Protocol { error, .. } => match error {
                proto::Error::PeerViolation { .. } | proto::Error::AnsweredInHttp1 => Hope::Lasting,
                proto::Error::PeerReset { .. }
                | proto::Error::Unprocessed
                | proto::Error::PeerClosed { .. }
                | proto::Error::Truncated { .. }
                | proto::Error::TimedOut { .. } => Hope::Transient,
            },
            // The server behind the proxy did not answer it, or the proxy has too much to do.
            Self::NoTunnel { status: 429 | 502 | 503 | 504, .. } => Hope::Transient,
            Self::UnknownHost { .. }
            | Self::NoTunnel { .. }
            | Self::Unproxied { .. }
            | Self::NoAgreement { .. }
            | Self::Surplus { .. }
            | Self::Unsendable { .. }
            | Self::Refused { .. }
            | Self::TooSlow { .. }
            | Self::TooManyRedirects { .. }
            | Self::RedirectLoop { .. }
            | Self::Downgrade { .. }
            | Self::BadRedirect { .. }
            | Self::WrongLength { .. }
            | Self::WrongStatus { .. }
            | Self::TooLong { .. }
            | Self::Stopped
            | Self::Cancelled => Hope::Lasting,
        }
    }
}

/// The destination of a connection: the name asked for, and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) authority: Box<str>,
    /// The proxy's address, where there is one.
    pub(crate) remote: SocketAddr,
    /// The proxy by its name.
    pub(crate) proxy: Option<Box<str>>,
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let remote = self.remote.to_string();
        if let Some(proxy) = &self.proxy {
            return write!(f, "{} by the proxy {proxy} ({remote})", self.authority);
        }
        if *self.authority == remote {
            return f.write_str(&remote);
        }
        write!(f, "{} ({remote})", self.authority)
    }
}

fn within(settings: &ClientSettings) -> Duration {
    settings.handshake_timeout.unwrap_or_default()
}

/// RFC 9110 §15.5.8.
const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

fn proxy_hint(status: u16) -> &'static str {
    match status {
        PROXY_AUTHENTICATION_REQUIRED => {
            ": it wants a name and a password, as in http://user:password@proxy:3128"
        }
        _ => "",
    }
}

fn connect_hint(error: SocketError) -> &'static str {
    match error {
        SocketError::Refused => "; is a server listening there?",
        SocketError::Unreachable => "; is the network up?",
        SocketError::NoDescriptors => "; raise their number with `ulimit -n`",
        SocketError::NoPorts => "; widen net.ipv4.ip_local_port_range",
        SocketError::TimedOut | SocketError::Reset | SocketError::Os(_) => "",
    }
}
