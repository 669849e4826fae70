//! `wirelap report`: computes the result of a run again from its rows.

use super::timer_report;
use crate::cli::ReportArgs;
use crate::error::CliError;
use crate::race::films;
use crate::race::published_page;
use crate::race::report::{Judged, OutputFormat};
use crate::race::run_folder::RunFolder;
use crate::race::store::{Rows, Store};
use report::{FilmFrame, FilmSide};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use study::plan::CellId;
use study::record::TrialRecord;
use study::result::RunResult;

/// Reads the rows, judges and writes.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, CliError> {
    if let [_, _, ..] = args.dirs.as_slice() {
        return published(args);
    }
    if args.dirs[0].is_file() {
        return timer_report::run(args, &args.dirs[0]);
    }
    let folder = RunFolder::open(&args.dirs[0]);
    let store = Store::open(&folder.rows())?;
    let (header, rows) = (store.header()?, store.records()?);
    let trial = args.trial.as_deref().map(|key| Wanted::find(&rows, key)).transpose()?;
    let sides = Side::find_two(&rows, &args.side)?;
    let format = OutputFormat::of(args.json, args.csv);
    let judged = Judged::of_some(&folder, &header, &rows)?;
    if let Some(file) = &args.parquet {
        write_parquet(&rows, file)?;
    }
    let result = judged.result();
    // All files before the report: what is wrong with one would stand below pages of it.
    if let Some(file) = &args.bmf {
        crate::named_file::write(file, report::bmf(result))?;
    }
    let mut wrote = Vec::new();
    if let (Some(file), Some(trial)) = (&args.har, trial) {
        let row = trial.row(&rows, result)?;
        crate::named_file::write(file, report::har(row, env!("CARGO_PKG_VERSION")))?;
        wrote.push(format!("wrote {}: the trial {}", file.display(), row.plan.key));
    }
    if let (Some(file), Some(sides)) = (&args.film, sides) {
        let [left, right] = &sides;
        let (left, right) =
            (left.read(&folder, &rows, result)?, right.read(&folder, &rows, result)?);
        let film = report::side_by_side(left.side(), right.side()).map_err(CliError::failed)?;
        crate::named_file::write(file, film)?;
        let file = file.display();
        wrote.push(format!("wrote {file}: {} beside {}", left.label, right.label));
    }
    judged.tell(&folder, format)?;
    wrote.iter().for_each(|line| crate::console::note(&unit::escape(line)));
    Ok(ExitCode::SUCCESS)
}

/// The trial that `--trial` names.
enum Wanted<'r> {
    Trial(&'r TrialRecord),
    MedianOf(CellId),
}

impl<'r> Wanted<'r> {
    fn find(rows: &'r Rows, key: &str) -> Result<Self, CliError> {
        let records = &rows.records;
        if let Some(row) = records.iter().find(|row| row.plan.key == key) {
            return Ok(Self::Trial(row));
        }
        let ids: BTreeSet<CellId> = records.iter().map(|row| row.plan.cell.id()).collect();
        let name = |id: &CellId| format!("{}/{}/{}", id.workload, id.link, id.contender);
        if let Some(id) = ids.iter().find(|id| name(id) == key) {
            return Ok(Self::MedianOf(id.clone()));
        }
        let names: Vec<String> = ids.iter().map(name).collect();
        Err(CliError::misuse(format!("the run has no trial {key}"))
            .remedy(format!("name one of {}, or a trial of it: /0 behind it", names.join(", "))))
    }

    fn row(&self, rows: &'r Rows, result: &RunResult) -> Result<&'r TrialRecord, CliError> {
        let id = match self {
            Self::Trial(row) => return Ok(row),
            Self::MedianOf(id) => id,
        };
        let cell = result.cells.iter().find(|cell| cell.id() == *id);
        let median = cell.and_then(|cell| cell.median_trial.as_ref());
        let is_median = |row: &&TrialRecord| median.is_some_and(|one| row.plan.key == one.key);
        rows.records.iter().rfind(is_median).ok_or_else(|| {
            CliError::failed("this cell has no median trial: none of its trials counts")
                .remedy("name a trial by its key; rows.sqlite and report.html have them")
        })
    }
}

/// One of the two films of `--film`.
struct Side<'r> {
    trial: Wanted<'r>,
}

/// What it shows.
struct SideFilm {
    label: String,
    frames: Vec<FilmFrame>,
}

impl<'r> Side<'r> {
    /// None without `--film`.
    fn find_two(rows: &'r Rows, keys: &[String]) -> Result<Option<[Self; 2]>, CliError> {
        let side = |key: &String| Wanted::find(rows, key).map(|trial| Self { trial });
        match keys {
            [] => Ok(None),
            [left, right] => Ok(Some([side(left)?, side(right)?])),
            _ => Err(CliError::misuse(format!(
                "a film has two sides, and --side names {}",
                keys.len()
            ))
            .remedy("give --side twice")),
        }
    }

    fn read(
        &self,
        folder: &RunFolder,
        rows: &Rows,
        result: &RunResult,
    ) -> Result<SideFilm, CliError> {
        let plan = &self.trial.row(rows, result)?.plan;
        let frames = films::of_trial(folder, &plan.key).ok_or_else(|| {
            CliError::misuse(format!("{} was not filmed", plan.key))
                .remedy("race with --film, and with a browser as the client (docs/browsers.md)")
        })?;
        let client = plan.cell.contender.client.as_ref().map_or("", |client| client.name.as_str());
        let label = format!("{} {} {client}", plan.cell.contender.name, plan.cell.link.name);
        Ok(SideFilm { label, frames })
    }
}

impl SideFilm {
    fn side(&self) -> FilmSide<'_> {
        FilmSide { label: &self.label, frames: &self.frames }
    }
}

/// The summary page of several runs.
fn published(args: &ReportArgs) -> Result<ExitCode, CliError> {
    let files = [&args.bmf, &args.parquet, &args.har, &args.film];
    if args.json || args.csv || files.into_iter().any(Option::is_some) {
        return Err(CliError::misuse(
            "--json, --csv, --bmf, --parquet, --har and --film are for one run",
        )
        .remedy("name one folder at a time"));
    }
    let folders: Vec<RunFolder> = args.dirs.iter().map(|dir| RunFolder::open(dir)).collect();
    crate::console::print_coloured(&published_page::write(&folders)?.text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "parquet")]
fn write_parquet(rows: &Rows, file: &Path) -> Result<(), CliError> {
    let bytes = report::parquet(&rows.records).map_err(CliError::failed)?;
    crate::named_file::write(file, bytes)
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &Rows, _: &Path) -> Result<(), CliError> {
    Err(CliError::lacking("this wirelap was built without Parquet")
        .remedy("cargo build --release -p lab --features parquet; or take --csv"))
}
