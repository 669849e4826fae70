//! The median trial of each contender of a group as a waterfall: one bar a fetch, all on one time axis. With more
//! fetches the rows become thinner and fewer have labels, so that hundreds of them remain one picture.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis, shared_scale};
use super::table::{figure, table, text};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::{self, duration};
use crate::overview::Group;
use crate::scale::Scale;
use crate::timing::{self, Phase, Span};
use crate::{Report, command};
use study::deciding_metric;
use study::metric;
use study::record::TrialRecord;
use study::result::CellResult;
use trace::{FetchOutcome, FetchRecord};

/// Draws it. Returns its time axis, for a picture below it; None where there is nothing to draw.
pub(super) fn waterfall(
    m: &mut Markup,
    report: &Report<'_>,
    group: &Group<'_>,
    id: &str,
) -> Option<Scale> {
    let panels: Vec<Panel<'_>> =
        group.fastest_first().into_iter().filter_map(|cell| Panel::of(report, cell)).collect();
    if panels.is_empty() {
        return None;
    }
    let ends = panels.iter().flat_map(|panel| panel.bars.iter().map(Bar::end));
    let scale = shared_scale(ends);
    let bottom: f64 = panels.iter().map(Panel::height).sum();
    let picture = Picture {
        id: format!("{id}-waterfall"),
        title: title(group, &panels),
        description: format!(
            "The median trial of each contender, all on one time axis from zero. A bar is a fetch, from the wish to \
             its last byte.{}{}",
            match panels.iter().any(Panel::has_pieces) {
                true =>
                    " It is darkest while its own bytes came out of the link, and thin while it waited for the rest of them.",
                false => "",
            },
            // Without this line the picture could seem to contradict the verdict.
            match deciding_metric(group.workload) {
                metric::WALL_MS =>
                    " The start and the end of the client's process, which count too, are not in it.",
                _ => "",
            }
        ),
        key: key(panels.iter().any(Panel::has_pieces)),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(report.folder, &query(&panels)),
    };
    let draw = |m: &mut Markup| {
        axis(m, scale, 0.0, bottom);
        let mut top = 0.0;
        for panel in &panels {
            panel.draw(m, scale, top);
            top += panel.height();
        }
    };
    picture.write(m, draw, |m| panels.iter().for_each(|panel| panel.figures(m)));
    Some(scale)
}

/// The legend. Where it is known when the bytes of a body came, the time between them has a fill of its own.
fn key(has_pieces: bool) -> Vec<(String, &'static str)> {
    let mut key = Phase::ALL.map(|phase| (phase.class().to_owned(), phase.name())).to_vec();
    if has_pieces {
        key.push((BETWEEN.to_owned(), "between its bytes"));
    }
    key
}

/// The class of the time between the first byte and the last in which other bytes came.
const BETWEEN: &str = "between";

/// One contender's median trial.
struct Panel<'a> {
    cell: &'a CellResult,
    trial: &'a TrialRecord,
    bars: Vec<Bar<'a>>,
}

/// One fetch.
struct Bar<'a> {
    fetch: &'a FetchRecord,
    spans: Vec<Span>,
    /// From when to when bytes of its body came; empty where that is not known.
    came: Vec<(f64, f64)>,
}

impl Bar<'_> {
    fn start(&self) -> f64 {
        self.spans.first().map_or(0.0, |span| span.from)
    }

    /// When it stopped queueing.
    fn began(&self) -> f64 {
        let busy = self.spans.iter().find(|span| span.phase != Phase::Queued);
        busy.or(self.spans.last()).map_or(0.0, |span| span.from)
    }

    fn end(&self) -> f64 {
        self.spans.last().map_or(0.0, |span| span.to)
    }

    fn failed(&self) -> Option<&str> {
        match &self.fetch.outcome {
            FetchOutcome::Done => None,
            FetchOutcome::Failed(reason) => Some(reason),
        }
    }
}

impl<'a> Panel<'a> {
    fn of(report: &Report<'a>, cell: &'a CellResult) -> Option<Self> {
        let trial = report.median_row(cell)?;
        let origin = timing::origin(&trial.fetches);
        let mut bars: Vec<Bar<'a>> = trial
            .fetches
            .iter()
            .map(|fetch| {
                let came = timing::came(fetch, &trial.deliveries, origin);
                Bar { fetch, spans: timing::spans(fetch, origin), came }
            })
            .collect();
        bars.sort_by_key(|bar| (bar.fetch.phases.queued, bar.fetch.id));
        (!bars.is_empty()).then_some(Self { cell, trial, bars })
    }

