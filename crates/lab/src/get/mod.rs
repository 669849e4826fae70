//! The parts of `wirelap get` that are policy: names, checksums, trust, names' addresses, where bytes go, and
//! what is told. The machine that downloads is `client::Download`, the files are `os::files::writer`'s.

pub(crate) mod checksums;
pub(crate) mod leftover;
pub(crate) mod names;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod resolve;
pub(crate) mod sink;
pub(crate) mod trust;
