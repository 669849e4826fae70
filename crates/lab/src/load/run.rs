//! One run of a plan: an engine a thread, a core each, and what all of them counted. Where agents share a load, each runs its
//! part, and what all of them counted is added here.

use super::live::Live;
use super::outcome;
use crate::error::CliError;
use client::load::{
    BadTally, Fields, Interval, Load, LoadPlan, Part, Share, Tally, Watch, put_time, put_whole,
};
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
    /// When what counts began, since 1970.
    pub(crate) counts_from: Duration,
    /// About a second each. Figures alone: a histogram for each would be a gigabyte an hour.
    pub(crate) course: Vec<Second>,
    /// The same with their histograms, as [`Snapshot::put`] writes them; none where there is one agent.
    pub(crate) intervals: Vec<Vec<u8>>,
    /// What each thread used while it counted, and how long that was.
    pub(crate) cpu: Vec<(Duration, Duration)>,
    /// Whether a user ended it before its time, at any agent.
    pub(crate) is_interrupted: bool,
}

/// Intervals of a run at most.
const MOST_INTERVALS: u64 = 10_000_000;

impl LoadRun {
    /// Writes what an agent hands in.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_whole(out, self.is_interrupted.into());
        self.tally.put(out);
        put_whole(out, self.intervals.len() as u64);
        self.intervals.iter().for_each(|interval| out.extend(interval));
        put_whole(out, self.cpu.len() as u64);
        for (used, span) in &self.cpu {
            put_time(out, *used);
            put_time(out, *span);
        }
    }

    /// Whether what an agent handed in is of a run that its user ended.
    pub(crate) fn tells_interrupt(bytes: &[u8]) -> bool {
        Fields::of(bytes).whole() == Ok(1)
    }

    /// Adds what another agent handed in, whose run began at `began` of this machine's clock. Its intervals are added to
    /// those of this run in their order, with figures anew.
    pub(crate) fn add(&mut self, bytes: &[u8], began: Instant) -> Result<(), BadTally> {
        let mut fields = Fields::of(bytes);
        let fields = &mut fields;
        self.is_interrupted |= fields.whole()? == 1;
        self.tally.add(&Tally::take(fields, self.tally.began.unwrap_or(began))?);
        let count = bounded(fields)?;
        for nth in 0..count {
            let mut snapshot = Snapshot::take(fields)?;
            match self.intervals.get(nth) {
                Some(own) => snapshot.add(&Snapshot::take(&mut Fields::of(own))?),
                None => self.intervals.push(Vec::new()),
            }
            self.intervals[nth].clear();
            snapshot.put(&mut self.intervals[nth]);
            let second = outcome::second(&snapshot);
            match self.course.get_mut(nth) {
                Some(own) => *own = second,
                None => self.course.push(second),
            }
        }
        for _ in 0..bounded(fields)? {
            self.cpu.push((fields.time()?, fields.time()?));
        }
        if fields.is_empty() { Ok(()) } else { Err(BadTally) }
    }
}

fn bounded(fields: &mut Fields<'_>) -> Result<usize, BadTally> {
    let count = fields.whole()?;
    if count <= MOST_INTERVALS { Ok(count as usize) } else { Err(BadTally) }
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

impl Snapshot {
    fn add(&mut self, other: &Self) {
        self.span = self.span.max(other.span);
        self.at = self.at.max(other.at);
        self.part.add(&other.part);
        self.waiting += other.waiting;
        self.connections += other.connections;
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_time(out, self.at);
        put_time(out, self.span);
        put_whole(out, self.waiting);
        put_whole(out, self.connections);
        self.part.put(out);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, BadTally> {
        let (at, span) = (fields.time()?, fields.time()?);
        let (waiting, connections) = (fields.whole()?, fields.whole()?);
        Ok(Self { at, span, part: Part::take(fields)?, waiting, connections })
    }
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
    /// This agent's part of the load.
    pub(crate) agent: Share,
}

/// Runs `plan` to its end, or until it is stopped.
pub(crate) fn run(
    plan: &LoadPlan,
    threads: Threads<'_>,
    live: &mut Live,
) -> Result<LoadRun, CliError> {
    let Threads { count: threads, backend, stop, agent } = threads;
    let (sender, reports) = channel();
    let cpus = CpuSet::allowed();
    let workers: Vec<_> = (0..threads)
        .map(|index| {
            let worker = Worker {
                plan: share(plan, engine(agent, index, threads)),
                cpu: cpus.nth(index).filter(|_| threads > 1),
                backend,
                stop: stop.clone(),
                reports: sender.clone(),
            };
            thread::spawn(move || worker.run())
        })
        .collect();
    drop(sender);
    let mut intervals = Vec::new();
    let keep = |snapshot: &Snapshot| {
        if agent.of > 1 {
            let mut bytes = Vec::new();
            snapshot.put(&mut bytes);
            intervals.push(bytes);
        }
    };
    let (course, cpu) = collect(&reports, threads, live, keep);
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
    let ago = tally.began.map_or(Duration::ZERO, |began| os::clock::now().since(began));
    let counts_from = os::clock::realtime().saturating_sub(ago);
    Ok(LoadRun { tally, counts_from, course, intervals, cpu, is_interrupted: false })
}

/// A thread's part of the whole load, of all agents' threads.
fn engine(agent: Share, index: usize, threads: usize) -> Share {
    let threads = threads as u64;
    Share { index: agent.index * threads + index as u64, of: agent.of * threads }
}

/// An engine's part of a plan.
fn share(plan: &LoadPlan, share: Share) -> LoadPlan {
    LoadPlan {
        share,
        connections: share.part(plan.connections as u64) as usize,
        seed: plan.seed.nth(share.index),
        ..plan.clone()
    }
}

/// Hears what the threads tell, until all are done.
fn collect(
    reports: &Receiver<ThreadReport>,
    threads: usize,
    live: &mut Live,
    mut keep: impl FnMut(&Snapshot),
) -> (Vec<Second>, Vec<(Duration, Duration)>) {
    let mut open: BTreeMap<usize, Vec<Interval>> = BTreeMap::new();
    let (mut course, mut cpu) = (Vec::new(), Vec::new());
    let mut began: Option<Instant> = None;
    let mut tell = |began: Instant, intervals: &[Interval]| {
        let snapshot = snapshot(began, intervals);
        live.show(snapshot.as_ref());
        course.extend(snapshot.as_ref().map(outcome::second));
        snapshot.iter().for_each(&mut keep);
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
    // Both clocks are read here: `_now` is when the turn of events began, and the processor's clock has gone on since.
    fn handle_began(&mut self, _now: Instant) {
        self.began = Some((os::clock::now(), os::clock::thread_cpu()));
    }

    fn handle_interval(&mut self, interval: &Interval) {
        let told = ThreadReport::Interval(self.intervals, Box::new(interval.clone()));
        self.intervals += 1;
        // The main thread receives until no sender is left.
        let _heard = self.reports.send(told);
    }

    fn handle_ended(&mut self, _now: Instant) {
        if let Some((began, cpu)) = self.began {
            let used = os::clock::thread_cpu().saturating_sub(cpu);
            let span = os::clock::now().since(began);
            let _heard = self.reports.send(ThreadReport::Used(used, span));
        }
    }
}
