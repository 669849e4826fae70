//! What a search for the highest rate that holds an objective found, as `--json` prints it.

use super::judge::Checked;
use super::search::{Found, Verdict, three_digits};
use super::times::TimesSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An objective, and how it stands. Rates are in requests a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloResult {
    /// The objective.
    pub objective: String,
    /// What the search came to.
    pub answer: SloAnswer,
    /// `found`: the highest rate that holds it. `client_bound`: a rate that holds it, above which the client could not
    /// send. None otherwise.
    pub rate: Option<f64>,
    /// The objective holds at this rate: the lower end of the 95 % interval.
    pub holds_at: Option<f64>,
    /// It fails at this rate: the upper end. None where the client was the limit.
    pub fails_at: Option<f64>,
    /// Every probe, in this order.
    pub probes: Vec<Probe>,
    /// How the conditions stand in the run that is shown: that of the highest rate that held and is not above `rate`, or
    /// else the last.
    pub conditions: Vec<Checked>,
}

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SloAnswer {
    /// The objective holds up to a rate.
    Found,
    /// It holds at a rate; above it this client was the limit.
    ClientBound,
    /// It holds at no rate that was tried.
    Nowhere,
    /// The probes do not tell.
    Undecided,
}

/// A rate that was tried for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Requests a second that were due.
    pub rate: f64,
    /// Answers a second.
    pub achieved: f64,
    /// Requests that ended.
    pub requests: u64,
    /// Of those, the ones without an answer or with a status of 400 or more.
    pub errors: u64,
    /// The share of its time that the client's busiest thread was busy.
    pub busiest_share: f64,
    /// Each condition.
    pub conditions: Vec<Checked>,
    /// Times of the answers, from when each request was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<TimesSummary>,
    /// The same from when this client saw that a request was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_without_client: Option<TimesSummary>,
    /// Whether the objective held.
    pub held: bool,
    /// What the probe came to.
    pub verdict: Verdict,
    /// Why it did not hold; None where it did.
    pub reason: Option<String>,
}

impl SloResult {
    /// What a search found, with every rate rounded to three digits.
    pub fn new(
        objective: String,
        found: Found,
        probes: Vec<Probe>,
        conditions: Vec<Checked>,
    ) -> Self {
        let (answer, rate, interval) = match found {
            Found::Limit { rate, interval } => (SloAnswer::Found, Some(rate), Some(interval)),
            Found::AtLeast(rate) => (SloAnswer::ClientBound, Some(rate), None),
            Found::Nowhere => (SloAnswer::Nowhere, None, None),
            Found::Undecided { interval } => (SloAnswer::Undecided, None, interval),
        };
        let holds_at = interval.map(|[low, _]| low).or(rate).map(three_digits);
        Self {
            objective,
            answer,
            rate: rate.map(three_digits),
            holds_at,
            fails_at: interval.map(|[_, high]| three_digits(high)),
            probes,
            conditions,
        }
    }
}
