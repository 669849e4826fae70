//! What every picture has: a title that states the finding, the drawing with its text alternative, the figures as a
//! table, and the command that shows the rows. Widths are in percent and heights in pixels, so that text has the same
//! size on every screen.

use crate::markup::Markup;
use crate::scale::{Scale, Tick};
use study::experiment::Contender;

/// What a picture is, besides its drawing.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    /// Unique in the page.
    pub(super) id: String,
    /// The finding.
    pub(super) title: String,
    /// What is drawn and how it is to be read.
    pub(super) description: String,
    /// The legend of its fills: the class of each in the style sheet, and its name.
    pub(super) key: Vec<(String, &'static str)>,
    /// Height in pixels.
    pub(super) height: f64,
    /// The command that shows its rows.
    pub(super) command: String,
}

impl Picture {
    /// Writes the frame around what `draw` draws, with the figures that `tables` writes.
    pub(super) fn write(
        &self,
        m: &mut Markup,
        draw: impl FnOnce(&mut Markup),
        tables: impl FnOnce(&mut Markup),
    ) {
        self.frame(m, draw, |m| {
            m.element("details", &[], |m| {
                m.line("summary", &[], "Figures and rows");
                tables(m);
                if !self.command.is_empty() {
                    command(m, "Rows", &self.command);
                }
            });
        });
    }

    /// The same where the figures stand in a table of the page.
    pub(super) fn write_without_figures(&self, m: &mut Markup, draw: impl FnOnce(&mut Markup)) {
        self.frame(m, draw, |m| {
            if !self.command.is_empty() {
                rows(m, &self.command);
            }
        });
    }

    fn frame(
        &self,
        m: &mut Markup,
        draw: impl FnOnce(&mut Markup),
        figures: impl FnOnce(&mut Markup),
    ) {
        let (title_id, about_id) = (format!("{}-title", self.id), format!("{}-about", self.id));
        // What a legend names has the legend's colour in the drawing too.
        let class = if self.key.is_empty() { "" } else { "keyed" };
        m.element("figure", &[("id", &self.id), ("class", &class)], |m| {
            m.element("figcaption", &[], |m| {
                m.line("h3", &[], &self.title);
                m.line("p", &[("class", &"note")], &self.description);
                if !self.key.is_empty() {
                    self.key(m);
                }
            });
            let labelled = format!("{title_id} {about_id}");
            let height = format!("{:.0}", self.height);
            m.element(
                "svg",
                &[
                    ("role", &"img"),
                    ("aria-labelledby", &labelled),
                    ("width", &"100%"),
                    ("height", &height),
                ],
                |m| {
                    m.line("title", &[("id", &title_id)], &self.title);
                    m.line("desc", &[("id", &about_id)], &self.description);
                    draw(m);
                },
            );
            figures(m);
        });
    }
}

impl Picture {
    fn key(&self, m: &mut Markup) {
        m.element("ul", &[("class", &"key")], |m| {
            for (class, name) in &self.key {
                m.element("li", &[], |m| {
                    // A queued fetch is a hairline.
                    let (y, height) = if class == "queued" { ("4.5", "1") } else { ("0", "10") };
                    m.element(
                        "svg",
                        &[("aria-hidden", &"true"), ("width", &"22"), ("height", &"10")],
                        |m| {
                            m.empty(
                                "rect",
                                &[
                                    ("class", class),
                                    ("y", &y),
                                    ("width", &"22"),
                                    ("height", &height),
                                ],
                            );
                        },
                    );
                    m.text(name);
                });
            }
        });
    }
}

/// The command that shows the rows of a table, folded.
pub(super) fn rows(m: &mut Markup, query: &str) {
    m.element("details", &[], |m| {
        m.line("summary", &[], "Rows");
        command(m, "Rows", query);
    });
}

/// A command to paste, after a word that says what it does.
pub(super) fn command(m: &mut Markup, what: &str, command: &str) {
    m.element("p", &[("class", &"command")], |m| {
        m.line("span", &[], what);
        m.text(" ");
        m.line("code", &[], command);
    });
}

/// A contender's name and its figures, above its drawing. If a phone's screen is too narrow for both, the figures are
/// only in the tables.
pub(super) struct Label<'a> {
    /// Whose.
    pub(super) contender: &'a Contender,
    /// What stands behind the name.
    pub(super) figures: &'a str,
    /// Letters at the right end of the line.
    pub(super) beside: usize,
}

