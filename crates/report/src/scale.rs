//! A time axis from zero to a little beyond the largest value, in per cent of a picture's width. So a picture fits a
//! phone and a wide screen without a second drawing.

use crate::number::TimeFormat;
use std::fmt;

/// A linear scale from zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    max: f64,
}

impl Scale {
    /// The scale whose axis ends a little beyond `largest` milliseconds.
    pub(crate) fn up_to(largest: f64) -> Self {
        // Half of the last mark fits behind the end.
        let max = if largest.is_finite() && largest > 0.0 { largest * 1.03 } else { 1.0 };
        Self { max }
    }

    /// The end of its axis, in milliseconds.
    pub(crate) fn end(self) -> f64 {
        self.max
    }

    /// Where `millis` stands.
    pub(crate) fn at(self, millis: f64) -> Position {
        Position((millis / self.max * 100.0).clamp(0.0, 100.0))
    }

    /// How wide the span from `from` to `to` is.
    pub(crate) fn width(self, from: f64, to: f64) -> Position {
        Position((self.at(to).0 - self.at(from).0).max(0.0))
    }

    /// The ticks: round numbers, about five of them.
    pub(crate) fn ticks(self) -> Vec<Tick> {
        let step = round_step(self.max / 5.0);
        let format = TimeFormat::for_ticks(step, self.max);
        let count = (self.max / step).floor() as u32;
        (0..=count)
            .map(|i| {
                let millis = f64::from(i) * step;
                let text =
                    if i == count { format.with_unit(millis) } else { format.number(millis) };
                Tick { at: self.at(millis), text: if i == 0 { "0".to_owned() } else { text } }
            })
            .collect()
    }
}

/// A linear scale of differences: zero is on it, and it ends a little beyond the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DifferenceScale {
    low: f64,
    high: f64,
}

impl DifferenceScale {
    /// The scale on which all of `differences` stand; None without any.
    pub(crate) fn of(differences: impl Iterator<Item = f64>) -> Option<Self> {
        let mut ends: Option<(f64, f64)> = None;
        for difference in differences.filter(|difference| difference.is_finite()) {
            let (low, high) = ends.unwrap_or((0.0, 0.0));
            ends = Some((low.min(difference), high.max(difference)));
        }
        let (low, high) = ends?;
        let beyond = ((high - low) * 0.05).max(0.001);
        Some(Self { low: low - beyond, high: high + beyond })
    }

    /// Where the difference stands.
    pub(crate) fn at(self, millis: f64) -> Position {
        Position(((millis - self.low) / (self.high - self.low) * 100.0).clamp(0.0, 100.0))
    }

    /// The ticks: round numbers, with their signs; zero is one of them.
    pub(crate) fn ticks(self) -> Vec<Tick> {
        let step = round_step((self.high - self.low) / 5.0);
        let most = self.low.abs().max(self.high.abs());
        let format = TimeFormat::for_ticks(step, most);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        let text = |number: i64| {
            let millis = number as f64 * step;
            let text = match number == last {
                true => format.with_unit(millis.abs()),
                false => format.number(millis.abs()),
            };
            match number {
                0 if number == last => {
                    format!("0 {}", text.rsplit('\u{a0}').next().unwrap_or_default())
                }
                0 => "0".to_owned(),
                below if below < 0 => format!("−{text}"),
                _ => format!("+{text}"),
            }
        };
        (first..=last)
            .map(|number| Tick { at: self.at(number as f64 * step), text: text(number) })
            .collect()
    }
}

/// One tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Where.
    pub(crate) at: Position,
    /// Its label; the last one carries the unit.
    pub(crate) text: String,
}

/// A place or a width, in percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Position(pub(crate) f64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A hundredth of a per cent is a tenth of a pixel on a wide screen.
        let text = format!("{:.2}", self.0);
        let short = text.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{short}%")
    }
}

/// The least value of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_start_at_zero_and_name_their_unit_once() {
        let texts: Vec<_> = Scale::up_to(4420.0).ticks().into_iter().map(|t| t.text).collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4\u{a0}s"]);
        let texts: Vec<_> = Scale::up_to(38.0).ticks().into_iter().map(|t| t.text).collect();
        assert_eq!(texts, ["0", "10", "20", "30\u{a0}ms"]);
    }

    #[test]
    fn every_scale_has_between_two_and_six_ticks() {
        for i in 1..4000 {
            let ticks = Scale::up_to(f64::from(i) * 0.37).ticks();
            assert!((3..=6).contains(&ticks.len()), "{i}: {ticks:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let scale = Scale::up_to(100.0);
        assert_eq!(scale.at(-5.0), Position(0.0));
        assert_eq!(scale.at(1e9).to_string(), "100%");
        assert_eq!(scale.width(60.0, 50.0).to_string(), "0%");
        assert_eq!(Scale::up_to(f64::NAN).at(0.5).to_string(), "50%");
    }

    #[test]
    fn an_axis_of_differences_has_zero_and_signs() {
        let scale = DifferenceScale::of([-170.0, -150.0].into_iter()).unwrap();
        let texts: Vec<_> = scale.ticks().into_iter().map(|tick| tick.text).collect();
        assert_eq!(texts, ["−150", "−100", "−50", "0 ms"]);
        assert!(scale.at(0.0).0 > 90.0 && scale.at(-170.0).0 < 10.0);
        let scale = DifferenceScale::of([-2.0, 3.0].into_iter()).unwrap();
        let texts: Vec<_> = scale.ticks().into_iter().map(|tick| tick.text).collect();
        assert_eq!(texts, ["−2", "0", "+2\u{a0}ms"]);
        assert_eq!(DifferenceScale::of([f64::NAN].into_iter()), None);
    }

    #[test]
    fn zero_is_at_the_left_edge() {
        assert_eq!(Scale::up_to(250.0).at(0.0).to_string(), "0%");
    }
}
