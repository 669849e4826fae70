//! What the probes of a search say about the limit: the highest rate at which an objective holds.
//!
//! Model: a probe at `rate` holds with the chance (1 - disturbed) · S((ln limit - ln rate) / spread), where S is the
//! logistic function. `spread` is how much the limit moves from probe to probe; `disturbed` is the share of probes that
//! the machine spoils at any rate. All three are unknown. The posterior over a grid of them is exact up to the grid
//! (Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and threshold", 1999). Because a probe may
//! have been disturbed, one bad probe moves the posterior and never decides it.

/// A grid of limits, spreads and disturbed shares, with the logarithm of the likelihood of each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Posterior {
    /// By spread, then disturbed share, then limit.
    log_likelihood: Vec<f64>,
    /// The chance of each limit, which sum to 1.
    chances: Vec<f64>,
}

/// Limits on the grid, in requests a second: from below any rate that is tried to above any that can be sent.
const LOWEST: f64 = 0.25;
const HIGHEST: f64 = 1e9;

/// The distance between two limits on the grid, as a difference of logarithms.
const STEP: f64 = 0.01;

/// How much the limit moves between probes, as a share of itself, and how likely that is before any probe.
const SPREADS: [(f64, f64); 3] = [(0.01, 0.45), (0.03, 0.4), (0.1, 0.15)];

/// Shares of disturbed probes, and how likely each is before any probe.
const DISTURBED: [(f64, f64); 4] = [(0.01, 0.4), (0.08, 0.3), (0.2, 0.2), (0.4, 0.1)];

/// The chance that a probe holds far above the limit.
const LUCK: f64 = 0.01;

/// The logistic function is 0 or 1 this far from its middle.
const FAR: f64 = 20.0;

/// What is less likely than the likeliest by this logarithm adds nothing.
const NEGLIGIBLE: f64 = -40.0;

impl Posterior {
    /// Before any probe: every limit is as likely as ten times that limit.
    pub(super) fn new() -> Self {
        let limits = ((HIGHEST / LOWEST).ln() / STEP) as usize;
        let mut log_likelihood = Vec::with_capacity(limits * SPREADS.len() * DISTURBED.len());
        for (_, of_spread) in SPREADS {
            for (_, of_share) in DISTURBED {
                log_likelihood.extend(std::iter::repeat_n((of_spread * of_share).ln(), limits));
            }
        }
        let mut posterior = Self { log_likelihood, chances: vec![0.0; limits] };
        posterior.sum_up();
        posterior
    }

    /// A probe at that rate held, or did not.
    pub(super) fn observe(&mut self, rate: f64, held: bool) {
        let (limits, log_rate) = (self.chances.len(), rate.ln());
        let models =
            SPREADS.into_iter().flat_map(|(spread, _)| DISTURBED.map(|(share, _)| (spread, share)));
        for (rows, (spread, disturbed)) in self.log_likelihood.chunks_mut(limits).zip(models) {
            let log = |below_limit: f64| {
                let holds = LUCK + (1.0 - disturbed - LUCK) * below_limit;
                if held { holds } else { 1.0 - holds }.ln()
            };
            let (far_below, far_above) = (log(0.0), log(1.0));
            for (at, own) in rows.iter_mut().enumerate() {
                let distance = (log_limit(at) - log_rate) / spread;
                *own += match distance {
                    x if x < -FAR => far_below,
                    x if x > FAR => far_above,
                    x => log(1.0 / (1.0 + (-x).exp())),
                };
            }
        }
        self.sum_up();
    }

    /// The rate that the limit is below with this chance.
    pub(super) fn quantile(&self, chance: f64) -> f64 {
        let mut sum = 0.0;
        for (at, own) in self.chances.iter().enumerate() {
            if sum + own >= chance {
                // Within the cell its chance is spread evenly.
                let part = if *own > 0.0 { (chance - sum) / own } else { 0.5 };
                return limit(at) * ((part - 0.5) * STEP).exp();
            }
            sum += own;
        }
        HIGHEST
    }

    fn sum_up(&mut self) {
        let limits = self.chances.len();
        let best = self.log_likelihood.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.chances.fill(0.0);
        for rows in self.log_likelihood.chunks(limits) {
            for (chance, log) in self.chances.iter_mut().zip(rows) {
                if log - best > NEGLIGIBLE {
                    *chance += (log - best).exp();
                }
            }
        }
        let sum: f64 = self.chances.iter().sum();
        self.chances.iter_mut().for_each(|chance| *chance /= sum);
    }
}

fn limit(at: usize) -> f64 {
    log_limit(at).exp()
}

fn log_limit(at: usize) -> f64 {
    LOWEST.ln() + (at as f64 + 0.5) * STEP
}
