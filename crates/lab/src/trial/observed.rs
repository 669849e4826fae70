//! What was observed of a trial: by the client, by the server, by the link and by the machine.

use crate::trial::audit::MachineFigures;
use crate::trial::browser_visit;
use crate::trial::job::NearReport;
use crate::trial::outcome::failed;
use crate::trial::site_contents::ReplayCounts;
use crate::trial::subject_client::SubjectReport;
use os::cgroup::Version;
use os::net::{Lateness, LinkCounters};
use os::process::Usage;
use os::reactor::LoopTimes;
use std::collections::BTreeMap;
use study::experiment::Contender;
use study::metric;
use study::outcome::Outcome;
use study::reconcile::{
    Case, Evidence, Finding, LinkFacts, Nagle, ServerLog, TrialLogs, Visited, departure, reconcile,
    reconcile_subject,
};
use study::record::{Counter, CpuUse, EndUse, GroupMemory, Resources};
use trace::{CacheTally, DeliveryRecord, FetchOutcome, PacketRecord};

/// What the run of a trial gives to be judged.
pub(super) struct Observed {
    /// What both ends say; else why the trial has no figures.
    pub(super) ends: Result<Ends, Outcome>,
    /// The log of the packets that passed.
    pub(super) packets: Vec<PacketRecord>,
    /// Packets that passed and are not in the log.
    pub(super) missed: u64,
    /// What the link counted.
    pub(super) counters: LinkCounters,
    /// What the machine did meanwhile.
    pub(super) machine: MachineFigures,
    /// What the namespaces were set to, as it was read back.
    pub(super) namespace_settings: BTreeMap<String, String>,
    /// How the link gets at packets.
    pub(super) link_settings: BTreeMap<String, String>,
    /// Why the packets that were to be kept could not be.
    pub(super) capture: Result<(), String>,
}

/// What both ends say, and what their processes used.
pub(crate) struct Ends {
    /// How late the link's packets were until the client had done its work. What comes later is in nobody's way, and waits while
    /// processes end.
    pub(crate) lateness: Lateness,
    pub(crate) client: ClientReport,
    pub(crate) server: Option<ServerLog>,
    /// The times of our origin's event loop.
    pub(crate) far_times: Option<LoopTimes>,
    /// The times of the event loop of the link's TCP proxy, where there is one.
    pub(crate) proxy_times: Option<LoopTimes>,
    pub(crate) far_settings: BTreeMap<String, String>,
    /// What each stream asked our origin for and what it got.
    pub(crate) deliveries: Vec<DeliveryRecord>,
    /// How a browser's requests found their answers in a recorded site.
    pub(crate) replay: Option<ReplayCounts>,
    pub(crate) cpu: CpuUse,
    pub(crate) resources: Resources,
    pub(crate) server_cpu: ServerCpu,
}

/// Whether the server's processor time for the measured work is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerCpu {
    Counted,
    /// The server is a service that already runs, or it answered the client's warm-up too.
    Unknown,
}

/// Who did the work, and what it says.
pub(crate) enum ClientReport {
    Own(Box<NearReport>),
    Subject(Box<SubjectReport>),
}

impl Ends {
    /// What the client did.
    pub(crate) fn near(&self) -> &NearReport {
        match &self.client {
            ClientReport::Own(near) => near,
            ClientReport::Subject(report) => &report.near,
        }
    }

    /// The streams of the view that is judged.
    pub(crate) fn deliveries(&self) -> Vec<DeliveryRecord> {
        let near = self.near();
        let visited = match &self.client {
            ClientReport::Own(_) => None,
            ClientReport::Subject(report) => report.visited,
        };
        let from = near.began.or(visited).unwrap_or_default();
        let is_judged = |delivery: &&DeliveryRecord| {
            delivery.requested >= from
                && !(visited.is_some() && browser_visit::is_path(&delivery.path))
                && near.next.as_ref().is_none_or(|next| delivery.requested < next.began)
        };
        self.deliveries.iter().filter(is_judged).cloned().collect()
    }

    /// Weighs its word against the witnesses.
    pub(crate) fn find(
        &self,
        contender: &Contender,
        packets: Option<&[PacketRecord]>,
        link: LinkFacts,
    ) -> (Finding, Vec<Evidence>) {
        match &self.client {
            ClientReport::Own(near) => {
                let mut finding = reconcile(&TrialLogs {
                    fetches: &near.fetches,
                    connections: &near.connections,
                    packets,
                    link,
                    server_time: &near.server_time,
                    nagle: Nagle {
                        client: !contender.settings.client.nodelay,
                        // What another's server asks of its sockets is not known.
                        server: !contender.settings.server.nodelay || !contender.server.is_origin(),
                    },
                });
                if finding.outcome == Outcome::Measured
                    && let Some(other) = departure(
                        contender,
                        near.fetches
                            .iter()
                            .map(|fetch| fetch.phases.queued)
                            .min()
                            .unwrap_or_default(),
                        &near.connections,
                        self.server.as_ref(),
                    )
                {
                    finding.outcome = other;
                }
                (finding, Vec::new())
            }
            ClientReport::Subject(report) => self.find_of_subject(report, contender, packets),
        }
    }

