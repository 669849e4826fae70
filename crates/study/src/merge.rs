//! Merging: the rows of a run's shards become one run, which is judged as if one machine had run it. Pure. The one rule:
//! every planned (cell, block, seed) is in the merged run once, or is named as missing.

#[cfg(test)]
mod tests;

use crate::audit;
use crate::blocks::BlockId;
use crate::experiment::Experiment;
use crate::outcome::Outcome;
use crate::plan::TrialPlan;
use crate::record::{HostFacts, MachineRun, RunHeader, TrialRecord};
use crate::shard::{Shard, deal, is_of_one_machine};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A shard's rows, as its folder holds them.
#[derive(Debug, Clone, Copy)]
pub struct ShardRows<'r> {
    /// What errors call it: the folder.
    pub name: &'r str,
    /// What it is a shard of.
    pub header: &'r RunHeader,
    /// All of its rows.
    pub rows: &'r [TrialRecord],
}

/// What may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// Whether shards and trials may be missing; the result then names them.
    pub partial: bool,
    /// Whether shards may be merged whose machine was too busy for half of their trials.
    pub keep_bad: bool,
}

/// One run, made of shards.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Names the machines.
    pub header: RunHeader,
    /// The rows of all shards, each planned trial once. A warm-up that several machines ran is that of the first.
    pub rows: Vec<TrialRecord>,
}

/// Why shards make no run.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeError {
    /// No shard was given.
    Nothing,
    /// A run is whole, or is merged already.
    NotAShard {
        /// The run.
        name: String,
    },
    /// Two shards are not of one run.
    Unlike {
        /// The two shards.
        names: [String; 2],
        /// In what they differ, with both values.
        what: String,
    },
    /// Two folders hold the same shard.
    Twice {
        /// The shard.
        shard: Shard,
        /// The two folders.
        names: [String; 2],
    },
    /// A row is of no trial of the shard's plan.
    NotPlanned {
        /// The shard's folder.
        name: String,
        /// The row's key, and what is wrong with it.
        what: String,
    },
    /// An attempt at a block ran on two machines.
    TwoMachines {
        /// The shard's folder.
        name: String,
        /// The key of a row of the block.
        key: String,
    },
    /// The machine of a shard was too busy for half of its trials.
    Bad {
        /// The shard's folder.
        name: String,
        /// How many attempts were refused, and of how many.
        refused: (usize, usize),
    },
    /// Shards or trials are missing.
    Missing {
        /// Shards of which there is no folder.
        shards: Vec<Shard>,
        /// Trials that other shards have no row of: each with its shard's folder.
        trials: Vec<(String, TrialPlan)>,
    },
}

/// Makes one run of `shards`, of which `plan` is the whole plan.
pub fn merge(
    shards: &[ShardRows<'_>],
    plan: &[TrialPlan],
    terms: Terms,
) -> Result<Merged, MergeError> {
    check_one_run(shards)?;
    let numbered = numbered(shards)?;
    let (Some(first), Some((shard, _))) = (shards.first(), numbered.first_key_value()) else {
        return Err(MergeError::Nothing);
    };
    let hands = deal(plan, shard.of());
    for (shard, run) in &numbered {
        check_rows(*shard, run, &Hands { plan, blocks: &hands })?;
        if !terms.keep_bad {
            check_audit(run)?;
        }
    }
    let missing = missing(&numbered, plan, shard.of());
    if let (false, Some(missing)) = (terms.partial, missing.as_error()) {
        return Err(missing);
    }
    let machines = Machines::of(&numbered);
    let header = RunHeader {
        started_unix_ms: shards.iter().map(|run| run.header.started_unix_ms).min().unwrap_or(0),
        // Each machine has a calibration of its own.
        host: HostFacts { calibration: None, ..first.header.host.clone() },
        shard: None,
        machines: machines.runs(),
        missing: missing.keys(),
        ..first.header.clone()
    };
    Ok(Merged { header, rows: rows(&numbered, &machines) })
}

/// Whether all of `shards` are shards, and of one run. What is there twice or missing is of interest only then.
pub fn check_one_run(shards: &[ShardRows<'_>]) -> Result<(), MergeError> {
    if let Some(run) = shards.iter().find(|run| run.header.shard.is_none()) {
        return Err(MergeError::NotAShard { name: run.name.to_owned() });
    }
    let Some((first, others)) = shards.split_first() else { return Err(MergeError::Nothing) };
    others.iter().try_for_each(|other| check_alike(first, other))
}

/// The shards by number.
fn numbered<'a, 'r>(
    shards: &'a [ShardRows<'r>],
) -> Result<BTreeMap<Shard, &'a ShardRows<'r>>, MergeError> {
    let mut numbered: BTreeMap<Shard, &ShardRows<'_>> = BTreeMap::new();
    for run in shards {
        let name = run.name.to_owned();
        let Some(shard) = run.header.shard else { return Err(MergeError::NotAShard { name }) };
        if let Some(other) = numbered.insert(shard, run) {
            return Err(MergeError::Twice { shard, names: [other.name.to_owned(), name] });
        }
    }
    Ok(numbered)
}

/// Whether two shards are of one run: dealt alike, by one program, of one experiment with one seed.
fn check_alike(a: &ShardRows<'_>, b: &ShardRows<'_>) -> Result<(), MergeError> {
    let of = |run: &ShardRows<'_>| run.header.shard.map_or(0, Shard::of).to_string();
    let build = |run: &ShardRows<'_>| run.header.host.more.get(BUILD).cloned().unwrap_or_default();
    let facts = [
        ("the number of shards", of(a), of(b)),
        ("wirelap's version", a.header.version.clone(), b.header.version.clone()),
        (BUILD, build(a), build(b)),
    ];
    let fact = facts.into_iter().find(|(_, a, b)| a != b);
    let what = match fact {
        Some((what, a, b)) => Some(format!("{what} is {a} and {b}")),
        None => experiment_difference(&a.header.experiment, &b.header.experiment),
    };
    match what {
        Some(what) => {
            Err(MergeError::Unlike { names: [a.name.to_owned(), b.name.to_owned()], what })
        }
        None => Ok(()),
    }
}

/// The first thing in which two experiments differ, with both values.
pub fn experiment_difference(a: &Experiment, b: &Experiment) -> Option<String> {
    let value = |one: &Experiment| serde_json::to_value(one).unwrap_or_default();
    difference("the experiment's", &value(a), &value(b))
}

/// A fact of the host by this name tells how wirelap was built; what was built otherwise takes other times.
pub const BUILD: &str = "build of wirelap";

/// The first place at which two values differ, with both.
fn difference(place: &str, a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            names
                .into_iter()
                .find_map(|name| difference(&format!("{place} {name}"), &a[name], &b[name]))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => (0..one.len())
            .find_map(|nth| difference(&format!("{place} {}", nth + 1), &one[nth], &other[nth])),
        _ if a == b => None,
        (Value::Array(one), Value::Array(other)) => {
            Some(format!("{place} are {} and {}", one.len(), other.len()))
        }
        _ => Some(format!("{place} is {a} and {b}")),
    }
}

