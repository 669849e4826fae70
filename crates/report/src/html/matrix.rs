//! Links by contenders: verdict, ratio with interval, time saved. Nothing is shown by colour alone. On a phone, or with
//! many contenders, every link becomes a list. Explicit ARIA roles keep it a table for screen readers, because browsers
//! drop a table's semantics when a style sheet lays it out as blocks.

use super::forest::Forest;
use crate::markup::Markup;
use crate::number::{self, Percent};
use crate::overview::{Group, load, measure};
use crate::{Report, metrics, words};
use std::collections::BTreeSet;
use study::comparison::Verdict;
use study::result::{CellResult, Ranked};

/// The most contenders that fit side by side on a wide page. More become a list, one line each.
const COLUMNS: usize = 5;

pub(super) fn matrix(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let compared: Vec<&Group<'_>> = groups.iter().filter(|g| g.verdicts.is_some()).collect();
    let Some(first) = compared.first() else { return };
    m.element("section", &[("id", &"verdicts")], |m| {
        let measures: BTreeSet<&str> =
            compared.iter().map(|group| measure(group.workload)).collect();
        let what = measures.first().filter(|_| measures.len() == 1).unwrap_or(&"time");
        let what = words::sentence_case(what);
        m.line("h2", &[], format!("{what} against {}", report.result.baseline));
        let forest = Forest::of(intervals(&compared), report.result.margin);
        for groups in compared.chunk_by(|a, b| a.workload.name == b.workload.name) {
            let caption = groups[0].workload.to_string();
            let is_long = groups.iter().any(|group| group.cells.len() > COLUMNS);
            let class = if is_long { "matrix list" } else { "matrix" };
            m.element(
                "div",
                &[
                    ("class", &"wide-box"),
                    ("role", &"region"),
                    ("tabindex", &"0"),
                    ("aria-label", &caption),
                ],
                |m| {
                    m.element("table", &[("class", &class), ("role", &"table")], |m| {
                        m.line("caption", &[], &caption);
                        heads(m, first);
                        m.element("tbody", &[("role", &"rowgroup")], |m| {
                            groups.iter().for_each(|group| row(m, report, group, &forest));
                        });
                    });
                },
            );
        }
        super::summary::conditions(m, report);
        m.element("details", &[], |m| {
            m.line("summary", &[], "How to read this");
            m.element("p", &[("class", &"note")], |m| reading(m, report, &compared));
        });
    });
}

fn intervals<'g>(groups: &'g [&Group<'_>]) -> impl Iterator<Item = [f64; 2]> + 'g {
    let verdicts = groups.iter().filter_map(|group| group.verdicts);
    let ranked = verdicts.flat_map(|verdicts| &verdicts.ranking);
    ranked.filter_map(|ranked| Some(words::ratio(&ranked.comparison)?.ci))
}

fn heads(m: &mut Markup, group: &Group<'_>) {
    m.element("thead", &[], |m| {
        m.element("tr", &[], |m| {
            m.line("th", &[("scope", &"col")], "link");
            for cell in &group.cells {
                let class = group.hue(&cell.contender).class();
                m.element("th", &[("scope", &"col"), ("class", &class)], |m| {
                    m.line("span", &[("class", &"name")], &cell.contender.name);
                });
            }
        });
    });
}

fn row(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, forest: &Forest) {
    m.element("tr", &[("role", &"row")], |m| {
        m.element("th", &[("scope", &"row"), ("role", &"rowheader")], |m| {
            m.text(&group.link.name);
            m.line("small", &[], report.link_figures(group.link));
        });
        for cell in &group.cells {
            let class = match group.ranked(&cell.contender.name) {
                Some(ranked) => ranked.comparison.verdict.word(),
                None => "baseline",
            };
            let hue = group.hue(&cell.contender).class();
            let class = format!("{class} {hue}");
            m.element("td", &[("class", &class), ("role", &"cell")], |m| {
                m.line("span", &[("class", &"who name")], &cell.contender.name);
                match group.ranked(&cell.contender.name) {
                    Some(ranked) => compared(m, group, ranked, forest),
                    None => m.line("b", &[("class", &"verdict")], "baseline"),
                }
                figures(m, report, group, cell);
            });
        }
    });
}

fn compared(m: &mut Markup, group: &Group<'_>, ranked: &Ranked, forest: &Forest) {
    let verdict = ranked.comparison.verdict;
    m.element("b", &[("class", &"verdict")], |m| {
        m.line("span", &[("class", &"sign"), ("aria-hidden", &"true")], sign(verdict));
        m.text(" ");
        m.text(verdict.word());
        if let Some(saved) = words::saved(group, ranked) {
            let sign = if verdict == Verdict::Faster { "−" } else { "+" };
            m.line("span", &[("class", &"saved")], format!(" {sign}{saved}"));
        }
    });
    if let Some(ratio) = words::ratio(&ranked.comparison) {
        let text = format!("{}× {}", ratio.number(), ratio.interval());
        m.line("span", &[("class", &"ratio")], text);
        forest.draw(m, ratio);
    }
    if let Some(least) = words::would_have_shown(&ranked.comparison) {
        m.line("small", &[], least);
    }
    words::remarks(group, ranked).iter().for_each(|remark| m.line("small", &[], remark));
}

fn figures(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, cell: &CellResult) {
    if let Some(load) = load(cell) {
        m.line("span", &[("class", &"time")], number::summary(load));
    }
    if let Some(evidence) = words::evidence(cell) {
        m.line("small", &[], evidence);
    }
    for view in metrics::views(cell) {
        m.line("small", &[], view);
    }
    for later in metrics::later_assets(group, cell) {
        m.line("small", &[("class", &"trouble")], later);
    }
    for reason in words::not_measured(report, cell) {
        m.line("small", &[("class", &"trouble")], reason);
    }
    if let Some(counted) = metrics::counted_without_times(group, cell) {
        m.line("small", &[], counted);
    }
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▼",
        Verdict::Slower => "▲",
        Verdict::Tie => "=",
        Verdict::Undecided => "?",
        Verdict::Unsupported => "–",
    }
}

fn reading(m: &mut Markup, report: &Report<'_>, compared: &[&Group<'_>]) {
    let margin = Percent(report.result.margin);
    m.text(format!(
        "A ratio below 1 means less time than {}. Brackets hold {} confidence intervals; those of the ratios hold \
         for all comparisons with the baseline on a link together. tie: the interval lies within ±{margin}. \
         faster, slower: it does not contain 1, or Holm's procedure finds a difference. undecided: neither. \
         The small pictures show ratio and interval on one scale for all, with the line at 1 and the band of \
         ties around it.",
        report.result.baseline,
        Percent(report.result.family.confidence),
    ));
    if let Some(words) = words::without_interval(compared.iter().copied()) {
        m.text(format!(" {words}."));
    }
    for line in words::confidence(report) {
        m.text(format!(" Confidence {line}."));
    }
}
