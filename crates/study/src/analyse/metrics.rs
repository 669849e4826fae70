//! Metrics beside the one that decides, each contender against the baseline. Counts hardly vary from trial to trial, and a
//! busy machine does not change them: they are judged from every trial that did its work, also where the audit
//! refused its times. When a page's files were there and when it was painted are times, and are judged as the deciding time is: where
//! that has no verdict for the audit's sake they have none. Each comparison stands by itself, at 95 %.

use super::compare::{Versus, alone};
use super::{Rows, deciding_metric};
use crate::comparison::{Comparison, Ratio, Verdict};
use crate::experiment::{Experiment, LinkChoice, Workload};
use crate::metric;
use crate::record::TrialRecord;
use crate::result::{MetricComparison, MetricFigures, MetricVerdict};
use crate::stats::{CONFIDENCE, Detectable, WalshAverages, median};
use crate::verdict::{Paired, Score};
use std::collections::BTreeMap;

/// Every such comparison of a workload on a link, in the order of contenders.
pub(super) fn compared(
    experiment: &Experiment,
    workload: &Workload,
    link: &LinkChoice,
    rows: &Rows<'_>,
) -> Vec<MetricComparison> {
    let Some(baseline) = experiment.contender(&experiment.baseline) else { return Vec::new() };
    let base_rows = rows.cell(workload, link, baseline);
    let others = experiment.contenders.iter().filter(|other| other.name != baseline.name);
    let mut all = Vec::new();
    for contender in others {
        let own = rows.cell(workload, link, contender);
        let pair =
            |metric: &str| Pair { own: by_block(metric, own), base: by_block(metric, base_rows) };
        let decides = deciding_metric(workload);
        let times = metric::ASSET_TIMES.iter().chain(&metric::PAINT_TIMES);
        let versus = Versus::of_baseline(workload, link, [contender, baseline]);
        let times = times.filter(|metric| **metric != decides).filter_map(|metric| {
            let found = versus.found_by(metric, rows, experiment).comparison();
            pair(metric).of_times(&contender.name, metric, &found)
        });
        all.extend(times);
        let counts = metric::COUNTS.iter().filter_map(|metric| {
            pair(metric).of_counts(&contender.name, metric, experiment.margin)
        });
        all.extend(counts);
    }
    all
}

/// The figures of a contender's trials, by block.
fn by_block(metric: &str, rows: &[&TrialRecord]) -> BTreeMap<u32, f64> {
    let speaks = |row: &&&TrialRecord| metric::stands(metric, &row.outcome);
    let figure = |row: &&TrialRecord| Some((row.plan.block, row.metrics.get(metric).copied()?));
    rows.iter().filter(speaks).filter_map(figure).collect()
}

/// A contender's figures and the baseline's, by block.
struct Pair {
    own: BTreeMap<u32, f64>,
    base: BTreeMap<u32, f64>,
}

impl Pair {
    /// None where either has no figure.
    fn of_counts(&self, contender: &str, metric: &str, margin: f64) -> Option<MetricComparison> {
        let by_ratio = self.by_ratio(margin);
        let verdict = self.verdict_of_counts(by_ratio.as_ref());
        self.compared(contender, metric, by_ratio.as_ref(), verdict)
    }

    /// The same for times, of which `found` is the comparison.
    fn of_times(
        &self,
        contender: &str,
        metric: &str,
        found: &Comparison,
    ) -> Option<MetricComparison> {
        // No ratio can be made of a time of zero.
        let found = (!self.has_zeros()).then_some(found);
        let verdict = found.map_or(MetricVerdict::Undecided, metric_verdict);
        self.compared(contender, metric, found, verdict)
    }

    fn compared(
        &self,
        contender: &str,
        metric: &str,
        by_ratio: Option<&Comparison>,
        verdict: MetricVerdict,
    ) -> Option<MetricComparison> {
        Some(MetricComparison {
            contender: contender.to_owned(),
            metric: metric.to_owned(),
            own: figures(&self.own)?,
            baseline: figures(&self.base)?,
            ratio: by_ratio.and_then(|comparison| comparison.ratio),
            ci95: by_ratio.and_then(|comparison| finite(comparison.ci95?)),
            verdict,
        })
    }

    fn blocks(&self) -> impl Iterator<Item = (f64, f64)> {
        self.own.iter().filter_map(|(block, own)| Some((*own, *self.base.get(block)?)))
    }

