//! What a synthetic page has besides plain images: style sheets, scripts, fonts and images with a place in its layout.
//!
//! The body of a part has exactly the size that its target names. What it has to say stands at its beginning and its end,
//! and between them is padding that no compression makes smaller by much. Fonts are padding alone: a browser fetches
//! them, finds that they are none, and keeps the fonts that it has.

use super::{LONGEST_DELAY_MS, QueryError, Synthetic, number, parameters};
use crate::padding::Padding;
use crate::png::{self, Pixels};
use crate::resource::Kind;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use unit::{ByteSize, Seed};

const SHEET_PATH: &str = "/style/";
const SCRIPT_PATH: &str = "/script/";
const FONT_PATH: &str = "/font/";
pub(super) const PICTURE_PATH: &str = "/picture/";

/// A part of a synthetic page, described by its path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticPart {
    kind: PartKind,
    index: Index,
    /// Bytes of its body.
    pub body: ByteSize,
    /// What tells its bytes from those of others.
    value: Seed,
    /// How long the origin thinks about it.
    pub server_time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Sheet {
        /// Sheets that it imports, one the next.
        imports: u32,
        fonts: u32,
        font_bytes: u64,
    },
    Script,
    Font,
    Picture,
}

/// Which one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// The large image of the viewport.
    Hero,
    /// A large image below the fold, by its number.
    Below(u32),
    /// Any other, by its number.
    Number(u32),
}

/// A piece of a part's body, or of an image's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartPiece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// So many bytes of padding; see [`Padding::piece`].
    Padding(Padding, u64),
}

/// The sizes that a part of a page can have, by the parameter that gives them. Style sheets have to hold the names of
/// fonts, and images their pixels.
pub(super) fn sizes(name: &str) -> RangeInclusive<u64> {
    const MOST: u64 = 16 << 20;
    match name {
        "css_bytes" => 5_000..=MOST,
        "script_bytes" => 100..=MOST,
        "font_bytes" => 0..=MOST,
        _ => png::LEAST..=MOST,
    }
}

/// Numbers of imported style sheets begin here.
const FIRST_IMPORT: u32 = 100;
/// Draws for images below the fold begin here, behind those for the others.
const BELOW_DRAWS: u64 = 1 << 32;
/// The hero's name in its path.
const HERO: &str = "hero";
/// What stands before the number of an image below the fold.
const BELOW: &str = "below-";

impl SyntheticPart {
    /// The style sheet `index` of a page.
    pub(super) fn sheet(page: &Synthetic, index: u32) -> Self {
        let parts = &page.parts;
        let (imports, fonts) = if index == 0 { (parts.imports, parts.fonts) } else { (0, 0) };
        let kind = PartKind::Sheet { imports, fonts, font_bytes: parts.font_bytes };
        Self::of(kind, Index::Number(index), parts.css_bytes, Self::seed(page, "style"))
    }

    /// The script `index` of a page, all kinds counted together.
    pub(super) fn script(page: &Synthetic, index: u32) -> Self {
        let seed = Self::seed(page, "script");
        Self::of(PartKind::Script, Index::Number(index), page.parts.script_bytes, seed)
    }

    /// The font `index` of a page that has no style sheet.
    pub(super) fn font(page: &Synthetic, index: u32) -> Self {
        let seed = Self::seed(page, "font");
        Self::of(PartKind::Font, Index::Number(index), page.parts.font_bytes, seed)
    }

    /// An image of a page.
    pub(super) fn picture(page: &Synthetic, index: Index) -> Self {
        let bytes = match index {
            Index::Hero => page.parts.hero,
            Index::Below(_) | Index::Number(_) => page.bytes,
        };
        let seed = Self::seed(page, "picture");
        let server_time = Duration::from_millis(page.image_delay_ms);
        Self { server_time, ..Self::of(PartKind::Picture, index, bytes, seed) }
    }

    fn seed(page: &Synthetic, kind: &str) -> Seed {
        Seed(page.seed).child(kind)
    }

