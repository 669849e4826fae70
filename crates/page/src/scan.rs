//! Finds what an HTML document needs while its bytes arrive, as a browser's preload scanner does.
//!
//! A tokenizer after HTML §13.2.5, cut down to what tells a tag from text: comments, raw text elements and quotes in
//! tags. It builds no tree, runs no script and has no layout. Lazy images are found like others; `srcset`, CSS and
//! frames are not followed. The one rule: the result does not depend on how the document was split on its way.

mod entity;
mod mode;
mod tag;

pub use mode::{CrossOrigin, FetchMode, Purpose};

use crate::priority::Hint;
use crate::resource::{Blocks, Kind};
use tag::Tag;

/// The longest tag that is read, in bytes. A longer one is skipped to its end.
const LONGEST_TAG: usize = 64 * 1024;

/// Elements whose content is text, whatever it looks like (HTML §13.2.6.2), with scripting on.
const RAW_TEXT: [&str; 9] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"];

/// What may stand before the body (HTML §13.2.6.4.2 to §13.2.6.4.4).
const IN_HEAD: [&str; 10] =
    ["html", "head", "base", "link", "meta", "noscript", "script", "style", "template", "title"];

/// Something that the document needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its URL as written, with entities decoded. It has to be resolved against the base.
    pub reference: String,
    /// What it is to the page.
    pub kind: Kind,
    /// What the markup says about its importance.
    pub hint: Hint,
    /// What waits for it.
    pub blocks: Blocks,
    /// The product of the attributes `width` and `height` of an image, in CSS pixels.
    pub pixels: Option<u32>,
    /// The number of bytes of the document that had to arrive before it could be found.
    pub offset: u64,
    /// How it is fetched.
    pub mode: FetchMode,
}

/// An incremental scanner of one document.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    state: State,
    tag: Vec<u8>,
    offset: u64,
    base: Option<String>,
    body: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Outside of markup.
    #[default]
    Text,
    /// After `<`.
    Opened,
    /// After `<!` and this many dashes.
    Declared(u8),
    /// In a comment, after this many dashes (2 stands for any more).
    Comment(u8),
    /// In a declaration, an end tag or an overlong tag: up to `>`.
    Skipped(Quote),
    /// In a start tag.
    Tag(Quote),
    /// In the text of the raw text element at index `.0`. The last `.1` bytes match the start of its end tag.
    Raw(usize, usize),
}

/// Whether the scanner is in a quoted attribute value. A quote opens a value only after an equals sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    AfterEquals,
    Inside(u8),
}

impl Scanner {
    /// A scanner at the beginning of a document.
    pub fn new() -> Self {
        Self::default()
    }

    /// The document's own base URL as written (`<base href>`), once it was found.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The bytes of the document up to the end of its `<body>` tag, or of the first tag that cannot stand in the head and so
    /// opens the body (HTML §13.2.6.4.4); once it was found.
    pub fn body(&self) -> Option<u64> {
        self.body
    }

    /// Takes the next bytes and returns the resources found in them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            if self.state == State::Text {
                let skip = rest.iter().position(|&b| b == b'<').unwrap_or(rest.len());
                self.offset += skip as u64;
                rest = &rest[skip..];
                if rest.is_empty() {
                    break;
                }
                self.state = State::Opened;
            } else {
                self.state = self.step(byte, &mut found);
            }
            self.offset += 1;
            rest = &rest[1..];
        }
        found
    }

    /// The state after `byte`, which is at `self.offset`.
    fn step(&mut self, byte: u8, found: &mut Vec<Found>) -> State {
        match self.state {
            State::Text => State::Text,
            State::Opened => self.after_open(byte),
            State::Declared(dashes) => match (byte, dashes) {
                (b'-', 0) => State::Declared(1),
                // A comment that begins `<!-->` ends at once, as if its dashes had been closing ones.
                (b'-', _) => State::Comment(2),
                (b'>', _) => State::Text,
                _ => State::Skipped(Quote::None),
            },
            State::Comment(dashes) => match byte {
                b'>' if dashes >= 2 => State::Text,
                b'-' => State::Comment((dashes + 1).min(2)),
                _ => State::Comment(0),
            },
            State::Skipped(quote) => match (quote, byte) {
                (Quote::None | Quote::AfterEquals, b'>') => State::Text,
                (Quote::None, _) => State::Skipped(Quote::None),
                _ => State::Skipped(quote.after(byte)),
            },
            State::Tag(quote) => self.in_tag(quote, byte, found),
            State::Raw(element, matched) => raw_text(element, matched, byte),
        }
    }

    fn after_open(&mut self, byte: u8) -> State {
        self.tag.clear();
        match byte {
            b'!' => State::Declared(0),
            b'/' | b'?' => State::Skipped(Quote::None),
            b'<' => State::Opened,
            _ if byte.is_ascii_alphabetic() => {
                self.tag.push(byte);
                State::Tag(Quote::None)
            }
            _ => State::Text,
        }
    }

    fn in_tag(&mut self, quote: Quote, byte: u8, found: &mut Vec<Found>) -> State {
        if byte == b'>' && !matches!(quote, Quote::Inside(_)) {
            return self.end_tag(found);
        }
        let quote = quote.after(byte);
        if self.tag.len() == LONGEST_TAG {
            // Its quotes still tell where it ends.
            return State::Skipped(quote);
        }
        self.tag.push(byte);
        State::Tag(quote)
    }

    fn end_tag(&mut self, found: &mut Vec<Found>) -> State {
        let text = std::mem::take(&mut self.tag);
        let tag = Tag::read(&text);
        if tag.name == "base" && self.base.is_none() {
            self.base = tag.attribute("href");
        }
        if self.body.is_none() && !IN_HEAD.contains(&tag.name.as_str()) {
            self.body = Some(self.offset + 1);
        }
        if let Some((kind, reference)) = tag.need().filter(|(_, url)| !url.trim().is_empty()) {
            let (hint, blocks, pixels, mode) = (tag.hint(), tag.blocks(), tag.pixels(), tag.mode());
            let offset = self.offset + 1;
            found.push(Found { reference, kind, hint, blocks, pixels, offset, mode });
        }
        let raw = RAW_TEXT.iter().position(|&element| element == tag.name);
        self.tag = text;
        raw.map_or(State::Text, |element| State::Raw(element, 0))
    }
}

impl Quote {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Inside(open), _) if byte == open => Self::None,
            (Self::Inside(open), _) => Self::Inside(open),
            (Self::AfterEquals, b'"' | b'\'') => Self::Inside(byte),
            (Self::AfterEquals, _) if byte.is_ascii_whitespace() => Self::AfterEquals,
            (_, b'=') => Self::AfterEquals,
            _ => Self::None,
        }
    }
}

/// The state after one byte of raw text: the end tag is `</`, the name in any case, then white space, `/` or `>`.
fn raw_text(element: usize, matched: usize, byte: u8) -> State {
    let name = RAW_TEXT[element].as_bytes();
    let expected = match matched {
        0 => Some(b'<'),
        1 => Some(b'/'),
        n => name.get(n - 2).copied(),
    };
    match (expected, byte) {
        (None, b'>') => State::Text,
        (None, b'/') => State::Skipped(Quote::None),
        (None, _) if byte.is_ascii_whitespace() => State::Skipped(Quote::None),
        (Some(wanted), _) if byte.to_ascii_lowercase() == wanted => {
            State::Raw(element, matched + 1)
        }
        (_, b'<') => State::Raw(element, 1),
        _ => State::Raw(element, 0),
    }
}

#[cfg(test)]
mod tests;
