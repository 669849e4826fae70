//! The metrics of streams. A token says when the server had it, on the clock that the client reads too.

use super::echo::open_ms;
use super::millis;
use crate::metric;
use std::collections::BTreeMap;
use std::time::Duration;
use trace::{ConnectionRecord, FetchRecord, TokenRecord};
use unit::Instant;

/// A gap between two tokens that is so much longer than between the times at which they were due is a stall. MLPerf
/// Inference (v4.0, Llama 2 70B) allows 200 ms a token: about the pace at which people read.
const STALL: Duration = Duration::from_millis(200);

/// First token, gaps, latency, stalls and total time of `tokens`, by name; empty without tokens. `one_way` is the
/// link's delay towards the client, where it is known.
pub fn stream_metrics(
    tokens: &[TokenRecord],
    fetches: &[FetchRecord],
    connections: &[ConnectionRecord],
    one_way: Option<Duration>,
) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let Some(begun) = fetches.iter().map(|fetch| fetch.phases.queued).min() else {
        return metrics;
    };
    let mut set = |name: &str, value: Option<f64>| {
        metrics.extend(value.map(|value| (name.to_owned(), value)));
    };
    let firsts: Vec<f64> = tokens
        .iter()
        .filter(|token| token.number == 0)
        .map(|token| millis(token.received.since(begun)))
        .collect();
    set(metric::FIRST_TOKEN_MS, mean(&firsts));
    let last = tokens.iter().map(|token| token.received).max();
    set(metric::TOTAL_MS, last.map(|last| millis(last.since(begun))));
    let pairs = tokens.windows(2).filter(|two| two[0].stream == two[1].stream);
    let (mut gaps, mut stalls) = (Vec::new(), 0_u32);
    for two in pairs {
        let gap = two[1].received.since(two[0].received);
        gaps.push(millis(gap));
        stalls += u32::from(gap > two[1].due.since(two[0].due) + STALL);
    }
    set(metric::GAP_P50_MS, percentile(&mut gaps, 0.5));
    set(metric::GAP_P99_MS, percentile(&mut gaps, 0.99));
    let mut latencies: Vec<f64> =
        tokens.iter().map(|token| millis(token.received.since(token.due))).collect();
    set(metric::LATENCY_P50_MS, percentile(&mut latencies, 0.5));
    let worst = percentile(&mut latencies, 0.99);
    set(metric::LATENCY_P99_MS, worst);
    let beyond = one_way.zip(worst).map(|(one_way, worst)| (worst - millis(one_way)).max(0.0));
    set(metric::LATENCY_BEYOND_LINK_P99_MS, beyond);
    set(metric::STALLS, (!tokens.is_empty()).then(|| f64::from(stalls)));
    set(metric::OPEN_MS, open_ms(begun, fetches, connections));
    metrics
}

/// Why the tokens contradict the clock; None where they do not.
pub fn token_objection(tokens: &[TokenRecord]) -> Option<String> {
    let early = |token: &&TokenRecord| token.received < token.due && token.due > Instant::ZERO;
    let token = tokens.iter().find(early)?;
    Some(format!(
        "token {} of stream {} came {:.3} ms before the server had it",
        token.number,
        token.stream,
        millis(token.due.since(token.received))
    ))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The least value that `share` of all are not above (nearest rank).
fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Tokens due every 20 ms from 100 ms on, 50 ms away; the one numbered 5 is 300 ms late, and holds up those behind it.
    fn tokens(stream: u32) -> Vec<TokenRecord> {
        let token = |number: u32| {
            let due = 100 + 20 * u64::from(number);
            let received = if number < 5 { due + 50 } else { (due + 50).max(550) };
            TokenRecord { stream, number, due: at(due), received: at(received) }
        };
        (0..50).map(token).collect()
    }

    #[test]
    fn a_planted_stall_is_found_once_and_what_it_held_up_is_none() {
        let fetch = FetchRecord::new(0, "http://a.test/stream".to_owned(), at(10));
        let all = [tokens(0), tokens(1)].concat();
        let metrics = stream_metrics(&all, &[fetch], &[], Some(Duration::from_millis(50)));
        let of = |name: &str| metrics[name];
        assert_eq!(of(metric::STALLS), 2.0);
        assert_eq!((of(metric::FIRST_TOKEN_MS), of(metric::TOTAL_MS)), (140.0, 1120.0));
        assert_eq!((of(metric::GAP_P50_MS), of(metric::GAP_P99_MS)), (20.0, 320.0));
        assert_eq!((of(metric::LATENCY_P50_MS), of(metric::LATENCY_P99_MS)), (50.0, 350.0));
        assert_eq!(of(metric::LATENCY_BEYOND_LINK_P99_MS), 300.0);
        assert!(stream_metrics(&[], &[], &[], None).is_empty());
    }

    #[test]
    fn a_pause_that_was_planned_is_no_stall() {
        let token = |number: u32, due| TokenRecord {
            stream: 0,
            number,
            due: at(due),
            received: at(due + 50),
        };
        let fetch = FetchRecord::new(0, "http://a.test/stream".to_owned(), at(10));
        let sparse = [token(0, 100), token(1, 2_100), token(2, 5_000)];
        assert_eq!(stream_metrics(&sparse, &[fetch], &[], None)[metric::STALLS], 0.0);
    }

    #[test]
    fn a_token_that_came_before_the_server_had_it_is_objected_to() {
        let mut all = tokens(0);
        assert_eq!(token_objection(&all), None);
        all[3].received = at(150);
        let said = token_objection(&all).unwrap();
        assert_eq!(said, "token 3 of stream 0 came 10.000 ms before the server had it");
    }
}
