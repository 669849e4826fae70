//! `wirelap subject` (hidden): runs a command-line client for the subject contract. It reads a job and prints the lines of
//! the contract.

use crate::cli::SubjectArgs;
use crate::console;
use crate::error::CliError;
use std::process::ExitCode;
use subject::contract::{Job, OutputLine, UNSUPPORTED};
use subject::tools::{self, ToolError};

/// Does the job by the tool.
pub(crate) fn run(args: &SubjectArgs) -> Result<ExitCode, CliError> {
    let Some(job) = console::read_job::<Job>()? else { return Ok(ExitCode::FAILURE) };
    let mut emit = |line: OutputLine| {
        let text = serde_json::to_string(&line)?;
        console::print_json(&format!("{text}\n"))
            .map_err(|error| std::io::Error::other(error.to_string()))
    };
    match tools::run(&args.tool, args.program.as_deref(), &job, &mut emit) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ToolError::Unsupported(line)) => {
            emit(OutputLine::Unsupported(line)).map_err(CliError::failed)?;
            Ok(ExitCode::from(UNSUPPORTED as u8))
        }
        Err(error @ ToolError::Broken(_)) => Err(CliError::failed(error)),
    }
}
