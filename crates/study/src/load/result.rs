//! The result of a load run: what `--json` prints. `docs/load.md` explains each field.

use super::slo_result::SloResult;
use super::times::TimesSummary;
use crate::record::HostFacts;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace::SpokenProtocol;

/// The schema that [`LoadResult`] follows.
pub const LOAD_SCHEMA: &str = "wirelap.load/1";

/// What a load run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "wirelap load")]
pub struct LoadResult {
    /// [`LOAD_SCHEMA`].
    pub schema: String,
    /// wirelap's version.
    pub version: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// What it ran on.
    pub host: HostFacts,
    /// The command that ran it.
    pub command_line: Vec<String>,
    /// How the load was made.
    pub setting: LoadSetting,
    /// What was spoken, by ALPN's name; `ws` for WebSocket. None where no connection was made.
    #[schemars(with = "Option<String>")]
    pub protocol: Option<SpokenProtocol>,
    /// Seconds from the first request that counts to the last that was begun; of a run by number, to its end.
    pub seconds: f64,
    /// Answers within those seconds, for each of them.
    pub answers_per_second: f64,
    /// All requests that count.
    pub whole: PartResult,
    /// By stage of the schedule of rates, where there are several.
    pub stages: Vec<StageResult>,
    /// By target.
    pub targets: Vec<TargetResult>,
    /// Answers by status code.
    pub statuses: BTreeMap<String, u64>,
    /// From the request being handed down to the head of its answer.
    pub first_byte: Option<TimesSummary>,
    /// Open loop: how much later than it was due a request was begun for this client's own fault.
    pub lateness: Option<TimesSummary>,
    /// Open loop: `whole.latency` without this client's own lateness in beginning requests.
    pub latency_without_client: Option<TimesSummary>,
    /// Connections, those before anything counts too.
    pub connects: ConnectsResult,
    /// Requests of the warm-up, which count nowhere else.
    pub warm_up_requests: u64,
    /// Requests that a server said it had not acted on, and that were made again.
    pub made_again: u64,
    /// Requests of which nothing is known, because the run was stopped.
    pub unfinished: u64,
    /// Bytes received over all connections in the whole run.
    pub received_bytes: u64,
    /// Bytes sent, likewise.
    pub sent_bytes: u64,
    /// What the client itself used, in those seconds.
    pub client: ClientCpu,
    /// Whether the user ended it before its time.
    #[serde(default)]
    pub interrupted: bool,
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
    /// How it went over time, about a second each.
    pub course: Vec<Second>,
    /// What was promised, and whether it holds.
    pub slo: Option<SloResult>,
}

impl LoadResult {
    /// The rows of the course whose answers count: neither those of the warm-up, nor those of the wait for the last
    /// answers.
    pub fn counted_course(&self) -> &[Second] {
        let from = self.setting.warm_up_seconds;
        let counts = |row: &Second| {
            let begin = row.at - row.seconds;
            begin + row.seconds / 2.0 >= from && begin < from + self.seconds
        };
        let (first, last) =
            (self.course.iter().position(counts), self.course.iter().rposition(counts));
        first.zip(last).map_or(&[], |(first, last)| &self.course[first..=last])
    }
}

/// How a load was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSetting {
    /// What makes requests: the answers before them, or a clock.
    pub pace: LoopKind,
    /// Open loop: the rates, as they can be given.
    pub rates: Vec<String>,
    /// Open loop: how requests are spread over time.
    pub spacing: Option<SpacingKind>,
    /// Where random choices came from.
    pub seed: u64,
    /// Connections.
    pub connections: u32,
    /// Requests at a time on each connection that can carry several.
    pub streams: u32,
    /// Threads.
    pub threads: u32,
    /// Seconds before anything counts.
    pub warm_up_seconds: f64,
    /// Seconds after which a request is given up.
    pub timeout_seconds: f64,
}

/// What makes the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The answer to an earlier one.
    Closed,
    /// A clock, whether answers came or not.
    Open,
}

/// How the requests of an open loop are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpacingKind {
    /// At equal distances.
    Even,
    /// At random, as a Poisson process.
    Poisson,
}

impl SpacingKind {
    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// What became of a group of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartResult {
    /// Requests that ended: answers and errors.
    pub requests: u64,
    /// Answers that came whole, whatever their status.
    pub answers: u64,
    /// Of those, answers with a status of 400 or more.
    pub refused: u64,
    /// Requests that were due and never begun, because a million waited already. They count nowhere else.
    #[serde(default)]
    pub not_begun: u64,
    /// Requests without an answer, by kind; kinds that did not occur are not named.
    pub errors: BTreeMap<String, u64>,
    /// Bytes of answers' bodies.
    pub body_bytes: u64,
    /// From when a request was due (closed loop: was made) to the last byte of its answer.
    pub latency: Option<TimesSummary>,
}

impl PartResult {
    /// Requests without an answer.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// A stage of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageResult {
    /// Its rate, as it can be given.
    pub rate: String,
    /// The requests that were due in it.
    pub part: PartResult,
}

/// A target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetResult {
    /// Its method; `echo` for a WebSocket's message.
    pub method: String,
    /// Its URL.
    pub url: String,
    /// How often it is asked for beside others.
    pub weight: u32,
    /// Its requests.
    pub part: PartResult,
}

/// Connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectsResult {
    /// Those that came to where requests can be made.
    pub opened: u64,
    /// Attempts that came to nothing, by kind.
    pub errors: BTreeMap<String, u64>,
    /// TCP's handshake.
    pub tcp: Option<TimesSummary>,
    /// TLS's handshake, after TCP's.
    pub tls: Option<TimesSummary>,
    /// QUIC's handshake, which TLS's is a part of.
    #[serde(default)]
    pub quic: Option<TimesSummary>,
    /// Handshakes that resumed an earlier session; none without `--resume` or `--early-data`.
    #[serde(default)]
    pub resumed: u64,
    /// Connections whose first requests went within the handshake (0-RTT); none without `--early-data`.
    #[serde(default)]
    pub early_data: EarlyDataResult,
}

/// What became of requests within handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EarlyDataResult {
    /// Connections on which the server took them.
    pub accepted: u64,
    /// Connections on which it did not, and they were made again.
    pub rejected: u64,
}

/// What the client itself used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCpu {
    /// Processor seconds of all threads that make requests.
    pub cpu_seconds: f64,
    /// The share of its time that the busiest thread was busy.
    pub busiest_share: f64,
    /// Answers for each processor second.
    pub answers_per_cpu_second: Option<f64>,
}

/// About a second of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Its end, in seconds since the run's first request.
    pub at: f64,
    /// How long it was.
    pub seconds: f64,
    /// Answers.
    pub answers: u64,
    /// Requests that failed or were refused.
    pub errors: u64,
    /// Requests due and not begun at its end.
    pub waiting: u64,
    /// The median of its answers' times, in milliseconds.
    pub p50_ms: Option<f64>,
    /// Their 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// The schema of what `--json` prints.
pub fn load_schema() -> serde_json::Value {
    schema_for!(LoadResult).to_value()
}
