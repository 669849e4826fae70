//! Races one commit against the good one. The contender that is built is replaced by two in the user's experiment, each
//! from its own checkout.

use super::git::forget_repository;
use crate::error::{self, CliError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use study::experiment::Experiment;
use study::gate::{Gate, GateOutcome, GateResult, first_of, outcome_of};
use study::result::RunResult;
use toml::{Table, Value};

/// The contender of the good commit.
const GOOD: &str = "good";
/// The contender of the commit that is judged.
const CANDIDATE: &str = "candidate";
/// What a declaration writes for the files of its commit.
const CHECKOUT: &str = "{checkout}";
/// The folder of declarations beside an experiment.
const SUBJECTS: &str = "subjects";

/// What every comparison shares.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The experiment's file.
    experiment: PathBuf,
    table: Table,
    /// The place of the contender that is built.
    contender: usize,
    /// The checkout of the good commit.
    pub(crate) good: PathBuf,
    pub(crate) gate: Gate,
    /// The error of each comparison.
    pub(crate) error: f64,
    pub(crate) time_limit: Duration,
    pub(crate) no_wait: bool,
    pub(crate) no_calibration: bool,
}

/// What a comparison came to.
#[derive(Debug)]
pub(crate) struct Compared {
    /// What the gate says over all its places.
    pub(crate) outcome: GateOutcome,
    /// The place that says it.
    pub(crate) gate: Option<GateResult>,
    /// The folder of its race.
    pub(crate) run: PathBuf,
    /// Of which sides trials failed, and how many.
    pub(crate) failed: Vec<String>,
}

impl Plan {
    /// Reads the experiment and finds the contender that is built.
    pub(crate) fn new(
        experiment: &Path,
        contender: Option<&str>,
        gate: Gate,
        good: PathBuf,
    ) -> Result<Self, CliError> {
        let name = experiment.display();
        let text = fs::read_to_string(experiment)
            .map_err(|error| error::file(format!("reading the experiment {name}"), &error))?;
        let table: Table =
            text.parse().map_err(|error| CliError::misuse(format!("{name}: {error}")))?;
        if let Err(error) = text.parse::<Experiment>() {
            return Err(CliError::misuse(format!("{name}, {error}")));
        }
        let contenders = table.get("contenders").and_then(Value::as_array);
        let names: Vec<&str> = contenders
            .into_iter()
            .flatten()
            .filter_map(|one| one.get("name").and_then(Value::as_str))
            .collect();
        let place = match (contender, names.as_slice()) {
            (None, [_]) => Some(0),
            (None, _) => None,
            (Some(wanted), names) => names.iter().position(|name| *name == wanted),
        };
        let Some(contender) = place else {
            return Err(CliError::misuse(format!("{name}: which contender is built is not said"))
                .remedy(format!("name it by --contender: {}", names.join(", "))));
        };
        let plan = Self {
            experiment: experiment.to_owned(),
            table,
            contender,
            good,
            gate,
            error: 0.0,
            time_limit: Duration::ZERO,
            no_wait: false,
            no_calibration: false,
        };
        plan.check_gate()?;
        Ok(plan)
    }

    /// Refuses a gate that no comparison could decide, before anything is built.
    fn check_gate(&self) -> Result<(), CliError> {
        let built = &self.table["contenders"][self.contender];
        let sides = [GOOD, CANDIDATE].map(|side| {
            let mut contender = built.clone();
            if let Value::Table(contender) = &mut contender {
                contender.insert("name".to_owned(), Value::String(side.to_owned()));
            }
            contender
        });
        let text = self.text(sides.to_vec())?;
        let mut experiment: Experiment = text
            .parse()
            .map_err(|error| CliError::misuse(format!("{}, {error}", self.experiment.display())))?;
        experiment.gates.gates = vec![self.gate.clone()];
        study::check_gates(&experiment).map_err(|error| {
            CliError::misuse(error).remedy("docs/gates.md tells how a gate is written")
        })
    }

