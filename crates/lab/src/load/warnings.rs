//! What makes the figures of a run doubtful, in sentences.

use super::keeping_up::Shortfall;
use super::targets::is_echo;
use client::load::{LoadPlan, Pace, Tally, Trend};
use std::time::Duration;
use study::load::{BUSY, LoadResult, Second, TimeAt, TimesSummary};
use trace::Protocol;
use unit::{counted, format_duration};

/// What makes a result doubtful, as far as it says so itself.
pub(super) fn warnings(plan: &LoadPlan, result: &LoadResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let busy = result.client.busiest_share;
    if busy >= BUSY {
        warnings.push(format!(
            "this client is the bottleneck: its busiest thread was busy for {:.0} % of the time; \
             more threads (-t) or another machine would ask more",
            busy * 100.0
        ));
    }
    let p99 = |times: &Option<TimesSummary>| times.as_ref().and_then(|times| times.at(0.99));
    if let (Some(late), Some(latency)) = (p99(&result.lateness), p99(&result.whole.latency))
        && late > latency / 10.0
        && late > LATE_MS
    {
        warnings.push(format!(
            "one request in a hundred was begun {} late or more for this client's own fault, \
             which its time holds",
            format_duration(Duration::from_secs_f64(late / 1e3))
        ));
    }
    let not_begun = result.whole.not_begun;
    if not_begun > 0 {
        warnings.push(format!(
            "{not_begun} requests were due and this client could not begin them: {} waited for a connection \
             already, the most that it keeps. The figures are of the others; lower --rate, or raise -c and -t",
            plan.most_waiting
        ));
    }
    let is_single = result.protocol.as_ref().is_some_and(|spoken| *spoken == Protocol::Http1);
    if is_single && plan.streams > 1 && !plan.targets.iter().any(is_echo) {
        warnings.push("the server speaks HTTP/1.1, which has one request at a time".to_owned());
    }
    warnings.extend(unanswered(result));
    warnings.extend(silence(result));
    let course = result.counted_course();
    let waited = course.iter().filter(|second| second.waiting > 0).count();
    if waited * 2 > course.len() {
        let held = if result.whole.answers > 0 { ", which their times hold" } else { "" };
        warnings.push(format!(
            "requests waited for a free connection in {waited} of {} seconds{held}: \
             more connections (-c) would tell the server's part",
            course.len()
        ));
    }
    warnings
}

/// What the percentiles leave out, and what they hold that users would not call an answer.
fn unanswered(result: &LoadResult) -> impl Iterator<Item = String> {
    let whole = &result.whole;
    let share = |count: u64| count as f64 / whole.requests.max(1) as f64;
    let printed = whole.latency.as_ref().map_or(&[][..], |times| &times.at);
    let (beyond, reached): (Vec<&TimeAt>, Vec<&TimeAt>) =
        printed.iter().partition(|at| share(whole.failed()) < 1.0 - at.share - ROUNDING);
    let is_told = !reached.is_empty() || share(whole.failed()) >= WORTH_A_WARNING;
    let failed = is_told.then(|| {
        let names = reached.iter().map(|at| format!("p{}", (at.share * 1e4).round() / 1e2));
        let names = names.collect::<Vec<_>>().join(", ");
        let of_answers = match () {
            () if whole.answers == 0 => String::new(),
            () if beyond.is_empty() => {
                "; the percentiles are of answers alone, and would be longer".to_owned()
            }
            () if names.is_empty() => "; max is of answers alone".to_owned(),
            () => format!("; {names} and max are of answers alone, and would be longer"),
        };
        format!("{} of {} requests came to no answer{of_answers}", whole.failed(), whole.requests)
    });
    let refused = (share(whole.refused) >= WORTH_A_WARNING).then(|| {
        format!(
            "{} of {} answers have a status of 400 or more; their times count in the percentiles, and \
             they in the rate",
            whole.refused, whole.answers
        )
    });
    failed.into_iter().chain(refused)
}

/// That an open loop was not answered at its rate. Where a number of requests ends it, the mean of a rate that changes is
/// that of no known time.
pub(super) fn behind(plan: &LoadPlan, result: &LoadResult, trend: &Trend) -> Option<String> {
    let Pace::Open { stages, .. } = &plan.pace else { return None };
    let shortfall = Shortfall::of(stages, result, trend);
    let is_known = !shortfall?.varies || plan.requests.is_none();
    shortfall.filter(|_| is_known).map(|shortfall| shortfall.told())
}

/// That fewer connections than asked for were ever open at a time.
pub(super) fn unopened(plan: &LoadPlan, tally: &Tally, is_interrupted: bool) -> Option<String> {
    let (open, asked) = (tally.connects.most_open, plan.connections as u64);
    // An interrupt may come before all are open.
    (0 < open && open < asked && !is_interrupted)
        .then(|| format!("{open} of {asked} connections could be opened"))
}

