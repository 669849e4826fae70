//! When a page could be parsed and painted, from what arrived when. A model of a browser that takes no time itself: running
//! scripts, layout (but for fonts), decoding and painting are nought, so every time here is the earliest that the arrivals allow.
//!
//! | time | is | source |
//! |---|---|---|
//! | unload | the first byte of the document's body: the browser commits the navigation, and the old page goes | HTML §7.4.6 |
//! | first paint | the parser has come to `<body>`, and every style sheet in the head is there with its imports | HTML §4.2.7 (render-blocking), W3C Paint Timing |
//! | FCP | the first paint that shows text or an image | W3C Paint Timing §3 |
//! | LCP | the paint of the largest text or image in the viewport, the first one of several equals | W3C Largest Contentful Paint §2, web.dev/articles/lcp |
//! | DOMContentLoaded | the parser is at the end, and every deferred and module script has run | HTML §13.2.7 |
//! | Speed Index | the mean time at which a pixel of the viewport looks as it will in the end | WebPageTest's Speed Index |
//!
//! The parser stops at a classic script until it is there, and until every style sheet before it is (HTML §4.12.1, "has
//! no style sheet that is blocking scripts"). Deferred scripts wait for style sheets too. Async scripts hold up
//! nothing. The preload scanner goes on meanwhile: a resource is asked for when its markup has arrived, wherever the
//! parser stands. Fonts are `font-display: swap`: text is painted without them, and looks right once they are there.
//! An image is painted when it is whole.

use super::track::State;
use super::{Load, Track};
use crate::resource::{Blocks, Fold, Kind, ResourceId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::time::Duration;
use unit::Instant;

/// When a page could be parsed and painted, since its load began. None: not reached, or not known; recordings have no
/// layout, so they have neither `lcp` nor `speed_index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PaintTimes {
    /// The first byte of the document's body: the page before it goes.
    pub unload: Option<Duration>,
    /// The first paint.
    pub first_paint: Option<Duration>,
    /// First Contentful Paint: text or an image.
    pub fcp: Option<Duration>,
    /// Largest Contentful Paint.
    pub lcp: Option<Duration>,
    /// DOMContentLoaded.
    pub dom_content_loaded: Option<Duration>,
    /// Speed Index: visual incompleteness, summed up over time.
    pub speed_index: Option<Duration>,
}

impl Load {
    /// When the page could be parsed and painted. All of them are known once the load is finished; while it runs, those
    /// that are.
    pub fn paint_times(&self) -> PaintTimes {
        let document = &self.resources[self.document.index()];
        let Some(begin) = document.history.found else { return PaintTimes::default() };
        let since = |at: Option<Instant>| at.map(|at| at.since(begin));
        let Parse { painting_from, end, inserted } = self.parse();
        let painted = painting_from.map(|from| self.painted(from, &inserted));
        let contents = painted.as_deref().map(Contents::of).unwrap_or_default();
        // Without a layout there is text, as on all but the rarest of pages.
        let fcp = if document.fold == Fold::Unknown { painting_from } else { contents.first };
        let has_own_pixels = document.fold == Fold::Unknown || document.pixels.is_some();
        PaintTimes {
            unload: since(document.history.first_body_byte),
            first_paint: since(if has_own_pixels { painting_from } else { fcp }),
            fcp: since(fcp),
            lcp: since(contents.largest),
            dom_content_loaded: since(end),
            speed_index: contents.mean_since(begin),
        }
    }

    /// Walks the parser through the document, from one thing that it names to the next.
    pub(super) fn parse(&self) -> Parse {
        let document = &self.resources[self.document.index()];
        let whole = document.history.ended.filter(|_| document.state == State::Done);
        // An empty document is parsed when it is there.
        let begun = document.history.first_body_byte.or(whole);
        let mut parser = Parser { at: begun, sheets: document.history.found };
        let mut deferred = Vec::new();
        let mut painting_from = None;
        let mut inserted = vec![None; self.resources.len()];
        let body_at = self.body_at.unwrap_or(u64::MAX);
        let mut in_head = true;
        for (offset, id, track) in self.named() {
            if in_head && offset > body_at {
                (in_head, painting_from) = (false, parser.at_body(self.body_reached));
            }
            parser.reach(track.history.found);
            match track.blocks {
                Blocks::Nothing => {}
                Blocks::Painting => parser.sheets = later(parser.sheets, self.loaded(id)),
                Blocks::Parsing => {
                    parser.reach(parser.sheets);
                    parser.reach(track.history.ended);
                }
                Blocks::DomContentLoaded => deferred.push(track.history.ended),
            }
            inserted[id.index()] = parser.at;
        }
        if in_head {
            painting_from = parser.at_body(self.body_reached);
        }
        parser.reach(whole);
        if !deferred.is_empty() {
            parser.reach(parser.sheets);
        }
        let end = deferred.into_iter().fold(parser.at, later);
        Parse { painting_from, end, inserted }
    }

