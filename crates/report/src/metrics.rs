//! Sentences on the metrics that do not decide the verdict. Does a contender that is no slower deliver a page's files
//! later? Which counts differ where times could not be judged?

use crate::number;
use crate::overview::Group;
use study::comparison::Verdict;
use study::metric;
use study::result::{CellResult, MetricComparison, MetricVerdict};
use unit::ByteSize;

/// The comparisons of `cell` with the baseline, by other metrics than the deciding one.
fn of<'g>(group: &Group<'g>, cell: &CellResult) -> Vec<&'g MetricComparison> {
    let all = group.verdicts.map_or(&[][..], |verdicts| &verdicts.metrics);
    all.iter().filter(|one| one.contender == cell.contender.name).collect()
}

/// Files that a page needs before it can be painted, and that were there later than with the baseline although the load
/// is not slower.
pub(crate) fn later_assets(group: &Group<'_>, cell: &CellResult) -> Vec<String> {
    let ranked = group.ranked(&cell.contender.name);
    if ranked.is_none_or(|ranked| ranked.comparison.verdict == Verdict::Slower) {
        return Vec::new();
    }
    let baseline = group.verdicts.map_or("", |verdicts| &verdicts.baseline);
    let later = of(group, cell).into_iter().filter(|one| {
        metric::ASSET_TIMES.contains(&one.metric.as_str()) && one.verdict == MetricVerdict::More
    });
    let told = |one: &MetricComparison| {
        let later = number::difference(one.own.median - one.baseline.median, one.own.median);
        format!(
            "but its {} is complete {later} later: {} instead of {baseline}'s {}",
            metric::words(&one.metric),
            number::duration(one.own.median),
            number::duration(one.baseline.median),
        )
    };
    later.map(told).collect()
}

/// What was counted, where the times of `cell` could not be compared. None where they could, and where nothing was.
pub(crate) fn counted_without_times(group: &Group<'_>, cell: &CellResult) -> Option<String> {
    let ranked = group.ranked(&cell.contender.name)?;
    if ranked.comparison.n > 0 && cell.refused.is_none() {
        return None;
    }
    let counts = of(group, cell);
    let counts = counts.into_iter().filter(|one| metric::COUNTS.contains(&one.metric.as_str()));
    let told: Vec<String> = counts.map(count).collect();
    (!told.is_empty()).then(|| {
        let baseline = group.verdicts.map_or("", |verdicts| &verdicts.baseline);
        format!("counted, against {baseline}: {}", told.join(", "))
    })
}

/// Which view of the page the figures of `cell` are of, and how long the one after it took, where there is more than one.
pub(crate) fn views(cell: &CellResult) -> Vec<String> {
    [from_cache(cell), view_after(cell)].into_iter().flatten().collect()
}

/// How long the view after the judged one took, where there was one: that is when HTTP/3 is used that Alt-Svc offered.
fn view_after(cell: &CellResult) -> Option<String> {
    let load = cell.metrics.get(metric::NEXT_LOAD_MS)?;
    let first_byte = cell.metrics.get(metric::NEXT_FIRST_BYTE_MS)?;
    let [load, first_byte] = [load, first_byte].map(number::summary);
    Some(format!("the view after: {load}, first byte after {first_byte}"))
}

/// What the cache answered where the view that is judged comes after a first one.
fn from_cache(cell: &CellResult) -> Option<String> {
    cell.contender.settings.next_view?;
    let median = |name: &str| cell.metrics.get(name).map(|summary| summary.median);
    let Some(fresh) = median(metric::CACHE_FRESH) else {
        // A browser does not say.
        return Some("its next view".to_owned());
    };
    let current = median(metric::CACHE_REVALIDATED).unwrap_or_default();
    let bytes = median(metric::CACHED_BYTES).unwrap_or_default();
    Some(format!(
        "its next view: {}, {} of them current by 304",
        cached(fresh + current, bytes),
        number::count(current)
    ))
}

/// `10 files from the cache (320 kB)`.
pub(crate) fn cached(files: f64, bytes: f64) -> String {
    let word = if files == 1.0 { "file" } else { "files" };
    format!("{} {word} from the cache ({})", number::count(files), ByteSize(bytes as u64))
}

/// `3 round trips against 9 (fewer)`.
fn count(one: &MetricComparison) -> String {
    let what = match (one.metric.as_str(), one.own.median == 1.0) {
        (metric::CONNECTIONS, true) => "connection",
        (other, _) => metric::words(other),
    };
    let verdict = match one.verdict {
        MetricVerdict::Same if one.own.median != one.baseline.median => {
            "the same within the margin"
        }
        other => verdict(other),
    };
    format!(
        "{} {what} against {} ({verdict})",
        number::count(one.own.median),
        number::count(one.baseline.median),
    )
}

/// The word in tables.
pub(crate) fn verdict(verdict: MetricVerdict) -> &'static str {
    match verdict {
        MetricVerdict::Less => "fewer",
        MetricVerdict::More => "more",
        MetricVerdict::Same => "same",
        MetricVerdict::Undecided => "undecided",
    }
}
