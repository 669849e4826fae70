//! When requests are due: a schedule of rates, laid down before the first request and heeding no answer. That is what
//! keeps a server's stall in the figures (Schroeder, Wierman, Harchol-Balter, "Open Versus Closed: A Cautionary
//! Tale", NSDI 2006).
//!
//! The model is one of mass: a schedule's rates, added up over time, are the requests that are due by then. The nth
//! request is due when the mass reaches n, evenly spaced, or the sum of n draws of the exponential distribution with
//! mean 1, for a Poisson process. One inverse serves both, and ramps too.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use unit::{Random, Seed, parse_duration};

/// A stretch of a schedule: the rate, in requests a second, goes evenly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// At its beginning.
    pub from: f64,
    /// At its end.
    pub to: f64,
    /// How long it lasts; None for as long as anybody asks, which only the last stage can.
    pub lasts: Option<Duration>,
}

/// How requests are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Even,
    /// As independent users come: a Poisson process, drawn from this seed.
    Poisson(Seed),
}

/// The part of a schedule that one of several engines takes: every `of`th request, from the `index`th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// From 0.
    pub index: u64,
    /// At least 1.
    pub of: u64,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This engine's part of `count` things.
    pub fn part(self, count: u64) -> u64 {
        count / self.of + u64::from(self.index < count % self.of)
    }

    /// Which of `turns` things the request with this number of the whole schedule has. Each engine goes through all of
    /// them, from another one on, whatever factors the number of engines and that of the things share.
    pub(super) fn turn(self, number: u64, turns: usize) -> usize {
        ((number / self.of + number % self.of) % (turns as u64).max(1)) as usize
    }
}

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// Since the schedule's beginning.
    pub(super) at: Duration,
    /// In which stage.
    pub(super) stage: usize,
    /// Which request of the whole schedule.
    pub(super) number: u64,
}

/// The requests of a schedule, in turn.
#[derive(Debug)]
pub(super) struct Arrivals {
    stages: Vec<Begun>,
    share: Share,
    gaps: Gaps,
    /// The number of the next request, and the mass at which it is due.
    number: u64,
    mass: f64,
    /// The stage that it lies in.
    stage: usize,
    next: Option<Due>,
}

#[derive(Debug)]
enum Gaps {
    Even,
    Poisson(Random),
}

/// A stage with what lies before it.
#[derive(Debug, Clone, Copy)]
struct Begun {
    stage: Stage,
    mass: f64,
    at: f64,
}

impl Stage {
    /// The same rate throughout.
    pub fn constant(rate: f64, lasts: Option<Duration>) -> Self {
        Self { from: rate, to: rate, lasts }
    }

    /// Requests due within it.
    pub fn mass(&self) -> f64 {
        self.lasts.map_or(f64::INFINITY, |lasts| (self.from + self.to) / 2.0 * lasts.as_secs_f64())
    }

    /// Requests due within its first `seconds`.
    pub fn mass_by(&self, seconds: f64) -> f64 {
        let Some(lasts) = self.lasts.map(|lasts| lasts.as_secs_f64()) else {
            return self.from * seconds;
        };
        let seconds = seconds.min(lasts);
        seconds * (self.from + (self.to - self.from) * seconds / lasts / 2.0)
    }

    /// Seconds after its beginning at which `mass` requests are due: the root of from·t + slope/2·t² = mass, in the
    /// form without cancellation of digits.
    fn time(&self, mass: f64) -> f64 {
        let slope = self.lasts.map_or(0.0, |lasts| (self.to - self.from) / lasts.as_secs_f64());
        let root = (self.from * self.from + 2.0 * slope * mass).max(0.0).sqrt();
        let denominator = self.from + root;
        if denominator > 0.0 { 2.0 * mass / denominator } else { 0.0 }
    }
}

/// As it can be read again.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.from)?;
        if self.to != self.from {
            write!(f, "-{}", self.to)?;
        }
        match self.lasts {
            Some(lasts) => write!(f, ":{}s", lasts.as_secs_f64()),
            None => Ok(()),
        }
    }
}

