//! Which trial may start next. Blocks with an invalid trial come again at the end of the queue; where a run may
//! stop early, blocks beyond a look wait until it has been taken. Nothing is known here that rows and plan do not
//! tell: a resumed run makes the same schedule.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use study::blocks::{BlockId, attempts_anew, most_anew, outstanding, runs_again};
use study::experiment::Experiment;
use study::metric;
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::record::TrialRecord;

/// Names of a workload and a link.
pub(crate) type CellGroup = (String, String);

/// What is still to run.
pub(crate) struct Schedule {
    alone: VecDeque<TrialPlan>,
    light: VecDeque<TrialPlan>,
    open: BTreeMap<BlockId, OpenBlock>,
    groups: BTreeMap<CellGroup, GroupState>,
}

/// A block's attempt under way.
struct OpenBlock {
    /// Its trials, done or not.
    trials: Vec<TrialPlan>,
    left: usize,
    has_invalid: bool,
    /// Whether the machine was too busy for one of them.
    was_busy: bool,
    /// Whether each that is done failed.
    all_failed: bool,
}

impl OpenBlock {
    fn new() -> Self {
        Self { trials: Vec::new(), left: 0, has_invalid: false, was_busy: false, all_failed: true }
    }

    fn take_in(&mut self, record: &TrialRecord) {
        self.has_invalid |= is_invalid(record);
        self.was_busy |= was_busy(record);
        self.all_failed &= matches!(record.outcome, Outcome::Failed { .. });
    }

    /// What spoilt it, once it is done.
    fn fault(&self) -> Option<Fault> {
        if self.was_busy { Some(Fault::Busy) } else { self.all_failed.then_some(Fault::Failed) }
    }
}

/// What a workload on a link may still do.
struct GroupState {
    /// Attempts at blocks reruns_left that are left to it.
    reruns_left: u32,
    /// Looks before the end that are still to be taken, by their numbers of blocks.
    looks: VecDeque<u32>,
    spoilt: Spoilt,
    /// Whether blocks that the machine was too busy for are good for what is asked.
    takes_busy: bool,
}

/// What makes a block worthless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The machine was too busy for a trial of it.
    Busy,
    /// Every trial of it failed.
    Failed,
}

/// The blocks of a workload on a link that have run so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoilt {
    /// None has.
    Nothing,
    /// So many have, and each had this fault.
    Throughout(Fault, u32),
    /// Some were good, or their faults differ: those that are left run.
    Sometimes,
}

impl Spoilt {
    fn with(self, fault: Option<Fault>) -> Self {
        match (self, fault) {
            (Self::Nothing, Some(fault)) => Self::Throughout(fault, 1),
            (Self::Throughout(all, blocks), Some(fault)) if all == fault => {
                Self::Throughout(fault, blocks + 1)
            }
            _ => Self::Sometimes,
        }
    }
}

/// So many blocks with one fault, and no other block, end a workload on a link. They are as many as counts need to be
/// judged.
pub(crate) const FEWEST_SPOILT: u32 = 4;

/// How trials are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// Each alone.
    Serial,
    /// Those that need little of the machine side by side.
    SideBySide,
}

impl Schedule {
    /// What of `plan` the rows leave to be run.
    pub(crate) fn new(
        experiment: &Experiment,
        plan: &[TrialPlan],
        records: &[TrialRecord],
        concurrency: Concurrency,
    ) -> Self {
        let left = outstanding(plan, records);
        let mut schedule = Self {
            alone: VecDeque::new(),
            light: VecDeque::new(),
            open: BTreeMap::new(),
            groups: groups(experiment, plan, records),
        };
        for trial in left {
            schedule.admit(trial, concurrency);
        }
        for record in records {
            if let Some(open) = schedule.open.get_mut(&BlockId::of(&record.plan))
                && open.trials[0].attempt == record.plan.attempt
                && open.trials.iter().all(|trial| trial.key != record.plan.key)
            {
                // Of an attempt that was interrupted.
                open.take_in(record);
                open.trials.push(record.plan.clone());
            }
        }
        schedule
    }

