//! The rule that gives verdicts.
//!
//! Two contenders are compared by the logarithm of the ratio of their figures in each block. What the trials of a
//! block share (the seed, the state of the machine) cancels out. The effect is the Hodges-Lehmann centre of these
//! logarithms. Its interval comes from the exact signed-rank distribution, at the level that
//! [`spend`](crate::stats::spend) gives it within its family ([`crate::family`]): all intervals of a family hold
//! together with 95 %. A run that may stop early is looked at several times, each time at a share of that level. A
//! later look never takes back the result of an earlier one.
//! - `tie`: the interval lies within ±ln(1 + margin). Equivalently, both one-sided tests at the margin reject.
//! - else `faster` or `slower`: the interval does not contain 0, or Holm's procedure over the family rejects "no
//!   difference" at a later step. The interval is then the one of that step.
//! - else `undecided`.
//!
//! A failed trial took an infinite time: the ratio is infinite, which ranks can express. A block in which both failed
//! is left out, as Wilcoxon left out zeros; counting it as 0 would make a tie of two broken contenders. The rule
//! assumes what blocks provide: differences that are symmetric about their centre (exchangeable noise).

mod finding;
#[cfg(test)]
mod tests;

pub use finding::Finding;

use crate::comparison::Verdict;
use crate::stats::{
    CONFIDENCE, Detectable, HolmStep, Interval, Level, Open, WalshAverages,
    blocks_for_any_interval, spread,
};
use finding::Reason;

/// A contender's result in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// Its figure, greater than zero; less is better.
    Figure(f64),
    /// It failed, which ranks slower than any figure.
    Failed,
}

/// Two contenders over the blocks that both ran in.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// ln(a / b) of each block that counts.
    logs: Vec<f64>,
    /// How many of them had one failed trial.
    one_failed: usize,
    /// Blocks in which both failed.
    both_failed: usize,
    /// Blocks that do not count because the audit refused one of the two trials.
    invalid: usize,
}

impl Paired {
    /// The scores of both, block by block.
    pub fn of(blocks: impl IntoIterator<Item = (Score, Score)>) -> Self {
        let mut paired = Self { logs: Vec::new(), one_failed: 0, both_failed: 0, invalid: 0 };
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

    /// Adds `invalid` blocks in which the audit refused one of the two trials.
    pub fn with_invalid(self, invalid: usize) -> Self {
        Self { invalid, ..self }
    }

    /// The logarithms of the ratios of blocks, however they came to be; none of them is NaN.
    pub fn of_logs(logs: Vec<f64>) -> Self {
        let one_failed = logs.iter().filter(|log| log.is_infinite()).count();
        Self { logs, one_failed, both_failed: 0, invalid: 0 }
    }

    /// ln(a / b) of each block that speaks.
    pub fn logs(&self) -> &[f64] {
        &self.logs
    }

    /// How many blocks count.
    pub fn blocks(&self) -> usize {
        self.logs.len()
    }
}

/// The parameters of the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    pub margin: f64,
    /// The number of comparisons in the family, whose intervals hold together.
    pub comparisons: usize,
}

/// The data and the level of one look at a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The blocks up to this look.
    pub paired: Paired,
    /// The level of its interval.
    pub level: Level,
    /// The share of the comparison's error that this look spends; 1 where it is the only one.
    pub share: f64,
}

impl Stage {
    /// The stage of a comparison with one look.
    pub fn only(paired: Paired, level: Level) -> Self {
        Self { paired, level, share: 1.0 }
    }
}

/// Where the intervals of all looks meet: the repeated interval, which each look has paid its share for.
pub fn repeated_interval(stages: &[Stage]) -> Interval {
    let ranks: Vec<usize> = stages.iter().map(|stage| stage.level.rank).collect();
    met(&Look::all(stages), &ranks)
}

/// A look with its Walsh averages.
struct Look<'s> {
    stage: &'s Stage,
    walsh: WalshAverages,
}

impl<'s> Look<'s> {
    fn all(stages: &'s [Stage]) -> Vec<Self> {
        let look = |stage: &'s Stage| Self { stage, walsh: WalshAverages::of(&stage.paired.logs) };
        stages.iter().map(look).collect()
    }
}