    fn has_pieces(&self) -> bool {
        self.bars.iter().any(|bar| !bar.came.is_empty())
    }

    /// From one bar to the next, in pixels.
    fn pitch(&self) -> f64 {
        (ROWS_HEIGHT / self.bars.len() as f64).clamp(1.5, 15.0)
    }

    fn height(&self) -> f64 {
        HEAD + self.pitch() * self.bars.len() as f64 + GAP
    }

    fn draw(&self, m: &mut Markup, scale: Scale, top: f64) {
        m.element("g", &[("class", &Hue::of(&self.cell.contender).class())], |m| {
            let (contender, figures) = (&self.cell.contender, &self.figures_line());
            Label { contender, figures, beside: 0 }.write(m, top + 15.0);
            let pitch = self.pitch();
            // A label needs this much height to be read.
            let every = (12.0 / pitch).ceil() as usize;
            for (i, bar) in self.bars.iter().enumerate() {
                let y = top + HEAD + pitch * i as f64;
                self.bar(m, bar, scale, y);
            }
            // After all bars, so that none covers a label.
            for (i, bar) in self.bars.iter().enumerate() {
                let y = top + HEAD + pitch * i as f64;
                if i % every == 0 || bar.failed().is_some() {
                    label(m, bar, scale, y + pitch / 2.0 + 3.5);
                }
            }
        });
    }

    fn figures_line(&self) -> String {
        let Some(median) = &self.cell.median_trial else { return String::new() };
        let some =
            |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut figures = vec![duration(median.load_ms), some(median.connections, "connection")];
        figures.extend(median.rounds.map(|rounds| some(rounds, "request round trip")));
        figures.join(", ")
    }

    fn bar(&self, m: &mut Markup, bar: &Bar<'_>, scale: Scale, y: f64) {
        let pitch = self.pitch();
        let thick = if pitch >= 4.0 { pitch - (pitch * 0.25).min(3.0) } else { pitch };
        m.element("g", &[], |m| {
            m.line("title", &[], hint(bar));
            for span in &bar.spans {
                let (class, height, y) = match span.phase {
                    Phase::Queued => ("queued", (thick / 4.0).min(1.0), y + thick / 2.0 - 0.5),
                    Phase::Receive if !bar.came.is_empty() => {
                        (BETWEEN, thick * 0.35, y + thick * 0.325)
                    }
                    phase => (phase.class(), thick, y),
                };
                rect(m, class, scale, Stretch { from: span.from, to: span.to, y, height });
            }
            for &(from, to) in &bar.came {
                let stretch = Stretch { from, to, y, height: thick };
                rect(m, Phase::Receive.class(), scale, stretch);
            }
        });
    }

    fn figures(&self, m: &mut Markup) {
        let caption = format!(
            "{} on {}, trial {}",
            self.cell.contender.name, self.cell.link.name, self.trial.plan.key
        );
        let mut columns =
            vec![text("fetch"), figure("connection"), figure("status"), figure("begins, ms")];
        columns.extend(Phase::ALL.map(|phase| figure(format!("{}, ms", phase.name()))));
        columns.extend([figure("ends, ms"), figure("body, bytes")]);
        if self.has_pieces() {
            columns.push(text("bytes came, ms"));
        }
        columns.push(text("failed"));
        let rows = self.bars.iter().map(|bar| {
            let mut row = vec![
                bar.fetch.url.clone(),
                bar.fetch.connection.map(|id| id.to_string()).unwrap_or_default(),
                bar.fetch.status.map(|status| status.to_string()).unwrap_or_default(),
                format!("{:.1}", bar.start()),
            ];
            row.extend(Phase::ALL.map(|phase| {
                let spent = timing::spent(&bar.spans, phase);
                if spent > 0.0 { format!("{spent:.1}") } else { String::new() }
            }));
            row.extend([format!("{:.1}", bar.end()), number::count(bar.fetch.body_bytes as f64)]);
            if self.has_pieces() {
                row.push(stretches(&bar.came));
            }
            row.push(bar.failed().unwrap_or_default().to_owned());
            row
        });
        table(m, &caption, &columns, rows);
    }
}

