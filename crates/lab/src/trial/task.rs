//! What a trial's client has to do, and what that asks of the far side: the workload made concrete.

use crate::error::CliError;
use crate::trial::download_files;
use crate::trial::echo::EchoTask;
use crate::trial::own_calls::{self, OwnCall};
use crate::trial::stream::StreamTask;
use client::Pattern;
use page::{Page, Table, Url};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use study::experiment::{self, CallsWorkload, DownloadWorkload, Processes, WorkloadKind};
use study::plan::{Cell, WorkFacts};
use unit::{ByteSize, Seed};

/// The host of workloads that have none of their own; `.test` is reserved for such names (RFC 6761 §6.2).
pub(super) const SYNTHETIC_HOST: &str = "origin.test";

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Load a page.
    Page {
        /// The page.
        page: Page,
        /// Whether its hosts answer from a record.
        recorded: bool,
    },
    /// Call an API.
    Calls {
        /// When each is made.
        pattern: CallPattern,
        /// What is asked for, in order.
        calls: Vec<Call>,
    },
    /// Send messages and have them back.
    Echo(EchoTask),
    /// Receive streams of tokens.
    Stream(StreamTask),
    /// Fetch files to disk.
    Download {
        /// The files, in order.
        files: Vec<Asset>,
        /// How many processes it takes.
        processes: Processes,
        /// Connections at most; None leaves it to the contender.
        connections: Option<u32>,
    },
}

/// A file that is served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asset {
    /// Its name.
    pub(crate) name: String,
    /// Its URL.
    pub(crate) url: Url,
    /// Its bytes.
    pub(crate) bytes: u64,
}

/// [`Pattern`] as a job states it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum CallPattern {
    Serial,
    Parallel,
    Staggered(Duration),
    /// Calls in the background, one every so often, beside so many tabs.
    Mixed(Duration, u32),
}

/// One call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    /// What is asked for.
    pub(crate) url: Url,
    /// Bytes of the answer; None where only the service knows.
    pub(crate) bytes: Option<u64>,
    /// How long the server thinks.
    pub(crate) server_time: Duration,
    /// What a plain GET does not say; None for a plain GET.
    #[serde(default)]
    pub(crate) own: Option<OwnCall>,
}

impl Task {
    /// The task of `cell`; `inputs` is where its files are, and the draws are `seed`'s.
    pub(crate) fn of(cell: &Cell, inputs: &Path, seed: Seed) -> Result<Self, CliError> {
        match &cell.workload.kind {
            WorkloadKind::Page(page) => {
                let markup = cell.contender.settings.fetchpriority;
                let page = page.with_fetchpriority(markup);
                let page = crate::trial::synthetic::page(&page, SYNTHETIC_HOST)
                    .map_err(CliError::failed)?;
                Ok(Self::Page { page, recorded: false })
            }
            WorkloadKind::Har(har) => {
                let page = crate::inputs::har::read(&inputs.join(&har.file), har)?.page;
                Ok(Self::Page { page, recorded: true })
            }
            WorkloadKind::Calls(calls) => {
                let (pattern, calls) = match &calls.requests {
                    Some(_) => (calls.pattern, own_calls::drawn(cell, calls, inputs, seed)?),
                    None => {
                        let longer = cell.contender.settings.server_time;
                        let made = Self::calls(calls, longer, seed).map_err(CliError::failed)?;
                        (calls.pattern, made)
                    }
                };
                Ok(Self::Calls { pattern: pattern.into(), calls })
            }
            WorkloadKind::Download(download) => Self::download(download).map_err(CliError::failed),
            WorkloadKind::Echo(echo) => {
                EchoTask::of(echo, SYNTHETIC_HOST, seed).map(Self::Echo).map_err(CliError::failed)
            }
            WorkloadKind::Stream(stream) => StreamTask::of(stream, SYNTHETIC_HOST, seed)
                .map(Self::Stream)
                .map_err(CliError::failed),
        }
    }

