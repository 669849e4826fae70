//! The probes of a search for the highest rate that holds an objective: rate against what a condition is on, beside its limit.
//! The one rule: every probe is in the picture and in the table, whatever it came to.

use super::chart::{PLOT, TOP, axes, height_of};
use super::load_page::{Chart, Figure, WIDTH, cell, rate_ticks};
use super::picture::AXIS_HEIGHT;
use super::table::{Column, figure, table, text};
use crate::load::{load_rate, slo_name, slo_outcome, slo_share};
use crate::markup::Markup;
use crate::number::duration;
use crate::scale::{Position, Scale};
use study::load::{Checked, LoadResult, Probe, SloResult};

/// A figure for each condition on times, each with all probes in its table.
pub(super) fn figures(result: &LoadResult) -> Vec<Figure> {
    let Some(slo) = &result.slo else { return Vec::new() };
    let told = |(place, limit): (usize, Limit)| Figure {
        id: if place == 0 { "rates".to_owned() } else { format!("rates-{}", place + 1) },
        title: format!("{}: {}", slo.objective, slo_outcome(slo, result.interrupted)),
        description: format!(
            "A dot is a probe: the rate that was due, against its {} without this client's lateness. Filled: the \
             objective held. The line is the limit, the band the interval of the highest rate that holds it. A triangle: \
             slower than the picture has room for, or without an answer.",
            limit.name
        ),
        caption: "Probes",
        columns: columns(Some(&limit.name)),
        rows: slo.probes.iter().map(|probe| row(probe, Some(limit.place))).collect(),
        chart: Chart::Probes(ProbeChart::of(slo, limit)),
    };
    limits(slo).into_iter().enumerate().map(told).collect()
}

/// The probes as a table alone, where the objective says nothing of times.
pub(super) fn without_times(m: &mut Markup, result: &LoadResult) {
    if let Some(slo) = result.slo.as_ref().filter(|slo| limits(slo).is_empty()) {
        table(m, "Probes", &columns(None), slo.probes.iter().map(|probe| row(probe, None)));
    }
}

/// A condition on times.
#[derive(Debug, Clone)]
pub(super) struct Limit {
    /// Among the conditions.
    place: usize,
    /// `p95`.
    name: String,
    /// `p95 < 3 ms`.
    label: String,
    ms: f64,
}

fn limits(slo: &SloResult) -> Vec<Limit> {
    let conditions = slo.probes.first().map_or(&[][..], |probe| &probe.conditions);
    let limit = |(place, checked): (usize, &Checked)| {
        let (name, ms) = (slo_name(checked).to_owned(), checked.limit_ms()?);
        Some(Limit { place, label: checked.condition.replace('<', " < "), name, ms })
    };
    conditions.iter().enumerate().filter_map(limit).collect()
}

fn columns(name: Option<&str>) -> Vec<Column> {
    let mut columns = vec![figure("requests/s"), figure("answered/s")];
    if let Some(name) = name {
        columns.push(figure(format!("{name}, ms")));
        columns.push(figure(format!("{name} without this client, ms")));
    }
    columns.extend([figure("errors"), text("verdict"), text("why")]);
    columns
}

fn row(probe: &Probe, timed: Option<usize>) -> Vec<String> {
    let mut row = vec![load_rate(probe.rate), load_rate(probe.achieved)];
    if let Some(checked) = timed.map(|place| probe.conditions.get(place)) {
        // Times are of answers alone.
        let checked = checked.filter(|_| probe.latency.is_some());
        row.push(cell(checked.map(|checked| checked.measured)));
        row.push(cell(checked.map(|checked| checked.without_client)));
    }
    let errors = probe.conditions.iter().find(|checked| checked.limit_ms().is_none());
    row.push(errors.map_or_else(String::new, |checked| slo_share(checked.measured)));
    row.push(probe.verdict.name().to_owned());
    row.push(probe.reason.clone().unwrap_or_default());
    row
}

/// What is drawn for one condition.
#[derive(Debug)]
pub(super) struct ProbeChart {
    limit: Limit,
    most: f64,
    /// The interval of the highest rate that holds the objective.
    interval: Option<[f64; 2]>,
    dots: Vec<Dot>,
}

