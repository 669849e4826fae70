//! What a run of the page timer came to, in sentences that the terminal and the page share.

use crate::number::{Percent, Ratio, duration};
use crate::words;
use study::comparison::{Comparison, Verdict};
use study::metric;
use study::timer::{TimerCache, TimerMetric, TimerResult, TimerSide};

/// What a metric is called.
pub(crate) fn metric_name(name: &str) -> &str {
    match name {
        metric::LOAD_MS => "load",
        metric::FIRST_BYTE_MS => "first byte",
        other => metric::words(other),
    }
}

/// The finding as a sentence without its end.
pub(crate) fn finding(result: &TimerResult) -> String {
    let (a, b) = (&result.pages.a.name, &result.pages.b.name);
    match result.verdict.verdict {
        Verdict::Tie => format!("{b} and {a} tie"),
        Verdict::Undecided | Verdict::Unsupported => {
            format!("Whether {b} is faster than {a} is undecided")
        }
        verdict @ (Verdict::Faster | Verdict::Slower) => {
            format!("{b} is {} than {a}", verdict.word())
        }
    }
}

/// `1.10× [1.09, 1.11]`; nothing where nothing was compared.
pub(crate) fn ratio(comparison: &Comparison) -> Option<String> {
    words::ratio(comparison).map(|ratio| format!("{}× {}", ratio.number(), ratio.interval()))
}

/// The ratio and its interval as numbers.
pub(crate) fn figures(comparison: &Comparison) -> Option<Ratio> {
    words::ratio(comparison)
}

/// A page's median.
pub(crate) fn median(one: &TimerMetric, side: TimerSide) -> String {
    let summary = match side {
        TimerSide::A => one.a,
        TimerSide::B => one.b,
    };
    summary.map_or_else(|| "not measured".to_owned(), |summary| duration(summary.median))
}

/// Under which conditions the pages were timed.
pub(crate) fn conditions(result: &TimerResult) -> String {
    let cache = match result.settings.cache {
        TimerCache::Cold => "cache cold, a new URL for each load",
        TimerCache::Warm => "cache as the loads before left it",
    };
    let protocols: Vec<&str> = result.protocols.keys().map(String::as_str).collect();
    let protocols = match protocols.is_empty() {
        true => String::new(),
        false => format!(", over {}", words::listed(&protocols)),
    };
    format!("connections open, {cache}{protocols}")
}

/// Why there is no other verdict, and what would decide it.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<String> {
    let needed = comparison.trials_needed.filter(|_| comparison.n > 0);
    let needed = needed.map(|loads| format!("about {loads} loads of each would decide"));
    comparison.reason.iter().cloned().chain(needed).collect()
}

/// How many loads count.
pub(crate) fn counts(result: &TimerResult) -> String {
    let attempts = result.audited_a.trials + result.audited_b.trials;
    let of = |outcome: &str| result.refused.iter().filter(|one| one.outcome == outcome).count();
    let ended = if result.stopped { ", ended before the last block" } else { "" };
    format!(
        "{} of {} blocks count; {attempts} loads, {} invalid, {} failed{ended}",
        result.verdict.n,
        result.settings.runs,
        of("invalid"),
        of("failed")
    )
}

/// What the run cannot tell.
pub(crate) fn limits(result: &TimerResult) -> Vec<&'static str> {
    let mut limits = vec![
        "A page cannot close a browser's connections: all loads that count found them open.",
        "Times are those of one browser, machine and network, which nothing audited.",
    ];
    if result.settings.cache == TimerCache::Warm {
        limits.push("The browser's cache took part.");
    }
    limits
}

/// How the figures are to be read.
pub(crate) fn reading(result: &TimerResult) -> String {
    format!(
        "Times are medians. Ratios are {} over {}: Hodges-Lehmann over blocks, with exact signed-rank intervals, 95 % each. \
         tie: within ±{}. {} decides.",
        result.pages.b.name,
        result.pages.a.name,
        Percent(result.settings.margin),
        words::sentence_case(metric_name(&result.settings.metric)),
    )
}
