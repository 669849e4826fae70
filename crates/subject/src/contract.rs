//! The subject contract, versions 1 to 3: a JSON job in, JSON lines out. `docs/subjects.md` describes it for authors of
//! subjects. This module has the same as types. Nothing here starts a program.

mod job;
mod line;
mod page;
#[cfg(test)]
mod tests;
mod transcript;

pub use job::{
    EarlierVisit, Fetch, Job, Leaves, Message, Negotiation, Pattern, ReceiveWindows, Replay, Tls,
    Transport, Workload,
};
pub use line::{DoneLine, FetchLine, NextLine, OutputLine, ReadyLine, UnsupportedLine};
pub use page::PageLine;
pub use transcript::{ContractViolation, Timed, Transcript, TranscriptReader};

/// The version of a job whose fetches are plain GETs.
pub const CONTRACT: u32 = 1;

/// The version of a job in which a fetch has a method, header fields or a body. A subject that knows only version 1 would
/// make a GET of it.
pub const CONTRACT_WITH_REQUESTS: u32 = 2;

/// The version of a job that sets receive windows. A subject that knows only version 2 would have its own.
pub const CONTRACT_WITH_WINDOWS: u32 = 3;

/// The exit code of a subject that cannot do its job (the same as quic-interop-runner's).
pub const UNSUPPORTED: i32 = 127;

/// The JSON Schema of a job, as published in `docs/schema/subject-job.schema.json`.
pub fn job_schema() -> serde_json::Value {
    schemars::schema_for!(Job).to_value()
}

/// The JSON Schema of a line, as published in `docs/schema/subject-line.schema.json`.
pub fn line_schema() -> serde_json::Value {
    schemars::schema_for!(OutputLine).to_value()
}
