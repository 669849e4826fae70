//! Whether times grow while a run goes on: lines of least squares through the times of answers, over when their requests
//! were due. A server that keeps up has a level line, however long it takes. One that serves `c` of `r` requests a second
//! falls behind, and each second of the schedule adds `r / c - 1` seconds to the times.
//!
//! A stall near the end of a run tilts the line too. So there are lines through the halves of the run. Where these lie is
//! known at its end alone: sums are kept for pieces of time, whose length doubles when there are too many.

use std::time::Duration;

/// Sums over answers. Those of several engines can be added.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// A piece lasts two to this power, in nanoseconds.
    length: u32,
    pieces: [Sums; PIECES],
}

pub(super) const PIECES: usize = 32;

/// The first pieces last about a millisecond.
const SHORTEST: u32 = 20;

/// Of the answers whose requests were due in a piece of time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    count: f64,
    due: f64,
    time: f64,
    due_squared: f64,
    due_times_time: f64,
    time_squared: f64,
}

/// By how many seconds times grow in each second of the schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// In the whole run.
    pub whole: f64,
    /// The same less two standard errors: what is not by chance.
    pub surely: f64,
    /// Among requests that were due in the run's first half.
    pub first_half: f64,
    /// In its second half.
    pub second_half: f64,
}

impl Default for Trend {
    fn default() -> Self {
        Self { length: SHORTEST, pieces: [Sums::default(); PIECES] }
    }
}

impl Trend {
    /// An answer came `time` after its request was due, which was `due` after what counts began.
    pub fn record(&mut self, due: Duration, time: Duration) {
        let nanos = due.as_nanos();
        while nanos >> self.length >= PIECES as u128 {
            self.double();
        }
        let (due, time) = (due.as_secs_f64(), time.as_secs_f64());
        self.pieces[(nanos >> self.length) as usize].add(&Sums {
            count: 1.0,
            due,
            time,
            due_squared: due * due,
            due_times_time: due * time,
            time_squared: time * time,
        });
    }

    /// Adds what another engine counted.
    pub fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.length < other.length {
            self.double();
        }
        while other.length < self.length {
            other.double();
        }
        for (own, others) in self.pieces.iter_mut().zip(&other.pieces) {
            own.add(others);
        }
    }

    /// How times grow; None where too few tell.
    pub fn growth(&self) -> Option<Growth> {
        let end = self.pieces.iter().rposition(|piece| piece.count > 0.0)? + 1;
        let line = |pieces: &[Sums]| Sums::of(pieces).line();
        let (first, second) = self.pieces[..end].split_at(end / 2);
        let (whole, error) = line(&self.pieces[..end])?;
        let ((first_half, _), (second_half, _)) = (line(first)?, line(second)?);
        Some(Growth { whole, surely: whole - 2.0 * error, first_half, second_half })
    }

    fn double(&mut self) {
        self.length += 1;
        for nth in 0..PIECES {
            let pair = self.pieces.get(2 * nth..2 * nth + 2).unwrap_or_default();
            self.pieces[nth] = Sums::of(pair);
        }
    }

    /// All of it as numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let sums = self.pieces.iter().flat_map(|piece| {
            [
                piece.count,
                piece.due,
                piece.time,
                piece.due_squared,
                piece.due_times_time,
                piece.time_squared,
            ]
        });
        std::iter::once(self.length.into()).chain(sums.map(f64::to_bits))
    }

    /// What [`Self::numbers`] gave; None where they cannot be of it.
    pub(super) fn of(length: u64, pieces: [[u64; 6]; PIECES]) -> Option<Self> {
        let length =
            u32::try_from(length).ok().filter(|length| (SHORTEST..u64::BITS).contains(length))?;
        let pieces = pieces.map(|piece| {
            let [count, due, time, due_squared, due_times_time, time_squared] =
                piece.map(f64::from_bits);
            Sums { count, due, time, due_squared, due_times_time, time_squared }
        });
        Some(Self { length, pieces })
    }
}

impl Sums {
    fn of(pieces: &[Self]) -> Self {
        let mut sums = Self::default();
        pieces.iter().for_each(|piece| sums.add(piece));
        sums
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.due += other.due;
        self.time += other.time;
        self.due_squared += other.due_squared;
        self.due_times_time += other.due_times_time;
        self.time_squared += other.time_squared;
    }

    /// The slope of the line, and its standard error; None where there are too few, or all were due at one time.
    fn line(&self) -> Option<(f64, f64)> {
        let spread = self.count * self.due_squared - self.due * self.due;
        let together = self.count * self.due_times_time - self.due * self.time;
        let beside = self.count * self.time_squared - self.time * self.time;
        (spread > 0.0 && self.count > 2.0).then(|| {
            let slope = together / spread;
            let left = (beside - slope * together).max(0.0);
            (slope, (left / (self.count - 2.0) / spread).sqrt())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(times: impl Iterator<Item = f64>) -> Trend {
        let mut trend = Trend::default();
        for (nth, time) in times.enumerate() {
            trend.record(Duration::from_millis(20 * nth as u64), Duration::from_secs_f64(time));
        }
        trend
    }

    #[test]
    fn a_stall_at_the_end_is_growth_in_one_half_and_a_queue_in_both() {
        let due = |nth: i32| f64::from(nth) / 50.0;
        let stall = trend((0..100).map(|nth| if nth < 75 { 0.0 } else { 2.0 - due(nth) }));
        let growth = stall.growth().unwrap();
        assert!(growth.whole > 0.05 && growth.second_half > 0.05, "{growth:?}");
        assert!(growth.first_half.abs() < 1e-6, "{growth:?}");
        let growth = trend((0..100).map(|nth| due(nth) / 10.0)).growth().unwrap();
        for part in [growth.whole, growth.surely, growth.first_half, growth.second_half] {
            assert!((part - 0.1).abs() < 1e-6, "{growth:?}");
        }
    }

    #[test]
    fn engines_that_ran_for_different_times_are_added_as_one() {
        let mut seed = 7_u32;
        let mut whole = Trend::default();
        let (mut short, mut long) = (Trend::default(), Trend::default());
        for nth in 0..4_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let due = Duration::from_millis(nth);
            let time = Duration::from_micros(u64::from(seed >> 16));
            whole.record(due, time);
            if nth < 300 { short.record(due, time) } else { long.record(due, time) }
        }
        for (mut own, other) in [(short.clone(), &long), (long.clone(), &short)] {
            own.add(other);
            let (added, whole) = (own.growth().unwrap(), whole.growth().unwrap());
            assert!((added.surely - whole.surely).abs() < 1e-9, "{added:?} {whole:?}");
            assert!((added.first_half - whole.first_half).abs() < 1e-9, "{added:?} {whole:?}");
        }
        assert!(whole.growth().unwrap().surely < 0.0, "chance alone");
    }
}
