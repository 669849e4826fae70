//! Findings in words: the answer in one sentence, the titles of pictures, the lines that stand over a
//! table. The one rule: a sentence says no more than a verdict does.

use crate::Report;
use crate::number::{self, Percent, Ratio};
use crate::overview::{Group, load, measure};
use study::deciding_metric;
use study::experiment::Tls;
use study::family::blocks_for_all;
use study::reconcile::Grade;
use study::record::metric;
use study::result::{CellResult, Comparison, Pair, Ranked, TrialCounts, Verdict};
use study::stats::{Modes, Percentile};

/// The TLS version as experiments name it.
pub(crate) fn tls_name(tls: Tls) -> &'static str {
    match tls {
        Tls::None => "none",
        Tls::V1_2 => "1.2",
        Tls::V1_3 => "1.3",
    }
}

/// What ran and under which conditions, as far as they hold for every cell.
pub(crate) fn conditions(report: &Report<'_>) -> String {
    let result = report.result;
    let mut parts = vec![result.title.clone()];
    let contenders = || result.cells.iter().map(|cell| &cell.contender);
    let tcp = |c: &study::experiment::Contender| {
        format!("{} iw{}", c.settings.congestion_control.name(), c.settings.initial_window)
    };
    parts.extend(only(contenders().map(tcp)));
    let versions = contenders().filter(|c| c.tls != Tls::None).map(|c| tls_name(c.tls));
    parts.extend(only(versions).map(|version| format!("TLS {version}")));
    parts.push(format!("seed {}", result.seed));
    parts.join(", ")
}

/// How many trials there were, how they ended and how long all took.
pub(crate) fn trials_line(report: &Report<'_>) -> String {
    let TrialCounts { measured, invalid, failed, unsupported } = report.result.trials;
    let all = report.result.trials.all();
    let mut line = format!("{measured}/{all} trials, {invalid} invalid, {failed} failed");
    if unsupported > 0 {
        line.push_str(&format!(", {unsupported} unsupported"));
    }
    if let Some(elapsed) = report.elapsed_ms() {
        line.push_str(&format!(", {:.0} s", elapsed / 1e3));
    }
    line
}

/// The ratio of a comparison with its interval; None where there was nothing to compare.
pub(crate) fn ratio(comparison: &Comparison) -> Option<Ratio> {
    let (value, ci) = (comparison.ratio?, comparison.ci95?);
    Some(Ratio { value: value.0, ci: [ci[0].0, ci[1].0] })
}

/// What an undecided verdict still needs.
fn still_needed(comparison: &Comparison) -> Option<String> {
    match (comparison.verdict, comparison.trials_needed) {
        // Without a block in which both ran nothing says how many it would take.
        (Verdict::Undecided, Some(trials)) if comparison.n > 0 => {
            Some(format!("about {trials} trials a cell would decide"))
        }
        _ => None,
    }
}

/// The least difference that would have been found beside a verdict that finds none.
pub(crate) fn detectable(comparison: &Comparison) -> Option<Percent> {
    let none_found = matches!(comparison.verdict, Verdict::Tie | Verdict::Undecided);
    let ratio = comparison.detectable.filter(|_| none_found)?;
    ratio.0.is_finite().then_some(Percent(ratio.0 - 1.0))
}

/// The same in short, for a line that has a verdict in it.
pub(crate) fn would_show(comparison: &Comparison) -> Option<String> {
    detectable(comparison).map(|percent| format!("({percent} would show)"))
}

/// The same in full.
pub(crate) fn would_have_shown(comparison: &Comparison) -> Option<String> {
    let percent = detectable(comparison)?;
    Some(format!("a difference of {percent} would have been found in four runs of five"))
}

/// What is to be said beside a verdict: why there is no other, and what would decide it. Why something is
/// unsupported is said of its trials already.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<String> {
    let reason = comparison.reason.clone().filter(|_| comparison.verdict != Verdict::Unsupported);
    reason.into_iter().chain(still_needed(comparison)).collect()
}