impl Label<'_> {
    /// Writes it on the line at `y`.
    pub(super) fn write(&self, m: &mut Markup, y: f64) {
        let Self { contender, figures, beside } = *self;
        let letters = contender.name.chars().count() + figures.chars().count() + beside;
        let class = if letters > PHONE_LETTERS { "wide" } else { "" };
        m.element("text", &[("class", &"label"), ("x", &"0"), ("y", &format!("{y:.0}"))], |m| {
            m.line("tspan", &[("class", &"name")], &contender.name);
            m.line("tspan", &[("class", &class), ("dx", &"10")], figures);
        });
    }
}

/// Letters of a label that fit into 320 pixels.
const PHONE_LETTERS: usize = 40;

/// A drawing beside a column of names. Places in it are in percent of its own width. The page's script may widen what is within
/// it, which is how a reader zooms.
pub(super) fn pane(m: &mut Markup, scale: Scale, draw: impl FnOnce(&mut Markup)) {
    let width = format!("{}%", 100 - NAMES);
    let (x, end) = (format!("{NAMES}%"), format!("{:.3}", scale.end()));
    m.element("svg", &[("data-pane", &end), ("x", &x), ("width", &width)], |m| {
        m.element("svg", &[("data-plot", &""), ("x", &"0"), ("width", &"100%")], draw);
    });
}

/// The width of the column of names, in percent: 150 pixels of a wide screen, 50 of a phone's.
const NAMES: u32 = 15;

/// A name in that column. A phone shows its last letters, in which pictures differ; of one that is cut already, the first.
pub(super) fn side_name(m: &mut Markup, name: &str, class: &str, y: f64) {
    let y = format!("{y:.1}");
    m.element("text", &[("class", &class), ("x", &"0"), ("y", &y)], |m| {
        let count = name.chars().count();
        let is_begun = name.ends_with('…');
        let cut = if is_begun { PHONE_CUT } else { count.saturating_sub(PHONE_CUT) };
        match name.char_indices().nth(cut).filter(|_| count > PHONE_NAME) {
            None => m.line("tspan", &[], name),
            Some((end, _)) if is_begun => {
                m.line("tspan", &[], &name[..end]);
                m.line("tspan", &[("class", &"wide")], &name[end..]);
                m.line("tspan", &[("class", &"narrow")], "…");
            }
            Some((begin, _)) => {
                m.line("tspan", &[("class", &"wide")], &name[..begin]);
                m.line("tspan", &[("class", &"narrow")], "…");
                m.line("tspan", &[], &name[begin..]);
            }
        }
    });
}

/// Letters of a whole name that fit into the column on a phone, and those that fit beside the dots of one that is cut.
const PHONE_NAME: usize = 8;
const PHONE_CUT: usize = 6;

/// The lines of an axis from `top` to `bottom`, its labels below.
pub(super) fn axis(m: &mut Markup, scale: Scale, top: f64, bottom: f64) {
    axis_of(m, scale.ticks(), top, bottom);
}

/// Upright lines at `ticks`.
pub(super) fn lines(m: &mut Markup, ticks: &[Tick], top: f64, bottom: f64) {
    let (y1, y2) = (format!("{top:.0}"), format!("{bottom:.0}"));
    m.element("g", &[("class", &"axis")], |m| {
        for tick in ticks {
            m.empty("line", &[("x1", &tick.at), ("x2", &tick.at), ("y1", &y1), ("y2", &y2)]);
        }
    });
}

/// The same for given ticks.
pub(super) fn axis_of(m: &mut Markup, ticks: Vec<Tick>, top: f64, bottom: f64) {
    if top < bottom {
        lines(m, &ticks, top, bottom);
    }
    m.element("g", &[("class", &"axis")], |m| {
        for tick in ticks {
            let anchor = match tick.at.0 {
                at if at < 1.0 => "start",
                at if at > 94.0 => "end",
                _ => "middle",
            };
            let y = format!("{:.0}", bottom + AXIS_HEIGHT - 4.0);
            m.line("text", &[("x", &tick.at), ("y", &y), ("text-anchor", &anchor)], &tick.text);
        }
    });
}

/// The height of an axis's labels, in pixels.
pub(super) const AXIS_HEIGHT: f64 = 20.0;

/// The time axis of all contenders of a group.
pub(super) fn shared_scale(ends: impl Iterator<Item = f64>) -> Scale {
    Scale::up_to(ends.filter(|end| end.is_finite()).fold(0.0, f64::max))
}
