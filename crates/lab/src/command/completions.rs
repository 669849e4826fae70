//! `wirelap completions`: the completion script of a shell.

use crate::cli::{Cli, CompletionsArgs};
use crate::trouble::Trouble;
use clap::CommandFactory;
use std::process::ExitCode;

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, Trouble> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wirelap", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
