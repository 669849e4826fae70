//! Faults that a test plans.

use endpoint::SocketError;
use std::net::SocketAddr;
use std::time::Duration;
use unit::{Instant, Random, Seed};

/// A connect to a host. The test's plan decides its fate.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// The time at which it begins.
    pub at: Instant,
    /// Its number among the connects to this host, from 0.
    pub number: usize,
    /// The address that it connects to.
    pub remote: SocketAddr,
}

/// The fate of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionPlan {
    /// How the connect ends.
    pub outcome: ConnectOutcome,
    /// The fault on the bytes that the connecting side sends.
    pub up: Option<StreamFault>,
    /// The fault on the bytes that the accepting side sends.
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

/// A fault of one direction of a connection after a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// Both sides are reset.
    Reset {
        /// Bytes that pass.
        after: u64,
    },
    /// The receiver gets FIN. What the sender sends after that is discarded.
    Close {
        /// Bytes that pass.
        after: u64,
    },
    /// Nothing more arrives, and the sender's socket accepts no more bytes.
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

/// How received bytes are split before an end point gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pieces {
    /// Not split: as much as a read returns.
    #[default]
    Whole,
    /// Into pieces of this many bytes.
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

    /// The length of the next piece, out of `length` bytes.
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
