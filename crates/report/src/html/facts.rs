//! Kernel settings as read back, and the trials that did not count.

use super::picture;
use super::table::{table, text};
use crate::markup::Markup;
use crate::overview::Group;
use crate::{Report, command, words};
use std::collections::{BTreeMap, BTreeSet};
use study::plan::Cell;
use study::record::TrialRecord;

/// Every setting in the rows, shown once if it was the same everywhere.
pub(super) fn settings(m: &mut Markup, report: &Report<'_>) {
    // A trial that did not run has none.
    let ran = |row: &&TrialRecord| !row.plan.warmup && !row.settings.is_empty();
    let trials: Vec<&TrialRecord> = report.rows.iter().filter(ran).collect();
    let names: BTreeSet<&String> = trials.iter().flat_map(|row| row.settings.keys()).collect();
    if names.is_empty() {
        return;
    }
    m.line("h3", &[], "Settings, read back from the system");
    let rows = names.into_iter().map(|name| [name.clone(), values(name, &trials)]);
    table(m, "Settings", &[text("setting"), text("value")], rows);
    let query = "SELECT t.key, s.key AS setting, s.value FROM trials t, json_each(t.record -> 'settings') s";
    picture::rows(m, &command::rows(report.folder, query));
}

/// Trials that were invalid, failed or unsupported, each reason with its count and one trial to look at.
pub(super) fn not_measured(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    m.line("h3", &[], "Trials that were not measured");
    let counts = report.result.trials;
    if counts.measured == counts.all() {
        m.line("p", &[], format!("None: all {} trials were measured.", counts.all()));
        return;
    }
    let cells = groups.iter().flat_map(|group| group.cells.iter());
    let rows = cells.flat_map(|cell| {
        let name = words::cell(groups, cell);
        words::not_measured(report, cell).into_iter().map(move |reason| [name.clone(), reason])
    });
    table(m, "Trials that were not measured", &[text("cell"), text("what happened")], rows);
    let query = "SELECT key, outcome, reason FROM trials WHERE outcome <> 'measured'";
    picture::rows(m, &command::rows(report.folder, query));
}

/// The value of a setting. If there are several, each with the places where it held.
fn values(name: &str, trials: &[&TrialRecord]) -> String {
    let mut seen: BTreeMap<&str, BTreeSet<CellGroup<'_>>> = BTreeMap::new();
    for trial in trials {
        let value = trial.settings.get(name).map_or("not read", String::as_str);
        seen.entry(value).or_default().insert(CellGroup::of(&trial.plan.cell));
    }
    if seen.len() == 1 {
        return seen.keys().copied().collect();
    }
    // The smallest part of a cell's name that distinguishes the values: contender, link, or both. If none does, only
    // the values.
    let told_by = |of: fn(&CellGroup<'_>) -> String| -> Option<String> {
        let labels: Vec<(&str, BTreeSet<String>)> =
            seen.iter().map(|(value, places)| (*value, places.iter().map(of).collect())).collect();
        let distinct: BTreeSet<&String> = labels.iter().flat_map(|(_, names)| names).collect();
        let apart = distinct.len() == labels.iter().map(|(_, names)| names.len()).sum::<usize>();
        let text = |(value, names): &(&str, BTreeSet<String>)| {
            format!("{value} ({})", names.iter().cloned().collect::<Vec<_>>().join(", "))
        };
        apart.then(|| labels.iter().map(text).collect::<Vec<_>>().join("; "))
    };
    told_by(|place| place.contender.to_owned())
        .or_else(|| told_by(|place| place.link.to_owned()))
        .or_else(|| told_by(|place| format!("{} {}", place.link, place.contender)))
        .unwrap_or_else(|| varying(&seen))
}

fn varying(seen: &BTreeMap<&str, BTreeSet<CellGroup<'_>>>) -> String {
    const SHOWN: usize = 4;
    let first: Vec<&str> = seen.keys().copied().take(SHOWN).collect();
    let more = seen.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("varies: {}{rest}", first.join(", "))
}

/// The contender and link of the trials with the same setting.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CellGroup<'a> {
    contender: &'a str,
    link: &'a str,
}

impl<'a> CellGroup<'a> {
    fn of(cell: &'a Cell) -> Self {
        Self { contender: &cell.contender.name, link: &cell.link.name }
    }
}
