//! Files that the user names on the command line.

use crate::error::{self, CliError};
use std::path::Path;

/// Whether a file could be written at `path`: to be asked before work that would be lost.
pub(crate) fn check(path: &Path) -> Result<(), CliError> {
    os::replace::check_named(path).map_err(|error| wrong(path, &error))
}

/// Writes the file at `path` whole or not at all. A symbolic link and a device are written to.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CliError> {
    os::replace::write_named(path, content.as_ref()).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, error: &std::io::Error) -> CliError {
    error::file(format!("writing {}", path.display()), error)
}
