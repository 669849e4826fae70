//! What each fetch ranks as, and what is held back while scripts in the head stop the parser ("tight mode", `ResourceLoadScheduler` in
//! third_party/blink/renderer/platform/loader/fetch/resource_load_scheduler.cc).
//!
//! In this mode Chromium has two fetches of medium urgency in flight at most. One of low urgency goes only where there is no other
//! one, and beside one more urgent fetch at most: so it was recorded from Chromium 92 and 156 (crates/client/tests/virtual_time/goldens).
//!
//! The mode ends when the parser comes to `<body>`: every classic script in the head is there, and every style sheet before it with
//! all that it imports. A page without such a script has no tight mode.

use super::Load;
use super::track::State;
use crate::browser::{Class, Signals};
use crate::priority::{Hint, Rank, class_of};
use crate::resource::{Blocks, Kind, ResourceId};

/// What a load has found so far that decides about others.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Scripts in the head that stop the parser, with the places where they stand, and those of style sheets; without those that are
    /// known to be there.
    scripts: Vec<(u64, ResourceId)>,
    sheets: Vec<(u64, ResourceId)>,
    /// Images that are not small.
    large_images: u32,
    /// Whether the document has named an image.
    has_image: bool,
    /// Whether anything was held back.
    pub(super) has_held: bool,
}

impl Load {
    /// Decides once what a resource that has been found is to the browser, and whether the parser waits for it in the head.
    pub(super) fn classify(&mut self, id: ResourceId) {
        // A recorded priority says what it was to the browser.
        if !matches!(self.resources[id.index()].hint, Hint::Recorded(_)) {
            self.resources[id.index()].class = Some(self.class(id));
        }
        let track = &self.resources[id.index()];
        let Some(offset) = track.offset else { return };
        if self.body_at.is_some_and(|body_at| body_at <= offset) {
            return;
        }
        match (track.kind, track.blocks) {
            // Chromium asks at Medium for scripts that stand late in the body.
            (Kind::Script, _) if track.hint == Hint::Recorded(Rank::Medium) => {}
            (Kind::Script, Blocks::Parsing) => self.head.scripts.push((offset, id)),
            (Kind::Stylesheet, Blocks::Painting) => self.head.sheets.push((offset, id)),
            _ => {}
        }
    }

    fn class(&mut self, id: ResourceId) -> Class {
        let (track, head) = (&self.resources[id.index()], &mut self.head);
        match class_of(track.kind, track.hint) {
            Class::Image => {
                head.has_image = true;
                let is_large = track.pixels.is_none_or(|pixels| pixels >= SMALL_IMAGE);
                head.large_images += u32::from(is_large);
                match is_large && head.large_images <= FIRST_IMAGES {
                    true => Class::FirstImage,
                    false => Class::Image,
                }
            }
            Class::HeadScript if head.has_image && track.blocks == Blocks::Parsing => {
                Class::LateScript
            }
            other => other,
        }
    }

    /// What goes onto the wire for a resource.
    pub(super) fn signals(&self, id: ResourceId) -> Signals {
        let track = &self.resources[id.index()];
        let class = track.class.unwrap_or_else(|| class_of(track.kind, track.hint));
        self.browser.adjusted(self.browser.signals(class), track.hint)
    }

    /// Takes the most urgent of the resources that are ready, unless it is held back.
    pub(super) fn next_ready(&mut self) -> Option<ResourceId> {
        let (urgency, ..) = *self.ready.first()?;
        if self.has_tight_mode && urgency > 1 && self.is_tight() {
            let in_flight = |is_such: &dyn Fn(u8) -> bool| {
                let among = (0..).map(ResourceId).zip(&self.resources);
                let such = among.filter(|(id, track)| {
                    track.state == State::InFlight && is_such(self.signals(*id).priority.urgency)
                });
                such.count()
            };
            let is_held = match urgency {
                2 => in_flight(&|urgency| urgency == 2) >= MOST_MEDIUM,
                _ => {
                    in_flight(&|urgency| urgency <= 2) > 1 || in_flight(&|urgency| urgency > 2) > 0
                }
            };
            if is_held {
                self.hold();
                return None;
            }
        }
        self.ready.pop_first().map(|(_, _, id)| id)
    }

    /// The parser comes to a held script before it is asked for, which raises it.
    fn hold(&mut self) {
        self.head.has_held = true;
        for (_, _, id) in &self.ready {
            let track = &mut self.resources[id.index()];
            if track.class == Some(Class::LateScript) {
                track.class = Some(Class::AwaitedScript);
            }
        }
    }

    /// Whether a script in the head stops the parser. What is there stays there, and is not looked at again.
    fn is_tight(&mut self) -> bool {
        let mut sheets = std::mem::take(&mut self.head.sheets);
        sheets.retain(|(_, sheet)| self.loaded(*sheet).is_none());
        let is_open = |id: &ResourceId| self.resources[id.index()].history.ended.is_none();
        let mut scripts = std::mem::take(&mut self.head.scripts);
        scripts.retain(|(offset, script)| {
            is_open(script) || sheets.iter().any(|(place, _)| place < offset)
        });
        (self.head.sheets, self.head.scripts) = (sheets, scripts);
        !self.head.scripts.is_empty()
    }
}

/// Fetches of medium urgency in flight at most, recorded from Chromium 156.
const MOST_MEDIUM: usize = 2;

/// Images that Chromium fetches with medium priority since version 117, and the area in CSS pixels from which on one counts
/// (chromestatus.com, "Resource loading: boost the priority of the first five images").
const FIRST_IMAGES: u32 = 5;
const SMALL_IMAGE: u32 = 10_000;
