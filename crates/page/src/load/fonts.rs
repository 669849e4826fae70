//! Fonts that a style sheet names. A browser asks for one when text is laid out in it, and lays out nothing before the page can be painted:
//! so it was recorded from Chromium 92 and 156 (crates/client/tests/goldens). A font that the document preloads waits for nothing.

use super::Load;
use super::track::State;
use crate::resource::{Fold, Kind, ResourceId};

/// Fonts that wait for a layout.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    waiting: Vec<ResourceId>,
    /// Whether something arrived since the last look that a layout may have waited for.
    pub(super) may_be_due: bool,
}

impl Fonts {
    pub(super) fn wait(&mut self, id: ResourceId) {
        self.waiting.push(id);
        self.may_be_due = true;
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

    /// Asks for the fonts that waited, once the page can be painted. Where it never can, because the document failed, they wait no
    /// longer either.
    pub(super) fn ask_for_fonts(&mut self) {
        if self.fonts.waiting.is_empty() || !std::mem::take(&mut self.fonts.may_be_due) {
            return;
        }
        let has_failed = matches!(
            self.resources[self.document.index()].state,
            State::Failed(_) | State::Abandoned
        );
        if has_failed || self.parse().painting_from.is_some() {
            for id in std::mem::take(&mut self.fonts.waiting) {
                self.rank(id);
            }
        }
    }
}
