//! One process of a client subject, from its start to its end. It is given its job; the link passes its packets on
//! meanwhile; each line that it prints is kept with its time. The one rule: whatever it does, it costs bounded memory
//! and bounded time, and a failure quotes the end of its standard error.

use crate::link::path::NetworkPath;
use crate::trial::outcome::failed;
use os::net::{Stop, Stopped};
use os::process::{Child, Exit, Usage};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use study::outcome::Outcome;
use subject::contract::{Job, Transcript, TranscriptReader, UNSUPPORTED};
use unit::Instant;

/// How long a subject may take to end once it has said its last line.
const END: Duration = Duration::from_secs(5);

/// Bytes of its standard error that are kept: the last ones, where reasons stand.
const STDERR_KEPT: usize = 4 * 1024;

/// Characters of it that a reason quotes.
const QUOTED: usize = 400;

/// A process of a subject that is to be run.
pub(crate) struct SubjectProcess<'a> {
    /// What the subject is called in reasons.
    pub(crate) name: &'a str,
    /// What it has to do.
    pub(crate) job: &'a Job,
    /// When it has failed for taking too long.
    pub(crate) deadline: Instant,
    /// The server, whose end ends the trial.
    pub(crate) server: BorrowedFd<'a>,
}

/// A process that did its work.
pub(crate) struct ProcessRun {
    /// What it said.
    pub(crate) transcript: Transcript,
    /// When it was started.
    pub(crate) started: Instant,
    /// When it had ended.
    pub(crate) ended: Instant,
    /// What it and its children used.
    pub(crate) usage: Usage,
    /// Their processor time until it was ready.
    pub(crate) cpu_until_ready: Option<Duration>,
}

