//! Pages made to measure: an HTML document with so many images of so many bytes, from a seed, and on request with what a
//! page has besides: style sheets, scripts, fonts, a hero image, images below the fold.
//!
//! `/page?images=100&bytes=5000&seed=1` names one, and each of its images has a path and query of its own
//! (`/image/7?bytes=5000&v=…`), so that no cache and no coalescing helps. The graph of such a page is not
//! written down beside the HTML but scanned from it. The one rule: the target says all, so that any
//! origin gives the same bytes for it.

mod html;
mod image;
mod part;

use crate::graph::{GraphError, Page};
use crate::priority::Hint;
use crate::resource::{Blocks, Fold, Kind, Method, Release, Resource, ResourceId};
use crate::scan::{FetchMode, Found, Scanner};
use crate::url::{Url, UrlError};
pub use html::SyntheticHtml;
pub use image::SyntheticImage;
pub use part::{PartPiece, SyntheticPart};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;
use unit::ByteSize;

/// Path of every synthetic page.
pub const PAGE_PATH: &str = "/page";
/// What the paths of its images begin with.
pub const IMAGE_PATH: &str = "/image/";

const MOST_IMAGES: u64 = 100_000;
/// A parameter that means nothing: the page timer makes each URL a new one by it.
const UNIQUE: &str = "wirelap-run";
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
    /// What the page has besides.
    #[serde(default)]
    pub parts: Parts,
}

/// What a synthetic page has besides images. A page that has any of it has a layout, too: its images have their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parts {
    /// Style sheets in the head.
    pub css: u32,
    /// Style sheets that the first of them imports, one the next.
    pub imports: u32,
    /// Bytes of each style sheet.
    pub css_bytes: u64,
    /// Classic scripts in the head, which stop the parser.
    pub scripts: u32,
    /// Async scripts in the head.
    pub async_scripts: u32,
    /// Deferred scripts in the head.
    pub deferred_scripts: u32,
    /// Module scripts in the head.
    pub modules: u32,
    /// Bytes of each script.
    pub script_bytes: u64,
    /// Fonts that the first style sheet names; without one, the head preloads them.
    pub fonts: u32,
    /// Bytes of each font.
    pub font_bytes: u64,
    /// Images below the fold, of as many bytes as the others.
    pub below_fold: u32,
    /// Bytes of the hero image, which stands last in the markup and first in the viewport; 0 for none.
    pub hero: u64,
    /// 1: the markup raises the hero (`fetchpriority=high`); 0: it does not.
    #[serde(default)]
    pub hero_high: u32,
}

impl Parts {
    /// No parts; the sizes are those of parts that are asked for without a size.
    pub const NONE: Self = Self {
        css: 0,
        imports: 0,
        css_bytes: 20_000,
        scripts: 0,
        async_scripts: 0,
        deferred_scripts: 0,
        modules: 0,
        script_bytes: 20_000,
        fonts: 0,
        font_bytes: 20_000,
        below_fold: 0,
        hero: 0,
        hero_high: 0,
    };

    /// Whether the page has no part.
    pub fn is_none(&self) -> bool {
        self.counts().iter().all(|(_, count, _)| *count == 0) && self.hero == 0
    }

