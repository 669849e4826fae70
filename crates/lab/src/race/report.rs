//! From rows to verdict, report and text: the end of a run, and all of `wirelap report`.

use crate::error::{self, CliError};
use crate::inputs::har;
use crate::inputs::links;
use crate::race::films;
use crate::race::planned;
use crate::race::run_folder::RunFolder;
use crate::race::schedule::Concurrency;
use crate::race::service;
use crate::race::store::Rows;
use crate::race::until_decided;
use crate::trial::site_contents;
use report::{Assumptions, Colour, Films, LinkText, Report, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use study::comparison::{Comparison, Verdict};
use study::estimate::in_words;
use study::experiment::{Experiment, builtin};
use study::metric;
use study::record::{RunHeader, TrialRecord};
use study::result::{MetricVerdict, Pair, RunResult, TrialCounts, Verdicts};

/// In which form the result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// result.json.
    Json,
    /// The trials' figures.
    Csv,
}

impl OutputFormat {
    /// The form that two flags ask for.
    pub(crate) fn of(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => Self::Text,
        }
    }
}

/// Judges the rows, writes result.json and report.html, prints, and gives the result.
pub(crate) fn report_results(
    folder: &RunFolder,
    header: &RunHeader,
    rows: &Rows,
    format: OutputFormat,
) -> Result<RunResult, CliError> {
    let judged = Judged::of(folder, header, rows);
    judged.tell(folder, format)?;
    Ok(judged.result)
}

/// A run with its result and what a report adds to it.
pub(crate) struct Judged<'r> {
    result: RunResult,
    rows: &'r Rows,
    name: String,
    links: BTreeMap<String, LinkText>,
    assumptions: Vec<Assumptions>,
    again: Option<String>,
    next: Option<String>,
    full_run: Option<String>,
    films: Films,
}

/// A warning where rows are damaged: the figures are of the others.
pub(crate) fn left_out(rows: &Rows) -> Option<String> {
    let first = unit::escape(rows.damaged.first()?).into_owned();
    let count = rows.damaged.len();
    Some(format!(
        "rows of rows.sqlite cannot be read, and are left out; the first of {count}: {first}"
    ))
}

impl<'r> Judged<'r> {
    /// Judges the rows.
    pub(crate) fn of(folder: &RunFolder, header: &RunHeader, rows: &'r Rows) -> Self {
        let assumed = [
            service::assumptions(&header.experiment),
            replayed(&rows.records).into_iter().collect(),
        ];
        let assumed = Assumptions { read_from: None, sentences: assumed.concat() };
        let read = har::assumptions(&header.experiment, |file| folder.inputs().join(file));
        let escaped = |text: &String| unit::escape(text).into_owned();
        let assumptions = [vec![assumed], read].concat().into_iter().map(|one| Assumptions {
            read_from: one.read_from.as_ref().map(escaped),
            sentences: one.sentences.iter().map(escaped).collect(),
        });
        let mut result = study::analyse(header, &rows.records);
        let again = again(header, &result, folder);
        result.warnings.splice(0..0, left_out(rows));
        Self {
            assumptions: assumptions.collect(),
            rows,
            name: unit::escape(&folder.path().display().to_string()).into_owned(),
            links: link_texts(folder, header),
            next: next_command(header, &result, folder, again.as_deref()),
            again,
            full_run: full_run(&header.experiment),
            films: films::of_medians(folder, &result),
            result,
        }
    }

    /// Judges the rows, of which one at least can be read or none is damaged: a report of nothing must not take the place of a good one.
    pub(crate) fn of_some(
        folder: &RunFolder,
        header: &RunHeader,
        rows: &'r Rows,
    ) -> Result<Self, CliError> {
        match rows.damaged.first() {
            Some(damaged) if rows.records.is_empty() => {
                Err(CliError::misuse(format!("no row can be read: {damaged}"))
                    .remedy("run the experiment again, or restore rows.sqlite"))
            }
            _ => Ok(Self::of(folder, header, rows)),
        }
    }

    /// What the rows came to.
    pub(crate) fn result(&self) -> &RunResult {
        &self.result
    }

