//! How much each trial took less or more than the baseline's of the same block: on an axis of differences, which shows what
//! the axis from zero is too coarse for. Blocks stand below each other in their order, so that a drift shows too.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis_of, lines};
use super::table::{figure, table, text};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::{self, duration};
use crate::overview::{Group, load, measured_load};
use crate::scale::DifferenceScale;
use crate::{Report, command, words};
use study::deciding_metric;
use study::result::CellResult;

/// Draws it; nothing where no block has both.
pub(super) fn differences(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    let rows: Vec<Row<'_>> =
        group.fastest_first().into_iter().filter_map(|cell| Row::of(report, group, cell)).collect();
    let all = rows.iter().flat_map(|row| row.pairs.iter().map(Pair::difference));
    let (Some(scale), Some(baseline)) = (DifferenceScale::of(all), group.baseline()) else {
        return;
    };
    let bottom: f64 = rows.iter().map(Row::height).sum();
    let baseline = &baseline.contender.name;
    let picture = Picture {
        id: format!("{id}-differences"),
        title: format!("Block by block on {}: less or more time than {baseline}", group.link.name),
        description: format!(
            "A dot is a block: its trial's time less that of {baseline}. Blocks follow each other downwards. The black line is \
             no difference; the mark is the difference of the medians."
        ),
        key: Vec::new(),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(report.folder, &query(group)),
    };
    let draw = |m: &mut Markup| {
        axis_of(m, scale.ticks(), bottom, bottom);
        let mut top = 0.0;
        for row in &rows {
            row.draw(m, scale, top);
            top += row.height();
        }
    };
    picture.write(m, draw, |m| figures(m, group, &rows));
}

/// A contender beside the baseline.
struct Row<'a> {
    cell: &'a CellResult,
    hue: Hue,
    /// The difference of the medians, in milliseconds.
    medians: Option<f64>,
    line: String,
    pairs: Vec<Pair>,
}

/// A block's two trials, in milliseconds.
struct Pair {
    block: u32,
    own: f64,
    baseline: f64,
}

impl Pair {
    fn difference(&self) -> f64 {
        self.own - self.baseline
    }
}

impl<'a> Row<'a> {
    /// None for the baseline, and where no block has both times.
    fn of(report: &Report<'_>, group: &Group<'_>, cell: &'a CellResult) -> Option<Self> {
        let ranked = group.ranked(&cell.contender.name)?;
        let baseline = report.trials(group.baseline()?);
        let pairs: Vec<Pair> = report
            .trials(cell)
            .into_iter()
            .filter_map(|trial| {
                let block = trial.plan.block;
                let beside = baseline.iter().find(|other| other.plan.block == block)?;
                Some(Pair { block, own: measured_load(trial)?, baseline: measured_load(beside)? })
            })
            .collect();
        let of_baseline = load(group.baseline()?).map_or(0.0, |load| load.median);
        let medians = ranked.saved_s.map(|saved| -saved * 1e3);
        let line = medians.map_or_else(String::new, |ms| {
            let sign = if ms < 0.0 { "−" } else { "+" };
            format!("{sign}{}", number::difference(ms.abs(), of_baseline))
        });
        let hue = group.hue(&cell.contender);
        (!pairs.is_empty()).then_some(Self { cell, hue, medians, line, pairs })
    }

    fn step(&self) -> f64 {
        (DOTS / self.pairs.len() as f64).clamp(1.5, 5.0)
    }

    fn height(&self) -> f64 {
        HEAD + self.step() * self.pairs.len() as f64 + GAP
    }

    fn draw(&self, m: &mut Markup, scale: DifferenceScale, top: f64) {
        let (above, end) = (top + HEAD - 3.0, top + self.height() - GAP + 3.0);
        // Lines across the name would cut it.
        lines(m, &scale.ticks(), above, end);
        zero(m, scale, above, end);
        m.element("g", &[("class", &self.hue.class())], |m| {
            let contender = &self.cell.contender;
            Label { contender, figures: &self.line, beside: 0 }.write(m, top + 16.0);
            let first = top + HEAD;
            for (place, pair) in self.pairs.iter().enumerate() {
                let y = format!("{:.1}", first + self.step() * (place as f64 + 0.5));
                let x = scale.at(pair.difference());
                m.element(
                    "circle",
                    &[("class", &"pair"), ("cx", &x), ("cy", &y), ("r", &"3")],
                    |m| {
                        m.line("title", &[], hint(pair));
                    },
                );
            }
            if let Some(medians) = self.medians {
                let x = scale.at(medians);
                let (y1, y2) = (format!("{above:.1}"), format!("{end:.1}"));
                m.empty(
                    "line",
                    &[("class", &"median"), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)],
                );
            }
        });
    }
}

/// In pixels: a row's first line, the dots of many blocks, the gap below.
const HEAD: f64 = 26.0;
const DOTS: f64 = 60.0;
const GAP: f64 = 16.0;

fn hint(pair: &Pair) -> String {
    let Pair { block, own, baseline } = pair;
    format!("block {block}: {} against {}", duration(*own), duration(*baseline))
}

fn zero(m: &mut Markup, scale: DifferenceScale, top: f64, bottom: f64) {
    let (x, y1, y2) = (scale.at(0.0), format!("{top:.1}"), format!("{bottom:.1}"));
    m.element("g", &[("class", &"axis")], |m| {
        m.empty("line", &[("class", &"one"), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)]);
    });
}

fn figures(m: &mut Markup, group: &Group<'_>, rows: &[Row<'_>]) {
    let caption = format!("Differences by block on {}", group.link.name);
    let columns = [
        text("contender"),
        figure("block"),
        figure("own, ms"),
        figure("baseline, ms"),
        figure("difference, ms"),
    ];
    let lines = rows.iter().flat_map(|row| {
        row.pairs.iter().map(|pair| {
            [
                row.cell.contender.name.clone(),
                pair.block.to_string(),
                format!("{:.3}", pair.own),
                format!("{:.3}", pair.baseline),
                words::signed_millis(pair.difference()).replace(" ms", ""),
            ]
        })
    });
    table(m, &caption, &columns, lines);
}

fn query(group: &Group<'_>) -> String {
    let metric = deciding_metric(group.workload);
    format!(
        "SELECT block, contender, value AS {metric} FROM metrics WHERE metric = '{metric}' AND key IN counted \
         AND outcome = 'measured' AND link = {} AND workload = {} ORDER BY block, contender",
        command::sql(&group.link.name),
        command::sql(&group.workload.name)
    )
}
