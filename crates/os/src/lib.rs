//! The operating system: the only room with descriptors and `unsafe`.

pub mod signal;