    /// The user's experiment with these contenders.
    fn text(&self, contenders: Vec<Value>) -> Result<String, CliError> {
        let mut table = self.table.clone();
        table.insert("contenders".to_owned(), Value::Array(contenders));
        table.insert("baseline".to_owned(), Value::String(GOOD.to_owned()));
        toml::to_string(&table).map_err(CliError::failed)
    }

    /// Races the commit in `checkout` against the good one, into the new folder `into`.
    pub(crate) fn compare(&self, checkout: &Path, into: &Path) -> Result<Compared, CliError> {
        make(into)?;
        // What stands beside the experiment may be called anything.
        let inputs = into.join("inputs");
        make(&inputs)?;
        let sides = [(GOOD, self.good.as_path()), (CANDIDATE, checkout)];
        let mut folders = Vec::new();
        let mut contenders = Vec::new();
        for (side, checkout) in sides {
            let folder = inputs.join(format!("{SUBJECTS}-{side}"));
            let renamed = declare(&self.beside().join(SUBJECTS), &folder, side, checkout)?;
            contenders.push(self.contender(side, &renamed)?);
            folders.push(folder);
        }
        let file = inputs.join("experiment.toml");
        fs::write(&file, self.text(contenders)?)
            .map_err(|error| error::file(format!("writing {}", file.display()), &error))?;
        self.link_inputs(&inputs)?;
        self.race(&file, &folders, &into.join("run"))
    }

    fn beside(&self) -> PathBuf {
        let folder = self.experiment.parent().unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
    }

    /// The contender with the declarations of its side.
    fn contender(&self, side: &str, renamed: &[String]) -> Result<Value, CliError> {
        let contender = self.table["contenders"][self.contender].clone();
        let Value::Table(mut contender) = contender else {
            return Err(CliError::misuse("a contender is a table: [[contenders]]"));
        };
        contender.insert("name".to_owned(), Value::String(side.to_owned()));
        let mut is_built = false;
        for key in ["client", "server"] {
            let Some(Value::String(name)) = contender.get_mut(key) else { continue };
            if renamed.contains(name) {
                *name = format!("{name}-{side}");
                is_built = true;
            }
        }
        match is_built {
            true => Ok(Value::Table(contender)),
            false => Err(CliError::misuse(format!(
                "neither the client nor the server of {} comes from a commit",
                self.experiment.display()
            ))
            .remedy(format!(
                "declare it in {SUBJECTS}/ beside the experiment, with {CHECKOUT} where the commit's files are"
            ))),
        }
    }

    /// Files that the experiment names as standing beside it stand beside the copy too.
    fn link_inputs(&self, into: &Path) -> Result<(), CliError> {
        let beside = self.beside();
        let unreadable =
            |error: std::io::Error| error::file(format!("reading {}", beside.display()), &error);
        for entry in fs::read_dir(&beside).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let place = into.join(entry.file_name());
            if entry.file_name() != SUBJECTS && !place.exists() {
                std::os::unix::fs::symlink(entry.path(), &place)
                    .map_err(|error| error::file(format!("making {}", place.display()), &error))?;
            }
        }
        Ok(())
    }

    fn race(&self, file: &Path, folders: &[PathBuf], run: &Path) -> Result<Compared, CliError> {
        let program = std::env::current_exe().map_err(|error| {
            CliError::failed(format!("finding this program's own file: {error}"))
        })?;
        let mut command = Command::new(program);
        command.arg("race").arg(file).arg("--out").arg(run);
        for folder in folders {
            command.arg("--subjects").arg(folder);
        }
        command.args(["--gate", &format!("{CANDIDATE}/{GOOD} {}", self.gate)]);
        command.args(["--gate-error", &self.error.to_string()]);
        command.args(["--until-decided", &format!("{}s", self.time_limit.as_secs_f64())]);
        if self.no_wait {
            command.arg("--no-wait");
        }
        if self.no_calibration {
            command.arg("--no-calibration");
        }
        forget_repository(&mut command);
        let status = command.stdout(Stdio::null()).status();
        let status =
            status.map_err(|error| CliError::failed(format!("starting a race: {error}")))?;
        match status.code() {
            Some(0 | 1) if run.join("result.json").is_file() => {}
            Some(130) => return Err(CliError::interrupted("a comparison was under way")),
            Some(2) => return Err(CliError::misuse("the experiment cannot be raced; see above")),
            Some(3) => return Err(CliError::lacking("the experiment cannot be raced; see above")),
            _ => return Err(CliError::failed(format!("a race ended with {status}"))),
        }
        judged(run)
    }
}

