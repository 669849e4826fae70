//! One load of a page: which resource is asked for when, and when the load is done.
//!
//! The load is done when every resource is Done. If one of them ended otherwise it never is. The
//! one rule: a load speaks of fetches only. `release` holds the states of a resource, `track` one resource, `progress`
//! what a load has come to, `paint` when the page could be parsed and painted, `raise` what is raised when it is, `fonts` what is
//! asked for only then, `tight`
//! what each fetch ranks as and what is held back while scripts in the head stop the parser.
//!
//! An event for a fetch that is not in flight is ignored: it may arrive after the client gave up on its fetch.

mod fonts;
mod paint;
mod progress;
mod raise;
mod release;
mod tight;
mod track;

use crate::browser::{Browser, Place, Signals};
use crate::exchange::{Asked, Message};
use crate::graph::Page;
use crate::priority::Priority;
use crate::resource::{Blocks, Kind, Method, Release, ResourceId};
use crate::scan::{Found, Scanner};
use crate::url::Url;
pub use paint::PaintTimes;
use progress::LoadState;
pub use progress::Milestones;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;
pub use track::History;
use track::{State, Track};
use unit::{ByteSize, Instant};

/// A load in progress.
#[derive(Debug)]
pub struct Load {
    browser: Browser,
    resources: Vec<Track>,
    document: ResourceId,
    /// Resources that are ready, ordered by urgency and then by discovery.
    ready: BTreeSet<(u8, u64, ResourceId)>,
    released: u64,
    thinking: BinaryHeap<Reverse<(Instant, ResourceId)>>,
    /// Resources that have not ended.
    open: usize,
    load: LoadState,
    /// Bytes of the document up to its body; None until they are known.
    body_at: Option<u64>,
    /// When they had arrived.
    body_reached: Option<Instant>,
    /// Whether something arrived since the last look that can change what is laid out.
    layout_changed: bool,
    head: tight::Head,
    /// Fonts that wait for a layout.
    fonts: fonts::Fonts,
    /// Whether the browser holds back what is less urgent while scripts in the head stop the parser.
    has_tight_mode: bool,
    /// The URLs that a page read from the wire has requested already. A browser requests each once.
    browsed: Option<HashMap<Url, ResourceId>>,
}

/// A fetch to start now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchStart {
    /// The resource. Every event about the fetch carries its number.
    pub id: ResourceId,
    /// What to ask for.
    pub url: Url,
    /// How.
    pub method: Method,
    /// What it is to the page.
    pub kind: Kind,
    /// How the browser ranks it.
    pub priority: Priority,
    /// Its place in HTTP/2's dependency tree.
    pub place: Place,
    /// What the response must be, where the page is a recorded one.
    pub expected: Option<ExpectedResponse>,
    /// What the request says besides that.
    pub asked: Arc<Asked>,
    /// The messages of a WebSocket; None where it is none.
    pub messages: Option<Arc<[Message]>>,
}

/// What a response must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedResponse {
    /// Its status code.
    pub status: u16,
    /// Bytes of its body.
    pub body: ByteSize,
}

impl Load {
    /// Loads a page with a known graph, from a recording or a model.
    pub fn replay(page: &Page, browser: Browser, now: Instant) -> Self {
        let mut tracks: Vec<Track> = page
            .resources()
            .iter()
            .map(|resource| Track {
                hint: resource.hint,
                think: resource.think,
                method: resource.method,
                expected: Some(ExpectedResponse {
                    status: resource.status,
                    body: resource.received_body(),
                }),
                asked: Arc::new(resource.asked.clone()),
                messages: resource.answered.messages.as_deref().map(Arc::from),
                blocks: resource.blocks,
                pixels: resource.pixels,
                fold: resource.fold,
                offset: page.offset(resource),
                ..Track::new(resource.url.clone(), resource.kind)
            })
            .collect();
        let mut roots = Vec::new();
        for (index, resource) in page.resources().iter().enumerate().rev() {
            let id = ResourceId(index as u32);
            match resource.release {
                Release::Navigation => roots.push(id),
                Release::Parsed { by, offset } => tracks[by.index()].parsed.push((offset.0, id)),
                Release::Completed { by } => tracks[by.index()].completed.push(id),
            }
        }
        for track in &mut tracks {
            track.parsed.sort_by_key(|&(offset, id)| Reverse((offset, id)));
            track.completed.reverse();
        }
        let mut load = Self::empty(browser, page.document());
        load.body_at = Some(page.body_at().0);
        load.open = tracks.len();
        load.resources = tracks;
        for id in roots.into_iter().rev() {
            load.release(id, None, now);
        }
        load
    }

