//! Shards: parts of a run that machines of their own take. A shard has whole blocks, so that a machine's speed cancels
//! within each of them: contenders are compared within a block alone.

use crate::blocks::BlockId;
use crate::plan::TrialPlan;
use crate::record::TrialRecord;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// Shards of a run at most.
pub const MOST_SHARDS: u32 = 1_000;

/// One of the parts that a run's plan is dealt into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Its number, from 1.
    number: u32,
    /// How many there are.
    of: u32,
}

impl Shard {
    /// Shard `number` of `of`, from 1; None where there is no such shard.
    pub fn new(number: u32, of: u32) -> Option<Self> {
        (1..=of).contains(&number).then_some(())?;
        (of <= MOST_SHARDS).then_some(Self { number, of })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many shards the run has.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Its part of a whole plan, in the plan's order. Measured blocks are dealt like cards, those of one workload on one
    /// link after each other: every shard gets as many of each, to one. It warms up what it measures, on its own machine.
    pub fn part(self, plan: &[TrialPlan]) -> Vec<TrialPlan> {
        let hands = deal(plan, self.of);
        let mine: BTreeSet<&BlockId> =
            hands.iter().filter(|(_, shard)| **shard == self).map(|(block, _)| block).collect();
        let groups: BTreeSet<(&str, &str)> =
            mine.iter().map(|block| block.workload_and_link()).collect();
        let is_mine = |trial: &&TrialPlan| {
            let block = BlockId::of(trial);
            match trial.warmup {
                true => groups.contains(&block.workload_and_link()),
                false => mine.contains(&block),
            }
        };
        plan.iter().filter(is_mine).cloned().collect()
    }
}

/// Which shard has which measured block.
pub fn deal(plan: &[TrialPlan], of: u32) -> BTreeMap<BlockId, Shard> {
    let measured: BTreeSet<BlockId> =
        plan.iter().filter(|trial| !trial.warmup).map(BlockId::of).collect();
    let shards = (1..=of).cycle().map(|number| Shard { number, of });
    measured.into_iter().zip(shards).collect()
}

/// The rows of a shard that was ended, which still count when it goes on on `machine`. An attempt at a block that another
/// machine began, and did not finish, begins anew: half a block from each of two machines would compare the machines.
pub fn standing(plan: &[TrialPlan], rows: &[TrialRecord], machine: &str) -> Vec<TrialRecord> {
    let mut sizes: BTreeMap<BlockId, usize> = BTreeMap::new();
    plan.iter().for_each(|trial| *sizes.entry(BlockId::of(trial)).or_default() += 1);
    let mut attempts: BTreeMap<(BlockId, u32), Vec<&TrialRecord>> = BTreeMap::new();
    for row in rows {
        attempts.entry((BlockId::of(&row.plan), row.plan.attempt)).or_default().push(row);
    }
    let stands = |((block, _), rows): &(&(BlockId, u32), &Vec<&TrialRecord>)| {
        let whole = sizes.get(block).is_some_and(|size| *size == rows.len());
        let here = rows.iter().all(|row| row.machine.as_deref() == Some(machine));
        here || whole && is_of_one_machine(rows)
    };
    attempts.iter().filter(stands).flat_map(|(_, rows)| rows.iter().copied().cloned()).collect()
}

/// Whether all of these rows come from one machine.
pub(crate) fn is_of_one_machine(rows: &[&TrialRecord]) -> bool {
    rows.windows(2).all(|pair| pair[0].machine == pair[1].machine)
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Self::new(number.trim().parse().ok()?, of.trim().parse().ok()?)
        });
        parsed.ok_or_else(|| {
            format!("`{text}` is no shard such as 3/8: a number from 1, and how many there are, at most {MOST_SHARDS}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, builtin};
    use crate::outcome::Outcome;
    use crate::plan::{Surroundings, trials};
    use crate::record::without_figures;

    fn plan() -> Vec<TrialPlan> {
        let quick: Experiment = builtin()[0].toml.parse().unwrap();
        trials(&quick, &Surroundings::default())
    }

    #[test]
    fn every_measured_trial_is_of_one_shard_and_blocks_stay_whole() {
        let plan = plan();
        let measured = |plan: &[TrialPlan]| plan.iter().filter(|trial| !trial.warmup).count();
        for of in [1, 2, 3, 8, 13] {
            let mut keys = BTreeSet::new();
            let mut sizes = Vec::new();
            for number in 1..=of {
                let part = Shard::new(number, of).unwrap().part(&plan);
                let blocks: BTreeMap<BlockId, usize> =
                    part.iter().fold(BTreeMap::new(), |mut blocks, trial| {
                        *blocks.entry(BlockId::of(trial)).or_default() += 1;
                        blocks
                    });
                assert!(blocks.values().all(|trials| *trials == 4), "{blocks:?}");
                sizes.push(measured(&part));
                let mine = part.iter().filter(|trial| !trial.warmup);
                mine.for_each(|trial| assert!(keys.insert(trial.key.clone()), "{}", trial.key));
            }
            assert_eq!(keys.len(), measured(&plan));
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 4, "{of}: {sizes:?}");
        }
    }

    #[test]
    fn every_shard_has_its_share_of_each_link_and_warms_up_what_it_measures() {
        let plan = plan();
        let part = Shard::new(2, 3).unwrap().part(&plan);
        let of = |link: &str, warmup: bool, plan: &[TrialPlan]| {
            let here = |trial: &&TrialPlan| trial.cell.link.name == link && trial.warmup == warmup;
            plan.iter().filter(here).count()
        };
        for link in ["lan", "wifi", "3g"] {
            let (mine, all) = (of(link, false, &part), of(link, false, &plan));
            assert!(mine.abs_diff(all / 3) <= 4, "{link}: {mine} of {all}");
            assert_eq!(of(link, true, &part), of(link, true, &plan), "{link}");
        }
        let few = Shard::new(1, 1_000).unwrap().part(&plan);
        let links: BTreeSet<&str> = few.iter().map(|trial| trial.cell.link.name.as_str()).collect();
        assert_eq!(links.len(), 1, "one block, and the warm-ups of its link alone");
    }

    #[test]
    fn a_shard_is_written_as_its_number_and_how_many_there_are() {
        let shard: Shard = "3/8".parse().unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string()), (3, 8, "3/8".to_owned()));
        for text in
            ["", "3", "0/8", "9/8", "3/0", "-1/8", "3/8/1", "a/b", "1/1001", "1/99999999999"]
        {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_that_another_machine_did_not_finish_begins_anew() {
        let plan = Shard::new(1, 8).unwrap().part(&plan());
        let row = |trial: &TrialPlan, machine: &str| {
            let mut row = without_figures(trial.clone(), Outcome::Measured, 0);
            row.machine = Some(machine.to_owned());
            row
        };
        // Two whole blocks, and half of a third.
        let mut rows: Vec<TrialRecord> = plan[..10].iter().map(|trial| row(trial, "a")).collect();
        assert_eq!(standing(&plan, &rows, "a").len(), 10);
        assert_eq!(standing(&plan, &rows, "b").len(), 8);
        // A block that two machines share counts nowhere.
        rows[0] = row(&plan[0], "b");
        assert_eq!(standing(&plan, &rows, "b").len(), 4);
    }
}
