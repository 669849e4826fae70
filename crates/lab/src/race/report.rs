//! From rows to verdict, report and text: the end of a run, and all of `wirelap report`.

use crate::error::CliError;
use crate::inputs::har;
use crate::inputs::links;
use crate::race::planned;
use crate::race::run_folder::RunFolder;
use crate::race::schedule::Concurrency;
use crate::race::service;
use crate::race::store::Rows;
use report::{Colour, LinkText, Report, Style};
use std::collections::BTreeMap;
use std::path::PathBuf;
use study::comparison::Ratio;
use study::estimate::in_words;
use study::experiment::{Experiment, Server, WorkloadKind, builtin};
use study::record::RunHeader;
use study::result::{MetricVerdict, RunResult};

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
    for damaged in &rows.damaged {
        crate::console::note(&format!("a row is damaged and left out: {damaged}"));
    }
    let judged = Judged::of(folder, header, rows);
    let report = judged.report();
    let json = report::json(&judged.result);
    let wrote = folder
        .write(&folder.result(), &json)
        .and_then(|()| folder.write(&folder.report(), &report::html(&report)));
    // What was found is printed all the same.
    match format {
        OutputFormat::Json => crate::console::print_json(&json),
        OutputFormat::Csv => crate::console::print(&report::csv(&rows.records)),
        OutputFormat::Text => crate::console::print_coloured(&report::terminal(&report, style())),
    }?;
    wrote.map(|()| judged.result)
}

/// A run with its result and what a report adds to it.
pub(crate) struct Judged<'r> {
    result: RunResult,
    rows: &'r Rows,
    name: String,
    links: BTreeMap<String, LinkText>,
    assumptions: Vec<String>,
    next: String,
    full_run: Option<String>,
}

impl<'r> Judged<'r> {
    /// Judges the rows.
    pub(crate) fn of(folder: &RunFolder, header: &RunHeader, rows: &'r Rows) -> Self {
        let mut assumptions = service::assumptions(&header.experiment);
        assumptions.extend(har::assumptions(&header.experiment, |file| folder.inputs().join(file)));
        Self {
            assumptions: assumptions.iter().map(|one| unit::escape(one).into_owned()).collect(),
            result: study::analyse(header, &rows.records),
            rows,
            name: unit::escape(&folder.path().display().to_string()).into_owned(),
            links: link_texts(folder, header),
            next: next_command(header),
            full_run: full_run(&header.experiment),
        }
    }

    /// What a report is made from.
    pub(crate) fn report(&self) -> Report<'_> {
        Report {
            result: &self.result,
            rows: &self.rows.records,
            folder: &self.name,
            links: &self.links,
            assumptions: &self.assumptions,
            next: Some(&self.next),
            full_run: self.full_run.as_deref(),
        }
    }
}

/// Why a race answers nothing: no trial was measured, or the audit refused so many that not one comparison has an interval.
/// None where it answers something, and where trials are too few without any being refused, as the user asked for.
pub(crate) fn unanswered(result: &RunResult) -> Option<String> {
    let name = &result.experiment;
    if result.trials.measured == 0 {
        return Some(format!("no trial of {name} was measured{}", most_frequent(result)));
    }
    let refused: u32 = result.cells.iter().map(|cell| cell.audited.invalid).sum();
    let all: u32 = result.cells.iter().map(|cell| cell.audited.trials).sum();
    let nothing = refused > 0 && result.cells.len() > 1 && !has_interval(result);
    nothing.then(|| {
        format!(
            "{name} answers nothing: the audit refused {refused} of {all} attempts, and not one comparison could be judged, \
             in time or in counts{}",
            most_frequent(result)
        )
    })
}

/// Whether any comparison has an interval, of times or of counts.
fn has_interval(result: &RunResult) -> bool {
    let is_finite = |ci95: Option<[Ratio; 2]>| ci95.is_some_and(|[_, high]| high.0.is_finite());
    let tables = &result.verdicts;
    result.same.is_some()
        || tables.iter().flat_map(|one| &one.pairs).any(|pair| is_finite(pair.comparison.ci95))
        || tables
            .iter()
            .flat_map(|one| &one.metrics)
            .any(|metric| metric.verdict != MetricVerdict::Undecided || is_finite(metric.ci95))
}

/// What became of most trials that were not measured; empty where all were.
fn most_frequent(result: &RunResult) -> String {
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for failure in &result.failures {
        *reasons.entry((&failure.outcome, &failure.reason)).or_default() += 1;
    }
    let most = reasons.into_iter().max_by_key(|(_, count)| *count);
    let all = result.trials.all();
    most.map_or_else(String::new, |((outcome, reason), count)| {
        format!(": {count} of {all} {outcome}: {reason}")
    })
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

fn next_command(header: &RunHeader) -> String {
    // A service that runs already has a race of its own, over other links.
    if header.experiment.contenders.iter().any(|one| matches!(one.server, Server::Running(_))) {
        return "wirelap list links".to_owned();
    }
    let recorded =
        header.experiment.workloads.iter().any(|w| matches!(w.kind, WorkloadKind::Har(_)));
    if recorded {
        "wirelap race quick".to_owned()
    } else {
        "wirelap race my.har --links 4g,3g".to_owned()
    }
}
