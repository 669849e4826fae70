//! Which comparisons form a family. A family is what a reader takes in at one look and draws one conclusion from
//! (Hochberg and Tamhane, "Multiple Comparison Procedures", 1987, ch. 1): one workload on one link. It has two
//! families. The comparisons with the baseline, shown in its table, are one (many to one, as Dunnett's, "A Multiple
//! Comparison Procedure for Comparing Several Treatments with a Control", 1955). The comparisons among the others,
//! shown in its picture of pairs, are the second. Each family has a false verdict in at most 5 % of all runs.
//!
//! The claim "faster here *and* there" needs no further correction: it is wrong only where a verdict is false at its
//! own level (Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982). The claim "faster
//! *somewhere*" does. A reader who searches many tables for a difference reads
//! [`Comparison::p_run`](crate::comparison::Comparison::p_run), which is adjusted for the whole run.
//!
//! Rejected: one family of a whole run. It needed 13 blocks for five pages instead of one, although the verdicts on
//! each page were the same, and one run of two experiments needed more blocks than two runs of one.

use crate::stats::{CONFIDENCE, blocks_for_any_interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a family: which comparisons of a workload on a link it has.
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
    /// Comparisons with the baseline.
    pub with_baseline: usize,
    /// Comparisons among the others.
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

/// The least number of blocks with which every one of `comparisons` has an interval, whatever the others find.
pub fn blocks_for_all(comparisons: usize) -> u32 {
    u32::try_from(blocks_for_any_interval(comparisons, 1.0 - CONFIDENCE)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
