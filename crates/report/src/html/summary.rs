//! The first screen: the answer in a sentence, the conditions, and its limits.

use crate::answer::{self, Answer, Clause};
use crate::markup::{Attribute, Markup};
use crate::overview::Group;
use crate::{Assumptions, Report, words};
use study::experiment::WorkloadKind;
use study::result::CellResult;

pub(super) fn masthead(m: &mut Markup, report: &Report<'_>) {
    let result = report.result;
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        m.line("span", &[], &result.experiment);
        m.line("time", &[("datetime", &result.started)], day(&result.started));
    });
}

/// What a reader must know of the instrument before any figure, and what the rows show beside the figures; nothing where there is
/// neither.
pub(super) fn banner(m: &mut Markup, report: &Report<'_>) {
    sentences(m, "Warning", &report.result.warnings);
    sentences(m, "Note", &report.result.notes);
}

pub(super) fn sentences(m: &mut Markup, label: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    m.element("aside", &[("class", &"banner"), ("aria-label", &label)], |m| {
        for sentence in sentences {
            m.element("p", &[], |m| {
                m.line("b", &[], format!("{label}."));
                m.text(" ");
                m.text(sentence);
            });
        }
    });
}

/// An answer of more characters is set smaller: it would fill the first screen.
const LONG: usize = 250;

pub(super) fn answer(m: &mut Markup, report: &Report<'_>) {
    let answers = answer::answers(report);
    m.element("section", &[("class", &"answer")], |m| {
        if !report.result.question.is_empty() {
            m.line("p", &[("class", &"question")], &report.result.question);
        }
        match answers.as_slice() {
            [one] if !one.clauses.is_empty() => {
                let length = one.sentence().unwrap_or_default().chars().count();
                let long: &[Attribute<'_>] = &[("class", &"long")];
                let class = if length > LONG { long } else { &[] };
                m.element("h1", class, |m| sentence(m, &one.clauses));
            }
            [] | [_] => m.line(
                "h1",
                &[],
                match answer::alone(report) {
                    Some(alone) => format!("{}.", alone),
                    None => "Nothing could be compared.".to_owned(),
                },
            ),
            several => {
                m.line("h1", &[], &report.result.title);
                several.iter().for_each(|answer| one_of_several(m, answer));
            }
        }
        if let Some(words) = words::exploratory(report.result) {
            m.element("p", &[], |m| m.line("b", &[], words));
        }
        for line in words::same(report) {
            m.line("p", &[], line);
        }
    });
}

/// What ran, in two lines.
pub(super) fn conditions(m: &mut Markup, report: &Report<'_>) {
    m.line("p", &[("class", &"note")], words::conditions(report));
    m.line("p", &[("class", &"note")], words::trials_line(report));
}

fn one_of_several(m: &mut Markup, answer: &Answer<'_>) {
    m.element("p", &[("class", &"lede")], |m| {
        m.line("b", &[], answer.workload.unwrap_or_default());
        m.text(": ");
        sentence(m, &answer.clauses);
    });
}

fn sentence(m: &mut Markup, clauses: &[Clause]) {
    for (i, clause) in clauses.iter().enumerate() {
        m.text(if i == 0 { "" } else { "; " });
        m.text(&clause.text);
        if let Some(ratio) = &clause.ratio {
            m.text(" ");
            m.line("span", &[("class", &"by")], format!("({ratio})"));
        }
        if let Some(command) = &clause.command {
            m.text(": ");
            m.element("code", &[], |m| words_of(m, command));
        }
    }
    m.text(".");
}

/// A command in which no line breaks after a hyphen, unless a word is wider than the page.
fn words_of(m: &mut Markup, command: &str) {
    for (i, word) in command.split(' ').enumerate() {
        m.text(if i == 0 { "" } else { " " });
        m.line("span", &[], word);
    }
}

/// The box that says what was not measured.
pub(super) fn limits(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let result = report.result;
    m.element("aside", &[("class", &"limits"), ("aria-labelledby", &"limits")], |m| {
        m.line("h2", &[("id", &"limits")], "What this does not say");
        m.element("ul", &[], |m| {
            let mut read: Vec<(&String, &Vec<String>)> = Vec::new();
            let mut item = |strong: &str, text: &str| {
                m.element("li", &[], |m| {
                    m.line("b", &[], strong);
                    m.text(" ");
                    m.prose(text);
                });
            };
            item(
                "Your users.",
                "The intervals cover repeats on this emulated link, not the spread of real networks.",
            );
            for (strong, text) in of_pages(groups) {
                item(strong, text);
            }
            if !result.not_covered.is_empty() {
                item("Not tested:", &format!("{}.", result.not_covered.join(", ")));
            }
            if result.trials.failed > 0 {
                item("Failed trials", "rank as the slowest, so they count in the verdicts, but have no time.");
            }
            for Assumptions { read_from, sentences } in report.assumptions {
                match read_from {
                    None => sentences.iter().for_each(|sentence| item("Assumed:", sentence)),
                    Some(name) => read.push((name, sentences)),
                }
            }
            for (name, source) in sources(report, groups) {
                item(&format!("Figures of {name}:"), &format!("{source}."));
            }
            for (name, sentences) in read {
                m.element("li", &[("class", &"read")], |m| {
                    m.line("b", &[], format!("Read from {name}:"));
                    m.element("ul", &[], |m| {
                        for sentence in sentences {
                            m.element("li", &[], |m| m.prose(sentence));
                        }
                    });
                });
            }
        });
    });
}

/// What is not said of pages: it depends on who loaded which ones.
fn of_pages(groups: &[Group<'_>]) -> Vec<(&'static str, &'static str)> {
    let cells = || groups.iter().flat_map(|group| group.cells.iter().copied());
    let is_page = |cell: &CellResult| matches!(cell.workload.kind, WorkloadKind::Page(_));
    let is_recorded = |cell: &CellResult| matches!(cell.workload.kind, WorkloadKind::Har(_));
    if !cells().any(|cell| is_page(cell) || is_recorded(cell)) {
        return vec![("Page speed.", "No page was loaded.")];
    }
    let of_browsers =
        |is: &dyn Fn(&CellResult) -> bool| cells().any(|cell| is(cell) && cell.is_of_browser());
    let told = [
        (
            of_browsers(&is_page),
            "A browser ran and painted the page, whose scripts and layout are simpler than those of most sites.",
        ),
        (
            of_browsers(&is_recorded),
            "A browser ran and painted the recorded page, with time and random numbers frozen.",
        ),
    ];
    let told: Vec<_> =
        told.into_iter().filter(|(is, _)| *is).map(|(_, text)| ("Your pages.", text)).collect();
    match told.is_empty() {
        true => vec![(
            "Page speed.",
            "This is network load: nothing was parsed, laid out, painted or run in a browser.",
        )],
        false => told,
    }
}

/// The source of each link's figures, where it is known.
fn sources<'a>(report: &Report<'a>, groups: &[Group<'_>]) -> Vec<(&'a str, &'a str)> {
    report
        .links
        .iter()
        .filter(|(name, text)| {
            !text.source.is_empty() && groups.iter().any(|group| group.link.name == **name)
        })
        .map(|(name, text)| (name.as_str(), text.source.as_str()))
        .collect()
}

/// The date and minute of an RFC 3339 time stamp. Any other text is returned unchanged.
fn day(stamp: &str) -> String {
    match (stamp.get(..10), stamp.get(11..16)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => stamp.to_owned(),
    }
}
