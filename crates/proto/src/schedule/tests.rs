//! The policies without a tree against plain models, and the default's switches.

mod auto;
mod levels;
mod server_driven;
mod urgencies;
