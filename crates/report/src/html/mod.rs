//! The HTML report: one file that loads no other. It works without its script, in print and on a phone. First comes what
//! a manager asks: the answer, links by contenders, the page, its limits. The rest is folded. Then comes what an engineer asks: every trial, where the time
//! went, protocols and connections, how to run it again.

mod again;
mod audited;
mod cells;
mod chart;
mod comparison;
mod curves;
mod differences;
mod dots;
mod facts;
mod film;
mod forest;
mod gates;
mod instrument;
mod link_timeline;
mod load_page;
mod matrix;
mod metrics;
mod parts;
mod picture;
mod probes;
mod published;
mod published_page;
mod ratio_chart;
mod summary;
mod table;
mod timer;
mod waterfall;
mod your_page;

pub use comparison::{ComparisonLinks, comparison_html};
pub use load_page::load_html;
pub use published_page::published_html;
pub use timer::timer_html;

use crate::markup::Markup;
use crate::overview::Group;
use crate::{Report, waits, words};

/// The whole page.
pub fn html(report: &Report<'_>) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        let title = format!("{} · wirelap", report.result.experiment);
        let policy = if report.films.is_empty() { DRAWINGS } else { SCREENSHOTS };
        let version = &report.result.version;
        m.element("head", &[], |m| head_with_policy(m, &title, version, policy));
        m.element("body", &[], |m| body(m, report));
    });
    m.finish()
}

fn head(m: &mut Markup, title: &str, version: &str) {
    head_with_policy(m, title, version, DRAWINGS);
}

/// The page loads nothing, whatever markup a name might contain.
const DRAWINGS: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The same for a page with pictures, which stand in it.
const SCREENSHOTS: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

fn head_with_policy(m: &mut Markup, title: &str, version: &str, policy: &str) {
    m.empty("meta", &[("charset", &"utf-8")]);
    m.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
    m.empty("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
    m.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    let generator = format!("wirelap {version}");
    m.empty("meta", &[("name", &"generator"), ("content", &generator)]);
    m.line("title", &[], title);
    m.element("style", &[], |m| m.own(include_str!("page.css")));
}

fn body(m: &mut Markup, report: &Report<'_>) {
    let groups = report.groups();
    m.element("main", &[], |m| {
        summary::masthead(m, report);
        summary::banner(m, report);
        summary::answer(m, report);
        gates::gates(m, &report.result.gates);
        matrix::matrix(m, report, &groups);
        your_page::your_page(m, report, &groups);
        published::published(m, report);
        summary::limits(m, report, &groups);
        contents(m, &groups);
        for number in 0..groups.len() {
            link_section(m, report, &groups, number);
        }
        m.element("section", &[("id", &"facts")], |m| {
            let about = "protocols, traffic, costs, the instrument, settings, every figure";
            fold(m, Folded::Closed, "What ran", about, |m| {
                cells::protocols(m, report, &groups);
                metrics::paint(m, &groups);
                metrics::assets(m, &groups);
                cells::moved(m, report, &groups);
                metrics::counts(m, report, &groups);
                cells::cost(m, report, &groups);
                instrument::instrument(m, report);
                audited::audited(m, report, &groups);
                facts::settings(m, report);
                facts::not_measured(m, report, &groups);
                cells::figures(m, report, &groups);
            });
        });
        m.element("section", &[("id", &"again")], |m| again::again(m, report));
    });
    m.element("script", &[], |m| m.own(include_str!("page.js")));
}

fn contents(m: &mut Markup, groups: &[Group<'_>]) {
    m.element("nav", &[("aria-label", &"Details")], |m| {
        m.element("ul", &[], |m| {
            let mut entry = |target: &str, text: &str| {
                m.element("li", &[], |m| m.line("a", &[("href", &format!("#{target}"))], text));
            };
            for (number, group) in groups.iter().enumerate() {
                entry(&section_id(number), &heading(groups, group));
            }
            entry("facts", "What ran");
            entry("again", "Run it again");
        });
    });
}

fn link_section(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>], number: usize) {
    let group = &groups[number];
    let id = section_id(number);
    m.element("section", &[("id", &id)], |m| {
        let state = if groups.len() == 1 { Folded::Open } else { Folded::Closed };
        let finding = crate::answer::finding(group, report.result.margin);
        fold(m, state, &heading(groups, group), &finding, |m| details(m, report, group, &id));
    });
}

/// What there is to tell of a link.
fn details(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    m.element("p", &[("class", &"sub")], |m| {
        let figures = Some(report.link_figures(group.link).to_owned()).filter(|f| !f.is_empty());
        let said: Vec<String> = figures
            .into_iter()
            .chain(words::round_trips(group))
            .chain(waits::waits(report, group))
            .collect();
        m.text(said.join(". "));
    });
    if let Some(of) = &group.workload.check_of {
        let note = format!("No verdicts of its own: these trials check those of {of}.");
        m.line("p", &[("class", &"note")], note);
    }
    m.element("div", &[("class", &"beside")], |m| {
        dots::dots(m, report, group, id);
        differences::differences(m, report, group, id);
    });
    curves::curves(m, report, group, id);
    film::film(m, report, group, id);
    if let Some(scale) = waterfall::waterfall(m, report, group, id) {
        link_timeline::link_timeline(m, report, group, &link_timeline::Axis { id, scale });
    }
    waterfall::extremes(m, report, group, id);
    parts::parts(m, report, group, id);
}

/// Whether what is folded is open when the page is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folded {
    Open,
    Closed,
}

/// A heading with a line about it, and what unfolds below.
fn fold(
    m: &mut Markup,
    state: Folded,
    heading: &str,
    about: &str,
    inside: impl FnOnce(&mut Markup),
) {
    let mut attributes: Vec<crate::markup::Attribute<'_>> = vec![("class", &"fold")];
    if state == Folded::Open {
        attributes.push(("open", &"open"));
    }
    m.element("details", &attributes, |m| {
        m.element("summary", &[], |m| {
            m.line("h2", &[], heading);
            m.line("span", &[("class", &"about")], about);
        });
        inside(m);
    });
}

/// The link's name, with the workload's if there are several.
fn heading(groups: &[Group<'_>], group: &Group<'_>) -> String {
    let several = groups.iter().any(|other| other.workload.name != group.workload.name);
    match several {
        true => format!("{}: {}", group.link.name, group.workload.name),
        false => group.link.name.clone(),
    }
}

fn section_id(number: usize) -> String {
    format!("link-{}", number + 1)
}
