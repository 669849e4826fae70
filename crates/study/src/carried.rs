//! How many comparisons are sure of an interval with the blocks that an experiment plans.

use crate::experiment::Experiment;
use crate::family::{FamilyKind, FamilySizes, blocks_for_all};
use std::collections::BTreeMap;
use std::fmt;

/// What the planned blocks of some links are enough for, reported before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The links with this number of blocks.
    pub links: Vec<String>,
    /// Whether these are all links.
    pub is_every_link: bool,
    /// Blocks planned on each.
    pub blocks: u32,
    /// The kind of comparisons.
    pub kind: FamilyKind,
    /// How many comparisons each workload has.
    pub comparisons: usize,
    /// The baseline.
    pub baseline: String,
}

impl Carried {
    /// The number of blocks that gives every comparison its interval.
    pub fn enough(&self) -> u32 {
        blocks_for_all(self.comparisons)
    }

    /// Whether every comparison gets its interval, whatever the others find.
    pub fn is_all(&self) -> bool {
        self.blocks >= self.enough()
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks, comparisons, baseline, .. } = self;
        let links = match self.links.len() {
            2.. if self.is_every_link => "each link".to_owned(),
            _ => link_list(&self.links),
        };
        let enough = self.enough();
        let many = if *blocks == 1 { "block is" } else { "blocks are" };
        let with = match self.kind {
            FamilyKind::WithBaseline => format!("with {baseline}"),
            FamilyKind::AmongOthers => "among the others".to_owned(),
        };
        let any = if *comparisons == 1 { "" } else { "any of " };
        let comparisons = match comparisons {
            1 => format!("the comparison {with} of each workload"),
            more => format!("the {more} comparisons {with} of each workload"),
        };
        if self.is_all() {
            write!(f, "{links}: {blocks} {many} enough for {comparisons}")
        } else if *blocks < blocks_for_all(1) {
            write!(f, "{links}: {blocks} {many} too few for {any}{comparisons}; {enough} would do")
        } else {
            write!(
                f,
                "{links}: {blocks} {many} enough for {comparisons} only where all but one of them show a \
                 difference; {enough} would always do"
            )
        }
    }
}

/// The names of links in a line: a link that is its own figures has commas, which do not set it apart from the next.
pub fn link_list(names: &[String]) -> String {
    let has_commas = names.iter().any(|name| name.contains(','));
    names.join(if has_commas { "; " } else { ", " })
}

/// What the blocks of each link are enough for, family by family. Families without a comparison are left out.
pub fn carried(experiment: &Experiment) -> Vec<Carried> {
    let sizes = FamilySizes::of(experiment.contenders.len());
    let mut links: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for link in &experiment.links {
        links.entry(link.trials).or_default().push(link.name.clone());
    }
    let kinds = [FamilyKind::WithBaseline, FamilyKind::AmongOthers];
    let each = |(blocks, links): (u32, Vec<String>)| {
        kinds.map(|kind| Carried {
            is_every_link: links.len() == experiment.links.len(),
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
    fn what_a_plan_carries_is_said_before_it_runs() {
        let named = |name: &str| builtin().iter().find(|builtin| builtin.name == name).unwrap();
        let mut images: Experiment = named("spdy-images").toml.parse().unwrap();
        images.links[0].trials = 9;
        let said = |experiment: &Experiment| -> Vec<String> {
            carried(experiment).iter().map(Carried::to_string).collect()
        };
        assert_eq!(
            said(&images),
            [
                "wifi-2013: 9 blocks are enough for the 12 comparisons with https of each workload",
                "wifi-2013: 9 blocks are enough for the 66 comparisons among the others of each workload only \
                 where all but one of them show a difference; 12 would always do"
            ]
        );
        images.links[0].trials = 5;
        let none = "wifi-2013: 5 blocks are too few for any of the 12 comparisons with https of each workload; 9 would do";
        assert_eq!(said(&images)[0], none);
        let quick: Experiment = named("quick").toml.parse().unwrap();
        assert_eq!(
            said(&quick)[2],
            "lan, wifi: 14 blocks are enough for the 3 comparisons with h1-tls of each workload"
        );
    }

    #[test]
    fn links_with_commas_are_told_apart_and_all_of_them_share_a_sentence() {
        let mut one: Experiment = builtin()[0].toml.parse().unwrap();
        for (link, (name, trials)) in
            one.links.iter_mut().zip([("4g,loss=1%", 14), ("3g,loss=1%", 14), ("lan", 9)])
        {
            (link.name, link.trials) = (name.to_owned(), trials);
        }
        let said =
            |one: &Experiment| carried(one).iter().map(Carried::to_string).collect::<Vec<_>>();
        assert!(said(&one)[2].starts_with("4g,loss=1%; 3g,loss=1%: 14 blocks "));
        one.links[2].trials = 14;
        assert!(said(&one)[0].starts_with("each link: 14 blocks "));
        assert_eq!(said(&one).len(), 2);
    }

    #[test]
    fn a_builtin_experiment_that_stands_for_itself_carries_its_comparisons_with_the_baseline() {
        for builtin in builtin() {
            let experiment: Experiment = builtin.toml.parse().unwrap();
            for carried in carried(&experiment) {
                let with_baseline = carried.kind == FamilyKind::WithBaseline;
                // A repeated published measurement may have as many trials as the original.
                if with_baseline && experiment.published.is_none() {
                    assert!(carried.is_all(), "{}: {carried:?}", builtin.name);
                }
            }
        }
    }
}
