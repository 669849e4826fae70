//! The one rule that gives verdicts.
//!
//! Two contenders are compared by the logarithms of the ratios of their figures, one a block: what the block's
//! trials share (the seed, the machine's mood) cancels. Their Hodges-Lehmann centre is the effect; its interval
//! comes from the exact signed-rank distribution, at the level that [`spend`](crate::stats::spend) gives it within
//! the family, so that all intervals of a run hold together with 95 %.
//! - `tie` where the interval lies within ±ln(1 + margin), the same either way;
//! - else `faster` or `slower` where it is clear of 0;
//! - else `undecided`.
//!
//! A failed trial took for ever: its ratio is infinite, which ranks bear. A block in which both failed speaks for
//! neither and is left out, as Wilcoxon left out zeros; counting it as 0 would make two broken contenders tie.
//! The rule assumes what blocks give: differences that are symmetric about their centre (exchangeable noise).

#[cfg(test)]
mod tests;

use crate::result::{Comparison, Ratio, Verdict};
use crate::stats::{
    CONFIDENCE, Interval, Level, WalshAverages, blocks_for_any_interval, normal_quantile,
};

/// What a contender did in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// Its figure, above zero; less is better.
    Figure(f64),
    /// It failed: slower than any figure.
    Failed,
}

/// Two contenders over the blocks that both took part in.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// ln(a / b) of each block that speaks.
    logs: Vec<f64>,
    /// Blocks among them in which one failed.
    one_failed: usize,
    /// Blocks in which both failed.
    both_failed: usize,
}

impl Paired {
    /// The scores of both, block by block.
    pub fn of(blocks: impl IntoIterator<Item = (Score, Score)>) -> Self {
        let mut paired = Self { logs: Vec::new(), one_failed: 0, both_failed: 0 };
        for (a, b) in blocks {
            let log = match (a, b) {
                (Score::Figure(a), Score::Figure(b)) => (a / b).ln(),
                (Score::Failed, Score::Figure(_)) => f64::INFINITY,
                (Score::Figure(_), Score::Failed) => f64::NEG_INFINITY,
                (Score::Failed, Score::Failed) => {
                    paired.both_failed += 1;
                    continue;
                }
            };
            paired.one_failed += usize::from(log.is_infinite());
            paired.logs.push(log);
        }
        paired
    }

    /// How many blocks speak for one or the other.
    pub fn blocks(&self) -> usize {
        self.logs.len()
    }
}

/// What the rule is applied with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    pub margin: f64,
    /// How many comparisons hold together.
    pub comparisons: usize,
}

/// A comparison on the log scale, from which either side can be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    blocks: usize,
    estimate: Option<f64>,
    interval: Interval,
    error: f64,
    verdict: Verdict,
    reason: Option<Reason>,
    trials_needed: Option<u32>,
}

/// Why there is no other verdict.
#[derive(Debug, Clone, PartialEq)]
enum Reason {
    Words(String),
    /// Two assumptions about what a page's resources wait for come to different verdicts.
    Dependencies {
        inferred: Verdict,
        flat: Verdict,
    },
}

impl Reason {
    fn reversed(&self) -> Self {
        match self {
            Self::Words(words) => Self::Words(words.clone()),
            Self::Dependencies { inferred, flat } => {
                Self::Dependencies { inferred: inferred.reversed(), flat: flat.reversed() }
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
            verdict: Verdict::Unsupported,
            reason: Some(Reason::Words(reason)),
            trials_needed: None,
        }
    }

    /// What follows.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The same finding, told from the other side.
    pub fn reversed(&self) -> Self {
        Self {
            estimate: self.estimate.map(|estimate| -estimate),
            interval: self.interval.negated(),
            verdict: self.verdict.reversed(),
            reason: self.reason.as_ref().map(Reason::reversed),
            ..self.clone()
        }
    }

    /// This finding, unless `check` (the same comparison under another assumption) comes to another verdict.
    pub fn checked_by(self, check: &Self) -> Self {
        if self.verdict == check.verdict
            || matches!(self.verdict, Verdict::Undecided | Verdict::Unsupported)
        {
            return self;
        }
        let reason = Reason::Dependencies { inferred: self.verdict, flat: check.verdict };
        Self { verdict: Verdict::Undecided, reason: Some(reason), trials_needed: None, ..self }
    }

    /// The finding as the result file tells it.
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
        }
    }
}

