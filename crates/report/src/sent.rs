//! When wirelap's own server sent which bytes of a fetch, by the server's log of its deliveries. The one rule: a piece stands where the
//! server gave it to its socket. That is before it is on the wire, and nothing is said of when it came.

use crate::timing;
use trace::{DeliveryRecord, FetchRecord};
use unit::Instant;

/// A piece of a body. Milliseconds count from when the trial's first fetch was queued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SentPiece {
    /// Its first byte was given to the socket.
    pub(crate) from: f64,
    /// Its last byte was.
    pub(crate) to: f64,
    /// Bytes of the body in it, without the headers of frames.
    pub(crate) bytes: u64,
}

/// The pieces of the body of `fetch`, in their order, by what a trial's server delivered. Empty: the server logs none, or this URL was asked for
/// more than once.
pub(crate) fn pieces(
    deliveries: &[DeliveryRecord],
    fetch: &FetchRecord,
    origin: Instant,
) -> Vec<SentPiece> {
    let is_this = |delivery: &&DeliveryRecord| {
        let target = fetch.url.split_once("://").map(|(_, target)| target);
        let path = target.and_then(|target| target.strip_prefix(delivery.authority.as_str()));
        path == Some(delivery.path.as_str())
    };
    let mut deliveries = deliveries.iter().filter(is_this);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A path, and its pieces: from and until in milliseconds, and bytes.
    type Delivered<'a> = (&'a str, &'a [(u64, u64, u64)]);

    /// A fetch from 10 to 90 ms whose server sent pieces at these times, by a trial's record.
    fn sent(deliveries: &[Delivered<'_>]) -> Vec<SentPiece> {
        let ms = |at: u64| at * 1_000_000;
        let delivery = |(path, pieces): &Delivered<'_>| {
            let pieces = pieces.iter().map(
                |(from, until, bytes)| json!({"from": ms(*from), "until": ms(*until), "bytes": bytes}),
            );
            json!({"connection": 1, "protocol": "h2", "stream": 1, "authority": "far:8443", "path": path, "status": 200,
                "media_type": "", "asked": [], "policy": "fifo", "requested": ms(20), "ended": ms(80), "bytes": 1,
                "pieces": pieces.collect::<Vec<_>>(), "end": "done"})
        };
        let deliveries: Vec<DeliveryRecord> =
            deliveries.iter().map(|one| serde_json::from_value(delivery(one)).unwrap()).collect();
        let fetch = json!({"id": 0, "url": "https://far:8443/a.css?v=1", "connection": 0, "stream": 1, "protocol": "h2",
            "status": 200, "pushed": false, "redirects": 0, "body_bytes": 1, "outcome": "done",
            "phases": {"queued": ms(10), "last_byte": ms(90)}});
        pieces(&deliveries, &serde_json::from_value(fetch).unwrap(), Instant::from_nanos(ms(10)))
    }

    #[test]
    fn pieces_stand_where_the_server_sent_them_and_within_their_fetch() {
        let piece = |from, to, bytes| SentPiece { from, to, bytes };
        let other: Delivered<'_> = ("/b.css", &[(30, 35, 700)]);
        assert_eq!(
            sent(&[("/a.css?v=1", &[(20, 25, 5_000), (40, 40, 900)]), other]),
            [piece(10.0, 15.0, 5_000), piece(30.0, 30.0, 900)]
        );
        // Neither before its fetch began nor after it had come.
        assert_eq!(
            sent(&[("/a.css?v=1", &[(9, 12, 1), (89, 91, 2)])]),
            [piece(0.0, 2.0, 1), piece(79.0, 80.0, 2)]
        );
    }

    #[test]
    fn a_url_that_was_asked_for_twice_or_not_at_all_has_no_pieces() {
        let one: Delivered<'_> = ("/a.css?v=1", &[(20, 25, 5_000)]);
        assert_eq!((sent(&[one]).len(), sent(&[one, one]), sent(&[])), (1, Vec::new(), Vec::new()));
    }
}
