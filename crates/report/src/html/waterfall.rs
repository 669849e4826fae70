//! The median trial of each contender of a group as a waterfall: one bar a fetch, all on one time axis. With more
//! fetches the rows become thinner and fewer have labels, so that hundreds of them remain one picture.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis, pane, shared_scale, side_name};
use super::table::{figure, table, text};
use crate::file_name::file_name;
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::{self, duration};
use crate::overview::{Group, measured_load};
use crate::scale::{Position, Scale};
use crate::sent::{self, SentPiece};
use crate::timing::{self, Phase, Span};
use crate::{Report, command};
use study::deciding_metric;
use study::metric;
use study::record::TrialRecord;
use study::result::CellResult;
use trace::{FetchOutcome, FetchRecord};

/// Draws the median trials. Returns their time axis, for a picture below it; None where there is nothing to draw.
pub(super) fn waterfall(
    m: &mut Markup,
    report: &Report<'_>,
    group: &Group<'_>,
    id: &str,
) -> Option<Scale> {
    let cells = group.fastest_first().into_iter();
    let panels: Vec<Panel<'_>> =
        cells.filter_map(|cell| Panel::of_median(report, group, cell)).collect();
    if panels.is_empty() {
        return None;
    }
    let description = format!(
        "The median trial of each contender, all on one time axis from zero. A bar is a fetch, from the wish to \
         its last byte.{}{}",
        match panels.iter().any(Panel::tells_pieces) {
            true =>
                " The short strips in it are the pieces of its body, where wirelap's server gave them to its socket.",
            false => "",
        },
        // Without this line the picture could seem to contradict the verdict.
        match deciding_metric(group.workload) {
            metric::WALL_MS =>
                " The start and the end of the client's process, which count too, are not in it.",
            _ => "",
        }
    );
    let title = title(group, &panels);
    let drawing = Drawing { id: format!("{id}-waterfall"), title, description, panels };
    Some(drawing.write(m, report))
}

/// The best, the median and the worst trial of each contender whose trials spread, folded.
pub(super) fn extremes(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    let cells = group.fastest_first().into_iter();
    let panels: Vec<Panel<'_>> =
        cells.flat_map(|cell| Panel::of_extremes(report, group, cell)).collect();
    if panels.is_empty() {
        return;
    }
    let mut names: Vec<&str> =
        panels.iter().map(|panel| panel.cell.contender.name.as_str()).collect();
    names.dedup();
    let names = crate::words::listed(&names);
    let title =
        format!("On {}, trials spread with {names}: best, median and worst", group.link.name);
    let description = format!(
        "Where the worst trial took {:.0} % longer than the best, or more.",
        (SPREAD - 1.0) * 100.0
    );
    let drawing = Drawing { id: format!("{id}-extremes"), title, description, panels };
    m.element("details", &[], |m| {
        m.line("summary", &[], "Best, median and worst trials");
        drawing.write(m, report);
    });
}

/// The worst trial's time over the best's from which both are shown.
const SPREAD: f64 = 1.1;

/// Trials under each other on one time axis.
struct Drawing<'a> {
    id: String,
    title: String,
    description: String,
    panels: Vec<Panel<'a>>,
}

impl Drawing<'_> {
    fn write(&self, m: &mut Markup, report: &Report<'_>) -> Scale {
        let panels = &self.panels;
        let scale = shared_scale(panels.iter().flat_map(|panel| panel.bars.iter().map(Bar::end)));
        let bottom: f64 = panels.iter().map(Panel::height).sum();
        let picture = Picture {
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            key: key(panels),
            height: bottom + AXIS_HEIGHT,
            command: command::rows(report.folder, &query(panels)),
        };
        let draw = |m: &mut Markup| {
            pane(m, scale, |m| axis(m, scale, 0.0, bottom));
            let mut top = 0.0;
            for panel in panels {
                panel.draw(m, scale, top);
                top += panel.height();
            }
        };
        picture.write(m, draw, |m| panels.iter().for_each(|panel| panel.figures(m)));
        scale
    }
}

/// One trial.
struct Panel<'a> {
    cell: &'a CellResult,
    hue: Hue,
    trial: &'a TrialRecord,
    /// What stands behind the contender's name.
    line: String,
    bars: Vec<Bar<'a>>,
}

