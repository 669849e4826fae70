//! The page that compares two runs: what changed in each cell, each with its picture, and the gates.

use super::forest::Forest;
use super::head;
use super::table::{table, text};
use crate::comparison::{figure, figures, headline, ratio_text, reading};
use crate::markup::Markup;
use crate::number::Ratio;
use study::compare::{CellChange, Change, GateOutcome, RunComparison};

/// The whole page; `version` is wirelap's.
pub fn comparison_html(comparison: &RunComparison, version: &str) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        let title = format!("{} against {} · wirelap", comparison.b, comparison.a);
        m.element("head", &[], |m| head(m, &title, version));
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, comparison)));
    });
    m.finish()
}

fn body(m: &mut Markup, comparison: &RunComparison) {
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        m.line("span", &[], format!("{} → {}", comparison.a, comparison.b));
    });
    m.line("h1", &[], headline(comparison));
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
        m.line("p", &[("class", &"note")], reading(comparison));
    });
    gates(m, comparison);
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
    let class = if change.change == Change::Tie { "tie" } else { "" };
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
                m.line("small", &[], format!("{} trials{failed}", side.n));
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

fn sign(change: Change) -> &'static str {
    match change {
        Change::Lower => "▼",
        Change::Higher => "▲",
        Change::Tie => "=",
        Change::Undecided => "?",
        Change::NotMeasured => "–",
    }
}

fn gates(m: &mut Markup, comparison: &RunComparison) {
    if comparison.gates.is_empty() {
        return;
    }
    m.element("section", &[("id", &"gates")], |m| {
        m.line("h2", &[], "Gates");
        let line = |gate: &study::compare::GateResult| {
            let outcome = match gate.outcome {
                GateOutcome::Broken => "BROKEN".to_owned(),
                other => other.words().to_owned(),
            };
            let ratio = Ratio::of_gate(gate).map_or_else(String::new, ratio_text);
            let cell = &gate.cell;
            [
                gate.gate.clone(),
                outcome,
                cell.workload.clone(),
                cell.link.clone(),
                cell.contender.clone(),
                ratio,
            ]
        };
        let columns = ["gate", "outcome", "workload", "link", "contender", "ratio"].map(text);
        table(m, "Every gate over every cell", &columns, comparison.gates.iter().map(line));
    });
}

fn remarks(m: &mut Markup, comparison: &RunComparison) {
    let alone = comparison.unmatched.iter().map(|one| {
        let cell = &one.cell;
        format!("only in {}: {}, {}, {}", one.only_in, cell.workload, cell.link, cell.contender)
    });
    let remarks: Vec<String> = comparison.differences.iter().cloned().chain(alone).collect();
    if remarks.is_empty() {
        return;
    }
    m.element("section", &[("class", &"limits")], |m| {
        m.line("h2", &[], "What else differs");
        m.element("ul", &[], |m| remarks.iter().for_each(|remark| m.line("li", &[], remark)));
    });
}
