//! Files that the user names on the command line.

use crate::error::{self, CliError};
use std::path::Path;

/// Writes the file at `path` whole or not at all. A symbolic link and a device are written to.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CliError> {
    os::replace::write_named(path, content.as_ref())
        .map_err(|error| error::file(format!("writing {}", path.display()), &error))
}