    fn of(kind: PartKind, index: Index, bytes: u64, seed: Seed) -> Self {
        let draw = match index {
            Index::Hero => u64::MAX,
            Index::Below(number) => BELOW_DRAWS + u64::from(number),
            Index::Number(number) => u64::from(number),
        };
        let value = Seed(seed.draw(draw));
        Self { kind, index, body: ByteSize(bytes), value, server_time: Duration::ZERO }
    }

    pub(super) fn index(&self) -> Index {
        self.index
    }

    /// Its media type.
    pub fn media_type(&self) -> &'static str {
        match self.kind {
            PartKind::Sheet { .. } => "text/css; charset=utf-8",
            PartKind::Script => "text/javascript; charset=utf-8",
            PartKind::Font => "font/woff2",
            PartKind::Picture => "image/png",
        }
    }

    /// The target that names it.
    pub fn target(&self) -> String {
        let (path, end) = match self.kind {
            PartKind::Sheet { .. } => (SHEET_PATH, ".css"),
            PartKind::Script => (SCRIPT_PATH, ".js"),
            PartKind::Font => (FONT_PATH, ".woff2"),
            PartKind::Picture => (PICTURE_PATH, ".png"),
        };
        let index = match self.index {
            Index::Hero => HERO.to_owned(),
            Index::Below(number) => format!("{BELOW}{number}"),
            Index::Number(number) => number.to_string(),
        };
        let mut target =
            format!("{path}{index}{end}?bytes={}&v={:016x}", self.body.0, self.value.0);
        if let PartKind::Sheet { imports, fonts, font_bytes } = self.kind {
            if imports > 0 {
                let _ = write!(target, "&imports={imports}");
            }
            if fonts > 0 {
                let _ = write!(target, "&fonts={fonts}&font_bytes={font_bytes}");
            }
        }
        if !self.server_time.is_zero() {
            let _ = write!(target, "&delay_ms={}", self.server_time.as_millis());
        }
        target
    }

    /// What it names in turn: of a style sheet its import and its fonts.
    pub fn references(&self) -> Vec<(Kind, String)> {
        let PartKind::Sheet { imports, fonts, font_bytes } = self.kind else { return Vec::new() };
        let import = (imports > 0).then(|| {
            let index = match self.index {
                Index::Number(number) if number >= FIRST_IMPORT => number + 1,
                _ => FIRST_IMPORT,
            };
            let kind = PartKind::Sheet { imports: imports - 1, fonts: 0, font_bytes };
            Self::of(kind, Index::Number(index), self.body.0, self.value.child("style"))
        });
        let font = |index| {
            Self::of(PartKind::Font, Index::Number(index), font_bytes, self.value.child("font"))
        };
        let import = import.map(|sheet| (Kind::Stylesheet, sheet.target()));
        let fonts = (0..fonts).map(|index| (Kind::Font, font(index).target()));
        import.into_iter().chain(fonts).collect()
    }

    /// Its body, piece by piece: `body` bytes together.
    pub fn pieces(&self) -> Vec<PartPiece> {
        match self.kind {
            PartKind::Sheet { .. } => self.comment(&self.rules()),
            PartKind::Script => self.comment("window.parts=(window.parts||0)+1;\n"),
            PartKind::Font => {
                let own = self.value.0.to_be_bytes();
                let own = &own[..own.len().min(self.body.0 as usize)];
                let rest = self.body.0 - own.len() as u64;
                vec![PartPiece::Bytes(own.to_vec()), PartPiece::Padding(Padding::Noise, rest)]
            }
            PartKind::Picture => {
                let pixels = match self.index {
                    Index::Hero | Index::Below(_) => Pixels::Large,
                    Index::Number(_) => Pixels::Small,
                };
                png_of(pixels, self.value, self.body.0)
            }
        }
    }

    /// The rules of a style sheet.
    fn rules(&self) -> String {
        let mut rules = String::new();
        let mut number = 0;
        for (kind, target) in self.references() {
            let _ = match kind {
                Kind::Stylesheet => writeln!(rules, "@import url(\"{target}\");"),
                _ => write!(
                    rules,
                    "@font-face{{font-family:f{number};font-display:swap;src:url(\"{target}\")format(\"woff2\")}}\n\
                     .f{number}{{font-family:f{number}}}\n"
                ),
            };
            number += u32::from(kind == Kind::Font);
        }
        rules
    }

    /// `text`, and a comment that fills the body.
    fn comment(&self, text: &str) -> Vec<PartPiece> {
        const END: &str = "*/\n";
        let start = format!("{text}/*{:016x} ", self.value.0);
        let padding = self.body.0.saturating_sub((start.len() + END.len()) as u64);
        vec![
            PartPiece::Bytes(start.into_bytes()),
            PartPiece::Padding(Padding::Text, padding),
            PartPiece::Bytes(END.into()),
        ]
    }
}

