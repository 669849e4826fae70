//! Command-line clients behind the subject contract. Each tool's file turns a job into the tool's arguments, and the
//! tool's output into lines. What a tool does not report is left out, and what it cannot do is unsupported, so that no
//! figure stands for work that was not done. Nothing here prints; the caller gets the lines.

pub(crate) mod browser;
pub(crate) mod chromium;
mod curl;
mod drive;
mod firefox;
mod get;
mod h2load;
mod nghttp;
mod wget;
mod wrk;

pub use browser::NOT_ASKED;

use crate::contract::{Job, OutputLine, Tls, UnsupportedLine};
use std::io;

/// Takes the lines that an adapter emits.
pub type Emit<'a> = dyn FnMut(OutputLine) -> io::Result<()> + 'a;

/// Why a tool did not do its job.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It cannot, here or at all.
    #[error("{}", .0.reason)]
    Unsupported(UnsupportedLine),
    /// It should have, and broke.
    #[error("{0}")]
    Broken(String),
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl ToolError {
    /// It cannot do this at all.
    fn unable(reason: impl Into<String>) -> Self {
        Self::Unsupported(UnsupportedLine { reason: reason.into(), remedy: None })
    }
}

/// What runs a job by a tool. A browser's has the program, since one adapter serves several.
enum Adapter {
    Tool(fn(&Job, &mut Emit<'_>) -> Result<(), ToolError>),
    Browser(fn(&Job, &str, &mut Emit<'_>) -> Result<(), ToolError>),
}

/// The tools by name.
const TOOLS: &[(&str, Adapter)] = &[
    ("chromium", Adapter::Browser(chromium::run)),
    ("curl", Adapter::Tool(curl::run)),
    ("firefox", Adapter::Browser(firefox::run)),
    ("get", Adapter::Tool(get::run)),
    ("h2load", Adapter::Tool(h2load::run)),
    ("nghttp", Adapter::Tool(nghttp::run)),
    ("wget", Adapter::Tool(wget::run)),
    ("wrk", Adapter::Tool(wrk::run)),
];

/// The names of all tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// Does `job` by the tool `name`. A browser is the program of this path or name.
pub fn run(
    name: &str,
    program: Option<&str>,
    job: &Job,
    emit: &mut Emit<'_>,
) -> Result<(), ToolError> {
    let tool = TOOLS.iter().find(|(known, _)| *known == name);
    let Some((_, run)) = tool else {
        return Err(ToolError::Broken(format!("there is no adapter for `{name}`")));
    };
    if job.warmup > 0 {
        return Err(ToolError::unable(format!(
            "{name} has nothing that a warm-up would leave warm"
        )));
    }
    match (run, program) {
        (Adapter::Tool(run), None) => run(job, emit),
        (Adapter::Browser(run), program) => run(job, program.unwrap_or(name), emit),
        (Adapter::Tool(_), Some(_)) => {
            Err(ToolError::Broken(format!("{name} is its own program, and takes no other")))
        }
    }
}

/// Where the body of a fetch goes.
fn target(job: &Job, file: Option<&str>) -> String {
    match (file, &job.output) {
        (Some(file), Some(folder)) => folder.join(file).to_string_lossy().into_owned(),
        _ => "/dev/null".to_owned(),
    }
}

/// Renames files to their final names, for tools that name all of them by their URLs.
fn rename(job: &Job) -> io::Result<()> {
    let Some(folder) = &job.output else { return Ok(()) };
    for fetch in &job.fetches {
        if let (Some(file), Some(name)) = (&fetch.file, fetch.url.rsplit('/').next()) {
            let from = folder.join(name);
            // Missing files have been reported already.
            if from.exists() {
                std::fs::rename(from, folder.join(file))?;
            }
        }
    }
    Ok(())
}

/// The name of a TLS version in lines; None without TLS.
fn tls_name(tls: Tls) -> Option<&'static str> {
    match tls {
        Tls::None => None,
        Tls::V1_2 => Some("TLSv1.2"),
        Tls::V1_3 => Some("TLSv1.3"),
    }
}
