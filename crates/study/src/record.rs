//! Rows: the complete record of a trial, so that every figure can be computed again from it. Nothing here judges. The
//! runner and the adapters fill rows in; `analyse` reads them.

use crate::audit::Audit;
use crate::calibration::Calibration;
use crate::experiment::Experiment;
use crate::outcome::Outcome;
use crate::plan::TrialPlan;
use crate::reconcile::{Evidence, PacketSummary, Parts};
use crate::shard::Shard;
use crate::timeline::Timeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use trace::{ConnectionRecord, DeliveryRecord, FetchRecord};

/// The schema that [`RunHeader`] and [`TrialRecord`] follow.
pub const ROWS_SCHEMA: &str = "wirelap.rows/1";

/// The setting of rows that tells how fine a browser's clock is. Browsers alone tell it, of calls and messages.
pub const CLIENT_CLOCK_RESOLUTION: &str = "client clock resolution";

/// The header of a run: one in each run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// [`ROWS_SCHEMA`].
    pub schema: String,
    /// wirelap's version.
    pub version: String,
    /// The experiment as it ran, with all overrides of the command line applied.
    pub experiment: Experiment,
    /// When the run began, by the wall clock, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The machine.
    pub host: HostFacts,
    /// The command line, argument by argument.
    pub command_line: Vec<String>,
    /// The part of the plan that this run has; None of a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The machines of a shard, and of the shards that a run was merged from; none of a run on one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineRun>,
    /// Of a merged run, the keys of planned trials that no shard had a row of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A machine that ran trials of a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineRun {
    /// What its rows call it: its host name.
    pub name: String,
    /// The kernel's name for the time since it was started, which no other machine has.
    pub boot: String,
    /// The shard.
    pub shard: Shard,
    /// Its facts, with its calibration before the shard.
    pub host: HostFacts,
}

/// The machine that a run ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Operating system and its release.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub cpu: String,
    /// Cores that the run could use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Whether the lab ran as root.
    pub root: bool,
    /// The calibration of the links before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Other facts, by name.
    pub more: BTreeMap<String, String>,
}

impl HostFacts {
    /// The fact among [`HostFacts::more`] that is another one each time.
    pub const LOAD: &str = "load average at the start";

    /// What is not the same on `later`, by which figures may differ: name, and both values.
    pub fn differences(&self, later: &Self) -> Vec<(String, String, String)> {
        let facts = |host: &Self| {
            [
                ("the system", host.os.clone()),
                ("the kernel", host.kernel.clone()),
                ("the processor", host.cpu.clone()),
                ("cores", host.cores.to_string()),
                ("root", host.root.to_string()),
            ]
        };
        let named = facts(self).into_iter().zip(facts(later));
        let named = named.map(|((name, old), (_, new))| (name.to_owned(), old, new));
        let told = |host: &Self, name: &str| {
            host.more.get(name).cloned().unwrap_or_else(|| "not told".to_owned())
        };
        let names: BTreeSet<&String> = self.more.keys().chain(later.more.keys()).collect();
        let more = names.into_iter().filter(|name| **name != Self::LOAD);
        let more = more.map(|name| (name.clone(), told(self, name), told(later, name)));
        named.chain(more).filter(|(_, old, new)| old != new).collect()
    }
}

/// The row of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The trial as planned.
    pub plan: TrialPlan,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began, by the wall clock, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// How long it took, set-up and clean-up included, in milliseconds.
    pub duration_ms: f64,
    /// Figures by name; see [`metric`](crate::metric).
    pub metrics: BTreeMap<String, f64>,
    /// How the load time splits into parts; None where nothing was loaded.
    pub parts: Option<Parts>,
    /// The client's fetches.
    pub fetches: Vec<FetchRecord>,
    /// The client's connections.
    pub connections: Vec<ConnectionRecord>,
    /// Those of the view after the one that is judged (`first_visit = "alt-svc"`), with numbers of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_connections: Vec<ConnectionRecord>,
    /// What each stream of a page asked wirelap's own origin for and what it got, in the order in which they ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<DeliveryRecord>,
    /// The link's counters.
    pub link: LinkCounters,
    /// The sums of the link's packet log.
    pub packets: PacketSummary,
    /// What the link did over time; None where nothing was fetched, over loopback, and where the packet log has gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// By name: kernel settings as read back, versions, addresses.
    pub settings: BTreeMap<String, String>,
    /// Processor time used.
    pub cpu: CpuUse,
    /// What client and server used of the machine.
    #[serde(default)]
    pub resources: Resources,
    /// The claims of a foreign client and what confirms each; empty for wirelap's own client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The audit's figures.
    #[serde(default, skip_serializing_if = "Audit::is_empty")]
    pub audit: Audit,
    /// Of a shard: the machine that it ran on, by its name in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The link's counters, of both ways together unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkCounters {
    /// From the far side to the near.
    pub down: DirectionCounters,
    /// From the near side to the far.
    pub up: DirectionCounters,
    /// Packets that the kernel dropped before the link saw them; zero in a valid trial.
    pub kernel_drops: u64,
    /// The greatest lateness of a packet against its time in the model, in microseconds.
    pub lateness_max_us: f64,
    /// The 99th percentile of lateness, in microseconds.
    pub lateness_p99_us: f64,
}

