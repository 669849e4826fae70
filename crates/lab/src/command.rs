//! The commands, a file each, and the one home of printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod far;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod near;
pub(crate) mod race;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod trial;

use crate::trouble::Trouble;
use std::io::{IsTerminal, Write};

/// Prints `text` as it is to standard output. A reader that has gone away (`| head`) is no trouble.
pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(crate::trouble::file("writing to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a note to standard error.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints why a command ended early.
pub(crate) fn print_error(trouble: &Trouble) {
    eprintln!("{trouble}");
}

/// Whether standard output shows colours.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && !crate::environment::no_color()
}
