//! Which end of a connection this is, and what a frame's stream is there.

use super::State;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
    /// The first stream that it opens.
    pub(crate) fn first_stream(self) -> u32 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

/// What a stream is that a frame names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamStatus {
    /// Nobody has opened it.
    Idle,
    /// It has not ended.
    Live(State),
    /// It is over; how it went, where that is remembered.
    Gone(Option<Gone>),
}

/// How a stream went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Both sides ended it.
    Ended,
    /// We reset it: frames of the peer may still be on their way.
    ResetByUs,
    /// The peer reset it.
    ResetByPeer,
}
