//! The policies by name: the values of the key `priorities`.

use super::{Auto, DependencyTree, Fifo, Rfc9218, RoundRobin, Scheduler, ServerDriven, SpdyLevels};
use std::fmt;
use std::str::FromStr;

/// Who sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// As the peer's own signals ask: see [`Auto`].
    #[default]
    Auto,
    /// By urgency: see [`Rfc9218`].
    Rfc9218,
    /// By dependency and weight: see [`DependencyTree`].
    Rfc7540,
    /// By SPDY's levels: see [`SpdyLevels`].
    Spdy,
    /// In order of opening: see [`Fifo`].
    Fifo,
    /// A frame each in turn: see [`RoundRobin`].
    RoundRobin,
    /// As the server decides, and where it does not, as `Auto`: see [`ServerDriven`]. A server puts the assets first that
    /// block rendering.
    ServerDriven,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::Rfc9218,
        Self::Rfc7540,
        Self::Spdy,
        Self::Fifo,
        Self::RoundRobin,
        Self::ServerDriven,
    ];

    /// The name, as in `serve --priorities NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Rfc9218 => "rfc9218",
            Self::Rfc7540 => "rfc7540",
            Self::Spdy => "spdy",
            Self::Fifo => "fifo",
            Self::RoundRobin => "round-robin",
            Self::ServerDriven => "server-driven",
        }
    }

    /// The policy that decides over HTTP/3, whose peers send urgencies alone: [`Auto`] would only pass on what it is told, and a tree
    /// would hear nothing.
    pub fn over_http3(self) -> Self {
        match self {
            Self::Auto | Self::Rfc7540 => Self::Rfc9218,
            other => other,
        }
    }

    /// A scheduler for one connection.
    pub fn scheduler(self) -> Box<dyn Scheduler> {
        match self {
            Self::Auto => Box::new(Auto::default()),
            Self::Rfc9218 => Box::new(Rfc9218::default()),
            Self::Rfc7540 => Box::new(DependencyTree::new()),
            Self::Spdy => Box::new(SpdyLevels::default()),
            Self::Fifo => Box::new(Fifo::default()),
            Self::RoundRobin => Box::new(RoundRobin::default()),
            Self::ServerDriven => Self::Auto.decided_scheduler(),
        }
    }

    /// The same, where the server may decide of single streams ([`Priority::Decided`](super::Priority::Decided)).
    pub fn decided_scheduler(self) -> Box<dyn Scheduler> {
        match self {
            Self::ServerDriven => self.scheduler(),
            other => Box::new(ServerDriven::over(other.scheduler())),
        }
    }

    /// Whether an end point with this policy sends SETTINGS_NO_RFC7540_PRIORITIES = 1
    /// (RFC 9218 §2.1): it would not heed a dependency.
    pub fn rules_out_dependencies(self) -> bool {
        self == Self::Rfc9218
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let known = Self::ALL.into_iter().find(|policy| policy.name() == name);
        known.ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}

/// No policy has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no sending policy; there are {}", Policy::ALL.map(Policy::name).join(", "))]
pub struct UnknownPolicy {
    /// What was asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Priority;
    use crate::stream_id::StreamId;

    #[test]
    fn every_policy_has_a_name_and_a_scheduler_that_serves_the_only_stream() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            let mut scheduler = policy.scheduler();
            assert_eq!(scheduler.next(), None, "{policy}");
            scheduler.insert(StreamId(0), Priority::Unset);
            assert_eq!(scheduler.next(), None, "{policy}");
            scheduler.ready(StreamId(0));
            scheduler.ready(StreamId(0));
            assert_eq!(scheduler.next(), Some(StreamId(0)), "{policy}");
            scheduler.sent(StreamId(0), 16_384);
            assert_eq!(scheduler.next(), Some(StreamId(0)), "{policy}");
            scheduler.remove(StreamId(0));
            assert_eq!(scheduler.next(), None, "{policy}");
        }
    }

    #[test]
    fn over_http3_the_tree_gives_way_to_urgencies() {
        for policy in [Policy::Auto, Policy::Rfc7540] {
            let mut scheduler = policy.over_http3().scheduler();
            scheduler.peer_sends_no_dependencies();
            for (stream, urgency) in [(0, 5), (4, 1)] {
                let stream = StreamId(stream);
                let incremental = crate::schedule::Incremental::Whole;
                scheduler.insert(stream, Priority::Urgency { urgency, incremental });
                scheduler.ready(stream);
            }
            assert_eq!(scheduler.next(), Some(StreamId(4)), "{policy}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_those_that_are() {
        let error = "strict".parse::<Policy>().unwrap_err();
        let names = "auto, rfc9218, rfc7540, spdy, fifo, round-robin, server-driven";
        assert_eq!(
            error.to_string(),
            format!("\"strict\" is no sending policy; there are {names}")
        );
    }
}
