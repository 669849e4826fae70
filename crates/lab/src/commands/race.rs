//! `wirelap race`: plan, run, judge.

use super::race_shard;
use crate::calibrate::{CalibrationKind, calibrate, check_link};
use crate::cli::{GateArgs, RaceArgs};
use crate::console;
use crate::environment;
use crate::error::{self, CliError};
use crate::inputs::har;
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
use crate::race::progress::Progress;
use crate::race::published_page;
use crate::race::quiet::{self, Patience};
use crate::race::report::{OutputFormat, report_results, unanswered};
use crate::race::run_folder::RunFolder;
use crate::race::runner::{Qlogs, RunContext, RunOutputs, Runner};
use crate::race::schedule::{Concurrency, Schedule};
use crate::race::service;
use crate::race::shard;
use crate::race::store::{Rows, Store};
use crate::race::until_decided::{self, TimePlan};
use crate::trial::profile::STRACE;
use os::signal::Interrupts;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use study::calibration::Calibration;
use study::carried::carried;
use study::estimate::in_words;
use study::experiment::{Experiment, LinkChoice};
use study::gate::{GateOutcome, outcome_of};
use study::plan::TrialPlan;
use study::record::{HostFacts, ROWS_SCHEMA, RunHeader};
use study::result::RunResult;
use study::shard::{Shard, standing};
use unit::Instant;

