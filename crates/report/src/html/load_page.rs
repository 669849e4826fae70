//! A load run as a page: rate against the times of answers, percentiles, and the course over time. What is this client's own
//! lateness is shaded.

use super::chart::{Chart, Point, Series};
use super::head;
use super::picture::Picture;
use super::table::{figure, table, text};
use crate::command;
use crate::load::{LoadWords, grouped, words};
use crate::markup::Markup;
use crate::number::duration;
use study::load::{LoadResult, Probe, TimesSummary};

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
    let LoadWords { answer, conditions, counts, traffic, client } = words(result);
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
        [conditions, counts, traffic, client]
            .iter()
            .for_each(|line| m.line("p", &[("class", &"note")], line));
        for target in &result.targets {
            m.line("p", &[("class", &"note")], format!("{} {}", target.method, target.url));
        }
    });
    m.element("section", &[("id", &"times")], |m| {
        rates(m, result);
        percentiles(m, result);
        course(m, result);
    });
    m.element("section", &[("id", &"again")], |m| {
        m.line("h2", &[], "Run it again");
        super::picture::command(m, "The same", &command::shell_line(&result.command_line));
    });
}

/// The percentiles that stand for all.
const MEDIAN: f64 = 0.5;
const TAIL: f64 = 0.99;

/// Rate against p50 and p99: the probes of a search, or the stages of a run.
fn rates(m: &mut Markup, result: &LoadResult) {
    let mut tried: Vec<Tried<'_>> = match &result.slo {
        Some(slo) => slo.probes.iter().filter_map(Tried::of_probe).collect(),
        None => result
            .stages
            .iter()
            .filter_map(|stage| {
                // A stage that climbs has no rate of its own.
                let rate = stage.rate.split(':').next()?.parse().ok()?;
                Some(Tried { rate, times: stage.part.latency.as_ref()?, own: None })
            })
            .collect(),
    };
    tried.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let Some(most) = tried.last().map(|tried| tried.rate).filter(|_| tried.len() > 1) else {
        return;
    };
    let at = |share: f64| -> Vec<Point> {
        let point = |tried: &Tried<'_>| {
            Some(Point { x: tried.rate / (most * 1.03), ms: tried.times.at(share)? })
        };
        tried.iter().filter_map(point).collect()
    };
    let without = |tried: &Tried<'_>| tried.own?.at(TAIL);
    let late: Vec<(Point, f64)> = tried
        .iter()
        .filter_map(|tried| {
            let x = tried.rate / (most * 1.03);
            Some((Point { x, ms: tried.times.at(TAIL)? }, without(tried)?))
        })
        .collect();
    let chart = Chart {
        series: vec![
            Series { name: "p50", class: "h2-tls", points: at(MEDIAN) },
            Series { name: "p99", class: "http1-tls", points: at(TAIL) },
        ],
        shaded: late,
        ticks: rate_ticks(most, most * 1.03),
    };
    let shaded = if tried.iter().any(|tried| tried.own.is_some()) { SHADED } else { "" };
    let picture = Picture {
        id: "rates".to_owned(),
        title: rates_title(result, &tried),
        description: format!(
            "Requests a second that were due, against the times of their answers.{shaded}"
        ),
        key: Vec::new(),
        height: chart.height(),
        command: String::new(),
    };
    picture.write(
        m,
        |m| chart.draw(m),
        |m| {
            let columns =
                ["requests/s", "p50, ms", "p99, ms", "p99 without this client, ms"].map(figure);
            let ms = |time: Option<f64>| time.map(|ms| format!("{ms:.3}")).unwrap_or_default();
            let rows = tried.iter().map(|tried| {
                let own = tried.own.and_then(|own| own.at(TAIL));
                let times = [tried.times.at(MEDIAN), tried.times.at(TAIL), own].map(ms);
                [vec![grouped(tried.rate)], times.to_vec()].concat()
            });
            table(m, "Rates and times", &columns, rows);
        },
    );
}

const SHADED: &str = " The shaded part of p99 is this client's own lateness in beginning requests.";

/// A rate that was asked for.
struct Tried<'a> {
    rate: f64,
    times: &'a TimesSummary,
    /// Without this client's lateness, where that is known.
    own: Option<&'a TimesSummary>,
}

impl<'a> Tried<'a> {
    fn of_probe(probe: &'a Probe) -> Option<Self> {
        let own = probe.latency_without_client.as_ref();
        Some(Self { rate: probe.rate, times: probe.latency.as_ref()?, own })
    }
}

