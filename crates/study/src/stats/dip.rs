//! Whether values have two modes: the dip test of Hartigan and Hartigan ("The Dip Test of Unimodality", 1985). The dip
//! is the distance of the empirical distribution from the nearest one with a single mode. Its p-value comes from
//! simulating the uniform distribution, which has the greatest dip of all distributions with one mode.

use super::order::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unit::Seed;

/// Values that have two modes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Modes {
    /// The dip's p-value: the probability of a dip as large from values with one mode.
    pub p: f64,
    /// The lower mode.
    pub low: Mode,
    /// The higher one.
    pub high: Mode,
}

/// A mode: values around a centre.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mode {
    /// The median of its values.
    pub centre: f64,
    /// Its share of all values.
    pub share: f64,
}

/// The two modes of `values`, where the dip test rejects one mode at 1 %. `known` caches the simulated dips.
pub fn modes(values: &[f64], known: &mut BTreeMap<usize, Vec<f64>>) -> Option<Modes> {
    let p = dip_p(dip(values), values.len(), known);
    if p > MODES_LEVEL {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = sorted.split_at(parting(&sorted));
    let mode = |heap: &[f64]| {
        Some(Mode { centre: median(heap)?, share: heap.len() as f64 / sorted.len() as f64 })
    };
    Some(Modes { p, low: mode(low)?, high: mode(high)? })
}

/// The dip of `values`, between 1/(2n) and 1/4.
pub fn dip(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut from, mut to) = (0, sorted.len().saturating_sub(1));
    // In steps of the distribution function. An error of one step cannot be avoided.
    let mut dip = 1.0_f64;
    while sorted.first() < sorted.last() {
        let minorant = hull(&sorted, from..=to, |old, new| old >= new);
        let majorant = hull(&sorted, from..=to, |old, new| old <= new);
        let widest = widest_gap(&sorted, &minorant, &majorant);
        if widest.gap < dip {
            break;
        }
        // Left of the mode the distribution must be convex, right of it concave.
        let left = chords(&minorant).filter(|chord| chord.to <= widest.from);
        let right = chords(&majorant).filter(|chord| chord.from >= widest.to);
        dip = left.map(|chord| chord.bulge_above(&sorted)).fold(dip, f64::max);
        dip = right.map(|chord| chord.bulge_below(&sorted)).fold(dip, f64::max);
        if (from, to) == (widest.from, widest.to) {
            break;
        }
        (from, to) = (widest.from, widest.to);
    }
    dip / (2.0 * values.len().max(1) as f64)
}

/// The probability that `n` uniform values have a dip of `dip` or more. `known` caches the simulated dips of each n.
pub fn dip_p(dip: f64, n: usize, known: &mut BTreeMap<usize, Vec<f64>>) -> f64 {
    // √n times the dip has a limit, and is near it there.
    let drawn = n.min(DRAWN_UP_TO);
    let scale = (n.max(1) as f64 / drawn.max(1) as f64).sqrt();
    let draws = known.entry(drawn).or_insert_with(|| uniform_dips(drawn));
    let below = draws.partition_point(|other| *other < dip * scale - ROUNDING);
    // The values themselves count as one of the draws, so that p is never 0.
    (draws.len() - below + 1) as f64 / (draws.len() + 1) as f64
}

fn uniform_dips(n: usize) -> Vec<f64> {
    let mut random = Seed(20_261_121).child("dip").nth(n as u64).random();
    let mut draw = || dip(&(0..n).map(|_| random.next_fraction()).collect::<Vec<f64>>());
    let mut dips: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    dips.sort_unstable_by(f64::total_cmp);
    dips
}

/// Where to split sorted values into two groups that are as compact as possible (the least sum of squares).
fn parting(sorted: &[f64]) -> usize {
    let all: f64 = sorted.iter().sum();
    let mut below = 0.0;
    let mut best = (f64::NEG_INFINITY, 1);
    for (count, value) in (1..sorted.len()).zip(sorted) {
        below += value;
        let others = (sorted.len() - count) as f64;
        // The sum of squares that the means explain. The rest is the sum of squares within the groups.
        let explained = below * below / count as f64 + (all - below) * (all - below) / others;
        if explained > best.0 {
            best = (explained, count);
        }
    }
    best.1
}

