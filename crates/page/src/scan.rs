//! Finds what an HTML document needs while its bytes arrive, as a browser's preload scanner does.
//!
//! A tokenizer after HTML §13.2.5, cut down to what tells a tag from text: comments, raw text elements,
//! quotes in tags. It builds no tree, runs no script and has no layout: lazy images are found like
//! others; `srcset`, CSS and frames are not followed. The one rule: what is found, and at which byte,
//! does not depend on how the document was split on its way.

use crate::priority::Hint;
use crate::resource::Kind;

/// Bytes of one tag that are kept; a longer one is skipped to its end.
const LONGEST_TAG: usize = 64 * 1024;

/// Elements whose content is text, whatever it looks like (HTML §13.2.6.2), with scripting on.
const RAW_TEXT: [&str; 9] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"];

/// Something that the document needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its URL as written, entities decoded: resolve it against the base.
    pub reference: String,
    /// What it is to the page.
    pub kind: Kind,
    /// What the markup says about its importance.
    pub hint: Hint,
    /// Bytes of the document that had to arrive before it could be found.
    pub offset: u64,
}

/// An incremental scanner of one document.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    state: State,
    tag: Vec<u8>,
    offset: u64,
    base: Option<String>,
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
    /// In the text of the `.0`th raw text element, looking for its end tag, `.1` bytes of which match.
    Raw(usize, usize),
}

/// Where a tag stands as to quoted attribute values; quotes count only behind an equals sign.
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

    /// The document's own base URL as written (`<base href>`), once it was met.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Takes the next bytes and tells what they let a browser find.
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

    /// The state after `byte`. Byte `self.offset` is the one at hand.
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
        if let Some((kind, reference)) = tag.need().filter(|(_, url)| !url.trim().is_empty()) {
            let hint = tag.hint();
            found.push(Found { reference, kind, hint, offset: self.offset + 1 });
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

/// One byte of raw text: the end tag is `</`, the name in any case, then white space, `/` or `>`.
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

/// A start tag, read whole.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn read(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let name_end = text.find(|c: char| c.is_ascii_whitespace() || c == '/');
        let (name, rest) = text.split_at(name_end.unwrap_or(text.len()));
        Self { name: name.to_ascii_lowercase(), attributes: read_attributes(rest) }
    }

    /// The first attribute of this name counts (HTML §13.2.5.33).
    fn attribute(&self, name: &str) -> Option<String> {
        let (_, value) = self.attributes.iter().find(|(own, _)| own == name)?;
        Some(decode_entities(value))
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(own, _)| own == name)
    }

    /// What the tag makes a browser fetch.
    fn need(&self) -> Option<(Kind, String)> {
        match self.name.as_str() {
            "img" => Some((Kind::Image, self.attribute("src")?)),
            "input" if self.says("type", "image") => Some((Kind::Image, self.attribute("src")?)),
            "script" if !self.has("nomodule") && self.is_javascript() => {
                Some((Kind::Script, self.attribute("src")?))
            }
            "link" => Some((self.link_kind()?, self.attribute("href")?)),
            _ => None,
        }
    }

    fn link_kind(&self) -> Option<Kind> {
        let rel = self.attribute("rel")?.to_ascii_lowercase();
        let has = |token: &str| rel.split_ascii_whitespace().any(|own| own == token);
        match () {
            () if has("stylesheet") && !has("alternate") && !self.has("disabled") => {
                Some(Kind::Stylesheet)
            }
            () if has("modulepreload") => Some(Kind::Script),
            () if has("preload") => {
                match self.attribute("as")?.trim().to_ascii_lowercase().as_str() {
                    "style" => Some(Kind::Stylesheet),
                    "script" => Some(Kind::Script),
                    "font" => Some(Kind::Font),
                    "image" => Some(Kind::Image),
                    "fetch" => Some(Kind::Xhr),
                    "audio" | "video" | "track" => Some(Kind::Media),
                    _ => None,
                }
            }
            () => None,
        }
    }

    fn is_javascript(&self) -> bool {
        let kind = self.attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
        kind.is_empty()
            || kind == "module"
            || kind.contains("javascript")
            || kind.contains("ecmascript")
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.attribute(name).is_some_and(|own| own.trim().eq_ignore_ascii_case(value))
    }

    fn hint(&self) -> Hint {
        let late = self.name == "script"
            && (self.has("async") || self.has("defer") || self.says("type", "module"));
        match () {
            () if self.says("fetchpriority", "high") => Hint::Raised,
            () if self.says("fetchpriority", "low") || late => Hint::Lowered,
            () => Hint::None,
        }
    }
}