/// Which verdicts of a table hold together, and how many of the differences stand over the whole run too: lines, of
/// which there is none where nothing was compared.
pub(crate) fn families(report: &Report<'_>) -> Vec<String> {
    let result = report.result;
    let level = result.family.confidence;
    let largest = result.verdicts.iter().max_by_key(|table| table.ranking.len());
    let Some(compared) = largest.map(|table| table.ranking.len()).filter(|count| *count > 0) else {
        return Vec::new();
    };
    let (baseline, percent) = (&result.baseline, Percent(level));
    let hold = match compared {
        1 => format!("the comparison with {baseline} holds at {percent}"),
        all => format!("the {all} comparisons with {baseline} hold together at {percent}"),
    };
    let mut lines = vec![format!("family: {hold}, on each link and workload by itself")];
    let told = result.verdicts.iter().flat_map(|table| &table.pairs);
    let differ =
        |pair: &&Pair| matches!(pair.comparison.verdict, Verdict::Faster | Verdict::Slower);
    let differences: Vec<&Pair> = told.filter(differ).collect();
    if result.verdicts.len() > 1 && !differences.is_empty() {
        let stand = |pair: &&&Pair| pair.comparison.p_run.is_some_and(|p| p <= 1.0 - level);
        let (standing, all) = (differences.iter().filter(stand).count(), result.family.comparisons);
        let mut line = format!(
            "family: {standing} of {} differences stand over all {all} comparisons of the run together too",
            differences.len(),
        );
        if standing == 0 {
            line.push_str(&format!("; {} blocks could show it", blocks_for_all(all as usize)));
        }
        lines.push(line);
    }
    lines
}

/// The time that `ranked` saves against the baseline, without a sign, where the verdict says that there is a
/// difference; in the digits of the baseline's own time.
pub(crate) fn saved(group: &Group<'_>, ranked: &Ranked) -> Option<String> {
    matches!(ranked.comparison.verdict, Verdict::Faster | Verdict::Slower).then_some(())?;
    let baseline = load(group.baseline()?)?;
    Some(number::difference(ranked.saved_s? * 1e3, baseline.median))
}

/// A clause of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    /// What was found.
    pub(crate) text: String,
    /// By which ratio: `0.56× [0.55, 0.57]`; None where there is no one ratio to name.
    pub(crate) ratio: Option<String>,
}

/// What was found of one workload: a sentence.
#[derive(Debug, Clone)]
pub(crate) struct Answer<'a> {
    /// The workload's name, where there are several.
    pub(crate) workload: Option<&'a str>,
    /// The sentence; empty where nothing could be compared.
    pub(crate) clauses: Vec<Clause>,
    /// Its links.
    pub(crate) groups: Vec<Group<'a>>,
}

/// The answer: a sentence for each workload that has verdicts of its own.
pub(crate) fn answers<'a>(report: &Report<'a>) -> Vec<Answer<'a>> {
    let groups: Vec<Group<'_>> =
        report.groups().into_iter().filter(|group| group.verdicts.is_some()).collect();
    let workloads: Vec<&[Group<'_>]> =
        groups.chunk_by(|a, b| a.workload.name == b.workload.name).collect();
    let named = workloads.len() > 1;
    workloads
        .into_iter()
        .map(|groups| {
            let workload = named.then_some(groups[0].workload.name.as_str());
            let clauses = sentence(groups, report.result.margin);
            Answer { workload, clauses, groups: groups.to_vec() }
        })
        .collect()
}

/// What a group's picture shows: the title that states its finding.
pub(crate) fn finding(group: &Group<'_>, margin: f64) -> String {
    if group.verdicts.is_none() {
        let measure = sentence_case(measure(group.workload));
        return format!(
            "{measure} of each trial on {} with {}",
            group.link.name, group.workload.name
        );
    }
    let clauses = sentence(std::slice::from_ref(group), margin);
    clauses.into_iter().map(|clause| clause.text).collect::<Vec<_>>().join("; ")
}

