//! `wirelap get`: our own downloader, by the flags that it shares with curl.

use super::drive::{Drive, Heard, Telling, silent};
use super::{Say, ToolError, target};
use crate::contract::{FetchLine, Job, Line, Pattern, Tls, Transport};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::process::Command;

pub(super) fn run(job: &Job, say: &mut Say<'_>) -> Result<(), ToolError> {
    if let Pattern::Staggered { .. } = job.pattern {
        return Err(ToolError::unable(
            "wirelap get fetches as fast as it can, and not by the clock",
        ));
    }
    let command = command(job)?;
    let mut drive = Drive::begin(say, "wirelap get", false)?;
    let mut missing: BTreeSet<u32> = job.fetches.iter().map(|fetch| fetch.id).collect();
    let status = drive.run(command, Telling::Output, |at, text| {
        let Ok(told) = serde_json::from_str::<Told>(text) else { return Heard::Nothing };
        let asked = job.fetches.iter().find(|f| f.url == told.url && missing.contains(&f.id));
        let Some(fetch) = asked else { return Heard::Nothing };
        missing.remove(&fetch.id);
        Heard::Say(Line::Fetch(told.line(fetch.id, at)))
    })?;
    for id in missing {
        let at = drive.now_ms();
        let error = Some(silent("wirelap get", status));
        drive.say(Line::Fetch(FetchLine { error, ..FetchLine::at(id, at, at) }))?;
    }
    drive.end(None)
}

fn command(job: &Job) -> Result<Command, ToolError> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.arg("get").arg("--json");
    match job.transport {
        Transport::Http1 => command.arg("--http1.1"),
        Transport::H2 => command.arg("--http2"),
        other => return Err(ToolError::unable(format!("wirelap get does not speak {other}"))),
    };
    if job.tls == Tls::V1_2 {
        return Err(ToolError::unable("wirelap get speaks the newest TLS that the server does"));
    }
    if let Some(trust) = &job.trust {
        command.arg("--cacert").arg(trust);
    }
    command.arg("--connections").arg(job.connections.to_string());
    for fetch in &job.fetches {
        command.arg("-o").arg(target(job, fetch.file.as_deref())).arg(&fetch.url);
    }
    Ok(command)
}

/// A line of `wirelap get --json`; what it does not have is not told.
#[derive(Debug, Deserialize)]
struct Told {
    url: String,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    duration_ms: Option<f64>,
}

impl Told {
    fn line(self, id: u32, at: f64) -> FetchLine {
        let started = (at - self.duration_ms.unwrap_or(at)).clamp(0.0, at);
        let status = self.error.is_none().then(|| self.status.unwrap_or(200));
        FetchLine {
            status,
            error: self.error,
            protocol: self.protocol,
            bytes: self.bytes,
            ..FetchLine::at(id, started, at)
        }
    }
}
