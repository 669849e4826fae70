//! Where the time of each median trial was spent: bars of parts that add up to the whole, on one axis.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis, shared_scale};
use super::table::{figure, table, text};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::duration;
use crate::overview::{Group, has_rate};
use crate::scale::{Position, Scale};
use crate::{Report, command};
use study::reconcile::Parts;
use study::result::{CellResult, MedianTrial};

pub(super) fn parts(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    let split: Vec<Split<'_>> =
        group.fastest_first().into_iter().filter_map(|cell| Split::of(group, cell)).collect();
    if split.is_empty() {
        return;
    }
    let scale = shared_scale(split.iter().map(|split| millis(split.parts.total_ns())));
    let bottom = ROW * split.len() as f64;
    let keys = command::sql_list(split.iter().map(|split| split.median.key.as_str()));
    let picture = Picture {
        id: format!("{id}-parts"),
        title: title(group, &split),
        description:
            "What each median load was spent on, along its critical path; the parts sum to the \
                      load time. Purple shades are round trips."
                .to_owned(),
        key: keys_of_parts(),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(
            report.folder,
            &format!("SELECT key, record -> 'parts' AS parts FROM trials WHERE key IN {keys}"),
        ),
    };
    let draw = |m: &mut Markup| {
        axis(m, scale, 0.0, bottom);
        for (i, split) in split.iter().enumerate() {
            split.draw(m, scale, ROW * i as f64);
        }
    };
    picture.write(m, draw, |m| figures(m, group, &split));
}

fn keys_of_parts() -> Vec<(String, &'static str)> {
    let names = Parts::default().named();
    names.iter().enumerate().map(|(i, (name, _))| (format!("part-{i}"), *name)).collect()
}

/// Height of a contender's row: its name, its bar, the labels of its parts.
const ROW: f64 = 74.0;

/// A median trial with the parts of its load time.
struct Split<'a> {
    cell: &'a CellResult,
    hue: Hue,
    median: &'a MedianTrial,
    parts: Parts,
}

impl<'a> Split<'a> {
    fn of(group: &Group<'_>, cell: &'a CellResult) -> Option<Self> {
        let median = cell.median_trial.as_ref()?;
        let hue = group.hue(&cell.contender);
        Some(Self { cell, hue, median, parts: median.parts.filter(|parts| parts.total_ns() > 0)? })
    }

    fn draw(&self, m: &mut Markup, scale: Scale, top: f64) {
        m.element("g", &[("class", &self.hue.class())], |m| {
            let load = duration(self.median.load_ms);
            let contender = &self.cell.contender;
            Label { contender, figures: &load, beside: 0 }.write(m, top + 16.0);
            let mut from = 0.0;
            for (index, (name, nanos)) in self.parts.named().into_iter().enumerate() {
                if nanos == 0 {
                    continue;
                }
                let to = from + millis(nanos);
                segment(m, &Segment { index, name, scale, from, to, top });
                from = to;
            }
        });
    }
}

/// One part of a bar.
struct Segment {
    index: usize,
    name: &'static str,
    scale: Scale,
    from: f64,
    to: f64,
    top: f64,
}

fn segment(m: &mut Markup, segment: &Segment) {
    let (x, width) =
        (segment.scale.at(segment.from), segment.scale.width(segment.from, segment.to));
    let y = format!("{:.0}", segment.top + 24.0);
    let class = format!("part part-{}", segment.index);
    let spent = duration(segment.to - segment.from);
    m.element("g", &[], |m| {
        m.line("title", &[], format!("{} {spent}", segment.name));
        m.empty(
            "rect",
            &[("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &"20")],
        );
    });
    label(m, segment, &spent, &x);
}

/// The name and the time of a part, below it, if they fit. The table has all of them.
fn label(m: &mut Markup, segment: &Segment, spent: &str, x: &Position) {
    let width = segment.scale.width(segment.from, segment.to);
    let fits = |text: &str, screen: f64| text.len() as f64 * LETTER < width.0 / 100.0 * screen;
    if !fits(segment.name, WIDE) {
        return;
    }
    let class = if fits(segment.name, PHONE) { "tag" } else { "tag wide" };
    let y = format!("{:.0}", segment.top + 58.0);
    m.element("text", &[("class", &class), ("x", x), ("y", &y)], |m| {
        m.line("tspan", &[], segment.name);
        if fits(&format!("{}  {spent}", segment.name), WIDE) {
            m.line("tspan", &[("class", &"wide"), ("dx", &"5")], spent);
        }
    });
}

/// In pixels: the greatest width of a label's letter, and the least width of a picture on a wide screen and on a phone.
const LETTER: f64 = 6.2;
const WIDE: f64 = 664.0;
const PHONE: f64 = 320.0;

fn figures(m: &mut Markup, group: &Group<'_>, split: &[Split<'_>]) {
    let caption = format!("Parts of the median load times on {}, in ms", group.link.name);
    let mut columns = vec![text("part")];
    columns.extend(split.iter().map(|split| figure(&split.cell.contender.name)));
    let names = Parts::default().named().map(|(name, _)| name);
    let mut rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let mut row = vec![(*name).to_owned()];
            row.extend(split.iter().map(|split| in_ms(split.parts.named()[index].1)));
            row
        })
        .collect();
    let mut total = vec!["load time".to_owned()];
    total.extend(split.iter().map(|split| in_ms(split.parts.total_ns())));
    rows.push(total);
    table(m, &caption, &columns, rows);
}

fn title(group: &Group<'_>, split: &[Split<'_>]) -> String {
    let shares: Vec<String> = split
        .iter()
        .map(|split| {
            let waits = split.parts.round_trips_ns() as f64 / split.parts.total_ns() as f64;
            format!("{} {:.0} %", split.cell.contender.name, waits * 100.0)
        })
        .collect();
    let shares = crate::words::listed(&shares);
    // Without a rate the parts do not tell the path's time from the ends'.
    if !split.iter().all(|split| has_rate(split.median)) {
        return format!("Parts of the load time on {}", group.link.name);
    }
    format!("Share of the load time on {} spent on round trips: {shares}", group.link.name)
}

fn in_ms(nanos: u64) -> String {
    format!("{:.2}", millis(nanos))
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