    /// Loads the page at `url` from whatever server answers: what it needs is found in the bytes of
    /// its HTML, so they must be handed in as the author wrote them (no content coding).
    pub fn browse(url: Url, browser: Browser, now: Instant) -> Self {
        let mut load = Self::empty(browser, ResourceId(0));
        load.browsed = Some(HashMap::new());
        let document = Track { scanner: Some(Scanner::new()), ..Track::new(url, Kind::Document) };
        load.add(document, None, now);
        load
    }

    /// The same load where its requests carry priorities, as over HTTP/2, HTTP/3 and SPDY.
    pub fn with_priorities(mut self) -> Self {
        self.has_tight_mode = self.browser.has_tight_mode_with_priorities();
        self
    }

    fn empty(browser: Browser, document: ResourceId) -> Self {
        Self {
            browser,
            resources: Vec::new(),
            document,
            ready: BTreeSet::new(),
            released: 0,
            thinking: BinaryHeap::new(),
            open: 0,
            load: LoadState::Running,
            body_at: None,
            body_reached: None,
            layout_changed: false,
            head: tight::Head::default(),
            fonts: fonts::Fonts::default(),
            has_tight_mode: browser.has_tight_mode(),
            browsed: None,
        }
    }

    /// The next fetch to start, the most urgent first. None when there is nothing to start now.
    pub fn poll_fetch(&mut self, now: Instant) -> Option<FetchStart> {
        self.handle_timeout(now);
        let Some(id) = self.next_ready() else {
            self.plan_layout(now);
            return None;
        };
        let Signals { priority, place } = self.signals(id);
        let track = &mut self.resources[id.index()];
        track.state = State::InFlight;
        track.history.started = Some(now);
        // What was held back is asked for once the page is laid out already.
        self.layout_changed |= self.head.has_held && track.can_be_raised();
        Some(FetchStart {
            id,
            url: track.url.clone(),
            method: track.method,
            kind: track.kind,
            priority,
            place,
            expected: track.expected,
            asked: track.asked.clone(),
            messages: track.messages.clone(),
        })
    }