/// The whole plan, and which shard has which block of it.
struct Hands<'p> {
    plan: &'p [TrialPlan],
    blocks: &'p BTreeMap<BlockId, Shard>,
}

/// Whether every row is of a trial of the shard, as it was planned, and every attempt at a block of one machine.
fn check_rows(shard: Shard, run: &ShardRows<'_>, hands: &Hands<'_>) -> Result<(), MergeError> {
    let planned: BTreeMap<&str, &TrialPlan> =
        hands.plan.iter().map(|trial| (trial.key.as_str(), trial)).collect();
    let mut attempts: BTreeMap<(BlockId, u32), Vec<&TrialRecord>> = BTreeMap::new();
    for row in run.rows {
        let block = BlockId::of(&row.plan);
        let trial = planned.get(row.plan.first_key());
        let wrong = match (trial, hands.blocks.get(&block)) {
            (Some(trial), _) if !trial.is_of_one_plan_with(&row.plan) => {
                Some(format!("differs from the plan in cell, block or seed {}", row.plan.seed))
            }
            (None, _) => Some("is of no trial of the plan".to_owned()),
            (Some(_), Some(owner)) if *owner != shard => Some(format!("is of shard {owner}")),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let what = format!("{} {wrong}", row.plan.key);
            return Err(MergeError::NotPlanned { name: run.name.to_owned(), what });
        }
        attempts.entry((block, row.plan.attempt)).or_default().push(row);
    }
    match attempts.into_values().find(|rows| !is_of_one_machine(rows)) {
        Some(rows) => Err(MergeError::TwoMachines {
            name: run.name.to_owned(),
            key: rows[0].plan.key.clone(),
        }),
        None => Ok(()),
    }
}

/// Refuses a shard whose machine was too busy for half of its attempts: it would spoil the cells of all others.
fn check_audit(run: &ShardRows<'_>) -> Result<(), MergeError> {
    const FEWEST: usize = 3;
    let counted = || run.rows.iter().filter(|row| !row.plan.warmup);
    let was_busy = |row: &&TrialRecord| matches!(&row.outcome, Outcome::Invalid { reason } if audit::is_busy(reason));
    let (refused, all) = (counted().filter(was_busy).count(), counted().count());
    match refused >= FEWEST && 2 * refused >= all {
        true => Err(MergeError::Bad { name: run.name.to_owned(), refused: (refused, all) }),
        false => Ok(()),
    }
}

/// What the plan has and no shard.
struct Missing {
    shards: Vec<Shard>,
    /// The trials of shards that are there, each with its shard's folder.
    trials: Vec<(String, TrialPlan)>,
    keys: Vec<String>,
}