/// Runs every experiment named, one after another.
pub(crate) fn run(args: &RaceArgs) -> Result<ExitCode, CliError> {
    if let Some(dir) = &args.resume {
        let folder = RunFolder::open(dir);
        folder.check_links()?;
        let store = Store::open_whole(&folder.rows())?;
        let _lock = folder.lock()?;
        let mut header = store.header()?;
        if let Some(shard) = header.shard {
            drop((store, _lock));
            return race_shard::resume(args, dir, shard);
        }
        if !header.machines.is_empty() {
            return Err(CliError::misuse(format!("{} was merged from shards", dir.display()))
                .remedy("go on with the shards, and merge them once more"));
        }
        if let Some(trials) = args.add {
            add(&mut header, trials)?;
        }
        let end = race(args, &folder, store, &mut header, &interrupts()?)?;
        return exit_code(&args.gates, &[end]);
    }
    if args.add.is_some() {
        // Clap asks for nothing that is in conflict with what is there.
        return Err(CliError::misuse("--add adds trials to a run that is there")
            .remedy("name its folder: wirelap race --resume DIR --add N"));
    }
    // All of them are read before the first one runs: a slip in the last one shows at once.
    let names = args.experiments.iter().flat_map(|name| experiments::expand(name));
    let mut chosen: Vec<Selected> = Vec::new();
    for name in names {
        chosen.push(experiments::select(name, args)?);
        if args.with_browser.is_some() {
            let by_browser = RaceArgs { client: args.with_browser.clone(), ..args.clone() };
            chosen.push(experiments::select(name, &by_browser)?);
        }
    }
    if let Some(dir) = &args.again {
        chosen.push(again::select(dir, args.gates.gates())?);
    }
    one_experiment_for_one_file(args, chosen.len())?;
    let shard = args.shard.map(shard::of).transpose()?;
    if let Some(shard) = shard {
        for one in &chosen {
            shard::check(&one.experiment, &planned(one)?.trials, shard.of())?;
        }
    }
    if args.dry_run {
        let mut plans: String =
            chosen.iter().map(|one| describe(one, args, shard)).collect::<Result<_, _>>()?;
        if let Some(time) = time_of_all(args, &chosen)? {
            let _ = writeln!(plans, "{time}");
        }
        crate::console::print(&plans)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.profile
        && !environment::program_folders().iter().any(|folder| folder.join(STRACE).is_file())
    {
        return Err(CliError::lacking(format!(
            "{STRACE}, which counts system calls, is not there"
        ))
        .remedy("./peers install, or leave --profile away"));
    }
    chosen.iter().try_for_each(service::check)?;
    for key in [&args.capture, &args.qlog].into_iter().flatten() {
        // Before a folder is made, too.
        chosen.iter().try_for_each(|one| check_key(&one.experiment, &planned(one)?.trials, key))?;
    }
    os::net::probe()?;
    // Before a folder is made: from then on, Ctrl-C says how to go on.
    let interrupts = interrupts()?;
    if let Some(shard) = shard {
        return race_shard::run(args, &chosen, shard, &interrupts);
    }
    if let Some(time) = time_of_all(args, &chosen)? {
        console::note(&time);
    }
    let mut ends = Vec::new();
    for chosen in chosen {
        // Where nothing of one is measured, the others race all the same.
        ends.push(start(args, chosen, &interrupts)?);
    }
    if args.with_browser.is_some() {
        for pair in ends.chunks_exact(2) {
            let is_read_by_program = args.json || args.csv;
            let (model, browser) = (&pair[0], &pair[1]);
            beside_browser::tell(
                &model.result,
                &browser.result,
                &browser.folder,
                is_read_by_program,
            )?;
        }
        return exit_code(&args.gates, &ends);
    }
    let published = ends.iter().filter(|end| end.result.published.is_some());
    let published: Vec<RunFolder> = published.map(|end| end.folder.clone()).collect();
    if published.len() > 1 {
        let summary = published_page::write(&published)?;
        // What a program reads stays as it is.
        match args.json || args.csv {
            true => console::note(&format!("summary: {}", summary.page.display())),
            false => console::print_coloured(&summary.text)?,
        }
    }
    exit_code(&args.gates, &ends)
}

/// How long several experiments take one after another; None of one, which says so itself.
fn time_of_all(args: &RaceArgs, chosen: &[Selected]) -> Result<Option<String>, CliError> {
    if chosen.len() < 2 {
        return Ok(None);
    }
    let time = |one: &Selected| {
        let limited = one.experiment.time_limit;
        Ok(limited.unwrap_or(planned(one)?.time(concurrency(args))) + BEFORE_THE_FIRST_TRIAL)
    };
    let all: Duration = chosen.iter().map(time).sum::<Result<_, CliError>>()?;
    Ok(Some(format!("{} experiments, {} in all", chosen.len(), in_words(all))))
}

/// A look at how busy the machine is, and its calibration.
const BEFORE_THE_FIRST_TRIAL: Duration = Duration::from_secs(5);

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
            _ => CliError::interrupted("Ctrl-C came before the first trial; nothing was made"),
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
    let ended = |error| tell_how_to_go_on(error, folder);
    let began = os::clock::now();
    let mut deadline = None;
    if let Some(limit) = header.experiment.time_limit {
        if until_decided::is_open(&header.experiment) {
            run_trials(args, folder, &mut store, header, interrupts, None)?;
        }
        let took = os::clock::now().since(began);
        let timed = TimePlan::of(1, took, limit.saturating_sub(took));
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
    run_trials(args, folder, &mut store, header, interrupts, deadline)?;
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

/// Runs what the plan of `header` has and the store has not, until `deadline` at the latest.
pub(super) fn run_trials(
    args: &RaceArgs,
    folder: &RunFolder,
    store: &mut Store,
    header: &RunHeader,
    interrupts: &Interrupts,
    deadline: Option<Instant>,
) -> Result<(), CliError> {
    let mut planned = plan(&header.experiment, |name| folder.inputs().join(name))?;
    if let Some(key) = &args.capture {
        check_key(&header.experiment, &planned.trials, key)?;
        let chosen = planned.trials.iter_mut().filter(|trial| trial.key.starts_with(key));
        chosen.for_each(|trial| trial.capture = true);
        made(&folder.captures())?;
    }
    let qlogs = match &args.qlog {
        Some(key) => {
            check_key(&header.experiment, &planned.trials, key)?;
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
        let count = crate::race::planned::count_in_words(schedule.waiting());
        console::note(&format!("{name}: {count}, {span}"));
    }
    let mut progress = Progress::new(schedule.waiting(), estimate, args.verbose);
    let outputs = RunOutputs { header, store, progress: &mut progress };
    let whole = Runner::new(context, schedule, outputs, interrupts).run();
    progress.clear();
    // A trial that was killed removed nothing.
    os::cgroup::sweep();
    let ended = |error| tell_how_to_go_on(error, folder);
    if whole.map_err(ended)? {
        return Ok(());
    }
    let kept = store.records().map_or(0, |rows| rows.records.len());
    let trials = if kept == 1 { "trial is" } else { "trials are" };
    let what = format!("{kept} {trials} kept in {}", folder.path().display());
    Err(ended(CliError::interrupted(what)))
}

/// Makes a folder of the run's folder, and gives its absolute path.
fn made(folder: &Path) -> Result<PathBuf, CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| error::file(format!("making {}", folder.display()), &error))?;
    Ok(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()))
}

