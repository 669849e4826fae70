//! Estimates how long a run will take: the time of each trial's round trips, bytes and set-up, corrected by the time that
//! trials of the same run really took. It is for the person who waits: no verdict depends on it.

use crate::experiment::{
    Contender, DownloadWorkload, EchoPattern, PageWorkload, Pattern, ServerTime, Tls, Transport,
    WorkloadKind,
};
use crate::plan::{CellId, Surroundings, TrialPlan};
use std::collections::BTreeMap;
use std::time::Duration;

/// Namespaces, link, server and client of our own are set up and taken away again in this time by a trial that runs alone
/// (60 to 80 ms measured), and by one that shares the cores with others (380).
const SET_UP: Duration = Duration::from_millis(100);
const SET_UP_BESIDE_OTHERS: Duration = Duration::from_millis(350);
/// A server of somebody else's is a process that starts.
const FOREIGN_SERVER: Duration = Duration::from_millis(250);
/// A client of somebody else's is a process that starts.
const FOREIGN_CLIENT: Duration = Duration::from_millis(600);
/// A link without a figure for its rate carries about as much.
const USUAL_RATE: f64 = 1e9;
/// A full packet's payload in bytes.
const SEGMENT: f64 = 1448.0;
/// Segments of an initial window (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0 * SEGMENT;
/// Of a connection that recovers by halving its window: its rate is so many segments a round trip over the root of the
/// loss (Mathis, Semke, Mahdavi, Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997).
const MATHIS: f64 = 1.22;

/// What is left of a run, and how long it is expected to take.
#[derive(Debug, Clone)]
pub struct Estimate {
    cells: BTreeMap<CellId, CellEstimate>,
    side_by_side: SideBySide,
}

#[derive(Debug, Clone, Copy, Default)]
struct CellEstimate {
    /// What a trial should take.
    expected: Duration,
    /// As many of its trials as this run at once.
    beside: f64,
    left: u32,
    /// What its trials took so far, and how many they were.
    taken: Duration,
    done: u32,
}

/// How many trials run at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideBySide {
    /// Light trials at most; 1: each runs alone.
    pub most: usize,
    /// Share of a core that they may need together.
    pub cpu_share: f64,
}

impl SideBySide {
    /// As many trials as this one run at once.
    fn beside(self, trial: &TrialPlan) -> f64 {
        if !trial.is_light() {
            return 1.0;
        }
        let fit = (self.cpu_share / trial.cpu_share.max(f64::MIN_POSITIVE)).floor();
        fit.clamp(1.0, self.most as f64)
    }
}

impl Estimate {
    /// Before any trial of `plan` ran.
    pub fn of<'p>(
        plan: impl IntoIterator<Item = &'p TrialPlan>,
        surroundings: &Surroundings,
        side_by_side: SideBySide,
    ) -> Self {
        let mut estimate = Self { cells: BTreeMap::new(), side_by_side };
        for trial in plan {
            let cell = estimate.cells.entry(trial.cell.id()).or_insert_with(|| CellEstimate {
                expected: trial_time(trial, surroundings, side_by_side),
                ..CellEstimate::default()
            });
            cell.beside = side_by_side.beside(trial);
            cell.left += 1;
        }
        estimate
    }

    /// A trial took so long, with setting up and clearing away.
    pub fn done(&mut self, trial: &TrialPlan, taken: Duration) {
        let cell = self.cells.entry(trial.cell.id()).or_default();
        cell.left = cell.left.saturating_sub(1);
        cell.taken += taken;
        cell.done += 1;
    }

    /// A trial is to run beyond those planned.
    pub fn add(&mut self, trial: &TrialPlan) {
        let cell = self.cells.entry(trial.cell.id()).or_default();
        cell.beside = self.side_by_side.beside(trial);
        cell.left += 1;
    }

    /// A trial need not run.
    pub fn leave_out(&mut self, trial: &TrialPlan) {
        let cell = self.cells.entry(trial.cell.id()).or_default();
        cell.left = cell.left.saturating_sub(1);
    }

    /// How long what is left takes.
    pub fn left(&self) -> Duration {
        let off = self.off_by();
        let seconds = |cell: &CellEstimate| {
            let one = match cell.done {
                0 => cell.expected.as_secs_f64() * off,
                done => cell.taken.as_secs_f64() / f64::from(done),
            };
            one * f64::from(cell.left) / cell.beside.max(1.0)
        };
        Duration::from_secs_f64(self.cells.values().map(seconds).sum())
    }

    /// By what factor the trials that ran took longer than expected: those that did not run yet will too.
    fn off_by(&self) -> f64 {
        let ran = || self.cells.values().filter(|cell| cell.done > 0);
        let expected: f64 =
            ran().map(|cell| cell.expected.as_secs_f64() * f64::from(cell.done)).sum();
        let taken: f64 = ran().map(|cell| cell.taken.as_secs_f64()).sum();
        if expected > 0.0 { taken / expected } else { 1.0 }
    }
}

