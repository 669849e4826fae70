//! What the runner, the worker and its two sides say to each other: one JSON value each way.

use page::{Page, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use study::experiment::Contender;
use study::plan::TrialPlan;
use trace::{ConnectionRecord, FetchRecord};

/// Runner to worker: run this trial.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrialOrder {
    /// The trial.
    pub(crate) plan: TrialPlan,
    /// Where the files that the plan's workload names are kept.
    pub(crate) inputs: PathBuf,
    /// Where TLS secrets are appended to.
    pub(crate) key_log: Option<PathBuf>,
}

/// Worker to far: answer like this until told to stop.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FarJob {
    /// Clear listeners.
    pub(crate) listen: Vec<SocketAddr>,
    /// TLS listeners.
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// Certificate chains and keys in PEM, one for each host.
    pub(crate) identities: Vec<IdentityPem>,
    /// What the hosts answer; None serves synthetic pages.
    pub(crate) table: Option<Table>,
    /// Whose ways the origin takes on.
    pub(crate) contender: Contender,
    /// The core to stay on.
    pub(crate) core: u32,
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
pub(crate) struct FarReady {}

/// Worker to near: do this work.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NearJob {
    /// How.
    pub(crate) contender: Contender,
    /// What.
    pub(crate) work: NearWork,
    /// Where each host is.
    pub(crate) hosts: BTreeMap<String, IpAddr>,
    /// The root certificate to trust, in PEM.
    pub(crate) root: String,
    /// When a fetch has taken too long.
    pub(crate) timeout: Duration,
    /// The core to stay on.
    pub(crate) core: u32,
    /// Where TLS secrets are appended to.
    pub(crate) key_log: Option<PathBuf>,
}

/// What the near side does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NearWork {
    /// Loads a document and what is found in it while it arrives.
    Scan {
        /// The document.
        url: String,
        /// Client time between finding and asking.
        think: Duration,
    },
    /// Loads a page whose graph is known.
    Replay {
        /// The graph.
        page: Page,
    },
}

/// Near to worker: what happened.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NearReport {
    /// Every fetch.
    pub(crate) fetches: Vec<FetchRecord>,
    /// Every connection.
    pub(crate) connections: Vec<ConnectionRecord>,
    /// Numbers of the fetches that the load waits for.
    pub(crate) counted: Vec<u32>,
    /// Why the work was not done; None where it was.
    pub(crate) failure: Option<String>,
    /// Settings read back from the client's sockets.
    pub(crate) settings: BTreeMap<String, String>,
}
