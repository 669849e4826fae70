//! The ledger of a run: in which phase it is, which requests may still be made, and what became of those that were. The
//! one rule: a request leaves the ledger once, as an answer or as a fault.

use super::connection::{Outcome, PendingRequest};
use super::pace::{Arrivals, Due, Stage};
use super::plan::{LoadPlan, Pace};
use super::server::Server;
use super::tally::{Answered, Fault, Interval, Part, Tally};
use std::time::Duration;
use unit::Instant;

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) tally: Tally,
    phase: Phase,
    is_open_loop: bool,
    warm_up: Duration,
    duration: Option<Duration>,
    /// Requests that count and are still to be made.
    left: Option<u64>,
    /// Requests that may wait for a connection.
    most_waiting: u64,
    /// None until the plan's clock begins.
    clock: Option<Clock>,
    under_way: u64,
    /// Requests that are due, or to be made again, and wait for a connection.
    queued: u64,
    /// What the watcher knows.
    announced: Announced,
    sockets: u64,
    absence: Absence,
}

/// The last stretch of time in which this engine was to do something and did not: it was not woken, or was busy.
#[derive(Debug, Clone, Copy)]
struct Absence {
    from: Instant,
    to: Instant,
}

impl Absence {
    const NONE: Self = Self { from: Instant::ZERO, to: Instant::ZERO };

    /// What was to be done at `due` is noticed at `now`.
    fn note(&mut self, due: Instant, now: Instant) {
        if due > self.to {
            self.from = due;
        }
        self.to = now;
    }

    /// How much of it lies between these times.
    fn within(&self, from: Instant, to: Instant) -> Duration {
        self.to.min(to).since(self.from.max(from))
    }
}

/// The plan's clock.
#[derive(Debug)]
struct Clock {
    /// It began.
    zero: Instant,
    /// What counts begins.
    counts_from: Instant,
    /// The last request is begun; None where no time bounds that.
    ends_at: Option<Instant>,
    /// What has happened since the last report to the watcher.
    interval: Interval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The connections' first attempts.
    Opening,
    Running,
    /// No request is begun any more.
    Ending,
    Finished,
}

/// What was reported to the watcher: the beginning and the end of the run once each.
#[derive(Debug, Default)]
struct Announced {
    began: bool,
    ended: bool,
}

/// Length of an interval that is reported to watchers.
const INTERVAL: Duration = Duration::from_secs(1);

/// Attempts at a request that servers say they have not acted on.
const TRIES: u8 = 5;

impl Ledger {
    pub(super) fn new(plan: &LoadPlan) -> Self {
        let stages = match &plan.pace {
            Pace::Closed => 1,
            Pace::Open { stages, .. } => stages.len(),
        };
        Self {
            tally: Tally::new(stages, plan.targets.len()),
            phase: Phase::Opening,
            is_open_loop: plan.pace != Pace::Closed,
            warm_up: plan.warm_up,
            duration: plan.duration,
            left: plan.requests.map(|requests| plan.share.part(requests)),
            most_waiting: plan.share.part(plan.most_waiting).max(1),
            clock: None,
            under_way: 0,
            queued: 0,
            announced: Announced::default(),
            sockets: 0,
            absence: Absence::NONE,
        }
    }

