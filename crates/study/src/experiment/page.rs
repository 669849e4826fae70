//! The workload `page`: an HTML document and what it needs, made to measure.

use super::quantity::{size, span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use unit::ByteSize;

/// An HTML document and what is found while it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageWorkload {
    /// How many images.
    pub images: u32,
    /// Bytes of one image.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub bytes: ByteSize,
    /// Client time between the arrival of what names a resource and the asking for it.
    #[serde(with = "span")]
    #[schemars(with = "String")]
    pub think: Duration,
    /// How long the server thinks about the document.
    #[serde(with = "span", default, skip_serializing_if = "Duration::is_zero")]
    #[schemars(with = "String", default)]
    pub server_time: Duration,
    /// What the page has besides images.
    #[serde(flatten)]
    pub parts: PageParts,
    /// The time that decides.
    #[serde(default, skip_serializing_if = "PageMetric::is_load")]
    pub metric: PageMetric,
}

/// What a page has besides images. With any of it, its images are ones that a browser paints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PageParts {
    /// Style sheets in the head.
    #[serde(default, skip_serializing_if = "is_none")]
    pub css: u32,
    /// Style sheets that the first of them imports, one the next.
    #[serde(default, skip_serializing_if = "is_none")]
    pub imports: u32,
    /// Bytes of each style sheet; None: [`PART_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub css_bytes: Option<u64>,
    /// Classic scripts in the head, which stop the parser.
    #[serde(default, skip_serializing_if = "is_none")]
    pub scripts: u32,
    /// Async scripts in the head.
    #[serde(default, rename = "async", skip_serializing_if = "is_none")]
    pub async_scripts: u32,
    /// Deferred scripts in the head.
    #[serde(default, rename = "defer", skip_serializing_if = "is_none")]
    pub deferred_scripts: u32,
    /// Module scripts in the head.
    #[serde(default, skip_serializing_if = "is_none")]
    pub modules: u32,
    /// Bytes of each script; None: [`PART_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_bytes: Option<u64>,
    /// Fonts that the first style sheet names.
    #[serde(default, skip_serializing_if = "is_none")]
    pub fonts: u32,
    /// Bytes of each font; None: [`PART_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub font_bytes: Option<u64>,
    /// Images below the fold, of as many bytes as the others.
    #[serde(default, skip_serializing_if = "is_none")]
    pub below_fold: u32,
    /// Bytes of the hero image, last in the markup and first in the viewport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hero: Option<u64>,
    /// Whether the markup raises the hero (`fetchpriority=high`).
    #[serde(default, skip_serializing_if = "FetchPriority::is_auto")]
    pub fetchpriority: FetchPriority,
}

/// What the markup says of the importance of the hero image (HTML §2.5.8, fetch priority attribute).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FetchPriority {
    /// Nothing.
    #[default]
    Auto,
    /// `fetchpriority=high`.
    High,
}

impl FetchPriority {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The time of a page that decides. The page model defines them all (docs/result.md, "What a page's times are").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PageMetric {
    /// Everything has arrived.
    #[default]
    #[serde(rename = "load_ms")]
    Load,
    /// The first byte of the document's body.
    #[serde(rename = "unload_ms")]
    Unload,
    /// The first paint.
    #[serde(rename = "first_paint_ms")]
    FirstPaint,
    /// First Contentful Paint.
    #[serde(rename = "fcp_ms")]
    Fcp,
    /// Largest Contentful Paint.
    #[serde(rename = "lcp_ms")]
    Lcp,
    /// DOMContentLoaded.
    #[serde(rename = "dom_content_loaded_ms")]
    DomContentLoaded,
    /// Speed Index.
    #[serde(rename = "speed_index_ms")]
    SpeedIndex,
}

/// A page known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageShape {
    /// Two blockers in the head, an async and a deferred script, seven images of 60 kB below the fold and then, last in
    /// the markup, the hero.
    LateHero,
}

