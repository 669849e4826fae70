//! The peers: other people's programs that wirelap is tested against and races.

use crate::program::find;
use std::path::{Path, PathBuf};

/// A program of somebody else.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Its file name.
    pub program: &'static str,
    /// The Debian package of the program; empty where `./peers install` builds it.
    pub package: &'static str,
    /// Which side it takes.
    pub role: Role,
    /// Arguments that print its version.
    pub version: &'static [&'static str],
    /// What the tests need it for.
    pub used_for: &'static str,
}

/// Which side a peer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asks.
    Client,
    /// It answers.
    Server,
    /// It looks on, or measures the link.
    Instrument,
}

impl Role {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Instrument => "instrument",
        }
    }
}

const fn peer(
    program: &'static str,
    package: &'static str,
    role: Role,
    version: &'static [&'static str],
    used_for: &'static str,
) -> Peer {
    Peer { program, package, role, version, used_for }
}

/// Every peer that wirelap knows.
pub const PEERS: &[Peer] = &[
    peer("curl", "curl", Role::Client, &["--version"], "HTTP/1.1 and h2 against the origin"),
    peer("nghttp", "nghttp2-client", Role::Client, &["--version"], "h2 against the origin"),
    peer("h2load", "nghttp2-client", Role::Client, &["--version"], "h2 under load"),
    peer("wrk", "wrk", Role::Client, &["-v"], "HTTP/1.1 under load"),
    peer("node", "nodejs", Role::Client, &["--version"], "Node's h2 client"),
    peer("go", "golang-go", Role::Client, &["version"], "Go's h2 client, and building h2spec"),
    peer(
        "java",
        "openjdk-17-jdk-headless",
        Role::Client,
        &["-version"],
        "seventeen clients of the JVM against the origin",
    ),
    peer("chromium", "chromium", Role::Client, &["--version"], "looking at the report, WebSocket"),
    peer(
        "chromium-headless-shell",
        "chromium-headless-shell",
        Role::Client,
        &["--version"],
        "the browser of races",
    ),
    peer("chromium-92", "", Role::Client, &["--version"], "h2 push, WebSocket"),
    peer("chromium-103", "", Role::Client, &["--version"], "h2 push and early hints"),
    peer(
        "firefox-esr",
        "firefox-esr",
        Role::Client,
        &["--version"],
        "a browser of races, WebSocket by Upgrade and over h2",
    ),
    peer("nginx", "nginx", Role::Server, &["-v"], "our client against HTTP/1.1 and h2"),
    peer("h2o", "h2o", Role::Server, &["--version"], "our client against h2"),
    peer(
        "nghttpd",
        "nghttp2-server",
        Role::Server,
        &["--version"],
        "our client against h2 with push",
    ),
    peer(
        "openssl",
        "openssl",
        Role::Instrument,
        &["version"],
        "TLS against another implementation",
    ),
    peer("h2spec", "", Role::Instrument, &["--version"], "conformance of the origin's h2"),
    peer("ping", "iputils-ping", Role::Instrument, &["-V"], "round trips of the link"),
    peer("tshark", "tshark", Role::Instrument, &["--version"], "captures, opened and decrypted"),
    peer("iperf3", "iperf3", Role::Instrument, &["--version"], "rates of the link"),
];

impl Peer {
    /// Its path: the first match in `folders`.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        find(self.program, Path::new(""), folders)
    }

    /// The first line of its version output; None where it does not run or prints none.
    pub fn version_of(&self, path: &Path) -> Option<String> {
        crate::version::first_line(path, self.version).map(|(_, line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        let ghost = peer("wirelap-no-such-program", "none", Role::Client, &[], "a test");
        assert_eq!(ghost.find(&[PathBuf::from("/usr/bin")]), None);
    }

    #[test]
    fn the_version_is_the_first_line_printed() {
        let echo = peer("echo", "coreutils", Role::Instrument, &["1.2\nmore"], "a test");
        let path = echo.find(&["/usr/bin", "/bin"].map(PathBuf::from)).unwrap();
        assert_eq!(echo.version_of(&path).as_deref(), Some("1.2"));
    }
}
