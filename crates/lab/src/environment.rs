//! The environment variables that wirelap uses. No other file reads one.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

/// Whether output must be without colour (<https://no-color.org>).
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The file that TLS secrets are appended to, in NSS key log format, for Wireshark.
pub(crate) fn ssl_key_log_file() -> Option<PathBuf> {
    std::env::var_os("SSLKEYLOGFILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder that qlog files go to, by the name that curl and quic-go have for it.
pub(crate) fn qlog_folder() -> Option<PathBuf> {
    std::env::var_os("QLOGDIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's file of certificate authorities, used instead of the system's, as in OpenSSL.
pub(crate) fn ssl_cert_file() -> Option<PathBuf> {
    std::env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Folders in which programs are looked for: those of PATH, two for daemons, which an ordinary user's PATH leaves out, and
/// the one that `./peers install` fills.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.push(peers_folder().join("bin"));
    folders
}

/// The folder in which `./peers install` installs. The script chooses it.
pub(crate) fn peers_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || set("HOME").map_or_else(PathBuf::new, |home| PathBuf::from(home).join(".cache"));
    cache.unwrap_or_else(home).join("wirelap/peers")
}
