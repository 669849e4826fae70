//! Other people's programs: which ones wirelap knows, whether they are here, and how to get them.
//!
//! Adapters that run them as contenders come behind one contract (a JSON job in, JSON lines out);
//! what stands here first is what `doctor`, `list` and the tests need of it.
//!
//! ```
//! let folders = [std::path::PathBuf::from("/usr/bin")];
//! let sh = subject::Peer { program: "sh", package: "dash", role: subject::Role::Client, version: &[], used_for: "an example" };
//! assert!(sh.find(&folders).is_some());
//! assert!(!subject::PEERS.is_empty());
//! ```

mod peer;
pub mod server;

pub use peer::{PEERS, Peer, Role};
