//! Whether a trial counts. The audit looks at the machine, the link, our client and our origin. Each figure has a
//! limit, and each limit its reason. The one rule: every figure is recorded, whether it passes or not, and a limit
//! exists only for what could change a verdict.

#[cfg(test)]
mod tests;

use crate::outcome::Outcome;
use crate::stats::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What the audit measures.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditFigure {
    /// The greatest lateness of a packet: how long after its time in the link's model it left, in milliseconds.
    PacketLatenessMs,
    /// Packets dropped that the link did not plan to drop, by the kernel's counters of sockets and devices.
    UnplannedDrops,
    /// The share of the trial in which the link was ready to run and waited for a processor.
    LinkKept,
    /// How often the wall clock was set.
    ClockSteps,
    /// The longest that an event may have waited for our client's event loop, in milliseconds.
    ClientLagMs,
    /// Processor time that the client used in that same interval, in milliseconds.
    ClientLagCpuMs,
    /// The share of time in which our client was ready to run but waited for a processor, less what the origin worked
    /// on the same core.
    ClientKept,
    /// The share of its time in which our client had something to do.
    ClientBusy,
    /// The client's processor time as a share of one core. A foreign client's counts from when it was ready.
    ClientCpu,
    /// The longest that an event may have waited for our origin's event loop, in milliseconds.
    OriginLagMs,
    /// Processor time that the origin used in that same interval, in milliseconds.
    OriginLagCpuMs,
    /// The share of time in which our origin was ready to run but waited for a processor, less what the client worked
    /// on the same core.
    OriginKept,
    /// The longest that an event may have waited for the event loop of the link's TCP proxy, in milliseconds.
    ProxyLagMs,
    /// The share of time in which that proxy was ready to run but waited for a processor.
    ProxyKept,
    /// How much later than planned our client made the calls of an open loop: the mean, in milliseconds.
    ScheduleLagMs,
    /// The same as a share of the calls' mean time.
    ScheduleLag,
    /// The share of all processors' time that programs other than this run's took.
    OtherLoad,
    /// The share of all processors' time that a virtual machine's host gave to others (steal time).
    StolenCpu,
    /// The share of time in which some program on the machine waited for a processor, this run's own included (PSI).
    CpuPressure,
}

/// The figures of a trial. A figure that was not measured is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Audit(BTreeMap<AuditFigure, f64>);

/// One figure over all trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditSummary {
    /// Which figure.
    pub figure: AuditFigure,
    /// The median over the trials.
    pub median: f64,
    /// The greatest value of all trials.
    pub worst: f64,
    /// The limit, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// What decides which limits apply to a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Load time in milliseconds; None where nothing was loaded.
    pub load_ms: Option<f64>,
    /// Whether the link limits the ends. False without a link, and for downloads over a link without a rate: there the
    /// processor time of both ends is what is compared.
    pub has_link: bool,
    /// Whether the link had a core of its own, and the client a core that no other trial used.
    pub own_cores: bool,
}

/// A packet or an event that is later than this, and later than [`LATE_SHARE`] of the load, makes the trial invalid. A
/// machine with other work takes each core away for some milliseconds now and then. A slow link hides that. On a quick
/// link it looks like the network.
pub const LATE_MS: f64 = 10.0;

/// The default margin of a tie: one late event can change a load time by its whole lateness.
pub const LATE_SHARE: f64 = 0.05;

/// A client that is busy for more than this share of the load is itself the bottleneck, so the trial does not measure
/// the network. Handshakes keep the client as busy when a page loads within milliseconds: loads shorter than
/// [`BUSY_LOAD_MS`] are not judged by it.
pub const BUSY: f64 = 0.95;

/// The limit on the client's own work, as a share of one core. At four fifths of a core an event waits for the client
/// twice as long as the client needs to handle it, even where all events need the same time (the queue M/D/1, by
/// Pollaczek and Khinchine: ρ / (2 (1 − ρ))). Above that the wait grows without bound: a contender that costs the
/// client a little more seems to have a worse network. [`BUSY`] also counts time in which the client was kept from its
/// core; this limit counts its own work alone. Neither applies where only the ends limit a transfer, because their
/// work is then what is compared.
pub const CLIENT_CPU: f64 = 0.8;

/// The shortest load that [`BUSY`] and [`CLIENT_CPU`] judge, in milliseconds.
pub const BUSY_LOAD_MS: f64 = 50.0;

/// The latest that timers end on a quiet machine, in milliseconds. Smaller delays cannot be measured.
pub const SCHEDULE_MS: f64 = 1.0;