impl Rule {
    /// The verdict on the first of the two, with the interval that `level` gives it.
    pub fn judge(&self, paired: &Paired, level: Level) -> Finding {
        let walsh = WalshAverages::of(&paired.logs);
        let interval = walsh.interval(level.rank);
        let verdict = self.verdict(interval);
        let mut finding = Finding {
            blocks: paired.blocks(),
            estimate: walsh.estimate(),
            interval,
            error: level.error,
            verdict,
            reason: None,
            trials_needed: None,
        };
        if verdict == Verdict::Undecided {
            self.explain(&mut finding, paired, &walsh, level);
        }
        finding
    }

    fn verdict(&self, interval: Interval) -> Verdict {
        let margin = self.margin.ln_1p();
        match interval {
            Interval { low, high } if -margin <= low && high <= margin => Verdict::Tie,
            Interval { high, .. } if high < 0.0 => Verdict::Faster,
            Interval { low, .. } if low > 0.0 => Verdict::Slower,
            _ => Verdict::Undecided,
        }
    }

    fn explain(&self, finding: &mut Finding, paired: &Paired, walsh: &WalshAverages, level: Level) {
        let (all, failed) = (paired.blocks(), paired.one_failed);
        let words = if all == 0 && paired.both_failed > 0 {
            Some("both failed in every block".to_owned())
        } else if all == 0 {
            Some("no block in which both ran".to_owned())
        } else if failed > 0 {
            Some(format!("one of the two failed in {failed} of {all} blocks"))
        } else if level.rank == 0 {
            let (comparisons, percent) = (self.comparisons, CONFIDENCE * 100.0);
            let blocks = if all == 1 { "block" } else { "blocks" };
            let them = if comparisons == 1 { "comparison" } else { "comparisons" };
            Some(format!("{all} {blocks} cannot carry {comparisons} {them} at {percent:.0} %"))
        } else {
            None
        };
        finding.reason = words.map(Reason::Words);
        if failed == 0 && paired.both_failed == 0 {
            finding.trials_needed = self.trials_needed(paired, walsh);
        }
    }

    /// About how many blocks would shrink the interval until it is clear of 0 or within the margin, whichever is
    /// sooner, if the effect is what it seems to be.
    fn trials_needed(&self, paired: &Paired, walsh: &WalshAverages) -> Option<u32> {
        let least = blocks_for_any_interval(self.comparisons, 1.0 - CONFIDENCE);
        let blocks = paired.blocks();
        let (Some(effect), Some(unit_width)) = (walsh.estimate(), unit_width(walsh, blocks)) else {
            return u32::try_from(least).ok();
        };
        let wanted = effect.abs().max(self.margin.ln_1p() - effect.abs());
        let each = (1.0 - CONFIDENCE) / self.comparisons.max(1) as f64;
        let deviations = -normal_quantile(each / 2.0);
        let needed = (deviations * unit_width / wanted).powi(2).ceil();
        let needed = needed.max(least as f64).max(blocks as f64 + 1.0);
        (needed < LONGEST_ANSWER).then_some(needed as u32)
    }
}

/// Half the width that an interval of one standard deviation would have over one block, from the narrowest interval
/// that these blocks can tell with some certainty; None of too few.
fn unit_width(walsh: &WalshAverages, blocks: usize) -> Option<f64> {
    const ERROR: f64 = 0.32;
    let rank = walsh.distribution().rank_within(ERROR);
    let error = walsh.distribution().error(rank);
    let interval = walsh.interval(rank);
    let half = 0.5 * (interval.high - interval.low);
    let deviations = -normal_quantile(error / 2.0);
    (rank > 0 && half.is_finite()).then(|| half / deviations * (blocks as f64).sqrt())
}

/// Past this a number of trials is no advice.
const LONGEST_ANSWER: f64 = 100_000.0;
