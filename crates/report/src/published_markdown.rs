//! Several published measurements as a page of Markdown, for the documentation: of each what was done, its findings with what
//! holds here, and its ratios beside ours. No folder and no machine is named, so that the page reads the same anywhere.

use crate::gates::escaped;
use crate::number::Ratio;
use crate::{Report, published_summary, words};
use std::fmt::Write as _;
use study::published::{OpenQuestion, Published, PublishedFinding, PublishedRatio};

/// The whole page. A run of no published measurement is left out.
pub fn published_markdown(reports: &[Report<'_>]) -> String {
    let mut out = format!("# What holds today\n\n{}.\n", published_summary::headline(reports));
    if let Some(first) = reports.first() {
        let result = first.result;
        let date = result.started.split('T').next().unwrap_or_default();
        let _ = writeln!(
            out,
            "Made by wirelap {}, from runs of which the first began on {date}, on {} cores. {HOW_TO_READ}",
            result.version, result.host.cores
        );
    }
    for report in reports {
        if let Some(published) = &report.result.published {
            measurement(&mut out, report, published);
        }
    }
    out
}

/// What a reader needs for the tables.
const HOW_TO_READ: &str = "The figures are of that machine, and another may find others: `wirelap race published` makes this page again.\n\n\
     A finding is *confirmed* where every interval that it rests on lies where its claim holds, *not confirmed* where one lies wholly \
     elsewhere, and else it *cannot be told*. `a / b` is the time of `a` over that of `b`, with its interval of 95 %: below 1 `a` is \
     faster. Ratios are compared, never times: the machines and networks of those days are gone. A ratio that was *used to fit the \
     link* judges nothing: the link's delay and rate were chosen so that ours comes as near as possible to all such ratios. What each contender is, and what ours does differently, is in [published.md](published.md).";

fn measurement(out: &mut String, report: &Report<'_>, published: &Published) {
    let name = &report.result.experiment;
    let _ = write!(out, "\n## {} (`{name}`)\n\n", escaped(&published.title));
    if let Some(work) = published.conditions.get("work") {
        let _ = write!(out, "What was done: {}.\n\n", escaped(work));
    }
    out.push_str("| its author found | here | because |\n|---|---|---|\n");
    published.findings.iter().for_each(|one| finding(out, one));
    let needs = words::findings_need(report);
    let warnings = report.result.warnings.iter().map(|warning| format!("Warning. {warning}"));
    for note in warnings.chain(needs) {
        let _ = write!(out, "\n{}\n", escaped(note));
    }
    if let Some(open) = &published.open_question {
        question(out, open);
    }
    if !published.ratios.is_empty() {
        out.push_str("\n| ratio of times | published | ours | 95 % interval | trials | role |\n");
        out.push_str("|---|---:|---:|---:|---:|---|\n");
        published.ratios.iter().for_each(|one| ratio(out, one));
    }
}

fn finding(out: &mut String, finding: &PublishedFinding) {
    let cells = [&finding.finding, finding.verdict.words(), &finding.reason];
    let _ = writeln!(out, "| {} |", cells.map(escaped).join(" | "));
}

fn question(out: &mut String, open: &OpenQuestion) {
    let _ = write!(out, "\nLeft open: {} {}\n\n", escaped(&open.question), escaped(&open.answer));
    out.push_str("| cause | contender | adds a message | so it |\n|---|---|---:|---|\n");
    for cause in &open.causes {
        let added = cause.added_ms.map_or_else(|| "not run".to_owned(), |ms| format!("{ms:.2} ms"));
        let cells = [&cause.what, &cause.contender, &added, &cause.words()];
        let _ = writeln!(out, "| {} |", cells.map(escaped).join(" | "));
    }
}

fn ratio(out: &mut String, ratio: &PublishedRatio) {
    let ours = ratio.ours.zip(ratio.ci95);
    let ours = ours.map(|(value, [low, high])| Ratio { value: value.0, ci: [low.0, high.0] });
    let (number, interval) = ours.map_or_else(
        || (words::no_ratio(ratio).to_owned(), String::new()),
        |ours| (ours.number(), ours.interval()),
    );
    let role = words::ratio_role(ratio);
    let (published, trials) = (format!("{:.2}", ratio.published), ratio.trials.to_string());
    let cells = [&ratio.what, &published, &number, &interval, &trials, role];
    let _ = writeln!(out, "| {} |", cells.map(escaped).join(" | "));
}