    /// The parts that are counted, by their parameters' names, with the greatest number of each.
    fn counts(&self) -> [(&'static str, u32, u32); 9] {
        [
            ("css", self.css, MOST_PARTS),
            ("imports", self.imports, MOST_PARTS),
            ("scripts", self.scripts, MOST_PARTS),
            ("async", self.async_scripts, MOST_PARTS),
            ("defer", self.deferred_scripts, MOST_PARTS),
            ("modules", self.modules, MOST_PARTS),
            ("fonts", self.fonts, MOST_PARTS),
            ("below_fold", self.below_fold, MOST_BELOW_FOLD),
            ("hero_high", self.hero_high, 1),
        ]
    }

    /// The sizes that a part's target gives, by their parameters' names: of those parts alone that there are.
    fn sizes(&self) -> [(&'static str, u64, bool); 4] {
        let scripts = [self.scripts, self.async_scripts, self.deferred_scripts, self.modules];
        [
            ("css_bytes", self.css_bytes, self.css > 0),
            ("script_bytes", self.script_bytes, scripts.iter().any(|&count| count > 0)),
            ("font_bytes", self.font_bytes, self.fonts > 0),
            ("hero", self.hero, self.hero > 0),
        ]
    }

    /// Why a page cannot be made of these parts and images of `bytes` bytes, in words.
    pub fn check(&self, bytes: u64) -> Result<(), String> {
        for (name, count, most) in self.counts() {
            if count > most {
                return Err(format!("{name}={count}: at most {most} are possible"));
            }
        }
        if self.imports > 0 && self.css == 0 {
            return Err("imports: a style sheet imports others, and css=0".to_owned());
        }
        if self.hero_high > 0 && self.hero == 0 {
            return Err("hero_high: there is no hero".to_owned());
        }
        for (name, size, is_there) in self.sizes() {
            let possible = part::sizes(name);
            if is_there && !possible.contains(&size) {
                let (least, most) = (possible.start(), possible.end());
                return Err(format!("{name}={size}: {least} to {most} bytes are possible"));
            }
        }
        let possible = part::sizes("hero");
        if !self.is_none() && !possible.contains(&bytes) {
            let (least, most) = (possible.start(), possible.end());
            return Err(format!(
                "bytes={bytes}: images that are painted have {least} to {most} bytes"
            ));
        }
        Ok(())
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::NONE
    }
}

/// Most parts of a kind. The head of a document with all of them is made as a whole.
const MOST_PARTS: u32 = 20;
/// Most images below the fold.
const MOST_BELOW_FOLD: u32 = 100;

/// Why a target is not a synthetic page, image or part.
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
    /// A value that is not a number, or out of range.
    #[error("{name}={value}: a whole number from {least} to {most} is expected")]
    Value {
        /// The parameter.
        name: &'static str,
        /// As written.
        value: String,
        /// The smallest that is taken.
        least: u64,
        /// The largest that is taken.
        most: u64,
    },
    /// Values that do not go together, in words.
    #[error("{0}")]
    Parts(String),
}

impl Default for Synthetic {
    /// The page of the built-in experiment `quick`: 50 images of 5 kB.
    fn default() -> Self {
        Self {
            images: 50,
            bytes: 5_000,
            seed: 1,
            delay_ms: 0,
            image_delay_ms: 0,
            parts: Parts::NONE,
        }
    }
}

impl FromStr for Synthetic {
    type Err = QueryError;

