//! A fetch as consecutive spans, from when it was queued to its end: the bars of a waterfall and the timings of a HAR
//! entry. Milliseconds count from when the trial's first fetch was queued.

use trace::{DeliveryRecord, FetchRecord};
use unit::Instant;

/// What a fetch was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Waiting for a connection, or for its turn on one.
    Queued,
    /// Connecting.
    Connect,
    /// The TLS handshake.
    Tls,
    /// From the request to the first byte of the answer.
    Wait,
    /// From the first byte to the last.
    Receive,
}

impl Phase {
    /// All of them, in the order in which they happen.
    pub(crate) const ALL: [Self; 5] =
        [Self::Queued, Self::Connect, Self::Tls, Self::Wait, Self::Receive];

    /// Its name in keys and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Connect => "connect",
            Self::Tls => "TLS",
            Self::Wait => "wait",
            Self::Receive => "receive",
        }
    }

    /// Its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            other => other.name(),
        }
    }
}

/// A stretch of a fetch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    /// What it did.
    pub(crate) phase: Phase,
    /// From, in milliseconds.
    pub(crate) from: f64,
    /// To, in milliseconds.
    pub(crate) to: f64,
}

/// The trial's zero: when its first fetch was queued.
pub(crate) fn origin(fetches: &[FetchRecord]) -> Instant {
    fetches.iter().map(|fetch| fetch.phases.queued).min().unwrap_or(Instant::ZERO)
}

/// Milliseconds from `origin` to `at`.
pub(crate) fn millis(origin: Instant, at: Instant) -> f64 {
    at.since(origin).as_nanos() as f64 / 1e6
}

/// The spans of `fetch`; a phase that took no time has none.
pub(crate) fn spans(fetch: &FetchRecord, origin: Instant) -> Vec<Span> {
    let p = &fetch.phases;
    // A response that failed before its first byte: the time was spent waiting, or the request was never sent.
    let last_phase = match (p.first_byte, p.sent) {
        (Some(_), _) => Phase::Receive,
        (None, Some(_)) => Phase::Wait,
        (None, None) => Phase::Queued,
    };
    let ends = [
        (Phase::Queued, p.connect_start),
        (Phase::Connect, p.connected),
        (Phase::Tls, p.secured),
        (Phase::Queued, p.sent),
        (Phase::Wait, p.first_byte),
        (last_phase, p.last_byte),
    ];
    let mut spans = Vec::with_capacity(ends.len());
    let mut from = p.queued;
    for (phase, end) in ends {
        // The connection may have been opened before the fetch was queued. Its earlier phases are then not the fetch's.
        let Some(to) = end.filter(|end| *end > from) else { continue };
        spans.push(Span { phase, from: millis(origin, from), to: millis(origin, to) });
        from = to;
    }
    spans
}

/// From when to when bytes of a fetch's body came out of the link, by the server's and the link's logs: in order, and while the client
/// waited for them. Empty where nothing tells of it.
pub(crate) fn came(
    fetch: &FetchRecord,
    deliveries: &[DeliveryRecord],
    origin: Instant,
) -> Vec<(f64, f64)> {
    let first = fetch.phases.queued;
    let Some(last) = fetch.phases.last_byte else { return Vec::new() };
    let of_fetch = |one: &&DeliveryRecord| {
        let rest = fetch.url.split_once("://").map_or("", |(_, rest)| rest);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        one.path == path && host(&one.authority) == host(authority)
    };
    let Some(delivery) = deliveries.iter().find(of_fetch) else { return Vec::new() };
    let mut came: Vec<(f64, f64)> = Vec::new();
    for piece in &delivery.pieces {
        let (Some(from), Some(to)) = (piece.came_from, piece.came_to) else { continue };
        let within = |at: Instant| millis(origin, at.clamp(first, last.max(first)));
        let (from, to) = (within(from), within(to));
        match came.last_mut() {
            Some(before) if from <= before.1 + SEAMLESS_MS => before.1 = before.1.max(to),
            _ => came.push((from, to)),
        }
    }
    came
}