#[derive(Debug)]
struct Dot {
    rate: f64,
    /// None without an answer.
    ms: Option<f64>,
    held: bool,
    hint: String,
}

/// The top of the picture, in limits: what lies near the limit decides.
const LIMITS: f64 = 4.0;

impl ProbeChart {
    fn of(slo: &SloResult, limit: Limit) -> Self {
        let dot = |probe: &Probe| {
            let checked = probe.conditions.get(limit.place).filter(|_| probe.latency.is_some());
            let ms = checked.map(|checked| checked.without_client);
            let told = ms.map_or_else(
                || "no answer".to_owned(),
                |ms| format!("{} {}", limit.name, duration(ms)),
            );
            let (rate, verdict) = (load_rate(probe.rate), probe.verdict.name());
            let hint = format!("{rate} requests/s: {verdict}, {told}");
            Dot { rate: probe.rate, ms, held: probe.held, hint }
        };
        let dots: Vec<Dot> = slo.probes.iter().map(dot).collect();
        Self {
            most: dots.iter().map(|dot| dot.rate).fold(0.0, f64::max),
            interval: slo.holds_at.zip(slo.fails_at).map(|(low, high)| [low, high]),
            limit,
            dots,
        }
    }

    pub(super) fn height(&self) -> f64 {
        TOP + PLOT + AXIS_HEIGHT
    }

    fn x(&self, rate: f64) -> Position {
        Position(rate / (self.most * WIDTH) * 100.0)
    }