    /// Everything that waits.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &TrialPlan> {
        self.alone.iter().chain(&self.light)
    }

    /// Whether a trial that runs alone may start.
    pub(crate) fn has_alone(&self) -> bool {
        self.alone.iter().any(|trial| self.may_start(trial))
    }

    /// The next trial to run alone.
    pub(crate) fn next_alone(&mut self) -> Option<TrialPlan> {
        let index = self.alone.iter().position(|trial| self.may_start(trial))?;
        self.alone.remove(index)
    }

    /// The next one that may run beside others, if it `fits`.
    pub(crate) fn next_light(&mut self, fits: impl Fn(&TrialPlan) -> bool) -> Option<TrialPlan> {
        let index = self.light.iter().position(|trial| self.may_start(trial))?;
        if fits(&self.light[index]) { self.light.remove(index) } else { None }
    }

    /// Hears of a finished trial; gives the trials that are to run in its wake: its block's next attempt.
    pub(crate) fn finished(
        &mut self,
        record: &TrialRecord,
        concurrency: Concurrency,
    ) -> Vec<TrialPlan> {
        let block = BlockId::of(&record.plan);
        let Some(open) = self.open.get_mut(&block) else { return Vec::new() };
        open.left = open.left.saturating_sub(1);
        open.take_in(record);
        if open.left > 0 {
            return Vec::new();
        }
        let Some(open) = self.open.remove(&block) else { return Vec::new() };
        let group = (block.workload.clone(), block.link.clone());
        let Some(runs) = self.groups.get_mut(&group) else { return Vec::new() };
        if !block.warmup {
            let fault = open.fault().filter(|fault| *fault != Fault::Busy || !runs.takes_busy);
            runs.spoilt = runs.spoilt.with(fault);
        }
        if !open.has_invalid || !runs_again(&open.trials[0]) || runs.reruns_left == 0 {
            return Vec::new();
        }
        runs.reruns_left -= 1;
        let mut again: Vec<TrialPlan> = open.trials.iter().map(TrialPlan::again).collect();
        again.sort_by_key(|trial| trial.order);
        again.iter().for_each(|trial| self.admit(trial.clone(), concurrency));
        again
    }

    /// A place whose next look is due: every block before it is done.
    pub(crate) fn look_due(&self) -> Option<CellGroup> {
        let is_due = |(group, runs): &(&CellGroup, &GroupState)| {
            let Some(&look) = runs.looks.front() else { return false };
            let before = |block: &BlockId| {
                block.workload == group.0
                    && block.link == group.1
                    && (block.warmup || block.block < look)
            };
            !self.open.keys().any(before)
        };
        self.groups.iter().find(is_due).map(|(group, _)| group.clone())
    }

    /// A workload on a link with trials that wait, of which every block so far had this fault.
    pub(crate) fn spoilt_throughout(&self) -> Option<(CellGroup, Fault)> {
        let fault = |runs: &GroupState| match runs.spoilt {
            Spoilt::Throughout(fault, blocks) if blocks >= FEWEST_SPOILT => Some(fault),
            _ => None,
        };
        let waits = |group: &CellGroup| {
            let id = (group.0.as_str(), group.1.as_str());
            self.open.keys().any(|block| block.workload_and_link() == id)
        };
        let spoilt = |(group, runs): (&CellGroup, &GroupState)| Some((group.clone(), fault(runs)?));
        self.groups.iter().filter_map(spoilt).find(|(group, _)| waits(group))
    }

    /// The look was taken and not all is decided.
    pub(crate) fn go_on(&mut self, group: &CellGroup) {
        if let Some(runs) = self.groups.get_mut(group) {
            runs.looks.pop_front();
        }
    }

    /// The look was taken and all is decided: what waits there need not run. It is given back.
    pub(crate) fn stop(&mut self, group: &CellGroup) -> Vec<TrialPlan> {
        if let Some(runs) = self.groups.get_mut(group) {
            runs.looks.clear();
        }
        let here = |trial: &TrialPlan| {
            trial.cell.workload.name == group.0 && trial.cell.link.name == group.1
        };
        let stopped: Vec<TrialPlan> = self.waiting().filter(|trial| here(trial)).cloned().collect();
        self.alone.retain(|trial| !here(trial));
        self.light.retain(|trial| !here(trial));
        self.open
            .retain(|block, _| block.workload_and_link() != (group.0.as_str(), group.1.as_str()));
        stopped
    }

    /// The time is up: blocks that have not begun need not run. They are given back.
    pub(crate) fn stop_new_blocks(&mut self) -> Vec<TrialPlan> {
        let mut waiting: BTreeMap<BlockId, usize> = BTreeMap::new();
        for trial in self.waiting() {
            *waiting.entry(BlockId::of(trial)).or_default() += 1;
        }
        let is_new = |block: &BlockId| {
            self.open.get(block).is_some_and(|open| waiting.get(block) == Some(&open.trials.len()))
        };
        let new: BTreeSet<BlockId> =
            waiting.keys().filter(|block| is_new(block)).cloned().collect();
        let stopped: Vec<TrialPlan> =
            self.waiting().filter(|trial| new.contains(&BlockId::of(trial))).cloned().collect();
        let is_left = |trial: &TrialPlan| !new.contains(&BlockId::of(trial));
        self.alone.retain(is_left);
        self.light.retain(is_left);
        self.open.retain(|block, _| !new.contains(block));
        self.groups.values_mut().for_each(|group| {
            group.looks.clear();
            group.reruns_left = 0;
        });
        stopped
    }

    fn admit(&mut self, trial: TrialPlan, concurrency: Concurrency) {
        let open = self.open.entry(BlockId::of(&trial));
        let open = open.or_insert_with(OpenBlock::new);
        open.trials.push(trial.clone());
        open.left += 1;
        match concurrency {
            Concurrency::SideBySide if trial.is_light() => self.light.push_back(trial),
            _ => self.alone.push_back(trial),
        }
    }

    fn may_start(&self, trial: &TrialPlan) -> bool {
        let group = (trial.cell.workload.name.clone(), trial.cell.link.name.clone());
        let look = self.groups.get(&group).and_then(|runs| runs.looks.front());
        trial.warmup || look.is_none_or(|&look| trial.block < look)
    }
}