/// Bytes of a style sheet, a script or a font of which nobody says the size.
pub const PART_BYTES: u64 = 20_000;
/// Most parts of one kind.
pub const MOST_PARTS: u32 = 20;
/// Most images below the fold.
pub const MOST_BELOW_FOLD: u32 = 100;
/// Least bytes of a style sheet, which has to hold the names of fonts.
pub const LEAST_SHEET: u64 = 5_000;
/// Least bytes of a script.
pub const LEAST_SCRIPT: u64 = 100;
/// Least bytes of an image that a browser paints.
pub const LEAST_PICTURE: u64 = 200;
/// Most bytes of any of them.
pub const LARGEST_PART: u64 = 16 << 20;

impl PageWorkload {
    /// So many images of so many bytes.
    pub fn of_images(images: u32, bytes: ByteSize) -> Self {
        Self {
            images,
            bytes,
            think: Duration::ZERO,
            server_time: Duration::ZERO,
            parts: PageParts::default(),
            metric: PageMetric::Load,
        }
    }

    /// The same page where its markup says this of the hero; None: what it says already.
    #[must_use]
    pub fn with_fetchpriority(self, markup: Option<FetchPriority>) -> Self {
        let fetchpriority = markup.unwrap_or(self.parts.fetchpriority);
        Self { parts: PageParts { fetchpriority, ..self.parts }, ..self }
    }

    /// The name that its figures give it.
    pub(super) fn name(&self) -> String {
        let shape = PageShape::ALL.into_iter().find(|shape| {
            let known = shape.page();
            (known.images, known.bytes, known.parts) == (self.images, self.bytes, self.parts)
        });
        let mut name = match shape {
            Some(shape) => shape.name().to_owned(),
            None => {
                let images = format!("page-{}x{}", self.images, self.bytes).replace(' ', "");
                format!("{images}{}", self.parts)
            }
        };
        if !self.think.is_zero() {
            name.push_str(&format!("+{}us", self.think.as_micros()));
        }
        if !self.server_time.is_zero() {
            name.push_str(&format!("+server-{}ms", self.server_time.as_millis()));
        }
        if !self.metric.is_load() {
            name.push_str(&format!("-{}", self.metric.short()));
        }
        name
    }

    /// Bytes of everything that it has besides its document.
    pub fn all_bytes(&self) -> u64 {
        let parts = &self.parts;
        let of = |count: u32, bytes: Option<u64>| u64::from(count) * bytes.unwrap_or(PART_BYTES);
        let pictures = u64::from(self.images + parts.below_fold) * self.bytes.0;
        pictures
            + of(parts.css + parts.imports, parts.css_bytes)
            + of(parts.all_scripts(), parts.script_bytes)
            + of(parts.fonts, parts.font_bytes)
            + parts.hero.unwrap_or(0)
    }

    /// Requests for everything that it has besides its document.
    pub fn all_requests(&self) -> u32 {
        let parts = &self.parts;
        let hero = u32::from(parts.hero.is_some());
        self.images
            + parts.below_fold
            + parts.css
            + parts.imports
            + parts.all_scripts()
            + parts.fonts
            + hero
    }
}

impl fmt::Display for PageWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.parts;
        f.write_str("HTML")?;
        if self.images > 0 || parts.is_none() {
            write!(f, " + {} x {}", self.images, self.bytes)?;
        }
        for (count, what) in [
            (parts.css + parts.imports, "CSS"),
            (parts.all_scripts(), "JS"),
            (parts.fonts, "fonts"),
        ] {
            if count > 0 {
                write!(f, " + {count} {what}")?;
            }
        }
        if parts.below_fold > 0 {
            write!(f, " + {} x {} below the fold", parts.below_fold, self.bytes)?;
        }
        if let Some(bytes) = parts.hero {
            write!(f, " + a hero of {}", ByteSize(bytes))?;
        }
        match parts.fetchpriority {
            FetchPriority::Auto => Ok(()),
            FetchPriority::High => f.write_str(" with fetchpriority=high"),
        }
    }
}

impl PageParts {
    /// Whether the page has images alone.
    pub fn is_none(&self) -> bool {
        let counts = [self.css, self.imports, self.all_scripts(), self.fonts, self.below_fold];
        counts.iter().all(|&count| count == 0) && self.hero.is_none()
    }