/// What one trial of `cell` takes, all in all.
fn trial_time(
    trial: &TrialPlan,
    surroundings: &Surroundings,
    side_by_side: SideBySide,
) -> Duration {
    let cell = &trial.cell;
    let contender = &cell.contender;
    let name = &cell.link.name;
    let rtt = surroundings.round_trips.get(name).copied().unwrap_or_default();
    let rate =
        surroundings.rates.get(name).map_or(USUAL_RATE, |rate| rate.bits_per_second() as f64);
    let loss = surroundings.losses.get(name).copied().unwrap_or_default();
    let rate = rate.min(lossy_rate(rtt, loss, contender.settings.connections));
    let link = LinkTimes { rtt, rate };
    let work = match &cell.workload.kind {
        WorkloadKind::Page(page) => link.page(page, contender),
        WorkloadKind::Har(_) => {
            let facts = surroundings.works.get(&cell.workload.name);
            let (bytes, waiting) =
                facts.map_or((0, Duration::ZERO), |facts| (facts.bytes.0, facts.waiting));
            waiting + link.opening(contender) + link.transfer(bytes) + link.rtt * DEPTH
        }
        WorkloadKind::Calls(calls) => {
            let think = match calls.server_time {
                ServerTime::Fixed(time) => time,
                ServerTime::Uniform { from, to } => (from + to) / 2,
            } + contender.settings.server_time;
            let anew = if contender.settings.keep_alive {
                Duration::ZERO
            } else {
                link.opening(contender)
            };
            let call = link.rtt + think + link.transfer(calls.bytes.0);
            link.opening(contender)
                + match calls.pattern {
                    Pattern::Serial => (call + anew) * calls.count,
                    Pattern::Parallel => call * link.turns(calls.count, contender),
                    Pattern::Staggered { every } => every * calls.count.saturating_sub(1) + call,
                    Pattern::Mixed { every, tabs } => {
                        let each = calls.count.div_ceil(tabs + 1);
                        (every * each + call).max((call + anew) * each)
                    }
                }
        }
        WorkloadKind::Echo(echo) => {
            let turns = match echo.pattern {
                EchoPattern::Serial => echo.count,
                EchoPattern::Parallel => link.turns(echo.count, contender),
            };
            let anew = if contender.settings.keep_alive {
                Duration::ZERO
            } else {
                link.opening(contender)
            };
            // A view after the first opens its WebSocket anew, with a round trip for its handshake.
            let views = match contender.transport.is_web_socket() {
                true => echo.views.unwrap_or(1).saturating_sub(1),
                false => 0,
            };
            let opening = link.opening(contender);
            opening + link.rtt * (turns + 1) + anew * turns + (opening + link.rtt) * views
        }
        WorkloadKind::Stream(stream) => {
            link.opening(contender) + link.rtt * 2 + stream.usual_time()
        }
        WorkloadKind::Download(download) => link.download(download, contender),
    };
    let client = contender.client.as_ref();
    let runs = 1 + client.map_or(0, |client| client.warmup);
    let of_client = if client.is_some() { FOREIGN_CLIENT } else { Duration::ZERO };
    let set_up = if side_by_side.beside(trial) > 1.0 { SET_UP_BESIDE_OTHERS } else { SET_UP };
    let of_server =
        if contender.foreign_server().is_some() { FOREIGN_SERVER } else { Duration::ZERO };
    set_up + of_server + of_client + work * runs
}

