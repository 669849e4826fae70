//! One page for several published measurements that were run again: of each its findings, its ratios against N with ours,
//! and the absolute times behind them.

use super::published::{findings, open_question};
use super::ratio_chart::ratio_chart;
use super::{head, table};
use crate::markup::Markup;
use crate::number::{self, Ratio, duration};
use crate::{Report, command, published_summary, words};
use study::published::{Published, PublishedRatio, PublishedSide};

/// The whole page. A run of no published measurement is left out.
pub fn published_html(reports: &[Report<'_>]) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        let version = reports.first().map_or("", |report| &report.result.version);
        m.element("head", &[], |m| head(m, "published measurements · wirelap", version));
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, reports)));
    });
    m.finish()
}

fn body(m: &mut Markup, reports: &[Report<'_>]) {
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        m.line("span", &[], "published measurements, run again");
    });
    m.element("section", &[("class", &"answer")], |m| {
        m.line("h1", &[], published_summary::headline(reports));
        m.line("p", &[("class", &"note")], NOTE);
    });
    for report in reports {
        if let Some(published) = &report.result.published {
            m.element("section", &[("id", &report.result.experiment)], |m| {
                measurement(m, report, published);
            });
        }
    }
}

/// How the page is to be read.
const NOTE: &str = "Ratios are compared, never times: the machines and networks of those days are gone. Each interval is of \
     95 % by itself. The absolute times stand in the tables to show how far apart the two set-ups are.";

fn measurement(m: &mut Markup, report: &Report<'_>, published: &Published) {
    m.line("h2", &[], &report.result.experiment);
    m.line("p", &[], format!("{}.", words::published_headline(published)));
    m.line("p", &[("class", &"sub")], format!("Source: {}.", published.title));
    m.element("dl", &[("class", &"host")], |m| {
        for (name, text) in &published.conditions {
            m.element("div", &[], |m| {
                m.line("dt", &[], condition(name));
                m.line("dd", &[], text);
            });
        }
        m.element("div", &[], |m| {
            m.line("dt", &[], "our run");
            m.line("dd", &[], format!("{}, {}", report.folder, report.result.started));
        });
    });
    for warning in &report.result.warnings {
        m.line("p", &[("class", &"note")], format!("Warning. {warning}"));
    }
    findings(m, published);
    for need in words::findings_need(report) {
        m.line("p", &[("class", &"note")], need);
    }
    super::picture::command(m, "Every figure", &command::csv(report.folder));
    if !published.ratios.is_empty() {
        ratio_chart(m, report, published);
        times(m, published);
    }
    open_question(m, published);
}

/// What a condition is called. What the source says differs from what we remark on it.
fn condition(name: &str) -> String {
    match name {
        "unknown" => "our remark: what the source leaves open".to_owned(),
        "further" => "our remark: further sources".to_owned(),
        "implied" => "our remark: what its figures imply".to_owned(),
        name => format!("source: {name}"),
    }
}

fn times(m: &mut Markup, published: &Published) {
    let columns = [
        table::text("ratio of times"),
        table::figure("N"),
        table::figure("published"),
        table::figure("ours [95 % interval]"),
        table::figure("published times"),
        table::figure("our medians [95 % interval]"),
        table::figure("our trials, least to greatest"),
        table::figure("blocks"),
        table::text("role"),
    ];
    table::table(m, "Ratios and absolute times", &columns, published.ratios.iter().map(row));
}

fn row(ratio: &PublishedRatio) -> [String; 9] {
    let sides = |of: &dyn Fn(&PublishedSide) -> Option<String>| match (of(&ratio.a), of(&ratio.b)) {
        (None, None) => "–".to_owned(),
        (a, b) => [a, b].map(|time| time.unwrap_or_else(|| "–".to_owned())).join(" / "),
    };
    let ours = ratio.ours.zip(ratio.ci95).map_or_else(
        || words::no_ratio(ratio).to_owned(),
        |(ours, [low, high])| {
            let ours = Ratio { value: ours.0, ci: [low.0, high.0] };
            format!("{} {}", ours.number(), ours.interval())
        },
    );
    [
        ratio.what.clone(),
        format!("{} {}", crate::number::count(ratio.n as f64), ratio.unit),
        format!("{:.2}", ratio.published),
        ours,
        sides(&|side| side.published_ms.map(duration)),
        sides(&|side| side.ours_ms.as_ref().map(number::summary)),
        sides(&|side| side.ours_ms.as_ref().map(number::spread)),
        ratio.trials.to_string(),
        words::ratio_role(ratio).to_owned(),
    ]
}
