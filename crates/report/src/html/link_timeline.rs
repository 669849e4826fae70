//! What the link did in the median trial of each contender of a group: the rate that its bottleneck sent at, its queue,
//! drops and marks, on the waterfall's time axis. Bins are drawn as steps in a box that stretches to any width.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis, pane};
use super::table::{figure, table, text};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::{self, Percent, duration};
use crate::overview::Group;
use crate::scale::Scale;
use crate::{Report, command, words};
use std::fmt::Write;
use study::result::{CellResult, MedianTrial};
use study::timeline::{Timeline, WayTimeline};
use trace::Direction;

/// The axis of the waterfall above the picture.
pub(super) struct Axis<'a> {
    /// The section's id.
    pub(super) id: &'a str,
    pub(super) scale: Scale,
}

pub(super) fn link_timeline(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, on: &Axis<'_>) {
    let cells = group.fastest_first();
    let panels: Vec<Panel<'_>> =
        cells.into_iter().filter_map(|cell| Panel::of(group, cell)).collect();
    let Some(direction) = busier(&panels) else { return };
    let drawing = Drawing::of(&panels, direction, on.scale);
    let bottom = drawing.height() * panels.len() as f64;
    let keys = command::sql_list(panels.iter().map(|panel| panel.median.key.as_str()));
    let query =
        format!("SELECT key, record -> 'timeline' AS timeline FROM trials WHERE key IN {keys}");
    let picture = Picture {
        id: format!("{}-timeline", on.id),
        title: title(group, &panels, direction),
        description: description(&drawing),
        key: drawing.key(),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(report.folder, &query),
    };
    let draw = |m: &mut Markup| {
        pane(m, on.scale, |m| axis(m, on.scale, 0.0, bottom));
        for (i, panel) in panels.iter().enumerate() {
            drawing.panel(m, panel, drawing.height() * i as f64);
        }
    };
    picture.write(m, draw, |m| figures(m, group, &panels));
}

/// One contender's median trial.
struct Panel<'a> {
    cell: &'a CellResult,
    hue: Hue,
    median: &'a MedianTrial,
    timeline: &'a Timeline,
}

impl<'a> Panel<'a> {
    fn of(group: &Group<'_>, cell: &'a CellResult) -> Option<Self> {
        let median = cell.median_trial.as_ref()?;
        let hue = group.hue(&cell.contender);
        Some(Self { cell, hue, median, timeline: median.timeline.as_ref()? })
    }

    fn line(&self, direction: Direction) -> String {
        let way = self.timeline.way(direction);
        let mut said = vec![match way.used(self.median.load_ms) {
            Some(share) => format!("{} of the rate used", whole(share)),
            None => format!("{} sent", kilobytes(way.sent_bytes())),
        }];
        if way.longest_queue_us() > 0 {
            let time = duration(way.longest_queue_us() as f64 / 1e3);
            said.push(format!("queue up to {time} ({})", kilobytes(way.most_queue_bytes())));
        }
        for event in Event::ALL {
            let count: u64 = event.counts(way).iter().sum();
            if count > 0 {
                said.push(format!("{} {}", number::count(count as f64), event.name()));
            }
        }
        said.join(", ")
    }
}

/// What can happen to a packet besides being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Dropped,
    Lost,
    Marked,
}

impl Event {
    const ALL: [Self; 3] = [Self::Dropped, Self::Lost, Self::Marked];

    fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Lost => "lost",
            Self::Marked => "marked",
        }
    }

    fn counts(self, way: &WayTimeline) -> &[u64] {
        match self {
            Self::Dropped => &way.dropped,
            Self::Lost => &way.lost,
            Self::Marked => &way.marked,
        }
    }
}