    pub(super) fn draw(&self, m: &mut Markup) {
        let scale = Scale::up_to(self.limit.ms * LIMITS);
        axes(m, scale, &rate_ticks(self.most));
        if let Some([low, high]) = self.interval {
            let (x, width) = (self.x(low), Position(self.x(high).0 - self.x(low).0));
            let (y, height) = (format!("{TOP:.0}"), format!("{PLOT:.0}"));
            let place: [(&'static str, &dyn std::fmt::Display); 5] =
                [("class", &"band"), ("x", &x), ("width", &width), ("y", &y), ("height", &height)];
            m.empty("rect", &place);
        }
        m.element("g", &[("class", &"axis")], |m| {
            let y = format!("{:.1}", height_of(scale.at(self.limit.ms)));
            m.empty(
                "line",
                &[("class", &"one"), ("x1", &"0"), ("x2", &"100%"), ("y1", &y), ("y2", &y)],
            );
            m.line(
                "text",
                &[
                    ("class", &"limit"),
                    ("x", &"100%"),
                    ("y", &y),
                    ("dy", &"-4"),
                    ("text-anchor", &"end"),
                ],
                &self.limit.label,
            );
        });
        m.element("g", &[("class", &"h2-tls")], |m| {
            self.dots.iter().for_each(|dot| self.dot(m, scale, dot));
        });
    }

    fn dot(&self, m: &mut Markup, scale: Scale, dot: &Dot) {
        let x = self.x(dot.rate);
        let Some(ms) = dot.ms.filter(|ms| *ms <= self.limit.ms * LIMITS) else {
            let sign = if dot.held { "▲" } else { "△" };
            let place: [(&'static str, &dyn std::fmt::Display); 4] =
                [("class", &"beyond"), ("x", &x), ("y", &BEYOND), ("text-anchor", &"middle")];
            m.element("text", &place, |m| {
                m.line("title", &[], &dot.hint);
                m.text(sign);
            });
            return;
        };
        let y = format!("{:.1}", height_of(scale.at(ms)));
        let class = if dot.held { "dot" } else { "hollow" };
        let place: [(&'static str, &dyn std::fmt::Display); 4] =
            [("class", &class), ("cx", &x), ("cy", &y), ("r", &"3.5")];
        m.element("circle", &place, |m| m.line("title", &[], &dot.hint));
    }
}

/// Where the triangles stand, in pixels.
const BEYOND: f64 = TOP - 4.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::result;
    use study::load::{Found, Verdict};

    /// Probes at these rates, each with the p95 that it had without the client's lateness; None without an answer.
    fn searched(probes: &[(f64, Option<f64>)]) -> LoadResult {
        let times: study::load::TimesSummary = serde_json::from_value(serde_json::json!({
            "n": 100, "min_ms": 0.1, "mean_ms": 1.0, "at": [{ "share": 0.5, "ms": 0.9 }, { "share": 0.75, "ms": 1.0 }],
            "max_ms": 9.0
        }))
        .unwrap();
        let checked = |condition: &str, measured, without_client| Checked {
            condition: condition.to_owned(),
            measured,
            without_client,
            holds: true,
        };
        let probe = |&(rate, ms): &(f64, Option<f64>)| {
            let held = ms.is_some_and(|ms| ms < 3.0);
            Probe {
                rate,
                achieved: rate,
                requests: 100,
                errors: 2,
                busiest_share: 0.1,
                conditions: vec![
                    checked("p95<3 ms", ms.unwrap_or_default() + 20.0, ms.unwrap_or_default()),
                    checked("errors<10%", 0.02, 0.02),
                ],
                latency: ms.map(|_| times.clone()),
                latency_without_client: None,
                held,
                verdict: if held { Verdict::Held } else { Verdict::Missed },
                reason: (!held).then(|| "p95 9.00 ms".to_owned()),
            }
        };
        let limit = Found::Limit { rate: 250.0, interval: [200.0, 300.0] };
        let slo = SloResult::new(
            "p95<3 ms,errors<10%".to_owned(),
            limit,
            probes.iter().map(probe).collect(),
            Vec::new(),
        );
        let mut result = LoadResult { slo: Some(slo), ..result() };
        result.setting.rates = vec!["200".to_owned()];
        result.whole.latency = Some(times);
        result
    }

    #[test]
    fn the_page_of_a_search_shows_what_was_searched_with_its_limit_and_every_probe() {
        let probes = [
            (100.0, Some(1.0)),
            (200.0, Some(2.0)),
            (300.0, Some(4.0)),
            (400.0, Some(50.0)),
            (500.0, None),
        ];
        let page = crate::load_html(&searched(&probes)).replace('\u{a0}', " ");
        assert!(page.contains("against its p95 without this client&#39;s lateness"), "{page}");
        assert!(page.contains(">p95 &lt; 3 ms</text>"), "the limit's line has its label");
        let count = |what: &str| page.matches(what).count();
        let picture = |class: &str| count(&format!("<circle class=\"{class}\""));
        // The percentiles of the probe that is shown are two dots more.
        assert_eq!((picture("dot"), picture("hollow")), (2 + 2, 1));
        assert_eq!(count("△"), 2, "one beyond the picture, one without an answer");
        assert_eq!(count("class=\"band\""), 1);
        // It held by what it was without the client.
        assert!(page.contains("<td class=\"n\">22.000</td><td class=\"n\">2.000</td>"), "{page}");
        assert!(page.contains(">p95 9.00 ms</td>") && page.contains("2.0 %"), "{page}");
        assert_eq!(count("requests/s: missed, no answer"), 1);
        assert!(page.contains("At 200 requests/s, half of the answers came within"), "{page}");
        let of = "of the probe at 200 requests/s, the highest that held and is not above the limit";
        assert!(page.contains(of), "{page}");
        let interrupted = LoadResult { interrupted: true, ..searched(&probes) };
        let page = crate::load_html(&interrupted);
        assert!(
            page.contains("interrupted after probe 5; so far holds up to 250 requests/s"),
            "{page}"
        );
    }

    #[test]
    fn the_page_of_a_search_says_where_its_answer_is_to_be_doubted() {
        let sound = crate::load_html(&searched(&[(100.0, Some(1.0)), (400.0, Some(9.0))]));
        assert!(!sound.contains("run it again when both are quiet"));
        let page = crate::load_html(&searched(&[(100.0, Some(9.0)), (400.0, Some(9.0))]));
        assert!(page.contains("1 of 1 probes at lower rates did not hold it"), "{page}");
    }
}