    /// Writes result.json and report.html, and prints.
    pub(crate) fn tell(&self, folder: &RunFolder, format: OutputFormat) -> Result<(), CliError> {
        for damaged in &self.rows.damaged {
            crate::console::note(&format!("a row is damaged and left out: {damaged}"));
        }
        let report = self.report();
        let json = report::json(&self.result);
        let wrote = folder
            .write(&folder.result(), &json)
            .and_then(|()| folder.write(&folder.report(), &report::html(&report)));
        // What was found is printed all the same.
        match format {
            OutputFormat::Json => crate::console::print_json(&json),
            OutputFormat::Csv => crate::console::print(&report::csv(&self.rows.records)),
            OutputFormat::Text => {
                crate::console::print_coloured(&report::terminal(&report, style()))
            }
        }?;
        wrote
    }

    /// What a report is made from.
    pub(crate) fn report(&self) -> Report<'_> {
        Report {
            result: &self.result,
            rows: &self.rows.records,
            folder: &self.name,
            links: &self.links,
            assumptions: &self.assumptions,
            films: &self.films,
            again: self.again.as_deref(),
            next: self.next.as_deref(),
            full_run: self.full_run.as_deref(),
        }
    }
}

/// How browsers found their answers in recorded sites, where they loaded any.
fn replayed(rows: &[TrialRecord]) -> Option<String> {
    let replays: Vec<&TrialRecord> =
        rows.iter().filter(|row| row.metrics.contains_key(metric::REPLAY_MISSED)).collect();
    let sum = |name: &str| -> f64 { replays.iter().filter_map(|row| row.metrics.get(name)).sum() };
    let named: BTreeSet<&str> = replays
        .iter()
        .filter_map(|row| row.settings.get(site_contents::MISSED))
        .map(String::as_str)
        .collect();
    let named: Vec<&str> = named.into_iter().take(3).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join("; ")) };
    let counts = [
        metric::REPLAY_NEAREST,
        metric::REPLAY_MISSED,
        metric::REPLAY_NOT_ASKED,
        metric::REPLAY_SOCKETS_MISSED,
    ];
    // Where every answer was found there is nothing to tell.
    let [nearest, missed, not_asked, sockets] = counts.map(sum);
    (nearest + missed + not_asked + sockets > 0.0).then(|| {
        format!(
            "Replays by browsers, {} trials with those that were refused: {nearest} requests were answered by the nearest recorded query, {missed} were not in the \
             recording and got 404{named}, {not_asked} recorded fetches were not asked for, and {sockets} recorded WebSockets were not \
             opened.",
            replays.len(),
        )
    })
}

/// Why a race answers nothing, by the most frequent reason: no trial was measured, or none of its comparisons has a figure,
/// neither of time nor of what is counted. An A/A run answers by complete comparisons alone.
pub(crate) fn unanswered(result: &RunResult) -> Option<String> {
    let what = match result.trials.measured {
        // Counts of refused trials are figures too.
        _ if result.gates.iter().any(|gate| gate.ratio.is_some()) => return None,
        0 => "no trial was measured",
        _ if result.same.as_ref().is_some_and(|same| same.comparisons == 0) => {
            "no comparison of the contender with itself is complete"
        }
        // Gates say by themselves that they are inconclusive.
        _ if result.gates.is_empty() && compares_nothing(&result.verdicts) => {
            "so few trials were measured that nothing can be compared"
        }
        _ => return None,
    };
    let mut reasons: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for failure in &result.failures {
        let remedy = failure.remedy.as_deref().unwrap_or_default();
        *reasons.entry((&failure.outcome, &failure.reason, remedy)).or_default() += 1;
    }
    let most = reasons.into_iter().max_by_key(|(_, count)| *count);
    let all = result.trials.all();
    let of_outcome =
        |outcome: &str| result.failures.iter().filter(|one| one.outcome == outcome).count();
    let why = most.map_or_else(String::new, |((outcome, reason, remedy), count)| {
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        let of_outcome = of_outcome(outcome);
        let most = if count < of_outcome { format!(" ({count} of them)") } else { String::new() };
        format!(": {of_outcome} of {all} {outcome}: {reason}{most}{remedy}")
    });
    Some(format!("{} answers nothing: {what}{why}", result.experiment))
}

/// Whether there are comparisons, and none has a figure. What cannot run here was answered with its remedy.
fn compares_nothing(verdicts: &[Verdicts]) -> bool {
    let mut pairs = verdicts.iter().flat_map(|verdicts| &verdicts.pairs).peekable();
    let mut metrics = verdicts.iter().flat_map(|verdicts| &verdicts.metrics);
    pairs.peek().is_some()
        && pairs.map(|pair| &pair.comparison).all(|comparison| {
            comparison.ratio.is_none() && comparison.verdict != Verdict::Unsupported
        })
        && metrics.all(|metric| metric.verdict == MetricVerdict::Undecided)
}