/// That answers stopped, for longer than any that came had taken, and requests of that time came to nothing. A closed loop asks
/// hardly anything of a server that is gone, so that few requests fail.
fn silence(result: &LoadResult) -> Option<String> {
    let whole = &result.whole;
    if whole.answers == 0 && result.unfinished > 0 {
        let open = counted(result.unfinished, "request");
        return Some(format!(
            "nothing was answered: {open} had no answer when the run was stopped"
        ));
    }
    let course = result.counted_course();
    let first = course.iter().position(|second| second.answers > 0)?;
    let stretches = course[first..].chunk_by(|a, b| (a.answers > 0) == (b.answers > 0));
    let silent = stretches.filter(|stretch| stretch[0].answers == 0);
    let length = |stretch: &[Second]| stretch.iter().map(|second| second.seconds).sum::<f64>();
    let longest = silent.max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let slowest = whole.latency.as_ref().map_or(0.0, |times| times.max_ms) / 1e3;
    let is_told =
        length(longest) >= SILENCE_S.max(slowest) && whole.failed() + result.unfinished > 0;
    let end = longest.last()?.at;
    is_told.then(|| {
        format!(
            "nothing was answered from {} on until {}: the rate is the mean over that time too",
            format_duration(Duration::from_secs_f64(end - length(longest))),
            format_duration(Duration::from_secs_f64(end))
        )
    })
}

/// Silence of a server worth a word, in seconds.
const SILENCE_S: f64 = 0.9;

/// A share of refusals, or of requests without an answer in a run of few, that is worth a word.
const WORTH_A_WARNING: f64 = 0.01;

/// One of 10,000 reaches the 99.99th percentile, however 0.9999 is kept.
const ROUNDING: f64 = 1e-9;

