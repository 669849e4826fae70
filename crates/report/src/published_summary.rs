//! Several published measurements in a few lines: how many findings hold, and each with its verdict.

use crate::{Report, words};
use std::fmt::Write as _;
use study::published::Agreement;

/// A line for each finding, by experiment; `page` is the summary page's path, `table` that of its findings as Markdown.
pub fn published_terminal(reports: &[Report<'_>], page: &str, table: &str) -> String {
    let mut out = format!("{}\n", headline(reports));
    for report in reports {
        let Some(published) = &report.result.published else { continue };
        let _ = writeln!(out, "{}  {}", report.result.experiment, report.folder);
        let _ = writeln!(out, "  {}", words::published_headline(published));
        if let Some(open) = &published.open_question {
            let _ = writeln!(out, "  open question: {} {}", open.question, open.answer);
        }
        for (finding, number) in published.findings.iter().zip(1..) {
            let verdict = finding.verdict.words().to_uppercase();
            let _ = writeln!(out, "  {number} {verdict:<13}  {}", finding.finding);
        }
        for need in words::findings_need(report) {
            let _ = writeln!(out, "  {need}");
        }
    }
    let _ = writeln!(out, "as Markdown: {table}\nsummary: {page}");
    out.chars().map(|c| if unit::is_unsafe(c) && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// How many findings hold.
pub(crate) fn headline(reports: &[Report<'_>]) -> String {
    let findings =
        || reports.iter().filter_map(|one| one.result.published.as_ref()).flat_map(|p| &p.findings);
    let count = |verdict| findings().filter(|finding| finding.verdict == verdict).count();
    format!(
        "Of {} published findings, {} confirmed, {} not confirmed, {} cannot be told",
        findings().count(),
        count(Agreement::Confirmed),
        count(Agreement::NotConfirmed),
        count(Agreement::CannotTell)
    )
}
