//! A load run as a page: rate against the times of answers, percentiles, and the course over time. What is this client's own
//! lateness is shaded.

use super::chart::{LineChart, Point, Series};
use super::head;
use super::picture::Picture;
use super::probes::{self, ProbeChart};
use super::table::{Column, figure, table, text};
use crate::command;
use crate::load::{LoadWords, load_rate, words};
use crate::markup::Markup;
use crate::number::{self, duration};
use crate::scale::Scale;
use crate::words::sentence_case;
use study::load::{
    LoadResult, LoopKind, PartResult, Second, SloResult, StageResult, TargetResult, TimesSummary,
};

/// The whole page.
pub fn load_html(result: &LoadResult) -> String {
    let mut m = Markup::default();
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        m.element("head", &[], |m| head(m, "load · wirelap", &result.version));
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, result)));
    });
    m.finish()
}

fn body(m: &mut Markup, result: &LoadResult) {
    let LoadWords { answer, doubt, conditions, counts, traffic, client } = words(result);
    m.element("header", &[("class", &"masthead")], |m| {
        m.line("b", &[], "wirelap");
        m.line("span", &[], "load");
        m.line("time", &[("datetime", &result.started)], &result.started);
    });
    if !result.warnings.is_empty() {
        m.element("aside", &[("class", &"banner"), ("aria-label", &"Warning")], |m| {
            for warning in &result.warnings {
                m.element("p", &[], |m| {
                    m.line("b", &[], "Warning.");
                    m.text(" ");
                    m.text(warning);
                });
            }
        });
    }
    m.element("section", &[("class", &"answer")], |m| {
        m.line("h1", &[], answer);
        if let Some(doubt) = doubt {
            m.element("p", &[], |m| {
                m.line("b", &[], "Note.");
                m.text(format!(" {}.", sentence_case(&doubt)));
            });
        }
        [conditions, counts, traffic, client]
            .iter()
            .for_each(|line| m.line("p", &[("class", &"note")], line));
        // Several have a table.
        if let [target] = &result.targets[..] {
            m.line("p", &[("class", &"note")], format!("{} {}", target.method, target.url));
        }
    });
    m.element("section", &[("id", &"times")], |m| {
        probes::figures(result).into_iter().for_each(|figure| figure.write(m));
        probes::without_times(m, result);
        let figures = [rates(result), percentiles(result), course(result)];
        figures.into_iter().flatten().for_each(|figure| figure.write(m));
        let stages = result.stages.iter().map(|stage| (stage.rate.clone(), &stage.part));
        parts(m, "Stages", "stage, requests/s", stages.collect());
        let of = |target: &TargetResult| format!("{} {}", target.method, target.url);
        let targets = result.targets.iter().map(|target| (of(target), &target.part));
        parts(m, "Targets", "target", targets.collect());
    });
    m.element("section", &[("id", &"again")], |m| {
        m.line("h2", &[], "Run it again");
        super::picture::command(m, "The same", &command::shell_line(&result.command_line));
    });
}

/// What came of each stage or target. Nothing of fewer than two: what came of one is what came of all.
fn parts(m: &mut Markup, caption: &str, name: &str, parts: Vec<(String, &PartResult)>) {
    if parts.len() < 2 {
        return;
    }
    let counts = ["requests", "answers", "of them with 400 or more", "without an answer"];
    let times = ["p50, ms", "p99, ms", "max, ms"];
    let columns = [text(name)].into_iter().chain(counts.into_iter().chain(times).map(figure));
    let row = |(name, part): (String, &PartResult)| {
        let counts = [part.requests, part.answers, part.refused, part.failed()];
        let times = part.latency.as_ref();
        let at = |share| times.and_then(|times| times.at(share));
        let times = [at(MEDIAN), at(TAIL), times.map(|times| times.max_ms)].map(cell);
        [vec![name], counts.map(|count| number::count(count as f64)).to_vec(), times.to_vec()]
            .concat()
    };
    table(m, caption, &columns.collect::<Vec<_>>(), parts.into_iter().map(row));
}

/// A chart, and its figures as a table.
pub(super) struct Figure {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) chart: Chart,
    pub(super) caption: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// What a figure draws.
pub(super) enum Chart {
    Lines(LineChart),
    Probes(ProbeChart),
}

impl Figure {
    fn write(self, m: &mut Markup) {
        let height = match &self.chart {
            Chart::Lines(chart) => chart.height(),
            Chart::Probes(chart) => chart.height(),
        };
        let picture = Picture {
            id: self.id,
            title: self.title,
            description: self.description,
            key: Vec::new(),
            height,
            command: String::new(),
        };
        let draw = |m: &mut Markup| match &self.chart {
            Chart::Lines(chart) => chart.draw(m),
            Chart::Probes(chart) => chart.draw(m),
        };
        let tables = |m: &mut Markup| table(m, self.caption, &self.columns, self.rows);
        picture.write(m, draw, tables);
    }
}