fn rates_title(result: &LoadResult, tried: &[Tried<'_>]) -> String {
    if let Some(slo) = &result.slo {
        return format!("{}: {}", slo.objective, crate::load::slo_answer(slo));
    }
    let told = tried.first().zip(tried.last()).and_then(|(low, high)| {
        let (slow, fast) = (low.times.at(TAIL)?, high.times.at(TAIL)?);
        Some(format!(
            "p99 {} at {} requests/s, {} at {}",
            duration(slow),
            grouped(low.rate),
            duration(fast),
            grouped(high.rate)
        ))
    });
    told.unwrap_or_else(|| "Rates and times".to_owned())
}

fn rate_ticks(most: f64, end: f64) -> Vec<(f64, String)> {
    let ticks = [0.25, 0.5, 0.75, 1.0].map(|share| (share * most / end, grouped(share * most)));
    [(0.0, "0".to_owned())]
        .into_iter()
        .chain(ticks)
        .enumerate()
        .map(|(place, (at, text))| {
            (at, if place == 4 { format!("{text} requests/s") } else { text })
        })
        .collect()
}

/// From the median to the slowest.
fn percentiles(m: &mut Markup, result: &LoadResult) {
    let Some(latency) = result.whole.latency.as_ref().filter(|times| times.at.len() > 1) else {
        return;
    };
    let count = latency.at.len();
    let x = |place: usize| 0.04 + 0.9 * place as f64 / (count - 1) as f64;
    let own = result.latency_without_client.as_ref();
    let points = latency.at.iter().enumerate().map(|(place, at)| Point { x: x(place), ms: at.ms });
    let late = latency
        .at
        .iter()
        .enumerate()
        .filter_map(|(place, at)| Some((Point { x: x(place), ms: at.ms }, own?.at(at.share)?)));
    let name = |share: f64| format!("p{}", (share * 1e8).round() / 1e6);
    let chart = Chart {
        series: vec![Series { name: "latency", class: "h2-tls", points: points.collect() }],
        shaded: late.collect(),
        ticks: latency
            .at
            .iter()
            .enumerate()
            .map(|(place, at)| (x(place), name(at.share)))
            .collect(),
    };
    let shaded = match own {
        Some(_) => " The shaded part is this client's own lateness in beginning requests.",
        None => "",
    };
    let picture = Picture {
        id: "percentiles".to_owned(),
        title: format!(
            "Half of the answers came within {}, all within {}",
            duration(latency.at[0].ms),
            duration(latency.max_ms)
        ),
        description: format!("Times of all answers, from when each request was due.{shaded}"),
        key: Vec::new(),
        height: chart.height(),
        command: String::new(),
    };
    picture.write(
        m,
        |m| chart.draw(m),
        |m| {
            let mut columns = vec![text("times, ms")];
            columns.extend(latency.at.iter().map(|at| figure(name(at.share))));
            columns.push(figure("max"));
            let rows = [
                ("latency", Some(latency)),
                ("without client", own),
                ("begun late", result.lateness.as_ref()),
                ("first byte", result.first_byte.as_ref()),
            ];
            let rows = rows.into_iter().filter_map(|(kind, times)| {
                let times = times?;
                let at =
                    |share: f64| times.at(share).map(|ms| format!("{ms:.3}")).unwrap_or_default();
                let mut row = vec![kind.to_owned()];
                row.extend(latency.at.iter().map(|one| at(one.share)));
                row.push(format!("{:.3}", times.max_ms));
                Some(row)
            });
            table(m, "Percentiles", &columns, rows);
        },
    );
}

/// Second by second.
fn course(m: &mut Markup, result: &LoadResult) {
    let course = &result.course;
    let Some(end) = course.last().map(|second| second.at).filter(|_| course.len() > 1) else {
        return;
    };
    let line = |of: fn(&study::load::Second) -> Option<f64>| -> Vec<Point> {
        let point = |second: &study::load::Second| {
            Some(Point { x: second.at / (end * 1.03), ms: of(second)? })
        };
        course.iter().filter_map(point).collect()
    };
    let seconds = crate::scale::Scale::up_to(end * 1e3);
    let chart = Chart {
        series: vec![
            Series { name: "p50", class: "h2-tls", points: line(|second| second.p50_ms) },
            Series { name: "p99", class: "http1-tls", points: line(|second| second.p99_ms) },
        ],
        shaded: Vec::new(),
        ticks: seconds.ticks().into_iter().map(|tick| (tick.at.0 / 100.0, tick.text)).collect(),
    };
    let waited = course.iter().filter(|second| second.waiting > 0).count();
    let picture = Picture {
        id: "course".to_owned(),
        title: match waited {
            0 => "Second by second: no request waited for a connection".to_owned(),
            some => format!(
                "Second by second: requests waited for a connection in {some} of {}",
                course.len()
            ),
        },
        description: "Times of the answers that came in each second.".to_owned(),
        key: Vec::new(),
        height: chart.height(),
        command: String::new(),
    };
    picture.write(
        m,
        |m| chart.draw(m),
        |m| {
            let columns =
                ["ends at, s", "answers", "errors", "waiting", "p50, ms", "p99, ms"].map(figure);
            let ms = |time: Option<f64>| time.map(|ms| format!("{ms:.3}")).unwrap_or_default();
            let rows = course.iter().map(|second| {
                let counts =
                    [second.answers, second.errors, second.waiting].map(|count| count.to_string());
                let times = [second.p50_ms, second.p99_ms].map(ms);
                [vec![format!("{:.1}", second.at)], counts.to_vec(), times.to_vec()].concat()
            });
            table(m, "Course", &columns, rows);
        },
    );
}