/// The direction in which the bottlenecks of all trials sent more. None where they sent nothing.
fn busier(panels: &[Panel<'_>]) -> Option<Direction> {
    let sent = |direction: Direction| -> u64 {
        panels.iter().map(|panel| panel.timeline.way(direction).sent_bytes()).sum()
    };
    let direction =
        if sent(Direction::Up) > sent(Direction::Down) { Direction::Up } else { Direction::Down };
    (sent(direction) > 0).then_some(direction)
}

/// What all panels share: the direction, the axes, and which events there are.
struct Drawing {
    direction: Direction,
    scale: Scale,
    /// The top of the upper area, in bits a second.
    most_rate: f64,
    /// The top of the lower area, in microseconds; zero where nothing queued.
    most_queue: u64,
    events: Vec<Event>,
}

/// In pixels: a panel's first line, its two areas, the line between them, the row of an event, and the gap below.
const HEAD: f64 = 25.0;
const RATE: f64 = 34.0;
const BETWEEN: f64 = 14.0;
const QUEUE: f64 = 28.0;
const EVENT: f64 = 7.0;
const GAP: f64 = 24.0;

impl Drawing {
    fn of(panels: &[Panel<'_>], direction: Direction, scale: Scale) -> Self {
        let ways = panels.iter().map(|panel| (panel, panel.timeline.way(direction)));
        let rate = |(panel, way): (&Panel<'_>, &WayTimeline)| {
            let peak = way.sent.iter().copied().max().unwrap_or(0);
            rate_of(peak, panel.timeline.bin_us).max(way.rate_bps.unwrap_or(0) as f64)
        };
        let happens = |event: &Event| ways.clone().any(|(_, way)| !event.counts(way).is_empty());
        Self {
            direction,
            scale,
            most_rate: ways.clone().map(rate).fold(0.0, f64::max),
            most_queue: ways.clone().map(|(_, way)| way.longest_queue_us()).max().unwrap_or(0),
            events: Event::ALL.into_iter().filter(happens).collect(),
        }
    }

    fn height(&self) -> f64 {
        let queue = if self.most_queue > 0 { BETWEEN + QUEUE } else { 0.0 };
        HEAD + RATE + queue + EVENT * self.events.len() as f64 + GAP
    }

    fn key(&self) -> Vec<(String, &'static str)> {
        let mut key = vec![("receive".to_owned(), "rate sent")];
        if self.most_queue > 0 {
            key.push(("wait".to_owned(), "time in the queue"));
        }
        key.extend(self.events.iter().map(|event| {
            let name = match event {
                Event::Dropped => "dropped by queue or policer",
                Event::Lost => "lost behind the bottleneck",
                Event::Marked => "marked (ECN)",
            };
            (event.name().to_owned(), name)
        }));
        key
    }

    fn panel(&self, m: &mut Markup, panel: &Panel<'_>, top: f64) {
        m.element("g", &[("class", &panel.hue.class())], |m| {
            let rate = rate_text(self.most_rate);
            let figures = panel.line(self.direction);
            let beside = rate.chars().count() + 2;
            Label { contender: &panel.cell.contender, figures: &figures, beside }
                .write(m, top + 14.0);
            pane(m, self.scale, |m| self.areas(m, panel, top, &rate));
        });
    }

    fn areas(&self, m: &mut Markup, panel: &Panel<'_>, top: f64, rate: &str) {
        let (timeline, way) = (panel.timeline, panel.timeline.way(self.direction));
        let rates = way.sent.iter().map(|&bytes| rate_of(bytes, timeline.bin_us) / self.most_rate);
        let mut y = top + HEAD;
        limit(m, y, rate);
        self.steps(m, timeline, &Area { class: "receive", y, height: RATE }, rates);
        y += RATE;
        line(m, y);
        if self.most_queue > 0 {
            y += BETWEEN;
            let most = self.most_queue as f64;
            limit(m, y, &format!("queue {}", duration(most / 1e3)));
            let waits = way.queue_us.iter().map(|&wait| wait as f64 / most);
            self.steps(m, timeline, &Area { class: "wait", y, height: QUEUE }, waits);
            y += QUEUE;
            line(m, y);
        }
        for &event in &self.events {
            let happened = event.counts(way).iter().map(|&count| f64::from(u8::from(count > 0)));
            let area = Area { class: event.name(), y: y + 2.0, height: EVENT - 2.0 };
            self.steps(m, timeline, &area, happened);
            y += EVENT;
        }
    }

    /// A step for each bin, as high as its share of the area.
    fn steps(
        &self,
        m: &mut Markup,
        timeline: &Timeline,
        area: &Area,
        shares: impl ExactSizeIterator<Item = f64>,
    ) {
        let bins = shares.len();
        if bins == 0 {
            return;
        }
        let end = (bins as u64 * timeline.bin_us) as f64 / 1e3;
        let (y, height) = (format!("{:.0}", area.y), format!("{:.0}", area.height));
        let view = format!("0 0 {bins} 100");
        let width = self.scale.width(0.0, end);
        m.element(
            "svg",
            &[
                ("width", &width),
                ("y", &y),
                ("height", &height),
                ("viewBox", &view),
                ("preserveAspectRatio", &"none"),
            ],
            |m| m.empty("path", &[("class", &area.class), ("d", &outline(shares))]),
        );
    }
}

/// Where an area is drawn, and how it is filled.
struct Area {
    class: &'static str,
    y: f64,
    height: f64,
}

/// The outline of steps with a width of 1 and a height of at most 100, from the left.
fn outline(shares: impl Iterator<Item = f64>) -> String {
    let mut path = String::from("M0 100");
    let mut before = 100;
    let mut end = 0;
    for (bin, share) in (0..).zip(shares) {
        // What is more than nothing is seen.
        let height = (share.clamp(0.0, 1.0) * 100.0).ceil() as u32;
        let level = 100 - height;
        if level != before {
            // Writing to a String cannot fail.
            let _ = write!(path, "H{bin}V{level}");
            before = level;
        }
        end = bin + 1;
    }
    let _ = write!(path, "H{end}V100z");
    path
}

/// A hairline across the picture.
fn line(m: &mut Markup, y: f64) {
    let y = format!("{y:.0}");
    m.element("g", &[("class", &"axis")], |m| {
        m.empty("line", &[("x1", &"0"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
    });
}

/// The line at the top of an area, with what it stands for at its right end.
fn limit(m: &mut Markup, y: f64, label: &str) {
    line(m, y);
    let above = format!("{:.0}", y - 3.0);
    let class = "tag";
    m.line(
        "text",
        &[("class", &class), ("x", &"100%"), ("y", &above), ("text-anchor", &"end")],
        label,
    );
}

fn figures(m: &mut Markup, group: &Group<'_>, panels: &[Panel<'_>]) {
    let caption = format!("The link's packets in the median trials on {}", group.link.name);
    let columns = [
        text("contender"),
        text("direction"),
        figure("bytes sent"),
        figure("rate used"),
        figure("longest wait in the queue"),
        figure("most bytes in the queue"),
        figure("dropped"),
        figure("lost"),
        figure("marked"),
    ];
    let row = |panel: &Panel<'_>, direction: Direction| {
        let way = panel.timeline.way(direction);
        let count = |figure: u64| number::count(figure as f64);
        let sum = |event: Event| count(event.counts(way).iter().sum());
        [
            panel.cell.contender.name.clone(),
            towards(direction).to_owned(),
            count(way.sent_bytes()),
            way.used(panel.median.load_ms)
                .map_or_else(|| "no limit".to_owned(), |u| Percent(u).to_string()),
            duration(way.longest_queue_us() as f64 / 1e3),
            count(way.most_queue_bytes()),
            sum(Event::Dropped),
            sum(Event::Lost),
            sum(Event::Marked),
        ]
    };
    let rows = panels
        .iter()
        .flat_map(|panel| [Direction::Down, Direction::Up].map(|direction| row(panel, direction)));
    table(m, &caption, &columns, rows);
}

fn title(group: &Group<'_>, panels: &[Panel<'_>], direction: Direction) -> String {
    let link = &group.link.name;
    let each = |text: &dyn Fn(&WayTimeline, &Panel<'_>) -> Option<String>| {
        let said: Vec<String> = panels
            .iter()
            .filter_map(|panel| {
                let text = text(panel.timeline.way(direction), panel)?;
                Some(format!("{} {text}", panel.cell.contender.name))
            })
            .collect();
        words::listed(&said)
    };
    let used = each(&|way, panel| way.used(panel.median.load_ms).map(whole));
    if used.is_empty() {
        let gone = |way: &WayTimeline| way.dropped.iter().chain(&way.lost).sum::<u64>();
        return format!(
            "Packets that {link} lost or dropped: {}",
            each(&|way, _| Some(number::count(gone(way) as f64)))
        );
    }
    let queues = each(&|way, _| {
        Some(match way.longest_queue_us() {
            0 => "none".to_owned(),
            micros => duration(micros as f64 / 1e3),
        })
    });
    format!("Share of the rate of {link} that was used: {used}. The longest queue: {queues}")
}

fn description(drawing: &Drawing) -> String {
    let mut text = format!(
        "The link {} in the same trials, on the same time axis. The upper area is the rate that its bottleneck sent at",
        towards(drawing.direction)
    );
    text.push_str(match drawing.most_queue {
        0 => ".",
        _ => ", the lower one the longest that a packet waited in its queue.",
    });
    if !drawing.events.is_empty() {
        text.push_str(" The rows of marks below show when packets were dropped, lost or marked.");
    }
    text
}

fn towards(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "towards the client",
        Direction::Up => "towards the server",
    }
}

/// In bits a second.
fn rate_of(bytes: u64, bin_us: u64) -> f64 {
    bytes as f64 * 8e6 / bin_us as f64
}

fn rate_text(bits: f64) -> String {
    let (value, unit) = match bits {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b => (b / 1e3, "kbit/s"),
    };
    let decimals = if value < 9.95 { 1 } else { 0 };
    format!("{value:.decimals$}\u{a0}{unit}")
}

fn kilobytes(bytes: u64) -> String {
    let (value, unit) =
        if bytes >= 1_000_000 { (bytes as f64 / 1e6, "MB") } else { (bytes as f64 / 1e3, "kB") };
    let decimals = if value < 9.95 { 1 } else { 0 };
    format!("{value:.decimals$}\u{a0}{unit}")
}

fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_one_line_and_small_ones_are_seen() {
        assert_eq!(outline([0.0, 0.5, 0.5, 0.001].into_iter()), "M0 100H1V50H3V99H4V100z");
        assert_eq!(outline([1.0].into_iter()), "M0 100H0V0H1V100z");
    }

    #[test]
    fn rates_and_sizes_have_the_unit_that_suits_them() {
        assert_eq!(rate_text(1_600_000.0), "1.6\u{a0}Mbit/s");
        assert_eq!(rate_text(rate_of(1_250, 1_000)), "10\u{a0}Mbit/s");
        assert_eq!(kilobytes(59_840), "60\u{a0}kB");
    }
}
