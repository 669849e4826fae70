//! Which comparisons hold together. A family is what a reader takes in at one look and draws one conclusion from
//! (Hochberg and Tamhane, "Multiple Comparison Procedures", 1987, ch. 1): one workload on one link. There the
//! comparisons with the baseline, which its table shows, are one family (many to one, as Dunnett's, "A Multiple
//! Comparison Procedure for Comparing Several Treatments with a Control", 1955), and those among the others, which
//! its picture of pairs shows, are a second one. Each family has a false verdict in 5 % of all runs at the most.
//!
//! That somebody is faster here *and* there needs no more: a claim that all of several verdicts hold is wrong only
//! where one that is false was found true at its own level (Berger, "Multiparameter Hypothesis Testing and Acceptance
//! Sampling", 1982). That somebody is faster *somewhere* does: who looks through many tables for the one that shows a
//! difference reads [`Comparison::p_run`](crate::result::Comparison::p_run), which is adjusted for all of a run.
//!
//! Rejected: one family of a whole run. It asked for 13 blocks where there were five pages instead of one, for verdicts on
//! each page that were the same; a run of two experiments would have had to ask more than two runs of one.

use crate::experiment::Experiment;
use crate::stats::{CONFIDENCE, blocks_for_any_interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What the comparisons of a family have in common beside workload and link.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FamilyKind {
    /// One of the two is the baseline.
    WithBaseline,
    /// Neither is.
    AmongOthers,
}

impl FamilyKind {
    /// The kind of the comparison of two contenders.
    pub fn of(baseline: &str, pair: [&str; 2]) -> Self {
        if pair.contains(&baseline) { Self::WithBaseline } else { Self::AmongOthers }
    }
}

/// How many comparisons each family of a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilySizes {
    /// Those with the baseline.
    pub with_baseline: usize,
    /// Those among the others.
    pub among_others: usize,
}

impl FamilySizes {
    /// The families of so many contenders.
    pub fn of(contenders: usize) -> Self {
        let others = contenders.saturating_sub(1);
        Self { with_baseline: others, among_others: others * others.saturating_sub(1) / 2 }
    }

    /// How many comparisons a family of this kind has.
    pub fn size(&self, kind: FamilyKind) -> usize {
        match kind {
            FamilyKind::WithBaseline => self.with_baseline,
            FamilyKind::AmongOthers => self.among_others,
        }
    }

    /// The larger one of both.
    pub fn largest(&self) -> usize {
        self.with_baseline.max(self.among_others)
    }
}

/// The least number of blocks with which every one of `comparisons` has an interval whatever the others find.
pub fn blocks_for_all(comparisons: usize) -> u32 {
    u32::try_from(blocks_for_any_interval(comparisons, 1.0 - CONFIDENCE)).unwrap_or(u32::MAX)
}

/// What the blocks that an experiment plans can carry, said before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The links with so many blocks.
    pub links: Vec<String>,
    /// Blocks planned on each.
    pub blocks: u32,
    /// Which comparisons.
    pub kind: FamilyKind,
    /// How many.
    pub comparisons: usize,
    /// The baseline.
    pub baseline: String,
}

impl Carried {
    /// Blocks that would give each its interval.
    pub fn enough(&self) -> u32 {
        blocks_for_all(self.comparisons)
    }

    /// Whether every comparison gets its interval whatever the others find.
    pub fn is_all(&self) -> bool {
        self.blocks >= self.enough()
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { links, blocks, comparisons, baseline, .. } = self;
        let (links, enough) = (links.join(", "), self.enough());
        let (many, carry) = if *blocks == 1 { ("block", "carries") } else { ("blocks", "carry") };
        let carry =
            if *blocks < blocks_for_all(1) { format!("{carry} none of") } else { carry.to_owned() };
        let them = if *comparisons == 1 { "comparison" } else { "comparisons" };
        let with = match self.kind {
            FamilyKind::WithBaseline => format!("with {baseline}"),
            FamilyKind::AmongOthers => "among the others".to_owned(),
        };
        write!(
            f,
            "{links}: {blocks} {many} {carry} the {comparisons} {them} {with} of each workload"
        )?;
        if self.is_all() {
            return Ok(());
        }
        if *blocks >= blocks_for_all(1) {
            f.write_str(" only one after another, as long as those before differ")?;
        }
        write!(f, ": {enough} would carry all")
    }
}

/// What the blocks of each link can carry, family by family; families without a comparison are left out.
pub fn carried(experiment: &Experiment) -> Vec<Carried> {
    let sizes = FamilySizes::of(experiment.contenders.len());
    let mut links: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for link in &experiment.links {
        links.entry(link.trials).or_default().push(link.name.clone());
    }
    let kinds = [FamilyKind::WithBaseline, FamilyKind::AmongOthers];
    let each = |(blocks, links): (u32, Vec<String>)| {
        kinds.map(|kind| Carried {
            links: links.clone(),
            blocks,
            kind,
            comparisons: sizes.size(kind),
            baseline: experiment.baseline.clone(),
        })
    };
    let all = links.into_iter().flat_map(each);
    all.filter(|carried| carried.comparisons > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::builtin;

    #[test]
    fn every_pair_is_in_one_family() {
        for contenders in 0..20 {
            let sizes = FamilySizes::of(contenders);
            let pairs = contenders * contenders.saturating_sub(1) / 2;
            assert_eq!(sizes.with_baseline + sizes.among_others, pairs);
        }
        assert_eq!(FamilyKind::of("b", ["a", "b"]), FamilyKind::WithBaseline);
        assert_eq!(FamilyKind::of("b", ["a", "c"]), FamilyKind::AmongOthers);
    }

    #[test]
    fn eight_blocks_carry_six_comparisons_and_not_seven() {
        assert_eq!([1, 6, 7, 12, 15, 105].map(blocks_for_all), [6, 8, 9, 9, 10, 13]);
    }

    #[test]
    fn what_a_plan_carries_is_said_before_it_runs() {
        let named = |name: &str| builtin().iter().find(|builtin| builtin.name == name).unwrap();
        let mut images: Experiment = named("spdy-images").toml.parse().unwrap();
        images.links[0].trials = 8;
        let said = |experiment: &Experiment| -> Vec<String> {
            carried(experiment).iter().map(Carried::to_string).collect()
        };
        assert_eq!(
            said(&images),
            [
                "wifi-2013: 8 blocks carry the 6 comparisons with https of each workload",
                "wifi-2013: 8 blocks carry the 15 comparisons among the others of each workload only one after \
                 another, as long as those before differ: 10 would carry all"
            ]
        );
        images.links[0].trials = 5;
        let none = "wifi-2013: 5 blocks carry none of the 6 comparisons with https of each workload: 8 would carry all";
        assert_eq!(said(&images)[0], none);
        let quick: Experiment = named("quick").toml.parse().unwrap();
        assert_eq!(
            said(&quick)[2],
            "lan, wifi: 14 blocks carry the 2 comparisons with h1-tls of each workload"
        );
    }

    #[test]
    fn a_builtin_experiment_that_stands_for_itself_carries_its_comparisons_with_the_baseline() {
        for builtin in builtin() {
            let experiment: Experiment = builtin.toml.parse().unwrap();
            for carried in carried(&experiment) {
                let with_baseline = carried.kind == FamilyKind::WithBaseline;
                // What follows a published measurement may have as many trials as that had.
                if with_baseline && experiment.published.is_none() {
                    assert!(carried.is_all(), "{}: {carried:?}", builtin.name);
                }
            }
        }
    }
}
