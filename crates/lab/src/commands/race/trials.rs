//! Runs the trials of a run that have no row yet.

use super::{concurrency, patience};
use crate::cli::RaceArgs;
use crate::console;
use crate::environment;
use crate::error::{self, CliError};
use crate::machine;
use crate::race::planned::{count_in_words, plan};
use crate::race::progress::Progress;
use crate::race::quiet;
use crate::race::run_folder::RunFolder;
use crate::race::runner::{Qlogs, RunContext, RunOutputs, Runner};
use crate::race::schedule::Schedule;
use crate::race::store::Store;
use os::signal::Interrupts;
use std::path::{Path, PathBuf};
use study::estimate::in_words;
use study::experiment::Experiment;
use study::plan::TrialPlan;
use study::record::RunHeader;
use study::shard::standing;
use unit::Instant;

/// Runs what the plan of `header` has and the store has not, until `deadline` at the latest. Gives the number of trials that it
/// started.
pub(super) fn run(
    args: &RaceArgs,
    folder: &RunFolder,
    store: &mut Store,
    header: &RunHeader,
    interrupts: &Interrupts,
    deadline: Option<Instant>,
) -> Result<u64, CliError> {
    let mut planned = plan(&header.experiment, |name| folder.inputs().join(name))?;
    if let Some(key) = &args.capture {
        check_key(&header.experiment, &planned.trials, key)?;
        let chosen = planned.trials.iter_mut().filter(|trial| trial.key.starts_with(key));
        chosen.for_each(|trial| trial.capture = true);
        made(&folder.captures())?;
    }
    let qlogs = match &args.qlog {
        Some(key) => {
            check_qlog_key(&header.experiment, &planned.trials, key)?;
            Some(Qlogs { folder: made(&folder.qlogs())?, keys: key.clone() })
        }
        None => None,
    };
    let films = args.film.then(|| made(&folder.films())).transpose()?;
    let profiles = args.profile.then(|| made(&folder.profiles())).transpose()?;
    let concurrency = concurrency(args);
    let mut kept = store.records()?.records;
    let machine = header.shard.map(|_| machine::host_name());
    if let (Some(shard), Some(machine)) = (header.shard, &machine) {
        planned.trials = shard.part(&planned.trials);
        kept = standing(&planned.trials, &kept, machine);
    }
    let schedule = Schedule::new(&header.experiment, &planned.trials, &kept, concurrency);
    if schedule.waiting().next().is_some() {
        os::net::probe()?;
        // A new run waited before its calibration.
        if args.resume.is_some() {
            quiet::wait(patience(args), interrupts)?;
        }
    }
    let context = RunContext {
        program: std::env::current_exe().map_err(|error| {
            CliError::failed(format!("finding this program's own file: {error}"))
        })?,
        inputs: std::path::absolute(folder.inputs()).unwrap_or_else(|_| folder.inputs()),
        key_log: environment::ssl_key_log_file(),
        qlogs,
        films,
        profiles,
        captures: std::path::absolute(folder.captures()).unwrap_or_else(|_| folder.captures()),
        scratch: std::path::absolute(folder.scratch()).unwrap_or_else(|_| folder.scratch()),
        concurrency,
        deadline,
        machine,
    };
    let estimate = planned.estimate(schedule.waiting(), concurrency);
    let waiting = schedule.waiting().count();
    if waiting > 0 {
        let (name, span) = (&header.experiment.name, in_words(estimate.left()));
        let count = count_in_words(schedule.waiting());
        console::note(&format!("{name}: {count}, {span}"));
    }
    let mut progress = Progress::new(schedule.waiting(), estimate, args.verbose);
    let outputs = RunOutputs { header, store, progress: &mut progress };
    let ended = Runner::new(context, schedule, outputs, interrupts).run();
    progress.clear();
    // A trial that was killed removed nothing.
    os::cgroup::sweep();
    let go_on = |error| tell_how_to_go_on(error, folder);
    let ended = ended.map_err(go_on)?;
    if ended.is_whole {
        return Ok(ended.started);
    }
    let kept = store.records().map_or(0, |rows| rows.records.len());
    let trials = if kept == 1 { "trial is" } else { "trials are" };
    let what = format!("{kept} {trials} kept in {}", folder.path().display());
    Err(go_on(CliError::interrupted(what)))
}

/// Makes a folder of the run's folder, and gives its absolute path.
fn made(folder: &Path) -> Result<PathBuf, CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| error::file(format!("making {}", folder.display()), &error))?;
    Ok(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()))
}

/// A slip in `--capture=KEY` or `--qlog=KEY` would keep nothing.
pub(super) fn check_key(
    experiment: &Experiment,
    plan: &[TrialPlan],
    key: &str,
) -> Result<(), CliError> {
    match plan.iter().any(|trial| trial.key.starts_with(key)) {
        true => Ok(()),
        false => Err(CliError::misuse(format!(
            "no trial of {} has a key that begins with `{key}`",
            experiment.name
        ))
        .remedy("--dry-run -v prints the keys; --capture and --qlog alone are for every trial")),
    }
}

/// The same for `--qlog`, and that one of those trials is over QUIC, of which alone qlog files tell.
pub(super) fn check_qlog_key(
    experiment: &Experiment,
    plan: &[TrialPlan],
    key: &str,
) -> Result<(), CliError> {
    check_key(experiment, plan, key)?;
    let mut chosen = plan.iter().filter(|trial| trial.key.starts_with(key));
    if chosen.any(|trial| trial.cell.contender.transport.is_over_quic()) {
        return Ok(());
    }
    let (of, which) = (&experiment.name, if key.is_empty() { "" } else { " with such a key" });
    Err(CliError::misuse(format!(
        "no trial of {of}{which} is over QUIC, and qlog tells of QUIC alone"
    ))
    .remedy("let an h3 contender race; --capture keeps the packets of every transport"))
}

/// Adds the commands that go on with the run, where its rows are still there.
pub(super) fn tell_how_to_go_on(error: CliError, folder: &RunFolder) -> CliError {
    if !folder.rows().exists() {
        return error;
    }
    let dir = error::quoted(folder.path());
    error.and(format!(
        "go on with: wirelap race --resume {dir}\njudge what is there: wirelap report {dir}"
    ))
}
