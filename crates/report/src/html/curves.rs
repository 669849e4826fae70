//! From the median to the slowest exchanges: a line a contender through the percentiles of its calls.

use super::picture::{AXIS_HEIGHT, Picture, axis, shared_scale};
use super::table::{figure, table, text};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::duration;
use crate::overview::Group;
use crate::scale::Scale;
use crate::{Report, command, words};
use std::fmt::Write;
use study::experiment::WorkloadKind;
use study::result::CellResult;
use study::stats::Percentile;

/// Draws it for calls and echoes; nothing of other workloads, and where there are too few samples for two percentiles.
pub(super) fn curves(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    if !matches!(group.workload.kind, WorkloadKind::Calls(_) | WorkloadKind::Echo(_)) {
        return;
    }
    let lines: Vec<Line<'_>> =
        group.fastest_first().into_iter().filter_map(|cell| Line::of(group, cell)).collect();
    let Some(longest) = lines.iter().max_by_key(|line| line.at.len()) else { return };
    let shares: Vec<f64> = longest.at.iter().map(|one| one.share).collect();
    let scale = shared_scale(lines.iter().flat_map(|line| line.at.iter().map(|one| one.ms)));
    let plot = ROW * shares.len() as f64;
    let bottom = plot + LABEL * lines.len() as f64;
    let picture = Picture {
        id: format!("{id}-percentiles"),
        title: title(group, &lines),
        description: "Single exchanges of all measured trials together. A line leads from the median down to the slowest \
                      percentile that so many samples support."
            .to_owned(),
        key: Vec::new(),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(report.folder, &query(group)),
    };
    let draw = |m: &mut Markup| {
        axis(m, scale, 0.0, bottom);
        for (row, share) in shares.iter().enumerate() {
            let y = format!("{:.0}", ROW * (row as f64 + 0.5) + 4.0);
            m.line("text", &[("class", &"tag"), ("x", &"0"), ("y", &y)], name(*share));
        }
        for (place, line) in lines.iter().enumerate() {
            line.draw(m, scale, plot + LABEL * (place as f64 + 1.0));
        }
    };
    picture.write(m, draw, |m| figures(m, group, &lines, &shares));
}

/// Height of a percentile, and of a contender's name below them, in pixels.
const ROW: f64 = 34.0;
const LABEL: f64 = 17.0;

struct Line<'a> {
    cell: &'a CellResult,
    hue: Hue,
    at: &'a [Percentile],
}

impl<'a> Line<'a> {
    fn of(group: &Group<'_>, cell: &'a CellResult) -> Option<Self> {
        let at = &cell.samples.as_ref()?.at;
        (at.len() > 1).then(|| Self { cell, hue: group.hue(&cell.contender), at })
    }

    fn draw(&self, m: &mut Markup, scale: Scale, label: f64) {
        m.element("g", &[("class", &self.hue.class())], |m| {
            let mut path = String::new();
            for (row, one) in self.at.iter().enumerate() {
                let letter = if row == 0 { 'M' } else { 'L' };
                // Writing to a String cannot fail.
                let _ = write!(path, "{letter}{:.2} {:.0}", scale.at(one.ms).0, middle(row));
            }
            let height = format!("{:.0}", ROW * self.at.len() as f64);
            let view = format!("0 0 100 {height}");
            m.element(
                "svg",
                &[
                    ("width", &"100%"),
                    ("height", &height),
                    ("viewBox", &view),
                    ("preserveAspectRatio", &"none"),
                ],
                |m| m.empty("path", &[("class", &"curve"), ("d", &path)]),
            );
            for (row, one) in self.at.iter().enumerate() {
                let (x, y) = (scale.at(one.ms), format!("{:.0}", middle(row)));
                m.element(
                    "circle",
                    &[("class", &"dot"), ("cx", &x), ("cy", &y), ("r", &"3.5")],
                    |m| {
                        let hint = format!(
                            "{} {} {}",
                            self.cell.contender.name,
                            name(one.share),
                            duration(one.ms)
                        );
                        m.line("title", &[], hint);
                    },
                );
            }
            let Some(last) = self.at.last() else { return };
            let (x, y) = (scale.at(last.ms), format!("{label:.0}"));
            let anchor = if x.0 > 50.0 { "end" } else { "start" };
            m.line(
                "text",
                &[("class", &"label name"), ("x", &x), ("y", &y), ("text-anchor", &anchor)],
                &self.cell.contender.name,
            );
        });
    }
}

fn middle(row: usize) -> f64 {
    ROW * (row as f64 + 0.5)
}

/// `p99.9`, to a ten-thousandth of a percent: 0.999 times 100 is not 99.9.
fn name(share: f64) -> String {
    format!("p{}", (share * 1e8).round() / 1e6)
}

fn title(group: &Group<'_>, lines: &[Line<'_>]) -> String {
    let told: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let (first, last) = (line.at.first()?, line.at.last()?);
            let name_of_last = name(last.share);
            Some(format!(
                "{} {} to {} ({name_of_last})",
                line.cell.contender.name,
                duration(first.ms),
                duration(last.ms)
            ))
        })
        .take(3)
        .collect();
    let more = match lines.len() {
        0..=3 => String::new(),
        all => format!(", and {} more", all - 3),
    };
    format!("From the median to the slowest on {}: {}{more}", group.link.name, words::listed(&told))
}

fn figures(m: &mut Markup, group: &Group<'_>, lines: &[Line<'_>], shares: &[f64]) {
    let caption = format!("Percentiles of single exchanges on {}, in ms", group.link.name);
    let mut columns = vec![text("contender")];
    columns.extend(shares.iter().map(|share| figure(name(*share))));
    let rows = lines.iter().map(|line| {
        let time = |share: &f64| {
            let of_share = line.at.iter().find(|one| one.share == *share);
            of_share.map(|one| format!("{:.3}", one.ms)).unwrap_or_default()
        };
        let mut row = vec![line.cell.contender.name.clone()];
        row.extend(shares.iter().map(time));
        row
    });
    table(m, &caption, &columns, rows);
}

fn query(group: &Group<'_>) -> String {
    let (link, workload) = (command::sql(&group.link.name), command::sql(&group.workload.name));
    format!(
        "SELECT f.* FROM fetches f JOIN trials t ON t.key = f.key WHERE t.link = {link} AND t.workload = {workload} \
         AND f.key IN counted AND t.outcome = 'measured'"
    )
}
