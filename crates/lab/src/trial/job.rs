//! What the runner, the worker and its two sides say to each other: one JSON value each way.

use crate::inputs::policy::PolicyText;
use crate::qlog::QlogSpec;
use crate::trial::profile::Profile;
use crate::trial::site_contents::{FarSite, ReplayCounts};
use crate::trial::task::Task;
use os::reactor::LoopTimes;
use page::Table;
use report::QlogVantage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use study::experiment::Contender;
use study::plan::TrialPlan;
use study::reconcile::ServerLog;
use trace::{CacheTally, ConnectionRecord, DeliveryRecord, FetchRecord, HintTally, TokenRecord};
use unit::Instant;

/// Runner to worker: run this trial.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrialOrder {
    /// The trial.
    pub(crate) plan: TrialPlan,
    /// Where the files that the plan's workload names are kept.
    pub(crate) inputs: PathBuf,
    /// Where TLS secrets are appended to.
    pub(crate) key_log: Option<PathBuf>,
    /// The file that its packets are kept in.
    #[serde(default)]
    pub(crate) capture: Option<PathBuf>,
    /// What the names of its qlog files begin with.
    #[serde(default)]
    pub(crate) qlog: Option<PathBuf>,
    /// The folder that a browser's film is kept in.
    #[serde(default)]
    pub(crate) film: Option<PathBuf>,
    /// What is kept of its client, where that is somebody else's.
    #[serde(default)]
    pub(crate) profile: Option<Profile>,
    /// A folder of this trial's own, which whoever gives the order makes and takes away.
    pub(crate) scratch: PathBuf,
    /// A folder for the files that are served, which the trials of a run share.
    pub(crate) served: PathBuf,
    /// A folder for files too large for memory that somebody else's server serves, which the trials of a run share.
    pub(crate) large_files: PathBuf,
    /// The process that runs this trial and others beside it: what it and all below it take is no other load.
    pub(crate) run_by: u32,
}

impl TrialOrder {
    /// The qlog files of one end.
    pub(crate) fn qlog_of(&self, end: &str) -> Option<TrialQlog> {
        let stem = self.qlog.as_ref()?;
        let mut path = stem.clone().into_os_string();
        path.push(format!(".{end}"));
        let title = format!("{}, {end}", self.plan.key);
        Some(TrialQlog { stem: path.into(), title })
    }
}

/// Worker to far: answer like this until asked to stop.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FarJob {
    /// Clear listeners.
    pub(crate) listen: Vec<SocketAddr>,
    /// TLS listeners.
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// Listeners of HTTP/3, over UDP.
    pub(crate) listen_quic: Vec<SocketAddr>,
    /// Certificate chains and keys in PEM, one for each host.
    pub(crate) identities: Vec<IdentityPem>,
    /// What the hosts of a recorded page answer; None serves what the origin makes itself.
    pub(crate) table: Option<Table>,
    /// The folder whose files are served; None: none are.
    pub(crate) root: Option<PathBuf>,
    /// Where TLS secrets are appended to.
    #[serde(default)]
    pub(crate) key_log: Option<PathBuf>,
    /// What its qlog files are called.
    #[serde(default)]
    pub(crate) qlog: Option<TrialQlog>,
    /// What it pushes, hints and sends first.
    #[serde(default)]
    pub(crate) policy: Option<PolicyText>,
    /// Whether it tells what each stream asked for and what it got.
    #[serde(default)]
    pub(crate) tells_delivery: bool,
    /// The recorded site that answers a browser.
    #[serde(default)]
    pub(crate) site: Option<FarSite>,
    /// Whose ways the origin takes on.
    pub(crate) contender: Contender,
}

/// A host's certificate chain and key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IdentityPem {
    /// Leaf first.
    pub(crate) chain: String,
    /// Its private key.
    pub(crate) key: String,
}

/// Far to worker, once: it listens.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FarReady {
    /// Settings read back from the server's sockets.
    pub(crate) settings: BTreeMap<String, String>,
}

/// Far to worker, when it was asked to end: what it saw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FarReport {
    /// Connection by connection.
    pub(crate) log: ServerLog,
    /// The times of its event loop.
    pub(crate) times: Option<LoopTimes>,
    /// Settings read back from its connections.
    pub(crate) settings: BTreeMap<String, String>,
    /// What each stream asked for and what it got, where that was to be told.
    #[serde(default)]
    pub(crate) deliveries: Vec<DeliveryRecord>,
    /// How a browser's requests found their answers in a recorded site.
    #[serde(default)]
    pub(crate) replay: Option<ReplayCounts>,
}

/// Worker to near: do this.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NearJob {
    /// How.
    pub(crate) contender: Contender,
    /// What.
    pub(crate) task: Task,
    /// Where each host is.
    pub(crate) hosts: BTreeMap<String, IpAddr>,
    /// The root certificate to trust, in PEM.
    pub(crate) root: String,
    /// Who is believed.
    #[serde(default)]
    pub(crate) trust: ServerTrust,
    /// When a fetch has taken too long.
    pub(crate) timeout: Duration,
    /// How much later than QUIC TCP begins, where they race.
    #[serde(default)]
    pub(crate) head_start: Duration,
    /// Whether the link's NAT gives it other ports on the way, which ends its connections over TCP.
    #[serde(default)]
    pub(crate) rebinds: bool,
    /// Where TLS secrets are appended to.
    pub(crate) key_log: Option<PathBuf>,
    /// What its qlog files are called.
    #[serde(default)]
    pub(crate) qlog: Option<TrialQlog>,
    /// What random choices flow from.
    #[serde(default)]
    pub(crate) seed: u64,
}

