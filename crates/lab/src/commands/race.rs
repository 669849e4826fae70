//! `wirelap race`: plan, run, judge.

mod dry_run;
mod resume;
mod sharded;
mod trials;

use crate::calibrate::{CalibrationKind, calibrate, check_link};
use crate::cli::{GateArgs, RaceArgs};
use crate::console;
use crate::environment;
use crate::error::{self, CliError};
use crate::inputs::links;
use crate::inputs::servers;
use crate::inputs::subjects;
use crate::machine;
use crate::named_file;
use crate::race::again;
use crate::race::beside_browser;
use crate::race::experiments::{self, Selected};
use crate::race::planned::{Planned, plan};
use crate::race::profiles;
use crate::race::published_page;
use crate::race::quiet::{self, Patience};
use crate::race::report::{OutputFormat, report_results, unanswered};
use crate::race::run_folder::RunFolder;
use crate::race::schedule::Concurrency;
use crate::race::service;
use crate::race::shard;
use crate::race::store::{Rows, Store};
use crate::race::until_decided::{self, TimePlan};
use crate::trial::profile::STRACE;
use os::signal::Interrupts;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use study::calibration::Calibration;
use study::carried::carried;
use study::experiment::LinkChoice;
use study::gate::{GateOutcome, outcome_of};
use study::record::{HostFacts, ROWS_SCHEMA, RunHeader};
use study::result::RunResult;
use study::shard::Shard;

/// Runs every experiment named, one after another.
pub(crate) fn run(args: &RaceArgs) -> Result<ExitCode, CliError> {
    if let Some(dir) = &args.resume {
        return resume::run(args, dir);
    }
    let chosen = choose(args)?;
    let shard = args.shard.map(shard::of).transpose()?;
    if let Some(shard) = shard {
        for one in &chosen {
            shard::check(&one.experiment, &planned(one)?.trials, shard.of())?;
        }
    }
    check_flags(args, &chosen)?;
    if args.dry_run {
        return dry_run::run(args, &chosen, shard);
    }
    check_files(args)?;
    check_folder(args.out.as_deref())?;
    chosen.iter().try_for_each(service::check)?;
    os::net::probe()?;
    // Before a folder is made: from then on, Ctrl-C says how to go on.
    let interrupts = interrupts()?;
    match shard {
        Some(shard) => sharded::run(args, &chosen, shard, &interrupts),
        None => race_each(args, chosen, &interrupts),
    }
}

/// What the arguments name. All of it is read before the first one runs: a slip in the last one shows at once.
fn choose(args: &RaceArgs) -> Result<Vec<Selected>, CliError> {
    if args.add.is_some() {
        // Clap asks for nothing that is in conflict with what is there.
        return Err(CliError::misuse("--add adds trials to a run that is there")
            .remedy("name its folder: wirelap race --resume DIR --add N"));
    }
    let mut chosen: Vec<Selected> = Vec::new();
    for name in args.experiments.iter().flat_map(|name| experiments::expand(name)) {
        chosen.push(experiments::select(name, args)?);
        if args.with_browser.is_some() {
            let by_browser = RaceArgs { client: args.with_browser.clone(), ..args.clone() };
            chosen.push(experiments::select(name, &by_browser)?);
        }
    }
    if let Some(dir) = &args.again {
        chosen.push(again::select(dir, args.gates.gates(), args.trials)?);
    }
    one_experiment_for_one_file(args, chosen.len())?;
    Ok(chosen)
}

/// Whether the files can be written that the user names. What they hold is known after hours.
pub(super) fn check_files(args: &RaceArgs) -> Result<(), CliError> {
    let files = [&args.bmf, &args.gates.junit, &args.gates.markdown];
    files.into_iter().flatten().try_for_each(|file| named_file::check(file))
}

/// Refuses a run's folder whose place is no text: workers are told it as JSON. None is one below the folder at hand.
fn check_folder(folder: Option<&Path>) -> Result<(), CliError> {
    let place = std::path::absolute(folder.unwrap_or(Path::new(".")));
    match place.is_ok_and(|place| place.to_str().is_none()) {
        true => Err(CliError::misuse(format!(
            "{} has a name that is not UTF-8, and trials are told of it in UTF-8",
            folder.unwrap_or(Path::new("the folder at hand")).display()
        ))
        .remedy("name another place by --out, or rename the folder")),
        false => Ok(()),
    }
}

