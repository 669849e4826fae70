//! Server subjects: other people's servers, each a command with configuration templates, a readiness check and
//! a stop, declared in TOML. The one rule: what a declaration says is taken to the letter, and whatever a server
//! says about itself is kept and not judged.

mod builtin;
mod declaration;
mod log;
mod program;
mod running;
mod template;

pub use builtin::builtin_servers;
pub use declaration::{DeclarationError, ServerDeclaration};
pub use log::ServerLog;
pub use running::{RunningServer, ServerEnvironment, ServerFailure, StoppedServer};
pub use template::{HostSite, Launch, RecordedFile, ServerSite};