/// A share with its sign, in whole per cent.
pub(crate) fn signed_percent(share: f64) -> String {
    format!("{:+.0} %", share * 100.0)
}

/// Milliseconds with their sign, to hundredths: what is added to a single message.
pub(crate) fn signed_millis(millis: f64) -> String {
    format!("{millis:+.2} ms")
}

/// The interval of such.
pub(crate) fn millis_interval([low, high]: [f64; 2]) -> String {
    format!(" [{low:+.2}, {high:+.2}]")
}

/// With a capital letter.
pub(crate) fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Why the winner wins, as far as rounds and connections tell: `h1-tls waits 9 request rounds on 6 connections,
/// h2 one on 1`.
pub(crate) fn rounds(group: &Group<'_>) -> Option<String> {
    let slow = group.baseline()?;
    let fast = group.cell(&group.winner()?.contender)?;
    let (a, b) = (slow.median_trial.as_ref()?, fast.median_trial.as_ref()?);
    // Where the rounds are alike they are not the reason.
    (a.rounds != b.rounds).then(|| {
        format!(
            "{} waits {} request round{} on {} connection{}, {} {} on {}",
            slow.contender.name,
            a.rounds,
            plural(a.rounds),
            a.connections,
            plural(a.connections),
            fast.contender.name,
            in_words(b.rounds),
            b.connections,
        )
    })
}

/// What became of the trials of `cell` that were not measured, and why, most frequent reason first.
pub(crate) fn troubles(report: &Report<'_>, cell: &CellResult) -> Vec<String> {
    let mut counted: Vec<(&str, String, u32)> = Vec::new();
    for trial in report.trials(cell) {
        let Some(reason) = trial.outcome.reason() else { continue };
        let kind = crate::rows::outcome_name(&trial.outcome);
        let reason = match &trial.outcome {
            study::record::Outcome::Unsupported { remedy, .. } if !remedy.is_empty() => {
                format!("{reason} ({remedy})")
            }
            _ => reason.to_owned(),
        };
        match counted.iter_mut().find(|(k, r, _)| *k == kind && *r == reason) {
            Some((_, _, count)) => *count += 1,
            None => counted.push((kind, reason, 1)),
        }
    }
    counted.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let all = cell.trials.all();
    let told = counted
        .into_iter()
        .map(|(kind, reason, count)| format!("{count} of {all} {kind}: {reason}"));
    cell.refused.clone().into_iter().chain(told).chain(ran_again(cell)).chain(modes(cell)).collect()
}

/// How often the audit refused trials of `cell`, where it did and their blocks ran again.
fn ran_again(cell: &CellResult) -> Option<String> {
    let (refused, heard) = (cell.audited.invalid, cell.audited.trials);
    (refused > 0 && heard > cell.trials.all())
        .then(|| format!("{refused} of {heard} invalid over all attempts: spoilt blocks ran again"))
}

/// The two heaps of a cell whose trials lie in two.
pub(crate) fn modes(cell: &CellResult) -> Option<String> {
    heaps(cell.modes?)
}

/// None of heaps so near to each other that no figure of the report tells them apart; the result file has them.
fn heaps(modes: Modes) -> Option<String> {
    let [low, high] = [modes.low, modes.high].map(|mode| number::duration(mode.centre));
    let [below, above] = [modes.low, modes.high].map(|mode| Percent(mode.share));
    (low != high).then(|| format!("two heaps: {below} around {low} and {above} around {high}"))
}

/// Percentiles of single exchanges: `each of 140 calls: p50 61.2 ms [60, 63], …`; None where a trial has too few.
pub(crate) fn percentiles(cell: &CellResult) -> Option<String> {
    let samples = cell.samples.as_ref()?;
    let told: Vec<String> = samples.at.iter().map(percentile).collect();
    (!told.is_empty()).then(|| format!("{} exchanges: {}", samples.n, told.join(", ")))
}

