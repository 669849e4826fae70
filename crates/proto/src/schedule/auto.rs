//! The default: the policy that the peer's own signals ask for.
//!
//! | the peer has sent | policy |
//! |---|---|
//! | no signal | turns: all streams are equal, as by RFC 7540's default (§5.3.5) |
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
use super::round_robin::RoundRobin;
use super::spdy_levels::SpdyLevels;
use super::{Priority, PriorityField, Scheduler};
use crate::StreamId;

/// Chooses among the other policies. An operation costs what it costs in the policy chosen; a stream
/// with signals of both kinds is opened and closed twice. A policy that is not used takes no memory.
#[derive(Debug, Default)]
pub struct Auto {
    decides: Decides,
    dependencies: Dependencies,
    /// The open streams: where urgencies decide, and beside another policy once there was an urgency.
    urgencies: Option<Box<Rfc9218>>,
}

/// Which policy decides. It alone knows which streams are ready.
#[derive(Debug)]
enum Decides {
    Turns(RoundRobin),
    Tree(Box<DependencyTree>),
    Urgencies,
    Levels(SpdyLevels),
}

impl Default for Decides {
    fn default() -> Self {
        Self::Turns(RoundRobin::default())
    }
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
    fn active(&mut self) -> &mut dyn Scheduler {
        match &mut self.decides {
            Decides::Turns(turns) => turns,
            Decides::Tree(tree) => &mut **tree,
            Decides::Urgencies => &mut **self.urgencies.get_or_insert_default(),
            Decides::Levels(levels) => levels,
        }
    }

    /// The urgencies that are kept though they do not decide.
    fn kept(&mut self) -> Option<&mut Rfc9218> {
        match self.decides {
            Decides::Urgencies => None,
            _ => self.urgencies.as_deref_mut(),
        }
    }

    /// Switches where this is the first signal of its kind.
    fn hear(&mut self, priority: Priority) {
        match (priority, &self.decides) {
            (Priority::Dependency { .. }, Decides::Turns(_) | Decides::Urgencies) => {
                if self.dependencies == Dependencies::NoneYet {
                    self.dependencies = Dependencies::Seen;
                    self.decide_by(Decides::Tree(Box::default()));
                }
            }
            (Priority::Urgency { .. }, Decides::Turns(_)) => self.decide_by(Decides::Urgencies),
            (Priority::Urgency { .. }, Decides::Tree(_)) => {
                self.hold_urgencies();
            }
            (Priority::Level(_), Decides::Turns(_)) => {
                self.decide_by(Decides::Levels(SpdyLevels::default()));
            }
            (Priority::Unset | Priority::Dependency { .. } | Priority::Decided { .. }, _)
            | (Priority::Urgency { .. }, Decides::Urgencies | Decides::Levels(_))
            | (Priority::Level(_), Decides::Tree(_) | Decides::Urgencies | Decides::Levels(_)) => {}
        }
    }

    /// From now on `urgencies` holds the open streams.
    fn hold_urgencies(&mut self) -> &mut Rfc9218 {
        let open = if self.urgencies.is_none() { self.streams() } else { Vec::new() };
        let urgencies = self.urgencies.get_or_insert_default();
        for (stream, _) in open {
            urgencies.insert(stream, Priority::Unset);
        }
        urgencies
    }

    /// Moves the open streams to another policy.
    fn decide_by(&mut self, policy: Decides) {
        let streams = self.streams();
        if let (Decides::Urgencies, Some(urgencies)) = (&self.decides, &mut self.urgencies) {
            streams.iter().for_each(|&(stream, _)| urgencies.blocked(stream));
        }
        self.decides = policy;
        let active = self.active();
        for (stream, ready) in streams {
            active.insert(stream, Priority::Unset);
            if ready {
                active.ready(stream);
            }
        }
    }

    /// The open streams, and whether each is ready, in order. SPDY's are never asked for.
    fn streams(&self) -> Vec<(StreamId, bool)> {
        match &self.decides {
            Decides::Turns(turns) => turns.streams(),
            Decides::Tree(tree) => tree.streams(),
            Decides::Urgencies => {
                self.urgencies.as_ref().map_or_else(Vec::new, |all| all.streams())
            }
            Decides::Levels(_) => Vec::new(),
        }
    }
}

impl Scheduler for Auto {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        self.hear(priority);
        self.active().insert(stream, priority);
        if let Some(kept) = self.kept() {
            kept.insert(stream, priority);
        }
    }

    fn insert_promised(&mut self, stream: StreamId, parent: StreamId) {
        // Not a signal of the peer's: it does not choose the policy.
        self.active().insert_promised(stream, parent);
        if let Some(kept) = self.kept() {
            kept.insert(stream, Priority::Unset);
        }
    }

    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        self.hear(priority);
        self.active().reprioritise(stream, priority);
        if let Some(kept) = self.kept() {
            kept.reprioritise(stream, priority);
        }
    }

    fn merge_response(&mut self, stream: StreamId, field: PriorityField) {
        if !matches!(self.decides, Decides::Levels(_)) {
            self.hold_urgencies().merge_response(stream, field);
        }
    }

    fn peer_sends_no_dependencies(&mut self) {
        self.dependencies = Dependencies::RuledOut;
        if matches!(self.decides, Decides::Turns(_) | Decides::Tree(_)) {
            self.decide_by(Decides::Urgencies);
        }
    }

    fn remove(&mut self, stream: StreamId) {
        self.active().remove(stream);
        if let Some(kept) = self.kept() {
            kept.remove(stream);
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

    fn goes_by_number(&self) -> bool {
        matches!(self.decides, Decides::Urgencies)
    }

    fn sent(&mut self, stream: StreamId, bytes: usize) {
        self.active().sent(stream, bytes);
    }
}
