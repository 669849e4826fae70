//! The states of a resource: Unknown -> Thinking -> (Held ->) Ready -> InFlight -> Done or Failed.
//!
//! A resource is Abandoned when its initiator fails, because nothing else leads to it. What began after onLoad in the
//! recording is Held until the load is done, so that it never competes with what the load waits for.

use super::progress::LoadState;
use super::track::{State, Track};
use super::{Load, ResourceId};
use crate::resource::Counts;
use std::cmp::Reverse;
use unit::Instant;

impl Load {
    pub(super) fn release(&mut self, id: ResourceId, by: Option<ResourceId>, now: Instant) {
        let track = &mut self.resources[id.index()];
        track.history.released_by = by;
        track.history.found = Some(now);
        track.state = State::Thinking;
        if track.think.is_zero() {
            self.make_ready(id, now);
        } else {
            self.thinking.push(Reverse((now + track.think, id)));
        }
    }

    pub(super) fn make_ready(&mut self, id: ResourceId, now: Instant) {
        match (self.resources[id.index()].counts, self.load) {
            (Counts::AfterLoad, LoadState::Running) => {
                self.resources[id.index()].state = State::Held;
                self.held.push(id);
            }
            (Counts::AfterLoad, LoadState::Missed) => self.abandon(id, now),
            (Counts::IntoLoad, _) | (Counts::AfterLoad, LoadState::Reached(_)) => {
                self.resources[id.index()].state = State::Ready;
                self.ready.insert((self.priority(id).urgency, self.released, id));
                self.released += 1;
            }
        }
    }

    fn abandon(&mut self, id: ResourceId, now: Instant) {
        self.end(id, State::Abandoned, now);
        self.abandon_children(id, now);
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
        if track.counts == Counts::IntoLoad {
            self.counted_open -= 1;
        }
    }

    /// Decides the load once no counted resource is open. Held resources are then released, or abandoned if the load
    /// failed.
    pub(super) fn settle(&mut self, now: Instant) {
        if self.counted_open > 0 || self.is_decided() {
            return;
        }
        let counted = |track: &&Track| track.counts == Counts::IntoLoad;
        let whole = self.resources.iter().filter(counted).all(|track| track.state == State::Done);
        self.load = if whole { LoadState::Reached(now) } else { LoadState::Missed };
        for id in std::mem::take(&mut self.held) {
            self.make_ready(id, now);
        }
    }
}
