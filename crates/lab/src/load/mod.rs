//! What `wirelap load` is made of: what the user asks for as a plan, a run of it on threads, what is shown meanwhile,
//! and its result.

pub(crate) mod hdr;
pub(crate) mod live;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod targets;
