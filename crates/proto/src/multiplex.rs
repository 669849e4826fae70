//! What the protocols that multiplex have in common: the life and the table of streams, credit, queued
//! bodies, allowances, timers, and cutting bytes into frames. The one rule: nothing here knows what is
//! in a frame.

pub(crate) mod control;
pub(crate) mod flow;
pub(crate) mod guard;
pub(crate) mod outgoing;
pub(crate) mod reader;
pub(crate) mod role;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod timers;
