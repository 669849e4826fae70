//! The report of a run of the page timer: the finding, every metric of both pages, every load, and what it cannot tell.

use super::forest::Forest;
use super::picture::{AXIS_HEIGHT, Picture, axis, command, shared_scale};
use super::table::{figure, table, text};
use super::{dots, head};
use crate::command::{csv, shell_line};
use crate::markup::Markup;
use crate::number::summary;
use crate::scale::Scale;
use crate::timer::words::{
    conditions, counts, figures, finding, limits, median, metric_name, ratio, reading, remarks,
};
use crate::words;
use study::comparison::Verdict;
use study::timer::{TIMER_METRICS, TimerMetric, TimerOutcome, TimerResult, TimerRun, TimerSide};

/// The whole page. `file` is the download as the reader would name it, `version` wirelap's.
pub fn timer_html(run: &TimerRun, result: &TimerResult, file: &str, version: &str) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        let title = format!("{} against {} · wirelap", result.pages.b.name, result.pages.a.name);
        m.element("head", &[], |m| {
            head(m, &title, version);
            m.element("style", &[], |m| m.own(include_str!("../timer/timer.css")));
        });
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, run, result, file)));
    });
    m.finish()
}

fn body(m: &mut Markup, run: &TimerRun, result: &TimerResult, file: &str) {
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        m.line("span", &[], "page timer");
        m.line("time", &[("datetime", &result.started)], &result.started);
    });
    m.element("h1", &[], |m| {
        m.text(finding(result));
        if let Some(ratio) = ratio(&result.verdict) {
            m.text(" ");
            m.line("span", &[("class", &"by")], format!("({ratio})"));
        }
    });
    m.element("section", &[("class", &"answer")], |m| {
        for remark in remarks(&result.verdict) {
            m.line("p", &[], words::sentence_case(&remark) + ".");
        }
        for (class, page) in [("side-a", &result.pages.a), ("side-b", &result.pages.b)] {
            m.element("p", &[("class", &"note")], |m| {
                m.element("span", &[("class", &class)], |m| {
                    m.line("b", &[("class", &"name")], &page.name);
                });
                m.text(": ");
                m.line("code", &[], &page.url);
            });
        }
        m.line("p", &[("class", &"note")], words::sentence_case(&conditions(result)) + ".");
        m.line("p", &[("class", &"note")], words::sentence_case(&counts(result)) + ".");
        m.line("p", &[("class", &"note")], &result.user_agent);
        metrics(m, result);
        m.line("p", &[("class", &"note")], reading(result));
        picture(m, run, result, file);
    });
    m.element("section", &[("class", &"limits")], |m| {
        m.line("h2", &[], "What this cannot tell");
        m.element("ul", &[], |m| limits(result).iter().for_each(|limit| m.line("li", &[], limit)));
    });
    m.element("section", &[("id", &"again")], |m| {
        m.line("h2", &[], "Again");
        command(m, "Judge", &shell_line(&["wirelap", "report", file]));
        m.line("p", &[("class", &"note")], format!("Timed by {}", run.timer));
    });
}