fn groups(
    experiment: &Experiment,
    plan: &[TrialPlan],
    records: &[TrialRecord],
) -> BTreeMap<CellGroup, GroupState> {
    let spent = attempts_anew(records);
    // A shard has few of a link's blocks, and may repeat as many of those as a whole run of them.
    let measured: BTreeSet<BlockId> =
        plan.iter().filter(|trial| !trial.warmup).map(BlockId::of).collect();
    let planned = |group: &CellGroup| {
        let names = (group.0.as_str(), group.1.as_str());
        measured.iter().filter(|block| block.workload_and_link() == names).count() as u32
    };
    // Refused trials still have counts, and a gate needs more of them than a verdict.
    let takes_busy = experiment.gates.gates.iter().any(|gate| metric::is_count(&gate.metric));
    let mut groups = BTreeMap::new();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            let group = (workload.name.clone(), link.name.clone());
            let spent = spent.get(&group).copied().unwrap_or(0);
            let mut looks: VecDeque<u32> = VecDeque::new();
            // Trials that were added run whatever is decided.
            if workload.check_of.is_none() && link.added == 0 {
                let planned = study::planned_looks(experiment, link);
                looks.extend(planned.iter().map(|look| look.blocks));
                // The last one is the end.
                looks.pop_back();
            }
            let reruns_left = most_anew(planned(&group)).saturating_sub(spent);
            let spoilt = Spoilt::Nothing;
            groups.insert(group, GroupState { reruns_left, looks, spoilt, takes_busy });
        }
    }
    groups
}