    fn all_scripts(&self) -> u32 {
        self.scripts + self.async_scripts + self.deferred_scripts + self.modules
    }
}

/// As a suffix of a name: `+2css+3js+hero`.
impl fmt::Display for PageParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, what, bytes) in [
            (self.css, "css", self.css_bytes),
            (self.imports, "imports", None),
            (self.scripts, "js", self.script_bytes),
            (self.async_scripts, "async", self.script_bytes.filter(|_| self.scripts == 0)),
            (self.deferred_scripts, "defer", self.script_bytes.filter(|_| self.scripts == 0)),
            (self.modules, "modules", self.script_bytes.filter(|_| self.scripts == 0)),
            (self.fonts, "fonts", self.font_bytes),
            (self.below_fold, "below", None),
        ] {
            if count > 0 {
                write!(f, "+{count}{what}")?;
                if let Some(bytes) = bytes {
                    write!(f, "{bytes}")?;
                }
            }
        }
        if let Some(bytes) = self.hero {
            write!(f, "+hero{bytes}")?;
        }
        match self.fetchpriority {
            FetchPriority::Auto => Ok(()),
            FetchPriority::High => f.write_str("-high"),
        }
    }
}

impl PageMetric {
    /// Whether it is a page's usual time.
    pub fn is_load(&self) -> bool {
        *self == Self::Load
    }

    /// Its name within a workload's.
    fn short(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Unload => "unload",
            Self::FirstPaint => "first-paint",
            Self::Fcp => "fcp",
            Self::Lcp => "lcp",
            Self::DomContentLoaded => "dom-content-loaded",
            Self::SpeedIndex => "speed-index",
        }
    }
}

impl PageShape {
    const ALL: [Self; 1] = [Self::LateHero];

    /// Its name in files.
    fn name(self) -> &'static str {
        match self {
            Self::LateHero => "late-hero",
        }
    }

    /// The page.
    pub(super) fn page(self) -> PageWorkload {
        match self {
            Self::LateHero => PageWorkload {
                parts: PageParts {
                    css: 1,
                    scripts: 1,
                    async_scripts: 1,
                    deferred_scripts: 1,
                    below_fold: 7,
                    hero: Some(60_000),
                    ..PageParts::default()
                },
                ..PageWorkload::of_images(0, ByteSize(60_000))
            },
        }
    }
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_name_of_its_shape_or_of_its_figures() {
        let late_hero = PageShape::LateHero.page();
        assert_eq!(late_hero.name(), "late-hero");
        assert_eq!(PageWorkload { metric: PageMetric::Lcp, ..late_hero }.name(), "late-hero-lcp");
        assert_eq!(
            late_hero.to_string(),
            "HTML + 1 CSS + 3 JS + 7 x 60 kB below the fold + a hero of 60 kB"
        );
        assert_eq!(
            (late_hero.all_requests(), late_hero.all_bytes()),
            (12, 8 * 60_000 + 4 * 20_000)
        );
        let plain = PageWorkload::of_images(50, ByteSize(5_000));
        assert_eq!(
            (plain.name().as_str(), plain.to_string().as_str()),
            ("page-50x5kB", "HTML + 50 x 5 kB")
        );
        let parts = PageParts { css: 2, css_bytes: Some(9_000), fonts: 1, ..PageParts::default() };
        assert_eq!(PageWorkload { parts, ..plain }.name(), "page-50x5kB+2css9000+1fonts");
    }

    #[test]
    fn a_page_of_images_alone_is_written_as_it_always_was() {
        let plain = PageWorkload::of_images(50, ByteSize(5_000));
        let json = serde_json::to_string(&plain).unwrap();
        assert_eq!(json, r#"{"images":50,"bytes":5000,"think":"0s"}"#);
        let late_hero = PageWorkload { metric: PageMetric::Lcp, ..PageShape::LateHero.page() };
        let json = serde_json::to_string(&late_hero).unwrap();
        assert_eq!(serde_json::from_str::<PageWorkload>(&json).unwrap(), late_hero);
    }
}