/// The percentiles that stand for all.
const MEDIAN: f64 = 0.5;
const TAIL: f64 = 0.99;

/// How wide an axis is whose last point stands at 1.
pub(super) const WIDTH: f64 = 1.03;

/// The two lines of times that stand for all.
fn median_and_tail(median: Vec<Point>, tail: Vec<Point>) -> Vec<Series> {
    vec![
        Series { name: "p50", class: "h2-tls", points: median },
        Series { name: "p99", class: "http1-tls", points: tail },
    ]
}

/// A time in a table; nothing where there is none.
pub(super) fn cell(ms: Option<f64>) -> String {
    ms.map(|ms| format!("{ms:.3}")).unwrap_or_default()
}

/// Rate against p50 and p99: the stages of a run. None of fewer than two.
fn rates(result: &LoadResult) -> Option<Figure> {
    let mut tried: Vec<Tried<'_>> = result.stages.iter().filter_map(Tried::of_stage).collect();
    tried.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let most = tried.last().map(|tried| tried.rate).filter(|_| tried.len() > 1)?;
    let point = |tried: &Tried<'_>, share| {
        Some(Point { x: tried.rate / (most * WIDTH), ms: tried.times.at(share)? })
    };
    let line = |share| tried.iter().filter_map(|tried| point(tried, share)).collect();
    let row = |tried: &Tried<'_>| {
        let times = [tried.times.at(MEDIAN), tried.times.at(TAIL)].map(cell);
        [vec![load_rate(tried.rate)], times.to_vec()].concat()
    };
    let about_climbing = match result.stages.iter().any(|stage| Tried::rate(stage).is_none()) {
        true => {
            " Stages that climb have no rate of their own, and are in the table of stages alone."
        }
        false => "",
    };
    Some(Figure {
        id: "rates".to_owned(),
        title: rates_title(&tried),
        description: format!(
            "Requests a second that were due, against the times of their answers.{about_climbing}"
        ),
        chart: Chart::Lines(LineChart {
            series: median_and_tail(line(MEDIAN), line(TAIL)),
            shaded: Vec::new(),
            ticks: rate_ticks(most),
        }),
        caption: "Rates and times",
        columns: ["requests/s", "p50, ms", "p99, ms"].map(figure).to_vec(),
        rows: tried.iter().map(row).collect(),
    })
}

/// A rate that was asked for.
struct Tried<'a> {
    rate: f64,
    times: &'a TimesSummary,
}

impl<'a> Tried<'a> {
    /// A stage that climbs has no rate of its own.
    fn rate(stage: &StageResult) -> Option<f64> {
        stage.rate.split(':').next()?.parse().ok()
    }

    fn of_stage(stage: &'a StageResult) -> Option<Self> {
        Some(Self { rate: Self::rate(stage)?, times: stage.part.latency.as_ref()? })
    }
}

