//! The rules of `wirelap get`: which file a URL becomes, checksums, trusted certificates, DNS, proxies, where bytes go, and what
//! is printed. `client::Download` does the download, and `os::files::writer` writes the files.

pub(crate) mod checksums;
pub(crate) mod disposition;
pub(crate) mod leftover;
pub(crate) mod names;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod proxies;
pub(crate) mod resolve;
pub(crate) mod sink;
pub(crate) mod trust;
