//! How a connection ended, in the words of those above it.

use crate::failure::Failure;
use crate::status::Phase;
use proto::{Error, Scope};
use quinn_proto::ConnectionError;
use secure::{QuicHandshake, TlsError};

/// The end of a connection that was ready; None for an orderly one. `no_error` is the protocol's own code for that.
pub(super) fn closed_by(reason: &ConnectionError, no_error: u64) -> Option<Error> {
    match reason {
        ConnectionError::ApplicationClosed(close) => {
            let code = u64::from(close.error_code);
            (code != no_error).then_some(Error::PeerClosed { code, name: "of the application" })
        }
        ConnectionError::ConnectionClosed(close) => {
            let code = u64::from(close.error_code);
            (code != 0).then_some(Error::PeerClosed { code, name: "of QUIC" })
        }
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
pub(super) fn failed_by(reason: &ConnectionError, handshake: Option<QuicHandshake>) -> Failure {
    if let Some(failure) = handshake.and_then(|handshake| handshake.failure) {
        return Failure::Handshake(failure);
    }
    match reason {
        ConnectionError::TimedOut => Failure::TimedOut { phase: Phase::Securing },
        ConnectionError::ConnectionClosed(close) => {
            match TlsError::of_quic(close.error_code.into()) {
                Some(alert) => Failure::Handshake(alert),
                None => Failure::Ended,
            }
        }
        ConnectionError::TransportError(error) => {
            Failure::Handshake(TlsError::PeerViolation { what: error.to_string() })
        }
        ConnectionError::VersionMismatch => {
            let what = "the peer speaks no QUIC version of ours".to_owned();
            Failure::Handshake(TlsError::Incompatible(what))
        }
        ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::LocallyClosed
        | ConnectionError::CidsExhausted => Failure::Ended,
    }
}
