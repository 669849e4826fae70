//! A search for the highest rate at which an objective holds. It keeps the measurements of each probe. `study` gives the
//! verdicts and the next rate.

use super::keeping_up::Shortfall;
use super::run::LoadRun;
use client::load::{Fault, Stage};
use std::time::Duration;
use study::load::{LoadResult, Probe, ProbeFacts, Search, Slo, SloResult, TimesSummary};
use unit::{Instant, format_duration};

/// A search and its probes.
pub(crate) struct SloSearch<'a> {
    slo: &'a Slo,
    search: Search,
    times: ProbeTimes,
    ends_at: Instant,
    is_stopped: bool,
    probes: Vec<Probe>,
    /// The runs of probes that held, with their rates.
    held: Vec<(f64, LoadResult, LoadRun)>,
    /// The last run, where it did not hold.
    last: Option<(LoadResult, LoadRun)>,
}

/// How long each probe makes requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProbeTimes {
    pub(crate) warm_up: Duration,
    /// What its figures are of.
    pub(crate) counted: Duration,
}

impl ProbeTimes {
    fn whole(self) -> Duration {
        self.warm_up + self.counted
    }

    /// The bound of a search.
    fn longest(self) -> Duration {
        (self.whole() + BESIDE) * Search::MOST_PROBES as u32
    }
}

/// How long a probe may take beside its own time on average: to connect, and to wait for the last answers.
const BESIDE: Duration = Duration::from_secs(1);

impl<'a> SloSearch<'a> {
    /// A search that begins at the rate `first`, in requests a second.
    pub(crate) fn new(slo: &'a Slo, first: f64, times: ProbeTimes) -> Self {
        let least = (slo.least_requests() / times.counted.as_secs_f64().max(1e-3)).max(1.0);
        Self {
            slo,
            search: Search::new(first, least),
            times,
            ends_at: os::clock::now() + times.longest(),
            is_stopped: false,
            probes: Vec::new(),
            held: Vec::new(),
            last: None,
        }
    }

    /// What is printed before the first probe.
    pub(crate) fn introduction(&self) -> String {
        format!(
            "Searching the highest rate that holds {}: about 15 to 25 probes of {} each, at most {} in {}",
            self.slo,
            format_duration(self.times.whole()),
            Search::MOST_PROBES,
            format_duration(self.times.longest()),
        )
    }

    /// What the next probe is.
    pub(crate) fn title(&self) -> String {
        let rate = self.search.next().unwrap_or_default();
        let rate = report::load_rate(rate);
        format!("probe {}: {} at {rate} requests/s\n", self.probes.len() + 1, self.slo)
    }

    /// The rate to try next; None when the search is over.
    pub(crate) fn next(&self) -> Option<f64> {
        let is_over = self.is_stopped || os::clock::now() >= self.ends_at;
        self.search.next().filter(|_| !is_over || self.probes.is_empty() && !self.is_stopped)
    }

    /// What the probe at that rate measured; gives a line about it.
    pub(crate) fn note(&mut self, result: LoadResult, ran: LoadRun) -> String {
        let Some(rate) = self.search.next() else { return String::new() };
        let whole = ran.tally.whole();
        let stages = [Stage::constant(rate, None)];
        let behind = Shortfall::of(&stages, &result, &ran.tally.trend);
        let judged = self.slo.judge(&ProbeFacts {
            latency: whole.latency.histogram(),
            latency_since_seen: ran.tally.latency_since_seen.histogram(),
            latency_floor: ran.tally.latency_floor.histogram(),
            lateness: ran.tally.lateness.histogram(),
            requests: whole.ended(),
            errors: whole.faults.total() + whole.refused,
            not_begun: whole.not_begun,
            client_errors: CLIENT_FAULTS.iter().map(|fault| whole.faults.of(*fault)).sum(),
            busiest_share: result.client.busiest_share,
            behind: behind.filter(Shortfall::grows_throughout).map(|shortfall| shortfall.rates),
        });
        self.search.note(judged.verdict);
        let held = judged.reason.is_none();
        let probe = Probe {
            rate,
            achieved: result.answers_per_second,
            requests: whole.ended(),
            errors: whole.faults.total() + whole.refused,
            busiest_share: result.client.busiest_share,
            conditions: judged.conditions,
            latency: TimesSummary::of(whole.latency.histogram()),
            latency_without_client: TimesSummary::of(ran.tally.latency_since_seen.histogram()),
            held,
            verdict: judged.verdict,
            reason: judged.reason,
        };
        let line = report::load_probe(&probe);
        self.probes.push(probe);
        match held {
            true => self.held.push((rate, result, ran)),
            false => self.last = Some((result, ran)),
        }
        line
    }

    /// The search ends here; its last run was not finished, and does not count.
    pub(crate) fn stop(&mut self, result: LoadResult, ran: LoadRun) {
        self.is_stopped = true;
        self.last.get_or_insert((result, ran));
    }

    /// The run of the highest rate that held and is not above the limit, with the answer. Where none is, the highest
    /// that held, and else the last run.
    pub(crate) fn finish(self) -> Option<(LoadResult, LoadRun)> {
        let slo = |conditions| {
            SloResult::new(
                self.slo.to_string(),
                self.search.found(),
                self.probes.clone(),
                conditions,
            )
        };
        let limit = slo(Vec::new()).rate.unwrap_or(f64::INFINITY);
        let best = self.held.into_iter().max_by(|(a, ..), (b, ..)| {
            let key = |rate: &f64| if *rate <= limit { *rate } else { -*rate };
            key(a).total_cmp(&key(b))
        });
        let (rate, mut result, ran) = match best {
            Some((rate, result, ran)) => (Some(rate), result, ran),
            None => self.last.map(|(result, ran)| (None, result, ran))?,
        };
        let of_rate = |probe: &&Probe| rate.is_none_or(|rate| probe.held && probe.rate == rate);
        let conditions = self.probes.iter().rfind(of_rate).map(|probe| probe.conditions.clone());
        result.slo = Some(slo(conditions.unwrap_or_default()));
        result.interrupted = self.is_stopped;
        Some((result, ran))
    }
}

/// Faults of the machine that asks.
const CLIENT_FAULTS: [Fault; 3] = [Fault::NoDescriptors, Fault::NoPorts, Fault::System];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rate_gives_the_counted_part_of_a_probe_enough_requests() {
        let (slo, warm_up) = ("p50<1ms".parse().unwrap(), Duration::from_secs(9));
        let times = ProbeTimes { warm_up, counted: Duration::from_secs(1) };
        let search = SloSearch::new(&slo, 1.0, times);
        assert_eq!(search.next(), Some(slo.least_requests()));
        assert!(
            search.introduction().contains("probes of 10 s each"),
            "a probe's time is all of it"
        );
    }
}