/// A slip in `--capture=KEY` or `--qlog=KEY` would keep nothing.
fn check_key(experiment: &Experiment, plan: &[TrialPlan], key: &str) -> Result<(), CliError> {
    match plan.iter().any(|trial| trial.key.starts_with(key)) {
        true => Ok(()),
        false => Err(CliError::misuse(format!(
            "no trial of {} has a key that begins with `{key}`",
            experiment.name
        ))
        .remedy("--dry-run -v prints the keys; --capture and --qlog alone are for every trial")),
    }
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

/// The trials of an experiment that has no folder yet.
pub(super) fn planned(chosen: &Selected) -> Result<Planned, CliError> {
    plan(&chosen.experiment, |name| place(chosen, name))
}

/// Where a file is that a workload names, before there is a folder.
fn place(chosen: &Selected, name: &str) -> PathBuf {
    let called = chosen.files.iter().find(|(_, called)| called == name);
    called.map_or_else(|| PathBuf::from(name), |(path, _)| path.clone())
}

fn describe(chosen: &Selected, args: &RaceArgs, shard: Option<Shard>) -> Result<String, CliError> {
    let experiment = &chosen.experiment;
    let mut text =
        format!("{}: {}\n{}\n\n", experiment.name, experiment.title, experiment.question);
    let mut planned = planned(chosen)?;
    if let Some(shard) = shard {
        planned.trials = shard.part(&planned.trials);
        let _ = writeln!(text, "shard {shard}");
    }
    let recorded = har::assumptions(experiment, |name| place(chosen, name));
    for sentence in service::assumptions(experiment).into_iter().chain(recorded) {
        let _ = writeln!(text, "{sentence}");
    }
    for carried in carried(experiment) {
        let _ = writeln!(text, "{carried}");
    }
    let _ = writeln!(
        text,
        "{}, {}; baseline {}, margin {} %, seed {}",
        planned.count_in_words(),
        in_words(planned.time(concurrency(args))),
        experiment.baseline,
        experiment.margin * 100.0,
        experiment.seed
    );
    match args.verbose {
        true => text.push_str(&list_of(&planned.trials)),
        false => text.push_str("-v lists every trial with its key and seed\n"),
    }
    Ok(text)
}

/// Each trial with its key, its seed and how it runs, a line each.
fn list_of(trials: &[TrialPlan]) -> String {
    let mut text = String::from("\n");
    for (place, trial) in trials.iter().enumerate() {
        let concurrency = if trial.is_light() { "side by side" } else { "alone" };
        let warmup = if trial.warmup { ", warm-up" } else { "" };
        let _ = writeln!(
            text,
            "{:4}  {:<40} seed {:<20} {concurrency}{warmup}",
            place + 1,
            trial.key,
            trial.seed
        );
    }
    text
}
