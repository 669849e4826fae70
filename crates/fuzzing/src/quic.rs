//! Connections over QUIC that break any rule: a client made of quinn-proto, whose cryptography changes what it sends, and the targets
//! that stand on it. `origin`'s tests use the client, too.

#[cfg(test)]
mod idle;
mod origin;
mod pair;
mod peer;
mod tampering;
mod wire;

pub(crate) use origin::run as origin;
pub(crate) use pair::run as pair;
pub use peer::{Ended, Peer, Seen};
pub use tampering::{Edit, Level, Plan, SharedPlan, TamperingTls};
