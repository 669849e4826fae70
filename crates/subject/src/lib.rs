//! Other people's programs: which ones wirelap knows, whether they are here, and how to get them.
//!
//! They race behind one [`contract`]: a JSON job in, JSON lines out. A [`Catalogue`] holds the declarations of
//! those that are clients; `docs/subjects.md` tells how to write one. [`tools`] puts command-line clients behind the
//! contract.
//!
//! ```
//! let folders = [std::path::PathBuf::from("/usr/bin")];
//! let sh = subject::Peer { program: "sh", package: "dash", role: subject::Role::Client, version: &[], used_for: "an example" };
//! assert!(sh.find(&folders).is_some());
//! assert!(!subject::PEERS.is_empty());
//!
//! let mut reader = subject::contract::TranscriptReader::new([0]);
//! let violation = reader.read(unit::Instant::ZERO, b"hello\n").unwrap_err();
//! assert!(violation.to_string().starts_with("line 1 of its output: {\"event\":\"ready\",…} was expected"));
//! ```

pub mod contract;
mod declaration;
pub mod film;
mod freeze;
mod peer;
mod program;
pub mod record;
#[cfg(test)]
#[path = "../../study/src/schema_file.rs"]
mod schema_file;
pub mod server;
mod template;
pub mod tools;
mod version;

pub use declaration::{
    Catalogue, ClientDeclaration, ClientRole, DeclarationError, Lacking, Places,
};
pub use peer::{PEERS, Peer, Role};
pub use version::version;