/// The points of a convex or concave hull of the distribution function, by their numbers.
fn hull(
    x: &[f64],
    range: std::ops::RangeInclusive<usize>,
    bends_wrongly: impl Fn(f64, f64) -> bool,
) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    for next in range {
        while let [.., before, last] = points[..] {
            // Slopes compared crosswise: values may be equal.
            let old = (last - before) as f64 * (x[next] - x[last]);
            let new = (next - last) as f64 * (x[last] - x[before]);
            if !bends_wrongly(old, new) {
                break;
            }
            points.pop();
        }
        points.push(next);
    }
    points
}

/// A straight segment of a hull, from one point to the next.
#[derive(Debug, Clone, Copy)]
struct Chord {
    from: usize,
    to: usize,
}

fn chords(hull: &[usize]) -> impl Iterator<Item = Chord> {
    hull.windows(2).map(|pair| Chord { from: pair[0], to: pair[1] })
}

impl Chord {
    /// Steps that it has risen by at `x`.
    fn risen(self, sorted: &[f64], x: f64) -> f64 {
        let width = sorted[self.to] - sorted[self.from];
        if width > 0.0 {
            (x - sorted[self.from]) * (self.to - self.from) as f64 / width
        } else {
            0.0
        }
    }

    fn is_level(self, sorted: &[f64]) -> bool {
        self.to - self.from < 2 || sorted[self.to] <= sorted[self.from]
    }

    /// By how many steps the distribution rises above a minorant's chord.
    fn bulge_above(self, sorted: &[f64]) -> f64 {
        if self.is_level(sorted) {
            return 1.0;
        }
        let bulge = |i: usize| (i - self.from) as f64 + 1.0 - self.risen(sorted, sorted[i]);
        (self.from..=self.to).map(bulge).fold(1.0, f64::max)
    }

    /// By how many steps it stays below a majorant's chord.
    fn bulge_below(self, sorted: &[f64]) -> f64 {
        if self.is_level(sorted) {
            return 1.0;
        }
        let bulge = |i: usize| self.risen(sorted, sorted[i]) - (i - self.from) as f64 + 1.0;
        (self.from..=self.to).map(bulge).fold(1.0, f64::max)
    }
}

/// Where majorant and minorant are farthest apart, and the points of both around it.
struct Widest {
    gap: f64,
    from: usize,
    to: usize,
}

fn widest_gap(x: &[f64], minorant: &[usize], majorant: &[usize]) -> Widest {
    let (from, to) = (minorant[0], minorant[minorant.len() - 1]);
    let mut widest = Widest { gap: 1.0, from, to };
    if minorant.len() == 2 && majorant.len() == 2 {
        return widest;
    }
    widest.gap = 0.0;
    let (mut below, mut above) = (1, 1);
    loop {
        let (low, high) = (minorant[below], majorant[above]);
        if low > high {
            let chord = Chord { from: minorant[below - 1], to: low };
            let gap = (high - chord.from) as f64 + 1.0 - chord.risen(x, x[high]);
            if gap >= widest.gap {
                widest = Widest { gap, from: chord.from, to: high };
            }
            above = (above + 1).min(majorant.len() - 1);
        } else {
            let chord = Chord { from: majorant[above - 1], to: high };
            let gap = chord.risen(x, x[low]) - (low - chord.from) as f64 + 1.0;
            if gap >= widest.gap {
                widest = Widest { gap, from: low, to: high };
            }
            below = (below + 1).min(minorant.len() - 1);
        }
        if minorant[below] == majorant[above] {
            return widest;
        }
    }
}

/// One cell in a hundred with one mode is wrongly said to have two.
const MODES_LEVEL: f64 = 0.01;
const DRAWS: usize = 2_000;
const DRAWN_UP_TO: usize = 150;
/// Dips of equal steps differ by this much at most.
const ROUNDING: f64 = 1e-12;