/// The share of all processors' time that other programs may take. Trials side by side may use what is left of two
/// cores. Beyond it, other programs decide when link, client and origin get a core. An event later than [`LATE_MS`]
/// was then not the only one, so its share of the load does not matter.
pub const OTHERS: f64 = 0.8;

/// The limit on the share of time in which link and client waited for their cores, for loads shorter than
/// [`KEPT_LOAD_MS`]. In so short a load several delays below [`LATE_MS`] can change a verdict, and no other limit sees
/// them. A page over a link of 0.4 ms took 10 ms. It took 21 ms beside a busy loop on the link's core, and 15 ms
/// beside one on the client's; no packet and no event was 6 ms late. On a quiet machine the link waited for at most
/// 0.06 of its time, and for half of it beside the loop. The client waited for at most 0.17, and for 0.07 to 0.4
/// beside the loop. The origin runs on the client's core; its work is subtracted.
pub const KEPT: f64 = 0.2;

/// See [`KEPT`]. Delays of a millisecond or two matter less in longer loads. Beside the same loops a page of 128 ms
/// took 129 ms, and one of 208 ms took 213 ms, which is less than a tie.
pub const KEPT_LOAD_MS: f64 = 50.0;

impl AuditFigure {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::PacketLatenessMs,
        Self::UnplannedDrops,
        Self::LinkKept,
        Self::ClockSteps,
        Self::ClientLagMs,
        Self::ClientLagCpuMs,
        Self::ClientKept,
        Self::ClientBusy,
        Self::ClientCpu,
        Self::OriginLagMs,
        Self::OriginLagCpuMs,
        Self::OriginKept,
        Self::ProxyLagMs,
        Self::ProxyKept,
        Self::ScheduleLagMs,
        Self::ScheduleLag,
        Self::OtherLoad,
        Self::StolenCpu,
        Self::CpuPressure,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketLatenessMs => "packet_lateness_ms",
            Self::UnplannedDrops => "unplanned_drops",
            Self::LinkKept => "link_kept",
            Self::ClockSteps => "clock_steps",
            Self::ClientLagMs => "client_lag_ms",
            Self::ClientLagCpuMs => "client_lag_cpu_ms",
            Self::ClientKept => "client_kept",
            Self::ClientBusy => "client_busy",
            Self::ClientCpu => "client_cpu",
            Self::OriginLagMs => "origin_lag_ms",
            Self::OriginLagCpuMs => "origin_lag_cpu_ms",
            Self::OriginKept => "origin_kept",
            Self::ProxyLagMs => "proxy_lag_ms",
            Self::ProxyKept => "proxy_kept",
            Self::ScheduleLagMs => "schedule_lag_ms",
            Self::ScheduleLag => "schedule_lag",
            Self::OtherLoad => "other_load",
            Self::StolenCpu => "stolen_cpu",
            Self::CpuPressure => "cpu_pressure",
        }
    }

    /// A short description for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::PacketLatenessMs => "greatest lateness of a packet",
            Self::UnplannedDrops => "unplanned packet drops",
            Self::LinkKept => "link waiting for a core",
            Self::ClockSteps => "steps of the wall clock",
            Self::ClientLagMs => "longest wait for the client's event loop",
            Self::ClientLagCpuMs => "client's processor time in that wait",
            Self::ClientKept => "client waiting for a core",
            Self::ClientBusy => "client busy",
            Self::ClientCpu => "client's processor time",
            Self::OriginLagMs => "longest wait for the origin's event loop",
            Self::OriginLagCpuMs => "origin's processor time in that wait",
            Self::OriginKept => "origin waiting for a core",
            Self::ProxyLagMs => "longest wait for the link's TCP proxy",
            Self::ProxyKept => "the link's TCP proxy waiting for a core",
            Self::ScheduleLagMs => "mean lateness of calls",
            Self::ScheduleLag => "mean lateness as a share of a call's time",
            Self::OtherLoad => "processor time of other programs",
            Self::StolenCpu => "processor time taken by the host (steal)",
            Self::CpuPressure => "time in which a program waited for a processor",
        }
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::PacketLatenessMs
            | Self::ClientLagMs
            | Self::ClientLagCpuMs
            | Self::OriginLagMs
            | Self::OriginLagCpuMs
            | Self::ProxyLagMs
            | Self::ScheduleLagMs => Unit::Milliseconds,
            Self::UnplannedDrops | Self::ClockSteps => Unit::Times,
            Self::LinkKept
            | Self::ClientKept
            | Self::OriginKept
            | Self::ProxyKept
            | Self::ClientBusy
            | Self::ClientCpu
            | Self::ScheduleLag
            | Self::OtherLoad
            | Self::StolenCpu
            | Self::CpuPressure => Unit::Share,
        }
    }

    /// Whether it is how late a packet or an event was: its limit is [`LATE_MS`] and [`LATE_SHARE`] of the load, both.
    pub fn is_lateness(self) -> bool {
        matches!(
            self,
            Self::PacketLatenessMs | Self::ClientLagMs | Self::OriginLagMs | Self::ProxyLagMs
        )
    }

    /// The limit; None where it has none of its own. Some apply to longer loads alone; see the constants.
    pub fn limit(self) -> Option<f64> {
        match self {
            Self::PacketLatenessMs | Self::ClientLagMs | Self::OriginLagMs | Self::ProxyLagMs => {
                Some(LATE_MS)
            }
            Self::UnplannedDrops | Self::ClockSteps => Some(0.0),
            Self::ClientBusy => Some(BUSY),
            Self::ClientCpu => Some(CLIENT_CPU),
            Self::ScheduleLagMs => Some(SCHEDULE_MS),
            Self::ScheduleLag => Some(LATE_SHARE),
            // The limit is on the sum of both.
            Self::OtherLoad | Self::StolenCpu => Some(OTHERS),
            Self::LinkKept | Self::ClientKept => Some(KEPT),
            Self::ClientLagCpuMs
            | Self::OriginLagCpuMs
            | Self::OriginKept
            | Self::ProxyKept
            | Self::CpuPressure => None,
        }
    }
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// From 0 to 1; shares of one core may be greater.
    Share,
    /// A count.
    Times,
}

