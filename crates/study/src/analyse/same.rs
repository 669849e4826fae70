//! A/A experiments: one contender under two names. Every few blocks make a comparison by themselves at 95 %. Every
//! difference found is false; an unbiased instrument finds one in 5 % of all comparisons.

use super::Rows;
use super::compare::{alone, score};
use crate::comparison::{Ratio, Verdict};
use crate::experiment::{Experiment, LinkChoice, Workload};
use crate::result::{SameAgainstSame, SamePlace};
use crate::stats::{CONFIDENCE, Detectable, SignedRank, binomial_cdf, clopper_pearson, median};
use crate::verdict::{Finding, Paired, Score};
use std::collections::BTreeMap;

/// The result of comparing a contender with itself; None where that was not asked for. Without one complete comparison
/// nothing is known: the interval is all of 0 to 1.
pub(super) fn same(experiment: &Experiment, rows: &Rows<'_>) -> Option<SameAgainstSame> {
    let blocks = experiment.same?;
    let [a, b] = &experiment.contenders[..] else { return None };
    let mut all = Vec::new();
    let mut places = Vec::new();
    let mut detectable = Detectable::default();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            let scores = [a, b].map(|contender| {
                let rows = rows.cell(workload, link, contender).iter();
                let each = rows.filter_map(|row| Some((row.plan.block, score(row, workload)?)));
                each.collect::<BTreeMap<u32, Score>>()
            });
            let found = findings(&scores, blocks, experiment.margin, &mut detectable);
            places.push(result_at(workload, link, &found));
            all.extend(found);
        }
    }
    let (comparisons, differ) = (count(&all, |_| true), count(&all, differs));
    let [share, low, high] = match comparisons {
        0 => [0.0, 0.0, 1.0],
        _ => {
            let interval = clopper_pearson(differ, comparisons, CONFIDENCE);
            [f64::from(differ) / f64::from(comparisons), interval.low, interval.high]
        }
    };
    let distribution = SignedRank::of(blocks as usize);
    Some(SameAgainstSame {
        blocks,
        comparisons,
        differ,
        false_verdicts: count(&all, is_false),
        ties: count(&all, |finding| finding.verdict() == Verdict::Tie),
        share,
        ci95: [low, high],
        expected: distribution.error(distribution.rank_within(1.0 - CONFIDENCE)),
        most: most(comparisons),
        places,
    })
}

/// A finding for each complete group of blocks.
fn findings(
    scores: &[BTreeMap<u32, Score>; 2],
    blocks: u32,
    margin: f64,
    detectable: &mut Detectable,
) -> Vec<Finding> {
    let [a, b] = scores;
    let last = a.keys().chain(b.keys()).max().map_or(0, |last| last + 1);
    let mut handful = |first: u32| {
        let both =
            (first..first + blocks).filter_map(|block| Some((*a.get(&block)?, *b.get(&block)?)));
        let paired = Paired::of(both);
        (paired.blocks() == blocks as usize).then(|| alone(margin, paired, detectable))
    };
    (0..last / blocks).filter_map(|index| handful(index * blocks)).collect()
}

fn result_at(workload: &Workload, link: &LinkChoice, found: &[Finding]) -> SamePlace {
    let detectable: Vec<f64> =
        found.iter().filter_map(Finding::detectable).map(|ratio| ratio.0).collect();
    SamePlace {
        workload: workload.name.clone(),
        link: link.name.clone(),
        comparisons: count(found, |_| true),
        differ: count(found, differs),
        false_verdicts: count(found, is_false),
        detectable: median(&detectable).map(Ratio),
    }
}

fn count(found: &[Finding], is: impl Fn(&Finding) -> bool) -> u32 {
    u32::try_from(found.iter().filter(|finding| is(finding)).count()).unwrap_or(u32::MAX)
}

fn differs(finding: &Finding) -> bool {
    finding.p_differs() <= 1.0 - CONFIDENCE
}

fn is_false(finding: &Finding) -> bool {
    matches!(finding.verdict(), Verdict::Faster | Verdict::Slower)
}

/// The 97.5 % quantile of how many of `comparisons` differ if each does so with a probability of 5 %.
fn most(comparisons: u32) -> u32 {
    const ONE_SIDED: f64 = 0.975;
    let within = |count: &u32| binomial_cdf(*count, comparisons, 1.0 - CONFIDENCE) >= ONE_SIDED;
    (0..=comparisons).find(within).unwrap_or(comparisons)
}