fn read_attributes(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let Some(first) = rest.chars().next() else { return attributes };
        // An equals sign in the first place belongs to the name (HTML §13.2.5.32).
        let search_from = first.len_utf8();
        let name_end = rest[search_from..]
            .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '=')
            .map_or(rest.len(), |at| at + search_from);
        let name = rest[..name_end].to_ascii_lowercase();
        rest = rest[name_end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
        let value = match rest.strip_prefix('=') {
            None => "",
            Some(after) => {
                let (value, left) =
                    split_value(after.trim_start_matches(|c: char| c.is_ascii_whitespace()));
                rest = left;
                value
            }
        };
        attributes.push((name, value.to_owned()));
    }
}

fn split_value(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        _ => text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len())),
    }
}

/// The references that stand in URLs: named ones of markup itself and numeric ones.
fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        match entity(rest) {
            Some((c, length)) => {
                decoded.push(c);
                rest = &rest[length..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The reference that `text` begins with, and its length.
fn entity(text: &str) -> Option<(char, usize)> {
    const LONGEST: usize = 10;
    let end = text.bytes().take(LONGEST).position(|b| b == b';')?;
    let c = match &text[1..end] {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        numeric => {
            let digits = numeric.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((c, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn references(html: &str) -> Vec<String> {
        Scanner::new().feed(html.as_bytes()).into_iter().map(|found| found.reference).collect()
    }

    #[test]
    fn images_scripts_and_style_sheets_are_found() {
        let html = r#"<!DOCTYPE html><HTML><link rel="preload stylesheet" href=a.css>
            <script src='b.js' async></script><link rel=icon href=no.ico>
            <link as=font rel=preload href="f.woff2" crossorigin>
            <IMG alt="a > b" src = "c.png?x=1&amp;y=&#50;"><img src=d.png/><script nomodule src=no.js></script>
            <script type="application/json" src=no.json></script><input type=image src=e.gif>"#;
        let found = Scanner::new().feed(html.as_bytes());
        let short: Vec<_> = found.iter().map(|f| (f.reference.as_str(), f.kind, f.hint)).collect();
        assert_eq!(
            short,
            [
                ("a.css", Kind::Stylesheet, Hint::None),
                ("b.js", Kind::Script, Hint::Lowered),
                ("f.woff2", Kind::Font, Hint::None),
                ("c.png?x=1&y=2", Kind::Image, Hint::None),
                ("d.png/", Kind::Image, Hint::None),
                ("e.gif", Kind::Image, Hint::None),
            ]
        );
    }

    #[test]
    fn what_is_only_text_is_not_found() {
        for html in [
            "<!-- <img src=x> -->",
            "<!--><!-- > <img src=x> -->",
            "<script>document.write('<img src=x>')</script>",
            "<style>/* <img src=x> */</STYLE >",
            "<noscript><img src=x></noscript>",
            "<textarea></text><img src=x></textarea>",
            "< img src=x>",
            "</img src=x>",
            "<p title='<img src=x>'>",
            "<img alt=src>",
            "<img src=''>",
        ] {
            assert_eq!(references(html), [""; 0], "{html}");
        }
    }

    #[test]
    fn text_ends_where_html_says() {
        for html in [
            "<!--><img src=x>",
            "<!-- a --><img src=x>",
            "<!---><img src=x>",
            "<script></scrip</script><img src=x>",
            "<title></title ><img src=x>",
            "<style></style/><img src=x>",
            "<<img src=x>",
            "<p class=a\"b><img src=x>",
            "a <b <img src=y><img src=x>",
        ] {
            assert_eq!(references(html), ["x"], "{html}");
        }
    }

    #[test]
    fn the_offset_is_that_behind_the_tag() {
        let html = "<p>ü</p><img src=x>tail";
        let found = Scanner::new().feed(html.as_bytes());
        assert_eq!(found[0].offset as usize, html.find("tail").unwrap());
    }

    #[test]
    fn an_overlong_tag_is_skipped_to_its_end() {
        let html = format!("<img alt=\"{}>\" src=no><img src=x>", "a".repeat(LONGEST_TAG));
        assert_eq!(references(&html), ["x"]);
    }

    #[test]
    fn the_first_base_is_kept() {
        let mut scanner = Scanner::new();
        scanner.feed(b"<base target=_top><base href='/deep/'><base href='/no/'>");
        assert_eq!(scanner.base(), Some("/deep/"));
    }

    proptest! {
        #[test]
        fn splits_do_not_change_what_is_found(
            pieces in proptest::collection::vec(prop_oneof![
                Just("<img src=a>".as_bytes().to_vec()), Just(b"<script src='b' ".to_vec()),
                Just(b"<!--".to_vec()), Just(b"-->".to_vec()), Just(b"</script>".to_vec()),
                Just(b"\"".to_vec()), Just(b">".to_vec()), Just(b"<link rel=stylesheet href=&#".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..20),
            ], 0..30),
            cut in 1_usize..9,
        ) {
            let html = pieces.concat();
            let whole = Scanner::new().feed(&html);
            let mut scanner = Scanner::new();
            let split: Vec<_> = html.chunks(cut).flat_map(|part| scanner.feed(part)).collect();
            prop_assert_eq!(whole, split);
        }
    }
}
