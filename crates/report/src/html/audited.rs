//! The figures of the audit: for each the worst of a cell's trials, beside its limit.

use super::picture;
use super::table::{figure, table, text};
use crate::markup::Markup;
use crate::overview::Group;
use crate::{Report, command, number, words};
use std::collections::BTreeSet;
use study::audit::{AuditFigure, LATE_SHARE, Unit};
use study::blocks::Audited;
use study::result::CellResult;

/// Nothing for rows of versions before these figures existed.
pub(super) fn audited(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let cells = || groups.iter().flat_map(|group| group.cells.iter());
    let there: BTreeSet<AuditFigure> =
        cells().flat_map(|cell| &cell.audit).map(|summary| summary.figure).collect();
    if there.is_empty() {
        return;
    }
    let mut columns = vec![text("cell"), figure("refused")];
    columns.extend(there.iter().map(|&one| figure(heading(one))));
    let rows = cells().filter(|cell| !cell.audit.is_empty()).map(|cell| {
        let Audited { trials, invalid } = cell.audited;
        let mut row = vec![words::cell(groups, cell), format!("{invalid} of {trials}")];
        row.extend(there.iter().map(|&one| worst(cell, one)));
        row
    });
    m.line("h3", &[], "Figures of the audit, the worst of each cell's trials");
    m.line("p", &[], LIMITS);
    table(m, "Audited", &columns, rows);
    let query = "SELECT t.key, t.outcome, a.key AS figure, a.value FROM trials t, json_each(t.record -> 'audit') a";
    picture::rows(m, &command::rows(report.folder, query));
}

const LIMITS: &str = "A trial past a limit is invalid, and its block runs again. Lateness counts where it is 5 % of the load \
                      or more, or where others and the host, together, took more than their limit.";

fn heading(figure: AuditFigure) -> String {
    match figure.limit() {
        Some(limit) if figure.is_lateness() => {
            let share = number::Percent(LATE_SHARE);
            format!("{} (≤ {} or {share} of the load)", figure.words(), value(figure, limit))
        }
        Some(limit) => format!("{} (≤ {})", figure.words(), value(figure, limit)),
        None => figure.words().to_owned(),
    }
}

fn worst(cell: &CellResult, figure: AuditFigure) -> String {
    let summary = cell.audit.iter().find(|summary| summary.figure == figure);
    summary.map_or_else(String::new, |summary| value(figure, summary.worst))
}

fn value(figure: AuditFigure, value: f64) -> String {
    match figure.unit() {
        Unit::Milliseconds => number::duration(value),
        Unit::Share => number::Percent(value).to_string(),
        Unit::Times => number::count(value),
    }
}
