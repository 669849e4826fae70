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
