//! Figures of a subject's processes: times, processor time and memory, system calls. Nothing here judges.

use super::ProcessRun;
use crate::trial::audit::LEAST_TICKS;
use crate::trial::observed::end_use;
use crate::trial::profile::SystemCalls;
use os::clock;
use os::process::Counter;
use std::collections::BTreeMap;
use std::time::Duration;
use study::metric;
use study::record::EndUse;
use subject::contract;
use unit::Instant;

/// Figures of the processes.
pub(super) fn metrics(
    processes: &[ProcessRun],
    usage: EndUse,
    is_warm: bool,
) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let of_all = |span: &dyn Fn(&ProcessRun) -> Duration| {
        processes.iter().map(span).sum::<Duration>().as_secs_f64() * 1e3
    };
    // A warm client is a process that already runs when the measured work begins.
    let begun = |process: &ProcessRun| if is_warm { ready_at(process) } else { begun(process) };
    set(metric::WALL_MS, of_all(&|process| process.ended.since(begun(process))));
    let built = processes.iter().map(|process| process.transcript.ready.as_ref()?.line.client_ms);
    if let Some(built) = built.sum::<Option<f64>>() {
        let wall = of_all(&|process| process.ended.since(begun(process)));
        let counted = if is_warm { 0.0 } else { built };
        set(metric::CLIENT_MS, built);
        set(metric::WALL_WITHOUT_CLIENT_MS, (wall - counted).max(0.0));
    }
    // An adapter whose client reports no time before its first request cannot separate its start from its work.
    if let startup @ 0.001.. = of_all(&startup) {
        set(metric::STARTUP_MS, startup);
    }
    let transfer = |process: &ProcessRun| {
        let lines = process.transcript.fetches.iter().map(|fetch| &fetch.line);
        let end = lines.clone().map(|line| line.ended_ms).fold(0.0, f64::max);
        let start = lines.map(|line| line.started_ms).fold(end, f64::min);
        Duration::from_secs_f64((end - start) / 1e3)
    };
    set(metric::TRANSFER_MS, of_all(&transfer));
    set(metric::PEAK_MEMORY, usage.peak_memory_bytes as f64);
    let count = |name, value: Option<u64>| value.map(|value| (name, value as f64));
    let collections = sum(processes.iter().map(|process| done(process).gc_count));
    let pauses = processes.iter().map(|process| done(process).gc_ms).sum::<Option<f64>>();
    let heap = processes.iter().map(|process| done(process).heap_peak_bytes).max().flatten();
    let managed = [
        count(metric::GC_COUNT, collections),
        pauses.map(|ms| (metric::GC_MS, ms)),
        count(metric::HEAP_PEAK, heap),
    ];
    for (name, value) in managed.into_iter().flatten() {
        set(name, value);
    }
    metrics
}

/// When the client was started: an adapter's own start is not the client's.
fn begun(process: &ProcessRun) -> Instant {
    let adapter = process.transcript.ready.as_ref().filter(|ready| ready.line.adapter);
    adapter.map_or(process.started, |ready| ready.at)
}

/// From the client's start to its work, but for its warm-up.
fn startup(process: &ProcessRun) -> Duration {
    let first = process.transcript.fetches.iter().map(|fetch| fetch.line.started_ms);
    let first = Duration::from_secs_f64(first.reduce(f64::min).unwrap_or(0.0) / 1e3);
    let warmup = process.transcript.ready.as_ref().and_then(|ready| ready.line.warmup_ms);
    let warmup = Duration::from_secs_f64(warmup.unwrap_or(0.0) / 1e3);
    match begun(process) == process.started {
        true => ready_at(process).since(process.started).saturating_sub(warmup),
        false => first,
    }
}

/// What a client used: an adapter's own processor time is not the client's.
pub(super) fn client_use(process: &ProcessRun) -> EndUse {
    let usage = end_use(process.usage);
    let adapter = done(process).adapter_cpu_ms.unwrap_or(0.0);
    let share = if usage.cpu_ms() > 0.0 { (adapter / usage.cpu_ms()).min(1.0) } else { 0.0 };
    EndUse {
        user_ms: usage.user_ms * (1.0 - share),
        system_ms: usage.system_ms * (1.0 - share),
        ..usage
    }
}

