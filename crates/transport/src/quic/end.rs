//! How a connection ended, in the words of those above it.

use crate::failure::Failure;
use crate::role::QuicRole;
use crate::status::Phase;
use proto::{Error, Scope};
use quinn_proto::ConnectionError;
use secure::{QuicHandshake, TlsError};
use trace::quic_error_name;

/// The end of a connection that was ready; None for an orderly one.
pub(super) fn closed_by<R: QuicRole>(reason: &ConnectionError) -> Option<Error> {
    if let Some((code, name)) = peers_code::<R>(reason) {
        return Some(Error::PeerClosed { code, name });
    }
    match reason {
        ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => None,
        ConnectionError::LocallyClosed => None,
        ConnectionError::TimedOut => Some(Error::TimedOut { waiting_for: "a packet" }),
        ConnectionError::Reset => {
            Some(Error::Truncated { within: "a QUIC connection that the peer has forgotten" })
        }
        ConnectionError::TransportError(error) => Some(Error::PeerViolation {
            scope: Scope::Connection,
            code: error.code.into(),
            rule: "QUIC (RFC 9000 §11)",
        }),
        ConnectionError::VersionMismatch | ConnectionError::CidsExhausted => {
            Some(Error::Truncated { within: "a QUIC connection" })
        }
    }
}

/// The end of a connection that never was ready.
pub(super) fn failed_by<R: QuicRole>(
    reason: &ConnectionError,
    handshake: Option<QuicHandshake>,
) -> Failure {
    if let Some(failure) = handshake.and_then(|handshake| handshake.failure) {
        return Failure::Handshake(failure);
    }
    if let ConnectionError::ConnectionClosed(close) = reason
        && let Some(alert) = TlsError::of_quic(close.error_code.into())
    {
        return Failure::Handshake(alert);
    }
    if let Some((code, name)) = peers_code::<R>(reason) {
        return Failure::PeerClosed { code, name };
    }
    match reason {
        ConnectionError::TimedOut => Failure::TimedOut { phase: Phase::Securing },
        ConnectionError::TransportError(error) => {
            Failure::Handshake(TlsError::PeerViolation { what: error.to_string() })
        }
        ConnectionError::VersionMismatch => {
            let what = "the peer speaks no QUIC version of ours".to_owned();
            Failure::Handshake(TlsError::Incompatible(what))
        }
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::LocallyClosed
        | ConnectionError::CidsExhausted => Failure::Ended,
    }
}

/// The code with which the peer closed the connection, and its name; None where it did not, or did so in good order.
fn peers_code<R: QuicRole>(reason: &ConnectionError) -> Option<(u64, &'static str)> {
    let (code, no_error, name) = match reason {
        ConnectionError::ApplicationClosed(close) => {
            let code = close.error_code.into();
            (code, R::NO_ERROR, R::error_name(code))
        }
        ConnectionError::ConnectionClosed(close) => {
            let code = close.error_code.into();
            (code, 0, quic_error_name(code).unwrap_or("unknown to QUIC"))
        }
        _ => return None,
    };
    (code != no_error).then_some((code, name))
}
