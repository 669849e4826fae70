//! The first screen: the answer in a sentence, the time that it saves, and its limits.

use crate::answer::{self, Answer, Clause, Lead, Standing};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number;
use crate::overview::{Group, load};
use crate::{Report, words};

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

fn sentences(m: &mut Markup, label: &str, sentences: &[String]) {
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

pub(super) fn answer(m: &mut Markup, report: &Report<'_>) {
    let answers = answer::answers(report);
    m.element("section", &[("class", &"answer")], |m| {
        if !report.result.question.is_empty() {
            m.line("p", &[("class", &"question")], &report.result.question);
        }
        match answers.as_slice() {
            [Answer { clauses, groups, .. }] if !clauses.is_empty() => {
                m.element("h1", &[], |m| sentence(m, clauses));
                savings(m, groups);
            }
            [] | [_] => m.line("h1", &[], "Nothing could be compared."),
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
        m.line("p", &[("class", &"note")], words::conditions(report));
        m.line("p", &[("class", &"note")], words::trials_line(report));
    });
}

fn one_of_several(m: &mut Markup, answer: &Answer<'_>) {
    m.element("p", &[("class", &"lede")], |m| {
        m.line("b", &[], answer.workload.unwrap_or_default());
        m.text(": ");
        sentence(m, &answer.clauses);
    });
    savings(m, &answer.groups);
}

fn sentence(m: &mut Markup, clauses: &[Clause]) {
    for (i, clause) in clauses.iter().enumerate() {
        m.text(if i == 0 { "" } else { "; " });
        m.text(&clause.text);
        if let Some(ratio) = &clause.ratio {
            m.text(" ");
            m.line("span", &[("class", &"by")], format!("({ratio})"));
        }
    }
    m.text(".");
}

/// One large figure a link.
fn savings(m: &mut Markup, groups: &[Group<'_>]) {
    m.element("dl", &[("class", &"savings")], |m| {
        for group in groups {
            m.element("div", &[], |m| {
                m.line("dt", &[], &group.link.name);
                match Lead::of(group) {
                    Some(lead) => won(m, group, &lead),
                    None => level(m, group),
                }
            });
        }
    });
}

fn won(m: &mut Markup, group: &Group<'_>, lead: &Lead<'_>) {
    let cell = group.cell(&lead.least.contender);
    let hue = cell.map_or("", |cell| Hue::of(&cell.contender).class());
    let saved = words::saved(group, lead.least).unwrap_or_else(|| "faster".to_owned());
    m.line("dd", &[("class", &format!("big {hue}"))], saved);
    m.element("dd", &[], |m| {
        m.text(format!("saved by {}", lead.names()));
        if let (Some(fast), Some(slow)) = (cell.and_then(load), group.baseline().and_then(load)) {
            let (fast, slow) = (number::duration(fast.median), number::duration(slow.median));
            m.text(format!(": {fast} instead of {slow}"));
        }
    });
}

fn level(m: &mut Markup, group: &Group<'_>) {
    let baseline = group.verdicts.map_or("", |verdicts| &verdicts.baseline);
    let (word, about) = match answer::standing(group) {
        Standing::Tie => match answer::slower_ties(group) {
            slower if slower.is_empty() => ("tie", "no difference that matters".to_owned()),
            slower => ("tie", format!("within the margin{slower}")),
        },
        Standing::Slower(names) => ("slower", format!("than {baseline}: {names}")),
        Standing::Undecided(names) => ("undecided", names),
        Standing::Nothing => ("–", "nothing could be compared".to_owned()),
    };
    m.line("dd", &[("class", &"big none")], word);
    m.line("dd", &[], about);
}

/// The box that says what was not measured.
pub(super) fn limits(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let result = report.result;
    m.element("aside", &[("class", &"limits"), ("aria-labelledby", &"limits")], |m| {
        m.line("h2", &[("id", &"limits")], "What this does not say");
        m.element("ul", &[], |m| {
            let mut item = |strong: &str, text: &str| {
                m.element("li", &[], |m| {
                    m.line("b", &[], strong);
                    m.text(" ");
                    m.text(text);
                });
            };
            item(
                "Your users.",
                "The intervals cover repeats on this emulated link, not the spread of real networks.",
            );
            let mut cells = groups.iter().flat_map(|group| &group.cells);
            match cells.any(|cell| cell.is_of_browser()) {
                true => item(
                    "Your pages.",
                    "A browser ran and painted the page, whose scripts and layout are simpler than those of most sites.",
                ),
                false => item(
                    "Page speed.",
                    "This is network load: nothing was parsed, laid out, painted or run in a browser.",
                ),
            }
            if !result.not_covered.is_empty() {
                item("Not tested:", &format!("{}.", result.not_covered.join(", ")));
            }
            if result.trials.failed > 0 {
                item("Failed trials", "rank as the slowest, so they count in the verdicts, but have no time.");
            }
            for assumption in report.assumptions {
                item("Assumed:", assumption);
            }
            for (name, source) in sources(report, groups) {
                item(&format!("Figures of {name}:"), &format!("{source}."));
            }
        });
    });
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
