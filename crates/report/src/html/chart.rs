//! Lines over an axis: times upwards from zero, whatever is varied to the right.

use super::picture::{AXIS_HEIGHT, axis_of};
use crate::markup::Markup;
use crate::number::duration;
use crate::scale::{Position, Scale, Tick};
use std::fmt::Write;

/// A place: `x` is a share of the width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) ms: f64,
}

/// A line with its name.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: &'static str,
    /// Its colour in the style sheet.
    pub(super) class: &'static str,
    pub(super) points: Vec<Point>,
}

/// What is drawn.
#[derive(Debug)]
pub(super) struct LineChart {
    pub(super) series: Vec<Series>,
    /// From each point down to a time: the area between is shaded.
    pub(super) shaded: Vec<(Point, f64)>,
    /// The axis below, as shares of the width.
    pub(super) ticks: Vec<(f64, String)>,
}

/// In pixels: the line of names, and the plot.
pub(super) const TOP: f64 = 22.0;
pub(super) const PLOT: f64 = 190.0;

impl LineChart {
    pub(super) fn height(&self) -> f64 {
        TOP + PLOT + AXIS_HEIGHT
    }

    pub(super) fn draw(&self, m: &mut Markup) {
        let points = self.series.iter().flat_map(|series| series.points.iter());
        let scale = Scale::up_to(points.map(|point| point.ms).fold(0.0, f64::max));
        let share = |ms: f64| 100.0 - scale.at(ms).0;
        axes(m, scale, &self.ticks);
        let (y, height) = (format!("{TOP:.0}"), format!("{PLOT:.0}"));
        let stretched: [(&'static str, &dyn std::fmt::Display); 5] = [
            ("y", &y),
            ("width", &"100%"),
            ("height", &height),
            ("viewBox", &"0 0 100 100"),
            ("preserveAspectRatio", &"none"),
        ];
        m.element("svg", &stretched, |m| {
            if self.shaded.len() > 1 {
                let above = self.shaded.iter().map(|(point, _)| (point.x, share(point.ms)));
                let below = self.shaded.iter().rev().map(|(point, ms)| (point.x, share(*ms)));
                let outline = path(above.chain(below)) + "Z";
                m.empty("path", &[("class", &"late"), ("d", &outline)]);
            }
            for series in &self.series {
                let line = path(series.points.iter().map(|point| (point.x, share(point.ms))));
                m.element("g", &[("class", &series.class)], |m| {
                    m.empty("path", &[("class", &"curve"), ("d", &line)]);
                });
            }
        });
        for (place, series) in self.series.iter().enumerate() {
            m.element("g", &[("class", &series.class)], |m| series.marks(m, place, share));
        }
    }
}

/// Lines and labels of both axes; `below` are shares of the width.
pub(super) fn axes(m: &mut Markup, scale: Scale, below: &[(f64, String)]) {
    let tick = |(at, text): &(f64, String)| Tick { at: Position(at * 100.0), text: text.clone() };
    axis_of(m, below.iter().map(tick).collect(), TOP, TOP + PLOT);
    m.element("g", &[("class", &"axis")], |m| {
        for tick in scale.ticks().iter().skip(1) {
            let y = format!("{:.1}", height_of(tick.at));
            m.empty("line", &[("x1", &"0"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
            m.line("text", &[("x", &"0"), ("y", &y), ("dy", &"-3")], &tick.text);
        }
    });
}

/// Where a time's place on the scale stands, in pixels from the top.
pub(super) fn height_of(at: Position) -> f64 {
    TOP + PLOT * (1.0 - at.0 / 100.0)
}

impl Series {
    fn marks(&self, m: &mut Markup, place: usize, share: impl Fn(f64) -> f64) {
        for point in &self.points {
            let (x, y) =
                (Position(point.x * 100.0), format!("{:.1}", TOP + PLOT * share(point.ms) / 100.0));
            m.element("circle", &[("class", &"dot"), ("cx", &x), ("cy", &y), ("r", &"3.5")], |m| {
                m.line("title", &[], format!("{} {}", self.name, duration(point.ms)));
            });
        }
        let x = Position(20.0 + 15.0 * place as f64);
        m.line("text", &[("class", &"label name"), ("x", &x), ("y", &"14")], self.name);
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (place, (x, y)) in points.enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(path, "{}{:.2} {y:.2}", if place == 0 { 'M' } else { 'L' }, x * 100.0);
    }
    path
}
