//! Room `os`: what only a system can do. It drives end points over sockets, reads files and the clock; the only
//! room with file descriptors and `unsafe`.

pub mod clock;
pub mod error;
pub mod files;
pub mod machine;
pub mod net;
pub mod process;
pub mod process_tree;
pub mod reactor;
pub mod signal;
pub mod tcp;
