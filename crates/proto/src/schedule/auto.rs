//! The default: the policy that the peer's own signals ask for.
//!
//! | the peer has sent | policy |
//! |---|---|
//! | no signal | the tree, in which all streams are equal (RFC 7540 §5.3.5) |
//! | a dependency (in HEADERS, or a PRIORITY frame), whatever else | the tree |
//! | `priority` fields or PRIORITY_UPDATE frames, and no dependency yet | RFC 9218 |
//! | SETTINGS_NO_RFC7540_PRIORITIES = 1 (or the protocol is HTTP/3), whatever else | RFC 9218 |
//! | SPDY's levels | levels |
//!
//! The tree goes before RFC 9218 because a peer may say some things by dependencies alone: Chromium
//! sends both on HTTP/2, and raises an image that has come into view by a PRIORITY frame only.
//!
//! Signals may come late. At the first dependency after urgencies, all open streams enter the tree with the
//! default priority, which is what RFC 7540 gives a stream that has named none. At the first urgency, streams
//! that have none get RFC 9218's default. Ready streams stay ready. Urgencies are kept beside the
//! tree, so that they are known if the peer's SETTINGS rule dependencies out after all. (SETTINGS come first
//! on a connection, so this switch costs nothing in practice.)

use super::dependency_tree::DependencyTree;
use super::rfc9218::Rfc9218;
use super::spdy_levels::SpdyLevels;
use super::{Priority, PriorityField, Scheduler};
use crate::connection::StreamId;

/// Chooses among the other policies. An operation costs what it costs in the policy chosen; a stream
/// with signals of both kinds is opened and closed twice.
#[derive(Debug, Default)]
pub struct Auto {
    decides: Decides,
    dependencies: Dependencies,
    /// Whether `urgencies` holds the open streams: where it decides, and beside the tree once there
    /// was an urgency.
    holds_urgencies: bool,
    tree: DependencyTree,
    urgencies: Rfc9218,
    levels: SpdyLevels,
}

/// Which policy decides. It holds all open streams, and it alone knows which are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Decides {
    #[default]
    Tree,
    Urgencies,
    Levels,
}

/// Whether the peer sends dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Dependencies {
    #[default]
    NoneYet,
    Seen,
    RuledOut,
}

impl Auto {
    /// No streams and no signals yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn active(&mut self) -> &mut dyn Scheduler {
        match self.decides {
            Decides::Tree => &mut self.tree,
            Decides::Urgencies => &mut self.urgencies,
            Decides::Levels => &mut self.levels,
        }
    }

    /// Switches where this is the first signal of its kind.
    fn hear(&mut self, priority: Priority) {
        let undecided = self.decides == Decides::Tree && self.dependencies == Dependencies::NoneYet;
        match priority {
            Priority::Unset => {}
            Priority::Dependency { .. } => {
                if self.dependencies == Dependencies::NoneYet {
                    self.dependencies = Dependencies::Seen;
                    self.decide_by_tree();
                }
            }
            Priority::Urgency { .. } => {
                self.hold_urgencies();
                if undecided {
                    self.decide_by_urgencies();
                }
            }
            Priority::Level(_) if undecided => self.decide_by_levels(),
            Priority::Level(_) => {}
        }
    }

    fn hold_urgencies(&mut self) {
        if self.decides == Decides::Levels || self.holds_urgencies {
            return;
        }
        self.holds_urgencies = true;
        for (stream, _) in self.tree.streams() {
            self.urgencies.insert(stream, Priority::Unset);
        }
    }

    fn decide_by_tree(&mut self) {
        if self.decides != Decides::Urgencies {
            return;
        }
        self.decides = Decides::Tree;
        for (stream, ready) in self.urgencies.streams() {
            self.tree.insert(stream, Priority::Unset);
            if ready {
                self.urgencies.blocked(stream);
                self.tree.ready(stream);
            }
        }
    }

    fn decide_by_urgencies(&mut self) {
        self.hold_urgencies();
        self.decides = Decides::Urgencies;
        for (stream, _) in self.take_tree().into_iter().filter(|&(_, ready)| ready) {
            self.urgencies.ready(stream);
        }
    }

    fn decide_by_levels(&mut self) {
        self.decides = Decides::Levels;
        for (stream, ready) in self.take_tree() {
            self.levels.insert(stream, Priority::Unset);
            if ready {
                self.levels.ready(stream);
            }
        }
    }

    fn take_tree(&mut self) -> Vec<(StreamId, bool)> {
        std::mem::take(&mut self.tree).streams()
    }
}

impl Scheduler for Auto {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        self.hear(priority);
        self.active().insert(stream, priority);
        if self.holds_urgencies && self.decides == Decides::Tree {
            self.urgencies.insert(stream, priority);
        }
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        self.hear(priority);
        self.active().reprioritise(stream, priority);
        if self.holds_urgencies && self.decides == Decides::Tree {
            self.urgencies.reprioritise(stream, priority);
        }
    }

    fn merge_response(&mut self, stream: StreamId, field: PriorityField) {
        self.hold_urgencies();
        self.urgencies.merge_response(stream, field);
    }

    fn peer_sends_no_dependencies(&mut self) {
        self.dependencies = Dependencies::RuledOut;
        if self.decides == Decides::Tree {
            self.decide_by_urgencies();
        }
    }

    fn remove(&mut self, stream: StreamId) {
        self.active().remove(stream);
        if self.holds_urgencies && self.decides == Decides::Tree {
            self.urgencies.remove(stream);
        }
    }

    fn ready(&mut self, stream: StreamId) {
        self.active().ready(stream);
    }

    fn blocked(&mut self, stream: StreamId) {
        self.active().blocked(stream);
    }

    fn next(&mut self) -> Option<StreamId> {
        self.active().next()
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        self.active().sent(stream, bytes);
    }
}
