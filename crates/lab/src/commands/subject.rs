//! `wirelap subject` (hidden): a command-line client behind the subject contract. Takes a job, prints lines.

use crate::cli::SubjectArgs;
use crate::console;
use crate::error::Trouble;
use std::process::ExitCode;
use subject::contract::{Job, Line, UNSUPPORTED};
use subject::tools::{self, ToolError};

/// Does the job by the tool.
pub(crate) fn run(args: &SubjectArgs) -> Result<ExitCode, Trouble> {
    let Some(job) = console::read_job::<Job>()? else { return Ok(ExitCode::FAILURE) };
    let mut say = |line: Line| {
        let text = serde_json::to_string(&line)?;
        console::print(&format!("{text}\n"))
            .map_err(|trouble| std::io::Error::other(trouble.to_string()))
    };
    match tools::run(&args.tool, &job, &mut say) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ToolError::Unsupported(line)) => {
            say(Line::Unsupported(line)).map_err(Trouble::failed)?;
            Ok(ExitCode::from(UNSUPPORTED as u8))
        }
        Err(error @ ToolError::Broken(_)) => Err(Trouble::failed(error)),
    }
}
