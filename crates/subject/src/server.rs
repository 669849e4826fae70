//! Server subjects: other people's servers. Each is declared in TOML as a command with configuration templates, a
//! readiness check and a way to stop it. The one rule: a declaration is followed to the letter, and what a server says
//! about itself is recorded, not judged.

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
