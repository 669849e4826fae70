//! Whether a trial counts: what was seen of the machine, the link and our own two ends beside the work, each figure
//! with its limit and the limit's reason. The one rule: figures are kept whether they pass or not, and a limit speaks
//! of what would move a verdict, never of taste.

#[cfg(test)]
mod tests;

use crate::outcome::Outcome;
use crate::stats::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the audit looks at.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditFigure {
    /// How late the latest packet left the link after its time in the model, in milliseconds.
    PacketLatenessMs,
    /// Packets dropped that the link did not plan to drop, by the kernel's counters of sockets and devices.
    UnplannedDrops,
    /// The share of the trial in which the link was ready to run and waited for a processor.
    LinkKept,
    /// How often the wall clock was set.
    ClockSteps,
    /// The longest that an event may have waited for our client's event loop, in milliseconds.
    ClientLagMs,
    /// Processor time of the client in that stretch, in milliseconds.
    ClientLagCpuMs,
    /// The share of its time in which our client was ready to run and waited for a processor, longer than the origin worked.
    ClientKept,
    /// The share of its time in which our client had something to do.
    ClientBusy,
    /// The client's processor time as a share of one core; a foreign client's from when it was ready.
    ClientCpu,
    /// The longest that an event may have waited for our origin's event loop, in milliseconds.
    OriginLagMs,
    /// Processor time of the origin in that stretch, in milliseconds.
    OriginLagCpuMs,
    /// The share of its time in which our origin was ready to run and waited for a processor, longer than the client worked.
    OriginKept,
    /// How much later than planned our client made the calls of an open loop, as the mean in milliseconds.
    ScheduleLagMs,
    /// The same as a share of the calls' mean time.
    ScheduleLag,
    /// The share of all processors' time that programs beside this run's took.
    OtherLoad,
    /// The share of all processors' time that a virtual machine's host gave to others.
    StolenCpu,
    /// The share of time in which some program of the machine waited for a processor, this run's own too.
    CpuPressure,
}

/// The figures of a trial; what was not looked at is not there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Audit(BTreeMap<AuditFigure, f64>);

/// A figure over the trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditSummary {
    /// Which.
    pub figure: AuditFigure,
    /// Its median.
    pub median: f64,
    /// Its greatest value.
    pub worst: f64,
    /// What it may not pass, where it has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// What the limits of a trial hang on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Its load time in milliseconds; None where nothing was loaded.
    pub load_ms: Option<f64>,
    /// Whether a link was between the ends that bounds what they do. Without one, and for downloads over one without a
    /// rate, both ends' processor time is what is compared.
    pub has_link: bool,
    /// Whether the link had a core of its own, and the client one that no other trial was to use.
    pub own_cores: bool,
}

/// A packet, or an event loop, that is later than this, and than [`LATE_SHARE`] of the load, makes the trial invalid: on a
/// machine with other work each core is away for some milliseconds now and then, which a slow link does not notice,
/// and a quick one takes for the network.
pub const LATE_MS: f64 = 10.0;

/// As much as a verdict takes for a tie by default: one such event can move a load's time by all of it.
pub const LATE_SHARE: f64 = 0.05;

/// A client that has something to do all the time is what is measured, and not what it waits for. Handshakes of a page
/// that is loaded within milliseconds keep it as busy; shorter loads than [`BUSY_LOAD_MS`] are not judged by it.
pub const BUSY: f64 = 0.95;

/// A client that works for so much of the load is near what it can do at all, though it waits now and then: at four
/// fifths of a core an event waits for the client twice as long as the client takes for it, even where all take the
/// same (the queue M/D/1, by Pollaczek and Khinchine: ρ / (2 (1 − ρ))), and beyond that the wait grows without bound,
/// so that a contender which costs the client a little more seems to have a worse network. [`BUSY`] counts time in
/// which the client was kept from its core as well, this one its own work alone. Where nothing but the ends bounds a
/// transfer, that work is the contest, and neither is asked for.
pub const CLIENT_CPU: f64 = 0.8;

/// See [`BUSY`] and [`CLIENT_CPU`].
pub const BUSY_LOAD_MS: f64 = 50.0;

/// Timers of a quiet machine end this late at most; what is below is the instrument's grain.
pub const SCHEDULE_MS: f64 = 1.0;

/// What is left of two cores then is what trials side by side may take together, and no more: others decide when link,
/// client and origin find a core. Where that has made anything later than [`LATE_MS`], it did so more than once, and its
/// share of the load is not asked for.
pub const OTHERS: f64 = 0.8;