/// What the race in `run` says.
fn judged(run: &Path) -> Result<Compared, CliError> {
    let file = run.join("result.json");
    let text = fs::read_to_string(&file)
        .map_err(|error| error::file(format!("reading {}", file.display()), &error))?;
    let result: RunResult = serde_json::from_str(&text)
        .map_err(|error| CliError::failed(format!("{}: {error}", file.display())))?;
    let outcome = outcome_of(&result.gates);
    let gate = first_of(&result.gates, outcome).cloned();
    Ok(Compared { outcome, gate, run: run.to_owned(), failed: failures(&result) })
}

/// Of which sides trials failed, and how many.
fn failures(result: &RunResult) -> Vec<String> {
    let of = |side: &str| {
        let own = result.cells.iter().filter(|cell| cell.contender.name == side);
        let trials = own.map(|cell| cell.trials);
        let (failed, all) = trials.fold((0, 0), |(f, a), one| (f + one.failed, a + one.all()));
        (failed > 0).then(|| format!("{failed} of {all} trials of `{side}` failed"))
    };
    [GOOD, CANDIDATE].into_iter().filter_map(of).collect()
}

/// Copies the declarations of `from` into `into`: those that say where the commit's files are, with its checkout and under a
/// name of their own. Gives the names that they had.
fn declare(from: &Path, into: &Path, side: &str, checkout: &Path) -> Result<Vec<String>, CliError> {
    make(into)?;
    let mut renamed = Vec::new();
    let entries = fs::read_dir(from).map_err(|error| {
        error::file(format!("reading the subjects in {}", from.display()), &error)
    })?;
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let Some(name) = path.file_name() else { continue };
        let target = into.join(name);
        let is_declaration = path.extension().is_some_and(|extension| extension == "toml");
        let failed =
            |error: std::io::Error| error::file(format!("copying {}", path.display()), &error);
        if !is_declaration {
            // A program beside the declarations, or what it needs.
            std::os::unix::fs::symlink(&path, &target).map_err(failed)?;
            continue;
        }
        let text = fs::read_to_string(&path).map_err(failed)?;
        if !text.contains(CHECKOUT) {
            fs::write(&target, text).map_err(failed)?;
            continue;
        }
        let mut table: Table = text
            .parse()
            .map_err(|error| CliError::misuse(format!("{}: {error}", path.display())))?;
        let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        table.iter_mut().for_each(|(_, value)| fill_in(value, &checkout.to_string_lossy()));
        table.insert("name".to_owned(), Value::String(format!("{name}-{side}")));
        let text = toml::to_string(&table).map_err(CliError::failed)?;
        fs::write(into.join(format!("{name}-{side}.toml")), text).map_err(failed)?;
        renamed.push(name);
    }
    Ok(renamed)
}

/// Writes the checkout wherever a text asks for it.
fn fill_in(value: &mut Value, checkout: &str) {
    match value {
        Value::String(text) => *text = text.replace(CHECKOUT, checkout),
        Value::Array(values) => values.iter_mut().for_each(|value| fill_in(value, checkout)),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| fill_in(value, checkout)),
        _ => {}
    }
}

fn make(folder: &Path) -> Result<(), CliError> {
    fs::create_dir(folder)
        .map_err(|error| error::file(format!("making the folder {}", folder.display()), &error))
}
