//! Whether a server keeps up with the rate of an open loop. A queue that grows shows in two ways: fewer requests are
//! answered by the end than were due, and times grow all the while. What is under way at the end of a run is answered
//! later, and no shortfall where times do not grow.

use client::load::{Stage, Trend};
use study::load::{LoadResult, Rates};

/// A rate that was not answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shortfall {
    pub(super) rates: Rates,
    /// Whether the rate of the schedule changes.
    pub(super) varies: bool,
    growth: Growing,
    /// Whether most of it are requests that came to no answer.
    is_of_failures: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Growing {
    No,
    /// In the second half of the run. At a constant rate that may be a stall; where the rate rises, it is told.
    Later,
    Throughout,
}

impl Shortfall {
    /// Of a run by this schedule.
    pub(super) fn of(stages: &[Stage], result: &LoadResult, trend: &Trend) -> Option<Self> {
        let varies = !matches!(stages, [Stage { from, to, .. }] if from == to);
        let seconds = result.seconds.min(stages.iter().map(length).sum());
        let due = due_by(stages, seconds) / seconds.max(1e-9);
        let (answered, whole) = (result.answers_per_second, &result.whole);
        if answered >= due * KEPT_UP {
            return None;
        }
        let growth = match trend.growth() {
            Some(growth) if growth.surely <= GROWS || growth.second_half <= GROWS => Growing::No,
            Some(growth) if growth.first_half > GROWS => Growing::Throughout,
            Some(_) if varies => Growing::Later,
            _ => Growing::No,
        };
        let grows = due * seconds >= FEWEST && growth != Growing::No;
        let made = whole.requests + whole.not_begun;
        let is_lost = due * seconds >= FEW && (whole.answers as f64) < made as f64 * KEPT_UP;
        let failed = (made - whole.answers) as f64;
        let is_of_failures = failed >= (due - answered) * seconds / 2.0;
        let rates = Rates { due, answered };
        (grows || is_lost).then_some(Self { rates, varies, growth, is_of_failures })
    }

    /// Whether times grew from the beginning to the end.
    pub(super) fn grows_throughout(&self) -> bool {
        self.growth == Growing::Throughout
    }

    /// In a sentence.
    pub(super) fn told(&self) -> String {
        let on_average = if self.varies { " on average" } else { "" };
        let rest = match self.growth {
            Growing::No => ": the rest came to no answer",
            _ if self.is_of_failures => ": the rest came to no answer",
            Growing::Later => "; the times grew in the second half of the run",
            Growing::Throughout => "; the times grow with the length of such a run",
        };
        format!(
            "{} requests/s were due{on_average} and {} answered{rest}",
            report::load_rate(self.rates.due),
            report::load_rate(self.rates.answered)
        )
    }
}

/// Requests that a schedule has in its first `seconds`.
fn due_by(stages: &[Stage], seconds: f64) -> f64 {
    let mut left = seconds;
    let due = stages.iter().map(|stage| {
        let due = stage.mass_by(left.max(0.0));
        left -= length(stage);
        due
    });
    due.sum()
}

fn length(stage: &Stage) -> f64 {
    stage.lasts.map_or(f64::INFINITY, |lasts| lasts.as_secs_f64())
}

/// The share of the due requests whose answers keep up with the rate.
const KEPT_UP: f64 = 0.95;

/// Growth of times, in seconds a second, of a server that answers that share.
const GROWS: f64 = 1.0 / KEPT_UP - 1.0;

/// In a run of fewer requests those that fail are a large share.
const FEW: f64 = 100.0;

/// Fewer requests tell nothing of how times grow.
const FEWEST: f64 = 20.0;
