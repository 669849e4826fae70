//! Runs a tool and reads its lines, each with the time since `ready`.

use super::{Emit, ToolError};
use crate::contract::{DoneLine, OutputLine, ReadyLine};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use unit::Instant;

/// Which output of a tool reports its work. The other one is passed on to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Error,
}

/// What a line of a tool's means.
pub(super) enum Parsed {
    /// A line that says nothing the contract has a field for.
    Nothing,
    /// This line of the contract.
    Line(OutputLine),
    /// The tool has done all the work and is to be ended.
    Enough,
}

/// A tool about to run.
pub(super) struct ToolRun<'s, 'a> {
    emit: &'s mut Emit<'a>,
    zero: Instant,
}

impl<'s, 'a> ToolRun<'s, 'a> {
    /// Writes `ready`. The zero of all times is now.
    pub(super) fn begin(
        emit: &'s mut Emit<'a>,
        name: &str,
        key_log: bool,
    ) -> Result<Self, ToolError> {
        let name = Some(name.to_owned());
        emit(OutputLine::Ready(ReadyLine {
            name,
            key_log,
            adapter: true,
            // A command line has no client object that could be built beforehand.
            client_ms: Some(0.0),
            ..ReadyLine::default()
        }))?;
        Ok(Self { emit, zero: os::clock::now() })
    }

    /// Milliseconds since `ready`.
    pub(super) fn now_ms(&self) -> f64 {
        os::clock::now().since(self.zero).as_secs_f64() * 1e3
    }

    pub(super) fn emit(&mut self, line: OutputLine) -> Result<(), ToolError> {
        (self.emit)(line).map_err(ToolError::from)
    }

    /// Says `done`.
    pub(super) fn end(mut self, connections: Option<u32>) -> Result<(), ToolError> {
        let own = os::process::own_usage();
        let adapter_cpu_ms = Some((own.user + own.system).as_secs_f64() * 1e3);
        self.emit(OutputLine::Done(DoneLine { connections, adapter_cpu_ms, ..DoneLine::default() }))
    }

    /// Runs the tool to its end. Each of its lines goes to `parse` with its time, and the result is written.
    pub(super) fn run(
        &mut self,
        mut command: Command,
        stream_read: Stream,
        mut parse: impl FnMut(f64, &str) -> Parsed,
    ) -> Result<ExitStatus, ToolError> {
        command.stdin(Stdio::null());
        let (out, err) = match stream_read {
            Stream::Output => (Stdio::piped(), Stdio::inherit()),
            Stream::Error => (Stdio::null(), Stdio::piped()),
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|error| ToolError::Broken(format!("starting {program}: {error}")))?;
        let stream: Option<Box<dyn Read>> = match stream_read {
            Stream::Output => child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read>),
            Stream::Error => child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read>),
        };
        let stream = stream.unwrap_or_else(|| Box::new(std::io::empty()));
        for line in BufReader::new(stream).split(b'\n') {
            let line = line?;
            let text = String::from_utf8_lossy(&line);
            let at = self.now_ms();
            match parse(at, text.trim_end()) {
                Parsed::Nothing => {}
                Parsed::Line(line) => self.emit(line)?,
                Parsed::Enough => {
                    child.kill()?;
                    break;
                }
            }
        }
        Ok(child.wait()?)
    }
}

/// The error of a fetch that the tool did not report.
pub(super) fn silent(tool: &str, status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("{tool} ended with exit code {code} and does not tell of it"),
        None => format!("{tool} ended ({status}) and does not tell of it"),
    }
}