/// Reads `2000` (for as long as the run lasts), `2000:30s`, the pause `0:5s` and the ramp `1000-5000:1min`.
impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no rate: 2000, 2000:30s or the ramp 1000-5000:1min would be one")
        };
        let (rates, lasts) = match text.split_once(':') {
            Some((rates, lasts)) => (rates, Some(parse_duration(lasts).map_err(|_| wrong())?)),
            None => (text, None),
        };
        let rate = |text: &str| text.parse().ok().filter(|rate: &f64| (0.0..=1e9).contains(rate));
        // The `-` of 1e-3 makes no ramp.
        let mut ends = rates.match_indices('-').map(|(at, _)| (&rates[..at], &rates[at + 1..]));
        let ramp = || ends.find_map(|(from, to)| rate(from).zip(rate(to)));
        let (from, to) = rate(rates).map(|one| (one, one)).or_else(ramp).ok_or_else(wrong)?;
        if [from, to].iter().any(|rate| 0.0 < *rate && *rate < LEAST) {
            return Err(format!(
                "`{text}` is less than a request a year, the lowest rate there is"
            ));
        }
        let is_ramp = from != to;
        if is_ramp && lasts.is_none() {
            return Err(format!(
                "`{text}` is a ramp without its time: {text}:10s would take ten seconds from one rate to the other"
            ));
        }
        // A pause has an end.
        if (from + to == 0.0 && lasts.is_none()) || lasts.is_some_and(|l| l.is_zero()) {
            return Err(wrong());
        }
        Ok(Self { from, to, lasts })
    }
}

/// A request a year: the gaps of lower rates do not fit into times.
const LEAST: f64 = 1.0 / (366.0 * 86_400.0);

impl Arrivals {
    pub(super) fn new(stages: &[Stage], spacing: Spacing, share: Share) -> Self {
        let (mut mass, mut at) = (0.0, 0.0);
        let begun = |stage: &Stage| {
            let begun = Begun { stage: *stage, mass, at };
            mass += stage.mass();
            at += stage.lasts.map_or(f64::INFINITY, |lasts| lasts.as_secs_f64());
            begun
        };
        let stages = stages.iter().map(begun).collect();
        let gaps = match spacing {
            Spacing::Even => Gaps::Even,
            Spacing::Poisson(seed) => Gaps::Poisson(seed.child("arrivals").random()),
        };
        let mut arrivals = Self { stages, share, gaps, number: 0, mass: 0.0, stage: 0, next: None };
        if let Gaps::Poisson(_) = arrivals.gaps {
            arrivals.mass = arrivals.gap();
        }
        for _ in 0..share.index {
            arrivals.step();
        }
        arrivals.next = arrivals.locate();
        arrivals
    }

    /// The next request; None where the schedule is over.
    pub(super) fn next(&self) -> Option<Due> {
        self.next
    }

    /// Goes on to the request after it.
    pub(super) fn advance(&mut self) {
        for _ in 0..self.share.of {
            self.step();
        }
        self.next = self.locate();
    }

    /// Passes over the requests that are due before `until`, without a step for each; gives how many there were. A
    /// Poisson process has no memory, so it begins anew at `until`, with the expected number of requests before it.
    pub(super) fn skip_until(&mut self, until: Duration) -> u64 {
        if self.next.is_none_or(|next| next.at >= until) {
            return 0;
        }
        let behind = (self.mass_at(until) - self.mass).max(0.0);
        // The next request is one of them, whatever the rounding says.
        let skipped = ((behind / self.share.of as f64).ceil() as u64).max(1);
        self.number += skipped * self.share.of;
        self.mass = match self.gaps {
            Gaps::Even => self.number as f64,
            Gaps::Poisson(_) => {
                (0..self.share.of).fold(self.mass + behind, |mass, _| mass + self.gap())
            }
        };
        self.next = self.locate();
        skipped
    }

    /// Requests that are due by then.
    fn mass_at(&self, at: Duration) -> f64 {
        let at = at.as_secs_f64();
        let begun = self.stages.iter().rfind(|begun| begun.at <= at);
        begun.map_or(0.0, |begun| begun.mass + begun.stage.mass_by(at - begun.at))
    }

    fn step(&mut self) {
        self.number += 1;
        self.mass = match self.gaps {
            // No sum of roundings, however many there are.
            Gaps::Even => self.number as f64,
            Gaps::Poisson(_) => self.mass + self.gap(),
        };
    }