/// Of a load below [`KEPT_LOAD_MS`], delays below [`LATE_MS`] each can move a verdict, and no other limit sees them.
/// There the limit is on the time that link and client waited for their cores. A page over a link of 0.4 ms
/// took 10 ms, 21 ms beside a busy loop on the link's core and 15 ms beside one on the client's, while no packet and no
/// event was 6 ms late. The link waited for 0.06 of its time at most on a quiet machine, and for half of it beside
/// the loop; the client for 0.17 at most, and for 0.07 to 0.4. It has the origin on its core, whose work is taken off.
pub const KEPT: f64 = 0.2;

/// See [`KEPT`]. The longer a load, the less of it are some delays of a millisecond or two: beside the same loops a page of
/// 128 ms took 129 ms, and one of 208 ms 213 ms, which is less than a tie.
pub const KEPT_LOAD_MS: f64 = 50.0;

impl AuditFigure {
    /// All of them.
    pub const ALL: [Self; 17] = [
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
            Self::ScheduleLagMs => "schedule_lag_ms",
            Self::ScheduleLag => "schedule_lag",
            Self::OtherLoad => "other_load",
            Self::StolenCpu => "stolen_cpu",
            Self::CpuPressure => "cpu_pressure",
        }
    }

    /// What it is, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::PacketLatenessMs => "latest packet, after its time",
            Self::UnplannedDrops => "drops that were not planned",
            Self::LinkKept => "link kept from a core",
            Self::ClockSteps => "steps of the wall clock",
            Self::ClientLagMs => "client's event loop away",
            Self::ClientLagCpuMs => "client's work in that time",
            Self::ClientKept => "client kept from a core",
            Self::ClientBusy => "client not waiting",
            Self::ClientCpu => "client's processor time",
            Self::OriginLagMs => "origin's event loop away",
            Self::OriginLagCpuMs => "origin's work in that time",
            Self::OriginKept => "origin kept from a core",
            Self::ScheduleLagMs => "calls made late, mean",
            Self::ScheduleLag => "the same, of the calls' time",
            Self::OtherLoad => "processors taken by others",
            Self::StolenCpu => "processors taken by the host",
            Self::CpuPressure => "somebody waited for a processor",
        }
    }

    /// In what it is counted.
    pub fn unit(self) -> Unit {
        match self {
            Self::PacketLatenessMs
            | Self::ClientLagMs
            | Self::ClientLagCpuMs
            | Self::OriginLagMs
            | Self::OriginLagCpuMs
            | Self::ScheduleLagMs => Unit::Milliseconds,
            Self::UnplannedDrops | Self::ClockSteps => Unit::Times,
            Self::LinkKept
            | Self::ClientKept
            | Self::OriginKept
            | Self::ClientBusy
            | Self::ClientCpu
            | Self::ScheduleLag
            | Self::OtherLoad
            | Self::StolenCpu
            | Self::CpuPressure => Unit::Share,
        }
    }

    /// What it may not pass; None where it has no limit of its own. Some count for longer loads alone, see the
    /// constants.
    pub fn limit(self) -> Option<f64> {
        match self {
            Self::PacketLatenessMs | Self::ClientLagMs | Self::OriginLagMs => Some(LATE_MS),
            Self::UnplannedDrops | Self::ClockSteps => Some(0.0),
            Self::ClientBusy => Some(BUSY),
            Self::ClientCpu => Some(CLIENT_CPU),
            Self::ScheduleLagMs => Some(SCHEDULE_MS),
            Self::ScheduleLag => Some(LATE_SHARE),
            // Both together.
            Self::OtherLoad | Self::StolenCpu => Some(OTHERS),
            Self::LinkKept | Self::ClientKept => Some(KEPT),
            Self::ClientLagCpuMs | Self::OriginLagCpuMs | Self::OriginKept | Self::CpuPressure => {
                None
            }
        }
    }
}

/// In what a figure is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// From 0 to 1; of one core it may be more.
    Share,
    /// How often.
    Times,
}

/// Whether a trial is invalid for this `reason` because of its times alone: what it moved and counted is honest.
pub fn is_about_time(reason: &str) -> bool {
    is_busy(reason)
        || [CLIENT_TOO_SLOW, ORIGIN_TOO_SLOW].iter().any(|prefix| reason.starts_with(prefix))
}

/// Whether a trial is invalid for this `reason` because the machine was busy, whoever raced.
pub fn is_busy(reason: &str) -> bool {
    reason.starts_with(BUSY_MACHINE)
}