/// Whether what the flags ask for is there. Nothing is written, and nobody is asked.
fn check_flags(args: &RaceArgs, chosen: &[Selected]) -> Result<(), CliError> {
    check_profile(args)?;
    if args.film && !chosen.iter().any(Selected::has_browser) {
        return Err(nothing_to_film());
    }
    for one in chosen {
        if let Some(key) = &args.capture {
            trials::check_key(&one.experiment, &planned(one)?.trials, key)?;
        }
        if let Some(key) = &args.qlog {
            trials::check_qlog_key(&one.experiment, &planned(one)?.trials, key)?;
        }
    }
    Ok(())
}

/// Whether the program is there that `--profile` needs.
pub(super) fn check_profile(args: &RaceArgs) -> Result<(), CliError> {
    let is_program = |folder: &PathBuf| folder.join(STRACE).is_file();
    if args.profile && !environment::program_folders().iter().any(is_program) {
        return Err(CliError::lacking(format!(
            "{STRACE}, which counts system calls, is not there"
        ))
        .remedy("./peers install, or leave --profile away"));
    }
    Ok(())
}

fn nothing_to_film() -> CliError {
    CliError::misuse("no contender is a browser, and --film films browsers alone")
        .remedy("add --client chromium, or leave --film away")
}

fn race_each(
    args: &RaceArgs,
    chosen: Vec<Selected>,
    interrupts: &Interrupts,
) -> Result<ExitCode, CliError> {
    if let Some(time) = dry_run::time_of_all(args, &chosen)? {
        console::note(&time);
    }
    let mut ends = Vec::new();
    for chosen in chosen {
        // Where nothing of one is measured, the others race all the same.
        ends.push(start(args, chosen, interrupts)?);
    }
    match args.with_browser.is_some() {
        true => tell_beside_browser(args, &ends)?,
        false => tell_published(args, &ends)?,
    }
    exit_code(&args.gates, &ends)
}

/// Each experiment ran twice: by the model, then by the browser.
fn tell_beside_browser(args: &RaceArgs, ends: &[RaceEnd]) -> Result<(), CliError> {
    for pair in ends.chunks_exact(2) {
        let (model, browser) = (&pair[0], &pair[1]);
        let is_read_by_program = args.json || args.csv;
        beside_browser::tell(&model.result, &browser.result, &browser.folder, is_read_by_program)?;
    }
    Ok(())
}

/// One page of all published measurements, where there are several.
fn tell_published(args: &RaceArgs, ends: &[RaceEnd]) -> Result<(), CliError> {
    let published = ends.iter().filter(|end| end.result.published.is_some());
    let published: Vec<RunFolder> = published.map(|end| end.folder.clone()).collect();
    if published.len() < 2 {
        return Ok(());
    }
    let summary = published_page::write(&published)?;
    // What a program reads stays as it is.
    match args.json || args.csv {
        true => console::note(&format!("summary: {}", summary.page.display())),
        false => console::print_coloured(&summary.text)?,
    }
    Ok(())
}

/// What a race came to.
pub(super) struct RaceEnd {
    gates: GateOutcome,
    /// Why no trial was measured; None where one was.
    unanswered: Option<String>,
    folder: RunFolder,
    result: RunResult,
}

/// A race of which no trial was measured has not done what was asked for. A gate that failed goes before one that is
/// inconclusive.
pub(super) fn exit_code(gates: &GateArgs, ends: &[RaceEnd]) -> Result<ExitCode, CliError> {
    if let Some(why) = ends.iter().find_map(|end| end.unanswered.as_ref()) {
        return Err(CliError::failed(why));
    }
    let codes = ends.iter().map(|end| gates.exit_code(end.gates));
    Ok(ExitCode::from(codes.fold(0, |code, next| if next == 1 || code == 0 { next } else { code })))
}

pub(super) fn concurrency(args: &RaceArgs) -> Concurrency {
    if args.serial { Concurrency::Serial } else { Concurrency::SideBySide }
}

