//! What the two sides of a trial came to: the client's word, the server's and what their processes used.

use crate::trial::job::NearReport;
use crate::trial::outcome::failed;
use crate::trial::subject_client::SubjectReport;
use os::cgroup::Version;
use os::process::Usage;
use os::reactor::LoopTimes;
use std::collections::BTreeMap;
use study::experiment::Contender;
use study::reconcile::{
    Case, Evidence, Finding, LinkFacts, ServerLog, Testimony, departure, reconcile,
    reconcile_subject,
};
use study::record::{Counter, CpuUse, EndUse, GroupMemory, Outcome, Resources, metric};
use trace::PacketRecord;

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) client: Client,
    pub(crate) server: Option<ServerLog>,
    /// The times of our origin's event loop.
    pub(crate) far_times: Option<LoopTimes>,
    pub(crate) far_settings: BTreeMap<String, String>,
    pub(crate) cpu: CpuUse,
    pub(crate) resources: Resources,
}

/// Who did the work, and what it says.
pub(crate) enum Client {
    Own(Box<NearReport>),
    Subject(Box<SubjectReport>),
}

impl Ran {
    /// What the client did.
    pub(crate) fn near(&self) -> &NearReport {
        match &self.client {
            Client::Own(near) => near,
            Client::Subject(report) => &report.near,
        }
    }

    /// Weighs its word against the witnesses.
    pub(crate) fn find(
        &self,
        contender: &Contender,
        packets: Option<&[PacketRecord]>,
        link: LinkFacts,
    ) -> (Finding, Vec<Evidence>) {
        match &self.client {
            Client::Own(near) => {
                let mut finding = reconcile(&Testimony {
                    fetches: &near.fetches,
                    connections: &near.connections,
                    packets,
                    link,
                    server_time: &near.server_time,
                    uncounted: &near.uncounted,
                });
                if finding.outcome == Outcome::Measured
                    && let Some(other) =
                        departure(contender, &near.connections, self.server.as_ref())
                {
                    finding.outcome = other;
                }
                (finding, Vec::new())
            }
            Client::Subject(report) => {
                let case = Case { packets, server: self.server.as_ref(), ..report.case(contender) };
                let (mut finding, evidence) = reconcile_subject(&case);
                if let (Outcome::Measured, Some(reason)) = (&finding.outcome, &report.wrong_file) {
                    finding.outcome = failed(reason);
                }
                (finding, evidence)
            }
        }
    }

    /// Figures of the processes.
    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        let (client, server) = (self.resources.client, self.resources.server);
        let mut metrics = BTreeMap::from([
            (metric::CLIENT_CPU_MS.to_owned(), client.cpu_ms()),
            (metric::SERVER_CPU_MS.to_owned(), server.cpu_ms()),
            (metric::CPU_MS.to_owned(), client.cpu_ms() + server.cpu_ms()),
            (metric::PEAK_MEMORY.to_owned(), client.peak_memory_bytes as f64),
        ]);
        if let Some(group) = client.group_memory {
            metrics.insert(metric::GROUP_MEMORY.to_owned(), group.peak_bytes as f64);
        }
        if let Client::Subject(report) = &self.client {
            metrics.extend(report.metrics.clone());
        }
        metrics
    }
}

/// What a process used, as a row has it.
pub(crate) fn end_use(usage: Usage) -> EndUse {
    EndUse {
        user_ms: usage.user.as_secs_f64() * 1e3,
        system_ms: usage.system.as_secs_f64() * 1e3,
        peak_memory_bytes: usage.max_rss,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        cpu_counter: match usage.counted_by {
            os::process::Counter::Wait4 => Counter::Wait4,
            os::process::Counter::Cgroup(version) => counter(version),
        },
        group_memory: usage
            .group_peak
            .map(|(peak_bytes, version)| GroupMemory { peak_bytes, counter: counter(version) }),
    }
}

fn counter(version: Version) -> Counter {
    match version {
        Version::V1 => Counter::CgroupV1,
        Version::V2 => Counter::CgroupV2,
    }
}
