//! What the protocols that multiplex have in common: [`session::Session`] and the types that it is
//! made of. The one rule: nothing here knows what is in a frame. A protocol brings that as a
//! [`framing::Framing`].

pub(crate) mod draining;
pub(crate) mod events;
pub(crate) mod flow;
pub(crate) mod framing;
pub(crate) mod guard;
pub(crate) mod head;
pub(crate) mod log;
pub(crate) mod outbox;
pub(crate) mod outgoing;
pub(crate) mod reader;
pub(crate) mod role;
pub(crate) mod send_order;
pub(crate) mod session;
pub(crate) mod stall;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod streams;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod timers;

pub(crate) use draining::Draining;
pub(crate) use events::Events;
pub(crate) use flow::{ConnectionWindows, Overflow, ReceiveWindow, SendWindow};
pub(crate) use framing::{
    Announcement, Answered, Framing, Misplaced, Next, OutgoingFrame, PeerLimits, Prioritised,
    Promise, Rule, Rules, Timed, rule,
};
pub use guard::Limits;
pub(crate) use guard::{Guard, TooMuch};
pub(crate) use log::Log;
pub(crate) use outbox::{FrameWriter, Outbox};
pub(crate) use outgoing::{Ending, Outgoing};
pub(crate) use reader::{Payload, Reader};
pub(crate) use send_order::{OpeningPriority, Readiness, SendOrder};
pub(crate) use session::{
    Admission, DataFrame, Endowment, Over, Received, Session, SessionSettings,
};
pub(crate) use stall::{PROGRESS, Stall};
pub(crate) use state::{State, Step};
pub(crate) use status::{Gone, Role, StreamStatus};
pub(crate) use stream::{BadData, BodyLength, Opener, Stream, Update, Windows};
pub(crate) use streams::Streams;
pub use timers::KeepAlive;
pub(crate) use timers::{Timer, Timers};
