//! The page that compares two runs: what changed in each cell, each with its picture, and the gates.

use super::forest::Forest;
use super::summary::sentences;
use super::{gates, head};
use crate::comparison::{figure, figures, headline, only_in, reading, remark};
use crate::gates::ratio_text;
use crate::markup::Markup;
use crate::number::Ratio;
use study::compare::{CellChange, Change, RunComparison};
use unit::counted;

/// Where the reports of the two runs lie, as relative references; None where there is none.
#[derive(Debug, Clone, Default)]
pub struct ComparisonLinks {
    /// The earlier run's.
    pub a: Option<String>,
    /// The later run's.
    pub b: Option<String>,
}

/// The whole page; `version` is wirelap's.
pub fn comparison_html(
    comparison: &RunComparison,
    links: &ComparisonLinks,
    version: &str,
) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        let title = format!("{} against {} · wirelap", comparison.b, comparison.a);
        m.element("head", &[], |m| head(m, &title, version));
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, comparison, links)));
    });
    m.finish()
}

fn body(m: &mut Markup, comparison: &RunComparison, links: &ComparisonLinks) {
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        for (name, link, arrow) in [(&comparison.a, &links.a, " →"), (&comparison.b, &links.b, "")]
        {
            m.element("span", &[], |m| {
                match link {
                    Some(link) => m.line("a", &[("href", link)], name),
                    None => m.text(name),
                }
                m.text(arrow);
            });
        }
    });
    m.line("h1", &[], headline(comparison));
    sentences(m, "Warning", &comparison.warnings);
    m.element("section", &[("class", &"answer"), ("id", &"changes")], |m| {
        m.line("h2", &[], "What changed");
        let forest = Forest::of(figures(comparison).map(|ratio| ratio.ci), comparison.margin);
        let same = |a: &CellChange, b: &CellChange| {
            a.cell.workload == b.cell.workload && a.metric == b.metric
        };
        // Metrics alternate cell by cell. A table holds one metric.
        let mut changes: Vec<CellChange> = comparison.changes.clone();
        changes.sort_by(|a, b| (&a.cell.workload, &a.metric).cmp(&(&b.cell.workload, &b.metric)));
        changes.chunk_by(same).for_each(|changes| changed(m, changes, &forest));
        for change in comparison.changes.iter().filter(|change| change.reason.is_some()) {
            m.line("p", &[], remark(change));
        }
        m.line("p", &[("class", &"note")], reading(comparison));
    });
    gates::gates(m, &comparison.gates);
    remarks(m, comparison);
}

fn changed(m: &mut Markup, changes: &[CellChange], forest: &Forest) {
    let caption = format!("{} of {}", changes[0].metric, changes[0].cell.workload);
    let region: [(&'static str, &dyn std::fmt::Display); 4] =
        [("class", &"wide-box"), ("role", &"region"), ("tabindex", &"0"), ("aria-label", &caption)];
    m.element("div", &region, |m| {
        m.element("table", &[("class", &"matrix changes"), ("role", &"table")], |m| {
            m.line("caption", &[], &caption);
            m.element("thead", &[], |m| {
                m.element("tr", &[], |m| {
                    for name in ["cell", "before", "after", "change"] {
                        m.line("th", &[("scope", &"col")], name);
                    }
                });
            });
            m.element("tbody", &[("role", &"rowgroup")], |m| {
                changes.iter().for_each(|change| row(m, change, forest));
            });
        });
    });
}

fn row(m: &mut Markup, change: &CellChange, forest: &Forest) {
    let class = outcome(change);
    m.element("tr", &[("role", &"row"), ("class", &class)], |m| {
        m.element("th", &[("scope", &"row"), ("role", &"rowheader")], |m| {
            m.text(&change.cell.contender);
            m.line("small", &[], &change.cell.link);
        });
        for side in [change.a, change.b] {
            m.element("td", &[("role", &"cell")], |m| {
                m.text(figure(&change.metric, side));
                let failed = match side.failed {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                };
                m.line("small", &[], format!("{}{failed}", counted(side.n, "trial")));
            });
        }
        m.element("td", &[("role", &"cell"), ("class", &class)], |m| {
            m.element("b", &[("class", &"verdict")], |m| {
                m.line(
                    "span",
                    &[("class", &"sign"), ("aria-hidden", &"true")],
                    sign(change.change),
                );
                m.text(" ");
                m.text(change.change.word());
            });
            if let Some(ratio) = Ratio::of_change(change) {
                m.line("span", &[("class", &"ratio")], ratio_text(ratio));
                forest.draw(m, ratio);
            }
        });
    });
}

/// The class of a row in the style sheet. Less is better of every metric that is compared.
fn outcome(change: &CellChange) -> &'static str {
    match change.change {
        // A run that fails where the one before did not is a regression.
        Change::Failed if change.a.median.is_some() => "higher",
        Change::Failed if change.b.median.is_some() => "lower",
        Change::Lower => "lower",
        Change::Higher => "higher",
        Change::Tie => "tie",
        Change::Undecided | Change::Failed | Change::NotMeasured => "undecided",
    }
}

fn sign(change: Change) -> &'static str {
    match change {
        Change::Lower => "▼",
        Change::Higher => "▲",
        Change::Tie => "=",
        Change::Undecided => "?",
        Change::Failed => "×",
        Change::NotMeasured => "–",
    }
}

fn remarks(m: &mut Markup, comparison: &RunComparison) {
    let remarks: Vec<String> =
        comparison.differences.iter().cloned().chain(only_in(comparison)).collect();
    if remarks.is_empty() {
        return;
    }
    m.element("section", &[("class", &"limits")], |m| {
        m.line("h2", &[], "What else differs");
        m.element("ul", &[], |m| remarks.iter().for_each(|remark| m.line("li", &[], remark)));
    });
}
