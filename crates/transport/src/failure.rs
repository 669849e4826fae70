//! Why a connection is of no use (any more), and in which phase that came to light. What breaks a protocol's own rules
//! comes as `proto::Event::Closed` instead.

use crate::status::Phase;
use crate::tunnel::TunnelFailure;
use secure::TlsError;
use thiserror::Error;

/// Why a connection failed below its protocol's machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// TLS could not be begun: no certificate can be valid for the server's name.
    #[error("{0}")]
    Name(TlsError),
    /// The connection was not ready within the time allowed.
    #[error("no answer in time while {phase}")]
    TimedOut {
        /// What it waited for.
        phase: Phase,
    },
    /// TLS's handshake failed.
    #[error("{0}")]
    Handshake(TlsError),
    /// By ALPN the server chose what was not offered, or nothing where something had to be chosen.
    #[error("the protocol asked for was not agreed to")]
    NoAgreement {
        /// The name that the server chose.
        chosen: Option<String>,
    },
    /// What a client agreed to by ALPN, or its first bytes, is no protocol that this server speaks.
    #[error("no protocol of the origin's")]
    UnknownProtocol,
    /// The peer ended the connection before it was ready.
    #[error("the peer closed the connection before a protocol was spoken")]
    Ended,
    /// Over QUIC: the peer closed the connection with this code before it was ready.
    #[error("the peer closed the connection with code {code:#x} ({name})")]
    PeerClosed {
        /// Of QUIC (RFC 9000 §20.1) or of the protocol above it.
        code: u64,
        /// Its name in the RFC.
        name: &'static str,
    },
    /// A proxy opened no tunnel.
    #[error("{0}")]
    Tunnel(TunnelFailure),
    /// TLS failed after its handshake, or was cut off.
    #[error("{0}")]
    Tls(TlsError),
}
