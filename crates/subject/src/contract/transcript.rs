//! Reads what a subject prints: bytes in, checked lines out. The one rule: every line has a bounded length, comes in
//! the right order and belongs to the job. The first line that breaks this ends the reading.

use super::line::{DoneLine, FetchLine, NextLine, OutputLine, ReadyLine, UnsupportedLine};
use super::page::PageLine;
use std::collections::BTreeSet;
use std::fmt;
use unit::Instant;

/// The longest line that is read. Names, reasons and times take a hundredth of it.
const LONGEST_LINE: usize = 64 * 1024;

/// As much of a line as a reason quotes.
const EXCERPT: usize = 160;

/// A line, and when it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed<T> {
    /// When its line was whole.
    pub at: Instant,
    /// What it says.
    pub line: T,
}

/// All that a subject has said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// The work began.
    pub ready: Option<Timed<ReadyLine>>,
    /// The fetches, as they ended.
    pub fetches: Vec<Timed<FetchLine>>,
    /// How a browser showed the page.
    pub page: Option<Timed<PageLine>>,
    /// How it loaded the page once more.
    pub next: Option<Timed<NextLine>>,
    /// The work was done.
    pub done: Option<Timed<DoneLine>>,
    /// Why there is none.
    pub unsupported: Option<UnsupportedLine>,
}

/// A line that the contract does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of its output: {fault}{}", quoted(.said))]
pub struct ContractViolation {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with the line, and what was expected.
    pub fault: String,
    /// How it begins.
    pub said: String,
}

/// Reads the standard output of a subject.
#[derive(Debug)]
pub struct TranscriptReader {
    /// Fetches that no line has reported yet.
    missing: BTreeSet<u32>,
    all: BTreeSet<u32>,
    buffer: Vec<u8>,
    line: u64,
    transcript: Transcript,
}

impl TranscriptReader {
    /// For a job with these fetches.
    pub fn new(fetches: impl IntoIterator<Item = u32>) -> Self {
        let all: BTreeSet<u32> = fetches.into_iter().collect();
        Self {
            missing: all.clone(),
            all,
            buffer: Vec::new(),
            line: 0,
            transcript: Transcript::default(),
        }
    }

    /// Takes bytes read from its standard output at `now`.
    pub fn read(&mut self, now: Instant, bytes: &[u8]) -> Result<(), ContractViolation> {
        let mut left = bytes;
        while let Some(end) = left.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = left.split_at(end);
            left = &rest[1..];
            self.keep(line)?;
            let whole = std::mem::take(&mut self.buffer);
            self.line += 1;
            self.take(now, &whole)?;
        }
        self.keep(left)
    }

    /// Its standard output has ended. A last line without a newline counts.
    pub fn finish(mut self, now: Instant) -> Result<Transcript, ContractViolation> {
        let rest = std::mem::take(&mut self.buffer);
        if !rest.is_empty() {
            self.line += 1;
            self.take(now, &rest)?;
        }
        Ok(self.transcript)
    }

    /// What it has said so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// How many fetches it has not reported.
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), ContractViolation> {
        self.buffer.extend_from_slice(&bytes[..bytes.len().min(LONGEST_LINE + 1)]);
        if self.buffer.len() > LONGEST_LINE {
            self.line += 1;
            let line = std::mem::take(&mut self.buffer);
            return Err(self.violation(&line, format!("longer than {LONGEST_LINE} bytes")));
        }
        Ok(())
    }

    fn take(&mut self, at: Instant, line: &[u8]) -> Result<(), ContractViolation> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let parsed: OutputLine = serde_json::from_slice(line).map_err(|error| {
            self.violation(line, format!("{} was expected: {error}", self.next()))
        })?;
        self.place(at, parsed).map_err(|fault| self.violation(line, fault))
    }

    /// Handles a line in its order. The error says what is wrong with it there.
    fn place(&mut self, at: Instant, line: OutputLine) -> Result<(), String> {
        let so_far = &self.transcript;
        let (is_ready, is_over) =
            (so_far.ready.is_some(), so_far.done.is_some() || so_far.unsupported.is_some());
        if is_over {
            return Err(format!("{} was expected", self.next()));
        }
        match (line, is_ready) {
            (OutputLine::Ready(line), false) => {
                if let Some(fault) = line.fault() {
                    return Err(fault);
                }
                self.transcript.ready = Some(Timed { at, line });
            }
            (OutputLine::Unsupported(line), false) => self.transcript.unsupported = Some(line),
            (OutputLine::Fetch(line), true) => {
                if let Some(fault) = line.fault() {
                    return Err(fault);
                }
                if !self.all.contains(&line.id) {
                    return Err(format!("the job has no fetch {}", line.id));
                }
                if !self.missing.remove(&line.id) {
                    return Err(format!("fetch {} was reported before", line.id));
                }
                self.transcript.fetches.push(Timed { at, line });
            }
            (OutputLine::Page(_), true) if so_far.page.is_some() => {
                return Err("the page was reported before".to_owned());
            }
            (OutputLine::Page(line), true) => {
                if let Some(fault) = line.fault() {
                    return Err(fault);
                }
                self.transcript.page = Some(Timed { at, line });
            }
            (OutputLine::Next(_), true) if so_far.next.is_some() => {
                return Err("the next load was reported before".to_owned());
            }
            (OutputLine::Next(line), true) => {
                if let Some(fault) = line.fault() {
                    return Err(fault);
                }
                self.transcript.next = Some(Timed { at, line });
            }
            (OutputLine::Done(_), true) if !self.missing.is_empty() => {
                return Err(format!("{} fetches have not been reported", self.missing.len()));
            }
            (OutputLine::Done(line), true) => self.transcript.done = Some(Timed { at, line }),
            _ => return Err(format!("{} was expected", self.next())),
        }
        Ok(())
    }

    /// What may come next, in words.
    fn next(&self) -> &'static str {
        let so_far = &self.transcript;
        match (so_far.ready.is_some(), so_far.done.is_some() || so_far.unsupported.is_some()) {
            (_, true) => "nothing more",
            (false, false) => "{\"event\":\"ready\",…}",
            (true, false) if self.missing.is_empty() => "{\"event\":\"done\",…}",
            (true, false) => "{\"event\":\"fetch\",…}",
        }
    }

    fn violation(&self, line: &[u8], fault: String) -> ContractViolation {
        let said = String::from_utf8_lossy(&line[..line.len().min(EXCERPT)]);
        ContractViolation { line: self.line, fault, said: printable(&said) }
    }
}

/// Without control characters, which could move a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if unit::is_unsafe(c) && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn quoted(said: &str) -> impl fmt::Display + use<> {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}