    fn has_zeros(&self) -> bool {
        self.blocks().any(|(own, base)| own * base <= 0.0)
    }

    /// None where a figure is zero: no ratio can be made of it.
    fn by_ratio(&self, margin: f64) -> Option<Comparison> {
        if self.blocks().next().is_none() || self.has_zeros() {
            return None;
        }
        let scores = self.blocks().map(|(own, base)| (Score::Figure(own), Score::Figure(base)));
        Some(alone(margin, Paired::of(scores), &mut Detectable::default()).comparison())
    }

    fn verdict_of_counts(&self, by_ratio: Option<&Comparison>) -> MetricVerdict {
        let all = || self.own.values().chain(self.base.values());
        let is_one = all().all(|figure| Some(figure) == all().next());
        let repeated = self.own.len() >= 2 && self.base.len() >= 2;
        if (is_one && repeated) || by_ratio.is_some_and(|by| by.verdict == Verdict::Tie) {
            return MetricVerdict::Same;
        }
        let differences: Vec<f64> = self.blocks().map(|(own, base)| own - base).collect();
        let averages = WalshAverages::of(&differences);
        let interval = averages.interval(averages.distribution().rank_within(1.0 - CONFIDENCE));
        let (least, most) = (fewest as fn(&_) -> f64, greatest as fn(&_) -> f64);
        let apart = self.own.len() >= SEPARATED && self.base.len() >= SEPARATED;
        if interval.low > 0.0 || (apart && least(&self.own) > most(&self.base)) {
            MetricVerdict::More
        } else if interval.high < 0.0 || (apart && most(&self.own) < least(&self.base)) {
            MetricVerdict::Less
        } else {
            MetricVerdict::Undecided
        }
    }
}

/// Of so many trials of each, all of one below all of the other is an accident in 2 of 70 orders (the exact rank-sum
/// test): rarer than 5 %.
const SEPARATED: usize = 4;

fn metric_verdict(comparison: &Comparison) -> MetricVerdict {
    match comparison.verdict {
        Verdict::Tie => MetricVerdict::Same,
        Verdict::Faster => MetricVerdict::Less,
        Verdict::Slower => MetricVerdict::More,
        Verdict::Undecided | Verdict::Unsupported => MetricVerdict::Undecided,
    }
}

fn finite(ci95: [Ratio; 2]) -> Option<[Ratio; 2]> {
    (ci95[0].0 > 0.0 && ci95[1].0.is_finite()).then_some(ci95)
}

fn figures(by_block: &BTreeMap<u32, f64>) -> Option<MetricFigures> {
    let values: Vec<f64> = by_block.values().copied().collect();
    Some(MetricFigures {
        n: u32::try_from(values.len()).unwrap_or(u32::MAX),
        median: median(&values)?,
        least: fewest(by_block),
        most: greatest(by_block),
    })
}

fn fewest(by_block: &BTreeMap<u32, f64>) -> f64 {
    by_block.values().copied().fold(f64::INFINITY, f64::min)
}

fn greatest(by_block: &BTreeMap<u32, f64>) -> f64 {
    by_block.values().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_block(values: &[f64]) -> BTreeMap<u32, f64> {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn counts_that_never_vary_are_judged_from_few_trials() {
        use MetricVerdict::{Less, More, Same, Undecided};
        let counts = |own: &[f64], base: &[f64]| {
            let pair = Pair { own: by_block(own), base: by_block(base) };
            pair.of_counts("h2", "m", 0.05).unwrap().verdict
        };
        assert_eq!(counts(&[3.0; 4], &[9.0; 4]), Less);
        assert_eq!(counts(&[9.0; 4], &[3.0; 4]), More);
        assert_eq!(counts(&[1.0; 2], &[1.0; 2]), Same);
        // Nothing was ever sent again.
        assert_eq!(counts(&[0.0; 4], &[0.0; 4]), Same);
        assert_eq!(counts(&[0.0; 4], &[1_448.0, 2_896.0, 1_448.0, 1_448.0]), Less);
        assert_eq!(counts(&[3.0; 3], &[9.0; 3]), Undecided, "three may be an accident");
        assert_eq!(counts(&[3.0, 9.0, 3.0, 9.0], &[3.0, 9.0, 9.0, 3.0]), Undecided);
        // A hundredth more bytes in each trial is no difference that matters.
        assert_eq!(counts(&[101.0; 8], &[100.0; 8]), Same);
    }
}