impl Missing {
    fn as_error(&self) -> Option<MergeError> {
        let (shards, trials) = (self.shards.clone(), self.trials.clone());
        (!self.keys.is_empty()).then_some(MergeError::Missing { shards, trials })
    }

    fn keys(self) -> Vec<String> {
        self.keys
    }
}

/// Trials without a row of their first attempt. Warm-ups do not count.
fn missing(numbered: &BTreeMap<Shard, &ShardRows<'_>>, plan: &[TrialPlan], of: u32) -> Missing {
    let there: BTreeSet<&str> =
        numbered.values().flat_map(|run| run.rows).map(|row| row.plan.key.as_str()).collect();
    let is_there = |trial: &&TrialPlan| there.contains(trial.key.as_str());
    let left = plan.iter().filter(|trial| !trial.warmup && !is_there(trial));
    let hands = deal(plan, of);
    let mut missing = Missing { shards: Vec::new(), trials: Vec::new(), keys: Vec::new() };
    for trial in left {
        missing.keys.push(trial.key.clone());
        let Some(shard) = hands.get(&BlockId::of(trial)) else { continue };
        match numbered.get(shard) {
            Some(run) => missing.trials.push((run.name.to_owned(), trial.clone())),
            None if missing.shards.contains(shard) => {}
            None => missing.shards.push(*shard),
        }
    }
    missing.shards.sort_unstable();
    missing
}

/// The machines of all shards, each boot by a name of its own.
struct Machines<'r> {
    runs: Vec<&'r MachineRun>,
    names: BTreeMap<&'r str, String>,
}

impl<'r> Machines<'r> {
    fn of(numbered: &BTreeMap<Shard, &ShardRows<'r>>) -> Self {
        let runs: Vec<&MachineRun> =
            numbered.values().flat_map(|run| &run.header.machines).collect();
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for run in &runs {
            // Machines in a cloud may all be called alike.
            let name = (1..).map(|nth| match nth {
                1 => run.name.clone(),
                _ => format!("{} ({nth})", run.name),
            });
            let free = name.into_iter().find(|name| names.values().all(|taken| taken != name));
            names.entry(&run.boot).or_insert(free.unwrap_or_default());
        }
        Self { runs, names }
    }

    fn name(&self, run: &MachineRun) -> String {
        self.names.get(run.boot.as_str()).unwrap_or(&run.name).clone()
    }

    fn runs(&self) -> Vec<MachineRun> {
        let named = |run: &&MachineRun| MachineRun { name: self.name(run), ..(*run).clone() };
        self.runs.iter().map(named).collect()
    }
}

/// The rows of all shards by key, each naming its machine.
fn rows(numbered: &BTreeMap<Shard, &ShardRows<'_>>, machines: &Machines<'_>) -> Vec<TrialRecord> {
    let mut merged: BTreeMap<&str, TrialRecord> = BTreeMap::new();
    for run in numbered.values() {
        for row in run.rows {
            let of = |machine: &&MachineRun| Some(&machine.name) == row.machine.as_ref();
            let machine = run.header.machines.iter().find(of).map(|run| machines.name(run));
            merged.entry(&row.plan.key).or_insert_with(|| TrialRecord { machine, ..row.clone() });
        }
    }
    merged.into_values().collect()
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no shard to merge"),
            Self::NotAShard { name } => write!(f, "{name} is a whole run, and no shard of one"),
            Self::Unlike { names: [a, b], what } => {
                write!(f, "{a} and {b} are not shards of one run: {what}")
            }
            Self::Twice { shard, names: [a, b] } => {
                write!(f, "{a} and {b} are both shard {shard}: every trial would count twice")
            }
            Self::NotPlanned { name, what } => write!(f, "{name} is no shard of this plan: {what}"),
            Self::TwoMachines { name, key } => {
                write!(
                    f,
                    "{name}: two machines ran the block of {key}, which compares the machines"
                )
            }
            Self::Bad { name, refused: (refused, all) } => write!(
                f,
                "{name} is a bad shard: its machine was too busy for {refused} of {all} trials"
            ),
            Self::Missing { shards, trials } => write_missing(f, shards, trials),
        }
    }
}

/// Names so many trials; the others are counted.
const NAMED: usize = 5;

fn write_missing(
    f: &mut fmt::Formatter<'_>,
    shards: &[Shard],
    trials: &[(String, TrialPlan)],
) -> fmt::Result {
    let mut parts = Vec::new();
    if !shards.is_empty() {
        let names: Vec<String> = shards.iter().map(Shard::to_string).collect();
        parts.push(format!("no folder is of shard {}", names.join(", ")));
    }
    if !trials.is_empty() {
        let name = |(folder, trial): &(String, TrialPlan)| {
            format!("{} (block {}, seed {}) in {folder}", trial.key, trial.block, trial.seed)
        };
        let named: Vec<String> = trials.iter().take(NAMED).map(name).collect();
        let more = trials.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("no row is there of {}{more}", named.join(", ")));
    }
    write!(f, "the run is not whole: {}", parts.join("; "))
}