fn style() -> Style {
    let colour = if crate::console::colour() { Colour::On } else { Colour::Off };
    Style { colour, width: crate::console::width() }
}

/// Each link in words. A link that can no longer be read (its trace file is gone) keeps its own text.
fn link_texts(folder: &RunFolder, header: &RunHeader) -> BTreeMap<String, LinkText> {
    let text = |choice: &study::experiment::LinkChoice| {
        let figures = links::link_spec(choice, |file| folder.inputs().join(file))
            .map_or_else(|_| choice.text().to_owned(), |spec| spec.to_string());
        let figures = match links::is_loopback(choice) {
            true => "loopback: no link between the ends".to_owned(),
            false => figures,
        };
        let source =
            link::find(choice.text()).map_or_else(String::new, |profile| profile.source.to_owned());
        (choice.name.clone(), LinkText { figures, source })
    };
    header.experiment.links.iter().map(text).collect()
}

/// The command that runs a published measurement whole, and how long it takes; None where this run was whole.
fn full_run(experiment: &Experiment) -> Option<String> {
    experiment.published?;
    let builtin = builtin().iter().find(|one| one.name == experiment.name)?;
    let whole: Experiment = builtin.toml.parse().ok()?;
    let size = |one: &Experiment| (one.workloads.len(), one.contenders.len(), one.links.len());
    if size(&whole) == size(experiment) {
        return None;
    }
    let span =
        planned::plan(&whole, |file| PathBuf::from(file)).ok()?.time(Concurrency::SideBySide);
    Some(format!("wirelap race {}, {}", builtin.name, in_words(span)))
}

/// The command that makes the run again so that it answers. Trials that are still to be planned cannot be too few.
fn again(header: &RunHeader, result: &RunResult, folder: &RunFolder) -> Option<String> {
    let folder = folder.path().display().to_string();
    let again = report::again(&header.experiment, result, &folder);
    again.filter(|_| !until_decided::is_open(&header.experiment))
}

/// What follows from the result: what gives this run an answer, where it has none; what confirms one that was explored;
/// and after the first race of a new user, a race of a page of his own. None where nothing follows.
fn next_command(
    header: &RunHeader,
    result: &RunResult,
    folder: &RunFolder,
    again: Option<&str>,
) -> Option<String> {
    let folder = error::quoted(folder.path());
    match lack(&result.trials, &result.verdicts) {
        Some(Lack::Work) => Some(format!("wirelap report {folder} --csv")),
        Some(Lack::Trials) if again.is_some() => again.map(str::to_owned),
        _ if result.exploratory.is_some() => Some(format!("wirelap race --again {folder}")),
        _ if header.experiment.name == FIRST_RACE => {
            Some("wirelap race my.har --links 4g,3g".to_owned())
        }
        _ => None,
    }
}

/// The experiment that `wirelap doctor` and the README begin with.
const FIRST_RACE: &str = "quick";

/// What a run lacks for an answer.
#[derive(Debug, PartialEq, Eq)]
enum Lack {
    /// The contenders did not do the work: each row has the reason.
    Work,
    /// Nothing is decided, and trials that the audit lets pass are too few.
    Trials,
}