/// The command of a subject: its job in a file on standard input, so that nobody waits for it to be read.
pub(crate) fn command(words: &[String], job: &Job, folder: &Path) -> io::Result<Command> {
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_vec(job)?)?;
    let (program, arguments) =
        words.split_first().ok_or_else(|| io::Error::other("a subject without a program"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(File::open(&file)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

impl SubjectProcess<'_> {
    /// Starts the process by `spawn` and reads what it says, to its end.
    pub(crate) fn run(
        &self,
        path: &mut NetworkPath<'_>,
        spawn: impl FnOnce() -> Result<Child, Outcome>,
    ) -> Result<ProcessRun, Outcome> {
        let started = os::clock::now();
        let mut child = spawn()?;
        let reader = TranscriptReader::new(self.job.fetches.iter().map(|fetch| fetch.id));
        let mut output = Output {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            reader,
            stderr_bytes: Vec::new(),
            cpu_until_ready: None,
            last_line_at: None,
        };
        let exit = self.read_to_end(path, &mut child, &mut output)?;
        let ended = os::clock::now();
        let (words, cpu_until_ready) = (output.stderr_tail(), output.cpu_until_ready);
        if exit.status.code() == Some(UNSUPPORTED) {
            return Err(unsupported(self.name, output.reader.transcript(), &words));
        }
        let missing = output.reader.missing();
        let transcript = output.reader.finish(ended).map_err(|violation| {
            self.failed(&format!("broke the subject contract: {violation}"), &words)
        })?;
        if transcript.done.is_none() || !exit.status.success() {
            let told = self.job.fetches.len() - missing;
            let how = how_it_ended(exit.status);
            let early = match transcript.ready {
                None => format!("ended before it was ready ({how})"),
                Some(_) if transcript.done.is_none() => {
                    format!("ended early ({how}), after {told} of {} fetches", told + missing)
                }
                Some(_) => format!("said that it was done, and then broke ({how})"),
            };
            return Err(self.failed(&early, &words));
        }
        Ok(ProcessRun { transcript, started, ended, usage: exit.usage, cpu_until_ready })
    }

    /// Until the process has ended by itself. Dropping the child on the way out ends it.
    fn read_to_end(
        &self,
        path: &mut NetworkPath<'_>,
        child: &mut Child,
        output: &mut Output,
    ) -> Result<Exit, Outcome> {
        loop {
            let end = output.last_line_at.map(|last| last + END);
            let deadline = end.map_or(self.deadline, |end| end.min(self.deadline));
            let mut readable = vec![child.as_fd(), self.server];
            readable.extend(output.stdout.as_ref().map(AsFd::as_fd));
            readable.extend(output.stderr.as_ref().map(AsFd::as_fd));
            let stop = Stop { readable: &readable, deadline: Some(deadline) };
            let stopped = path.run_until(stop).map_err(failed)?;
            // The bytes first: what it said before it ended counts.
            let now = os::clock::now();
            output.read(now).map_err(|violation| {
                self.failed(
                    &format!("broke the subject contract: {violation}"),
                    &output.stderr_tail(),
                )
            })?;
            if output.cpu_until_ready.is_none() && output.reader.transcript().ready.is_some() {
                output.cpu_until_ready = child.cpu_time();
            }
            if let Some(exit) = child.wait(Some(Duration::ZERO)).map_err(failed)? {
                output.drain(now).map_err(|violation| {
                    self.failed(
                        &format!("broke the subject contract: {violation}"),
                        &output.stderr_tail(),
                    )
                })?;
                return Ok(exit);
            }
            if os::process::is_readable(self.server).map_err(failed)? {
                return Err(self.failed("was stopped: the server died", &output.stderr_tail()));
            }
            if stopped == Stopped::Deadline {
                return Err(self.overdue(output, end.is_some_and(|end| end <= deadline)));
            }
        }
    }

    fn overdue(&self, output: &Output, after_its_end: bool) -> Outcome {
        let missing = output.reader.missing();
        let (told, all) = (self.job.fetches.len() - missing, self.job.fetches.len());
        let what = match (&output.reader.transcript().ready, after_its_end) {
            (_, true) => format!("did not end within {} s of its last line", END.as_secs()),
            (None, false) => "was not ready in time".to_owned(),
            (Some(_), false) => format!("did not end in time, after {told} of {all} fetches"),
        };
        self.failed(&what, &output.stderr_tail())
    }

    fn failed(&self, what: &str, words: &str) -> Outcome {
        let words = if words.is_empty() {
            String::new()
        } else {
            format!("; the end of its standard error: {words}")
        };
        failed(format!("{} {what}{words}", self.name))
    }
}

/// What a subject has printed so far.
struct Output {
    stdout: Option<std::process::ChildStdout>,
    stderr: Option<std::process::ChildStderr>,
    reader: TranscriptReader,
    stderr_bytes: Vec<u8>,
    /// Its processor time until it was ready.
    cpu_until_ready: Option<Duration>,
    /// When its last line came.
    last_line_at: Option<Instant>,
}

impl Output {
    /// Takes what is there, a piece of each at most, so that packets are not kept waiting.
    fn read(&mut self, now: Instant) -> Result<bool, subject::contract::ContractViolation> {
        let mut piece = [0; 16 * 1024];
        let mut any = false;
        if let Some(count) = take(&mut self.stdout, &mut piece) {
            any = true;
            self.reader.read(now, &piece[..count])?;
            let told = self.reader.transcript();
            if self.last_line_at.is_none() && (told.done.is_some() || told.unsupported.is_some()) {
                self.last_line_at = Some(now);
            }
        }
        if let Some(count) = take(&mut self.stderr, &mut piece) {
            any = true;
            self.stderr_bytes.extend_from_slice(&piece[..count]);
            let surplus = self.stderr_bytes.len().saturating_sub(STDERR_KEPT);
            self.stderr_bytes.drain(..surplus);
        }
        Ok(any)
    }

    /// Takes the rest that an ended process has left in its pipes; what its children still write is not waited for.
    fn drain(&mut self, now: Instant) -> Result<(), subject::contract::ContractViolation> {
        const PIPES: usize = 64;
        for _ in 0..PIPES {
            if !self.read(now)? {
                break;
            }
        }
        Ok(())
    }

    /// The end of what it said on standard error, on one line.
    fn stderr_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr_bytes);
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let joined = lines.join(" | ");
        let printable: String =
            joined.chars().map(|c| if unit::is_unsafe(c) { '\u{fffd}' } else { c }).collect();
        let skipped = printable.chars().count().saturating_sub(QUOTED);
        let mut quoted: String = printable.chars().skip(skipped).collect();
        if skipped > 0 {
            quoted.insert(0, '…');
        }
        quoted
    }
}

/// Reads a piece of a pipe where one is there at once; closes one that has ended. None: nothing.
fn take<P: Read + AsFd>(pipe: &mut Option<P>, piece: &mut [u8]) -> Option<usize> {
    let open = pipe.as_mut()?;
    if !os::process::is_readable(open.as_fd()).unwrap_or(true) {
        return None;
    }
    match open.read(piece) {
        Ok(count) if count > 0 => Some(count),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(0),
        Ok(_) | Err(_) => {
            *pipe = None;
            None
        }
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

fn unsupported(name: &str, transcript: &Transcript, words: &str) -> Outcome {
    let usual = || "take the contender out, or mend what it lacks".to_owned();
    match &transcript.unsupported {
        Some(line) => Outcome::Unsupported {
            reason: format!("{name}: {}", line.reason),
            remedy: line.remedy.clone().unwrap_or_else(usual),
        },
        None => {
            let words = if words.is_empty() { "it does not say why" } else { words };
            Outcome::Unsupported {
                reason: format!("{name} cannot do this: {words}"),
                remedy: usual(),
            }
        }
    }
}