/// What the reasons of [`Audit::judge`] begin with that speak of times.
const BUSY_MACHINE: &str = "the machine was busy: ";
const CLIENT_TOO_SLOW: &str = "the client itself was too slow: ";
const ORIGIN_TOO_SLOW: &str = "the origin itself was too slow: ";

impl Audit {
    /// Notes a figure. What is no number was not looked at.
    pub fn set(&mut self, figure: AuditFigure, value: f64) {
        if value.is_finite() {
            self.0.insert(figure, value);
        }
    }

    /// A figure; None where it was not looked at.
    pub fn get(&self, figure: AuditFigure) -> Option<f64> {
        self.0.get(&figure).copied()
    }

    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What becomes of a trial that came to `found`: a reason that makes every figure invalid goes before it, and one that makes a time invalid
    /// makes a measured one invalid.
    pub fn judge(&self, found: Outcome, trial: Trial) -> Outcome {
        let invalid = self.broken().or_else(|| match found {
            Outcome::Measured => self.disturbed(trial).map(str::to_owned),
            _ => None,
        });
        invalid.map_or(found, |reason| Outcome::Invalid { reason })
    }

    /// The link did not keep its word.
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

    /// What kept the link or our ends from their work. Without figures, so that reports count trials of one fate
    /// together; the row has them.
    fn disturbed(&self, trial: Trial) -> Option<&'static str> {
        use AuditFigure::*;
        let load_ms = trial.load_ms.unwrap_or(0.0);
        let is_late = |figure| {
            let late = self.figure(figure);
            trial.load_ms.is_some() && late > LATE_MS && late > load_ms * LATE_SHARE
        };
        // Work alone, without whoever else had the core.
        let is_own = |cpu| self.figure(cpu) > LATE_MS;
        if is_late(PacketLatenessMs) {
            return Some("the machine was busy: the link let a packet out too late");
        }
        if is_late(ClientLagMs) {
            return Some(match is_own(ClientLagCpuMs) {
                true => "the client itself was too slow: it worked too long on one thing",
                false => "the machine was busy: the client came too late to its events",
            });
        }
        if is_late(OriginLagMs) {
            return Some(match is_own(OriginLagCpuMs) {
                true => "the origin itself was too slow: it worked too long on one thing",
                false => "the machine was busy: the origin came too late to its events",
            });
        }
        let late = [PacketLatenessMs, ClientLagMs, OriginLagMs].map(|figure| self.figure(figure));
        let is_quick = trial.load_ms.is_some_and(|load_ms| load_ms < KEPT_LOAD_MS);
        if trial.own_cores && is_quick {
            if self.figure(LinkKept) > KEPT {
                return Some("the machine was busy: the link was kept from its core");
            }
            if self.figure(ClientKept) > KEPT {
                return Some("the machine was busy: the client was kept from its core");
            }
        }
        let taken = self.figure(OtherLoad) + self.figure(StolenCpu);
        if taken > OTHERS && late.into_iter().any(|late| late > LATE_MS) {
            return Some("the machine was busy: others took most of its processors' time");
        }
        if self.figure(ScheduleLagMs) > SCHEDULE_MS && self.figure(ScheduleLag) > LATE_SHARE {
            return Some(match self.figure(ClientBusy) > 0.5 {
                true => "the client itself was too slow: it made its calls too late",
                false => "the machine was busy: calls were made too late",
            });
        }
        if !trial.has_link || load_ms <= BUSY_LOAD_MS {
            return None;
        }
        if self.figure(ClientBusy) > BUSY {
            return Some("the client itself was too slow: it never had to wait");
        }
        (self.figure(ClientCpu) > CLIENT_CPU)
            .then_some("the client itself was too slow: it worked for most of the load")
    }

    /// A figure that was not looked at breaks no limit.
    fn figure(&self, figure: AuditFigure) -> f64 {
        self.get(figure).unwrap_or(0.0)
    }
}

/// The figures of several trials together, those that any of them has.
pub fn summary<'a>(audits: impl Iterator<Item = &'a Audit> + Clone) -> Vec<AuditSummary> {
    let summed = |figure: AuditFigure| {
        let values: Vec<f64> = audits.clone().filter_map(|audit| audit.get(figure)).collect();
        let worst = values.iter().copied().reduce(f64::max)?;
        let median = median(&values)?;
        Some(AuditSummary { figure, median, worst, limit: figure.limit() })
    };
    AuditFigure::ALL.into_iter().filter_map(summed).collect()
}