/// A PNG of `bytes` bytes.
pub(super) fn png_of(pixels: Pixels, value: Seed, bytes: u64) -> Vec<PartPiece> {
    let own = png::own(pixels, value, bytes);
    let rest = bytes - own.len() as u64;
    vec![PartPiece::Bytes(own), PartPiece::Padding(Padding::Png(pixels), rest)]
}

impl FromStr for SyntheticPart {
    type Err = QueryError;

    /// Reads a request target such as `/script/0.js?bytes=20000&v=1f`. `bytes` has no default value.
    fn from_str(target: &str) -> Result<Self, QueryError> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (mut kind, index) = kind_of(path).ok_or_else(|| QueryError::Path(path.to_owned()))?;
        let (mut bytes, mut value, mut delay_ms) = (None, Seed(0), 0);
        let own_size = kind.size();
        for (name, text) in parameters(query) {
            match (name, &mut kind) {
                ("bytes", _) => bytes = Some(number("bytes", text, sizes(own_size))?),
                // Any text is accepted, so that a reader's own cache buster works.
                ("v", _) => {
                    let given = u64::from_str_radix(text, 16).map(Seed);
                    value = given.unwrap_or_else(|_| Seed(0).child(text));
                }
                ("delay_ms", _) => delay_ms = number("delay_ms", text, 0..=LONGEST_DELAY_MS)?,
                ("imports", PartKind::Sheet { imports, .. }) => {
                    *imports = number("imports", text, 0..=super::MOST_PARTS.into())? as u32;
                }
                ("fonts", PartKind::Sheet { fonts, .. }) => {
                    *fonts = number("fonts", text, 0..=super::MOST_PARTS.into())? as u32;
                }
                ("font_bytes", PartKind::Sheet { font_bytes, .. }) => {
                    *font_bytes = number("font_bytes", text, sizes("font_bytes"))?;
                }
                _ => {
                    return Err(QueryError::Unknown { name: name.to_owned(), known: kind.known() });
                }
            }
        }
        let missing = || QueryError::Parts(format!("{path} needs `bytes`"));
        let body = ByteSize(bytes.ok_or_else(missing)?);
        let server_time = Duration::from_millis(delay_ms);
        Ok(Self { kind, index, body, value, server_time })
    }
}

impl PartKind {
    /// The parameter of a page that gives its size.
    fn size(self) -> &'static str {
        match self {
            Self::Sheet { .. } => "css_bytes",
            Self::Script => "script_bytes",
            Self::Font => "font_bytes",
            Self::Picture => "hero",
        }
    }

    /// The parameters that it has.
    fn known(self) -> &'static str {
        match self {
            Self::Sheet { .. } => "bytes, v, delay_ms, imports, fonts, font_bytes",
            Self::Script | Self::Font | Self::Picture => "bytes, v, delay_ms",
        }
    }
}