    fn find_of_subject(
        &self,
        report: &SubjectReport,
        contender: &Contender,
        packets: Option<&[PacketRecord]>,
    ) -> (Finding, Vec<Evidence>) {
        let visited = self.visited(report, contender);
        let seen = visited.as_ref().map(Visited::connections);
        let current = visited.as_ref().map(Visited::revalidated).unwrap_or_default();
        let case = Case {
            packets,
            server: seen.as_ref().or(self.server.as_ref()),
            expected: &report.expected_but(&current),
            ..report.case(contender)
        };
        let (mut finding, evidence) = reconcile_subject(&case);
        if let Some(seen) = &seen {
            put_connections(seen, &mut finding.metrics);
        }
        let begun = packets.is_some().then_some(finding.packets.connections);
        let objection = visited
            .and_then(|one| Visited { begun, ..one }.objection())
            .or_else(|| report.other_next_protocol());
        // Another state than the one asked for contradicts the other witnesses, too. It is the reason, and they are not. A fetch that
        // did not come is a reason of its own.
        let came = report.near.fetches.iter().all(|fetch| fetch.outcome == FetchOutcome::Done);
        if let Some(reason) = objection.filter(|_| came) {
            finding.outcome = Outcome::Invalid { reason };
        }
        if let (Outcome::Measured, Some(reason)) = (&finding.outcome, &report.wrong_file) {
            finding.outcome = failed(reason);
        }
        if let (Outcome::Measured, [_, ..]) = (&finding.outcome, &report.unlisted[..]) {
            let asked = report.unlisted.join(", ");
            let reason = format!("the browser asked for what the page does not have: {asked}");
            finding.outcome = Outcome::Invalid { reason };
        }
        (finding, evidence)
    }

    /// What the server saw of a browser's visit; None without one, or without a log.
    fn visited<'a>(
        &'a self,
        report: &'a SubjectReport,
        contender: &'a Contender,
    ) -> Option<Visited<'a>> {
        Some(Visited {
            contender,
            began: report.visited?,
            until: report.near.next.as_ref().map(|next| next.began),
            server: self.server.as_ref()?,
            deliveries: &self.deliveries,
            cached: &report.cached,
            begun: None,
        })
    }

    /// What the view found in a cache: what the server said to be current, too, where its log alone has that.
    pub(crate) fn cached(&self, contender: &Contender) -> CacheTally {
        let told = self.near().cached;
        let ClientReport::Subject(report) = &self.client else { return told };
        let visited = self.visited(report, contender);
        let revalidated = visited.as_ref().map_or(0, |one| one.revalidated().len() as u32);
        CacheTally { revalidated, ..told }
    }

    /// Figures of the processes.
    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        let (client, server) = (self.resources.client, self.resources.server);
        let memory = client.peak_memory_bytes as f64;
        let mut metrics = BTreeMap::from([(metric::PEAK_MEMORY.to_owned(), memory)]);
        let client_cpu = match &self.client {
            ClientReport::Own(_) => Some(client.cpu_ms()),
            ClientReport::Subject(report) => report.cpu_ms,
        };
        let server_cpu = (self.server_cpu == ServerCpu::Counted).then(|| server.cpu_ms());
        let both = client_cpu.zip(server_cpu).map(|(client, server)| client + server);
        let cpu = [
            (metric::CLIENT_CPU_MS, client_cpu),
            (metric::SERVER_CPU_MS, server_cpu),
            (metric::CPU_MS, both),
        ];
        let known = cpu.into_iter().filter_map(|(name, ms)| Some((name.to_owned(), ms?)));
        metrics.extend(known);
        if let Some(group) = client.group_memory {
            metrics.insert(metric::GROUP_MEMORY.to_owned(), group.peak_bytes as f64);
        }
        if let ClientReport::Subject(report) = &self.client {
            metrics.extend(report.metrics.clone());
        }
        if let Some(replay) = &self.replay {
            metrics.insert(metric::REPLAY_NEAREST.to_owned(), f64::from(replay.nearest));
            metrics.insert(metric::REPLAY_MISSED.to_owned(), f64::from(replay.missed));
            let sockets = f64::from(replay.sockets_missed);
            metrics.insert(metric::REPLAY_SOCKETS_MISSED.to_owned(), sockets);
        }
        metrics
    }
}

/// The connections that carried the work after a visit, by the server's log.
fn put_connections(seen: &ServerLog, metrics: &mut BTreeMap<String, f64>) {
    metrics.insert(metric::CONNECTIONS.to_owned(), seen.connections.len() as f64);
    for connection in &seen.connections {
        metrics.remove(&metric::connections_by(&connection.protocol));
    }
    for connection in &seen.connections {
        *metrics.entry(metric::connections_by(&connection.protocol)).or_default() += 1.0;
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
