//! When wirelap's own server sent which bytes of a fetch, by the server's log of its deliveries. The one rule: a piece stands where the
//! server gave it to its socket. That is before it is on the wire, and nothing is said of when it came.

use crate::timing;
use study::record::TrialRecord;
use trace::{DeliveryRecord, FetchRecord};
use unit::Instant;

/// A piece of a body. Milliseconds count from when the trial's first fetch was queued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SentPiece {
    /// Its first byte was given to the socket.
    pub(crate) from: f64,
    /// Its last byte was.
    pub(crate) to: f64,
    /// Bytes, those of frames included.
    pub(crate) bytes: u64,
}

/// The pieces of the body of `fetch`, in their order. None: the server logs none, or the trial asked for this URL more than once.
pub(crate) fn pieces(trial: &TrialRecord, fetch: &FetchRecord, origin: Instant) -> Vec<SentPiece> {
    let is_this = |delivery: &&DeliveryRecord| {
        let target = fetch.url.split_once("://").map(|(_, target)| target);
        let path = target.and_then(|target| target.strip_prefix(delivery.authority.as_str()));
        path == Some(delivery.path.as_str())
    };
    let mut deliveries = trial.deliveries.iter().filter(is_this);
    let (Some(delivery), None) = (deliveries.next(), deliveries.next()) else { return Vec::new() };
    // A browser rounds its times: what the server sent within a fetch may seem to lie beside it.
    let (first, last) = (fetch.phases.queued, fetch.phases.last_byte);
    let within = |at: Instant| timing::millis(origin, at.max(first).min(last.unwrap_or(at)));
    let pieces = delivery.pieces.iter();
    pieces
        .map(|piece| SentPiece {
            from: within(piece.from),
            to: within(piece.until),
            bytes: piece.bytes,
        })
        .collect()
}
