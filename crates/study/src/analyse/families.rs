//! The comparisons of a run by family: the level of each, its finding, and Holm's steps within the family.
//! [`crate::family`] says what a family is, and why.

use super::Rows;
use super::compare::{Judge, Versus, compared, planned_looks};
use crate::comparison::Verdict;
use crate::experiment::{Experiment, Stopping};
use crate::family::FamilyKind;
use crate::result::TableFamily;
use crate::stats::{CONFIDENCE, Level, holm, one_look, spend, weighted_holm, weights};
use crate::verdict::{Finding, Paired, Rule, Stage};

/// One family: the comparisons of one kind of a workload on a link.
pub(super) struct Joint<'e> {
    experiment: &'e Experiment,
    kind: FamilyKind,
    /// In the order of the contenders. Where the error is not enough for all, the first ones get their intervals.
    pub(super) pairs: Vec<Versus<'e>>,
}

/// A comparison's looks so far, and its weight: its share of the family's error.
pub(super) struct Looked {
    pub(super) stages: Vec<Stage>,
    weight: f64,
}

/// The findings on one workload over one link.
pub(super) struct Table<'e> {
    /// All pairs, in the order of the contenders.
    pub(super) found: Vec<(Versus<'e>, Finding)>,
    pub(super) families: Vec<TableFamily>,
}

/// Every table of a run, with p-values that are adjusted for the whole run too.
pub(super) fn tables<'e>(experiment: &'e Experiment, rows: &Rows<'_>) -> Vec<Table<'e>> {
    let mut judge = Judge::default();
    let mut tables: Vec<Table<'e>> =
        joints(experiment).into_iter().map(|joints| table(joints, rows, &mut judge)).collect();
    let all = tables.iter().flat_map(|table| &table.found);
    let p_values: Vec<f64> = all.map(|(_, finding)| finding.p_differs()).collect();
    // With equal weights: no table is more important than another.
    let adjusted = holm(&p_values);
    let found = tables.iter_mut().flat_map(|table| &mut table.found);
    for ((_, finding), p_run) in found.zip(adjusted) {
        finding.adjust_for_run(p_run);
    }
    tables
}

/// The families of each table.
pub(super) fn joints(experiment: &Experiment) -> Vec<Vec<Joint<'_>>> {
    let compared = compared(experiment);
    let tables = compared.chunk_by(|a, b| a.workload_and_link() == b.workload_and_link());
    tables.map(|pairs| of_table(experiment, pairs)).collect()
}

fn of_table<'e>(experiment: &'e Experiment, pairs: &[Versus<'e>]) -> Vec<Joint<'e>> {
    let of_kind = |kind: FamilyKind| {
        let is_of = |pair: &&Versus<'_>| pair.kind(&experiment.baseline) == kind;
        Joint { experiment, kind, pairs: pairs.iter().filter(is_of).copied().collect() }
    };
    let both = [FamilyKind::WithBaseline, FamilyKind::AmongOthers].map(of_kind);
    both.into_iter().filter(|joint| !joint.pairs.is_empty()).collect()
}

fn table<'e>(joints: Vec<Joint<'e>>, rows: &Rows<'_>, judge: &mut Judge) -> Table<'e> {
    let mut table = Table { found: Vec::new(), families: Vec::new() };
    for joint in joints {
        let looked = joint.looked(rows);
        table.families.push(joint.to_table(&looked));
        let findings = joint.findings(&looked, rows, judge);
        table.found.extend(joint.pairs.into_iter().zip(findings));
    }
    table.found.sort_by_key(|(versus, _)| versus.order);
    table
}

impl Joint<'_> {
    /// The parameters of its verdicts.
    pub(super) fn rule(&self) -> Rule {
        Rule { margin: self.experiment.margin, comparisons: self.pairs.len() }
    }

    /// Its findings after Holm's steps.
    fn findings(&self, looked: &[Looked], rows: &Rows<'_>, judge: &mut Judge) -> Vec<Finding> {
        let rule = self.rule();
        let each = self.pairs.iter().zip(looked);
        let found: Vec<Finding> =
            each.map(|(versus, looked)| judge.found(rule, versus, looked, rows)).collect();
        let p_values: Vec<f64> = found.iter().map(Finding::p_differs).collect();
        let weights: Vec<f64> = looked.iter().map(|looked| looked.weight).collect();
        let steps = weighted_holm(&p_values, &weights);
        let stepped = found.into_iter().zip(looked.iter().zip(steps));
        let stepped = stepped.map(|(finding, (looked, step))| match finding.verdict() {
            Verdict::Unsupported => finding,
            _ => rule.stepped(finding, &looked.stages, step),
        });
        let checked = self.pairs.iter().zip(stepped);
        checked.map(|(versus, finding)| versus.checked(finding, rows, self.experiment)).collect()
    }

    /// The looks at each of its comparisons, with the level of each.
    pub(super) fn looked(&self, rows: &Rows<'_>) -> Vec<Looked> {
        match self.experiment.stopping {
            Stopping::Fixed => self.looked_once(rows),
            Stopping::Sequential => {
                let weight = even_error(self.pairs.len());
                let of = |versus: &Versus<'_>| {
                    // With trials that were added the error is what it is, and no longer what was planned.
                    let looks = match versus.link.added {
                        0 => planned_looks(self.experiment, versus.link),
                        _ => one_look(versus.link.trials),
                    };
                    Looked { stages: versus.stages(rows, &looks, weight), weight }
                };
                self.pairs.iter().map(of).collect()
            }
        }
    }

    fn looked_once(&self, rows: &Rows<'_>) -> Vec<Looked> {
        let paired: Vec<Paired> = self.pairs.iter().map(|versus| versus.paired(rows)).collect();
        let blocks: Vec<usize> = paired.iter().map(Paired::blocks).collect();
        let levels = spend(&blocks, 1.0 - CONFIDENCE);
        let weights = weights(&blocks, &levels, 1.0 - CONFIDENCE);
        let once = |(paired, (level, weight)): (Paired, (Level, f64))| Looked {
            stages: vec![Stage::only(paired, level)],
            weight,
        };
        paired.into_iter().zip(levels.into_iter().zip(weights)).map(once).collect()
    }

    /// The family in the form of the result file.
    fn to_table(&self, looked: &[Looked]) -> TableFamily {
        let stages = looked.iter().flat_map(|looked| &looked.stages);
        TableFamily {
            kind: self.kind,
            comparisons: u32::try_from(self.pairs.len()).unwrap_or(u32::MAX),
            error_spent: stages.map(|stage| stage.level.error).sum(),
        }
    }
}

/// The error of each of `comparisons` that share it evenly.
pub(super) fn even_error(comparisons: usize) -> f64 {
    (1.0 - CONFIDENCE) / comparisons.max(1) as f64
}
