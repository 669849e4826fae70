//! The figures of a trial's audit: by the machine's own counters, by the link and by the two ends. Nothing here
//! judges; `study::audit` does.

use crate::trial::job::TrialOrder;
use crate::trial::observed::{ClientReport, Ends, ServerCpu};
use os::clock;
use os::error::Os;
use os::machine::{CpuTimes, cpu_pressure};
use os::net::{LinkCounters, Topology};
use os::process::CpuSet;
use os::reactor::LoopTimes;
use std::time::Duration;
use study::audit::{Audit, AuditFigure};
use unit::Instant;

/// Keeps an eye on the machine while the two ends work.
pub(crate) struct MachineWatch {
    at: Instant,
    run_by: u32,
    times: Option<CpuTimes>,
    /// Processor time of this run, every trial of it together.
    own: Option<Duration>,
    pressure: Option<Duration>,
    /// How long the link, which is this thread's, waited for a processor.
    waited: Option<Duration>,
    dropped: u64,
}

/// What it saw.
pub(crate) struct MachineFigures {
    others: Option<f64>,
    stolen: Option<f64>,
    pressure: Option<f64>,
    kept: Option<f64>,
    /// Frames that devices dropped.
    pub(crate) dropped: u64,
}

/// The kernel counts in ticks of a hundredth of a second, and each process by itself: of fewer ticks no share can be
/// told. Two cores have them in a fifth of a second.
pub(crate) const LEAST_TICKS: u32 = 40;

impl MachineWatch {
    /// Begins; the topology is built, and nothing runs in it yet.
    pub(crate) fn begin(order: &TrialOrder, topology: &Topology) -> Result<Self, Os> {
        Ok(Self {
            run_by: order.run_by,
            dropped: topology.dropped_frames()?,
            own: os::process_tree::cpu_time(order.run_by),
            times: CpuTimes::read(&CpuSet::of_process(order.run_by)),
            pressure: cpu_pressure(),
            waited: os::process::thread_waited(),
            at: os::clock::now(),
        })
    }

    /// Both ends have ended.
    pub(crate) fn end(self, topology: &Topology) -> Result<MachineFigures, Os> {
        let span = os::clock::now().since(self.at).as_secs_f64();
        let pressed = self.pressure.zip(cpu_pressure());
        let waited = self.waited.zip(os::process::thread_waited());
        let part = |(before, now): (Duration, Duration)| {
            (now.saturating_sub(before).as_secs_f64() / span).min(1.0)
        };
        let times = self
            .times
            .zip(CpuTimes::read(&CpuSet::of_process(self.run_by)))
            .map(|(before, now)| now.since(before));
        let times = times.filter(|times| times.all() >= clock::TICK * LEAST_TICKS);
        let own = self.own.zip(os::process_tree::cpu_time(self.run_by));
        let own = own.map(|(before, now)| now.saturating_sub(before));
        Ok(MachineFigures {
            others: times.zip(own).map(|(times, own)| others(times, own)),
            stolen: times.map(|times| share(times.stolen, times)),
            pressure: pressed.map(part),
            kept: waited.map(part),
            dropped: topology.dropped_frames()?.saturating_sub(self.dropped),
        })
    }
}

/// What the machine and the link say of a trial, however it ended.
pub(crate) fn surroundings(machine: &MachineFigures, counters: &LinkCounters) -> Audit {
    let mut audit = Audit::default();
    note(&mut audit, AuditFigure::OtherLoad, machine.others);
    note(&mut audit, AuditFigure::StolenCpu, machine.stolen);
    note(&mut audit, AuditFigure::CpuPressure, machine.pressure);
    note(&mut audit, AuditFigure::LinkKept, machine.kept);
    audit.set(AuditFigure::UnplannedDrops, (counters.unplanned() + machine.dropped) as f64);
    audit.set(AuditFigure::ClockSteps, counters.clock_steps as f64);
    let late = (counters.lateness.count() > 0).then(|| millis(counters.lateness.max()));
    note(&mut audit, AuditFigure::PacketLatenessMs, late);
    audit
}

/// What the two ends say; `call_ms` is the mean time of the calls, where any were made.
pub(crate) fn note_ends(audit: &mut Audit, ends: &Ends, call_ms: Option<f64>) {
    let near = ends.near();
    let ratio = |part: Duration, times: &LoopTimes| part.as_secs_f64() / times.span.as_secs_f64();
    // Where the ends share a core, each waits while the other works: that is the trial's own work. Of somebody else's
    // server nobody knows when it worked, so all that its processes used counts as that.
    let kept = |times: &LoopTimes, other: Option<&LoopTimes>, others_ms: f64| {
        let others_work =
            other.map_or(Duration::from_secs_f64(others_ms.max(0.0) / 1e3), |other| other.cpu);
        ratio(times.waited.saturating_sub(others_work), times)
    };
    if let Some(times) = &near.times {
        audit.set(AuditFigure::ClientLagMs, millis(times.late));
        audit.set(AuditFigure::ClientLagCpuMs, millis(times.late_cpu));
        // A service that already runs may have been what the client waited for, and its time is not known.
        if ends.server_cpu == ServerCpu::Counted {
            let kept = kept(times, ends.far_times.as_ref(), ends.cpu.origin_ms);
            audit.set(AuditFigure::ClientKept, kept);
        }
        audit.set(AuditFigure::ClientBusy, ratio(times.working, times));
        audit.set(AuditFigure::ClientCpu, ratio(times.cpu, times));
    }
    if let ClientReport::Subject(report) = &ends.client {
        note(audit, AuditFigure::ClientCpu, report.busy);
    }
    if let Some(times) = &ends.far_times {
        audit.set(AuditFigure::OriginLagMs, millis(times.late));
        audit.set(AuditFigure::OriginLagCpuMs, millis(times.late_cpu));
        audit.set(AuditFigure::OriginKept, kept(times, near.times.as_ref(), ends.cpu.client_ms));
    }
    if let Some(times) = &ends.proxy_times {
        audit.set(AuditFigure::ProxyLagMs, millis(times.late));
        audit.set(AuditFigure::ProxyKept, ratio(times.waited, times));
    }
    let late = near.schedule_lag.map(millis);
    note(audit, AuditFigure::ScheduleLagMs, late);
    note(audit, AuditFigure::ScheduleLag, late.zip(call_ms).map(|(late, call)| late / call));
}

fn note(audit: &mut Audit, figure: AuditFigure, value: Option<f64>) {
    if let Some(value) = value {
        audit.set(figure, value);
    }
}

/// The share of all cores that neither this run nor anybody's interrupts took.
fn others(times: CpuTimes, own: Duration) -> f64 {
    share(times.busy.saturating_sub(own), times)
}

fn share(part: Duration, of: CpuTimes) -> f64 {
    part.as_secs_f64() / of.all().as_secs_f64()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_run_took_and_interrupts_are_no_load_of_others() {
        let ms = Duration::from_millis;
        let times = CpuTimes { busy: ms(600), idle: ms(300), interrupts: ms(80), stolen: ms(20) };
        assert!((others(times, ms(400)) - 0.2).abs() < 1e-9);
        assert!((share(times.stolen, times) - 0.02).abs() < 1e-9);
        // Ticks of two kinds of counting may cross.
        assert_eq!(others(times, ms(700)), 0.0);
    }
}
