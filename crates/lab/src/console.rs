//! The one home of printing. The one rule: no character that a terminal obeys leaves this program, whoever wrote it
//! ([`unit::escape_lines`]), but for the colours of our own reports.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use crate::error::CliError;
use os::reactor::Stop;
use os::signal::Interrupts;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Prints `text` to standard output. A reader that has gone away (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    put(&escaped_lines(text))
}

/// Escapes all but the ends of lines. CSV's are CRLF (RFC 4180), which moves no cursor anywhere else.
fn escaped_lines(text: &str) -> String {
    text.split("\r\n").map(unit::escape_lines).collect::<Vec<_>>().join("\r\n")
}

/// Prints JSON to standard output: what a terminal obeys stands escaped in its texts.
pub(crate) fn print_json(json: &str) -> Result<(), CliError> {
    put(&escaped_json(json))
}

/// Prints a report that may set colours. The texts in it are clean already ([`crate::foreign`]).
pub(crate) fn print_coloured(text: &str) -> Result<(), CliError> {
    if !colour() {
        return print(text);
    }
    put(&keep_colours(text))
}

/// Escapes all but the sequences that set colours: ESC, `[`, digits and semicolons, `m` (ECMA-48 §8.3.117).
fn keep_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut kept = unit::escape_lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let figures = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let is_figure = |c: char| c.is_ascii_digit() || c == ';';
        match figures.filter(|(figures, _)| figures.chars().all(is_figure)) {
            Some((figures, rest)) => {
                kept.push_str(&format!("\x1b[{figures}m{}", unit::escape_lines(rest)));
            }
            None => kept.push_str(&format!("\\u{{1b}}{}", unit::escape_lines(part))),
        }
    }
    kept
}

/// JSON has control characters and the like in its texts alone, where `\u` and four figures stand for each.
fn escaped_json(json: &str) -> Cow<'_, str> {
    if unit::escape_lines(json) == json {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if unit::escape_lines(c.encode_utf8(&mut [0; 4])).len() > c.len_utf8() {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn put(text: &str) -> Result<(), CliError> {
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
    eprintln!("{}", unit::escape_lines(text));
}

/// Prints why a command ended early.
pub(crate) fn print_error(error: &CliError) {
    note(&error.to_string());
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
    put(&text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_csv_ends_as_it_is_to_and_no_other_carriage_return_is_printed() {
        assert_eq!(
            escaped_lines("a,b\r\n1,\r2\r\n"),
            "a,b\r\n1,\\u{d}2\r\n".replace("\\u{d}", "\\r")
        );
    }

    #[test]
    fn colours_stay_and_nothing_else_that_a_terminal_obeys() {
        let text = "\x1b[1;32mgreen\x1b[0m \x1b]0;title\x07 \x1b[2J \u{9b}m\n";
        assert_eq!(
            keep_colours(text),
            "\x1b[1;32mgreen\x1b[0m \\u{1b}]0;title\\u{7} \\u{1b}[2J \\u{9b}m\n"
        );
    }

    #[test]
    fn json_stays_json() {
        let json = serde_json::to_string("\u{1b}[\u{9b}\u{202e}\u{7f}\n\u{fc}").unwrap();
        let safe = escaped_json(&json);
        assert_eq!(safe, "\"\\u001b[\\u009b\\u202e\\u007f\\n\u{fc}\"");
        assert_eq!(
            serde_json::from_str::<String>(&safe).unwrap(),
            "\u{1b}[\u{9b}\u{202e}\u{7f}\n\u{fc}"
        );
    }
}