    fn calls(
        workload: &CallsWorkload,
        longer: Duration,
        seed: Seed,
    ) -> Result<Vec<Call>, page::UrlError> {
        let call = |nth: u32| {
            let server_time = workload.server_time.of(seed, u64::from(nth)) + longer;
            let (bytes, millis) = (workload.bytes.0, server_time.as_millis());
            let url =
                format!("http://{SYNTHETIC_HOST}/api?call={nth}&bytes={bytes}&delay_ms={millis}");
            Ok(Call { url: url.parse()?, bytes: Some(bytes), server_time, own: None })
        };
        (0..workload.count).map(call).collect()
    }

    fn download(workload: &DownloadWorkload) -> Result<Self, page::UrlError> {
        let asset = |name: String| {
            let url =
                format!("http://{SYNTHETIC_HOST}/{}/{name}", download_files::FOLDER).parse()?;
            Ok(Asset { name, url, bytes: workload.size.0 })
        };
        Ok(Self::Download {
            files: workload.files().into_iter().map(asset).collect::<Result<_, _>>()?,
            processes: workload.processes,
            connections: workload.connections,
        })
    }

    /// What it asks for with GET, in order, and the bytes of each body where they are known.
    pub(crate) fn bodies(&self) -> Vec<(Url, Option<u64>)> {
        match self {
            Self::Page { page, .. } => {
                let with_body = page.resources().iter().filter(|one| one.is_plain_get());
                with_body.map(|one| (one.url.clone(), Some(one.body.0))).collect()
            }
            Self::Calls { calls, .. } => {
                calls.iter().map(|call| (call.url.clone(), call.bytes)).collect()
            }
            Self::Download { files, .. } => {
                files.iter().map(|file| (file.url.clone(), Some(file.bytes))).collect()
            }
            // Messages have no URLs of their own.
            Self::Echo(_) | Self::Stream(_) => Vec::new(),
        }
    }

    /// Every host that it asks, in the order of first use.
    pub(crate) fn hosts(&self) -> Vec<String> {
        match self {
            Self::Page { page, .. } => page.hosts().iter().map(|host| host.name.clone()).collect(),
            Self::Calls { calls, .. } => {
                let host = calls.first().map_or(SYNTHETIC_HOST, |call| call.url.host.as_str());
                vec![host.trim_matches(['[', ']']).to_owned()]
            }
            Self::Download { .. } | Self::Echo(_) | Self::Stream(_) => {
                vec![SYNTHETIC_HOST.to_owned()]
            }
        }
    }

    /// Every port that it asks, where `usual` is the scheme's.
    pub(crate) fn ports(&self, usual: u16) -> BTreeSet<u16> {
        match self {
            Self::Page { page, .. } => {
                page.resources().iter().map(|resource| resource.url.port.unwrap_or(usual)).collect()
            }
            Self::Calls { calls, .. } => {
                let port = calls.first().and_then(|call| call.url.port);
                BTreeSet::from([port.unwrap_or(usual)])
            }
            Self::Download { .. } | Self::Echo(_) | Self::Stream(_) => BTreeSet::from([usual]),
        }
    }

    /// The page, where it is a recorded one.
    pub(crate) fn recorded_page(&self) -> Option<&Page> {
        match self {
            Self::Page { page, recorded: true } => Some(page),
            _ => None,
        }
    }

    /// What our origin answers for each host, where the recording or the user's requests say it.
    pub(crate) fn table(&self) -> Option<Table> {
        match self {
            Self::Page { page, recorded: true } => Some(page.table()),
            Self::Calls { calls, .. } => own_calls::table(calls),
            Self::Page { .. } | Self::Download { .. } | Self::Echo(_) | Self::Stream(_) => None,
        }
    }
}

