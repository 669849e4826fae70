//! What the protocols that multiplex have in common: the life and the table of streams, credit, queued
//! bodies, allowances and timers. The one rule: nothing here knows a frame.

pub(crate) mod flow;
pub(crate) mod guard;
pub(crate) mod outgoing;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod timers;