    /// What the document names, in the order of the markup.
    fn named(&self) -> Vec<(u64, ResourceId, &Track)> {
        let all = (0..).map(ResourceId).zip(&self.resources);
        let mut named: Vec<_> =
            all.filter_map(|(id, track)| Some((track.offset?, id, track))).collect();
        named.sort_by_key(|&(offset, id, _)| (offset, id));
        named
    }

    /// When a style sheet is there with all that it imports.
    pub(super) fn loaded(&self, sheet: ResourceId) -> Option<Instant> {
        let mut loaded = self.resources[sheet.index()].history.ended;
        // Imports come after what imports them: one pass finds all.
        let mut chain = vec![sheet];
        for (id, track) in (0..).map(ResourceId).zip(&self.resources) {
            let is_imported = track.history.released_by.is_some_and(|by| chain.contains(&by));
            if track.blocks == Blocks::Painting && is_imported {
                chain.push(id);
                loaded = later(loaded, track.history.ended);
            }
        }
        loaded
    }

    /// Pixels in the viewport, and when each lot of them was painted, from the first paint on.
    fn painted(&self, from: Instant, inserted: &[Option<Instant>]) -> Vec<Painted> {
        let all = self.resources.iter().zip(inserted);
        let in_view = all.filter(|(track, _)| track.fold == Fold::Above);
        in_view
            .filter_map(|(track, inserted)| {
                let content = match track.kind {
                    Kind::Document => Content::Text,
                    Kind::Font => Content::Restyled,
                    Kind::Image => Content::Image,
                    _ => return None,
                };
                let is_named = track.offset.is_some();
                let inserted = if is_named { *inserted } else { track.history.found };
                let whole = track.history.ended.filter(|_| track.state == State::Done);
                let at = match content {
                    Content::Text => Some(from),
                    Content::Restyled => later(Some(from), whole),
                    Content::Image => later(later(Some(from), inserted), whole),
                };
                Some(Painted { content, pixels: track.pixels.unwrap_or(0), at })
            })
            .filter(|painted| painted.pixels > 0)
            .collect()
    }
}

/// Where the parser has come to.
#[derive(Debug, Clone, Copy)]
struct Parser {
    /// When it came there; None: it has not.
    at: Option<Instant>,
    /// When all style sheets before it are there.
    sheets: Option<Instant>,
}

impl Parser {
    /// It goes no further before `at`.
    fn reach(&mut self, at: Option<Instant>) {
        self.at = later(self.at, at);
    }

    /// At the end of the head, whose last byte arrived at `reached`: when painting can begin.
    fn at_body(&mut self, reached: Option<Instant>) -> Option<Instant> {
        self.reach(reached);
        later(self.at, self.sheets)
    }
}

/// The parser's way through a document.
pub(super) struct Parse {
    /// When painting can begin.
    pub(super) painting_from: Option<Instant>,
    /// DOMContentLoaded.
    end: Option<Instant>,
    /// When the parser passed the markup of each resource.
    pub(super) inserted: Vec<Option<Instant>>,
}

/// Something in the viewport.
#[derive(Debug, Clone, Copy)]
struct Painted {
    content: Content,
    pixels: u32,
    /// None: not yet.
    at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Image,
    /// Text that was painted before, in its own font at last.
    Restyled,
}

/// What the viewport showed.
#[derive(Debug, Clone, Copy, Default)]
struct Contents {
    first: Option<Instant>,
    largest: Option<Instant>,
    /// Pixels times nanoseconds since the clock's zero, and pixels; None while something is missing.
    sums: Option<(u128, u128)>,
}

impl Contents {
    fn of(painted: &[Painted]) -> Self {
        let new = || painted.iter().filter(|one| one.content != Content::Restyled);
        let painted_at = |one: &Painted| Some((one.pixels, one.at?));
        let largest =
            new().filter_map(painted_at).max_by_key(|&(pixels, at)| (pixels, Reverse(at)));
        let moments = painted.iter().map(|one| {
            let pixels = u128::from(one.pixels);
            Some((pixels * u128::from(one.at?.nanos()), pixels))
        });
        let sums = moments
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().fold((0, 0), |(time, area), (t, a)| (time + t, area + a)));
        Self {
            first: new().filter_map(|one| one.at).min(),
            largest: largest.map(|(_, at)| at),
            sums: sums.filter(|&(_, pixels)| pixels > 0),
        }
    }

    /// The mean time of a pixel since `begin`.
    fn mean_since(&self, begin: Instant) -> Option<Duration> {
        let (time, pixels) = self.sums?;
        let mean = u64::try_from(time / pixels).ok()?;
        Some(Instant::from_nanos(mean).since(begin))
    }
}

/// The later of two times, where both were reached.
fn later(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    Some(one?.max(other?))
}

#[cfg(test)]
mod tests;
