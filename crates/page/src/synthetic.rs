//! Pages made to measure: an HTML document with so many images of so many bytes, from a seed.
//!
//! `/page?images=100&bytes=5000&seed=1` names one, and each of its images has a path and query of its own
//! (`/image/7?bytes=5000&v=…`), so that no cache and no coalescing helps. The graph of such a page is not
//! written down beside the HTML but scanned from it. The one rule: the target says all, so that any
//! origin gives the same bytes for it.

use crate::graph::{GraphError, Page};
use crate::priority::Hint;
use crate::resource::{Kind, Method, Release, Resource, ResourceId};
use crate::scan::Scanner;
use crate::url::{Url, UrlError};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;
use unit::{ByteSize, Seed};

/// Path of every synthetic page.
pub const PAGE_PATH: &str = "/page";
/// What the paths of its images begin with.
pub const IMAGE_PATH: &str = "/image/";

const MOST_IMAGES: u64 = 100_000;
/// 1 GiB, enough for any transfer that a trial has time for.
const MOST_BYTES: u64 = 1 << 30;
const LONGEST_DELAY_MS: u64 = 600_000;

/// A synthetic page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synthetic {
    /// Images in the document.
    pub images: u32,
    /// Bytes of each image.
    pub bytes: u64,
    /// What the images' bytes and queries flow from.
    pub seed: u64,
    /// The origin's think time for the document, in ms.
    pub delay_ms: u64,
    /// The origin's think time for each image, in ms.
    pub image_delay_ms: u64,
}

/// One image of a synthetic page, described by its path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticImage {
    /// Bytes of its body.
    pub body: ByteSize,
    /// The seed of its bytes; see [`noise`](crate::noise()).
    pub seed: Seed,
    /// How long the origin thinks about it.
    pub server_time: Duration,
}

impl SyntheticImage {
    /// The media type of an image. Its bytes are noise. With a type that Wireshark decodes, it would report packets as
    /// malformed.
    pub const MEDIA_TYPE: &'static str = "image/avif";
}

/// Why a target is not a synthetic page or image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    /// The path is another one.
    #[error("`{0}` is neither /page nor /image/NUMBER")]
    Path(String),
    /// A parameter that does not exist.
    #[error("unknown parameter `{name}`; known are {known}")]
    Unknown {
        /// As written.
        name: String,
        /// Those that there are.
        known: &'static str,
    },
    /// A value that is not a number, or too large.
    #[error("{name}={value}: a whole number from 0 to {most} is expected")]
    Value {
        /// The parameter.
        name: &'static str,
        /// As written.
        value: String,
        /// The largest that is taken.
        most: u64,
    },
}

impl Default for Synthetic {
    /// The page of the built-in experiment `quick`: 50 images of 5 kB.
    fn default() -> Self {
        Self { images: 50, bytes: 5_000, seed: 1, delay_ms: 0, image_delay_ms: 0 }
    }
}

impl FromStr for Synthetic {
    type Err = QueryError;

    /// Reads a request target such as `/page?images=100&bytes=5000`. Missing parameters have their default values.
    fn from_str(target: &str) -> Result<Self, QueryError> {
        const KNOWN: &str = "images, bytes, seed, delay_ms, image_delay_ms";
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != PAGE_PATH {
            return Err(QueryError::Path(path.to_owned()));
        }
        let mut page = Self::default();
        for (name, value) in parameters(query) {
            match name {
                "images" => page.images = number("images", value, MOST_IMAGES)? as u32,
                "bytes" => page.bytes = number("bytes", value, MOST_BYTES)?,
                "seed" => page.seed = number("seed", value, u64::MAX)?,
                "delay_ms" => page.delay_ms = number("delay_ms", value, LONGEST_DELAY_MS)?,
                "image_delay_ms" => {
                    page.image_delay_ms = number("image_delay_ms", value, LONGEST_DELAY_MS)?;
                }
                _ => return Err(QueryError::Unknown { name: name.to_owned(), known: KNOWN }),
            }
        }
        Ok(page)
    }
}

impl Synthetic {
    /// The target that names this page.
    pub fn target(&self) -> String {
        let mut target =
            format!("{PAGE_PATH}?images={}&bytes={}&seed={}", self.images, self.bytes, self.seed);
        for (name, delay) in [("delay_ms", self.delay_ms), ("image_delay_ms", self.image_delay_ms)]
        {
            if delay > 0 {
                let _ = write!(target, "&{name}={delay}");
            }
        }
        target
    }

    /// The document as a whole.
    pub fn html(&self) -> String {
        SyntheticHtml::new(self).next(usize::MAX)
    }