/// One fetch.
struct Bar<'a> {
    fetch: &'a FetchRecord,
    spans: Vec<Span>,
    /// What the server sent of it, and when; empty where it does not tell.
    sent: Vec<SentPiece>,
    /// What it is called beside the bar.
    name: String,
}

impl Bar<'_> {
    fn start(&self) -> f64 {
        self.spans.first().map_or(0.0, |span| span.from)
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
    fn of_median(report: &Report<'a>, group: &Group<'_>, cell: &'a CellResult) -> Option<Self> {
        Self::of(group, cell, report.median_row(cell)?, figures_line(cell))
    }

    /// Three trials where they spread, else none.
    fn of_extremes(report: &Report<'a>, group: &Group<'_>, cell: &'a CellResult) -> Vec<Self> {
        let mut timed: Vec<(f64, &'a TrialRecord)> = report
            .trials(cell)
            .into_iter()
            .filter_map(|trial| Some((measured_load(trial)?, trial)))
            .collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ([(best_ms, best), .., (worst_ms, worst)], Some(median)) =
            (timed.as_slice(), report.median_row(cell))
        else {
            return Vec::new();
        };
        if timed.len() < 3 || worst_ms / best_ms < SPREAD {
            return Vec::new();
        }
        let all = timed.len();
        let line = |what: &str, ms: f64| format!("{what} of {all}: {}", duration(ms));
        let middle = measured_load(median).map_or_else(String::new, |ms| line("median", ms));
        let shown =
            [(*best, line("best", *best_ms)), (median, middle), (*worst, line("worst", *worst_ms))];
        shown.into_iter().filter_map(|(trial, line)| Self::of(group, cell, trial, line)).collect()
    }

    fn of(
        group: &Group<'_>,
        cell: &'a CellResult,
        trial: &'a TrialRecord,
        line: String,
    ) -> Option<Self> {
        let origin = timing::origin(&trial.fetches);
        let mut bars: Vec<Bar<'a>> = trial
            .fetches
            .iter()
            .map(|fetch| Bar {
                fetch,
                spans: timing::spans(fetch, origin),
                sent: sent::pieces(&trial.deliveries, fetch, origin),
                name: file_name(&fetch.url),
            })
            .collect();
        bars.sort_by_key(|bar| (bar.fetch.phases.queued, bar.fetch.id));
        let hue = group.hue(&cell.contender);
        (!bars.is_empty()).then_some(Self { cell, hue, trial, line, bars })
    }

    fn tells_pieces(&self) -> bool {
        self.bars.iter().any(|bar| !bar.sent.is_empty())
    }

    /// From one bar to the next, in pixels.
    fn pitch(&self) -> f64 {
        (ROWS_HEIGHT / self.bars.len() as f64).clamp(1.5, 15.0)
    }

    fn height(&self) -> f64 {
        HEAD + self.pitch() * self.bars.len() as f64 + GAP
    }

    fn draw(&self, m: &mut Markup, scale: Scale, top: f64) {
        m.element("g", &[("class", &self.hue.class())], |m| {
            let (contender, figures) = (&self.cell.contender, self.line.as_str());
            Label { contender, figures, beside: 0 }.write(m, top + 15.0);
            let pitch = self.pitch();
            // A label needs this much height to be read.
            let every = (12.0 / pitch).ceil() as usize;
            let y = |i: usize| top + HEAD + pitch * i as f64;
            let mut last = None;
            for (i, bar) in self.bars.iter().enumerate() {
                let is_free = last.is_none_or(|last| i - last >= every);
                if is_free && (i % every == 0 || bar.failed().is_some()) {
                    let class = if bar.failed().is_some() { "tag failed" } else { "tag" };
                    side_name(m, &bar.name, class, y(i) + pitch / 2.0 + 3.5);
                    last = Some(i);
                }
            }
            pane(m, scale, |m| {
                for (i, bar) in self.bars.iter().enumerate() {
                    self.bar(m, bar, scale, y(i));
                }
            });
        });
    }

    fn bar(&self, m: &mut Markup, bar: &Bar<'_>, scale: Scale, y: f64) {
        let pitch = self.pitch();
        let thick = if pitch >= 4.0 { pitch - (pitch * 0.25).min(3.0) } else { pitch };
        m.element("g", &[], |m| {
            m.line("title", &[], hint(bar));
            for span in &bar.spans {
                let (x, width) = (scale.at(span.from), scale.width(span.from, span.to));
                let (height, y) = match span.phase {
                    Phase::Queued => ((thick / 4.0).min(1.0), y + thick / 2.0 - 0.5),
                    _ => (thick, y),
                };
                Area { x, width, y, height }.draw(m, span.phase.class());
            }
            for piece in &bar.sent {
                let (x, width) = (scale.at(piece.from), scale.width(piece.from, piece.to));
                // Less than four pixels is not seen.
                let height = (thick * 0.4).max(4.0).min(thick);
                let y = y + thick - height;
                Area { x, width, y, height }.draw(m, "sent");
                // A rectangle without a width is not drawn: most pieces are sent at once.
                let (top, bottom) = (format!("{y:.1}"), format!("{:.1}", y + height));
                let place: [(&str, &dyn std::fmt::Display); 5] =
                    [("class", &"sent-at"), ("x1", &x), ("x2", &x), ("y1", &top), ("y2", &bottom)];
                m.empty("line", &place);
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
        columns.extend([figure("ends, ms"), figure("body, bytes"), text("failed")]);
        if self.tells_pieces() {
            columns.push(text("sent by the server, ms"));
        }
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
            row.extend([
                format!("{:.1}", bar.end()),
                number::count(bar.fetch.body_bytes as f64),
                bar.failed().unwrap_or_default().to_owned(),
            ]);
            if self.tells_pieces() {
                row.push(sent_in_words(&bar.sent));
            }
            row
        });
        table(m, &caption, &columns, rows);
    }
}

/// The height in pixels of all bars of one contender, if it has enough of them.
const ROWS_HEIGHT: f64 = 300.0;
/// Pixels of the line over the bars.
const HEAD: f64 = 26.0;
/// Pixels between contenders.
const GAP: f64 = 22.0;

/// What the colours mean.
fn key(panels: &[Panel<'_>]) -> Vec<(String, &'static str)> {
    let phases = Phase::ALL.map(|phase| (phase.class().to_owned(), phase.name()));
    let sent =
        panels.iter().any(Panel::tells_pieces).then(|| ("sent".to_owned(), "sent by the server"));
    phases.into_iter().chain(sent).collect()
}

/// Where a rectangle stands: along the axis, and from above in pixels.
struct Area {
    x: Position,
    width: Position,
    y: f64,
    height: f64,
}

impl Area {
    fn draw(&self, m: &mut Markup, class: &str) {
        let Self { x, width, y, height } = self;
        let (y, height) = (format!("{y:.1}"), format!("{height:.1}"));
        let attributes: [(&str, &dyn std::fmt::Display); 5] =
            [("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)];
        m.empty("rect", &attributes);
    }
}

/// `815.2`, `815.2 to 1988.1, 7 pieces`: from the first piece of a body to the last.
fn sent_in_words(pieces: &[SentPiece]) -> String {
    match pieces {
        [] => String::new(),
        [one] if one.from == one.to => format!("{:.1}", one.from),
        [one] => format!("{:.1} to {:.1}", one.from, one.to),
        [first, .., last] => {
            format!("{:.1} to {:.1}, {} pieces", first.from, last.to, pieces.len())
        }
    }
}

fn figures_line(cell: &CellResult) -> String {
    let Some(median) = &cell.median_trial else { return String::new() };
    let some =
        |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut figures = vec![duration(median.load_ms), some(median.connections, "connection")];
    figures.extend(median.rounds.map(|rounds| some(rounds, "request round trip")));
    figures.join(", ")
}

fn hint(bar: &Bar<'_>) -> String {
    let mut hint = bar.fetch.url.clone();
    for phase in Phase::ALL {
        let spent = timing::spent(&bar.spans, phase);
        if spent > 0.0 {
            hint.push_str(&format!("\n{} {}", phase.name(), duration(spent)));
        }
    }
    if let Some(reason) = bar.failed() {
        hint.push_str(&format!("\nfailed: {reason}"));
    }
    hint
}

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