/// The bits a second that so many connections reach together where a share `loss` of packets is lost; without loss, or without
/// a round trip, as many as there may be.
fn lossy_rate(rtt: Duration, loss: f64, connections: u32) -> f64 {
    let rate = MATHIS * SEGMENT * 8.0 * f64::from(connections) / (rtt.as_secs_f64() * loss.sqrt());
    if rate.is_finite() { rate } else { f64::INFINITY }
}

/// Round trips in a row that a recorded page usually needs: document, what it names, what that names.
const DEPTH: u32 = 4;

/// A link's figures.
#[derive(Debug, Clone, Copy)]
struct LinkTimes {
    rtt: Duration,
    rate: f64,
}

impl LinkTimes {
    /// TCP's handshake and TLS's: two round trips up to TLS 1.2 (RFC 5246 §7.3), one since (RFC 8446 §2).
    fn opening(self, contender: &Contender) -> Duration {
        self.rtt
            * match contender.tls {
                Tls::None => 1,
                Tls::V1_3 => 2,
                Tls::V1_2 => 3,
            }
    }

    fn transfer(self, bytes: u64) -> Duration {
        Duration::from_secs_f64(bytes as f64 * 8.0 / self.rate)
    }

    /// Turns that `requests` take: HTTP/1.1 has one request at a time on each connection.
    fn turns(self, requests: u32, contender: &Contender) -> u32 {
        match contender.transport {
            Transport::Http1 => requests.div_ceil(contender.settings.connections.max(1)),
            _ => 1,
        }
    }

    fn page(self, page: &PageWorkload, contender: &Contender) -> Duration {
        let bytes = page.all_bytes();
        let turns = self.turns(page.all_requests(), contender);
        let anew =
            if contender.settings.keep_alive { Duration::ZERO } else { self.opening(contender) };
        // A multiplexed connection sends everything at once, as far as slow start lets it.
        let growing =
            (bytes as f64 / INITIAL_WINDOW / f64::from(contender.settings.connections.max(1)))
                .max(1.0)
                .log2();
        let rounds = if turns > 1 { f64::from(turns) } else { 1.0 + growing };
        self.opening(contender)
            + self.rtt
            + page.think * page.all_requests()
            + self.rtt.mul_f64(rounds)
            + anew * turns
            + self.transfer(bytes)
    }

    fn download(self, download: &DownloadWorkload, contender: &Contender) -> Duration {
        let each = self.opening(contender) + self.rtt + self.transfer(download.size.0);
        each * download.count
    }
}

