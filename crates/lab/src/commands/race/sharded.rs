//! `wirelap race --shard`: runs one shard's trials. It judges nothing: `wirelap merge` does, once all shards have run.

use super::resume::{all_have_run, flag_of_trials, nothing_to_record};
use super::{calibrated, check_flags, interrupts, lay_out, patience, planned, trials};
use crate::cli::RaceArgs;
use crate::console;
use crate::error::CliError;
use crate::race::again;
use crate::race::experiments::Selected;
use crate::race::quiet;
use crate::race::run_folder::RunFolder;
use crate::race::shard;
use crate::race::store::Store;
use os::signal::Interrupts;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use study::blocks::{counted, outstanding};
use study::calibration::Calibration;
use study::gate::Gates;
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::record::{RunHeader, TrialRecord};
use study::shard::{Shard, standing};

/// Runs this shard of every experiment.
pub(super) fn run(
    args: &RaceArgs,
    chosen: &[Selected],
    shard: Shard,
    interrupts: &Interrupts,
) -> Result<ExitCode, CliError> {
    for one in chosen {
        let folder = shard::folder(args.out.as_deref(), &one.experiment.name, shard);
        ShardRace { args, chosen: one, shard, interrupts }.run(&folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Goes on with the shard in `dir`.
pub(super) fn resume(args: &RaceArgs, dir: &Path, shard: Shard) -> Result<ExitCode, CliError> {
    if args.add.is_some() {
        return Err(CliError::misuse("trials are added to a run, and this is a shard of one")
            .remedy("race once more with more --trials"));
    }
    let chosen = again::select(dir, Gates::default(), None)?;
    check_flags(args, std::slice::from_ref(&chosen))?;
    if let Some(flag) = flag_of_trials(args)
        && is_done(&RunFolder::open(dir), &shard.part(&planned(&chosen)?.trials))?
    {
        return Err(nothing_to_record(flag, dir));
    }
    let interrupts = interrupts()?;
    ShardRace { args, chosen: &chosen, shard, interrupts: &interrupts }.run(dir)?;
    Ok(ExitCode::SUCCESS)
}

/// One shard of one experiment.
struct ShardRace<'a> {
    args: &'a RaceArgs,
    chosen: &'a Selected,
    shard: Shard,
    interrupts: &'a Interrupts,
}

impl ShardRace<'_> {
    fn run(&self, path: &Path) -> Result<(), CliError> {
        let folder = RunFolder::open(path);
        let begun = shard::begun(&folder, self.chosen, self.shard)?;
        let plan = self.shard.part(&planned(self.chosen)?.trials);
        if begun.is_none() || !is_done(&folder, &plan)? {
            quiet::wait(patience(self.args), self.interrupts)?;
            self.run_trials(path, begun)?;
        } else if let Some(flag) = flag_of_trials(self.args) {
            // No error: an engine may start a shard again that is done.
            console::note(&all_have_run(flag, path));
        }
        let rows = Store::open(&folder.rows())?.records()?;
        self.tell(&folder, &plan, &rows.records)
    }

    fn run_trials(&self, path: &Path, begun: Option<RunHeader>) -> Result<(), CliError> {
        let is_known = begun.as_ref().is_some_and(shard::is_known_here);
        let calibration = match is_known || self.args.no_calibration {
            true => None,
            false => Some(calibrated(self.chosen)?),
        };
        let folder = match &begun {
            Some(_) => RunFolder::open(path),
            None => self.make(path, calibration.clone())?,
        };
        let _lock = folder.lock()?;
        let mut store = Store::open_whole(&folder.rows())?;
        let mut header = store.header()?;
        if !shard::is_known_here(&header) {
            header.machines.push(shard::here(self.shard, calibration));
            store.set_header(&header)?;
        }
        trials::run(self.args, &folder, &mut store, &header, self.interrupts, None)?;
        Ok(())
    }

    fn make(&self, path: &Path, calibration: Option<Calibration>) -> Result<RunFolder, CliError> {
        shard::make(path, |folder| {
            lay_out(folder, self.chosen, calibration, Some(self.shard)).map(drop)
        })
    }

    /// What the shard came to. One without a measured trial has failed: its engine is to see it.
    fn tell(
        &self,
        folder: &RunFolder,
        plan: &[TrialPlan],
        rows: &[TrialRecord],
    ) -> Result<(), CliError> {
        let place = folder.path().display();
        let name = format!("shard {} of {}", self.shard, self.chosen.experiment.name);
        let rows = counted(rows);
        let is_measured = |row: &&&TrialRecord| row.outcome == Outcome::Measured;
        let measured = rows.iter().filter(is_measured).count();
        let planned = plan.iter().filter(|trial| !trial.warmup).count();
        if measured == 0 {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            rows.iter().filter_map(|row| row.outcome.reason()).for_each(|reason| {
                *reasons.entry(reason).or_default() += 1;
            });
            let most = reasons.into_iter().max_by_key(|(_, count)| *count);
            let why =
                most.map_or_else(String::new, |(reason, count)| format!(": {count} x {reason}"));
            return Err(CliError::failed(format!("{name}: no trial was measured{why}"))
                .remedy(format!("delete {place} and run the shard again, on another machine")));
        }
        console::print(&format!("{name}: {measured} of {planned} trials measured, in {place}\n"))
    }
}

/// Whether no trial of the shard is left to run.
fn is_done(folder: &RunFolder, plan: &[TrialPlan]) -> Result<bool, CliError> {
    let rows = Store::open(&folder.rows())?.records()?;
    let machine = crate::machine::host_name();
    Ok(outstanding(plan, &standing(plan, &rows.records, &machine)).is_empty())
}