fn is_invalid(record: &TrialRecord) -> bool {
    matches!(record.outcome, Outcome::Invalid { .. })
}

fn was_busy(record: &TrialRecord) -> bool {
    is_invalid(record) && record.outcome.reason().is_some_and(study::audit::is_busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::{Stopping, builtin};
    use study::plan::{Surroundings, trials};
    use study::record::without_figures;

    fn experiment(trials: u32) -> Experiment {
        let mut quick: Experiment = builtin()[0].toml.parse().unwrap();
        quick.contenders.retain(|contender| contender.name != "h3");
        quick.links.truncate(1);
        quick.links[0].trials = trials;
        quick.links[0].warmup = 0;
        quick
    }

    fn row(plan: &TrialPlan, valid: bool) -> TrialRecord {
        let late = || Outcome::Invalid { reason: "late".to_owned() };
        without_figures(plan.clone(), if valid { Outcome::Measured } else { late() }, 0)
    }

    /// GroupState all that may start; trials that `valid` refuses are invalid. Gives the keys in their order.
    fn run(schedule: &mut Schedule, valid: impl Fn(&TrialPlan) -> bool) -> Vec<String> {
        let mut ran = Vec::new();
        while let Some(trial) = schedule.next_alone() {
            ran.push(trial.key.clone());
            schedule.finished(&row(&trial, valid(&trial)), Concurrency::Serial);
        }
        ran
    }

    /// Runs all trials, of which those that `spoils` takes end as `outcome`, and ends what has this fault throughout. Gives
    /// how many ran.
    fn run_to_the_end(
        experiment: &Experiment,
        outcome: &Outcome,
        expected: Fault,
        spoils: &dyn Fn(&TrialPlan) -> bool,
    ) -> u32 {
        let plan = trials(experiment, &Surroundings::default());
        let mut schedule = Schedule::new(experiment, &plan, &[], Concurrency::Serial);
        let mut ran = 0;
        while let Some(trial) = schedule.next_alone() {
            ran += 1;
            let outcome = if spoils(&trial) { outcome.clone() } else { Outcome::Measured };
            schedule.finished(&without_figures(trial, outcome, 0), Concurrency::Serial);
            if let Some((group, fault)) = schedule.spoilt_throughout() {
                assert_eq!(fault, expected);
                schedule.stop(&group);
            }
        }
        ran
    }

    #[test]
    fn a_spoilt_block_comes_again_at_the_end() {
        let experiment = experiment(4);
        let plan = trials(&experiment, &Surroundings::default());
        let mut schedule = Schedule::new(&experiment, &plan, &[], Concurrency::Serial);
        let invalid = plan[4].key.clone();
        let ran = run(&mut schedule, |trial| trial.key != invalid);
        assert_eq!(ran.len(), 15);
        let again: Vec<_> = plan[3..6].iter().map(|trial| format!("{}~1", trial.key)).collect();
        assert_eq!(ran[12..], again);
    }

    #[test]
    fn a_machine_that_is_too_busy_for_the_first_blocks_ends_a_workload_on_its_link() {
        let experiment = experiment(20);
        let ran_of =
            |experiment: &Experiment, reason: &str, spoils: &dyn Fn(&TrialPlan) -> bool| {
                let invalid = Outcome::Invalid { reason: reason.to_owned() };
                run_to_the_end(experiment, &invalid, Fault::Busy, spoils)
            };
        let ran =
            |reason: &str, spoils: &dyn Fn(&TrialPlan) -> bool| ran_of(&experiment, reason, spoils);
        let busy = "the machine was busy: the link let a packet out too late";
        let one_a_block = |trial: &TrialPlan| trial.order == 0;
        assert_eq!(ran(busy, &one_a_block), 3 * FEWEST_SPOILT);
        // A block that passes shows that the machine can do it; a contender's own fault is not the machine's.
        assert!(ran(busy, &|trial| one_a_block(trial) && trial.block != 2) > 60);
        assert!(ran("h2 was asked for", &one_a_block) > 60);
        // Gates on counts are judged by refused trials too, and four of them give no interval at every error.
        let held_to = |gate: &str| {
            let mut held = experiment.clone();
            held.gates.gates = vec![gate.parse().unwrap()];
            held
        };
        assert!(ran_of(&held_to("connections<1.5"), busy, &one_a_block) > 60);
        assert_eq!(ran_of(&held_to("load_ms<1.5"), busy, &one_a_block), 3 * FEWEST_SPOILT);
    }

    #[test]
    fn a_workload_that_fails_throughout_on_a_link_ends_there() {
        let experiment = experiment(20);
        let failed = Outcome::Failed { reason: "POST /orders: 201, expected 200".to_owned() };
        let ran = |spoils: &dyn Fn(&TrialPlan) -> bool| {
            run_to_the_end(&experiment, &failed, Fault::Failed, spoils)
        };
        assert_eq!(ran(&|_| true), 3 * FEWEST_SPOILT);
        // One contender that fails is a result, and so is one that never fails among others.
        assert_eq!(ran(&|trial| trial.order == 0), 60);
        assert_eq!(ran(&|trial| trial.order != 0), 60);
        assert_eq!(ran(&|trial| trial.block != 2), 60);
    }

    #[test]
    fn a_resumed_run_goes_on_with_the_attempt_that_was_interrupted() {
        let experiment = experiment(4);
        let plan = trials(&experiment, &Surroundings::default());
        let mut rows: Vec<_> = plan.iter().map(|trial| row(trial, true)).collect();
        rows[4] = row(&plan[4], false);
        let again: Vec<_> = plan[3..6].iter().map(TrialPlan::again).collect();
        rows.push(row(&again[0], false));
        let mut schedule = Schedule::new(&experiment, &plan, &rows, Concurrency::Serial);
        let ran = run(&mut schedule, |_| true);
        // The rest of the second attempt, which is invalid already, and then the third.
        assert_eq!(ran.len(), 2 + 3);
        assert!(ran[2..].iter().all(|key| key.ends_with("~2")), "{ran:?}");
    }

    #[test]
    fn when_the_time_is_up_a_block_that_has_begun_is_finished() {
        let experiment = experiment(4);
        let plan = trials(&experiment, &Surroundings::default());
        let mut schedule = Schedule::new(&experiment, &plan, &[], Concurrency::Serial);
        let first = schedule.next_alone().unwrap();
        schedule.finished(&row(&first, true), Concurrency::Serial);
        assert_eq!(schedule.stop_new_blocks().len(), 9);
        assert_eq!(run(&mut schedule, |_| true).len(), 2);
        assert_eq!(schedule.waiting().count(), 0);
    }

    #[test]
    fn blocks_beyond_a_look_wait_until_it_is_taken() {
        let experiment = Experiment { stopping: Stopping::Sequential, ..experiment(40) };
        let plan = trials(&experiment, &Surroundings::default());
        let mut schedule = Schedule::new(&experiment, &plan, &[], Concurrency::Serial);
        assert_eq!(schedule.look_due(), None);
        let first = study::planned_looks(&experiment, &experiment.links[0])[0].blocks as usize;
        assert_eq!(run(&mut schedule, |_| true).len(), 3 * first);
        let group = schedule.look_due().unwrap();
        schedule.go_on(&group);
        assert_eq!(schedule.look_due(), None);
        assert!(!run(&mut schedule, |_| true).is_empty());
        let stopped = schedule.stop(&schedule.look_due().unwrap());
        assert!(!stopped.is_empty() && schedule.waiting().count() == 0);
        assert_eq!(schedule.look_due(), None);
    }
}