fn lack(counts: &TrialCounts, verdicts: &[Verdicts]) -> Option<Lack> {
    let of_baseline =
        |table: &Verdicts, pair: &&Pair| [&pair.a, &pair.b].contains(&&table.baseline);
    let pairs: Vec<&Comparison> = verdicts
        .iter()
        .flat_map(|table| table.pairs.iter().filter(move |pair| of_baseline(table, pair)))
        .map(|pair| &pair.comparison)
        .collect();
    if counts.measured == 0 && counts.failed > counts.invalid {
        return Some(Lack::Work);
    }
    // A run that decided something answers.
    let open = |one: &Comparison| one.verdict == Verdict::Undecided;
    let decided = |one: &Comparison| !open(one) && one.verdict != Verdict::Unsupported;
    (pairs.iter().any(|one| open(one)) && !pairs.iter().any(|one| decided(one)))
        .then_some(Lack::Trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::comparison::Ratio;
    use study::result::{MetricComparison, MetricFigures, Ranked};

    fn table(ratio: Option<f64>, counted: MetricVerdict) -> Verdicts {
        let (a, b) = ("h2".to_owned(), "h1".to_owned());
        let comparison = Comparison {
            n: u32::from(ratio.is_some()),
            ratio: ratio.map(Ratio),
            ..Comparison::of_nothing()
        };
        let figures = MetricFigures { n: 1, median: 1.0, least: 1.0, most: 1.0 };
        Verdicts {
            workload: "page".to_owned(),
            link: "3g".to_owned(),
            metric: "load_ms".to_owned(),
            baseline: b.clone(),
            families: Vec::new(),
            metrics: vec![MetricComparison {
                contender: a.clone(),
                metric: "connections".to_owned(),
                own: figures,
                baseline: figures,
                ratio: None,
                ci95: None,
                verdict: counted,
            }],
            ranking: vec![Ranked {
                contender: a.clone(),
                comparison: comparison.clone(),
                saved_s: None,
            }],
            pairs: vec![Pair { a, b, comparison }],
        }
    }

    #[test]
    fn a_race_without_one_comparison_in_time_or_counts_answers_nothing() {
        use MetricVerdict::{Less, Undecided};
        assert!(compares_nothing(&[table(None, Undecided), table(None, Undecided)]));
        assert!(!compares_nothing(&[table(None, Undecided), table(Some(1.2), Undecided)]));
        assert!(!compares_nothing(&[table(None, Less)]));
        let mut missing = table(None, Undecided);
        missing.pairs[0].comparison.verdict = Verdict::Unsupported;
        assert!(!compares_nothing(&[missing]));
        assert!(!compares_nothing(&[]), "a race of one contender compares nothing, and was not to");
    }

    #[test]
    fn a_run_without_an_answer_says_what_it_lacks() {
        let counts =
            |measured, invalid, failed| TrialCounts { measured, invalid, failed, unsupported: 0 };
        let table = |ratio| table(ratio, MetricVerdict::Undecided);
        assert_eq!(lack(&counts(0, 0, 40), &[table(None)]), Some(Lack::Work));
        assert_eq!(lack(&counts(2, 30, 0), &[table(None)]), Some(Lack::Trials));
        assert_eq!(lack(&counts(0, 12, 0), &[table(None)]), Some(Lack::Trials));
        let mut short = [table(Some(0.9)), table(Some(0.8)), table(Some(1.0))];
        assert_eq!(lack(&counts(72, 0, 0), &short), Some(Lack::Trials));
        short[2].pairs[0].comparison.verdict = Verdict::Slower;
        assert_eq!(lack(&counts(72, 0, 0), &short), None, "it answers");
    }

    fn header(name: &str) -> RunHeader {
        let mut experiment: Experiment = builtin()[0].toml.parse().unwrap();
        experiment.name = name.to_owned();
        RunHeader {
            schema: study::record::ROWS_SCHEMA.to_owned(),
            version: String::new(),
            experiment,
            started_unix_ms: 0,
            host: study::record::HostFacts::default(),
            command_line: Vec::new(),
            shard: None,
            machines: Vec::new(),
            missing: Vec::new(),
        }
    }

    #[test]
    fn the_next_step_follows_from_the_result_and_is_left_out_where_nothing_does() {
        let folder = RunFolder::open(std::path::Path::new("my run"));
        let mut header = header("mine");
        let mut result = study::analyse(&header, &[]);
        let counts =
            |measured, invalid, failed| TrialCounts { measured, invalid, failed, unsupported: 0 };
        let next = |header: &RunHeader, result: &RunResult| {
            next_command(header, result, &folder, again(header, result, &folder).as_deref())
        };
        let mut short = table(Some(0.9), MetricVerdict::Undecided);
        let comparison = &mut short.ranking[0].comparison;
        (comparison.n, comparison.trials_needed) = (3, Some(7));
        result.trials = counts(0, 0, 40);
        let told = |command: &str| Some(command.to_owned());
        assert_eq!(next(&header, &result), told("wirelap report 'my run' --csv"));
        (result.trials, result.verdicts) = (counts(72, 0, 0), vec![short]);
        assert_eq!(next(&header, &result), told("wirelap race --again 'my run' --trials 7"));
        result.verdicts[0].pairs[0].comparison.verdict = Verdict::Faster;
        assert_eq!(next(&header, &result), None, "it has its answer");
        header.experiment.name = "quick".to_owned();
        assert_eq!(next(&header, &result), told("wirelap race my.har --links 4g,3g"));
    }
}