    /// Reads a request target such as `/page?images=100&bytes=5000`. Missing parameters have their default values.
    fn from_str(target: &str) -> Result<Self, QueryError> {
        const KNOWN: &str = "images, bytes, seed, delay_ms, image_delay_ms, css, imports, css_bytes, scripts, async, \
                             defer, modules, script_bytes, fonts, font_bytes, below_fold, hero, hero_high";
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != PAGE_PATH {
            return Err(QueryError::Path(path.to_owned()));
        }
        let mut page = Self::default();
        let parts = &mut page.parts;
        for (name, value) in parameters(query) {
            let count = |name, most: u32| Ok(number(name, value, 0..=u64::from(most))? as u32);
            let size = |name| number(name, value, part::sizes(name));
            match name {
                "images" => page.images = number("images", value, 0..=MOST_IMAGES)? as u32,
                "bytes" => page.bytes = number("bytes", value, 0..=MOST_BYTES)?,
                "seed" => page.seed = number("seed", value, 0..=u64::MAX)?,
                "delay_ms" => page.delay_ms = number("delay_ms", value, 0..=LONGEST_DELAY_MS)?,
                "image_delay_ms" => {
                    page.image_delay_ms = number("image_delay_ms", value, 0..=LONGEST_DELAY_MS)?;
                }
                "css" => parts.css = count("css", MOST_PARTS)?,
                "imports" => parts.imports = count("imports", MOST_PARTS)?,
                "css_bytes" => parts.css_bytes = size("css_bytes")?,
                "scripts" => parts.scripts = count("scripts", MOST_PARTS)?,
                "async" => parts.async_scripts = count("async", MOST_PARTS)?,
                "defer" => parts.deferred_scripts = count("defer", MOST_PARTS)?,
                "modules" => parts.modules = count("modules", MOST_PARTS)?,
                "script_bytes" => parts.script_bytes = size("script_bytes")?,
                "fonts" => parts.fonts = count("fonts", MOST_PARTS)?,
                "font_bytes" => parts.font_bytes = size("font_bytes")?,
                "below_fold" => parts.below_fold = count("below_fold", MOST_BELOW_FOLD)?,
                "hero" => parts.hero = size("hero")?,
                "hero_high" => parts.hero_high = count("hero_high", 1)?,
                UNIQUE => {}
                _ => return Err(QueryError::Unknown { name: name.to_owned(), known: KNOWN }),
            }
        }
        page.parts.check(page.bytes).map_err(QueryError::Parts)?;
        Ok(page)
    }
}

impl Synthetic {
    /// The target that names this page.
    pub fn target(&self) -> String {
        let mut target =
            format!("{PAGE_PATH}?images={}&bytes={}&seed={}", self.images, self.bytes, self.seed);
        let delays = [("delay_ms", self.delay_ms), ("image_delay_ms", self.image_delay_ms)];
        let counts = self.parts.counts().map(|(name, count, _)| (name, u64::from(count)));
        let sizes = self.parts.sizes().into_iter().filter(|(.., is_there)| *is_there);
        let sizes = sizes.map(|(name, size, _)| (name, size));
        for (name, value) in delays.into_iter().chain(counts).chain(sizes) {
            // A size of 0 is one that was asked for: fonts may be empty.
            if value > 0 || name.ends_with("_bytes") {
                let _ = write!(target, "&{name}={value}");
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
            blocks: Blocks::Nothing,
            pixels: (!self.parts.is_none()).then_some(html::TEXT_PIXELS),
            fold: Fold::Above,
            asked: Default::default(),
            answered: Default::default(),
        };
        let mut resources = vec![document];
        let mut scanner = Scanner::new();
        for found in scanner.feed(html.as_bytes()) {
            let release = Release::Parsed { by: ResourceId(0), offset: ByteSize(found.offset) };
            let resource = self.resource(&found, release, origin)?;
            resources.push(resource);
            self.add_named_by_sheet(&found, &mut resources, origin)?;
        }
        let body_at = ByteSize(scanner.body().unwrap_or(html.len() as u64));
        Ok(Page::new(ResourceId(0), resources)?.with_body_at(body_at))
    }

    fn resource(
        &self,
        found: &Found,
        release: Release,
        origin: &Url,
    ) -> Result<Resource, SyntheticError> {
        let answer = match found.reference.parse::<SyntheticImage>() {
            Ok(image) => (image.media_type(), image.body, image.server_time),
            Err(_) => {
                let part: SyntheticPart = found.reference.parse()?;
                (part.media_type(), part.body, part.server_time)
            }
        };
        let (content_type, body, server_time) = answer;
        let (pixels, fold) = html::placement(found);
        Ok(Resource {
            url: origin.join(&found.reference)?,
            kind: found.kind,
            method: Method::Get,
            status: 200,
            content_type: content_type.to_owned(),
            body,
            server_time,
            release,
            think: Duration::ZERO,
            hint: found.hint,
            blocks: found.blocks,
            pixels,
            fold,
            asked: Default::default(),
            answered: Default::default(),
        })
    }

    /// Adds what the style sheet that was found last names in turn, and so on.
    fn add_named_by_sheet(
        &self,
        found: &Found,
        resources: &mut Vec<Resource>,
        origin: &Url,
    ) -> Result<(), SyntheticError> {
        let mut sheets = vec![(ResourceId(resources.len() as u32 - 1), found.reference.clone())];
        while let Some((by, target)) = sheets.pop() {
            let Ok(part) = target.parse::<SyntheticPart>() else { return Ok(()) };
            for (kind, reference) in part.references() {
                let blocks = match kind {
                    Kind::Stylesheet => Blocks::Painting,
                    _ => Blocks::Nothing,
                };
                let (hint, mode) = (Hint::None, FetchMode::default());
                let found = Found { reference, kind, hint, blocks, pixels: None, offset: 0, mode };
                let resource = self.resource(&found, Release::Completed { by }, origin)?;
                let id = ResourceId(resources.len() as u32);
                resources.push(resource);
                sheets.push((id, found.reference));
            }
        }
        Ok(())
    }
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

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
}

fn number(
    name: &'static str,
    value: &str,
    possible: RangeInclusive<u64>,
) -> Result<u64, QueryError> {
    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    match value.parse::<u64>() {
        Ok(number) if digits && possible.contains(&number) => Ok(number),
        _ => {
            let (least, most) = possible.into_inner();
            Err(QueryError::Value { name, value: value.to_owned(), least, most })
        }
    }
}

#[cfg(test)]
mod tests;