/// The qlog files of one end of a trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TrialQlog {
    /// Their paths up to the connection's number.
    pub(crate) stem: PathBuf,
    /// What the trial is.
    pub(crate) title: String,
}

impl TrialQlog {
    /// The same for the process that writes them.
    pub(crate) fn spec(self, vantage: QlogVantage) -> QlogSpec {
        QlogSpec { stem: self.stem, title: self.title, vantage }
    }
}

/// How a client judges the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum ServerTrust {
    /// By the root that it is given.
    #[default]
    Root,
    /// By the system's authorities.
    System,
    /// Not at all.
    Anyone,
}

/// Near to worker: what happened.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NearReport {
    /// Every fetch.
    pub(crate) fetches: Vec<FetchRecord>,
    /// Every connection.
    pub(crate) connections: Vec<ConnectionRecord>,
    /// What became of the fetches that `Link` fields asked for.
    #[serde(default)]
    pub(crate) hints: HintTally,
    /// What the view found in the cache.
    #[serde(default)]
    pub(crate) cached: CacheTally,
    /// The tokens of its streams.
    #[serde(default)]
    pub(crate) tokens: Vec<TokenRecord>,
    /// The server time that each fetch was to meet, by number.
    pub(crate) server_time: BTreeMap<u32, Duration>,
    /// Settings read back from the client's sockets.
    pub(crate) settings: BTreeMap<String, String>,
    /// The times of its event loop; None of a client that is not ours.
    pub(crate) times: Option<LoopTimes>,
    /// How much later than planned calls were made, on average, where they had a plan.
    pub(crate) schedule_lag: Option<Duration>,
    /// The addresses of connections that it made before the work began, to fetch cookies.
    #[serde(default)]
    pub(crate) before: Vec<SocketAddr>,
    /// When its work began, where a visit of other connections came before it.
    #[serde(with = "trace::nanos::option", default)]
    pub(crate) began: Option<Instant>,
    /// When its page could be painted, where it loaded one.
    #[serde(default)]
    pub(crate) paint: Option<page::PaintTimes>,
    /// The view after the one that is judged, where there is one.
    #[serde(default)]
    pub(crate) next: Option<NextView>,
}

impl NearReport {
    /// This report, with what another client did afterwards: the numbers of its fetches and connections follow on.
    pub(crate) fn followed_by(mut self, next: Self) -> Self {
        let past = |ids: &mut dyn Iterator<Item = u32>| ids.max().map_or(0, |last| last + 1);
        let fetches = past(&mut self.fetches.iter().map(|fetch| fetch.id));
        let connections = past(&mut self.connections.iter().map(|connection| connection.id));
        self.fetches.extend(next.fetches.into_iter().map(|fetch| FetchRecord {
            id: fetch.id + fetches,
            connection: fetch.connection.map(|id| id + connections),
            ..fetch
        }));
        let counted_on =
            |one: ConnectionRecord| ConnectionRecord { id: one.id + connections, ..one };
        self.connections.extend(next.connections.into_iter().map(counted_on));
        self.times = self.times.zip(next.times).map(|(before, after)| before.followed_by(after));
        self.settings.extend(next.settings);
        self
    }
}

/// A second view of a page, over what the first one found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NextView {
    /// When it began.
    #[serde(with = "trace::nanos")]
    pub(crate) began: Instant,
    /// How long it took; else why it failed.
    pub(crate) times: Result<NextTimes, String>,
    /// What its connections over QUIC sent by.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    /// Its connections; none of a client that does not tell of them.
    #[serde(default)]
    pub(crate) connections: Vec<ConnectionRecord>,
}

/// How long a next view took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct NextTimes {
    /// From its beginning to the last byte.
    pub(crate) load: Duration,
    /// From its beginning to the first byte of an answer.
    pub(crate) first_byte: Duration,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use study::experiment::Experiment;
    use study::plan::{Surroundings, trials};

    /// The order of a trial of one workload by one contender, both in the words of an experiment's file.
    pub(crate) fn order(workload: &str, contender: &str) -> TrialOrder {
        let toml = format!(
            "name = \"t\"\ntitle = \"\"\nquestion = \"\"\nbaseline = \"c\"\n\
             [[workloads]]\n{workload}\n[[contenders]]\nname = \"c\"\n{contender}\n[[links]]\nname = \"lan\"\n"
        );
        let experiment: Experiment = toml.parse().unwrap();
        let folder = PathBuf::from("folder");
        TrialOrder {
            plan: trials(&experiment, &Surroundings::default()).swap_remove(0),
            inputs: folder.clone(),
            key_log: None,
            capture: None,
            qlog: None,
            film: None,
            profile: None,
            scratch: folder.join("scratch"),
            served: folder.join("served"),
            large_files: folder.join("large-files"),
            run_by: 1,
        }
    }
}