pub(super) fn patience(args: &RaceArgs) -> Patience {
    if args.no_wait { Patience::GoOn } else { Patience::Wait }
}

/// What is written to a file that the user names is of one experiment.
fn one_experiment_for_one_file(args: &RaceArgs, experiments: usize) -> Result<(), CliError> {
    let files = [
        ("--out", args.out.is_some(), "folder"),
        ("--bmf", args.bmf.is_some(), "file"),
        ("--junit", args.gates.junit.is_some(), "file"),
        ("--markdown", args.gates.markdown.is_some(), "file"),
    ];
    match files.into_iter().find(|(_, is_given, _)| *is_given && experiments > 1) {
        Some((flag, _, what)) => Err(CliError::misuse(format!(
            "{flag} names one {what}, and each experiment needs one of its own"
        ))
        .remedy(format!("leave {flag} away, or race one experiment at a time"))),
        None => Ok(()),
    }
}

pub(super) fn interrupts() -> Result<Interrupts, CliError> {
    Interrupts::take().map_err(|error| CliError::failed(format!("taking over Ctrl-C: {error}")))
}

fn start(args: &RaceArgs, chosen: Selected, interrupts: &Interrupts) -> Result<RaceEnd, CliError> {
    // What A/A compares it takes by the handful.
    let judged = chosen.experiment.same.is_none() && !until_decided::is_open(&chosen.experiment);
    for short in carried(&chosen.experiment).iter().filter(|one| judged && !one.is_all()) {
        console::note(&short.to_string());
    }
    // A folder that cannot be made is told before anybody waits.
    RunFolder::create(args.out.as_deref(), &chosen.experiment.name)?.remove();
    quiet::wait(patience(args), interrupts)?;
    let calibration = match args.no_calibration {
        true => None,
        // The terminal sends Ctrl-C to what calibrates, too.
        false => Some(calibrated(&chosen).map_err(|error| match interrupts.count() {
            0 => error,
            _ => CliError::interrupted("a signal came before the first trial; nothing was made"),
        })?),
    };
    let folder = RunFolder::create(args.out.as_deref(), &chosen.experiment.name)?;
    let _lock = folder.lock()?;
    // A folder without a header is no run that could be gone on with.
    let (store, mut header) =
        lay_out(&folder, &chosen, calibration, None).inspect_err(|_| folder.remove())?;
    race(args, &folder, store, &mut header, interrupts)
}

/// What links are worth here now. A link that this machine cannot hold is refused before anything runs.
pub(super) fn calibrated(chosen: &Selected) -> Result<Calibration, CliError> {
    console::note("calibrating: some seconds, more while other programs use the machine");
    let calibration = calibrate(CalibrationKind::Short)?;
    let emulated = |choice: &&LinkChoice| !links::is_loopback(choice);
    for choice in chosen.experiment.links.iter().filter(emulated) {
        let file = |name: &str| {
            let own = chosen.files.iter().find(|(_, called)| called == name);
            own.map_or_else(|| PathBuf::from(name), |(file, _)| file.clone())
        };
        check_link(&calibration, &choice.name, &links::link_spec(choice, file)?)?;
    }
    let beyond = calibration.beyond_limits();
    if !beyond.is_empty() {
        // The report's warning names each with its limit.
        let (count, cause) = (beyond.len(), calibration.cause_in_words());
        let figures = if count == 1 { "1 figure is" } else { &format!("{count} figures are") };
        console::note(&format!("calibration: {figures} outside limits; {cause}"));
    }
    Ok(calibration)
}

