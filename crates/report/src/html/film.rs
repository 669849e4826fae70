//! What the pages of a group showed while they loaded: a row of pictures a contender, a column a step of time, so that one
//! column shows all contenders at one time. Each picture is in the page once; columns in which it stays refer to it.

use super::table::{figure, table, text};
use crate::film::{self, FilmFrame, FilmKey};
use crate::hue::Hue;
use crate::markup::Markup;
use crate::number::{TimeFormat, duration};
use crate::overview::Group;
use crate::{Report, words};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use study::experiment::Contender;

/// Draws the films of a group; nothing where it has none.
pub(super) fn film(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    let strips: Vec<Strip<'_>> = group
        .fastest_first()
        .into_iter()
        .filter_map(|cell| {
            let key = FilmKey {
                workload: group.workload.name.clone(),
                link: group.link.name.clone(),
                contender: cell.contender.name.clone(),
            };
            Strip::of(group, &cell.contender, report.films.get(&key)?)
        })
        .collect();
    let ends = strips.iter().map(|strip| film::last_change_ms(strip.frames));
    let Some(columns) = Columns::up_to(ends) else { return };
    let id = format!("{id}-film");
    m.element("figure", &[("id", &id), ("class", &"film")], |m| {
        m.element("figcaption", &[], |m| {
            m.line("h3", &[], title(group, &strips, columns));
            m.line("p", &[("class", &"note")], description(columns));
        });
        // A box that scrolls must be reachable by keyboard (WCAG 2.1.1).
        let region: [(_, &dyn std::fmt::Display); 4] = [
            ("class", &"strips"),
            ("role", &"region"),
            ("tabindex", &"0"),
            ("aria-label", &"Films of the loads"),
        ];
        m.element("div", &region, |m| {
            m.element("table", &[], |m| {
                for (row, strip) in strips.iter().enumerate() {
                    strip.draw(m, columns, &format!("{id}-{}", row + 1));
                }
            });
        });
        m.element("details", &[], |m| {
            m.line("summary", &[], "Figures");
            strips.iter().for_each(|strip| strip.figures(m, group));
        });
    });
}

fn title(group: &Group<'_>, strips: &[Strip<'_>], columns: Columns) -> String {
    let complete: Vec<String> = strips
        .iter()
        .filter_map(|strip| {
            let after = duration(film::complete_ms(strip.frames)?);
            Some(format!("{} after {after}", strip.contender.name))
        })
        .collect();
    let link = &group.link.name;
    match complete.is_empty() {
        true => format!("What the page shows on {link}, every {}", columns.step()),
        false => {
            format!("On {link}, the page is visually complete with {}", words::listed(&complete))
        }
    }
}

fn description(columns: Columns) -> String {
    format!(
        "The median trial of each contender as its browser showed it, a column every {}. A border marks what is new \
         since the column before; faint pictures are unchanged. The percentage is the part of the final picture that \
         is there. Point at a picture to enlarge it.",
        columns.step()
    )
}

/// The times of the columns: 0, one step, two steps and so on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Columns {
    step_ms: f64,
    count: usize,
    format: TimeFormat,
}

impl Columns {
    /// So many columns that the last one is not before any of `ends`, in milliseconds; None without an end.
    fn up_to(ends: impl Iterator<Item = f64>) -> Option<Self> {
        let end = ends.filter(|end| end.is_finite()).reduce(f64::max)?;
        let least = end.max(1.0) / (MOST_COLUMNS - 1) as f64;
        let power = 10_f64.powf(least.log10().floor());
        let reaches = |factor: &f64| factor * power >= least * (1.0 - 1e-9);
        let factor = STEPS.into_iter().find(reaches).unwrap_or(10.0);
        let step_ms = factor * power;
        let count = (end / step_ms - 1e-9).ceil().max(0.0) as usize + 1;
        // What is no whole number of a power of ten needs one decimal more.
        let finest = if factor.fract() == 0.0 { step_ms } else { power / 10.0 };
        Some(Self { step_ms, count, format: TimeFormat::for_ticks(finest, end.max(1.0)) })
    }

    fn at_ms(self, column: usize) -> f64 {
        self.step_ms * column as f64
    }

    fn step(self) -> String {
        self.format.with_unit(self.step_ms)
    }

