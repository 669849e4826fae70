//! `wirelap get`: our own downloader, by the flags that it shares with curl. It reports nothing about single files, as
//! build tools prefer. Its success means that every file is there, and its end is the time of all of them. It reports
//! its connections by `-v`.

use super::drive::{Parsed, Stream, ToolRun};
use super::{Emit, ToolError, rename};
use crate::contract::{Fetch, FetchLine, Job, OutputLine, Pattern, Tls, Transport};
use std::path::{Path, PathBuf};
use std::process::Command;

/// As many as it takes at most.
const MOST_CONNECTIONS: u32 = 16;

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let (folder, files) = files(job)?;
    let command = command(job, folder, &files)?;
    let mut tool = ToolRun::begin(emit, "wirelap get", job.key_log.is_some())?;
    let mut words = String::new();
    let mut connections = Vec::new();
    let status = tool.run(command, Stream::Error, |_, text| {
        match Connection::read(text) {
            Some(connection) => connections.push(connection),
            None => {
                words.push_str(text);
                words.push(' ');
            }
        }
        Parsed::Nothing
    })?;
    if let [_, _, ..] = files[..] {
        rename(job)?;
    }
    let at = tool.now_ms();
    for fetch in &job.fetches {
        let line = FetchLine {
            protocol: the_one(connections.iter().map(|connection| &connection.protocol)),
            tls: the_one(connections.iter().map(|connection| &connection.tls)).flatten(),
            ..FetchLine::at(fetch.id, 0.0, at)
        };
        let line = match status.success() {
            true => FetchLine { status: Some(200), ..line },
            false => FetchLine { error: Some(format!("{} ({status})", words.trim())), ..line },
        };
        tool.emit(OutputLine::Fetch(line))?;
    }
    tool.end(u32::try_from(connections.len()).ok())
}

/// The folder and its files. A body that is not wanted has to go somewhere too.
fn files(job: &Job) -> Result<(&Path, Vec<PathBuf>), ToolError> {
    let folder = job.output.as_deref();
    let path = |name: &String| folder.map(|folder| folder.join(name));
    let files: Option<Vec<PathBuf>> =
        job.fetches.iter().map(|fetch| fetch.file.as_ref().and_then(path)).collect();
    folder
        .zip(files)
        .ok_or_else(|| ToolError::unable("wirelap get writes files, and drops no body"))
}

fn command(job: &Job, folder: &Path, files: &[PathBuf]) -> Result<Command, ToolError> {
    able(job)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["get", "--silent", "--show-error", "--verbose", "--retry", "0", "--no-resume"]);
    command.arg(format!("--max-time={:.3}", job.timeout().as_secs_f64()));
    match (job.transport, job.tls) {
        (Transport::Http1, _) => command.arg("--http1.1"),
        (Transport::H2, Tls::None) => command.arg("--http2-prior-knowledge"),
        (Transport::H2, _) => command.arg("--http2"),
        (Transport::H3, _) => command.arg("--http3"),
        (other, _) => return Err(ToolError::unable(format!("wirelap get does not speak {other}"))),
    };
    if let Some(trust) = &job.trust {
        command.arg("--cacert").arg(trust);
    }
    if let Some(keys) = &job.key_log {
        command.env("SSLKEYLOGFILE", keys);
    }
    if let Some(windows) = job.receive_windows {
        command.arg(format!("--stream-window={}", windows.stream));
        command.arg(format!("--connection-window={}", windows.connection));
    }
    command.arg("--connections").arg(job.connections.min(MOST_CONNECTIONS).to_string());
    if job.pattern == Pattern::Serial {
        command.args(["--parallel-max", "1"]);
    }
    match files {
        [only] => command.arg("-o").arg(only),
        // Files have their URLs' names until the end.
        _ => command.arg("--output-dir").arg(folder),
    };
    command.args(job.fetches.iter().map(|fetch| &fetch.url));
    Ok(command)
}

/// What it has no flag for.
fn able(job: &Job) -> Result<(), ToolError> {
    let no = |reason: &str| Err(ToolError::unable(reason));
    match job.pattern {
        Pattern::Staggered { .. } => {
            no("wirelap get fetches as fast as it can, and not by the clock")
        }
        _ if !job.fetches.iter().all(Fetch::is_plain_get) => no("wirelap get makes plain GETs"),
        _ if job.tls == Tls::V1_2 => no("wirelap get speaks the newest TLS that the server does"),
        _ if !job.keep_alive && job.fetches.len() > 1 => no("wirelap get keeps its connections"),
        _ if !job.resumption && job.tls != Tls::None && job.connections > 1 => {
            no("wirelap get takes up TLS sessions where it opens several connections")
        }
        _ => Ok(()),
    }
}

/// A connection, as `-v` reports it at the end.
#[derive(Debug, PartialEq, Eq)]
struct Connection {
    protocol: String,
    tls: Option<String>,
}

impl Connection {
    /// `* connection 0 to host (address): h2, TLSv1.3 CIPHER, 3 requests, 240000 bytes received`
    fn read(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once("* connection ")?;
        let (_, rest) = rest.split_once("): ")?;
        let mut parts = rest.split(", ");
        let protocol = parts.next()?.to_owned();
        let tls = parts.next().and_then(|part| part.split(' ').next());
        let tls = tls.filter(|version| version.starts_with("TLSv")).map(str::to_owned);
        Some(Self { protocol, tls })
    }
}

/// The value that all of them have; None where they differ or there is none.
fn the_one<'a, T: PartialEq + Clone + 'a>(mut all: impl Iterator<Item = &'a T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ReceiveWindows;
    use crate::tools::browser::tests::job;

    #[test]
    fn a_line_of_verbose_tells_of_a_connection() {
        let read = |text: &str| {
            let connection = Connection::read(text)?;
            Some((connection.protocol, connection.tls))
        };
        let rest = "3 requests, 240000 bytes received";
        assert_eq!(
            read(&format!("* connection 0 to a.test:443 (10.0.0.1:443): h2, TLSv1.3 X, {rest}")),
            Some(("h2".to_owned(), Some("TLSv1.3".to_owned())))
        );
        assert_eq!(
            read(&format!("* connection 1 to a.test:80 (10.0.0.1:80): http/1.1, {rest}")),
            Some(("http/1.1".to_owned(), None))
        );
        assert_eq!(read("error: the server closed the connection (why not): so"), None);
    }

    #[test]
    fn receive_windows_are_told_where_the_job_has_them() {
        let mut job = job(&["https://far.test/1MB"]);
        let words = |job: &Job| {
            let command = command(job, Path::new("out"), &[PathBuf::from("out/0")]).unwrap();
            let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
            words.filter(|word| word.contains("window")).collect::<Vec<_>>()
        };
        assert!(words(&job).is_empty());
        job.receive_windows = Some(ReceiveWindows { stream: 70_000, connection: 80_000 });
        assert_eq!(words(&job), ["--stream-window=70000", "--connection-window=80000"]);
    }

    #[test]
    fn what_connections_say_counts_where_they_agree() {
        assert_eq!(the_one([1, 1].iter()), Some(1));
        assert_eq!(the_one([1, 2].iter()), None);
        assert_eq!(the_one::<u8>([].iter()), None);
    }
}
