//! `wirelap race --resume`: goes on with a run.

use super::{
    check_files, check_folder, check_profile, exit_code, interrupts, nothing_to_film, race, sharded,
};
use crate::cli::RaceArgs;
use crate::error::{self, CliError};
use crate::inputs::subjects;
use crate::race::experiments::has_browser;
use crate::race::run_folder::RunFolder;
use crate::race::store::Store;
use crate::race::until_decided;
use std::path::Path;
use std::process::ExitCode;
use study::record::RunHeader;

/// Goes on with the run in `dir`, or adds trials to it.
pub(super) fn run(args: &RaceArgs, dir: &Path) -> Result<ExitCode, CliError> {
    check_files(args)?;
    check_folder(Some(dir))?;
    let folder = RunFolder::open(dir);
    folder.check_contents()?;
    let store = Store::open_whole(&folder.rows())?;
    let lock = folder.lock()?;
    let mut header = store.header()?;
    if let Some(shard) = header.shard {
        drop((store, lock));
        return sharded::resume(args, dir, shard);
    }
    if !header.machines.is_empty() {
        return Err(CliError::misuse(format!("{} was merged from shards", dir.display()))
            .remedy("go on with the shards, and merge them once more"));
    }
    check_profile(args)?;
    if args.film && !has_browser(&header.experiment, &subjects::of_run(&folder.inputs())?) {
        return Err(nothing_to_film());
    }
    if let Some(trials) = args.add {
        add(&mut header, trials)?;
    }
    let end = race(args, &folder, store, &mut header, &interrupts()?)?;
    exit_code(&args.gates, &[end])
}

/// A flag that keeps something of each trial, where one is given.
pub(super) fn flag_of_trials(args: &RaceArgs) -> Option<&'static str> {
    let flags = [
        ("--capture", args.capture.is_some()),
        ("--qlog", args.qlog.is_some()),
        ("--film", args.film),
        ("--profile", args.profile),
    ];
    flags.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
}

/// No trial was left to run, so that such a flag has kept nothing.
pub(super) fn nothing_to_record(flag: &str, dir: &Path) -> CliError {
    CliError::misuse(all_have_run(flag, dir)).remedy(format!(
        "run the experiment once more with it: wirelap race --again {}",
        error::quoted(dir)
    ))
}

pub(super) fn all_have_run(flag: &str, dir: &Path) -> String {
    format!("{flag} is for trials that run, and all of {} have run", dir.display())
}

/// Adds trials to a run; what comes of them is labelled.
fn add(header: &mut RunHeader, trials: u32) -> Result<(), CliError> {
    if until_decided::is_open(&header.experiment) {
        return Err(CliError::misuse("the run has not yet planned its own trials")
            .remedy("let it come to its end first: --resume without --add"));
    }
    for link in &mut header.experiment.links {
        link.added += trials;
        link.trials += trials;
    }
    Ok(())
}
