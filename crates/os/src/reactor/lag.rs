//! How late a reactor gets to its events. The one rule: no wait is longer than ten milliseconds. So a thread that got
//! no processor is noticed even where nothing happened meanwhile.

use crate::clock;
use crate::process::thread_waited;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use unit::Instant;

/// The longest wait. An idle thread wakes up this often, which costs a thousandth of a core.
const BEAT: Duration = Duration::from_millis(10);

/// What the turns of a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopTimes {
    /// From its beginning to its end.
    pub span: Duration,
    /// The part of it in which it did not wait.
    pub working: Duration,
    /// Processor time that it took.
    pub cpu: Duration,
    /// The part of it in which the thread was ready to run but waited for a processor; zero where the kernel does not
    /// tell.
    #[serde(default)]
    pub waited: Duration,
    /// The longest time that an event may have waited: the length of a turn, or by how much a wait was longer than
    /// planned.
    pub late: Duration,
    /// Processor time in that.
    pub late_cpu: Duration,
}

impl LoopTimes {
    /// Those of two runs one after another.
    pub fn followed_by(self, next: Self) -> Self {
        let later = if next.late > self.late { next } else { self };
        Self {
            span: self.span + next.span,
            working: self.working + next.working,
            cpu: self.cpu + next.cpu,
            waited: self.waited + next.waited,
            late: later.late,
            late_cpu: later.late_cpu,
        }
    }
}

/// Keeps the time of a run.
#[derive(Debug)]
pub(super) struct LagWatch {
    times: LoopTimes,
    began: Instant,
    began_cpu: Duration,
    began_waited: Duration,
    /// When the last turn or wait began, and the thread's processor time at that moment.
    since: Instant,
    since_cpu: Duration,
}

impl LagWatch {
    pub(super) fn begin() -> Self {
        let (now, cpu) = (clock::now(), clock::thread_cpu());
        let times = LoopTimes::default();
        let began_waited = thread_waited().unwrap_or_default();
        Self { times, began: now, began_cpu: cpu, began_waited, since: now, since_cpu: cpu }
    }

    /// A turn is over. Returns how long to wait at most.
    pub(super) fn end_turn(&mut self, timeout: Option<Duration>) -> Duration {
        let worked = self.mark(Duration::ZERO);
        self.times.working += worked;
        timeout.map_or(BEAT, |timeout| timeout.min(BEAT))
    }

    /// A wait is over, which was planned to take `timeout` at most.
    pub(super) fn end_wait(&mut self, timeout: Duration) {
        self.mark(timeout);
    }

    pub(super) fn times(&self) -> LoopTimes {
        LoopTimes {
            span: self.since.since(self.began),
            cpu: self.since_cpu.saturating_sub(self.began_cpu),
            waited: thread_waited().unwrap_or_default().saturating_sub(self.began_waited),
            ..self.times
        }
    }

    /// The time since the last mark. What exceeds `planned` counts as late.
    fn mark(&mut self, planned: Duration) -> Duration {
        let (now, cpu) = (clock::now(), clock::thread_cpu());
        let span = now.since(self.since);
        let late = span.saturating_sub(planned);
        if late > self.times.late {
            self.times.late = late;
            self.times.late_cpu = cpu.saturating_sub(self.since_cpu);
        }
        (self.since, self.since_cpu) = (now, cpu);
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_takes_long_is_told_with_the_work_in_it() {
        let mut watch = LagWatch::begin();
        let began = clock::now();
        while clock::now().since(began) < Duration::from_millis(30) {}
        assert_eq!(watch.end_turn(None), BEAT);
        watch.end_wait(BEAT);
        let times = watch.times();
        assert!(
            times.late >= Duration::from_millis(30) && times.working >= times.late,
            "{times:?}"
        );
        assert!(times.late_cpu > Duration::ZERO && times.late_cpu <= times.cpu, "{times:?}");
        assert!(times.span >= times.working, "{times:?}");
    }

    #[test]
    fn a_wait_counts_by_what_it_took_longer_than_it_was_to() {
        let mut watch = LagWatch::begin();
        let short = Duration::from_millis(1);
        assert_eq!(watch.end_turn(Some(short)), short);
        std::thread::sleep(Duration::from_millis(40));
        watch.end_wait(short);
        let times = watch.times();
        assert!(times.late >= Duration::from_millis(39), "{times:?}");
        assert!(times.working < times.span && times.late_cpu < times.late, "{times:?}");
    }
}
