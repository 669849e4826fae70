//! What goes wrong, as a test plans it.

use endpoint::SocketError;
use std::net::SocketAddr;
use std::time::Duration;
use unit::{Instant, Random, Seed};

/// A connect to a host, for the plan that decides what becomes of it.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// When it is begun.
    pub at: Instant,
    /// Its number among the connects to this host, from 0.
    pub number: usize,
    /// Where it goes to.
    pub remote: SocketAddr,
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionPlan {
    /// How the connect ends.
    pub outcome: ConnectOutcome,
    /// What befalls the bytes of the side that connected.
    pub up: Option<StreamFault>,
    /// What befalls the bytes of the side that accepted.
    pub down: Option<StreamFault>,
}

/// How a connect ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectOutcome {
    /// It succeeds after one round trip.
    #[default]
    Accept,
    /// The listening host takes this long to answer.
    AcceptAfter(Duration),
    /// The listening host answers with RST.
    Refuse,
    /// Nobody answers.
    NoAnswer,
    /// It fails at once, on the connecting host.
    Fail(SocketError),
}

/// What befalls one direction of a connection after so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// Both sides are reset.
    Reset {
        /// Bytes that pass.
        after: u64,
    },
    /// The receiver gets FIN. What the sender goes on to send is thrown away.
    Close {
        /// Bytes that pass.
        after: u64,
    },
    /// Nothing more passes, and the sender's socket takes no more bytes.
    Stall {
        /// Bytes that pass.
        after: u64,
    },
}

impl StreamFault {
    pub(crate) fn after(self) -> u64 {
        let (Self::Reset { after } | Self::Close { after } | Self::Stall { after }) = self;
        after
    }
}

/// How received bytes are cut before an end point gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pieces {
    /// As a read finds them.
    #[default]
    Whole,
    /// Into pieces of so many bytes.
    Of(usize),
    /// Into pieces of 1 to `longest` bytes, drawn from the world's seed.
    Random {
        /// The longest piece.
        longest: usize,
    },
}

/// Draws the lengths of pieces.
#[derive(Debug)]
pub(crate) struct Cutter {
    pieces: Pieces,
    random: Random,
}

impl Cutter {
    pub(crate) fn new(pieces: Pieces, seed: Seed) -> Self {
        Self { pieces, random: seed.random() }
    }

    /// How many of `length` bytes go together.
    pub(crate) fn next(&mut self, length: usize) -> usize {
        match self.pieces {
            Pieces::Whole => length,
            Pieces::Of(piece) => length.min(piece.max(1)),
            Pieces::Random { longest } => {
                length.min(1 + self.random.below(longest.max(1) as u64) as usize)
            }
        }
    }
}
