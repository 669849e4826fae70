//! The search for the highest rate at which an objective holds, as a state machine. It gives a rate, takes the verdict of
//! the probe at that rate, and gives the next rate or ends. The one rule: no single probe decides. Each probe updates a
//! posterior over the limit ([`Posterior`]). The search ends when its 95 % interval is narrow or the probes are used up.

use super::posterior::Posterior;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a probe at one rate came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The objective held, at least without the load generator's own lateness.
    Held,
    /// It did not, for the server's or the network's part.
    Missed,
    /// It did not, and perhaps would have without the load generator's own lateness or errors.
    ClientBound,
    /// It did not, but too few requests were beyond the limit to tell this from chance.
    Undecided,
}

impl Verdict {
    /// Its name in files and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::ClientBound => "client-bound",
            Self::Undecided => "undecided",
        }
    }
}

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// The objective holds up to `rate`.
    Limit {
        /// The likeliest limit, in requests a second.
        rate: f64,
        /// It holds at the first and fails at the second: a 95 % interval.
        interval: [f64; 2],
    },
    /// It holds at this rate; above it the load generator is the limit.
    AtLeast(f64),
    /// It fails at the lowest rate that is tried.
    Nowhere,
    /// The probes do not agree well enough.
    Undecided {
        /// Where the limit lies as far as they tell; None where they tell next to nothing.
        interval: Option<[f64; 2]>,
    },
}

/// Where a search stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    posterior: Posterior,
    first: f64,
    least: f64,
    next: Option<f64>,
    /// Every probe, by its rate.
    probes: Vec<(f64, Verdict)>,
    /// How many probes at the next rate said nothing about the server.
    unclear: usize,
    /// The observations of the posterior: the rate, and whether the objective held there.
    observations: Vec<(f64, bool)>,
}

impl Search {
    /// A search that begins at `first` and tries no rate below `least`, in requests a second.
    pub fn new(first: f64, least: f64) -> Self {
        Self {
            posterior: Posterior::new(),
            first: first.max(least),
            least,
            next: Some(three_digits(first.max(least))),
            probes: Vec::new(),
            unclear: 0,
            observations: Vec::new(),
        }
    }

    /// The most probes that a search makes.
    pub const MOST_PROBES: usize = 48;

    /// The rate to try next; None when the search is over.
    pub fn next(&self) -> Option<f64> {
        self.next
    }

    /// What the probe at that rate came to.
    pub fn note(&mut self, verdict: Verdict) {
        let Some(rate) = self.next else { return };
        self.probes.push((rate, verdict));
        match verdict {
            Verdict::Held => self.observe(rate, true),
            Verdict::Missed => self.observe(rate, false),
            // The rate is tried again; after a few such probes the objective counts as not held there.
            Verdict::ClientBound | Verdict::Undecided => {
                self.unclear += 1;
                if self.unclear >= REPEATS {
                    self.observe(rate, false);
                }
            }
        }
        if self.probes.len() >= Self::MOST_PROBES {
            self.next = None;
        }
    }

    fn observe(&mut self, rate: f64, held: bool) {
        self.unclear = 0;
        self.observations.push((rate, held));
        self.posterior.observe(rate, held);
        self.next = (!self.is_decided()).then(|| self.choose());
    }

    fn is_decided(&self) -> bool {
        if self.is_nowhere() {
            return self.probes.len() >= SURE;
        }
        let [low, high] = self.interval();
        let missed = self.observations.len() - self.held().count();
        let narrow = if self.probes.len() < MANY_PROBES { NARROW } else { NARROW_AFTER_MANY };
        high / low <= narrow && self.held().count() >= 2 && missed >= 2
    }

    /// The next rate: about where the limit lies, and no more than a step beyond what was tried. Now and then it is a
    /// rate above that failed before: a machine that was busy for a while fails many probes in a row.
    fn choose(&self) -> f64 {
        if self.observations.len().is_multiple_of(LOOK_AGAIN)
            && let Some(rate) = self.failed_above()
        {
            return rate;
        }
        let quantile = QUANTILES[self.observations.len() % QUANTILES.len()];
        let likely = self.posterior.quantile(quantile);
        let held = self.held().fold(0.0, f64::max);
        let tried = self.observations.iter().map(|(rate, _)| *rate);
        let rate = match held > 0.0 {
            true => likely.min(held * STRIDE),
            false => likely.clamp(tried.fold(f64::INFINITY, f64::min) / STRIDE, self.first),
        };
        three_digits(rate.max(self.least))
    }

