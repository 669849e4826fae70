//! `wirelap man`: a man page for the program and one for each command.

use crate::cli::{self, ManArgs};
use crate::console;
use crate::error::{self, CliError};
use std::process::ExitCode;

/// Writes the pages.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, CliError> {
    std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(cli::shown(), &args.dir))
        .map_err(|error| {
            error::file(format!("writing man pages to {}", args.dir.display()), &error)
        })?;
    console::print(&format!(
        "man pages are in {}; read one with: man -l {}/wirelap.1\n",
        args.dir.display(),
        args.dir.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
