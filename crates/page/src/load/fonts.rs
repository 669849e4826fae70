//! Fonts that a style sheet names. A browser asks for one when text is laid out in it, and lays out nothing before the page can be painted:
//! so it was recorded from Chromium 92 and 156 (crates/client/tests/virtual_time/goldens). A font that the document preloads waits for nothing.

use super::Load;
use super::track::State;
use crate::resource::{Fold, Kind, ResourceId};
use std::time::Duration;
use unit::Instant;

/// How long after a page can be painted its fonts are asked for. Chromium asks for what the parser has found first: its fonts went 1 to 10 ms
/// after the images that were asked for at the same arrival. The model takes the least: layout takes no time in it but this.
const LAYOUT: Duration = Duration::from_millis(1);

/// Fonts that wait for a layout.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    waiting: Vec<ResourceId>,
    /// Whether something arrived since the last look that can change what is laid out.
    pub(super) layout_changed: bool,
    /// When those that wait are asked for.
    pub(super) due: Option<Instant>,
}

impl Fonts {
    pub(super) fn wait(&mut self, id: ResourceId) {
        self.waiting.push(id);
        self.layout_changed = true;
    }
}

impl Load {
    /// Whether it is a font that a style sheet names, on a page with a layout; recordings have none.
    pub(super) fn awaits_layout(&self, id: ResourceId) -> bool {
        let track = &self.resources[id.index()];
        let named_by = track.history.released_by.map(|by| self.resources[by.index()].kind);
        track.kind == Kind::Font
            && named_by == Some(Kind::Stylesheet)
            && self.resources[self.document.index()].fold != Fold::Unknown
    }

    /// Decides when the fonts that wait are asked for, once the page can be painted. Where it never can, because the document failed,
    /// they wait no longer either.
    pub(super) fn plan_layout(&mut self, now: Instant) {
        if self.fonts.waiting.is_empty()
            || self.fonts.due.is_some()
            || !std::mem::take(&mut self.fonts.layout_changed)
        {
            return;
        }
        let has_failed = matches!(
            self.resources[self.document.index()].state,
            State::Failed(_) | State::Abandoned
        );
        if has_failed || self.parse().painting_from.is_some() {
            self.fonts.due = Some(now + LAYOUT);
        }
    }

    /// Asks for the fonts that are due.
    pub(super) fn ask_for_fonts(&mut self, now: Instant) {
        if self.fonts.due.is_some_and(|due| due <= now) {
            self.fonts.due = None;
            for id in std::mem::take(&mut self.fonts.waiting) {
                self.rank(id);
            }
        }
    }
}