impl Rule {
    /// The verdict on the first contender after `stages`, of which there must be at least one.
    pub fn judge(&self, stages: &[Stage], detectable: &mut Detectable) -> Finding {
        let looks = Look::all(stages);
        let Some(last) = looks.last() else {
            return Finding::unsupported("nothing was looked at".to_owned());
        };
        let ranks: Vec<usize> = stages.iter().map(|stage| stage.level.rank).collect();
        let interval = met(&looks, &ranks);
        let verdict = self.verdict(interval);
        let (blocks, rank) = (last.stage.paired.blocks(), last.stage.level.rank);
        let least = |p: &dyn Fn(&WalshAverages) -> f64| {
            let each = looks.iter().map(|look| p(&look.walsh) / look.stage.share);
            each.fold(1.0, f64::min)
        };
        // Where some trials failed, the failures are the effect: there is no least detectable ratio.
        let alike = last.stage.paired.one_failed == 0;
        let deviations = detectable.deviations(blocks, rank).filter(|_| alike);
        let mut finding = Finding {
            blocks,
            estimate: last.walsh.estimate(),
            interval,
            error: stages.iter().map(|stage| stage.level.error).sum(),
            p_differs: least(&WalshAverages::p_differs),
            p_within: least(&|walsh| walsh.p_within(self.margin.ln_1p())),
            p_holm: None,
            p_run: None,
            // Noise is told by the narrowest interval. What has widened this one hides as much, outliers for one.
            detectable: deviations
                .zip(spread(&last.walsh, blocks))
                .map(|(d, sigma)| (d * sigma).max(interval.half().unwrap_or(0.0))),
            verdict,
            reason: None,
            trials_needed: None,
        };
        if verdict == Verdict::Undecided {
            self.explain(&mut finding, last);
        }
        finding
    }

    /// The finding after Holm's procedure: an undecided comparison is decided where its step rejects, with the
    /// interval of that step.
    pub fn stepped(&self, finding: Finding, stages: &[Stage], step: HolmStep) -> Finding {
        let finding = Finding { p_holm: Some(step.adjusted), ..finding };
        if finding.verdict != Verdict::Undecided || step.adjusted > 1.0 - CONFIDENCE {
            return finding;
        }
        let looks = Look::all(stages);
        let error = (1.0 - CONFIDENCE) * step.share;
        let rank =
            |look: &Look<'_>| look.walsh.distribution().rank_within(error * look.stage.share);
        let ranks: Vec<usize> = looks.iter().map(rank).collect();
        let interval = met(&looks, &ranks);
        match self.verdict(interval) {
            // A tie is declared at the family's level alone. Holm's later steps use error that only found differences
            // free.
            verdict @ (Verdict::Faster | Verdict::Slower) => {
                Finding { interval, error, verdict, reason: None, trials_needed: None, ..finding }
            }
            _ => finding,
        }
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

    fn explain(&self, finding: &mut Finding, last: &Look<'_>) {
        let (paired, level) = (&last.stage.paired, last.stage.level);
        let (all, failed) = (paired.blocks(), paired.one_failed);
        let words = if all == 0 && paired.both_failed > 0 {
            Some("both failed in every block".to_owned())
        } else if all == 0 {
            Some("there is no block in which both ran".to_owned())
        } else if failed > 0 {
            Some(format!("one of the two failed in {failed} of {all} blocks"))
        } else if level.rank == 0 {
            let (comparisons, percent) = (self.comparisons, CONFIDENCE * 100.0);
            let blocks = if all == 1 { "block is" } else { "blocks are" };
            let them = if comparisons == 1 { "comparison" } else { "comparisons" };
            Some(format!("{all} {blocks} too few for {comparisons} {them} at {percent:.0} %"))
        } else {
            None
        };
        finding.reason = words.map(Reason::Words);
        if failed == 0 && paired.both_failed == 0 {
            finding.trials_needed = self.trials_needed(paired, &last.walsh);
        }
    }

    /// About how many trials would decide the comparison in four runs of five ([`Open::blocks_needed`]). It assumes that
    /// effect and noise are as estimated, and that the same share of trials is lost.
    fn trials_needed(&self, paired: &Paired, walsh: &WalshAverages) -> Option<u32> {
        let blocks = paired.blocks();
        let least = blocks_for_any_interval(self.comparisons, 1.0 - CONFIDENCE).max(blocks + 1);
        let needed = match walsh.estimate().zip(spread(walsh, blocks)) {
            Some((effect, noise)) if noise > 0.0 => {
                let error = (1.0 - CONFIDENCE) / self.comparisons.max(1) as f64;
                let open = Open { effect, noise, margin: self.margin.ln_1p(), error };
                open.blocks_needed(LONGEST_ANSWER)
            }
            _ => 0,
        };
        let speaking = f64::from(needed).max(least as f64);
        let lost = if blocks > 0 { paired.invalid as f64 / blocks as f64 } else { 0.0 };
        let trials = (speaking * (1.0 + lost)).ceil();
        (trials < f64::from(LONGEST_ANSWER)).then_some(trials as u32)
    }
}

/// The intersection of all looks' intervals; the last interval where they do not meet. Each look has spent its own
/// share of the error.
fn met(looks: &[Look<'_>], ranks: &[usize]) -> Interval {
    let intervals = || looks.iter().zip(ranks).map(|(look, &rank)| look.walsh.interval(rank));
    let narrowed =
        intervals().reduce(|a, b| Interval { low: a.low.max(b.low), high: a.high.min(b.high) });
    let narrowed = narrowed.filter(|interval| interval.low <= interval.high);
    narrowed.or_else(|| intervals().next_back()).unwrap_or(Interval::EVERYTHING)
}

/// More trials than this are no useful advice.
const LONGEST_ANSWER: u32 = 100_000;