    fn text(self, column: usize) -> String {
        self.format.with_unit(self.at_ms(column))
    }
}

/// More do not fit beside each other.
const MOST_COLUMNS: usize = 16;

/// Steps within a power of ten, none more than half as long again as the one before: 11 columns or more cover any film.
const STEPS: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

/// One contender's film.
struct Strip<'a> {
    contender: &'a Contender,
    hue: Hue,
    frames: &'a [FilmFrame],
    /// Of the pictures, in pixels.
    size: (usize, usize),
}

impl<'a> Strip<'a> {
    /// None where there is no picture, or one of them is no JPEG.
    fn of(group: &Group<'_>, contender: &'a Contender, frames: &'a [FilmFrame]) -> Option<Self> {
        let sizes: Option<Vec<_>> = frames.iter().map(|frame| film::size(&frame.jpeg)).collect();
        let size = sizes?.first().copied()?;
        Some(Self { contender, hue: group.hue(contender), frames, size })
    }

    fn draw(&self, m: &mut Markup, columns: Columns, id: &str) {
        m.element("tbody", &[("class", &self.hue.class())], |m| {
            m.element("tr", &[], |m| {
                m.element("th", &[("scope", &"rowgroup"), ("colspan", &columns.count)], |m| {
                    m.line("span", &[("class", &"name")], &self.contender.name);
                });
            });
            m.element("tr", &[], |m| {
                // The bytes of the column before, and the id of each picture that is in the page already.
                let (mut before, mut drawn) = (None, Vec::new());
                for column in 0..columns.count {
                    let frame = self.shown_at(columns.at_ms(column));
                    let jpeg = frame.map(|frame| frame.jpeg.as_slice());
                    let is_new = column > 0 && jpeg != before;
                    before = jpeg;
                    let cell = Cell { strip: self, columns, column, frame, is_new };
                    cell.draw(m, &mut drawn, id);
                }
            });
        });
    }

    /// A first frame in which nothing is there yet is what the browser showed since the start.
    fn shown_at(&self, at_ms: f64) -> Option<&'a FilmFrame> {
        let blank = || self.frames.first().filter(|first| first.percent == Some(0.0));
        film::shown_at(self.frames, at_ms).map(|shown| &self.frames[shown]).or_else(blank)
    }

    fn figures(&self, m: &mut Markup, group: &Group<'_>) {
        let caption = format!("{} on {}", self.contender.name, group.link.name);
        let columns =
            [figure("shown from, ms"), figure("complete, %"), figure("JPEG, bytes"), text("")];
        let rows = self.frames.iter().enumerate().map(|(i, frame)| {
            let same = i > 0 && self.frames[i - 1].jpeg == frame.jpeg;
            [
                format!("{:.1}", frame.at_ms),
                frame.percent.map(|percent| format!("{percent:.0}")).unwrap_or_default(),
                frame.jpeg.len().to_string(),
                if same { "the same picture".to_owned() } else { String::new() },
            ]
        });
        table(m, &caption, &columns, rows);
    }
}

/// What one contender shows at one time.
struct Cell<'a> {
    strip: &'a Strip<'a>,
    columns: Columns,
    column: usize,
    /// None before the first frame.
    frame: Option<&'a FilmFrame>,
    is_new: bool,
}

impl<'a> Cell<'a> {
    fn draw(&self, m: &mut Markup, drawn: &mut Vec<&'a [u8]>, id: &str) {
        // The enlarged picture stands on the other side.
        let is_right = 2 * self.column >= self.columns.count;
        let class = format!(
            "{}{}",
            if self.is_new { "new" } else { "same" },
            if is_right { " right" } else { "" }
        );
        m.element("td", &[("class", &class)], |m| {
            match self.frame {
                Some(frame) => self.picture(m, frame, drawn, id),
                None => self.nothing(m),
            }
            m.element("small", &[], |m| {
                m.text(self.columns.text(self.column));
                if let Some(percent) = self.frame.and_then(|frame| frame.percent) {
                    m.text(" ");
                    m.line("b", &[], format!("{percent:.0}\u{a0}%"));
                }
            });
        });
    }