/// The processor time of the work that is measured: of a warm client what it used since it was ready. None where that is not known.
pub(super) fn work_cpu_ms(processes: &[ProcessRun], is_warm: bool) -> Option<f64> {
    let of_work = |process: &ProcessRun| {
        let all = client_use(process).cpu_ms();
        match is_warm {
            false => Some(all),
            // An adapter's own start is not the client's, and nobody tells the two apart.
            true if begun(process) != process.started => None,
            true => Some((all - process.cpu_until_ready?.as_secs_f64() * 1e3).max(0.0)),
        }
    };
    processes.iter().map(of_work).sum()
}

/// The share of one core that its work took, without its start; None where that is too short for the counter's resolution.
pub(super) fn busy(processes: &[ProcessRun]) -> Option<f64> {
    let (mut cpu_ms, mut span) = (0.0, Duration::ZERO);
    for process in processes {
        let usage = client_use(process);
        // An adapter starts its client when it is ready itself.
        let before = if begun(process) == process.started {
            process.cpu_until_ready?
        } else {
            Duration::ZERO
        };
        cpu_ms += (usage.cpu_ms() - before.as_secs_f64() * 1e3).max(0.0);
        span += process.ended.since(ready_at(process));
    }
    let by_ticks = processes.iter().any(|process| process.usage.counted_by == Counter::Wait4);
    let least = if by_ticks { clock::TICK * LEAST_TICKS } else { clock::TICK };
    (span >= least).then(|| cpu_ms / (span.as_secs_f64() * 1e3))
}

/// How often it asked the kernel for what.
pub(super) fn system_calls(tables: &str) -> impl Iterator<Item = (String, f64)> {
    let SystemCalls { all, reads, writes, in_kernel } = SystemCalls::read(tables);
    let named = [
        (metric::SYSTEM_CALLS, all),
        (metric::SYSTEM_READS, reads),
        (metric::SYSTEM_WRITES, writes),
        (metric::SYSTEM_IN_KERNEL, in_kernel),
    ];
    named.into_iter().map(|(name, count)| (name.to_owned(), count as f64))
}

/// When it was ready for its work.
pub(super) fn ready_at(process: &ProcessRun) -> Instant {
    process.transcript.ready.as_ref().map_or(process.started, |ready| ready.at)
}

/// Its last line.
pub(super) fn done(process: &ProcessRun) -> contract::DoneLine {
    process.transcript.done.as_ref().map(|done| done.line.clone()).unwrap_or_default()
}

/// The sum of the counts; None where one is missing.
pub(super) fn sum(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::process::Usage;
    use subject::contract::{ReadyLine, Timed, Transcript};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A process that was ready after 400 ms, 300 ms of processor time in it, and used 350 ms in all.
    fn process(is_adapter: bool) -> ProcessRun {
        let line = ReadyLine { adapter: is_adapter, ..ReadyLine::default() };
        let ready = Some(Timed { at: at(400), line });
        ProcessRun {
            transcript: Transcript { ready, ..Transcript::default() },
            started: at(0),
            ended: at(500),
            usage: Usage {
                user: Duration::from_millis(320),
                system: Duration::from_millis(30),
                ..Usage::default()
            },
            cpu_until_ready: Some(Duration::from_millis(300)),
        }
    }

    #[test]
    fn the_processor_time_of_a_warm_client_is_without_its_warm_up() {
        let two = [process(false), process(false)];
        assert_eq!(work_cpu_ms(&two, false), Some(700.0));
        assert_eq!(work_cpu_ms(&two, true), Some(100.0));
    }

    #[test]
    fn where_the_warm_up_cannot_be_told_from_the_work_there_is_no_processor_time() {
        let unread = ProcessRun { cpu_until_ready: None, ..process(false) };
        assert_eq!(work_cpu_ms(&[process(false), unread], true), None);
        assert_eq!(work_cpu_ms(&[process(true)], true), None);
        assert_eq!(work_cpu_ms(&[process(true)], false), Some(350.0));
    }
}
