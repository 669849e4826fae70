//! The one rule that gives verdicts.
//!
//! Two contenders are compared by the logarithms of the ratios of their figures, one a block: what the block's
//! trials share (the seed, the machine's mood) cancels. Their Hodges-Lehmann centre is the effect; its interval
//! comes from the exact signed-rank distribution, at the level that [`spend`](crate::stats::spend) gives it within
//! its family ([`crate::family`]), so that all intervals of the family hold together with 95 %. A run that may stop early is looked at
//! several times, each at its share of that level; what one look has shown the next ones do not take back.
//! - `tie` where the interval lies within ±ln(1 + margin), the same either way: both one-sided tests at the
//!   margin reject;
//! - else `faster` or `slower` where it is clear of 0, or where Holm's procedure over the family rejects "no
//!   difference" at a later step: then the interval is that of the step;
//! - else `undecided`.
//!
//! A failed trial took for ever: its ratio is infinite, which ranks bear. A block in which both failed speaks for
//! neither and is left out, as Wilcoxon left out zeros; counting it as 0 would make two broken contenders tie.
//! The rule assumes what blocks give: differences that are symmetric about their centre (exchangeable noise).

mod finding;
#[cfg(test)]
mod tests;

pub use finding::Finding;

use crate::comparison::Verdict;
use crate::stats::{
    CONFIDENCE, Detectable, HolmStep, Interval, Level, WalshAverages, blocks_for_any_interval,
    normal_quantile, spread,
};
use finding::Reason;

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
    /// Blocks that ran and do not speak, for the audit refused one of the two.
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

    /// The same, with `invalid` more blocks in which the audit refused one of the two trials.
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
    /// How many comparisons its family has, which hold together.
    pub comparisons: usize,
}

/// What is known of two contenders at a look.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Their blocks up to it.
    pub paired: Paired,
    /// The interval that it may have.
    pub level: Level,
    /// The share of the comparison's error that it spends; 1 for an only look.
    pub share: f64,
}

impl Stage {
    /// The only look.
    pub fn only(paired: Paired, level: Level) -> Self {
        Self { paired, level, share: 1.0 }
    }
}

/// Where the intervals of all looks meet: the repeated interval, which each look has paid its share for.
pub fn repeated_interval(stages: &[Stage]) -> Interval {
    let ranks: Vec<usize> = stages.iter().map(|stage| stage.level.rank).collect();
    met(&Look::all(stages), &ranks)
}

/// A look with its averages.
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
    /// The verdict on the first of the two after `stages`, of which there is one at least.
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
        // Where one fails now and then, what is to be found is that.
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
            detectable: deviations.zip(spread(&last.walsh, blocks)).map(|(d, sigma)| d * sigma),
            verdict,
            reason: None,
            trials_needed: None,
        };
        if verdict == Verdict::Undecided {
            self.explain(&mut finding, last);
        }
        finding
    }

    /// The finding after Holm's procedure came to it: what was undecided is decided where its step rejects, with
    /// the interval of the step.
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
            // A tie is said at the level of the family alone: Holm's steps are paid for by differences.
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
            finding.trials_needed = self.trials_needed(paired, &last.walsh);
        }
    }

    /// About how many trials would shrink the interval until it is clear of 0 or within the margin, whichever is
    /// sooner, if the effect is what it seems to be and as many of them are lost as were here.
    fn trials_needed(&self, paired: &Paired, walsh: &WalshAverages) -> Option<u32> {
        let least = blocks_for_any_interval(self.comparisons, 1.0 - CONFIDENCE) as f64;
        let blocks = paired.blocks() as f64;
        let speaking = match walsh.estimate().zip(spread(walsh, paired.blocks())) {
            None => least,
            Some((effect, sigma)) => {
                let wanted = effect.abs().max(self.margin.ln_1p() - effect.abs());
                let each = (1.0 - CONFIDENCE) / self.comparisons.max(1) as f64;
                let deviations = -normal_quantile(each / 2.0);
                let efficiency = std::f64::consts::PI / 3.0;
                let needed = efficiency * (deviations * sigma / wanted).powi(2);
                needed.ceil().max(least).max(blocks + 1.0)
            }
        };
        let lost = if blocks > 0.0 { paired.invalid as f64 / blocks } else { 0.0 };
        let trials = (speaking * (1.0 + lost)).ceil();
        (trials < LONGEST_ANSWER).then_some(trials as u32)
    }
}

/// Where all looks' intervals meet; where they do not, the last one's. Each look has paid for its own.
fn met(looks: &[Look<'_>], ranks: &[usize]) -> Interval {
    let intervals = || looks.iter().zip(ranks).map(|(look, &rank)| look.walsh.interval(rank));
    let narrowed =
        intervals().reduce(|a, b| Interval { low: a.low.max(b.low), high: a.high.min(b.high) });
    let narrowed = narrowed.filter(|interval| interval.low <= interval.high);
    narrowed.or_else(|| intervals().next_back()).unwrap_or(Interval::EVERYTHING)
}

/// Past this a number of trials is no advice.
const LONGEST_ANSWER: f64 = 100_000.0;
