//! Images that can be seen are raised once the page is laid out: Chromium gives an image in the viewport the load priority High
//! (`ComputeLoadPriority` in third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc). A page is laid out here
//! when it can be painted first, and an image has its place when the parser has come to it.

use super::Load;
use crate::browser::Raise;
use crate::priority::{Hint, Priority, Rank};
use crate::resource::{Blocks, ResourceId};

impl Load {
    /// An image in flight that has a new priority, because it can be seen. None where there is none. Pages without a layout,
    /// as recordings are, have none at all.
    pub fn poll_priority(&mut self) -> Option<(ResourceId, Priority)> {
        if !self.layout_changed || self.browser.raise() == Raise::Never {
            return None;
        }
        let ids = (0..).map(ResourceId);
        let waiting: Vec<ResourceId> = ids
            .zip(&self.resources)
            .filter(|(_, track)| track.can_be_raised())
            .map(|(id, _)| id)
            .collect();
        if waiting.is_empty() {
            self.layout_changed = false;
            return None;
        }
        let parse = self.parse();
        let raised = waiting
            .into_iter()
            .find(|id| parse.painting_from.is_some() && parse.inserted[id.index()].is_some());
        let Some(id) = raised else {
            self.layout_changed = false;
            return None;
        };
        self.resources[id.index()].hint = Hint::Recorded(Rank::High);
        Some((id, self.signals(id).priority))
    }

    /// Whether the arrival of this resource can change what is laid out.
    pub(super) fn note_arrival(&mut self, id: ResourceId) {
        let track = &self.resources[id.index()];
        let changes = id == self.document || track.blocks != Blocks::Nothing;
        self.layout_changed |= changes;
        self.fonts.layout_changed |= changes;
    }
}
