//! Judges a probe by an objective: each condition with its figure, and a verdict with its reason. The one rule: the
//! load generator's own lateness and errors never count against the server.
//!
//! A request's time has three figures, each at most as large as the one before it. The first counts from when the request
//! was due. The second counts from when the load generator saw that it was due. The third is the second without any time
//! in which answers may have been read late. If the second is within the limit, the server holds the objective. If the
//! third is over the limit, the server misses it. Otherwise the probe is inconclusive.

use super::search::{Verdict, three_digits};
use super::slo::{Condition, Measure, Slo};
use crate::stats::{binomial_cdf, normal_cdf};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use unit::format_duration;

/// What a probe measured. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct ProbeFacts<'a> {
    /// From when each request was due to its answer.
    pub latency: &'a Histogram<u64>,
    /// From when the load generator saw that a request was due to its answer.
    pub latency_since_seen: &'a Histogram<u64>,
    /// The same without any time in which the load generator may have been late to read the answer.
    pub latency_floor: &'a Histogram<u64>,
    /// How much later than due the load generator saw requests.
    pub lateness: &'a Histogram<u64>,
    /// Requests that ended.
    pub requests: u64,
    /// Of those, the ones without an answer or with a status of 400 or more.
    pub errors: u64,
    /// Of those, the ones that the client's own machine caused: no descriptors, no ports.
    pub client_errors: u64,
    /// Requests that were due and never begun, because too many waited already.
    pub not_begun: u64,
    /// The share of its time that the client's busiest thread was busy.
    pub busiest_share: f64,
    /// Where requests were answered at less than their rate, and times grew all the while.
    pub behind: Option<Rates>,
}

/// In requests a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Requests that were due.
    pub due: f64,
    /// Answers that came.
    pub answered: f64,
}

/// How a probe stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What it came to.
    pub verdict: Verdict,
    /// Why it did not hold; None where it did.
    pub reason: Option<String>,
    /// Each condition.
    pub conditions: Vec<Checked>,
}

/// How a condition stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// The condition, as it can be written.
    pub condition: String,
    /// What was measured: milliseconds, or a share of the requests for `errors`.
    pub measured: f64,
    /// The same without the load generator's own lateness in beginning requests, and its own errors.
    pub without_client: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Checked {
    /// The limit of a condition on times, in milliseconds; None of one on errors.
    pub fn limit_ms(&self) -> Option<f64> {
        let objective: Slo = self.condition.parse().ok()?;
        let condition = objective.conditions().first()?;
        (condition.measure != Measure::Errors).then_some(condition.below / 1e6)
    }
}

/// A busy share from which a thread of the client is its bottleneck.
pub const BUSY: f64 = 0.9;

impl ProbeFacts<'_> {
    /// Whether the client began all requests, and most of what they took is not its own lateness.
    fn is_client_on_time(&self) -> bool {
        let median = |times: &Histogram<u64>| times.value_at_quantile(0.5) as f64;
        let (latency, floor) = (median(self.latency), median(self.latency_floor));
        self.not_begun == 0 && floor >= latency * (1.0 - MOSTLY_LATE)
    }
}

/// A client whose median lateness is this share of the limit, or of the times themselves, has not kept up.
const MOSTLY_LATE: f64 = 0.2;

/// What is beyond the limit by chance more often than this does not tell that the objective fails.
const CHANCE: f64 = 0.05;

impl Slo {
    /// Judges a probe.
    pub fn judge(&self, facts: &ProbeFacts<'_>) -> Judgement {
        let judged: Vec<(Checked, Verdict, Option<String>)> =
            self.conditions().iter().map(|condition| condition.judge(facts)).collect();
        // A condition that the server broke says more than one that only chance or the client may have broken.
        let of = |verdict| judged.iter().find(|(_, own, _)| *own == verdict);
        let worst = of(Verdict::Missed).or(of(Verdict::ClientBound)).or(of(Verdict::Undecided));
        let (mut verdict, mut reason) = match worst {
            Some((_, verdict, reason)) => (*verdict, reason.clone()),
            None => (Verdict::Held, None),
        };
        // A queue that grows passes every limit in time. A short probe may end before.
        if verdict != Verdict::Missed
            && let Some(Rates { due, answered }) = facts.behind
        {
            let is_servers = facts.is_client_on_time();
            verdict = if is_servers { Verdict::Missed } else { Verdict::ClientBound };
            let (due, answered) = (three_digits(due), three_digits(answered));
            let perhaps = if is_servers { "" } else { ", and this client was late itself" };
            reason = Some(format!("does not keep up: {due} due, {answered} answered{perhaps}"));
        }
        if verdict != Verdict::Held && facts.busiest_share >= BUSY {
            verdict = Verdict::ClientBound;
            let busy = format!(
                "the client's busiest thread was busy for {:.0} %",
                facts.busiest_share * 100.0
            );
            reason = Some(reason.map_or(busy.clone(), |reason| format!("{reason}; {busy}")));
        }
        if verdict == Verdict::Held && facts.not_begun > 0 {
            verdict = Verdict::ClientBound;
            reason = Some(format!("the client could not begin {} requests", facts.not_begun));
        }
        let conditions = judged.into_iter().map(|(checked, ..)| checked).collect();
        Judgement { verdict, reason, conditions }
    }
}