fn metrics(m: &mut Markup, result: &TimerResult) {
    let ends = result.metrics.iter().filter_map(|one| figures(&one.comparison));
    let ends = ends.filter(|ratio| !ratio.is_anything()).map(|ratio| ratio.ci);
    let forest = Forest::of(ends, result.settings.margin);
    let (a, b) = (&result.pages.a.name, &result.pages.b.name);
    let caption = format!("Times of {a} and {b}");
    let region: [(&'static str, &dyn std::fmt::Display); 4] =
        [("class", &"scroll"), ("role", &"region"), ("tabindex", &"0"), ("aria-label", &caption)];
    m.element("div", &region, |m| {
        m.element("table", &[("id", &"times")], |m| {
            m.line("caption", &[], &caption);
            m.element("thead", &[], |m| {
                m.element("tr", &[], |m| {
                    let over = format!("{b} over {a}");
                    let is = format!("{b} is");
                    for (name, class) in
                        [("", "t"), (a, "n"), (b, "n"), (&over, "n"), ("", "t"), (&is, "t")]
                    {
                        m.line("th", &[("scope", &"col"), ("class", &class)], name);
                    }
                });
            });
            m.element("tbody", &[], |m| {
                result.metrics.iter().for_each(|one| row(m, one, &result.settings.metric, &forest));
            });
        });
    });
}

fn row(m: &mut Markup, one: &TimerMetric, decides: &str, forest: &Forest) {
    let is_it = one.metric == decides;
    let class = if is_it { "decides" } else { "" };
    m.element("tr", &[("class", &class)], |m| {
        let name = metric_name(&one.metric);
        let name = if is_it { format!("{name} (decides)") } else { name.to_owned() };
        m.line("th", &[("scope", &"row")], name);
        for side in [TimerSide::A, TimerSide::B] {
            m.line("td", &[("class", &"n")], median(one, side));
        }
        m.line("td", &[("class", &"n")], ratio(&one.comparison).unwrap_or_default());
        m.element("td", &[("class", &"side-b")], |m| {
            if let Some(ratio) = figures(&one.comparison).filter(|ratio| !ratio.is_anything()) {
                forest.draw(m, ratio);
            }
        });
        m.element("td", &[], |m| {
            let (sign, word) = (sign(one.comparison.verdict), one.comparison.verdict.word());
            m.line("span", &[("class", &"word")], format!("{sign} {word}"));
            let remarks = remarks(&one.comparison);
            if !remarks.is_empty() {
                m.line("small", &[], remarks.join("; "));
            }
        });
    });
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

/// Height of a page's row.
const ROW: f64 = 76.0;

fn picture(m: &mut Markup, run: &TimerRun, result: &TimerResult, file: &str) {
    let metric = &result.settings.metric;
    let counted = run.counted();
    let times = |side: TimerSide| -> Vec<f64> {
        let own = counted.iter().filter(|row| row.page == side);
        let measured = own.filter(|row| row.outcome == TimerOutcome::Measured);
        measured.filter_map(|row| row.metrics.get(metric).copied()).collect()
    };
    let [a, b] = [TimerSide::A, TimerSide::B].map(times);
    let scale = shared_scale(a.iter().chain(&b).copied());
    let picture = Picture {
        id: "loads".to_owned(),
        title: format!("Every load: {}", metric_name(metric)),
        description: "A dot is a load; the mark below it is the median, with its own 95 % interval. A cross at the right \
                      edge is a load that failed and ranks as the slowest."
            .to_owned(),
        key: Vec::new(),
        height: 2.0 * ROW + AXIS_HEIGHT,
        command: csv(file),
    };
    let draw = |m: &mut Markup| {
        axis(m, scale, 0.0, 2.0 * ROW);
        for (number, (side, times)) in
            [(TimerSide::A, &a), (TimerSide::B, &b)].into_iter().enumerate()
        {
            let failed = counted.iter().filter(|row| {
                row.page == side && matches!(row.outcome, TimerOutcome::Failed { .. })
            });
            let strip =
                Strip { side, times, failed: failed.count(), top: number as f64 * ROW, scale };
            strip.draw(m, result);
        }
    };
    picture.write(m, draw, |m| loads(m, run));
}

/// The loads of one page.
struct Strip<'a> {
    side: TimerSide,
    times: &'a [f64],
    failed: usize,
    top: f64,
    scale: Scale,
}

impl Strip<'_> {
    fn draw(&self, m: &mut Markup, result: &TimerResult) {
        let decides = result.metrics.iter().find(|one| one.metric == result.settings.metric);
        let (class, own) = match self.side {
            TimerSide::A => ("side-a", decides.and_then(|one| one.a)),
            TimerSide::B => ("side-b", decides.and_then(|one| one.b)),
        };
        m.element("g", &[("class", &class)], |m| {
            let y = format!("{:.0}", self.top + 16.0);
            m.element("text", &[("class", &"label"), ("x", &"0"), ("y", &y)], |m| {
                m.line("tspan", &[("class", &"name")], &result.pages.of(self.side).name);
                let text = own.map_or_else(|| "not measured".to_owned(), |own| summary(&own));
                m.line("tspan", &[("dx", &"10")], text);
            });
            dots::strip(m, self.times, self.scale, self.top + 38.0);
            if self.failed > 0 {
                let (text, y) =
                    ("✕".repeat(self.failed.min(12)), format!("{:.0}", self.top + 42.0));
                let at: [(&'static str, &dyn std::fmt::Display); 4] =
                    [("class", &"cross"), ("x", &"100%"), ("y", &y), ("text-anchor", &"end")];
                m.line("text", &at, text);
            }
            if let Some(own) = &own {
                dots::interval_of(m, own, self.scale, self.top);
            }
        });
    }
}

fn loads(m: &mut Markup, run: &TimerRun) {
    let mut columns = vec![figure("block"), figure("attempt"), text("page"), text("outcome")];
    columns
        .extend(TIMER_METRICS.iter().map(|metric| figure(format!("{}, ms", metric_name(metric)))));
    columns.extend([text("protocol"), text("reason")]);
    let rows = run.rows.iter().map(|row| {
        let mut cells = vec![
            (row.block + 1).to_string(),
            (row.attempt + 1).to_string(),
            run.pages.of(row.page).name.clone(),
            row.outcome.word().to_owned(),
        ];
        cells.extend(TIMER_METRICS.iter().map(|metric| {
            row.metrics.get(*metric).map(|ms| format!("{ms:.1}")).unwrap_or_default()
        }));
        cells.push(row.protocol.clone().unwrap_or_default());
        cells.push(row.outcome.reason().unwrap_or_default().to_owned());
        cells
    });
    table(m, "Every load", &columns, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Eight blocks: B takes a tenth longer, failed once, and was once invalid and loaded again.
    fn run() -> TimerRun {
        let load = |block: u32, attempt: u32, page: &str, outcome: Value, ms: f64| {
            json!({
                "block": block, "attempt": attempt, "order": 0, "page": page, "url": "/x", "outcome": outcome,
                "metrics": if outcome["kind"] == "measured" { json!({ "load_ms": ms }) } else { json!({}) },
            })
        };
        let measured = || json!({ "kind": "measured" });
        let mut rows = Vec::new();
        for block in 0..8 {
            rows.push(load(block, 0, "a", measured(), 100.0));
            let outcome = match block {
                3 => json!({ "kind": "failed", "reason": "status <500>" }),
                5 => json!({ "kind": "invalid", "reason": "the pop-up was hidden" }),
                _ => measured(),
            };
            rows.push(load(block, 0, "b", outcome, 110.0));
        }
        rows.extend(["a", "b"].map(|page| load(5, 1, page, measured(), 105.0)));
        let page = |name: &str| json!({ "name": name, "url": "/<x>" });
        let run = json!({
            "schema": "wirelap.timer/1", "version": "0", "started": "2026-01-01T00:00:00Z", "timer": "http://x/timer",
            "user_agent": "<agent>", "pages": { "a": page("A"), "b": page("B & C") }, "stopped": false,
            "settings": {
                "runs": 8, "metric": "load_ms", "margin": 0.05, "seed": 1, "cache": "warm", "timeout_ms": 1,
                "settle_ms": 1, "width": 1, "height": 1,
            },
            "rows": rows,
        });
        TimerRun::read(&run.to_string()).unwrap()
    }

    #[test]
    fn the_page_is_well_formed_and_shows_every_load() {
        let run = run();
        let html = timer_html(&run, &run.judge(), "my timer.json", "0.1.0");
        let text = html.strip_prefix("<!DOCTYPE html>\n").unwrap();
        let page = roxmltree::Document::parse(text).unwrap();
        let class = |name: &str| {
            page.descendants().filter(|node| node.attribute("class") == Some(name)).count()
        };
        // Loads of attempts that count, and the dot of the ratio.
        assert_eq!((class("dot"), class("cross")), (8 + 7 + 1, 1), "{html}");
        let rows = page.descendants().filter(|node| node.has_tag_name("tr")).count();
        assert_eq!(rows, 1 + 1 + 1 + 18, "a metric and every load, below their heads");
        for words in [
            "status &lt;500&gt;",
            "the pop-up was hidden",
            "B &amp; C over A",
            "&#39;my timer.json&#39;",
        ] {
            assert!(html.contains(words), "no {words} in {html}");
        }
        assert!(
            html.contains("18 loads, 1 invalid, 1 failed") && html.contains("cache took part"),
            "{html}"
        );
    }
}
