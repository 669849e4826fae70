//! `wirelap serve` among peers that mean no good, on real sockets: they read nothing, say nothing, say a little at a
//! time, reset, flood, and take all descriptors. The one rule: whatever they do, others are served meanwhile, memory
//! and descriptors come back, and nobody spins; the system says so (/proc), not the server.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

#[allow(dead_code, reason = "the other tests of the program use the rest")]
#[path = "../commands/bench.rs"]
mod bench;
mod descriptors;
mod floods;
mod frames;
mod process;
mod resets;
mod served;
mod slow;
mod soak;
mod stopping;
