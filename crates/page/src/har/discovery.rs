//! Which request made which other one known, read from a recording.
//!
//! A request that a preflight asked for is released by that. Any other one's initiator is the first of these that there is, always
//! one that began before it:
//! 1. a redirect whose target it is;
//! 2. the one that the recording names, the latest request for that URL;
//! 3. the style sheet in its Referer field (a document there only tells the frame that it is in);
//! 4. by kind and time: a font by the style sheet that ended last before it began, a script's request by
//!    such a script; anything else by its document while that arrives, and after that by the last
//!    initiator to end that can know of its kind (images: style sheets and scripts, style sheets: both,
//!    all else: scripts); where there is none, by its document.
//!
//! A document is parsed as it arrives: what began meanwhile was found at the byte that had arrived by
//! then. Everything else is done with when it is whole. As every initiator stands earlier in the order
//! of (start, place in the file), there are no cycles.

use super::Assumptions;
use super::entry::Entry;
use crate::resource::{Kind, Release, ResourceId};
use crate::url::Url;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;
use unit::ByteSize;

/// Clocks in a recording are rounded to a millisecond; a successor may seem to begin that much early.
const ROUNDING: i64 = 1_000_000;
/// How long after a document's end its parser may still be what finds things.
const PARSING: i64 = 20_000_000;

/// Earlier requests for the same URL, or redirects to it, that are looked at, the latest first. A page polls one
/// URL thousands of times.
const LOOKED_AT: usize = 64;

/// A request that is replayed, with its times in nanoseconds since 1970.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) entry: Entry,
    pub(super) url: Url,
    pub(super) kind: Kind,
    pub(super) size: ByteSize,
    pub(super) start: i64,
    pub(super) body_start: i64,
    pub(super) end: i64,
    /// The place in the file of the preflight that it waits for.
    pub(super) preflight: Option<usize>,
}

/// How a request was found, and the gap after that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Discovery {
    pub(super) release: Release,
    pub(super) think: Duration,
}

/// Finds initiators among `requests`, which stand in the order of their starts.
pub(super) struct Detective<'a> {
    requests: &'a [Request],
    document: usize,
    /// Places of the requests for a URL, in order.
    by_url: HashMap<String, Vec<usize>>,
    /// Places of the redirects to a URL, in order.
    redirects_to: HashMap<String, Vec<usize>>,
    /// Places of preflights, by their places in the file.
    preflights: HashMap<usize, usize>,
    /// For each request, by its place.
    last_ended: Vec<LastEnded>,
}

impl<'a> Detective<'a> {
    pub(super) fn new(requests: &'a [Request], document: usize) -> Self {
        let mut by_url: HashMap<String, Vec<usize>> = HashMap::new();
        let mut redirects_to: HashMap<String, Vec<usize>> = HashMap::new();
        let mut preflights = HashMap::new();
        for (place, request) in requests.iter().enumerate() {
            if request.entry.is_preflight {
                preflights.insert(request.entry.index, place);
            }
            by_url.entry(request.url.to_string()).or_default().push(place);
            if let Some(target) = redirect_target(request) {
                redirects_to.entry(target.to_string()).or_default().push(place);
            }
        }
        let last_ended = LastEnded::of_each(requests);
        Self { requests, document, by_url, redirects_to, preflights, last_ended }
    }

    /// How the request at `place` was found.
    pub(super) fn discover(&self, place: usize, assumptions: &mut Assumptions) -> Discovery {
        let preflight = self.requests[place].preflight;
        if let Some(&by) = preflight.and_then(|index| self.preflights.get(&index)) {
            assumptions.preflights += 1;
            return self.released_by(by, place, assumptions);
        }
        if let Some(by) = self.redirect_to(place) {
            assumptions.initiators_redirect += 1;
            return self.released_by(by, place, assumptions);
        }
        if place <= self.document {
            return self.root(place);
        }
        if let Some(by) = self.recorded(place) {
            assumptions.initiators_recorded += 1;
            return self.released_by(by, place, assumptions);
        }
        if !self.requests[place].entry.initiators.is_empty() {
            assumptions.initiators_unusable += 1;
        }
        let referer = self.referer(place);
        if let Some(by) = referer.filter(|&by| self.requests[by].kind == Kind::Stylesheet) {
            assumptions.initiators_by_referer += 1;
            return self.released_by(by, place, assumptions);
        }
        assumptions.initiators_inferred += 1;
        let frame =
            referer.filter(|&by| self.requests[by].kind == Kind::Document && by > self.document);
        let by = self.by_kind_and_time(place, frame.unwrap_or(self.document));
        self.released_by(by, place, assumptions)
    }

