//! Whether a connection takes new streams, and how far its end has come: our GOAWAY and the peer's.

use super::framing::ErrorCode;
use crate::{ConnectionState, Error};

#[derive(Debug)]
pub(crate) struct Draining<C> {
    state: ConnectionState,
    ours: Shutdown,
    /// The peer's GOAWAY: the last stream that it names, and why.
    theirs: Option<(u32, C)>,
}

/// How far a shutdown of ours has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    No,
    /// A GOAWAY that excludes nothing yet was sent (RFC 9113 §6.8).
    Announced,
    /// The GOAWAY that names the last stream was sent.
    Final {
        last: u32,
    },
}

impl<C: ErrorCode> Draining<C> {
    pub(crate) fn new() -> Self {
        Self { state: ConnectionState::Open, ours: Shutdown::No, theirs: None }
    }

    pub(crate) fn state(&self) -> ConnectionState {
        self.state
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == ConnectionState::Open
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state == ConnectionState::Closed
    }

    pub(crate) fn close(&mut self) {
        self.state = ConnectionState::Closed;
    }

    /// Begins a shutdown of ours; None where it has begun already or the connection is closed.
    pub(crate) fn begin(&mut self) -> Option<()> {
        if self.ours != Shutdown::No || self.is_closed() {
            return None;
        }
        self.state = ConnectionState::Draining;
        Some(())
    }

    /// A GOAWAY that excludes nothing yet was sent.
    pub(crate) fn announce(&mut self) {
        self.ours = Shutdown::Announced;
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.ours == Shutdown::Announced
    }

    /// The GOAWAY that names the last stream was sent.
    pub(crate) fn finish(&mut self, last: u32) {
        self.ours = Shutdown::Final { last };
    }

    /// Whether our GOAWAY has named the last stream: later ones of the peer are ignored.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.ours, Shutdown::Final { .. })
    }

    /// The last stream that a GOAWAY of ours names; it never grows (RFC 9113 §6.8).
    pub(crate) fn last_named(&self, highest: u32) -> u32 {
        match self.ours {
            Shutdown::Final { last } => last,
            Shutdown::No | Shutdown::Announced => highest,
        }
    }

    /// Takes the peer's GOAWAY; gives the last stream that it leaves us.
    pub(crate) fn handle_goaway(&mut self, last: u32, code: C) -> u32 {
        let last = self.theirs.map_or(last, |(earlier, _)| last.min(earlier));
        self.theirs = Some((last, code));
        self.state = ConnectionState::Draining;
        last
    }

    /// Whether the peer has sent a GOAWAY.
    pub(crate) fn has_peers_goaway(&self) -> bool {
        self.theirs.is_some()
    }

    /// Whether the connection ends with its last stream.
    pub(crate) fn ends_with_streams(&self) -> bool {
        !self.is_closed() && (self.theirs.is_some() || self.is_final())
    }

    /// Whether the peer is still owed a GOAWAY of ours.
    pub(crate) fn owes_goaway(&self) -> bool {
        self.ours == Shutdown::No
    }

    /// What the peer's GOAWAY complained of, if that is anything but `no_error`.
    pub(crate) fn peer_error(&self, no_error: C) -> Option<Error> {
        let (_, code) = self.theirs.filter(|&(_, code)| code != no_error)?;
        Some(Error::PeerClosed { code: code.number(), name: code.name() })
    }
}
