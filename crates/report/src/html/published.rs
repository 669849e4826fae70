//! A published measurement beside ours: every ratio with its interval and what it differs by, and each finding
//! with what ours says of it.

use super::table::{figure, table, text};
use crate::markup::Markup;
use crate::number::Ratio;
use crate::{Report, words};
use study::published::{Cause, Published, PublishedRatio};

/// The section; nothing for an experiment of its own.
pub(super) fn published(m: &mut Markup, report: &Report<'_>) {
    let Some(published) = &report.result.published else { return };
    m.element("section", &[("id", &"published")], |m| {
        m.line("h2", &[], "Compared with the published measurement");
        let note = format!(
            "{}. Ratios are compared, never times. Each interval is of 95 % by itself.{}",
            published.title,
            match published.ratios.iter().any(|ratio| ratio.reconstructs) {
                true => " To some rows the link was fitted, as near as one link comes to all of them: the others judge it.",
                false => "",
            }
        );
        m.line("p", &[("class", &"sub")], note);
        findings(m, published);
        for need in words::findings_need(report) {
            m.line("p", &[("class", &"note")], need);
        }
        open_question(m, published);
        // Of some measurements findings alone can be compared.
        if !published.ratios.is_empty() {
            ratios(m, published);
        }
    });
}

pub(super) fn findings(m: &mut Markup, published: &Published) {
    let columns = [text("finding"), text("here"), text("because")];
    let rows = published.findings.iter().map(|finding| {
        let verdict = finding.verdict.words().to_owned();
        [finding.finding.clone(), verdict, finding.reason.clone()]
    });
    table(m, "Published findings", &columns, rows);
}

pub(super) fn open_question(m: &mut Markup, published: &Published) {
    let Some(open) = &published.open_question else { return };
    m.line("h3", &[], format!("Left open: {}", open.question));
    let sub = format!(
        "To be explained: {:.1} ms a message. Each cause is switched by itself against the baseline; what it adds is the \
         paired difference, with its interval of 95 %.",
        open.excess_ms
    );
    m.line("p", &[("class", &"sub")], sub);
    m.line("p", &[], &open.answer);
    let columns = [
        text("cause"),
        text("contender"),
        figure("adds"),
        figure("95 % interval"),
        figure("share"),
        text("so it"),
    ];
    table(m, "What each cause adds to a message", &columns, open.causes.iter().map(cause));
}

fn cause(cause: &Cause) -> [String; 6] {
    let added = cause.added_ms.map_or_else(|| "not run".to_owned(), words::signed_millis);
    let interval = cause.ci95.map_or_else(String::new, words::millis_interval);
    let share =
        cause.share.map_or_else(String::new, |[share, ..]| format!("{:.0} %", share * 100.0));
    [cause.what.clone(), cause.contender.clone(), added, interval, share, cause.words()]
}

fn ratios(m: &mut Markup, published: &Published) {
    let columns = [
        text("ratio of times"),
        figure("published"),
        figure("ours"),
        figure("95 % interval"),
        figure("error"),
        text("role"),
    ];
    table(m, "Published ratios and ours", &columns, published.ratios.iter().map(row));
}

fn row(ratio: &PublishedRatio) -> [String; 6] {
    let ours = ratio.ours.zip(ratio.ci95);
    let ours = ours.map(|(value, ci)| Ratio { value: value.0, ci: [ci[0].0, ci[1].0] });
    let (number, interval) = ours.map_or_else(
        || (words::no_ratio(ratio).to_owned(), String::new()),
        |ours| (ours.number(), ours.interval()),
    );
    let error = ratio.error.map_or_else(String::new, words::signed_percent);
    let role = words::ratio_role(ratio);
    [
        ratio.what.clone(),
        format!("{:.2}", ratio.published),
        number,
        interval,
        error,
        role.to_owned(),
    ]
}
