//! A comparison in words: its ratio, what could have been detected, why there is no other verdict, what was saved, and why the
//! winner wins.

use crate::Report;
use crate::number::{self, Percent, Ratio};
use crate::overview::{Group, load};
use study::comparison::{Comparison, Verdict};
use study::family::blocks_for_all;
use study::metric;
use study::result::{CellResult, Pair, Ranked};
use study::stats::LEAST_FOR_INTERVAL;
use unit::counted;

/// The ratio of a comparison with its interval; None where there was nothing to compare, and where so many trials failed that
/// the ratio is no figure.
pub(crate) fn ratio(comparison: &Comparison) -> Option<Ratio> {
    let (value, ci) = (comparison.ratio?, comparison.ci95?);
    (value.0 > 0.0 && value.0.is_finite()).then_some(())?;
    Some(Ratio { value: value.0, ci: [ci[0].0, ci[1].0] })
}

/// What an undecided verdict still needs.
fn still_needed(comparison: &Comparison) -> Option<String> {
    match (comparison.verdict, comparison.trials_needed) {
        // If no block ran both contenders, nothing shows how many would be needed.
        (Verdict::Undecided, Some(trials)) if comparison.n > 0 => {
            Some(format!("about {trials} trials per contender would decide"))
        }
        _ => None,
    }
}

/// The smallest difference that would have been found, beside a verdict that finds none. Never `0 %`: no number of trials
/// finds every difference.
fn detectable(comparison: &Comparison) -> Option<String> {
    let none_found = matches!(comparison.verdict, Verdict::Tie | Verdict::Undecided);
    let least = comparison.detectable.filter(|_| none_found)?.0;
    // A few trials far from the others widen the interval beyond what their spread foretells: so little was not told apart.
    let is_wider = |interval: Ratio| {
        interval.ci[0] < 1.0 / least && interval.ci[1] > least && !interval.is_anything()
    };
    let is_contradicted = ratio(comparison).is_some_and(is_wider);
    (least.is_finite() && !is_contradicted).then(|| smallest(least - 1.0))
}

/// A share of time that could just be found; the least that is told is a tenth of a per cent.
pub(crate) fn smallest(share: f64) -> String {
    match Percent(share.max(LEAST_SHARE)) {
        least if share < LEAST_SHARE => format!("under {least}"),
        percent => percent.to_string(),
    }
}

const LEAST_SHARE: f64 = 0.001;

/// The same in short, for a line with a verdict.
pub(crate) fn would_show(comparison: &Comparison) -> Option<String> {
    detectable(comparison).map(|percent| format!("(detectable: {percent})"))
}

/// The same in full.
pub(crate) fn would_have_shown(comparison: &Comparison) -> Option<String> {
    let percent = detectable(comparison)?;
    Some(format!("smallest detectable difference: {percent} (found in 4 runs of 5)"))
}

/// The remark beside a verdict: why there is no other verdict, and what would decide it. What is unsupported or was refused of the
/// contender itself stands with its trials.
pub(crate) fn remarks(group: &Group<'_>, ranked: &Ranked) -> Vec<String> {
    let Ranked { contender, comparison, .. } = ranked;
    let own = group.cell(contender).and_then(|cell| cell.refused.as_ref());
    let own = own.map(|refused| format!("{contender}: {refused}"));
    let is_of_own_trials = |reason: &str| {
        let words = reason.strip_prefix(contender.as_str());
        comparison.verdict == Verdict::Unsupported && words.is_some_and(|it| it.starts_with(": "))
    };
    let reason = comparison.reason.clone();
    // The baseline's row tells what was refused of it. Only who has no reason of its own repeats that.
    let baselines = group.baseline().and_then(|cell| Some((cell, cell.refused.as_ref()?)));
    let baselines = baselines.map(|(cell, refused)| format!("{}: {refused}", cell.contender.name));
    let is_told = |reason: &String| {
        own.as_ref() == Some(reason) || own.is_some() && baselines.as_ref() == Some(reason)
    };
    let reason = reason.filter(|reason| !is_told(reason) && !is_of_own_trials(reason));
    // Without a ratio failures alone have decided.
    let failed = failures(group, ranked).filter(|_| ratio(comparison).is_none());
    reason.into_iter().chain(failed).chain(still_needed(comparison)).collect()
}

