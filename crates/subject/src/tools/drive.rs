//! Starting a tool and hearing it: its lines, each with the time at which it came after `ready`.

use super::{Say, ToolError};
use crate::contract::{Done, Line, Ready};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use unit::Instant;

/// Which of a tool's outputs tells what it did; the other one is passed on as its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Output,
    Error,
}

/// What a tool's line comes to.
pub(super) enum Heard {
    /// Nothing that the contract has a word for.
    Nothing,
    /// This is to be said.
    Say(Line),
    /// The tool has done all that was asked, and is to be ended.
    Enough,
}

/// A tool about to run.
pub(super) struct Drive<'s, 'a> {
    say: &'s mut Say<'a>,
    zero: Instant,
}

impl<'s, 'a> Drive<'s, 'a> {
    /// Says `ready`; the zero of all times is now.
    pub(super) fn begin(
        say: &'s mut Say<'a>,
        name: &str,
        key_log: bool,
    ) -> Result<Self, ToolError> {
        let name = Some(name.to_owned());
        say(Line::Ready(Ready { name, key_log, adapter: true, ..Ready::default() }))?;
        Ok(Self { say, zero: os::clock::now() })
    }

    /// Milliseconds since `ready`.
    pub(super) fn now_ms(&self) -> f64 {
        os::clock::now().since(self.zero).as_secs_f64() * 1e3
    }

    pub(super) fn say(&mut self, line: Line) -> Result<(), ToolError> {
        (self.say)(line).map_err(ToolError::from)
    }

    /// Says `done`.
    pub(super) fn end(mut self, connections: Option<u32>) -> Result<(), ToolError> {
        let own = os::process::own_usage();
        let adapter_cpu_ms = Some((own.user + own.system).as_secs_f64() * 1e3);
        self.say(Line::Done(Done { connections, adapter_cpu_ms, ..Done::default() }))
    }

    /// Runs the tool to its end; each of its lines goes to `hear` with its time, and what that makes of it is said.
    pub(super) fn run(
        &mut self,
        mut command: Command,
        telling: Telling,
        mut hear: impl FnMut(f64, &str) -> Heard,
    ) -> Result<ExitStatus, ToolError> {
        command.stdin(Stdio::null());
        let (out, err) = match telling {
            Telling::Output => (Stdio::piped(), Stdio::inherit()),
            Telling::Error => (Stdio::null(), Stdio::piped()),
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|error| ToolError::Broken(format!("starting {program}: {error}")))?;
        let stream: Option<Box<dyn Read>> = match telling {
            Telling::Output => child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read>),
            Telling::Error => child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read>),
        };
        let stream = stream.unwrap_or_else(|| Box::new(std::io::empty()));
        for line in BufReader::new(stream).split(b'\n') {
            let line = line?;
            let text = String::from_utf8_lossy(&line);
            let at = self.now_ms();
            match hear(at, text.trim_end()) {
                Heard::Nothing => {}
                Heard::Say(line) => self.say(line)?,
                Heard::Enough => {
                    child.kill()?;
                    break;
                }
            }
        }
        Ok(child.wait()?)
    }
}

/// What a fetch that a tool said nothing of is said to have come to.
pub(super) fn silent(tool: &str, status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("{tool} ended with exit code {code} and does not tell of it"),
        None => format!("{tool} ended ({status}) and does not tell of it"),
    }
}
