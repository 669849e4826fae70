//! A fetch as consecutive spans, from when it was queued to its end: the bars of a waterfall and the timings of a HAR
//! entry. Milliseconds count from when the trial's first fetch was queued.

use trace::FetchRecord;
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
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 0,
            phases: Phases {
                queued,
                connect_start,
                connected,
                secured,
                allowed: None,
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
}