/// That medians of so few trials have no interval; None where each has one.
pub(crate) fn without_interval<'g>(
    groups: impl IntoIterator<Item = &'g Group<'g>>,
) -> Option<String> {
    let cells = groups.into_iter().flat_map(|group| group.cells.iter());
    let mut summaries = cells.filter_map(|cell| crate::overview::load(cell));
    summaries.any(|load| load.ci95.is_none()).then(|| {
        format!(
            "fewer than {LEAST_FOR_INTERVAL} trials have no interval; in parentheses is their range"
        )
    })
}

/// The joint confidence of the verdicts: over the comparisons with the baseline on one link, and over all comparisons
/// of the run. Empty where no comparison has an interval, and where trials were added to a judged run: then none holds.
pub(crate) fn confidence(report: &Report<'_>) -> Vec<String> {
    let result = report.result;
    if result.exploratory.is_some() {
        return Vec::new();
    }
    let level = result.family.confidence;
    let compared = result.verdicts.iter().flat_map(|table| &table.ranking);
    let mut ratios = compared.filter_map(|ranked| ratio(&ranked.comparison));
    if ratios.all(Ratio::is_anything) {
        return Vec::new();
    }
    let largest = result.verdicts.iter().max_by_key(|table| table.ranking.len());
    let Some(compared) = largest.map(|table| table.ranking.len()).filter(|count| *count > 0) else {
        return Vec::new();
    };
    let (baseline, percent) = (&result.baseline, Percent(level));
    let together = match compared {
        1 => format!("each comparison with {baseline}"),
        all => format!("the {all} comparisons with {baseline} on a link together"),
    };
    let mut lines = vec![format!("{percent} for {together}")];
    let told = || result.verdicts.iter().flat_map(|table| &table.pairs);
    let differ =
        |pair: &&Pair| matches!(pair.comparison.verdict, Verdict::Faster | Verdict::Slower);
    let differences: Vec<&Pair> = told().filter(differ).collect();
    if result.verdicts.len() > 1 && !differences.is_empty() {
        let stands = |pair: &&&Pair| pair.comparison.p_run.is_some_and(|p| p <= 1.0 - level);
        let (standing, all) =
            (differences.iter().filter(stands).count(), result.family.comparisons);
        let needed = blocks_for_all(all as usize);
        let most = told().map(|pair| pair.comparison.n).max().unwrap_or_default();
        let together = format!("{percent} for all {all} comparisons together");
        // So few trials say nothing of the differences: "0 of 21 still stand" would read as if they had fallen.
        let short = |pair: &&&Pair| pair.comparison.n < needed && !stands(pair);
        let others =
            others(differences.len() - standing, differences.iter().filter(short).count(), needed);
        lines.push(match (standing, differences.len()) {
            (0, found) if most < needed => format!(
                "{together}: {most} trials per contender are too few to show it for any of {found} differences; {needed} would do"
            ),
            (_, found) => format!("{together}: {standing} of {found} differences still stand{others}"),
        });
    }
    lines
}

/// What becomes of the differences that do not stand in the whole run; of them `short` have too few trials to stand.
fn others(all: usize, short: usize, needed: u32) -> String {
    let have = if short == 1 { "has" } else { "have" };
    let would_do = format!("too few trials for that: {needed} per contender would do");
    match (all, short) {
        (0, _) => String::new(),
        (1, 0) => "; the other one does not".to_owned(),
        (all, 0) => format!("; the other {all} do not"),
        (1, _) => format!("; the other one has {would_do}"),
        (all, short) if all == short => format!("; the other {all} have {would_do}"),
        (all, short) => {
            let left = all - short;
            let fall = if left == 1 { "does not stand" } else { "do not stand" };
            format!("; {short} of the other {all} {have} {would_do}; {left} {fall}")
        }
    }
}

/// The time that `ranked` saves against the baseline, without a sign and in the digits of the baseline's own time. None
/// where the verdict finds no difference, where the medians tell another one, and where trials failed: the verdict counts them
/// as slower than any time, and the medians leave them out.
pub(crate) fn saved(group: &Group<'_>, ranked: &Ranked) -> Option<String> {
    let saved_s = ranked.saved_s?;
    let is_told = match ranked.comparison.verdict {
        Verdict::Faster => saved_s > 0.0,
        Verdict::Slower => saved_s < 0.0,
        _ => false,
    };
    if !is_told || failures(group, ranked).is_some() {
        return None;
    }
    let baseline = load(group.baseline()?)?;
    Some(number::difference(saved_s * 1e3, baseline.median))
}