    /// How it would have been found if the document alone named everything at its end.
    pub(super) fn discover_flat(&self, place: usize, assumptions: &mut Assumptions) -> Discovery {
        if place <= self.document {
            return self.discover(place, assumptions);
        }
        let by = ResourceId(self.document as u32);
        Discovery { release: Release::Completed { by }, think: Duration::ZERO }
    }

    /// What began before anything could have asked for it: the gap counts from the first request.
    fn root(&self, place: usize) -> Discovery {
        let gap = self.requests[place].start - self.requests[0].start;
        Discovery { release: Release::Navigation, think: span(gap) }
    }

    fn released_by(&self, by: usize, place: usize, assumptions: &mut Assumptions) -> Discovery {
        let (initiator, start) = (&self.requests[by], self.requests[place].start);
        let id = ResourceId(by as u32);
        if start >= initiator.end {
            let think = span(start - initiator.end);
            return Discovery { release: Release::Completed { by: id }, think };
        }
        let release = if initiator.kind == Kind::Document {
            Release::Parsed { by: id, offset: arrived(initiator, start) }
        } else {
            assumptions.begun_early += 1;
            Release::Completed { by: id }
        };
        Discovery { release, think: Duration::ZERO }
    }

    fn redirect_to(&self, place: usize) -> Option<usize> {
        let request = &self.requests[place];
        let ended = |&by: &usize| self.requests[by].end <= request.start + PARSING;
        latest(self.redirects_to.get(&request.url.to_string())?, place).take(LOOKED_AT).find(ended)
    }

    fn recorded(&self, place: usize) -> Option<usize> {
        let urls = &self.requests[place].entry.initiators;
        urls.iter().find_map(|url| self.request_for(url, place))
    }

    fn referer(&self, place: usize) -> Option<usize> {
        self.request_for(self.requests[place].entry.referer.as_deref()?, place)
    }

    /// The latest request for `url` before `place` that was not a redirect away from it.
    fn request_for(&self, url: &str, place: usize) -> Option<usize> {
        let url: Url = url.parse().ok()?;
        let places = self.by_url.get(&url.to_string())?;
        latest(places, place).take(LOOKED_AT).find(|&by| self.requests[by].entry.redirect.is_none())
    }

    fn by_kind_and_time(&self, place: usize, document: usize) -> usize {
        let request = &self.requests[place];
        let parsing = request.start <= self.requests[document].end + PARSING;
        let LastEnded { stylesheet, script } = self.last_ended[place];
        let plausible = match request.kind {
            Kind::Font => stylesheet,
            Kind::Xhr => script,
            _ if parsing => None,
            Kind::Image | Kind::Stylesheet => stylesheet.max(script),
            Kind::Document | Kind::Script | Kind::Media | Kind::Other => script,
        };
        plausible.map_or(document, |(_, by)| by)
    }
}

/// The style sheet and the script that ended last before a request began, each with its end and its place.
#[derive(Debug, Clone, Copy, Default)]
struct LastEnded {
    stylesheet: Option<(i64, usize)>,
    script: Option<(i64, usize)>,
}

impl LastEnded {
    /// That of each request. Requests stand in the order of their starts: what has ended before one began has
    /// ended before the next ones did, so that each end is looked at once.
    fn of_each(requests: &[Request]) -> Vec<Self> {
        let mut under_way: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
        let mut last = Self::default();
        let mut of_each = Vec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            while let Some(&Reverse((end, by))) = under_way.peek() {
                if end > request.start.saturating_add(ROUNDING) {
                    break;
                }
                under_way.pop();
                let one = match requests[by].kind {
                    Kind::Stylesheet => &mut last.stylesheet,
                    _ => &mut last.script,
                };
                *one = (*one).max(Some((end, by)));
            }
            of_each.push(last);
            if matches!(request.kind, Kind::Stylesheet | Kind::Script) {
                under_way.push(Reverse((request.end, place)));
            }
        }
        of_each
    }
}

/// The places before `place`, the latest first.
fn latest(places: &[usize], place: usize) -> impl Iterator<Item = usize> {
    let before = places.partition_point(|&other| other < place);
    places[..before].iter().rev().copied()
}

fn redirect_target(request: &Request) -> Option<Url> {
    request.url.join(request.entry.redirect.as_deref()?).ok()
}

/// The bytes of a document that had arrived at `at`, were they to come evenly.
fn arrived(document: &Request, at: i64) -> ByteSize {
    let whole = i128::from(document.end - document.body_start).max(1);
    let part = i128::from(at - document.body_start).clamp(0, whole);
    ByteSize((i128::from(document.size.0) * part / whole) as u64)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
