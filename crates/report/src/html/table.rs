//! Tables: a caption, named columns, text aligned left and figures aligned right. A table that is wider than the page
//! scrolls in a box of its own.

use crate::markup::Markup;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    name: String,
    class: &'static str,
}

/// A column of text.
pub(super) fn text(name: impl Into<String>) -> Column {
    Column { name: name.into(), class: "t" }
}

/// A column of figures.
pub(super) fn figure(name: impl Into<String>) -> Column {
    Column { name: name.into(), class: "n" }
}

/// Writes a table; the first cell of each row is its heading.
pub(super) fn table<R: AsRef<[String]>>(
    m: &mut Markup,
    caption: &str,
    columns: &[Column],
    rows: impl IntoIterator<Item = R>,
) {
    // A box that scrolls must be reachable by keyboard (WCAG 2.1.1).
    m.element(
        "div",
        &[("class", &"scroll"), ("role", &"region"), ("tabindex", &"0"), ("aria-label", &caption)],
        |m| {
            m.element("table", &[], |m| {
                m.line("caption", &[], caption);
                m.element("thead", &[], |m| {
                    m.element("tr", &[], |m| {
                        for column in columns {
                            m.line(
                                "th",
                                &[("scope", &"col"), ("class", &column.class)],
                                &column.name,
                            );
                        }
                    });
                });
                m.element("tbody", &[], |m| {
                    rows.into_iter().for_each(|row| line(m, columns, row.as_ref()));
                });
            });
        },
    );
}

fn line(m: &mut Markup, columns: &[Column], row: &[String]) {
    m.element("tr", &[], |m| {
        for (i, (cell, column)) in row.iter().zip(columns).enumerate() {
            match i {
                0 => m.line("th", &[("scope", &"row"), ("class", &column.class)], cell),
                _ => m.line("td", &[("class", &column.class)], cell),
            }
        }
    });
}