/// A host without its port, which clients leave out where it is the usual one.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Pieces that are closer than this came without anything between them.
const SEAMLESS_MS: f64 = 0.05;

/// The time of `spans` in `phase`, in milliseconds.
pub(crate) fn spent(spans: &[Span], phase: Phase) -> f64 {
    // `+ 0.0`: the sum of nothing is -0.0.
    spans.iter().filter(|span| span.phase == phase).map(|span| span.to - span.from).sum::<f64>()
        + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{FetchOutcome, Phases};

    fn fetch(millis: [Option<u64>; 6]) -> FetchRecord {
        let at = |ms: Option<u64>| ms.map(|ms| Instant::from_nanos((1000 + ms) * 1_000_000));
        let [connect_start, connected, secured, sent, first_byte, last_byte] = millis.map(at);
        let queued = Instant::from_nanos(1_010_000_000);
        FetchRecord {
            id: 0,
            url: "https://far/".into(),
            method: "GET".into(),
            connection: Some(0),
            stream: 0,
            protocol: trace::Protocol::Http1.into(),
            status: Some(200),
            pushed: false,
            hinted: false,
            redirects: 0,
            body_bytes: 0,
            phases: Phases {
                queued,
                connect_start,
                connected,
                secured,
                sent,
                first_byte,
                last_byte,
            },
            outcome: FetchOutcome::Done,
        }
    }

    fn phases(fetch: &FetchRecord) -> Vec<(Phase, f64, f64)> {
        let spans = spans(fetch, Instant::from_nanos(1_000_000_000));
        spans.iter().map(|s| (s.phase, s.from, s.to)).collect()
    }

    #[test]
    fn spans_follow_each_other_from_the_wish_to_the_end() {
        let whole = fetch([Some(12), Some(20), Some(40), Some(41), Some(60), Some(75)]);
        let expected = [
            (Phase::Queued, 10.0, 12.0),
            (Phase::Connect, 12.0, 20.0),
            (Phase::Tls, 20.0, 40.0),
            (Phase::Queued, 40.0, 41.0),
            (Phase::Wait, 41.0, 60.0),
            (Phase::Receive, 60.0, 75.0),
        ];
        assert_eq!(phases(&whole), expected);
    }

    #[test]
    fn a_connection_begun_before_the_wish_shows_only_what_was_left_of_it() {
        let late = fetch([Some(2), Some(6), Some(15), Some(15), Some(20), Some(20)]);
        assert_eq!(phases(&late), [(Phase::Tls, 10.0, 15.0), (Phase::Wait, 15.0, 20.0)]);
    }

    #[test]
    fn an_answer_that_never_came_was_waited_for() {
        let failed = fetch([None, None, None, Some(30), None, Some(90)]);
        assert_eq!(phases(&failed), [(Phase::Queued, 10.0, 30.0), (Phase::Wait, 30.0, 90.0)]);
        assert_eq!(spent(&spans(&failed, Instant::ZERO), Phase::Wait), 60.0);
    }

    #[test]
    fn bytes_come_while_the_client_waits_for_them_and_close_pieces_are_one() {
        let whole = fetch([None, None, None, Some(41), Some(60), Some(75)]);
        let piece = |from: u64, to: u64| {
            let at = |ms: u64| (1_000 + ms) * 1_000_000;
            format!(r#"{{"sent":1,"bytes":9,"came_from":{},"came_to":{}}}"#, at(from), at(to))
        };
        let pieces = [piece(55, 62), piece(62, 64), piece(70, 90)].join(",");
        let delivery = |path: &str| -> DeliveryRecord {
            let text = format!(
                r#"{{"connection":1,"protocol":"h2","stream":1,"authority":"far:443","path":"{path}","status":200,
                "media_type":"","asked":[],"policy":"fifo","requested":7,"ended":12,"bytes":27,"end":"done",
                "pieces":[{pieces}]}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let origin = Instant::from_nanos(1_000_000_000);
        assert_eq!(
            came(&whole, &[delivery("/other"), delivery("/")], origin),
            [(55.0, 64.0), (70.0, 75.0)]
        );
        assert_eq!(came(&whole, &[delivery("/other")], origin), []);
    }
}
