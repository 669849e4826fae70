//! Whether times grow while a run goes on: the line of least squares through the times of answers, over when their
//! requests were due. A server that keeps up has a level line, however long it takes. One that serves `c` of `r`
//! requests a second falls behind, and each second of the schedule adds `r / c - 1` seconds to the times.

use std::time::Duration;

/// Sums over answers, in seconds. Those of several engines can be added.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Trend {
    count: f64,
    due: f64,
    time: f64,
    due_squared: f64,
    due_times_time: f64,
}

impl Trend {
    /// An answer came `time` after its request was due, which was `due` after what counts began.
    pub fn record(&mut self, due: Duration, time: Duration) {
        let (due, time) = (due.as_secs_f64(), time.as_secs_f64());
        self.add(&Self {
            count: 1.0,
            due,
            time,
            due_squared: due * due,
            due_times_time: due * time,
        });
    }

    /// Adds what another engine counted.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.due += other.due;
        self.time += other.time;
        self.due_squared += other.due_squared;
        self.due_times_time += other.due_times_time;
    }

    /// By how many seconds times grow in each second of the schedule; None where all requests were due at one time.
    pub fn growth(&self) -> Option<f64> {
        let spread = self.count * self.due_squared - self.due * self.due;
        let together = self.count * self.due_times_time - self.due * self.time;
        (spread > 0.0).then(|| together / spread)
    }

    pub(super) fn sums(&self) -> [f64; 5] {
        [self.count, self.due, self.time, self.due_squared, self.due_times_time]
    }

    /// What [`Self::sums`] gave.
    pub(super) fn of(sums: [f64; 5]) -> Self {
        let [count, due, time, due_squared, due_times_time] = sums;
        Self { count, due, time, due_squared, due_times_time }
    }
}