    /// The plan's clock begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.phase = Phase::Running;
        let counts_from = now + self.warm_up;
        self.tally.began = Some(counts_from);
        self.clock = Some(Clock {
            zero: now,
            counts_from,
            ends_at: self.duration.map(|duration| counts_from + duration),
            interval: Interval::new(now),
        });
    }

    /// The stages with the warm-up before them, which goes at the first one's rate.
    pub(super) fn with_warm_up(&self, stages: &[Stage]) -> Vec<Stage> {
        let warm_up = stages.first().filter(|_| !self.warm_up.is_zero());
        let warm_up = warm_up.map(|first| Stage::constant(first.from, Some(self.warm_up)));
        warm_up.into_iter().chain(stages.iter().copied()).collect()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Whether all that was begun is over, and nothing more is.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Ending && self.under_way == 0 && self.queued == 0
    }

    /// A number for each WebSocket.
    pub(super) fn next_socket(&mut self) -> u64 {
        self.sockets += 1;
        self.sockets
    }

    /// The next request that `server` can be asked: one that waits, or a new one in a closed loop.
    pub(super) fn take(&mut self, now: Instant, server: &mut Server) -> Option<PendingRequest> {
        if let Some(request) = server.pop() {
            self.queued -= 1;
            return Some(request);
        }
        if self.phase != Phase::Running || self.is_open_loop {
            return None;
        }
        let stage = (now >= self.clock.as_ref()?.counts_from).then_some(0);
        if stage.is_some() && !self.may_begin(now) {
            return None;
        }
        let target = server.next_target();
        Some(request(target, stage, now))
    }

    /// The request that the schedule says is `due`; None where its time has not come, or the plan is over before it.
    /// Its target is the caller's to choose.
    pub(super) fn arrive(&mut self, now: Instant, due: Due) -> Option<PendingRequest> {
        let time = self.time_of(due.at)?;
        if time > now || self.phase != Phase::Running {
            return None;
        }
        let stage = self.stage(due);
        if stage.is_some() {
            if !self.may_begin(time) {
                return None;
            }
            self.tally.lateness.record(now.since(time));
        }
        self.absence.note(time, now);
        self.queued += 1;
        Some(PendingRequest { seen: now, ..request(0, stage, time) })
    }

    /// Whether the next request is to be made when it is due. Where as many wait as may, it is looked at when something
    /// else happens.
    pub(super) fn awaits_arrivals(&self) -> bool {
        self.phase == Phase::Running && !self.is_full()
    }

    /// Whether as many requests wait as may.
    fn is_full(&self) -> bool {
        self.queued >= self.most_waiting
    }

    /// Where as many requests wait as may: passes over those that are due by now, from `due` on, and counts them.
    /// Gives how many it counted, which are none in the warm-up; None where no request was passed over.
    pub(super) fn pass_over(
        &mut self,
        now: Instant,
        due: Due,
        arrivals: &mut Arrivals,
    ) -> Option<u64> {
        let clock = self.clock.as_ref().filter(|_| self.is_full())?;
        let (zero, time) = (clock.zero, clock.zero + due.at);
        let counts = time >= clock.counts_from;
        // Not over the end of the warm-up, nor over that of the run.
        let border = if counts { clock.ends_at } else { Some(clock.counts_from) };
        let until = border.map_or(now, |border| border.min(now));
        if time >= until || self.phase != Phase::Running {
            return None;
        }
        let skipped = arrivals.skip_until(until.since(zero));
        let Some(stage) = self.stage(due).filter(|_| counts) else { return Some(0) };
        let counted = self.left.map_or(skipped, |left| left.min(skipped));
        self.left = self.left.map(|left| left - counted);
        if let Some(part) = self.tally.stages.get_mut(stage) {
            part.not_begun += counted;
        }
        Some(counted)
    }

    /// The stage of the plan that a request is due in; None for the warm-up, which goes before them.
    fn stage(&self, due: Due) -> Option<usize> {
        match self.warm_up.is_zero() {
            true => Some(due.stage),
            false => due.stage.checked_sub(1),
        }
    }

    /// Before answers are read: where a request is overdue, they are read late too.
    pub(super) fn note_overdue(&mut self, now: Instant, next: Option<Due>) {
        if let Some(time) = next.and_then(|due| self.time_of(due.at))
            && time < now
            && self.phase == Phase::Running
        {
            self.absence.note(time, now);
        }
    }

    /// Whether a connection that is lost has anything left to do. Where every request is made, the plan is ending.
    pub(super) fn wants_connections(&mut self) -> bool {
        if self.phase == Phase::Running && self.left == Some(0) {
            self.phase = Phase::Ending;
        }
        self.phase != Phase::Ending || self.queued > 0
    }

    /// Whether one more request that counts may be begun, which is then counted on.
    fn may_begin(&mut self, at: Instant) -> bool {
        if self.ends_at().is_some_and(|end| at >= end) {
            self.close_window(at);
            self.phase = Phase::Ending;
            return false;
        }
        match &mut self.left {
            Some(0) => {
                self.phase = Phase::Ending;
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    /// When that is, since the plan's beginning; None before it.
    pub(super) fn time_of(&self, at: Duration) -> Option<Instant> {
        self.clock.as_ref().map(|clock| clock.zero + at)
    }

    fn ends_at(&self) -> Option<Instant> {
        self.clock.as_ref()?.ends_at
    }

    /// The schedule names no further request. Where the plan has an end, it is that of the run too.
    pub(super) fn end_of_schedule(&mut self) {
        if self.phase == Phase::Running && self.ends_at().is_none() {
            self.phase = Phase::Ending;
        }
    }

    /// A request that `take` gave is under way.
    pub(super) fn start(&mut self) {
        self.under_way += 1;
    }

    /// What became of a request under way; gives the number of answers, which is 1 or 0.
    pub(super) fn note(&mut self, now: Instant, server: &mut Server, outcome: Outcome) -> u64 {
        self.under_way -= 1;
        match outcome {
            Outcome::Answered(request) => {
                self.answer(now, &request);
                return 1;
            }
            Outcome::Failed(request, fault) => self.fail(&request, fault),
            Outcome::Unprocessed(request) if request.tries + 1 >= TRIES => {
                self.fail(&request, Fault::StreamReset);
            }
            Outcome::Unprocessed(request) => {
                self.tally.again += 1;
                self.queued += 1;
                let tries = request.tries + 1;
                server.again.push_back(PendingRequest { tries, head: None, body: 0, ..request });
            }
        }
        0
    }

    fn answer(&mut self, now: Instant, request: &PendingRequest) {
        let Some((head, status)) = request.head else { return self.fail(request, Fault::Protocol) };
        let (refused, latency) = (status.code() >= 400, now.since(request.due));
        let answer = Answered { refused, body: request.body, latency };
        let counts = self.clock.as_ref().is_some_and(|clock| clock.counts_from <= now);
        self.tally.in_time += u64::from(counts && self.tally.ended.is_none());
        if request.stage.is_some() {
            self.tally.status(status);
            self.tally.first_byte.record(head.since(request.begun));
            if self.is_open_loop {
                let since_seen = now.since(request.seen);
                let absent = self.absence.within(request.seen, now);
                self.tally.latency_since_seen.record(since_seen);
                self.tally.latency_floor.record(since_seen.saturating_sub(absent));
                if let Some(clock) = &self.clock {
                    self.tally.trend.record(request.due.since(clock.counts_from), latency);
                }
            }
        }
        if let Some(part) = self.target(request) {
            part.answer(&answer);
        }
        self.part(request).answer(&answer);
        if let Some(clock) = &mut self.clock {
            clock.interval.part.answer(&answer);
        }
    }

    /// A request came to nothing.
    pub(super) fn fail(&mut self, request: &PendingRequest, fault: Fault) {
        if let Some(part) = self.target(request) {
            part.faults.count(fault);
        }
        self.part(request).faults.count(fault);
        if let Some(clock) = &mut self.clock {
            clock.interval.part.faults.count(fault);
        }
    }

    /// The same for one that has waited in a queue.
    pub(super) fn fail_waiting(&mut self, request: &PendingRequest, fault: Fault) {
        self.queued -= 1;
        self.fail(request, fault);
    }

    /// An attempt at a connection to the server of a target came to nothing.
    pub(super) fn fail_connect(&mut self, target: usize, fault: Fault) {
        self.tally.connects.faults.count(fault);
        if let Some(faults) = self.tally.unreached.get_mut(target) {
            faults.count(fault);
        }
    }

    /// What a fault said; the first of its kind is kept.
    pub(super) fn note_cause(&mut self, fault: Fault, said: impl FnOnce() -> String) {
        self.tally.causes.entry(fault).or_insert_with(said);
    }

    fn part(&mut self, request: &PendingRequest) -> &mut Part {
        match request.stage.and_then(|stage| self.tally.stages.get_mut(stage)) {
            Some(part) => part,
            None => &mut self.tally.warm_up,
        }
    }

    fn target(&mut self, request: &PendingRequest) -> Option<&mut Part> {
        request.stage?;
        self.tally.targets.get_mut(request.target)
    }

    /// Time goes on: what counts ends, although the last request may have been begun before.
    pub(super) fn pass(&mut self, now: Instant) {
        if self.ends_at().is_some_and(|end| end <= now) {
            self.close_window(now);
            if self.phase == Phase::Running {
                self.phase = Phase::Ending;
            }
        }
    }

    /// What is counted as the rate of answers ends here.
    fn close_window(&mut self, now: Instant) {
        if self.tally.ended.is_none()
            && let Some(clock) = &self.clock
        {
            let end = clock.ends_at.map_or(now, |end| end.min(now));
            self.tally.ended = Some(end.max(clock.counts_from.min(now)));
        }
    }

    /// Gives up what is under way.
    pub(super) fn stop(&mut self, now: Instant) {
        self.tally.unfinished = self.under_way + self.queued;
        self.close_window(now);
    }

    pub(super) fn finish(&mut self, now: Instant) {
        self.pass(now);
        self.close_window(now);
        self.phase = Phase::Finished;
    }

    /// The next time at which something is to be done whatever comes from outside.
    pub(super) fn next_time(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running if !self.announced.began => {
                self.clock.as_ref().map(|clock| clock.counts_from)
            }
            Phase::Running | Phase::Ending => self.ends_at().filter(|_| self.tally.ended.is_none()),
            Phase::Opening | Phase::Finished => None,
        }
    }

    /// Whether the measured part has begun and this was not reported to the watcher yet.
    pub(super) fn take_beginning(&mut self, now: Instant) -> bool {
        let counts = self.clock.as_ref().is_some_and(|clock| clock.counts_from <= now);
        counts && !std::mem::replace(&mut self.announced.began, true)
    }

    /// The same of its end.
    pub(super) fn take_end(&mut self) -> bool {
        self.tally.ended.is_some() && !std::mem::replace(&mut self.announced.ended, true)
    }

    /// The interval to report, where it has lasted long enough or is the last one: what has happened since the one before it.
    pub(super) fn due_interval(&mut self, now: Instant) -> Option<&mut Interval> {
        let is_finished = self.is_finished();
        let interval = &mut self.clock.as_mut()?.interval;
        // Nothing is under way at the end of a run that was not stopped.
        let is_awaited = self.under_way + self.queued > 0 && interval.from < now;
        let holds_something = interval.part.ended() + interval.part.not_begun > 0 || is_awaited;
        let is_due = interval.from + INTERVAL <= now || (is_finished && holds_something);
        if !is_due {
            return None;
        }
        interval.to = now;
        interval.under_way = self.under_way;
        interval.waiting = self.queued;
        Some(interval)
    }

    /// When the present interval is to be reported; None where none is.
    pub(super) fn interval_end(&self) -> Option<Instant> {
        let clock = self.clock.as_ref().filter(|_| self.phase == Phase::Running)?;
        Some(clock.interval.from + INTERVAL)
    }
}

fn request(target: usize, stage: Option<usize>, due: Instant) -> PendingRequest {
    PendingRequest { target, stage, due, seen: due, begun: due, head: None, body: 0, tries: 0 }
}