/// Whether a trial is invalid for this `reason` because of its times alone: what it moved and counted is honest.
pub fn is_about_time(reason: &str) -> bool {
    Disturbance::parse(reason).is_some()
}

/// Whether a trial is invalid for this `reason` because the machine was busy, whoever raced.
pub fn is_busy(reason: &str) -> bool {
    matches!(Disturbance::parse(reason), Some(Disturbance::Machine(_)))
}

/// What delayed a trial: who is to blame, and what happened. It spoils times alone. Rows have it as text, without figures, so that reports
/// can count trials with the same reason; the row has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance<'t> {
    /// Other programs, or the machine's host.
    Machine(&'t str),
    /// Our client's own work.
    Client(&'t str),
    /// Our origin's own work.
    Origin(&'t str),
}

impl<'t> Disturbance<'t> {
    /// Of a row's reason; None where that speaks of something else.
    fn parse(reason: &'t str) -> Option<Self> {
        let kinds: [fn(&'t str) -> Self; 3] = [Self::Machine, Self::Client, Self::Origin];
        kinds.into_iter().find_map(|kind| Some(kind(reason.strip_prefix(kind("").parts().0)?)))
    }

    /// What its text begins with, and what happened.
    fn parts(self) -> (&'static str, &'t str) {
        match self {
            Self::Machine(what) => ("the machine was busy: ", what),
            Self::Client(what) => ("the client itself was too slow: ", what),
            Self::Origin(what) => ("the origin itself was too slow: ", what),
        }
    }
}

impl fmt::Display for Disturbance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, what) = self.parts();
        write!(f, "{kind}{what}")
    }
}

impl Audit {
    /// Records a figure. A value that is not a number means that it was not measured.
    pub fn set(&mut self, figure: AuditFigure, value: f64) {
        if value.is_finite() {
            self.0.insert(figure, value);
        }
    }

    /// The value of a figure; None where it was not measured.
    pub fn get(&self, figure: AuditFigure) -> Option<f64> {
        self.0.get(&figure).copied()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The outcome of a trial after the audit. A fault of the link makes any trial invalid, whatever `found` says. A
    /// disturbance that changes times makes a measured trial invalid.
    pub fn judge(&self, found: Outcome, trial: Trial) -> Outcome {
        let invalid = self.broken().or_else(|| match found {
            Outcome::Measured => self.disturbed(trial).map(|disturbance| disturbance.to_string()),
            _ => None,
        });
        invalid.map_or(found, |reason| Outcome::Invalid { reason })
    }

    /// Why the link did not do what its plan says.
    fn broken(&self) -> Option<String> {
        let drops = self.figure(AuditFigure::UnplannedDrops);
        if drops > 0.0 {
            return Some(format!(
                "the kernel dropped {drops} packets that the link did not plan to drop"
            ));
        }
        (self.figure(AuditFigure::ClockSteps) > 0.0)
            .then(|| "the wall clock was set during the trial".to_owned())
    }

    /// What delayed the link or our ends.
    fn disturbed(&self, trial: Trial) -> Option<Disturbance<'static>> {
        self.late_event(trial)
            .or_else(|| self.lost_processor_time(trial))
            .or_else(|| self.late_calls())
            .or_else(|| self.overloaded_client(trial))
    }

    /// A packet or an event that was late.
    fn late_event(&self, trial: Trial) -> Option<Disturbance<'static>> {
        use AuditFigure::*;
        let load_ms = trial.load_ms?;
        let is_late = |figure| {
            let late = self.figure(figure);
            late > LATE_MS && late > load_ms * LATE_SHARE
        };
        // Whether the program's own work took the time, and not another program on its core.
        let is_own = |cpu| self.figure(cpu) > LATE_MS;
        if is_late(PacketLatenessMs) {
            return Some(Disturbance::Machine("the link sent a packet too late"));
        }
        if is_late(ProxyLagMs) {
            return Some(Disturbance::Machine("the link's TCP proxy passed bytes on too late"));
        }
        if is_late(ClientLagMs) {
            return Some(match is_own(ClientLagCpuMs) {
                true => Disturbance::Client("one event took it too long"),
                false => Disturbance::Machine("the client handled an event too late"),
            });
        }
        is_late(OriginLagMs).then(|| match is_own(OriginLagCpuMs) {
            true => Disturbance::Origin("one event took it too long"),
            false => Disturbance::Machine("the origin handled an event too late"),
        })
    }

    /// Processor time that the link, the client or the whole machine lost to other programs.
    fn lost_processor_time(&self, trial: Trial) -> Option<Disturbance<'static>> {
        use AuditFigure::*;
        let is_quick = trial.load_ms.is_some_and(|load_ms| load_ms < KEPT_LOAD_MS);
        if trial.own_cores && is_quick {
            if self.figure(LinkKept) > KEPT {
                return Some(Disturbance::Machine("the link had to wait for its core"));
            }
            if self.figure(ClientKept) > KEPT {
                return Some(Disturbance::Machine("the client had to wait for its core"));
            }
        }
        let late = [PacketLatenessMs, ClientLagMs, OriginLagMs].map(|figure| self.figure(figure));
        let taken = self.figure(OtherLoad) + self.figure(StolenCpu);
        (taken > OTHERS && late.into_iter().any(|late| late > LATE_MS))
            .then_some(Disturbance::Machine("other programs took most of the processors' time"))
    }

    /// Calls of an open loop that were made too late.
    fn late_calls(&self) -> Option<Disturbance<'static>> {
        use AuditFigure::*;
        let is_late =
            self.figure(ScheduleLagMs) > SCHEDULE_MS && self.figure(ScheduleLag) > LATE_SHARE;
        is_late.then(|| match self.figure(ClientBusy) > 0.5 {
            true => Disturbance::Client("it made its calls too late"),
            false => Disturbance::Machine("calls were made too late"),
        })
    }

    /// A client that had too much work, where the link is what is measured.
    fn overloaded_client(&self, trial: Trial) -> Option<Disturbance<'static>> {
        use AuditFigure::*;
        if !trial.has_link || trial.load_ms.unwrap_or(0.0) <= BUSY_LOAD_MS {
            return None;
        }
        if self.figure(ClientBusy) > BUSY {
            return Some(Disturbance::Client("it was busy all the time"));
        }
        (self.figure(ClientCpu) > CLIENT_CPU)
            .then_some(Disturbance::Client("it was working for most of the load"))
    }

    /// The value of a figure; zero, which breaks no limit, where it was not measured.
    fn figure(&self, figure: AuditFigure) -> f64 {
        self.get(figure).unwrap_or(0.0)
    }
}

/// Sums up the audits of several trials: every figure that at least one of them has.
pub fn summary<'a>(audits: impl Iterator<Item = &'a Audit> + Clone) -> Vec<AuditSummary> {
    let summed = |figure: AuditFigure| {
        let values: Vec<f64> = audits.clone().filter_map(|audit| audit.get(figure)).collect();
        let worst = values.iter().copied().reduce(f64::max)?;
        let median = median(&values)?;
        Some(AuditSummary { figure, median, worst, limit: figure.limit() })
    };
    AuditFigure::ALL.into_iter().filter_map(summed).collect()
}
