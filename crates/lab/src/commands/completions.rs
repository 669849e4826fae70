//! `wirelap completions`: the completion script of a shell.

use crate::cli::{self, CompletionsArgs};
use crate::console;
use crate::error::CliError;
use std::process::ExitCode;

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::shown(), "wirelap", &mut script);
    console::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
