//! The book of a run: in which phase it is, which requests may still be made, and what became of those that were. The
//! one rule: a request leaves the book once, as an answer or as a fault.

use super::channel::{Ticket, Told};
use super::pace::{Due, Stage};
use super::plan::{LoadPlan, Pace};
use super::server::Server;
use super::tally::{Answered, Fault, Interval, Part, Tally};
use std::time::Duration;
use unit::Instant;

#[derive(Debug)]
pub(super) struct Book {
    pub(super) tally: Tally,
    phase: Phase,
    is_open_loop: bool,
    warm_up: Duration,
    duration: Option<Duration>,
    /// Requests that count and are still to be made.
    left: Option<u64>,
    /// When the plan's clock began, what counts begins, and the last request is begun.
    zero: Instant,
    counts_from: Instant,
    ends_at: Option<Instant>,
    under_way: u64,
    /// Requests that are due, or to be made again, and wait for a connection.
    queued: u64,
    interval: Interval,
    news: News,
    sockets: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody has told the time yet.
    Idle,
    /// The connections' first attempts.
    Opening,
    Running,
    /// No request is begun any more.
    Ending,
    Finished,
}

/// What a watcher is told once.
#[derive(Debug, Default)]
struct News {
    began: Telling,
    ended: Telling,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Telling {
    #[default]
    NotYet,
    Due,
    Done,
}

/// Whether a request that the schedule names is to be made.
pub(super) enum Taken {
    Ticket(Ticket),
    /// Its time has not come, or the plan is over before it.
    Not,
}

/// Attempts at a request that servers say they have not acted on.
const TRIES: u8 = 5;

impl Book {
    pub(super) fn new(plan: &LoadPlan) -> Self {
        let stages = match &plan.pace {
            Pace::Closed => 1,
            Pace::Open { stages, .. } => stages.len(),
        };
        Self {
            tally: Tally::new(stages, plan.targets.len()),
            phase: Phase::Idle,
            is_open_loop: plan.pace != Pace::Closed,
            warm_up: plan.warm_up,
            duration: plan.duration,
            left: plan.requests.map(|requests| plan.share.part(requests)),
            zero: Instant::ZERO,
            counts_from: Instant::ZERO,
            ends_at: None,
            under_way: 0,
            queued: 0,
            interval: Interval::new(Instant::ZERO),
            news: News::default(),
            sockets: 0,
        }
    }

    /// Whether this is the first that is heard of time.
    pub(super) fn wake(&mut self) -> bool {
        let is_first = self.phase == Phase::Idle;
        if is_first {
            self.phase = Phase::Opening;
        }
        is_first
    }

    /// The plan's clock begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.phase = Phase::Running;
        self.zero = now;
        self.counts_from = now + self.warm_up;
        self.ends_at = self.duration.map(|duration| self.counts_from + duration);
        self.tally.began = Some(self.counts_from);
        self.interval.restart(now);
    }

