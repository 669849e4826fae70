//! The small picture of a ratio and its interval, used in tables.

use crate::markup::Markup;
use crate::number::Ratio;
use crate::scale::Position;

/// The scale that all ratios share: logarithmic, with 1 in the middle.
pub(super) struct Forest {
    /// The natural logarithm at the right edge.
    reach: f64,
    margin: f64,
}

impl Forest {
    /// The scale that includes all of `intervals`.
    pub(super) fn of(intervals: impl Iterator<Item = [f64; 2]>, margin: f64) -> Self {
        let ends = intervals.flatten().map(|end| end.ln().abs()).filter(|end| end.is_finite());
        // At least a factor of 1.25 each way, so that a tie looks like a tie; at most tenfold.
        let reach = ends.fold(1.25_f64.ln(), f64::max).min(10_f64.ln()) * 1.08;
        Self { reach, margin }
    }

    fn at(&self, ratio: f64) -> Position {
        let share = ratio.max(f64::MIN_POSITIVE).ln() / self.reach;
        Position((50.0 + share * 50.0).clamp(0.0, 100.0))
    }

    /// Draws a ratio with its interval, the line at 1 and the range of ties.
    pub(super) fn draw(&self, m: &mut Markup, ratio: Ratio) {
        let (low, high) = (self.at(ratio.ci[0]), self.at(ratio.ci[1]));
        let (from, to) = (self.at(1.0 / (1.0 + self.margin)), self.at(1.0 + self.margin));
        let band = Position(to.0 - from.0);
        m.element(
            "svg",
            &[
                ("class", &"forest"),
                ("aria-hidden", &"true"),
                ("width", &"100%"),
                ("height", &"14"),
            ],
            |m| {
                m.empty(
                    "rect",
                    &[
                        ("class", &"band"),
                        ("x", &from),
                        ("y", &"0"),
                        ("width", &band),
                        ("height", &"14"),
                    ],
                );
                m.empty(
                    "line",
                    &[
                        ("class", &"one"),
                        ("x1", &"50%"),
                        ("x2", &"50%"),
                        ("y1", &"0"),
                        ("y2", &"14"),
                    ],
                );
                m.empty(
                    "line",
                    &[
                        ("class", &"interval"),
                        ("x1", &low),
                        ("x2", &high),
                        ("y1", &"7"),
                        ("y2", &"7"),
                    ],
                );
                m.empty(
                    "circle",
                    &[("class", &"dot"), ("cx", &self.at(ratio.value)), ("cy", &"7"), ("r", &"4")],
                );
            },
        );
    }
}