impl Condition {
    fn judge(&self, facts: &ProbeFacts<'_>) -> (Checked, Verdict, Option<String>) {
        let (measured, without_client) = (self.figure(facts), self.figure_without_client(facts));
        let holds = measured < self.below;
        let (verdict, reason) = match () {
            () if facts.requests == 0 => (Verdict::Undecided, Some("no request ended".to_owned())),
            () if facts.latency.is_empty() && self.measure != Measure::Errors => {
                (Verdict::Missed, Some("nothing was answered".to_owned()))
            }
            () if holds => (Verdict::Held, None),
            () if without_client < self.below && self.kept_up(facts) => (Verdict::Held, None),
            () if self.floor(facts) < self.below => (
                Verdict::ClientBound,
                Some(format!(
                    "{}, {} without the client's own {}",
                    self.worded(measured),
                    self.shown(self.floor(facts)),
                    if self.measure == Measure::Errors { "errors" } else { "lateness" }
                )),
            ),
            () if self.may_be_chance(facts) => (
                Verdict::Undecided,
                Some(format!(
                    "{} of {} requests: too close to tell",
                    self.worded(measured),
                    facts.requests
                )),
            ),
            () => (Verdict::Missed, Some(self.worded(measured))),
        };
        let scale = if self.measure == Measure::Errors { 1.0 } else { 1e6 };
        let checked = Checked {
            condition: self.to_string(),
            measured: measured / scale,
            without_client: without_client / scale,
            holds: verdict == Verdict::Held,
        };
        (checked, verdict, reason)
    }

    /// Nanoseconds, or a share.
    fn figure(&self, facts: &ProbeFacts<'_>) -> f64 {
        match self.measure {
            Measure::Errors => facts.errors as f64 / facts.requests.max(1) as f64,
            _ => self.time(facts.latency),
        }
    }

    fn figure_without_client(&self, facts: &ProbeFacts<'_>) -> f64 {
        match self.measure {
            Measure::Errors => {
                facts.errors.saturating_sub(facts.client_errors) as f64
                    / facts.requests.max(1) as f64
            }
            _ => self.time(facts.latency_since_seen),
        }
    }

    /// The least that is the server's.
    fn floor(&self, facts: &ProbeFacts<'_>) -> f64 {
        match self.measure {
            Measure::Errors => self.figure_without_client(facts),
            _ => self.time(facts.latency_floor),
        }
    }

    /// Whether the client was late now and then only: it began all requests, and most of them when they were due. How many
    /// were answered says nothing of that: some are under way at the end of every probe.
    fn kept_up(&self, facts: &ProbeFacts<'_>) -> bool {
        self.measure != Measure::Errors
            && facts.not_begun == 0
            && (facts.lateness.value_at_quantile(0.5) as f64) < self.below * MOSTLY_LATE
            && facts.busiest_share < BUSY
    }

    fn time(&self, times: &Histogram<u64>) -> f64 {
        match self.measure {
            Measure::Quantile(share) => times.value_at_quantile(share) as f64,
            Measure::Mean => times.mean(),
            Measure::Max | Measure::Errors => times.max() as f64,
        }
    }

    /// Whether so many requests beyond the limit could come by chance from a service that just keeps the condition.
    fn may_be_chance(&self, facts: &ProbeFacts<'_>) -> bool {
        let (beyond, of, share) = match self.measure {
            Measure::Quantile(share) => {
                let times = facts.latency_floor;
                let beyond = times.count_between(self.below as u64, u64::MAX);
                (beyond, times.len(), 1.0 - share)
            }
            Measure::Errors => {
                let own = facts.errors.saturating_sub(facts.client_errors);
                (own, facts.requests, self.below)
            }
            Measure::Mean | Measure::Max => return false,
        };
        at_least(beyond, of, share) > CHANCE
    }

    /// The figure with its name.
    fn worded(&self, figure: f64) -> String {
        format!("{} {}", self.measure, self.shown(figure))
    }

    fn shown(&self, figure: f64) -> String {
        match self.measure {
            Measure::Errors if figure > 0.0 && figure < 0.0001 => "< 0.01 %".to_owned(),
            Measure::Errors => format!("{} %", (figure * 1e4).round() / 1e2),
            _ => format_duration(Duration::from_nanos(figure as u64)),
        }
    }
}

/// The chance of `count` or more of `of`, each with `chance`.
fn at_least(count: u64, of: u64, chance: f64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    // The exact sum has as many terms as the count.
    if let (Ok(below), Ok(of)) = (u32::try_from(count - 1), u32::try_from(of))
        && count <= EXACT
    {
        return 1.0 - binomial_cdf(below, of, chance);
    }
    let expected = of as f64 * chance;
    let deviation = (expected * (1.0 - chance)).sqrt();
    1.0 - normal_cdf((count as f64 - 0.5 - expected) / deviation)
}

/// Up to so many requests beyond the limit the exact binomial distribution is summed: where few are expected, the normal
/// one is far from it.
const EXACT: u64 = 2_000;