/// Lateness that a machine may have without a word.
const LATE_MS: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::outcome::{RunFacts, result};
    use crate::load::run::LoadRun;
    use client::Transport;
    use client::load::{Access, Load, Spacing};
    use study::load::Second;

    /// A run of a rate, or of a closed loop, in which nothing has happened yet.
    fn empty(rate: Option<&str>) -> (LoadPlan, LoadResult) {
        let tls = secure::ClientTls::new(Default::default()).unwrap();
        let mut plan = LoadPlan::new(Vec::new(), Access::new(Transport::H1, tls));
        if let Some(rate) = rate {
            let stages = vec![rate.parse().unwrap()];
            plan.pace = Pace::Open { stages, spacing: Spacing::Even };
        }
        let ran = LoadRun {
            tally: Load::new(plan.clone()).into_tally(),
            counts_from: Duration::ZERO,
            course: Vec::new(),
            intervals: Vec::new(),
            cpu: Vec::new(),
            is_interrupted: false,
        };
        let facts = RunFacts { threads: 1, seed: 1, started: Duration::ZERO, missing_agents: 0 };
        let result = result(&plan, &ran, facts);
        (plan, result)
    }

    /// A row of a second for each of these numbers of answers.
    fn course(answers: &[u64]) -> Vec<Second> {
        let row = |(nth, answers): (usize, &u64)| Second {
            at: nth as f64 + 1.0,
            seconds: 1.0,
            answers: *answers,
            errors: 0,
            waiting: 0,
            p50_ms: None,
            p99_ms: None,
            max_ms: None,
        };
        answers.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_silence_is_longer_than_any_answer_took_and_neither_in_the_warm_up_nor_after_the_end() {
        let (_, mut result) = empty(None);
        let mut times = hdrhistogram::Histogram::new(3).unwrap();
        times.record(100_000_000).unwrap();
        result.whole.latency = TimesSummary::of(&times);
        (result.seconds, result.unfinished, result.whole.answers) = (8.0, 1, 2);
        result.course = course(&[0, 0, 0, 1, 0, 0, 1, 0]);
        let told = silence(&result).unwrap();
        assert!(told.starts_with("nothing was answered from 4 s on until 6 s"), "{told}");
        times.record(3_000_000_000).unwrap();
        let answered_in_100_ms = result.whole.latency.take();
        result.whole.latency = TimesSummary::of(&times);
        assert_eq!(silence(&result), None, "each answer takes three seconds");
        result.whole.latency = answered_in_100_ms;
        result.course = course(&[1, 0, 0, 9, 9, 9, 0, 0]);
        (result.setting.warm_up_seconds, result.seconds) = (3.0, 3.0);
        assert_eq!(silence(&result), None);
    }

    #[test]
    fn seconds_in_which_requests_waited_are_those_that_count() {
        let (plan, mut result) = empty(Some("200"));
        (result.setting.warm_up_seconds, result.seconds) = (1.0, 2.0);
        // One request that hangs adds rows after the end.
        result.course = course(&[9, 9, 9, 0, 0, 0, 0]);
        result.course[..4].iter_mut().for_each(|second| second.waiting = 7);
        let of_two = "requests waited for a free connection in 2 of 2 seconds";
        for (answers, then) in [(0, ":"), (9, ", which their times hold:")] {
            result.whole.answers = answers;
            let told = warnings(&plan, &result);
            let start = format!("{of_two}{then} more connections");
            assert!(told.iter().any(|warning| warning.starts_with(&start)), "{told:?}");
        }
    }

    #[test]
    fn what_is_under_way_at_the_end_is_no_shortfall_where_times_do_not_grow() {
        let (mut plan, mut result) = empty(Some("200"));
        (result.seconds, result.answers_per_second) = (1.0, 180.0);
        (result.whole.requests, result.whole.answers) = (200, 200);
        let grows = |share: f64| {
            let mut trend = Trend::default();
            for nth in 0..200 {
                let due = Duration::from_millis(5 * nth);
                trend.record(due, Duration::from_millis(100) + due.mul_f64(share));
            }
            trend
        };
        assert_eq!(behind(&plan, &result, &grows(0.0)), None);
        let told = behind(&plan, &result, &grows(0.1)).unwrap();
        assert!(
            told.starts_with("200 requests/s were due and 180 answered; the times gr"),
            "{told}"
        );
        result.whole.answers = 180;
        for trend in [grows(0.0), Trend::default()] {
            let told = behind(&plan, &result, &trend).unwrap();
            let lost = "200 requests/s were due and 180 answered: the rest came to no answer";
            assert_eq!(told, lost, "a tenth came to nothing");
        }
        let told = behind(&plan, &result, &grows(0.1)).unwrap();
        assert!(told.ends_with(": the rest came to no answer"), "the 20 that miss failed: {told}");
        result.whole.answers = 195;
        let told = behind(&plan, &result, &grows(0.1)).unwrap();
        assert!(told.contains("the times grow"), "5 of the 20 that miss: {told}");
        // Of a schedule whose rate changes it is the mean.
        let mut of_stages = |text: &str, trend: &Trend| {
            let stages = text.split(',').map(|stage| stage.parse().unwrap()).collect();
            plan.pace = Pace::Open { stages, spacing: Spacing::Even };
            behind(&plan, &result, trend)
        };
        let told = of_stages("190:500ms,210:500ms", &grows(0.1)).unwrap();
        assert!(
            told.starts_with(
                "200 requests/s were due on average and 180 answered; the times grow "
            ),
            "{told}"
        );
        let mut late = Trend::default();
        for nth in 0..200_u64 {
            late.record(Duration::from_millis(5 * nth), Duration::from_millis(nth.max(120)));
        }
        let told = of_stages("0-400:1s", &late).unwrap();
        assert!(told.ends_with("; the times grew in the second half of the run"), "{told}");
        assert_eq!(of_stages("200", &late), None, "it may be a stall");
        assert_eq!(of_stages("170:500ms,190:500ms", &grows(0.1)), None);
    }

    #[test]
    fn percentiles_that_failures_reach_are_named() {
        let (_, mut result) = empty(Some("200"));
        let mut times = hdrhistogram::Histogram::new(3).unwrap();
        times.record_n(1_000_000, 1_990).unwrap();
        result.whole.latency = TimesSummary::of(&times);
        (result.whole.requests, result.whole.answers) = (2_000, 1_990);
        let mut of = |failed| {
            result.whole.errors = [("timed-out".to_owned(), failed)].into();
            unanswered(&result).next()
        };
        let told = "10 of 2000 requests came to no answer; p99.9 and max are of answers alone, and would be longer";
        assert_eq!(of(10).as_deref(), Some(told));
        assert!(of(30).unwrap().contains("; p99, p99.9 and max are of"), "{:?}", of(30));
        assert!(of(1_000).unwrap().contains("; the percentiles are of"), "{:?}", of(1_000));
        assert_eq!(of(1), None, "p99.9 stands for more");
    }

    #[test]
    fn connections_are_those_that_were_open_at_a_time() {
        let (mut plan, _) = empty(None);
        let mut tally = Load::new(plan.clone()).into_tally();
        plan.connections = 8;
        (tally.connects.opened, tally.connects.most_open) = (40, 4);
        let told = unopened(&plan, &tally, false);
        assert_eq!(told.as_deref(), Some("4 of 8 connections could be opened"));
        assert_eq!(unopened(&plan, &tally, true), None);
        tally.connects.most_open = 8;
        assert_eq!(unopened(&plan, &tally, false), None);
    }

    #[test]
    fn a_run_that_was_stopped_before_any_answer_says_so() {
        let (_, mut result) = empty(None);
        result.unfinished = 3;
        let told = "nothing was answered: 3 requests had no answer when the run was stopped";
        assert_eq!(silence(&result).as_deref(), Some(told));
    }
}