    /// When `handle_timeout` is due: the end of the next think gap, or a layout.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.think_gap_end(), self.fonts.due].into_iter().flatten().min()
    }

    fn think_gap_end(&self) -> Option<Instant> {
        self.thinking.peek().map(|Reverse((due, _))| *due)
    }

    /// Ends the think gaps that are over at `now`, and asks for what a layout needs.
    pub fn handle_timeout(&mut self, now: Instant) {
        while self.think_gap_end().is_some_and(|due| due <= now) {
            if let Some(Reverse((_, id))) = self.thinking.pop() {
                self.make_ready(id);
            }
        }
        self.ask_for_fonts(now);
    }

    /// The head of a final response arrived. After another one of the same fetch the response begins anew: the parser begins
    /// again, and what it has found is not asked for twice.
    pub fn handle_head(&mut self, id: ResourceId, now: Instant) {
        let Some(track) = self.in_flight(id) else { return };
        if track.history.first_byte.is_some() {
            track.begin_again();
            self.body_reached = self.body_reached.filter(|_| id != self.document);
        }
        let Some(track) = self.in_flight(id) else { return };
        track.history.first_byte.get_or_insert(now);
        self.release_parsed(id, now);
    }

    /// The next bytes of a body arrived.
    pub fn handle_body(&mut self, id: ResourceId, bytes: &[u8], now: Instant) {
        let Some(track) = self.in_flight(id) else { return };
        track.history.first_byte.get_or_insert(now);
        track.history.first_body_byte.get_or_insert(now);
        track.received += bytes.len() as u64;
        let received = track.received;
        let found = track.scanner.as_mut().map(|scanner| scanner.feed(bytes)).unwrap_or_default();
        if id == self.document {
            self.reach_body(received, now);
        }
        self.release_parsed(id, now);
        self.note_arrival(id);
        for found in found {
            self.discover(id, found, now);
        }
    }

    /// A response arrived whole.
    pub fn handle_done(&mut self, id: ResourceId, now: Instant) {
        let Some(track) = self.in_flight(id) else { return };
        track.history.first_byte.get_or_insert(now);
        let children = track.take_children();
        if id == self.document {
            // A document that says nothing of its body has one all the same (HTML §13.2.6.4.6, "after head").
            self.body_reached.get_or_insert(now);
        }
        self.end(id, State::Done, now);
        self.note_arrival(id);
        for child in children {
            self.release(child, Some(id), now);
        }
        self.settle(now);
    }

    /// A fetch failed, for a `reason` in words.
    pub fn handle_failed(&mut self, id: ResourceId, reason: &str, now: Instant) {
        if self.in_flight(id).is_none() {
            return;
        }
        self.end(id, State::Failed(reason.to_owned()), now);
        self.note_arrival(id);
        self.abandon_children(id, now);
        self.settle(now);
    }

    /// Notes when the document's body began to arrive.
    fn reach_body(&mut self, received: u64, now: Instant) {
        if self.body_reached.is_some() {
            return;
        }
        let scanner = self.resources[self.document.index()].scanner.as_ref();
        self.body_at = scanner.map_or(self.body_at, Scanner::body);
        if self.body_at.is_some_and(|body_at| body_at <= received) {
            self.body_reached = Some(now);
        }
    }

    fn in_flight(&mut self, id: ResourceId) -> Option<&mut Track> {
        self.resources.get_mut(id.index()).filter(|track| track.state == State::InFlight)
    }

    /// The browser whose load this is.
    pub fn browser(&self) -> Browser {
        self.browser
    }

    fn release_parsed(&mut self, id: ResourceId, now: Instant) {
        let received = self.resources[id.index()].received;
        while let Some(&(offset, child)) = self.resources[id.index()].parsed.last() {
            if offset > received {
                break;
            }
            self.resources[id.index()].parsed.pop();
            self.release(child, Some(id), now);
        }
    }

    /// A reference that the scanner found. It is not fetched if it is not an http URL or was found before.
    fn discover(&mut self, by: ResourceId, found: Found, now: Instant) {
        let track = &self.resources[by.index()];
        let base = track.scanner.as_ref().and_then(Scanner::base);
        let base = base.and_then(|base| track.url.join(base).ok());
        let Ok(url) = base.as_ref().unwrap_or(&track.url).join(&found.reference) else { return };
        let known = self.browsed.as_ref().and_then(|known| known.get(&url).copied());
        if let Some(known) = known {
            self.name_again(known, &found);
            return;
        }
        let track = Track {
            hint: found.hint,
            blocks: found.blocks,
            pixels: found.pixels,
            offset: Some(found.offset),
            ..Track::new(url, found.kind)
        };
        self.add(track, Some(by), now);
    }

    /// What was preloaded waits for nothing until the markup uses it.
    fn name_again(&mut self, id: ResourceId, found: &Found) {
        let track = &mut self.resources[id.index()];
        if track.blocks == Blocks::Nothing && found.blocks != Blocks::Nothing {
            track.blocks = found.blocks;
            track.offset = Some(found.offset);
        }
    }

    fn add(&mut self, track: Track, by: Option<ResourceId>, now: Instant) {
        let id = ResourceId(self.resources.len() as u32);
        if let Some(known) = &mut self.browsed {
            known.insert(track.url.clone(), id);
        }
        self.resources.push(track);
        self.open += 1;
        self.release(id, by, now);
    }
}

#[cfg(test)]
mod tests;