    fn gap(&mut self) -> f64 {
        match &mut self.gaps {
            Gaps::Even => 1.0,
            // The fraction is below 1, so the logarithm is finite.
            Gaps::Poisson(random) => -(1.0 - random.next_fraction()).ln(),
        }
    }

    fn locate(&mut self) -> Option<Due> {
        loop {
            let begun = self.stages.get(self.stage)?;
            let within = self.mass - begun.mass;
            if within < begun.stage.mass() {
                let at = Duration::from_secs_f64(begun.at + begun.stage.time(within));
                return Some(Due { at, stage: self.stage, number: self.number });
            }
            self.stage += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stages: &[Stage], spacing: Spacing, share: Share) -> Vec<Due> {
        let mut arrivals = Arrivals::new(stages, spacing, share);
        let mut list = Vec::new();
        while let Some(due) = arrivals.next() {
            list.push(due);
            arrivals.advance();
        }
        list
    }

    fn stages(text: &str) -> Vec<Stage> {
        text.split(',').map(|stage| stage.parse().unwrap()).collect()
    }

    #[test]
    fn an_even_rate_is_a_request_each_interval_and_no_more() {
        let list = all(&stages("1000:2s"), Spacing::Even, Share::WHOLE);
        assert_eq!(list.len(), 2000);
        assert_eq!(list[1].at, Duration::from_millis(1));
        assert_eq!(list[1999].at, Duration::from_millis(1999));
    }

    #[test]
    fn steps_follow_each_other_without_a_gap() {
        let list = all(&stages("10:1s,20:1s"), Spacing::Even, Share::WHOLE);
        assert_eq!(list.len(), 30);
        assert_eq!((list[10].at, list[10].stage), (Duration::from_secs(1), 1));
        assert_eq!(list[11].at, Duration::from_millis(1050));
    }

    #[test]
    fn nothing_is_due_in_a_pause_and_the_next_stage_begins_at_its_end() {
        let list = all(&stages("0:1s,10:1s,0:500ms,10:1s"), Spacing::Even, Share::WHOLE);
        let times: Vec<u128> = list.iter().map(|due| due.at.as_millis()).collect();
        assert_eq!((times.len(), times[0], times[9], times[10]), (20, 1_000, 1_900, 2_500));
        assert_eq!((list[9].stage, list[10].stage), (1, 3));
        let mut arrivals =
            Arrivals::new(&stages("10:1s,0:500ms,10:1s"), Spacing::Even, Share::WHOLE);
        assert_eq!(arrivals.skip_until(Duration::from_millis(1_200)), 10);
        assert_eq!(arrivals.next().unwrap().at, Duration::from_millis(1_500));
        let poisson = Spacing::Poisson(Seed(7));
        let list = all(&stages("1000:1s,0:1s,1000:1s"), poisson, Share::WHOLE);
        let paused = Duration::from_secs(1)..Duration::from_secs(2);
        assert!(list.len() > 1_500 && list.iter().all(|due| !paused.contains(&due.at)));
        assert_eq!("0:1s".parse::<Stage>().unwrap().to_string(), "0:1s");
    }

    #[test]
    fn a_ramp_brings_half_of_its_end_rate_and_three_quarters_of_it_in_its_second_half() {
        let list = all(&stages("0-100:10s"), Spacing::Even, Share::WHOLE);
        assert_eq!(list.len(), 500);
        let late = list.iter().filter(|due| due.at >= Duration::from_secs(5)).count();
        assert_eq!(late, 375);
        assert!(list.windows(2).all(|pair| pair[0].at < pair[1].at));
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_the_spread_of_one() {
        let list = all(&stages("1000:60s"), Spacing::Poisson(Seed(7)), Share::WHOLE);
        // Ten standard deviations around 60,000; the seed is fixed.
        assert!((57_550..62_450).contains(&list.len()), "{}", list.len());
        let gaps: Vec<f64> =
            list.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((0.9..1.1).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
        let again = all(&stages("1000:60s"), Spacing::Poisson(Seed(7)), Share::WHOLE);
        assert_eq!(list, again);
    }

    #[test]
    fn shares_of_a_schedule_make_the_whole() {
        for spacing in [Spacing::Even, Spacing::Poisson(Seed(3))] {
            let whole = all(&stages("100:1s,50-150:1s"), spacing, Share::WHOLE);
            let mut parts: Vec<Due> = Vec::new();
            for index in 0..3 {
                parts.extend(all(&stages("100:1s,50-150:1s"), spacing, Share { index, of: 3 }));
            }
            parts.sort_by_key(|due| due.number);
            assert_eq!(parts, whole);
        }
        let parts: Vec<u64> = (0..3).map(|index| Share { index, of: 3 }.part(11)).collect();
        assert_eq!(parts, [4, 4, 3]);
    }

    #[test]
    fn requests_that_are_skipped_are_those_due_before_that_time() {
        let until = Duration::from_millis(1_250);
        for share in [Share::WHOLE, Share { index: 2, of: 3 }] {
            let whole = all(&stages("100:1s,50-150:1s"), Spacing::Even, share);
            let mut arrivals = Arrivals::new(&stages("100:1s,50-150:1s"), Spacing::Even, share);
            let skipped = arrivals.skip_until(until);
            let before = whole.iter().filter(|due| due.at < until).count();
            assert_eq!(skipped, before as u64);
            assert_eq!(arrivals.next(), Some(whole[before]));
            assert_eq!(arrivals.skip_until(until), 0);
        }
        let spacing = Spacing::Poisson(Seed(3));
        let mut poisson = Arrivals::new(&stages("1000:2s"), spacing, Share::WHOLE);
        assert!((999..=1_001).contains(&poisson.skip_until(Duration::from_secs(1))));
        assert!(poisson.next().unwrap().at >= Duration::from_secs(1));
        assert!(poisson.skip_until(Duration::from_secs(9)) > 900);
        assert_eq!(poisson.next(), None);
    }

    #[test]
    fn a_ramp_without_its_time_is_told_as_such() {
        let told = "100-1000".parse::<Stage>().unwrap_err();
        assert!(told.starts_with("`100-1000` is a ramp without its time: 100-1000:10s "), "{told}");
        assert!("1k".parse::<Stage>().unwrap_err().starts_with("`1k` is no rate"));
    }

    /// The longest gap that a Poisson process has is 37 times the mean one.
    #[test]
    fn a_rate_is_a_request_a_year_at_least_and_may_have_an_exponent() {
        for text in ["0.00000000000000000001", "1e-20", "1e-8:10s", "0-1e-9:1s"] {
            let told = text.parse::<Stage>().unwrap_err();
            assert!(told.starts_with(&format!("`{text}` is less than a request a year")), "{told}");
        }
        assert_eq!("1e-3".parse(), Ok(Stage::constant(0.001, None)));
        assert_eq!("2.5e3".parse(), Ok(Stage::constant(2_500.0, None)));
        for (text, from, to) in
            [("1e-3-5:1s", 0.001, 5.0), ("5-1e-3:1s", 5.0, 0.001), ("1e-3-2e-3:1s", 0.001, 0.002)]
        {
            let lasts = Some(Duration::from_secs(1));
            assert_eq!(text.parse(), Ok(Stage { from, to, lasts }));
        }
        let mut year = Arrivals::new(&[Stage::constant(LEAST, None)], Spacing::Even, Share::WHOLE);
        year.advance();
        assert_eq!(year.next().unwrap().at.as_secs_f64().round(), 366.0 * 86_400.0);
    }

    #[test]
    fn rates_are_read_as_they_are_written() {
        assert_eq!("2000".parse(), Ok(Stage::constant(2000.0, None)));
        let ramp = Stage { from: 1.0, to: 5.5, lasts: Some(Duration::from_secs(60)) };
        assert_eq!("1-5.5:1min".parse(), Ok(ramp));
        assert_eq!(
            (ramp.to_string(), "7".parse::<Stage>().unwrap().to_string()),
            ("1-5.5:60s".into(), "7".into())
        );
        for wrong in ["", "0", "-5", "nan", "1-2", "5:", "5:0s", "5:soon", "inf"] {
            assert!(wrong.parse::<Stage>().is_err(), "{wrong}");
        }
    }
}