fn rates_title(tried: &[Tried<'_>]) -> String {
    let told = tried.first().zip(tried.last()).and_then(|(low, high)| {
        let (slow, fast) = (low.times.at(TAIL)?, high.times.at(TAIL)?);
        Some(format!(
            "p99 {} at {} requests/s, {} at {}",
            duration(slow),
            load_rate(low.rate),
            duration(fast),
            load_rate(high.rate)
        ))
    });
    told.unwrap_or_else(|| "Rates and times".to_owned())
}

/// Thirds of the highest rate; the last one has the unit. A longer unit, or a label more, runs into its neighbour on a phone.
pub(super) fn rate_ticks(most: f64) -> Vec<(f64, String)> {
    let tick = |share: f64| {
        let unit = if share == 1.0 { "/s" } else { "" };
        (share / WIDTH, format!("{}{unit}", load_rate(share * most)))
    };
    [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0].map(tick).to_vec()
}

/// From the median to the slowest.
fn percentiles(result: &LoadResult) -> Option<Figure> {
    let latency = result.whole.latency.as_ref().filter(|times| times.at.len() > 1)?;
    let own = result.latency_without_client.as_ref();
    let last = (latency.at.len() - 1) as f64;
    // The names of the first and the last one need room beside them.
    let x = |place: usize| 0.04 + 0.9 * place as f64 / last;
    let name = |share: f64| format!("p{}", (share * 1e8).round() / 1e6);
    let places = || latency.at.iter().enumerate();
    let shaded = places()
        .filter_map(|(place, at)| Some((Point { x: x(place), ms: at.ms }, own?.at(at.share)?)));
    let row = |(kind, times): (&str, Option<&TimesSummary>)| {
        let times = times?;
        let figures = latency.at.iter().map(|one| cell(times.at(one.share)));
        Some(
            [kind.to_owned()]
                .into_iter()
                .chain(figures)
                .chain([cell(Some(times.max_ms))])
                .collect(),
        )
    };
    let about_shaded = match own {
        Some(_) => " The shaded part is this client's own lateness in beginning requests.",
        None => "",
    };
    let shown = result.slo.as_ref().and_then(|slo| shown_probe(slo, result));
    let begun = match result.setting.pace {
        LoopKind::Closed => "made",
        LoopKind::Open => "due",
    };
    Some(Figure {
        id: "percentiles".to_owned(),
        title: format!(
            "{} of the answers came within {}, all within {}",
            shown.as_ref().map_or_else(
                || "Half".to_owned(),
                |(rate, _)| format!("At {} requests/s, half", load_rate(*rate))
            ),
            duration(latency.at[0].ms),
            duration(latency.max_ms)
        ),
        description: format!(
            "Times of all answers{}, from when each request was {begun}.{about_shaded}",
            shown.map_or_else(String::new, |(rate, which)| {
                format!(" of the probe at {} requests/s, {which}", load_rate(rate))
            }),
        ),
        chart: Chart::Lines(LineChart {
            series: vec![Series {
                name: "latency",
                class: "h2-tls",
                points: places().map(|(place, at)| Point { x: x(place), ms: at.ms }).collect(),
            }],
            shaded: shaded.collect(),
            ticks: places().map(|(place, at)| (x(place), name(at.share))).collect(),
        }),
        caption: "Percentiles",
        columns: [text("times, ms")]
            .into_iter()
            .chain(latency.at.iter().map(|at| figure(name(at.share))))
            .chain([figure("max")])
            .collect(),
        rows: [
            ("latency", Some(latency)),
            ("without client", own),
            ("begun late", result.lateness.as_ref()),
            ("first byte", result.first_byte.as_ref()),
        ]
        .into_iter()
        .filter_map(row)
        .collect(),
    })
}

/// The rate of the probe of a search whose times are shown, and which one that is.
fn shown_probe(slo: &SloResult, result: &LoadResult) -> Option<(f64, &'static str)> {
    let rate: f64 = result.setting.rates.first()?.parse().ok()?;
    let held = slo.probes.iter().any(|probe| probe.held && probe.rate == rate);
    let which = match (held, slo.rate) {
        (true, Some(limit)) if rate <= limit => "the highest that held and is not above the limit",
        (true, Some(_)) => "the lowest that held",
        (true, None) => "the highest that held",
        (false, _) => "the last one",
    };
    Some((rate, which))
}

fn course_title(course: &[Second]) -> String {
    let (seconds, number) =
        (course.len(), |is: fn(&Second) -> bool| course.iter().filter(|one| is(one)).count());
    let silent = match number(|second| second.answers == 0) {
        0 => String::new(),
        some => format!("nothing was answered in {some} of {seconds}, "),
    };
    let waited = match number(|second| second.waiting > 0) {
        0 => "no request waited for a connection".to_owned(),
        some => format!("requests waited for a connection in {some} of {seconds}"),
    };
    format!("Second by second: {silent}{waited}")
}

/// Second by second. None of fewer than two.
fn course(result: &LoadResult) -> Option<Figure> {
    let course = &result.course;
    let end = course.last().map(|second| second.at).filter(|_| course.len() > 1)?;
    let line = |of: fn(&Second) -> Option<f64>| {
        let point = |second: &Second| Some(Point { x: second.at / (end * WIDTH), ms: of(second)? });
        course.iter().filter_map(point).collect()
    };
    let row = |second: &Second| {
        let counts = [second.answers, second.errors, second.waiting].map(|count| count.to_string());
        let times = [second.p50_ms, second.p99_ms].map(cell);
        [vec![format!("{:.1}", second.at)], counts.to_vec(), times.to_vec()].concat()
    };
    let seconds = Scale::up_to(end * 1e3).ticks();
    Some(Figure {
        id: "course".to_owned(),
        title: course_title(result.counted_course()),
        description: "Times of the answers that came in each second.".to_owned(),
        chart: Chart::Lines(LineChart {
            series: median_and_tail(line(|second| second.p50_ms), line(|second| second.p99_ms)),
            shaded: Vec::new(),
            ticks: seconds.into_iter().map(|tick| (tick.at.0 / 100.0, tick.text)).collect(),
        }),
        caption: "Course",
        columns: ["ends at, s", "answers", "errors", "waiting", "p50, ms", "p99, ms"]
            .map(figure)
            .to_vec(),
        rows: course.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_stand_apart_on_a_phone() {
        // The page's width of a phone, and the mean width of a letter of the axis, in pixels.
        let (plot, letter) = (358.0, 5.9);
        for most in [4.0, 900.0, 76_000.0, 278_000.0, 1_000_000.0] {
            let ticks = rate_ticks(most);
            let (last, others) = ticks.split_last().unwrap();
            assert!(last.1.ends_with("/s"), "{last:?}");
            let before = others.last().unwrap();
            // The last label ends at its tick, the others stand about theirs.
            let gap = (last.0 - before.0) * plot
                - (last.1.len() as f64 + before.1.len() as f64 / 2.0) * letter;
            assert!(gap > 8.0, "{ticks:?} overlap by {gap} pixels");
        }
    }
}