fn percentile(percentile: &Percentile) -> String {
    let time = match percentile.ci95 {
        Some(ci95) => number::duration_with_interval(percentile.ms, ci95),
        None => number::duration(percentile.ms),
    };
    format!("p{} {time}", percentile.share * 100.0)
}

/// What comparing a contender with itself found.
pub(crate) fn same(report: &Report<'_>) -> Vec<String> {
    let Some(same) = &report.result.same else { return Vec::new() };
    let mut lines = vec![
        format!(
            "A/A: {} of {} comparisons with itself found to differ ({}; 95 % {} to {}); {} are to be expected, \
             {} at most",
            same.differ,
            same.comparisons,
            Percent(same.share),
            Percent(same.ci95[0]),
            Percent(same.ci95[1]),
            Percent(same.expected),
            same.most,
        ),
        format!(
            "A/A: {} false verdicts, {} ties; {} blocks a comparison",
            same.false_verdicts, same.ties, same.blocks
        ),
    ];
    lines.extend(same.places.iter().map(|place| {
        let least = place.detectable.map_or_else(String::new, |ratio| {
            format!("; {} would show in four of five", Percent(ratio.0 - 1.0))
        });
        format!(
            "A/A on {}, {}: {} of {} differ, {} false verdicts{least}",
            place.link, place.workload, place.differ, place.comparisons, place.false_verdicts
        )
    }));
    lines
}

/// What vouches for the claims of somebody else's client: `wire (connections, bytes), server log (protocol)`. None
/// for wirelap's own.
pub(crate) fn evidence(cell: &CellResult) -> Option<String> {
    let grades = [Grade::Wire, Grade::KeyLog, Grade::ServerLog, Grade::Unverified];
    let of = |grade: Grade| {
        let claims: Vec<String> = cell
            .evidence
            .iter()
            .filter(|one| one.grade == grade)
            .map(|one| one.claim.to_string())
            .collect();
        (!claims.is_empty()).then(|| format!("{grade} ({})", claims.join(", ")))
    };
    let all: Vec<String> = grades.into_iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("vouched for by: {}", all.join(", ")))
}

