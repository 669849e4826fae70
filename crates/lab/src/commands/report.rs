//! `wirelap report`: computes the result of a run again from its rows.

use super::timer_report;
use crate::cli::ReportArgs;
use crate::error::CliError;
use crate::race::published_page;
use crate::race::report::{OutputFormat, report_results};
use crate::race::run_folder::RunFolder;
use crate::race::store::{Rows, Store};
use std::path::Path;
use std::process::ExitCode;

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
    if let Some(file) = &args.parquet {
        write_parquet(&rows, file)?;
    }
    let format = OutputFormat::of(args.json, args.csv);
    report_results(&folder, &header, &rows, format).map(|_| ExitCode::SUCCESS)
}

/// The summary page of several runs.
fn published(args: &ReportArgs) -> Result<ExitCode, CliError> {
    if args.json || args.csv || args.parquet.is_some() {
        return Err(CliError::misuse("--json, --csv and --parquet are for one run")
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