/// `about 40 s`, `about 3 min`, `about 2 h 10 min`: as finely as an estimate is worth.
pub fn in_words(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..10 => format!("about {} s", seconds.max(1)),
        10..90 => format!("about {} s", seconds.div_ceil(5) * 5),
        90..5_400 => format!("about {} min", (seconds + 30) / 60),
        _ => {
            let minutes = (seconds + 30) / 60;
            format!("about {} h {} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, builtin};
    use crate::plan::trials;

    const EIGHT: SideBySide = SideBySide { most: 8, cpu_share: 0.4 };
    const ALONE: SideBySide = SideBySide { most: 1, cpu_share: 0.4 };

    fn quick() -> (Vec<TrialPlan>, Surroundings) {
        let experiment: Experiment = builtin()[0].toml.parse().unwrap();
        let mut surroundings = Surroundings { cores: 2, ..Surroundings::default() };
        for (link, rtt_ms, rate) in
            [("lan", 1, "1gbit"), ("wifi", 20, "30mbit"), ("3g", 300, "1.6mbit")]
        {
            surroundings.round_trips.insert(link.to_owned(), Duration::from_millis(rtt_ms));
            surroundings.rates.insert(link.to_owned(), rate.parse().unwrap());
        }
        (trials(&experiment, &surroundings), surroundings)
    }

    #[test]
    fn a_page_over_a_slow_link_is_expected_to_take_about_what_it_takes() {
        let (plan, surroundings) = quick();
        let one = |link: &str, contender: &str| {
            let here = |trial: &&TrialPlan| {
                trial.cell.link.name == link && trial.cell.contender.name == contender
            };
            trial_time(plan.iter().find(here).unwrap(), &surroundings, EIGHT).as_secs_f64()
        };
        // Measured: 4.4 s over HTTP/1.1 with TLS, 2.4 s over HTTP/2.
        assert!((3.0..6.0).contains(&one("3g", "h1-tls")), "{}", one("3g", "h1-tls"));
        assert!((2.0..4.5).contains(&one("3g", "h2")), "{}", one("3g", "h2"));
        assert!(one("lan", "h2") < 0.6);
    }

    #[test]
    fn a_link_that_loses_packets_is_expected_to_take_longer_and_more_connections_to_help() {
        let (plan, mut surroundings) = quick();
        let times = |surroundings: &Surroundings| {
            let one = |contender: &str| {
                let here = |trial: &&TrialPlan| {
                    trial.cell.link.name == "wifi" && trial.cell.contender.name == contender
                };
                trial_time(plan.iter().find(here).unwrap(), surroundings, EIGHT).as_secs_f64()
            };
            [one("h2"), one("h1-tls")]
        };
        let [h2, h1] = times(&surroundings);
        surroundings.losses.insert("wifi".to_owned(), 0.1);
        let [lossy_h2, lossy_h1] = times(&surroundings);
        // 250 kB at 1.22 segments a round trip of 20 ms over the root of 0.1: 2.2 Mbit/s.
        assert!((lossy_h2 - h2 - 0.83).abs() < 0.05, "{h2} {lossy_h2}");
        assert!(lossy_h1 - h1 < (lossy_h2 - h2) / 5.0, "{h1} {lossy_h1}");
        surroundings.losses.insert("wifi".to_owned(), 0.0);
        assert_eq!(times(&surroundings), [h2, h1]);
    }

    /// It is asked for while coffee is made.
    #[test]
    fn the_first_race_is_expected_to_end_within_a_minute() {
        let (plan, surroundings) = quick();
        let whole = Estimate::of(&plan, &surroundings, EIGHT).left();
        assert!(whole < Duration::from_secs(60), "{whole:?}");
        assert!(whole > Duration::from_secs(30), "150 trials take longer: {whole:?}");
    }

    #[test]
    fn what_trials_really_took_corrects_the_rest() {
        let (plan, surroundings) = quick();
        let mut estimate = Estimate::of(&plan, &surroundings, EIGHT);
        let before = estimate.left().as_secs_f64();
        assert!(Estimate::of(&plan, &surroundings, ALONE).left().as_secs_f64() > before);
        // One cell takes twice as long as expected: it does from now on, and so does what has not run.
        estimate.add(&plan[0]);
        estimate.done(&plan[0], trial_time(&plan[0], &surroundings, EIGHT) * 2);
        let ratio = estimate.left().as_secs_f64() / before;
        assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
        plan.iter().for_each(|trial| estimate.leave_out(trial));
        assert_eq!(estimate.left(), Duration::ZERO);
    }

    #[test]
    fn a_span_is_told_as_finely_as_an_estimate_is_worth() {
        let told = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!(told(0), "about 1 s");
        assert_eq!(told(43), "about 45 s");
        assert_eq!(told(170), "about 3 min");
        assert_eq!(told(7_800), "about 2 h 10 min");
    }
}
