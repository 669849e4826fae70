//! The operating system: the only room with descriptors and `unsafe`.

pub mod clock;
pub mod error;
pub mod net;
pub mod process;
pub mod signal;