    /// The page's graph when it is served by `origin`, scanned from its HTML.
    pub fn page(&self, origin: &Url) -> Result<Page, SyntheticError> {
        let html = self.html();
        let document = Resource {
            url: origin.join(&self.target())?,
            kind: Kind::Document,
            method: Method::Get,
            status: 200,
            content_type: "text/html; charset=utf-8".to_owned(),
            body: ByteSize(html.len() as u64),
            server_time: Duration::from_millis(self.delay_ms),
            release: Release::Navigation,
            think: Duration::ZERO,
            hint: Hint::None,
        };
        let mut resources = vec![document];
        for found in Scanner::new().feed(html.as_bytes()) {
            let image: SyntheticImage = found.reference.parse()?;
            resources.push(Resource {
                url: origin.join(&found.reference)?,
                kind: found.kind,
                content_type: SyntheticImage::MEDIA_TYPE.to_owned(),
                body: image.body,
                server_time: image.server_time,
                release: Release::Parsed { by: ResourceId(0), offset: ByteSize(found.offset) },
                hint: found.hint,
                ..resources[0].clone()
            });
        }
        Ok(Page::new(ResourceId(0), resources)?)
    }
}

/// The document of a synthetic page, made piece by piece: a page of 100,000 images has 8 MB.
#[derive(Debug, Clone)]
pub struct SyntheticHtml {
    values: Seed,
    /// What follows an image's number, then what follows its value.
    line: Box<str>,
    /// Where the second of these begins.
    after_value: usize,
    next: Part,
    images: u32,
    bytes: u64,
    /// Bytes that were not given yet.
    left: u64,
}

/// The part of a document that comes next.
#[derive(Debug, Clone, Copy)]
enum Part {
    Head,
    Image(u32),
    Nothing,
}

impl SyntheticHtml {
    /// The document of this page, from its beginning. Nothing is made yet.
    pub fn new(page: &Synthetic) -> Self {
        let delay = match page.image_delay_ms {
            0 => String::new(),
            delay => format!("&amp;delay_ms={delay}"),
        };
        let after_number = format!("?bytes={}&amp;v=", page.bytes);
        let line = format!("{after_number}{delay}\" alt=\"\">\n");
        let mut html = Self {
            values: Seed(page.seed).child("image"),
            line: line.into(),
            after_value: after_number.len(),
            next: Part::Head,
            images: page.images,
            bytes: page.bytes,
            left: 0,
        };
        let (images, line) = (u64::from(page.images), IMAGE_START.len() + html.line.len() + VALUE);
        let ends = html.head().len() + END.len();
        html.left = ends as u64 + images * line as u64 + digits_below(images);
        html
    }

