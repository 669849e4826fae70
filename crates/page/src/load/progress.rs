//! The result of a load: its times, its failures and its critical path. Nothing here changes the load.

use super::track::{History, State};
use super::{Load, ResourceId};
use crate::url::Url;
use std::cmp::Reverse;
use unit::{ByteSize, Instant};

/// The times that a load is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Milestones {
    /// The head of the main document's response arrived.
    pub first_byte: Option<Instant>,
    /// The main document arrived whole.
    pub document: Option<Instant>,
    /// Everything arrived whole. None if a resource failed.
    pub load: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadState {
    Running,
    Reached(Instant),
    Missed,
}

impl Load {
    /// Whether nothing is left to fetch: the page is loaded, or a resource failed.
    pub fn is_finished(&self) -> bool {
        self.open == 0
    }

    /// The page's own document.
    pub fn document(&self) -> ResourceId {
        self.document
    }

    /// The times reached so far.
    pub fn milestones(&self) -> Milestones {
        let document = &self.resources[self.document.index()];
        Milestones {
            first_byte: document.history.first_byte,
            document: document.history.ended.filter(|_| document.state == State::Done),
            load: match self.load {
                LoadState::Reached(at) => Some(at),
                LoadState::Running | LoadState::Missed => None,
            },
        }
    }

    /// What happened to a resource so far.
    pub fn history(&self, id: ResourceId) -> Option<&History> {
        self.resources.get(id.index()).map(|track| &track.history)
    }

    /// Where a resource is fetched from.
    pub fn url(&self, id: ResourceId) -> Option<&Url> {
        self.resources.get(id.index()).map(|track| &track.url)
    }

    /// Resources known of so far; for a replay, all.
    pub fn known(&self) -> usize {
        self.resources.len()
    }

    /// Bytes of a resource's body that arrived so far.
    pub fn received(&self, id: ResourceId) -> ByteSize {
        ByteSize(self.resources.get(id.index()).map_or(0, |track| track.received))
    }

    /// The fetches that failed, with their reasons.
    pub fn failures(&self) -> impl Iterator<Item = (ResourceId, &str)> {
        self.resources.iter().enumerate().filter_map(|(index, track)| match &track.state {
            State::Failed(reason) => Some((ResourceId(index as u32), reason.as_str())),
            _ => None,
        })
    }

    /// The chain of fetches that the load waited for, from the root. It ends with the resource that came last;
    /// each other one is the initiator of the next. Empty while the load is not done.
    pub fn critical_path(&self) -> Vec<ResourceId> {
        let LoadState::Reached(_) = self.load else { return Vec::new() };
        let mut next = self
            .resources
            .iter()
            .enumerate()
            .max_by_key(|(index, track)| (track.history.ended, Reverse(*index)))
            .map(|(index, _)| ResourceId(index as u32));
        let mut path = Vec::new();
        while let Some(id) = next {
            path.push(id);
            next = self.resources[id.index()].history.released_by;
        }
        path.reverse();
        path
    }
}
