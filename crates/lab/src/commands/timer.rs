//! `wirelap timer`: prints the page timer.

use crate::cli::TimerArgs;
use crate::console;
use crate::error::CliError;
use std::process::ExitCode;

/// Prints the page, to be redirected into a file.
pub(crate) fn run(_: &TimerArgs) -> Result<ExitCode, CliError> {
    console::print(&report::timer_page(env!("CARGO_PKG_VERSION")))?;
    Ok(ExitCode::SUCCESS)
}