/// How often the baseline and `ranked` failed: `h1-tls failed in 11 of 14 trials, h2 in none`. None where neither did.
pub(crate) fn failures(group: &Group<'_>, ranked: &Ranked) -> Option<String> {
    let both = [group.baseline()?, group.cell(&ranked.contender)?];
    let [more, less] = match both[0].trials.failed >= both[1].trials.failed {
        true => both,
        false => [both[1], both[0]],
    };
    let (name, failed) = (&more.contender.name, more.trials.failed);
    let other = match less.trials.failed {
        0 => "none".to_owned(),
        some => format!("{some} of {}", less.trials.all()),
    };
    (failed > 0).then(|| {
        let all = counted(more.trials.all(), "trial");
        format!("{name} failed in {failed} of {all}, {} in {other}", less.contender.name)
    })
}

/// Why the winner wins, as far as round trips and connections explain it: `h1-tls waits for 9 request round trips in a
/// row, on 6 connections; h2 for 1, on 1 connection`, `h2 waits for 2 round trips of handshakes; h3 for 1`. None where the
/// winner waits for as many or more.
pub(crate) fn round_trips(group: &Group<'_>) -> Option<String> {
    let slow = group.baseline()?;
    let fast = group.cell(&group.winner()?.contender)?;
    let (a, b) = (slow.median_trial.as_ref()?, fast.median_trial.as_ref()?);
    let rounds = a.rounds.zip(b.rounds).filter(|(slow, fast)| slow > fast);
    let requests = rounds.map(|(slow_rounds, fast_rounds)| {
        format!(
            "{} waits for {} in a row, on {}; {} for {}, on {}",
            slow.contender.name,
            counted(slow_rounds, "request round trip"),
            counted(a.connections, "connection"),
            fast.contender.name,
            fast_rounds,
            counted(b.connections, "connection"),
        )
    });
    // Between HTTP/1.1 and h2 the requests tell it all.
    let is_told = requests.is_none()
        || [slow, fast].iter().any(|cell| cell.contender.transport.is_over_quic());
    let shaken = handshakes(slow).zip(handshakes(fast));
    let shaken = shaken.filter(|(slow, fast)| is_told && slow > fast);
    let shaken = shaken.map(|(a, b)| match &requests {
        Some(_) => format!("handshakes take {} against {b}", counted(a, "round trip")),
        None => {
            let (slow, fast) = (&slow.contender.name, &fast.contender.name);
            format!("{slow} waits for {} of handshakes; {fast} for {b}", counted(a, "round trip"))
        }
    });
    let said: Vec<String> = requests.into_iter().chain(shaken).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Round trips of handshakes on the critical path, in the median of the trials.
pub(crate) fn handshakes(cell: &CellResult) -> Option<u32> {
    let summary = cell.metrics.get(metric::HANDSHAKE_ROUND_TRIPS)?;
    Some(summary.median.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::comparison;

    #[test]
    fn every_difference_that_does_not_stand_is_accounted_for() {
        let few = "too few trials for that: 10 per contender would do";
        assert_eq!(others(0, 0, 10), "");
        assert_eq!(others(1, 0, 10), "; the other one does not");
        assert_eq!(others(7, 7, 10), format!("; the other 7 have {few}"));
        assert_eq!(others(7, 6, 10), format!("; 6 of the other 7 have {few}; 1 does not stand"));
    }

    #[test]
    fn no_difference_is_called_detectable_that_the_interval_itself_did_not_tell() {
        let told = |low, high| {
            let [value, low, high] = [1.02, low, high].map(comparison::Ratio);
            detectable(&Comparison {
                verdict: Verdict::Undecided,
                ratio: Some(value),
                ci95: Some([low, high]),
                detectable: Some(comparison::Ratio(1.011)),
                ..Comparison::of_nothing()
            })
        };
        assert_eq!(told(0.87, 1.38), None);
        assert_eq!(told(0.995, 1.06).as_deref(), Some("1.1\u{a0}%"));
    }
}
