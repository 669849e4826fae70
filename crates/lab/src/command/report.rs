//! `wirelap report`: judge the rows of a run anew.

use crate::cli::ReportArgs;
use crate::conclude::{Form, conclude};
use crate::run_folder::RunFolder;
use crate::store::Store;
use crate::trouble::Trouble;
use std::process::ExitCode;

/// Reads the rows, judges and writes.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Trouble> {
    let folder = RunFolder::open(&args.dir);
    let store = Store::open(&folder.rows())?;
    conclude(&folder, &store.header()?, &store.records()?, Form::of(args.json, args.csv))?;
    Ok(ExitCode::SUCCESS)
}