/// The link's counters of one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirectionCounters {
    /// Packets that entered.
    pub packets: u64,
    /// Bytes of IP that entered.
    pub bytes: u64,
    /// Packets taken by the seeded loss.
    pub lost: u64,
    /// Packets that found the queue full.
    pub queue_full: u64,
    /// Packets that the queue's active management dropped.
    #[serde(default)]
    pub aqm_dropped: u64,
    /// Packets that a policer or a limit on UDP dropped.
    #[serde(default)]
    pub policed: u64,
    /// UDP that the link blocked, and packets that its NAT had no mapping for.
    #[serde(default)]
    pub blocked: u64,
    /// Packets that the queue marked (ECN's CE).
    #[serde(default)]
    pub marked: u64,
}

/// Processor time of a trial's parts, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// The client's.
    pub client_ms: f64,
    /// The origin's.
    pub origin_ms: f64,
    /// The link's forwarding thread's.
    pub link_ms: f64,
}

/// What both ends of a trial used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// The client's processes.
    pub client: EndUse,
    /// The server's.
    pub server: EndUse,
}

/// What counted the resources that an end used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// wait4(2): a process and all children that it waited for.
    #[default]
    Wait4,
    /// A control group of version 1: every process that was started.
    CgroupV1,
    /// A control group of version 2: every process that was started.
    CgroupV2,
}

/// What one end used of the machine. A figure without a counter beside it comes from wait4.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EndUse {
    /// Processor time in user mode, in milliseconds.
    pub user_ms: f64,
    /// Processor time in the kernel, in milliseconds.
    pub system_ms: f64,
    /// What counted the processor time.
    pub cpu_counter: Counter,
    /// The peak resident set of one process, in bytes.
    pub peak_memory_bytes: u64,
    /// Context switches because the process waited.
    pub voluntary_switches: u64,
    /// Context switches because its time slice ended.
    pub involuntary_switches: u64,
    /// The peak memory of all its processes together, page cache that they touched first included, and what counted
    /// it. None without a control group.
    pub group_memory: Option<GroupMemory>,
}

/// The peak memory of a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupMemory {
    /// In bytes.
    pub peak_bytes: u64,
    /// What counted it.
    pub counter: Counter,
}

impl EndUse {
    /// User and system time together, in milliseconds.
    pub fn cpu_ms(&self) -> f64 {
        self.user_ms + self.system_ms
    }

    /// The sum with a process that ran after this one. A sum of two counters is named after the less exact one.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            user_ms: self.user_ms + other.user_ms,
            system_ms: self.system_ms + other.system_ms,
            cpu_counter: self.cpu_counter.min(other.cpu_counter),
            peak_memory_bytes: self.peak_memory_bytes.max(other.peak_memory_bytes),
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            group_memory: self.group_memory.max(other.group_memory),
        }
    }
}

/// A row without figures, for a trial that did not run to its end.
pub fn without_figures(plan: TrialPlan, outcome: Outcome, started_unix_ms: u64) -> TrialRecord {
    TrialRecord {
        plan,
        outcome,
        started_unix_ms,
        duration_ms: 0.0,
        metrics: BTreeMap::new(),
        parts: None,
        fetches: Vec::new(),
        connections: Vec::new(),
        next_connections: Vec::new(),
        deliveries: Vec::new(),
        link: LinkCounters::default(),
        packets: PacketSummary::default(),
        timeline: None,
        settings: BTreeMap::new(),
        cpu: CpuUse::default(),
        resources: Resources::default(),
        evidence: Vec::new(),
        audit: Audit::default(),
        machine: None,
    }
}
