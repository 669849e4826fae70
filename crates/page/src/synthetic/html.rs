//! The document of a synthetic page, and where it puts what it names.
//!
//! | where, in a viewport of 800 x 600 | what |
//! |---|---|
//! | the first 60 lines of pixels | a headline: text |
//! | the 400 below, 600 wide | the hero, where there is one |
//! | below that, 120 x 90 each | images, six of which are in the viewport |
//! | from 2,000 on, 600 x 400 each | images below the fold |
//!
//! A page without parts has no layout: its images stand in lines, and each counts as one pixel of the viewport.

use super::part::{Index, PICTURE_PATH, SyntheticPart};
use super::{IMAGE_PATH, Synthetic};
use crate::resource::{Fold, Kind};
use crate::scan::Found;
use std::fmt::Write;
use unit::{ByteSize, Seed};

/// What the headline covers.
pub(super) const TEXT_PIXELS: u32 = 800 * 60;
/// Text in each font.
const FONT_PIXELS: u32 = 100 * 60;
/// Images in the row that the viewport shows.
const IN_VIEW: u32 = 6;

/// What a resource covers, and where.
pub(super) fn placement(found: &Found) -> (Option<u32>, Fold) {
    if found.reference.starts_with(IMAGE_PATH) {
        return (Some(1), Fold::Above);
    }
    match (found.kind, found.reference.parse::<SyntheticPart>().map(|part| part.index())) {
        (Kind::Font, _) => (Some(FONT_PIXELS), Fold::Above),
        (Kind::Image, Ok(Index::Hero)) => (found.pixels, Fold::Above),
        (Kind::Image, Ok(Index::Number(0..IN_VIEW))) => (found.pixels, Fold::Above),
        (Kind::Image, _) => (found.pixels, Fold::Below),
        _ => (None, Fold::Unknown),
    }
}

/// The document of a synthetic page, made piece by piece: a page of 100,000 images has 8 MB.
#[derive(Debug, Clone)]
pub struct SyntheticHtml {
    images: u32,
    /// Bytes of each.
    bytes: u64,
    /// The page, where it has more than images.
    page: Option<Box<Synthetic>>,
    values: Seed,
    /// What stands before an image's number, what stands between that and its value, and what follows.
    line: [Box<str>; 3],
    next: Piece,
    /// Bytes that were not given yet.
    left: u64,
}

/// The piece of a document that comes next.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Head,
    Image(u32),
    Nothing,
}

impl SyntheticHtml {
    /// The document of this page, from its beginning. Nothing is made yet.
    pub fn new(page: &Synthetic) -> Self {
        let is_plain = page.parts.is_none();
        let delay = match page.image_delay_ms {
            0 => String::new(),
            delay => format!("&amp;delay_ms={delay}"),
        };
        let line = match is_plain {
            true => [
                format!("<img src=\"{IMAGE_PATH}"),
                format!("?bytes={}&amp;v=", page.bytes),
                format!("{delay}\" alt=\"\">\n"),
            ],
            false => [
                format!("<img src=\"{}", PICTURE_PATH),
                format!(".png?bytes={}&amp;v=", page.bytes),
                format!("{delay}\" width=\"120\" height=\"90\" alt=\"\">\n"),
            ],
        };
        let values = Seed(page.seed).child("image");
        let mut html = Self {
            images: page.images,
            bytes: page.bytes,
            page: (!is_plain).then(|| Box::new(*page)),
            values,
            line: line.map(Into::into),
            next: Piece::Head,
            left: 0,
        };
        let images = u64::from(page.images);
        let line = html.line.iter().map(|part| part.len()).sum::<usize>() + VALUE;
        let ends = html.head().len() + html.end().len();
        html.left = ends as u64 + images * line as u64 + digits_below(images);
        html
    }

