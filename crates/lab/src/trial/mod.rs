//! One trial, from its order to its row.
//!
//! A trial is a value: a [`TrialOrder`] (cell, seed and block) goes in, a row comes out, and nothing outlives it. It has
//! three parts.
//!
//! 1. [`Trial::prepare`] reads what the cell names and settles all that can be settled before anything runs.
//! 2. [`Trial::run`] builds the namespaces, starts the server ([`server_process`]) and the client (our own, [`near`], or
//!    a [`subject_client`]), passes their packets on until both have ended, and gives what was [observed](observed::Observed).
//! 3. [`Trial::judge`] holds the client's word against the packet log and the server's, audits, and makes the row.
//!
//! The runner starts one [`worker`] process for each trial. It starts `wirelap far` and `wirelap near` in turn; what
//! the processes say to each other is in [`job`].

mod assets;
pub(crate) mod audit;
pub(crate) mod browser_visit;
pub(crate) mod capture;
pub(crate) mod client_config;
mod contender;
pub(crate) mod declared_client;
pub(crate) mod download_files;
mod earlier_visit;
pub(crate) mod echo;
pub(crate) mod far;
mod first_visit;
pub(crate) mod job;
mod judge;
pub(crate) mod near;
mod next_view;
mod observed;
mod origin_config;
mod outcome;
pub(crate) mod own_calls;
mod prepare;
pub(crate) mod profile;
mod read_back;
mod recorded_site;
mod run;
mod server_process;
pub(crate) mod service;
mod setup;
pub(crate) mod site_contents;
mod split_proxy;
mod static_files;
pub(crate) mod stream;
mod subject_client;
mod subject_process;
mod synthetic;
pub(crate) mod task;
mod tcp_settings;
pub(crate) mod worker;

use crate::link::path::TrialCpus;
use job::TrialOrder;
use os::net::{Core, ForwardSpec, Side, TopologySpec};
use os::process::CpuSet;
use secure::Authority;
use setup::Setup;
use subject_client::SubjectClient;

/// A trial that is prepared: nothing of it runs yet.
struct Trial<'o> {
    order: &'o TrialOrder,
    setup: Setup,
    network: Network,
    /// Signs the certificates of this trial's hosts.
    authority: Authority,
    /// Who does the work; None: our own client.
    subject: Option<SubjectClient>,
}

/// What lies between the two ends.
struct Network {
    topology: TopologySpec,
    /// The link, and how it is run.
    forward: ForwardSpec,
    /// The CPU of each part; None where they may run on any.
    cpus: Option<TrialCpus>,
    /// Whether a link limits the work. It does not over loopback, nor in a download over a link without a rate: how fast
    /// that goes is what its ends can do.
    limits: bool,
}

impl Network {
    /// Where the link runs.
    fn link_cpus(&self) -> CpuSet {
        self.cpus.map_or(CpuSet::any(), |cpus| cpus.link.into())
    }

    /// Where a side runs.
    fn cpus_of(&self, side: Side) -> CpuSet {
        match (self.cpus, side) {
            (None, _) => CpuSet::any(),
            (Some(cpus), Side::Near) => cpus.client.into(),
            (Some(cpus), Side::Far) => cpus.origin.into(),
        }
    }

    /// Whether the link has a core to itself.
    fn has_own_core(&self) -> bool {
        self.forward.core == Core::Own
    }
}
