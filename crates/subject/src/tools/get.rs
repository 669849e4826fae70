//! `wirelap get`: our own downloader, by the flags that it shares with curl. It is silent, as a build tool would have
//! it: that it ended well says that every file is there, and the time of its end is the time of all of them.

use super::drive::{Drive, Heard, Telling};
use super::{Say, ToolError, rename, target};
use crate::contract::{FetchLine, Job, Line, Pattern, Tls, Transport};
use std::process::Command;

/// As many as it takes at most.
const MOST_CONNECTIONS: u32 = 16;

pub(super) fn run(job: &Job, say: &mut Say<'_>) -> Result<(), ToolError> {
    if let Pattern::Staggered { .. } = job.pattern {
        return Err(ToolError::unable(
            "wirelap get fetches as fast as it can, and not by the clock",
        ));
    }
    let command = command(job)?;
    let mut drive = Drive::begin(say, "wirelap get", false)?;
    let mut words = String::new();
    let status = drive.run(command, Telling::Error, |_, text| {
        words.push_str(text);
        words.push(' ');
        Heard::Nothing
    })?;
    rename(job)?;
    let at = drive.now_ms();
    for fetch in &job.fetches {
        let line = FetchLine::at(fetch.id, 0.0, at);
        let line = match status.success() {
            true => FetchLine { status: Some(200), ..line },
            false => FetchLine { error: Some(format!("{} ({status})", words.trim())), ..line },
        };
        drive.say(Line::Fetch(line))?;
    }
    drive.end(None)
}

fn command(job: &Job) -> Result<Command, ToolError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["get", "--silent", "--show-error", "--retry", "0"]);
    match (job.transport, job.tls) {
        (Transport::Http1, _) => command.arg("--http1.1"),
        (Transport::H2, Tls::None) => command.arg("--http2-prior-knowledge"),
        (Transport::H2, _) => command.arg("--http2"),
        (other, _) => return Err(ToolError::unable(format!("wirelap get does not speak {other}"))),
    };
    if job.tls == Tls::V1_2 {
        return Err(ToolError::unable("wirelap get speaks the newest TLS that the server does"));
    }
    if let Some(trust) = &job.trust {
        command.arg("--cacert").arg(trust);
    }
    command.arg("--connections").arg(job.connections.min(MOST_CONNECTIONS).to_string());
    match (job.fetches.as_slice(), &job.output) {
        ([only], _) => command.arg("-o").arg(target(job, only.file.as_deref())),
        (_, Some(folder)) => command.arg("--output-dir").arg(folder),
        (_, None) => return Err(ToolError::unable("wirelap get writes files, and drops none")),
    };
    command.args(job.fetches.iter().map(|fetch| &fetch.url));
    Ok(command)
}
