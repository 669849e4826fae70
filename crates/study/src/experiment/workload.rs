//! What a trial does, independent of how: values that the runner hands to whatever does it.

use super::calls::{CallsWorkload, Pattern};
use super::download::DownloadWorkload;
use super::echo::EchoWorkload;
use super::page::PageWorkload;
use super::stream::StreamWorkload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One workload with a name that is its own within the experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// What it is called in tables and keys.
    pub name: String,
    /// The workload whose verdicts this one only puts to the proof; None for one with verdicts of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_of: Option<String>,
    /// What is done.
    #[serde(flatten)]
    pub kind: WorkloadKind,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadKind {
    /// A synthetic page: an HTML document and its images.
    Page(PageWorkload),
    /// The user's own page, from a HAR file.
    Har(HarWorkload),
    /// Calls of an API.
    Calls(CallsWorkload),
    /// Files to disk.
    Download(DownloadWorkload),
    /// Small messages and their echoes.
    Echo(EchoWorkload),
    /// Tokens that the server sends one by one.
    Stream(StreamWorkload),
}

/// A recorded page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HarWorkload {
    /// The HAR file, as it was named.
    pub file: String,
    /// Whether the gaps between arrival and asking are replayed.
    pub think: Think,
    /// What makes a resource known.
    pub dependencies: Dependencies,
    /// Where its hosts are.
    #[serde(default, skip_serializing_if = "RecordedHosts::are_apart")]
    pub hosts: RecordedHosts,
}

/// Where the hosts of a recorded page are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedHosts {
    /// Each has its own address and its own certificate.
    #[default]
    Apart,
    /// Those that shared connections in the recording have one address and a certificate for all, so that they share
    /// connections of HTTP/2 and HTTP/3 again.
    Recorded,
}

impl RecordedHosts {
    /// Whether each has its own address.
    pub fn are_apart(&self) -> bool {
        *self == Self::Apart
    }
}

/// Client time of a recorded page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Think {
    /// As it was recorded.
    #[serde(rename = "recorded")]
    Recorded,
    /// None: a client that loses no time.
    #[serde(rename = "0")]
    None,
}

/// What makes a resource of a recorded page known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dependencies {
    /// The arrival of its initiator, given or inferred.
    Inferred,
    /// The arrival of the document: everything is found at once.
    Flat,
}

impl Workload {
    /// A synthetic page under the name that its figures give it.
    pub fn page(page: PageWorkload) -> Self {
        Self { name: page.name(), check_of: None, kind: WorkloadKind::Page(page) }
    }

    /// Calls under the name that their figures give them.
    pub fn calls(calls: CallsWorkload) -> Self {
        Self { name: calls.name(), check_of: None, kind: WorkloadKind::Calls(calls) }
    }

    /// A download under the name that its figures give it.
    pub fn download(download: DownloadWorkload) -> Self {
        Self { name: download.name(), check_of: None, kind: WorkloadKind::Download(download) }
    }

    /// Messages under the name that their figures give them.
    pub fn echo(echo: EchoWorkload) -> Self {
        Self { name: echo.name(), check_of: None, kind: WorkloadKind::Echo(echo) }
    }

    /// Streams under the name that their figures give them.
    pub fn stream(stream: StreamWorkload) -> Self {
        Self { name: stream.name(), check_of: None, kind: WorkloadKind::Stream(stream) }
    }

    /// A recorded page under the name of its file.
    pub fn har(har: HarWorkload) -> Self {
        let path = har.file.trim_end_matches('/');
        let path = path.strip_suffix("/site.json").unwrap_or(path);
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let name = file.strip_suffix(".har").unwrap_or(file).to_owned();
        Self { name, check_of: None, kind: WorkloadKind::Har(har) }
    }

    /// Whether the client waits between its requests by itself: that time is no cause of anything.
    pub fn is_paced(&self) -> bool {
        let WorkloadKind::Calls(calls) = &self.kind else { return false };
        matches!(calls.pattern, Pattern::Staggered { .. } | Pattern::Mixed { .. })
    }

    /// Whether it is made of messages, which a WebSocket can carry.
    pub(super) fn is_of_messages(&self) -> bool {
        matches!(self.kind, WorkloadKind::Echo(_) | WorkloadKind::Stream(_))
    }

    /// This workload, and where it is a recorded page, the same with flat dependencies to check its verdicts.
    pub fn with_check(self) -> Vec<Self> {
        let WorkloadKind::Har(har) = &self.kind else { return vec![self] };
        let flat = Self {
            name: format!("{}+flat", self.name),
            check_of: Some(self.name.clone()),
            kind: WorkloadKind::Har(HarWorkload {
                dependencies: Dependencies::Flat,
                ..har.clone()
            }),
        };
        vec![self, flat]
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            WorkloadKind::Page(page) => page.fmt(f),
            WorkloadKind::Har(har) => write!(f, "{} as recorded", har.file),
            WorkloadKind::Calls(calls) => calls.fmt(f),
            WorkloadKind::Download(download) => download.fmt(f),
            WorkloadKind::Echo(echo) => echo.fmt(f),
            WorkloadKind::Stream(stream) => stream.fmt(f),
        }
    }
}