    fn head(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{} images of {}</title>\n</head>\n<body>\n",
            self.images,
            ByteSize(self.bytes)
        )
    }

    /// Bytes that [`next`](Self::next) has not given yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, of `limit` bytes and the rest of a line at most. Empty at the end.
    pub fn next(&mut self, limit: usize) -> String {
        let mut html = String::with_capacity(limit.min(self.left as usize) + 128);
        while html.len() < limit {
            self.next = match self.next {
                Part::Head => {
                    html.push_str(&self.head());
                    Part::Image(0)
                }
                Part::Image(index) if index < self.images => {
                    let value = self.values.draw(u64::from(index));
                    let (number, end) = self.line.split_at(self.after_value);
                    let _ = write!(html, "{IMAGE_START}{index}{number}{value:016x}{end}");
                    Part::Image(index + 1)
                }
                Part::Image(_) => {
                    html.push_str(END);
                    Part::Nothing
                }
                Part::Nothing => break,
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

const IMAGE_START: &str = "<img src=\"/image/";
const END: &str = "</body>\n</html>\n";
/// Digits of an image's value.
const VALUE: usize = 16;

/// Decimal digits of all numbers below `count` together.
fn digits_below(count: u64) -> u64 {
    let powers = std::iter::successors(Some(10_u64), |power| power.checked_mul(10));
    // Every number has one digit, those from 10 on another one, and so on.
    count + powers.take_while(|power| *power < count).map(|power| count - power).sum::<u64>()
}

/// Why a synthetic page has no graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntheticError {
    /// A target of it cannot be read back.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A URL of it does not resolve.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// Its resources make no page.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl FromStr for SyntheticImage {
    type Err = QueryError;

    /// Reads a request target such as `/image/7?bytes=5000&v=1f`.
    fn from_str(target: &str) -> Result<Self, QueryError> {
        const KNOWN: &str = "bytes, v, delay_ms";
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let index = path.strip_prefix(IMAGE_PATH).and_then(|index| index.parse::<u32>().ok());
        let index = index.ok_or_else(|| QueryError::Path(path.to_owned()))?;
        let mut bytes = Synthetic::default().bytes;
        let mut value_seed = u64::from(index);
        let mut delay_ms = 0;
        for (name, value) in parameters(query) {
            match name {
                "bytes" => bytes = number("bytes", value, MOST_BYTES)?,
                // Any text is accepted, so that a reader's own cache buster works.
                "v" => value_seed = Seed(0).child(value).0,
                "delay_ms" => delay_ms = number("delay_ms", value, LONGEST_DELAY_MS)?,
                _ => return Err(QueryError::Unknown { name: name.to_owned(), known: KNOWN }),
            }
        }
        Ok(Self {
            body: ByteSize(bytes),
            seed: Seed(value_seed),
            server_time: Duration::from_millis(delay_ms),
        })
    }
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
}

fn number(name: &'static str, value: &str, most: u64) -> Result<u64, QueryError> {
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    match value.parse::<u64>() {
        Ok(number) if digits && number <= most => Ok(number),
        _ => Err(QueryError::Value { name, value: value.to_owned(), most }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn origin() -> Url {
        "http://far/".parse().unwrap()
    }

    #[test]
    fn the_graph_is_what_the_html_says() {
        let synthetic: Synthetic = "/page?images=100&bytes=5000&image_delay_ms=7".parse().unwrap();
        let page = synthetic.page(&origin()).unwrap();
        let html = synthetic.html();
        assert_eq!(page.resources().len(), 101);
        assert_eq!(page.total_bytes(), ByteSize(100 * 5_000 + html.len() as u64));
        let paths: BTreeSet<_> = page.resources().iter().map(|r| r.url.path.as_str()).collect();
        assert_eq!(paths.len(), 101, "each image has its own URL");
        let Release::Parsed { offset, .. } = page.resources()[1].release else {
            panic!("an image is found while the document is parsed");
        };
        assert!(html[..offset.0 as usize].ends_with("alt=\"\">"));
        assert_eq!(page.resources()[1].server_time, Duration::from_millis(7));
    }

    #[test]
    fn a_document_in_pieces_is_the_document_and_its_length_is_known_before() {
        for images in [0, 1, 9, 10, 11, 100, 101, 1_234] {
            for image_delay_ms in [0, 70] {
                let page = Synthetic { images, image_delay_ms, ..Synthetic::default() };
                let whole = page.html();
                let mut pieces = SyntheticHtml::new(&page);
                assert_eq!(pieces.left(), whole.len() as u64, "{images} images");
                let mut all = String::new();
                while pieces.left() > 0 {
                    let piece = pieces.next(100);
                    assert!((1..400).contains(&piece.len()));
                    all.push_str(&piece);
                }
                assert_eq!(all, whole);
                assert_eq!(pieces.next(100), "");
            }
        }
    }

    #[test]
    fn a_target_names_the_same_page_everywhere() {
        let one: Synthetic = "/page?images=3&seed=9&delay_ms=4".parse().unwrap();
        assert_eq!(one.target().parse(), Ok(one));
        assert_eq!(one.html(), one.html());
        assert_ne!(one.html(), Synthetic { seed: 10, ..one }.html());
        assert_eq!("/page".parse(), Ok(Synthetic::default()));
        let empty: Synthetic = "/page?images=0".parse().unwrap();
        assert_eq!(empty.page(&origin()).unwrap().resources().len(), 1);
    }

    #[test]
    fn a_bad_query_says_what_is_expected() {
        let page = |target: &str| target.parse::<Synthetic>().unwrap_err().to_string();
        assert_eq!(
            page("/page?image=3"),
            "unknown parameter `image`; known are images, bytes, seed, delay_ms, image_delay_ms"
        );
        assert_eq!(
            page("/page?images=100001"),
            "images=100001: a whole number from 0 to 100000 is expected"
        );
        assert_eq!(
            page("/page?bytes=+5"),
            "bytes=+5: a whole number from 0 to 1073741824 is expected"
        );
        assert_eq!(page("/pages"), "`/pages` is neither /page nor /image/NUMBER");
        assert!("/image/x".parse::<SyntheticImage>().is_err());
        assert!("/image/1?bytes=".parse::<SyntheticImage>().is_err());
    }

    #[test]
    fn images_of_one_page_have_different_bytes() {
        let html = Synthetic::default().html();
        let seeds: BTreeSet<u64> = Scanner::new()
            .feed(html.as_bytes())
            .iter()
            .map(|found| found.reference.parse::<SyntheticImage>().unwrap().seed.0)
            .collect();
        assert_eq!(seeds.len(), 50);
    }
}
