//! A writer of HTML and SVG. The one rule: text and attribute values are escaped here and nowhere else, so that no
//! name, URL or reason can become markup. Every element is closed, also the empty ones, so that a page is well-formed
//! XML too.

use std::fmt::{Display, Write};

/// Markup under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    out: String,
}

/// An attribute: its name and its value.
pub(crate) type Attribute<'a> = (&'static str, &'a dyn Display);

impl Markup {
    /// An element with whatever `inside` writes.
    pub(crate) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        inside: impl FnOnce(&mut Self),
    ) {
        self.start(tag, attributes);
        self.out.push('>');
        inside(self);
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
        if is_block(tag) {
            self.out.push('\n');
        }
    }

    /// An element that holds text alone.
    pub(crate) fn line(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        text: impl Display,
    ) {
        self.element(tag, attributes, |m| m.text(text));
    }

    /// An element that holds nothing.
    pub(crate) fn empty(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.start(tag, attributes);
        self.out.push_str("/>");
    }

    /// Text.
    pub(crate) fn text(&mut self, text: impl Display) {
        // Writing to a String cannot fail.
        let _ = write!(Escaped(&mut self.out), "{text}");
    }

    /// A sentence; what stands between backticks in it is code.
    pub(crate) fn prose(&mut self, sentence: &str) {
        let parts: Vec<&str> = sentence.split('`').collect();
        // A backtick without another is a character.
        if parts.len().is_multiple_of(2) {
            return self.text(sentence);
        }
        for (index, part) in parts.into_iter().enumerate() {
            match index % 2 {
                0 => self.text(part),
                _ => self.line("code", &[], part),
            }
        }
    }

    /// Our own markup: the style sheet and the script of this crate.
    pub(crate) fn own(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn start(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            let _ = write!(self.out, " {name}=\"");
            let _ = write!(Escaped(&mut self.out), "{value}");
            self.out.push('"');
        }
    }
}

/// Escapes what is written through it.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\t' | '\n' => self.0.push(c),
                // Replaces what XML 1.0 cannot represent, and bidirectional controls, which could make a text read as
                // another.
                c if unit::is_unsafe(c) || is_forbidden_in_xml(c) => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// The characters that XML 1.0 forbids besides controls (§2.2).
fn is_forbidden_in_xml(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Elements after which a newline makes no visible difference.
fn is_block(tag: &str) -> bool {
    matches!(
        tag,
        "article"
            | "details"
            | "div"
            | "dl"
            | "figure"
            | "footer"
            | "g"
            | "h1"
            | "h2"
            | "h3"
            | "head"
            | "header"
            | "li"
            | "main"
            | "p"
            | "section"
            | "svg"
            | "table"
            | "tr"
            | "ul"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_never_become_markup() {
        let mut m = Markup::default();
        m.line("p", &[("title", &"\" onclick='x'")], "</p><script>alert(1)</script>&");
        let out = m.finish();
        assert_eq!(
            out,
            "<p title=\"&quot; onclick=&#39;x&#39;\">\
             &lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;</p>\n"
        );
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        let mut m = Markup::default();
        m.element("li", &[], |m| m.prose("of `a<b` bytes"));
        m.element("li", &[], |m| m.prose("one ` alone"));
        let out = m.finish();
        assert!(out.contains("<li>of <code>a&lt;b</code> bytes</li>"), "{out}");
        assert!(out.contains("<li>one ` alone</li>"), "{out}");
    }

    #[test]
    fn what_cannot_be_seen_or_written_is_replaced() {
        let mut m = Markup::default();
        m.text("a\0b\u{202e}c\u{1b}[31m");
        assert_eq!(m.finish(), "a\u{fffd}b\u{fffd}c\u{fffd}[31m");
    }

    #[test]
    fn elements_close_in_the_order_of_opening() {
        let mut m = Markup::default();
        m.element("svg", &[], |m| {
            m.element("g", &[("class", &"row")], |m| m.empty("rect", &[("x", &1.5)]));
        });
        assert_eq!(m.finish(), "<svg><g class=\"row\"><rect x=\"1.5\"/></g>\n</svg>\n");
    }
}