    /// What the probes so far say.
    pub fn found(&self) -> Found {
        let ([low, high], rate) = (self.interval(), self.posterior.quantile(0.5));
        let held = self.held().count();
        match () {
            () if self.is_nowhere() && !self.is_client_bound(self.least) => Found::Nowhere,
            () if held == 0 => Found::Undecided { interval: None },
            () if self.is_client_bound(rate) => {
                Found::AtLeast(low.min(self.held().fold(0.0, f64::max)))
            }
            // Where nothing failed there is no upper end, and an interval of all rates says nothing.
            () if held == self.observations.len() || high / low > VAGUE => {
                Found::Undecided { interval: None }
            }
            () if high / low > WIDE => Found::Undecided { interval: Some([low, high]) },
            () => Found::Limit { rate, interval: [low, high] },
        }
    }

    fn interval(&self) -> [f64; 2] {
        [self.posterior.quantile(TAIL), self.posterior.quantile(1.0 - TAIL)]
    }

    fn held(&self) -> impl Iterator<Item = f64> {
        self.observations.iter().filter(|(_, held)| *held).map(|(rate, _)| *rate)
    }

    /// The lowest rate clearly above the limit that has failed; none on the way down to a rate that holds.
    fn failed_above(&self) -> Option<f64> {
        if self.held().next().is_none() && !self.is_nowhere() {
            return None;
        }
        let clearly = self.interval()[1] * CLEARLY_ABOVE;
        let failed = self.observations.iter().filter(|(rate, held)| !held && *rate > clearly);
        failed.map(|(rate, _)| *rate).min_by(f64::total_cmp)
    }

    fn is_nowhere(&self) -> bool {
        self.held().next().is_none() && self.posterior.quantile(1.0 - 2.0 * TAIL) < self.least
    }

    /// Whether the rates just above `limit` failed for the client's fault more often than for the server's.
    fn is_client_bound(&self, limit: f64) -> bool {
        let just_above = limit..=(limit * JUST_ABOVE);
        let count = |verdict| {
            let near = self.probes.iter().filter(|(rate, _)| just_above.contains(rate));
            near.filter(|(_, own)| *own == verdict).count()
        };
        count(Verdict::ClientBound) > count(Verdict::Missed)
    }
}

/// Rounds to three digits, as rates are tried and printed.
pub(super) fn three_digits(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.max(1e-9).log10().floor() - 2.0);
    // Powers below 1 are not exact in binary, their inverses are.
    if unit < 1.0 {
        (rate * (1.0 / unit).round()).round() / (1.0 / unit).round()
    } else {
        (rate / unit).round() * unit
    }
}

/// A rate goes up or down by this factor at most, beyond what was tried.
const STRIDE: f64 = 4.0;

/// Where in the posterior the next rate lies, in turns: at its middle a probe tells most of the limit, beside it more of
/// how sharp the limit is and how many probes are disturbed.
const QUANTILES: [f64; 3] = [0.5, 0.12, 0.88];

/// After so many observations a rate that failed above the limit is tried again, at this factor above it at least.
const LOOK_AGAIN: usize = 6;
const CLEARLY_ABOVE: f64 = 1.2;

/// What the interval leaves out on each side.
const TAIL: f64 = 0.025;

/// So many probes fail before a service is said to hold nothing: a machine may be busy for as long as a few last.
const SURE: usize = 14;

/// The search ends where its interval's ends are in this ratio; after many probes, which a noisy machine takes, in the
/// second.
const NARROW: f64 = 1.15;
const NARROW_AFTER_MANY: f64 = 1.3;
const MANY_PROBES: usize = 30;

/// No limit is given where they are further apart than this.
const WIDE: f64 = 2.0;

/// No interval is given either where its ends are further apart than this.
const VAGUE: f64 = 10.0;

/// What breaks the objective from the limit up to this factor above it is what sets the limit.
const JUST_ABOVE: f64 = 1.5;

/// So many probes at a rate that tell nothing of the server count as one that did not hold.
const REPEATS: usize = 2;