impl From<experiment::Pattern> for CallPattern {
    fn from(pattern: experiment::Pattern) -> Self {
        match pattern {
            experiment::Pattern::Serial => Self::Serial,
            experiment::Pattern::Parallel => Self::Parallel,
            experiment::Pattern::Staggered { every } => Self::Staggered(every),
            experiment::Pattern::Mixed { every, tabs } => Self::Mixed(every, tabs),
        }
    }
}

impl CallPattern {
    /// As the contract gives it to a client subject; None where the contract has no word for it.
    pub(crate) fn in_contract(self) -> Option<subject::contract::Pattern> {
        use subject::contract::Pattern;
        match self {
            Self::Serial => Some(Pattern::Serial),
            Self::Parallel => Some(Pattern::Parallel),
            Self::Staggered(every) => {
                Some(Pattern::Staggered { every_ms: every.as_secs_f64() * 1e3 })
            }
            Self::Mixed(..) => None,
        }
    }

    /// The lists that the calls are dealt out to.
    pub(crate) fn lists(self) -> Vec<Pattern> {
        match self {
            Self::Serial => vec![Pattern::Serial],
            Self::Parallel => vec![Pattern::Parallel],
            Self::Staggered(every) => vec![Pattern::Staggered { every }],
            Self::Mixed(every, tabs) => {
                let tabs = (0..tabs).map(|_| Pattern::Serial);
                std::iter::once(Pattern::Staggered { every }).chain(tabs).collect()
            }
        }
    }
}

/// What the plan may know of calls beforehand: while the server thinks, and while a call is on its way over the link of `rtt`, the
/// link is idle. Calls that overlap think and travel at the same time.
pub(crate) fn call_facts(calls: &CallsWorkload, rtt: Duration) -> WorkFacts {
    let count = calls.count;
    let (experiment::ServerTime::Fixed(think)
    | experiment::ServerTime::Uniform { from: think, .. }) = calls.server_time;
    let think = think + rtt;
    let waiting = match calls.pattern {
        experiment::Pattern::Serial => think * count,
        experiment::Pattern::Parallel => think,
        experiment::Pattern::Staggered { every } => think + every * count.saturating_sub(1),
        experiment::Pattern::Mixed { tabs, .. } => think * count.div_ceil(tabs + 1),
    };
    WorkFacts { bytes: ByteSize(calls.bytes.0 * u64::from(count)), waiting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_of_a_block_meets_the_same_server_times_and_no_two_calls_are_one() {
        let toml = "name = \"t\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"h2\"\n\
                    [[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 20\nbytes = 2000\n\
                    server_time = \"uniform 300ms..500ms\"\n\
                    [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
                    [[links]]\nname = \"lan\"\n";
        let experiment: experiment::Experiment = toml.parse().unwrap();
        let mut cell = Cell {
            workload: experiment.workloads[0].clone(),
            contender: experiment.contenders[0].clone(),
            link: experiment.links[0].clone(),
        };
        let urls = |cell: &Cell, seed| -> Vec<String> {
            match Task::of(cell, Path::new("."), Seed(seed)).unwrap() {
                Task::Calls { calls, .. } => {
                    calls.iter().map(|call| call.url.to_string()).collect()
                }
                _ => panic!("calls are calls"),
            }
        };
        assert_eq!(urls(&cell, 1), urls(&cell, 1));
        assert_ne!(urls(&cell, 1), urls(&cell, 2));
        assert_eq!(urls(&cell, 1).iter().collect::<BTreeSet<_>>().len(), 20);
        assert!(
            urls(&cell, 1)[0].starts_with("http://origin.test/api?call=0&bytes=2000&delay_ms=")
        );
        let millis = |url: &str| url.rsplit_once('=').unwrap().1.parse::<u64>().unwrap();
        let usual = millis(&urls(&cell, 1)[3]);
        cell.contender.settings.server_time = Duration::from_millis(7);
        assert_eq!(millis(&urls(&cell, 1)[3]), usual + 7);
    }
}
