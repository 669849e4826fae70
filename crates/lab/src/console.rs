//! The one home of printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::error::CliError;
use os::reactor::Stop;
use os::signal::Interrupts;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Prints `text` as it is to standard output. A reader that has gone away (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(crate::error::file("writing to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a note to standard error.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints why a command ended early.
pub(crate) fn print_error(error: &CliError) {
    eprintln!("{error}");
}

/// Whether standard output shows colours.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && !crate::environment::no_color()
}

/// Reads the JSON value on standard input. None where it ends without one: the process that would have sent the job was
/// ended, and nobody is there to read an error.
pub(crate) fn read_job<J: serde::de::DeserializeOwned>() -> Result<Option<J>, CliError> {
    let text = std::io::read_to_string(std::io::stdin().lock()).unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map(Some).map_err(|error| {
        CliError::misuse(format!("this command takes a job from wirelap itself: {error}"))
            .remedy("the commands for people are in `wirelap --help`")
    })
}

/// Prints one JSON value on a line.
pub(crate) fn print_job<J: serde::Serialize>(job: &J) -> Result<(), CliError> {
    let mut text = serde_json::to_string(job).map_err(CliError::failed)?;
    text.push('\n');
    print(&text)
}

/// Takes over Ctrl-C, which makes `stop` stop from now on.
pub(crate) fn stop_on_interrupt(stop: &Stop) -> Result<Arc<Interrupts>, CliError> {
    let interrupts = Interrupts::take()
        .map_err(|error| CliError::failed(format!("taking over Ctrl-C: {error}")))?;
    let interrupts = Arc::new(interrupts);
    let (seen, stop) = (Arc::clone(&interrupts), stop.clone());
    // This thread waits as long as the process lives, because it cannot be woken. It holds nothing.
    std::thread::spawn(move || {
        if os::process::wait_readable(seen.as_fd(), None).is_ok() {
            stop.stop();
        }
    });
    Ok(interrupts)
}

/// Columns of the terminal; 100 where there is none.
pub(crate) fn width() -> usize {
    console::Term::stdout().size_checked().map_or(100, |(_, columns)| usize::from(columns))
}
