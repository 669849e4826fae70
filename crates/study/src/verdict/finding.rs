//! The result of one comparison, on the log scale; it can be read from either side.

use crate::comparison::{Comparison, Ratio, Verdict};
use crate::family::blocks_for_all;
use crate::stats::Interval;

/// A comparison and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub(super) blocks: usize,
    pub(super) estimate: Option<f64>,
    pub(super) interval: Interval,
    pub(super) error: f64,
    /// The two-sided p-value of "no difference".
    pub(super) p_differs: f64,
    /// The p-value of "as far apart as the margin, or farther".
    pub(super) p_within: f64,
    /// `p_differs` after Holm's procedure over the family.
    pub(super) p_holm: Option<f64>,
    /// `p_differs` after Holm's procedure over the whole run.
    pub(super) p_run: Option<f64>,
    /// The least effect that would have been detected.
    pub(super) detectable: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) reason: Option<Reason>,
    pub(super) trials_needed: Option<u32>,
}

/// Why there is no verdict of faster, slower or tie.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reason {
    Words(String),
    /// Two assumptions about what a page's resources depend on lead to different verdicts.
    Dependencies {
        inferred: Verdict,
        flat: Verdict,
    },
    /// So few blocks ran over flat dependencies that they say nothing.
    FewChecks {
        inferred: Verdict,
        blocks: usize,
    },
}

impl Reason {
    fn reversed(&self) -> Self {
        match self {
            Self::Words(words) => Self::Words(words.clone()),
            Self::Dependencies { inferred, flat } => {
                Self::Dependencies { inferred: inferred.reversed(), flat: flat.reversed() }
            }
            Self::FewChecks { inferred, blocks } => {
                Self::FewChecks { inferred: inferred.reversed(), blocks: *blocks }
            }
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Dependencies { inferred, flat } => {
                let (inferred, flat) = (inferred.word(), flat.word());
                format!("{inferred} with inferred dependencies, {flat} with flat ones")
            }
            Self::FewChecks { inferred, blocks } => format!(
                "{} with inferred dependencies; the check with flat ones has {blocks} of the {} blocks that it needs",
                inferred.word(),
                blocks_for_all(1)
            ),
        }
    }
}

impl Finding {
    /// No verdict, because one of the two cannot be run here.
    pub fn unsupported(reason: String) -> Self {
        Self {
            blocks: 0,
            estimate: None,
            interval: Interval::EVERYTHING,
            error: 0.0,
            p_differs: 1.0,
            p_within: 1.0,
            p_holm: None,
            p_run: None,
            detectable: None,
            verdict: Verdict::Unsupported,
            reason: Some(Reason::Words(reason)),
            trials_needed: None,
        }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The same finding with the two contenders swapped.
    pub fn reversed(&self) -> Self {
        Self {
            estimate: self.estimate.map(|estimate| -estimate),
            interval: self.interval.negated(),
            verdict: self.verdict.reversed(),
            reason: self.reason.as_ref().map(Reason::reversed),
            ..self.clone()
        }
    }

    /// This finding, or undecided where `check` (the same comparison under another assumption) has another verdict.
    pub fn checked_by(self, check: &Self) -> Self {
        if self.verdict == check.verdict
            || matches!(self.verdict, Verdict::Undecided | Verdict::Unsupported)
        {
            return self;
        }
        let inferred = self.verdict;
        let reason = match check.interval == Interval::EVERYTHING {
            true => Reason::FewChecks { inferred, blocks: check.blocks },
            false => Reason::Dependencies { inferred, flat: check.verdict },
        };
        Self { verdict: Verdict::Undecided, reason: Some(reason), trials_needed: None, ..self }
    }

    /// The two-sided p-value of "no difference"; 1 where the audit refused the trials.
    pub fn p_differs(&self) -> f64 {
        self.p_differs
    }

    /// Sets the p-value that Holm's procedure over the whole run has adjusted.
    pub(crate) fn adjust_for_run(&mut self, p_run: f64) {
        self.p_run = Some(p_run);
    }

    /// The least effect, as a ratio, that would have been detected with a probability of
    /// [`POWER`](crate::stats::POWER).
    pub fn detectable(&self) -> Option<Ratio> {
        self.detectable.map(Ratio::from_log)
    }

    /// This finding with its figures but without its verdict, for `reason`.
    pub fn withheld(self, reason: String) -> Self {
        match self.verdict {
            Verdict::Unsupported => self,
            _ => Self {
                verdict: Verdict::Undecided,
                reason: Some(Reason::Words(reason)),
                trials_needed: None,
                p_differs: 1.0,
                p_within: 1.0,
                ..self
            },
        }
    }

    /// This finding without verdict and without figures, for `reason`.
    pub fn refused(self, reason: String) -> Self {
        let withheld = self.withheld(reason);
        Self { estimate: None, interval: Interval::EVERYTHING, detectable: None, ..withheld }
    }

    /// The finding in the form of the result file.
    pub fn comparison(&self) -> Comparison {
        let said = self.estimate.is_some();
        Comparison {
            n: u32::try_from(self.blocks).unwrap_or(u32::MAX),
            ratio: self.estimate.map(Ratio::from_log),
            ci95: said.then(|| Ratio::from_log_interval(self.interval)),
            confidence: 1.0 - self.error,
            verdict: self.verdict,
            reason: self.reason.as_ref().map(Reason::words),
            trials_needed: self.trials_needed,
            p: said.then_some(self.p_differs),
            p_holm: self.p_holm.filter(|_| said),
            p_run: self.p_run.filter(|_| said),
            p_tie: said.then_some(self.p_within),
            detectable: self.detectable(),
        }
    }
}
