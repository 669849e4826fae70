//! One run of a plan: an engine a thread, a core each, and what all of them counted.

use super::live::Live;
use super::outcome;
use crate::error::CliError;
use client::load::{Interval, Load, LoadPlan, Part, Share, Tally, Watch};
use os::error::Os;
use os::process::{Cpu, CpuSet};
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use study::load::Second;
use unit::Instant;

/// What a run came to.
pub(crate) struct LoadRun {
    pub(crate) tally: Tally,
    /// About a second each. Figures alone: a histogram for each would be a gigabyte an hour.
    pub(crate) course: Vec<Second>,
    /// What each thread used while it counted, and how long that was.
    pub(crate) cpu: Vec<(Duration, Duration)>,
}

/// An interval of all threads.
pub(crate) struct Snapshot {
    /// Since the first interval's beginning.
    pub(crate) at: Duration,
    pub(crate) span: Duration,
    pub(crate) part: Part,
    pub(crate) waiting: u64,
    pub(crate) connections: u64,
}

/// What a thread reports while it runs.
enum ThreadReport {
    /// Its nth interval.
    Interval(usize, Box<Interval>),
    /// What it used while it counted, and how long that was.
    Used(Duration, Duration),
}

/// The threads of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads<'a> {
    pub(crate) count: usize,
    /// What their reactors stand on.
    pub(crate) backend: Backend,
    /// Ends the run before its time.
    pub(crate) stop: &'a Stop,
}

/// Runs `plan` to its end, or until it is stopped.
pub(crate) fn run(
    plan: &LoadPlan,
    threads: Threads<'_>,
    live: &mut Live,
) -> Result<LoadRun, CliError> {
    let Threads { count: threads, backend, stop } = threads;
    let (sender, reports) = channel();
    let cpus = CpuSet::allowed();
    let workers: Vec<_> = (0..threads)
        .map(|index| {
            let worker = Worker {
                plan: share(plan, index, threads),
                cpu: cpus.nth(index).filter(|_| threads > 1),
                backend,
                stop: stop.clone(),
                reports: sender.clone(),
            };
            thread::spawn(move || worker.run())
        })
        .collect();
    drop(sender);
    let (course, cpu) = collect(&reports, threads, live);
    live.clear();
    let mut whole: Option<Tally> = None;
    for worker in workers {
        let tally =
            worker.join().map_err(|_| CliError::failed("a thread of the load panicked"))??;
        match &mut whole {
            None => whole = Some(tally),
            Some(whole) => whole.add(&tally),
        }
    }
    let tally = whole.ok_or_else(|| CliError::failed("a load has a thread at least"))?;
    Ok(LoadRun { tally, course, cpu })
}

/// A thread's part of a plan.
fn share(plan: &LoadPlan, index: usize, threads: usize) -> LoadPlan {
    let share = Share { index: index as u64, of: threads as u64 };
    LoadPlan {
        share,
        connections: share.part(plan.connections as u64) as usize,
        seed: plan.seed.nth(index as u64),
        ..plan.clone()
    }
}

/// Hears what the threads tell, until all are done.
fn collect(
    reports: &Receiver<ThreadReport>,
    threads: usize,
    live: &mut Live,
) -> (Vec<Second>, Vec<(Duration, Duration)>) {
    let mut open: BTreeMap<usize, Vec<Interval>> = BTreeMap::new();
    let (mut course, mut cpu) = (Vec::new(), Vec::new());
    let mut began: Option<Instant> = None;
    let mut tell = |began: Instant, intervals: &[Interval]| {
        let snapshot = snapshot(began, intervals);
        live.show(snapshot.as_ref());
        course.extend(snapshot.as_ref().map(outcome::second));
    };
    for report in reports {
        match report {
            ThreadReport::Used(used, span) => cpu.push((used, span)),
            ThreadReport::Interval(nth, interval) => {
                let began = *began.get_or_insert(interval.from);
                let together = open.entry(nth).or_default();
                together.push(*interval);
                if together.len() == threads {
                    tell(began, &open.remove(&nth).unwrap_or_default());
                }
            }
        }
    }
    // Threads do not end with the same number of intervals.
    for intervals in open.into_values() {
        tell(began.unwrap_or_default(), &intervals);
    }
    (course, cpu)
}

fn snapshot(began: Instant, intervals: &[Interval]) -> Option<Snapshot> {
    let (first, rest) = intervals.split_first()?;
    let mut part = first.part.clone();
    rest.iter().for_each(|other| part.add(&other.part));
    Some(Snapshot {
        at: first.to.since(began),
        span: first.to.since(first.from),
        part,
        waiting: intervals.iter().map(|interval| interval.waiting).sum(),
        connections: intervals.iter().map(|interval| interval.connections).sum(),
    })
}

struct Worker {
    plan: LoadPlan,
    cpu: Option<Cpu>,
    backend: Backend,
    stop: Stop,
    reports: Sender<ThreadReport>,
}

impl Worker {
    fn run(self) -> Result<Tally, Os> {
        os::clock::wake_on_time();
        let mut load = Load::new(self.plan);
        load.observe(Box::new(Observer { reports: self.reports, began: None, intervals: 0 }));
        // What a server still says when all is counted is of no use.
        let (cpu, backend, linger) = (self.cpu, self.backend, Duration::ZERO);
        let settings =
            ReactorSettings { cpu, backend, flush: FLUSH, linger, ..ReactorSettings::default() };
        Reactor::new(settings, self.stop)?.run(&mut load)?;
        Ok(load.into_tally())
    }
}

/// How long the last bytes may take.
const FLUSH: Duration = Duration::from_secs(1);

/// Tells the main thread, and reads this thread's processor clock where counting begins and ends.
struct Observer {
    reports: Sender<ThreadReport>,
    began: Option<(Instant, Duration)>,
    intervals: usize,
}

impl Watch for Observer {
    fn handle_began(&mut self, now: Instant) {
        self.began = Some((now, os::clock::thread_cpu()));
    }

    fn handle_interval(&mut self, interval: &Interval) {
        let told = ThreadReport::Interval(self.intervals, Box::new(interval.clone()));
        self.intervals += 1;
        // The main thread receives until no sender is left.
        let _heard = self.reports.send(told);
    }

    fn handle_ended(&mut self, now: Instant) {
        if let Some((began, cpu)) = self.began {
            let used = os::clock::thread_cpu().saturating_sub(cpu);
            let _heard = self.reports.send(ThreadReport::Used(used, now.since(began)));
        }
    }
}
