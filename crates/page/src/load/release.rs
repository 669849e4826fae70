//! The states of a resource: Unknown -> Thinking -> Ready -> InFlight -> Done or Failed.
//!
//! A resource is Abandoned when its initiator fails, because nothing else leads to it.

use super::progress::LoadState;
use super::track::State;
use super::{Load, ResourceId};
use std::cmp::Reverse;
use unit::Instant;

impl Load {
    pub(super) fn release(&mut self, id: ResourceId, by: Option<ResourceId>, now: Instant) {
        let track = &mut self.resources[id.index()];
        track.history.released_by = by;
        track.history.found = Some(now);
        track.state = State::Thinking;
        if track.think.is_zero() {
            self.make_ready(id);
        } else {
            self.thinking.push(Reverse((now + track.think, id)));
        }
    }

    pub(super) fn make_ready(&mut self, id: ResourceId) {
        if self.awaits_layout(id) {
            return self.fonts.wait(id);
        }
        self.rank(id);
    }

    /// It takes its place among those that are ready.
    pub(super) fn rank(&mut self, id: ResourceId) {
        self.resources[id.index()].state = State::Ready;
        self.classify(id);
        self.ready.insert((self.signals(id).priority.urgency, self.released, id));
        self.released += 1;
    }

    pub(super) fn abandon_children(&mut self, id: ResourceId, now: Instant) {
        let mut orphans = self.resources[id.index()].take_children();
        while let Some(orphan) = orphans.pop() {
            self.end(orphan, State::Abandoned, now);
            orphans.extend(self.resources[orphan.index()].take_children());
        }
    }

    pub(super) fn end(&mut self, id: ResourceId, state: State, now: Instant) {
        let track = &mut self.resources[id.index()];
        track.state = state;
        track.history.ended = Some(now);
        track.scanner = None;
        self.open -= 1;
    }

    /// Decides the load once no resource is open.
    pub(super) fn settle(&mut self, now: Instant) {
        if self.open > 0 || self.load != LoadState::Running {
            return;
        }
        let whole = self.resources.iter().all(|track| track.state == State::Done);
        self.load = if whole { LoadState::Reached(now) } else { LoadState::Missed };
    }
}