    /// The stages with the warm-up before them, which goes at the first one's rate.
    pub(super) fn with_warm_up(&self, stages: &[Stage]) -> Vec<Stage> {
        let warm_up = stages.first().filter(|_| !self.warm_up.is_zero());
        let warm_up = warm_up.map(|first| Stage::constant(first.from, Some(self.warm_up)));
        warm_up.into_iter().chain(stages.iter().copied()).collect()
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
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
    pub(super) fn take(&mut self, now: Instant, server: &mut Server) -> Option<Ticket> {
        if let Some(ticket) = server.pop() {
            self.queued -= 1;
            return Some(ticket);
        }
        if self.phase != Phase::Running || self.is_open_loop {
            return None;
        }
        let stage = (now >= self.counts_from).then_some(0);
        if stage.is_some() && !self.may_begin(now) {
            return None;
        }
        let target = server.next_target();
        Some(ticket(target, stage, now))
    }

    /// The request that the schedule says is `due`. Its target is the caller's to choose.
    pub(super) fn arrive(&mut self, now: Instant, due: Due) -> Taken {
        let time = self.time_of(due.at);
        if time > now || self.phase != Phase::Running {
            return Taken::Not;
        }
        let stage = match self.warm_up.is_zero() {
            true => Some(due.stage),
            false => due.stage.checked_sub(1),
        };
        if stage.is_some() {
            if !self.may_begin(time) {
                return Taken::Not;
            }
            self.tally.lateness.record(now.since(time));
        }
        self.queued += 1;
        Taken::Ticket(ticket(0, stage, time))
    }

    /// Whether one more request that counts may be begun, which is then counted on.
    fn may_begin(&mut self, at: Instant) -> bool {
        if self.ends_at.is_some_and(|end| at >= end) {
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

    /// When that is, since the plan's beginning.
    pub(super) fn time_of(&self, at: Duration) -> Instant {
        self.zero + at
    }

    /// The schedule names no further request.
    pub(super) fn end_of_schedule(&mut self) {
        if self.phase == Phase::Running {
            self.phase = Phase::Ending;
        }
    }

    /// A request that `take` gave is under way.
    pub(super) fn start(&mut self) {
        self.under_way += 1;
    }

    /// What became of a request under way; gives the number of answers, which is 1 or 0.
    pub(super) fn note(&mut self, now: Instant, server: &mut Server, told: Told) -> u64 {
        self.under_way -= 1;
        match told {
            Told::Answered(ticket) => {
                self.answer(now, &ticket);
                return 1;
            }
            Told::Failed(ticket, fault) => self.fail(&ticket, fault),
            Told::Unprocessed(ticket) if ticket.tries + 1 >= TRIES => {
                self.fail(&ticket, Fault::StreamReset);
            }
            Told::Unprocessed(ticket) => {
                self.tally.again += 1;
                self.queued += 1;
                let tries = ticket.tries + 1;
                server.again.push_back(Ticket { tries, head: None, body: 0, ..ticket });
            }
        }
        0
    }

    fn answer(&mut self, now: Instant, ticket: &Ticket) {
        let Some((head, status)) = ticket.head else { return self.fail(ticket, Fault::Protocol) };
        let (refused, latency) = (status.code() >= 400, now.since(ticket.due));
        let answer = Answered { refused, body: ticket.body, latency };
        if ticket.stage.is_some() {
            self.tally.status(status);
            self.tally.first_byte.record(head.since(ticket.begun));
        }
        if let Some(part) = self.target(ticket) {
            part.answer(&answer);
        }
        self.part(ticket).answer(&answer);
        self.interval.part.answer(&answer);
    }

    /// A request came to nothing.
    pub(super) fn fail(&mut self, ticket: &Ticket, fault: Fault) {
        if let Some(part) = self.target(ticket) {
            part.faults.count(fault);
        }
        self.part(ticket).faults.count(fault);
        self.interval.part.faults.count(fault);
    }

    /// The same for one that has waited in a queue.
    pub(super) fn fail_waiting(&mut self, ticket: &Ticket, fault: Fault) {
        self.queued -= 1;
        self.fail(ticket, fault);
    }

    fn part(&mut self, ticket: &Ticket) -> &mut Part {
        match ticket.stage.and_then(|stage| self.tally.stages.get_mut(stage)) {
            Some(part) => part,
            None => &mut self.tally.warm_up,
        }
    }

    fn target(&mut self, ticket: &Ticket) -> Option<&mut Part> {
        ticket.stage?;
        self.tally.targets.get_mut(ticket.target)
    }

    /// Time goes on: what counts begins, and ends.
    pub(super) fn pass(&mut self, now: Instant) {
        let counts = self.phase != Phase::Idle && self.phase != Phase::Opening;
        if counts && self.news.began == Telling::NotYet && self.counts_from <= now {
            self.news.began = Telling::Due;
        }
        if self.phase == Phase::Running && self.ends_at.is_some_and(|end| end <= now) {
            self.close_window(now);
            self.phase = Phase::Ending;
        }
    }

    /// What is counted as the rate of answers ends here.
    fn close_window(&mut self, now: Instant) {
        if self.tally.ended.is_none() && self.tally.began.is_some() {
            let end = self.ends_at.map_or(now, |end| end.min(now));
            self.tally.ended = Some(end.max(self.counts_from.min(now)));
            self.tally.in_time = self.tally.stages.iter().map(|part| part.answers).sum();
            self.news.ended = Telling::Due;
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

    /// The next time at which something is to be done whatever comes from outside; None when all is done, and the
    /// clock's beginning as long as nobody has told the time.
    pub(super) fn next_time(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle => Some(Instant::ZERO),
            Phase::Finished => None,
            Phase::Opening => Some(Instant::from_nanos(u64::MAX)),
            Phase::Running if self.news.began == Telling::NotYet => Some(self.counts_from),
            Phase::Running | Phase::Ending => {
                let end = self.ends_at.filter(|_| self.phase == Phase::Running);
                Some(end.unwrap_or(Instant::from_nanos(u64::MAX)))
            }
        }
    }

    /// Whether what counts has just begun, and just ended: each is told once.
    pub(super) fn take_news(&mut self) -> (bool, bool) {
        let take = |told: &mut Telling| {
            let is_due = *told == Telling::Due;
            if is_due {
                *told = Telling::Done;
            }
            is_due
        };
        (take(&mut self.news.began), take(&mut self.news.ended))
    }

    /// What happened since the last call.
    pub(super) fn interval(&mut self, now: Instant) -> &mut Interval {
        self.interval.to = now;
        self.interval.under_way = self.under_way;
        self.interval.waiting = self.queued;
        &mut self.interval
    }
}

fn ticket(target: usize, stage: Option<usize>, due: Instant) -> Ticket {
    Ticket { target, stage, due, begun: due, head: None, body: 0, tries: 0 }
}
