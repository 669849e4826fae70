//! The file that SSLKEYLOGFILE names. Each secret is a line, appended as a whole, so that several processes can share
//! the file.

use crate::error::{self, CliError};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
struct KeyLogFile(File);

impl secure::KeyLog for KeyLogFile {
    fn line(&self, line: &str) {
        // One write(2) to a file opened for appending is not mixed with others' writes. A full disk must not end a
        // trial.
        let _ = (&self.0).write_all(format!("{line}\n").as_bytes());
    }
}

/// Opens it; None where the user asked for none.
pub(crate) fn open(path: Option<&Path>) -> Result<Option<Arc<dyn secure::KeyLog>>, CliError> {
    let Some(path) = path else { return Ok(None) };
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
        error::file(format!("opening SSLKEYLOGFILE {}", path.display()), &error)
    })?;
    Ok(Some(Arc::new(KeyLogFile(file))))
}
