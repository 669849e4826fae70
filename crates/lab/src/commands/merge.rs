//! `wirelap merge`: one run of many machines' shards.

use super::race::{JudgedRun, conclude, exit_code};
use crate::cli::MergeArgs;
use crate::console;
use crate::error::CliError;
use crate::race::merge::ReadShards;
use crate::race::report::OutputFormat;
use crate::race::run_folder::RunFolder;
use std::process::ExitCode;
use study::merge::Terms;

/// Reads the shards, writes the run and judges it.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, CliError> {
    let terms = Terms { partial: args.partial, keep_bad: args.keep_bad };
    let shards = ReadShards::read(&args.dirs, terms)?;
    let gates = args.gates.gates();
    let mut asked = shards.experiment().clone();
    if !gates.is_empty() {
        asked.gates = gates;
        study::check_gates(&asked).map_err(CliError::misuse)?;
    }
    let folder = RunFolder::create(args.out.as_deref(), &asked.name)?;
    let _lock = folder.lock()?;
    let written = shards.write(&folder, |header| {
        header.experiment = asked;
        header.command_line =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    });
    let (header, rows) = written.inspect_err(|_| folder.remove())?;
    let run = JudgedRun { folder: &folder, header: &header, rows: &rows };
    let end = conclude(run, OutputFormat::of(args.json, args.csv), &args.gates)?;
    if args.out.is_none() {
        console::note(&format!("merged into {}", folder.path().display()));
    }
    exit_code(&args.gates, &[end])
}