    /// As large as a picture.
    fn nothing(&self, m: &mut Markup) {
        let (width, height) = self.strip.size;
        let view = format!("0 0 {width} {height}");
        let name = &self.strip.contender.name;
        let label = format!("{name} after {}: nothing yet", self.columns.text(self.column));
        m.element("div", &[("class", &"shot none")], |m| {
            let shot: [(_, &dyn std::fmt::Display); 4] = [
                ("class", &"picture"),
                ("role", &"img"),
                ("aria-label", &label),
                ("viewBox", &view),
            ];
            m.empty("svg", &shot);
        });
    }

    fn picture(&self, m: &mut Markup, frame: &'a FilmFrame, drawn: &mut Vec<&'a [u8]>, id: &str) {
        let (width, height) = self.strip.size;
        let view = format!("0 0 {width} {height}");
        let known = drawn.iter().position(|jpeg| *jpeg == frame.jpeg);
        let picture_id = format!("{id}-{}", known.unwrap_or(drawn.len()) + 1);
        let (label, target) = (self.label(frame), format!("#{picture_id}"));
        let write = |m: &mut Markup| {
            let shot: [(_, &dyn std::fmt::Display); 4] = [
                ("class", &"picture"),
                ("role", &"img"),
                ("aria-label", &label),
                ("viewBox", &view),
            ];
            m.element("svg", &shot, |m| match known {
                Some(_) => m.empty("use", &[("href", &target)]),
                None => {
                    let data = Base64Display::new(&frame.jpeg, &STANDARD);
                    let data = format!("data:image/jpeg;base64,{data}");
                    m.empty(
                        "image",
                        &[
                            ("id", &picture_id),
                            ("width", &width),
                            ("height", &height),
                            ("href", &data),
                        ],
                    );
                }
            });
            let large: [(_, &dyn std::fmt::Display); 3] =
                [("class", &"large"), ("aria-hidden", &"true"), ("viewBox", &view)];
            m.element("svg", &large, |m| m.empty("use", &[("href", &target)]));
        };
        // Keys stop at new pictures alone: the others look the same.
        match self.is_new || self.column == 0 {
            true => m.element("div", &[("class", &"shot"), ("tabindex", &"0")], write),
            false => m.element("div", &[("class", &"shot")], write),
        }
        if known.is_none() {
            drawn.push(&frame.jpeg);
        }
    }

    fn label(&self, frame: &FilmFrame) -> String {
        let name = &self.strip.contender.name;
        let mut label = format!("{name} after {}", self.columns.text(self.column));
        if let Some(percent) = frame.percent {
            label.push_str(&format!(": {percent:.0}\u{a0}% complete"));
        }
        if !self.is_new && self.column > 0 {
            label.push_str(", unchanged");
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_11_and_16_columns_cover_any_film_with_round_steps() {
        for i in 1..5000 {
            let end = f64::from(i) * 7.31;
            let columns = Columns::up_to([12.0, end].into_iter()).unwrap();
            let last = columns.at_ms(columns.count - 1);
            assert!(
                last >= end.max(12.0) && last - columns.step_ms < end.max(12.0),
                "{end}: {columns:?}"
            );
            assert!((11..=MOST_COLUMNS).contains(&columns.count), "{end}: {columns:?}");
        }
    }

    #[test]
    fn no_two_columns_have_the_same_time_in_words() {
        for i in 1..5000 {
            let columns = Columns::up_to([f64::from(i) * 7.31].into_iter()).unwrap();
            let texts: Vec<String> =
                (0..columns.count).map(|column| columns.text(column)).collect();
            let mut once = texts.clone();
            once.dedup();
            assert_eq!(once, texts);
        }
        let texts = |end: f64| {
            let columns = Columns::up_to([end].into_iter()).unwrap();
            [1, 2].map(|column| columns.text(column))
        };
        assert_eq!(texts(22_000.0), ["1.5\u{a0}s", "3.0\u{a0}s"]);
        assert_eq!(texts(5_900.0), ["0.4\u{a0}s", "0.8\u{a0}s"]);
    }

    #[test]
    fn a_film_that_never_changes_has_one_column_and_no_film_none() {
        assert_eq!(Columns::up_to([0.0].into_iter()).map(|columns| columns.count), Some(1));
        assert_eq!(Columns::up_to(std::iter::empty()), None);
    }
}