/// What a path names.
fn kind_of(path: &str) -> Option<(PartKind, Index)> {
    let number = |text: &str| text.parse().ok().map(Index::Number);
    let within = |start: &str, end: &str| path.strip_prefix(start)?.strip_suffix(end);
    if let Some(name) = within(SHEET_PATH, ".css") {
        let kind = PartKind::Sheet { imports: 0, fonts: 0, font_bytes: 0 };
        return Some((kind, number(name)?));
    }
    if let Some(name) = within(SCRIPT_PATH, ".js") {
        return Some((PartKind::Script, number(name)?));
    }
    if let Some(name) = within(FONT_PATH, ".woff2") {
        return Some((PartKind::Font, number(name)?));
    }
    let name = within(PICTURE_PATH, ".png")?;
    let index = match name.strip_prefix(BELOW) {
        Some(below) => Index::Below(below.parse().ok()?),
        None if name == HERO => Index::Hero,
        None => number(name)?,
    };
    Some((PartKind::Picture, index))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::scan::Scanner;

    /// A body as a whole.
    pub(in super::super) fn bytes_of(pieces: &[PartPiece]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                PartPiece::Bytes(own) => bytes.extend_from_slice(own),
                PartPiece::Padding(padding, length) => {
                    let mut position = 0;
                    while position < *length {
                        let piece = padding.piece(position..*length, usize::MAX);
                        bytes.extend_from_slice(piece);
                        position += piece.len() as u64;
                    }
                }
            }
        }
        bytes
    }

    const PAGE: &str = "/page?images=8&bytes=300&css=2&imports=2&css_bytes=5000&scripts=1&async=1&defer=1&modules=1\
                        &script_bytes=100&fonts=20&font_bytes=5&below_fold=3&hero=60000";

    #[test]
    fn every_part_has_the_bytes_that_its_target_names_and_the_same_ones_wherever_it_is_asked_for() {
        let page: Synthetic = PAGE.parse().unwrap();
        let graph = page.page(&"http://far/".parse().unwrap()).unwrap();
        // The document, images, style sheets, scripts, fonts, images below the fold, the hero.
        assert_eq!(graph.resources().len(), 1 + 8 + 4 + 4 + 20 + 3 + 1);
        for resource in &graph.resources()[1..] {
            let part: SyntheticPart = resource.url.path.parse().unwrap();
            assert_eq!(part.target(), resource.url.path);
            assert_eq!(bytes_of(&part.pieces()).len() as u64, resource.body.0, "{}", part.target());
        }
    }

    #[test]
    fn a_style_sheet_says_what_it_imports_and_which_fonts_it_needs() {
        let page: Synthetic = PAGE.parse().unwrap();
        let sheet = SyntheticPart::sheet(&page, 0);
        let text = String::from_utf8(bytes_of(&sheet.pieces())).unwrap();
        assert!(text.starts_with("@import url(\"/style/100.css?bytes=5000&v="), "{text}");
        assert_eq!(text.matches("@font-face").count(), 20);
        assert!(text.ends_with("*/\n"));
        assert_eq!(text.matches("*/").count(), 1);
        let [(Kind::Stylesheet, import), ..] = &sheet.references()[..] else {
            panic!("the import comes first");
        };
        let import: SyntheticPart = import.parse().unwrap();
        assert_eq!(import.references().len(), 1, "it imports the next, and no font");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for (target, word) in [
            ("/style/0.js?bytes=5000", "neither"),
            ("/script/0.js?bytes=99", "100 to"),
            ("/font/0.woff2?v=1", "needs `bytes`"),
            ("/picture/hero.png?bytes=199", "200 to"),
            ("/picture/below-x.png?bytes=5000", "neither"),
            ("/script/0.js?bytes=5000&fonts=1", "known are bytes, v, delay_ms"),
            ("/style/0.css?bytes=5000&fonts=21", "0 to 20"),
        ] {
            let error = target.parse::<SyntheticPart>().unwrap_err().to_string();
            assert!(error.contains(word), "{target}: {error}");
        }
    }

    #[test]
    fn a_page_without_parts_names_plain_images_alone() {
        let html = Synthetic::default().html();
        assert!(
            Scanner::new()
                .feed(html.as_bytes())
                .iter()
                .all(|found| { found.reference.starts_with("/image/") && found.pixels.is_none() })
        );
    }
}