/// What a cell is called in tables: its workload is named only where there are several.
pub(crate) fn cell(groups: &[Group<'_>], cell: &CellResult) -> String {
    let several = groups.iter().any(|group| group.workload.name != cell.workload.name);
    let workload = if several { format!(", {}", cell.workload.name) } else { String::new() };
    format!("{}, {}{workload}", cell.link.name, cell.contender.name)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The clauses of a sentence over `groups`: the largest saving first; its first letter is a capital.
fn sentence(groups: &[Group<'_>], margin: f64) -> Vec<Clause> {
    let mut won: Vec<Lead<'_>> = groups.iter().filter_map(Lead::of).collect();
    won.sort_by(|a, b| b.least_saved().total_cmp(&a.least_saved()));
    let mut clauses = Vec::new();
    let mut before: Option<String> = None;
    for lead in won {
        clauses.push(lead.clause(before.as_deref()));
        before = Some(lead.names());
    }
    let baseline = groups.first().and_then(|group| group.verdicts).map_or("", |v| &v.baseline);
    let outcomes = [
        (Standing::BaselineLeads, format!("nothing beats {baseline}")),
        (Standing::Tie, format!("all tie within {}", Percent(margin))),
        (Standing::Undecided, "it is undecided".to_owned()),
        (Standing::Nothing, "nothing could be compared".to_owned()),
    ];
    for (wanted, what) in outcomes {
        let links: Vec<&str> = groups
            .iter()
            .filter(|group| group.winner().is_none() && standing(group) == wanted)
            .map(|group| group.link.name.as_str())
            .collect();
        if !links.is_empty() {
            clauses.push(Clause { text: format!("on {} {what}", listed(&links)), ratio: None });
        }
    }
    if let Some(first) = clauses.first_mut() {
        first.text = capitalised(&first.text);
    }
    clauses
}

/// Those who are ahead on a link.
pub(crate) struct Lead<'a> {
    group: &'a Group<'a>,
    leaders: Vec<&'a Ranked>,
    /// The one among them that saves least: what is said of it holds for all.
    pub(crate) least: &'a Ranked,
}

impl<'a> Lead<'a> {
    /// None where nobody beats the baseline.
    pub(crate) fn of(group: &'a Group<'a>) -> Option<Self> {
        let leaders = group.leaders();
        let saving = |ranked: &&&Ranked| ranked.saved_s.unwrap_or(0.0);
        let least = *leaders.iter().min_by(|a, b| saving(a).total_cmp(&saving(b)))?;
        Some(Self { group, leaders, least })
    }

    fn least_saved(&self) -> f64 {
        self.least.saved_s.unwrap_or(0.0)
    }

    /// Their names.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.leaders.iter().map(|r| r.contender.as_str()).collect();
        listed(&names)
    }

    fn clause(&self, before: Option<&str>) -> Clause {
        let link = &self.group.link.name;
        let names = self.names();
        let baseline = self.group.verdicts.map_or("", |v| &v.baseline);
        let (verb, beat) = if self.leaders.len() == 1 { ("s", "beats") } else { ("", "beat") };
        let text = match (saved(self.group, self.least), before) {
            (Some(saved), None) => {
                let what = match deciding_metric(self.group.workload) {
                    metric::MEAN_MS => format!("answer{verb} a call"),
                    metric::TOTAL_MS => format!("answer{verb} all calls"),
                    metric::WALL_MS => format!("bring{verb} the files"),
                    _ => format!("load{verb} the page"),
                };
                format!("on {link}, {names} {what} {saved} sooner than {baseline}")
            }
            (Some(saved), Some(before)) if before == names => format!("on {link} {saved} sooner"),
            (Some(saved), Some(_)) => format!("on {link}, {names} {saved} sooner"),
            (None, _) => format!("on {link}, {names} {beat} {baseline}"),
        };
        let ratio = ratio(&self.least.comparison);
        Clause {
            text,
            ratio: ratio.map(|ratio| format!("{}× {}", ratio.number(), ratio.interval())),
        }
    }
}

/// Where a group without a winner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Everyone is level with the baseline.
    Tie,
    /// Nobody is faster than the baseline, and somebody is slower.
    BaselineLeads,
    /// Of somebody it cannot be said.
    Undecided,
    /// There was nothing to compare.
    Nothing,
}

/// Where `group` stands, if it has no winner.
pub(crate) fn standing(group: &Group<'_>) -> Standing {
    let all = group.verdicts.map_or(&[][..], |verdicts| &verdicts.ranking);
    let any = |verdict| all.iter().any(|ranked| ranked.comparison.verdict == verdict);
    match () {
        // Undecided means that more trials may tell; where no two ran in one block there is nothing yet to tell of.
        () if all.iter().all(|ranked| ranked.comparison.n == 0) => Standing::Nothing,
        () if any(Verdict::Undecided) => Standing::Undecided,
        () if any(Verdict::Slower) => Standing::BaselineLeads,
        () if any(Verdict::Tie) => Standing::Tie,
        () => Standing::Nothing,
    }
}

/// The one value that all items share; None where they differ or there are none.
fn only<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A small count as a word, as a figure beside another would read as one number.
fn in_words(count: u32) -> String {
    const WORDS: [&str; 10] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(count as usize).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::stats::Mode;

    #[test]
    fn heaps_are_told_where_a_reader_could_tell_them_apart() {
        let of = |low, high| {
            let [low, high] =
                [(low, 0.25), (high, 0.75)].map(|(centre, share)| Mode { centre, share });
            heaps(Modes { p: 0.001, low, high })
        };
        assert_eq!(of(4379.2, 4380.7), None);
        let told = of(204.0, 311.0).map(|told| told.replace('\u{a0}', " "));
        assert_eq!(told.as_deref(), Some("two heaps: 25 % around 204 ms and 75 % around 311 ms"));
    }
}