/// A stretch of a bar: times in milliseconds, heights in pixels.
struct Stretch {
    from: f64,
    to: f64,
    y: f64,
    height: f64,
}

fn rect(m: &mut Markup, class: &str, scale: Scale, Stretch { from, to, y, height }: Stretch) {
    let (x, width) = (scale.at(from), scale.width(from, to));
    let (y, height) = (format!("{y:.1}"), format!("{height:.1}"));
    let attributes: [(&str, &dyn std::fmt::Display); 5] =
        [("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)];
    m.empty("rect", &attributes);
}

/// The height in pixels of all bars of one contender, if it has enough of them.
const ROWS_HEIGHT: f64 = 300.0;
/// Pixels of the line over the bars.
const HEAD: f64 = 26.0;
/// Pixels between contenders.
const GAP: f64 = 22.0;

fn label(m: &mut Markup, bar: &Bar<'_>, scale: Scale, y: f64) {
    let y = format!("{y:.1}");
    let class = if bar.failed().is_some() { "tag failed" } else { "tag" };
    let (start, end) = (scale.at(bar.began()), scale.at(bar.end()));
    // Right of the bar. If it does not fit there, left of it. Otherwise inside, at the right end.
    let (at, anchor, shift) = match (start.0, end.0) {
        (_, end_at) if end_at < 72.0 => (end, "start", "5"),
        (start_at, _) if start_at > 28.0 => (start, "end", "-5"),
        _ => (end, "end", "-8"),
    };
    m.line(
        "text",
        &[("class", &class), ("x", &at), ("dx", &shift), ("y", &y), ("text-anchor", &anchor)],
        short_name(&bar.fetch.url),
    );
}

/// When bytes came, in words.
fn stretches(came: &[(f64, f64)]) -> String {
    let mut words: Vec<String> = came
        .iter()
        .take(MOST_STRETCHES)
        .map(|(from, to)| format!("{from:.1} to {to:.1}"))
        .collect();
    if came.len() > MOST_STRETCHES {
        words.push(format!("{} more", came.len() - MOST_STRETCHES));
    }
    words.join(", ")
}

/// Stretches of a fetch that the table names.
const MOST_STRETCHES: usize = 6;

fn hint(bar: &Bar<'_>) -> String {
    let mut hint = bar.fetch.url.clone();
    for phase in Phase::ALL {
        let spent = timing::spent(&bar.spans, phase);
        if spent > 0.0 {
            hint.push_str(&format!("\n{} {}", phase.name(), duration(spent)));
        }
    }
    if !bar.came.is_empty() {
        hint.push_str(&format!("\nits bytes came at {} ms", stretches(&bar.came)));
    }
    if let Some(reason) = bar.failed() {
        hint.push_str(&format!("\nfailed: {reason}"));
    }
    hint
}

/// The part of a URL that distinguishes it from its neighbours.
fn short_name(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name = if last.is_empty() { host } else { last };
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

const LONGEST_NAME: usize = 24;

fn title(group: &Group<'_>, panels: &[Panel<'_>]) -> String {
    let ends: Vec<String> = panels
        .iter()
        .filter_map(|panel| {
            let median = panel.cell.median_trial.as_ref()?;
            Some(format!("{} after {}", panel.cell.contender.name, duration(median.load_ms)))
        })
        .collect();
    format!(
        "On {}, the median trial is complete with {}",
        group.link.name,
        crate::words::listed(&ends)
    )
}

fn query(panels: &[Panel<'_>]) -> String {
    let keys = command::sql_list(panels.iter().map(|panel| panel.trial.plan.key.as_str()));
    format!("SELECT * FROM fetches WHERE key IN {keys} ORDER BY key, id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_called_by_the_end_of_its_path() {
        assert_eq!(short_name("https://far:443/img/1.png?v=2"), "1.png?v=2");
        assert_eq!(short_name("https://far/"), "far");
        assert_eq!(short_name("no url at all"), "no url at all");
        assert_eq!(short_name(&format!("https://far/{}", "é".repeat(40))).chars().count(), 25);
    }
}