    fn head(&self) -> String {
        let title = format!("{} images of {}", self.images, ByteSize(self.bytes));
        let mut head = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n"
        );
        let Some(page) = self.page.as_deref() else {
            head.push_str("</head>\n<body>\n");
            return head;
        };
        let parts = &page.parts;
        let _ = writeln!(head, "<style>{LAYOUT}</style>");
        if parts.css == 0 {
            for target in all(parts.fonts, |index| SyntheticPart::font(page, index)) {
                let _ = writeln!(
                    head,
                    "<link rel=\"preload\" as=\"font\" type=\"font/woff2\" crossorigin href=\"{target}\">"
                );
            }
        }
        for target in all(parts.css, |index| SyntheticPart::sheet(page, index)) {
            let _ = writeln!(head, "<link rel=\"stylesheet\" href=\"{target}\">");
        }
        let mut first = 0;
        let kinds = [
            ("", parts.scripts),
            ("async ", parts.async_scripts),
            ("defer ", parts.deferred_scripts),
            ("type=\"module\" ", parts.modules),
        ];
        for (attribute, count) in kinds {
            let script = |index| SyntheticPart::script(page, first + index);
            for target in all(count, script) {
                let _ = writeln!(head, "<script {attribute}src=\"{target}\"></script>");
            }
            first += count;
        }
        let hero = if parts.hero > 0 { " class=\"hero\"" } else { "" };
        let _ = write!(head, "</head>\n<body{hero}>\n<h1>{title}");
        // A browser asks for a font where text is set in it.
        for number in 0..parts.fonts {
            let _ = write!(head, " <span class=\"f{number}\">font {number}</span>");
        }
        head.push_str("</h1>\n<div id=\"images\">\n");
        head
    }

    fn end(&self) -> String {
        let mut end = String::new();
        if let Some(page) = self.page.as_deref() {
            let parts = &page.parts;
            end.push_str("</div>\n<div id=\"below\">\n");
            let below = |index| SyntheticPart::picture(page, Index::Below(index));
            for target in all(parts.below_fold, below) {
                let _ = writeln!(end, "<img src=\"{target}\" {LARGE} alt=\"\">");
            }
            end.push_str("</div>\n");
            if parts.hero > 0 {
                let target = SyntheticPart::picture(page, Index::Hero).target();
                let target = escaped(&target);
                let raised = if parts.hero_high > 0 { "fetchpriority=\"high\" " } else { "" };
                let _ =
                    writeln!(end, "<img id=\"hero\" {raised}src=\"{target}\" {LARGE} alt=\"\">");
            }
        }
        end.push_str("</body>\n</html>\n");
        end
    }

    /// Bytes that [`next`](Self::next) has not given yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, of `limit` bytes and the rest of a line at most; the head and the end come whole. Empty at the
    /// end.
    pub fn next(&mut self, limit: usize) -> String {
        let mut html = String::with_capacity(limit.min(self.left as usize) + 128);
        let mut decimal = itoa::Buffer::new();
        while html.len() < limit {
            self.next = match self.next {
                Piece::Head => {
                    html.push_str(&self.head());
                    Piece::Image(0)
                }
                Piece::Image(index) if index < self.images => {
                    let value = self.values.draw(u64::from(index));
                    let [start, number, end] = &self.line;
                    // A page may have 100,000 lines, and `write!` takes more than twice as long for one.
                    html.push_str(start);
                    html.push_str(decimal.format(index));
                    html.push_str(number);
                    push_hex(&mut html, value);
                    html.push_str(end);
                    Piece::Image(index + 1)
                }
                Piece::Image(_) => {
                    html.push_str(&self.end());
                    Piece::Nothing
                }
                Piece::Nothing => break,
            };
        }
        self.left -= html.len() as u64;
        if html.capacity() - html.len() > html.len() / 4 {
            // A piece may wait for as long as a peer does not read.
            html.shrink_to_fit();
        }
        html
    }
}

/// Writes all 16 digits.
fn push_hex(html: &mut String, value: u64) {
    for shift in (0..VALUE).rev().map(|digit| 4 * digit) {
        html.push(char::from(b"0123456789abcdef"[(value >> shift) as usize & 15]));
    }
}

/// The targets of so many parts, as they are written in an attribute.
fn all(count: u32, part: impl Fn(u32) -> SyntheticPart) -> impl Iterator<Item = String> {
    (0..count).map(move |index| escaped(&part(index).target()))
}

/// The only character of a part's target that HTML escapes is the ampersand.
fn escaped(target: &str) -> String {
    target.replace('&', "&amp;")
}

const LAYOUT: &str = "body{margin:0;background:#eef}h1{margin:0;height:60px;overflow:hidden}\
                      .hero #images{margin-top:400px}#images{font-size:0}\
                      #below{position:absolute;top:2000px}#below img{display:block}\
                      #hero{position:absolute;top:60px;left:0}";
/// The size of large images, as [`part`] draws them.
const LARGE: &str = "width=\"600\" height=\"400\"";
/// Digits of an image's value.
const VALUE: usize = 16;

/// Decimal digits of all numbers below `count` together.
fn digits_below(count: u64) -> u64 {
    let powers = std::iter::successors(Some(10_u64), |power| power.checked_mul(10));
    // Every number has one digit, those from 10 on another one, and so on.
    count + powers.take_while(|power| *power < count).map(|power| count - power).sum::<u64>()
}