/// Copies what the experiment reads into the folder and writes down what the run is.
pub(super) fn lay_out(
    folder: &RunFolder,
    chosen: &Selected,
    calibration: Option<Calibration>,
    shard: Option<Shard>,
) -> Result<(Store, RunHeader), CliError> {
    for (file, called) in &chosen.files {
        let copy = folder.inputs().join(called);
        let made = copy.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::copy(file, &copy)).map_err(|error| {
            error::file(format!("copying {} into the run's folder", file.display()), &error)
        })?;
    }
    servers::keep(&chosen.servers, &folder.inputs())?;
    let header = RunHeader {
        schema: ROWS_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: chosen.experiment.clone(),
        started_unix_ms: os::clock::realtime().as_millis() as u64,
        host: HostFacts { calibration: calibration.clone(), ..machine::facts() },
        shard,
        machines: shard.map(|shard| shard::here(shard, calibration)).into_iter().collect(),
        missing: Vec::new(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    subjects::keep(&header.experiment, &chosen.subjects, &folder.inputs())?;
    let store = Store::create(&folder.rows(), &header)?;
    Ok((store, header))
}

/// Runs what is not yet in the store, then judges all that is.
fn race(
    args: &RaceArgs,
    folder: &RunFolder,
    mut store: Store,
    header: &mut RunHeader,
    interrupts: &Interrupts,
) -> Result<RaceEnd, CliError> {
    let ended = |error| trials::tell_how_to_go_on(error, folder);
    let began = os::clock::now();
    let (mut deadline, mut started) = (None, 0);
    if let Some(limit) = header.experiment.time_limit {
        if until_decided::is_open(&header.experiment) {
            started = trials::run(args, folder, &mut store, header, interrupts, None)?;
        }
        let took = os::clock::now().since(began);
        let checked = until_decided::checked(&header.experiment);
        // A run that goes on has run some of its first blocks, or all of them, before.
        let round = took.max(until_decided::warm_up_time(&store.records()?.records));
        let timed = TimePlan::of(round, limit.saturating_sub(took), checked);
        if until_decided::is_open(&header.experiment) {
            timed.fix(&mut header.experiment);
            console::note(&timed.sentence(&header.experiment));
        }
        // The last block that begins still ends in time.
        deadline = Some(began + limit.saturating_sub(timed.round));
    }
    store.set_header(header)?;
    // Trials that were added were asked for by their number.
    let deadline = deadline.filter(|_| header.experiment.links.iter().all(|link| link.added == 0));
    started += trials::run(args, folder, &mut store, header, interrupts, deadline)?;
    let is_in_time = deadline.is_none_or(|at| os::clock::now() < at);
    if let (0, true, Some(flag)) = (started, is_in_time, resume::flag_of_trials(args)) {
        folder.remove_empty();
        return Err(resume::nothing_to_record(flag, folder.path()));
    }
    let format = OutputFormat::of(args.json, args.csv);
    let rows = store.records()?;
    let end = conclude(JudgedRun { folder, header, rows: &rows }, format, &args.gates);
    let end = end.map_err(ended)?;
    if let Some(path) = &args.bmf {
        named_file::write(path, ::report::bmf(&end.result)).map_err(ended)?;
    }
    Ok(end)
}

/// A run whose trials have run.
pub(super) struct JudgedRun<'r> {
    pub(super) folder: &'r RunFolder,
    pub(super) header: &'r RunHeader,
    pub(super) rows: &'r Rows,
}

/// Judges a run, prints and writes what was found.
pub(super) fn conclude(
    run: JudgedRun<'_>,
    format: OutputFormat,
    gates: &GateArgs,
) -> Result<RaceEnd, CliError> {
    let JudgedRun { folder, header, rows } = run;
    let result = report_results(folder, header, rows, format)?;
    profiles::lines(&rows.records, folder).iter().for_each(|line| console::note(line));
    if let Some(path) = &gates.junit {
        named_file::write(path, ::report::race_junit(&result))?;
    }
    if let Some(path) = &gates.markdown {
        named_file::write(path, ::report::race_markdown(&result))?;
    }
    Ok(RaceEnd {
        gates: outcome_of(&result.gates),
        unanswered: unanswered(&result),
        folder: folder.clone(),
        result,
    })
}

/// The trials of an experiment that has no folder yet.
pub(super) fn planned(chosen: &Selected) -> Result<Planned, CliError> {
    plan(&chosen.experiment, |name| place(chosen, name))
}

/// Where a file is that a workload names, before there is a folder.
fn place(chosen: &Selected, name: &str) -> PathBuf {
    let called = chosen.files.iter().find(|(_, called)| called == name);
    called.map_or_else(|| PathBuf::from(name), |(path, _)| path.clone())
}
