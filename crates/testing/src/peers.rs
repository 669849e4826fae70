//! Other people's programs, for tests against them. What is not installed is a skip, and the answer says so.

use crate::skip;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where a program of the system is. None, and a skip, where it is not.
pub fn program(name: &str) -> Option<String> {
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let found = folders.map(|folder| format!("{folder}/{name}"));
    present(found.into_iter().find(|path| Path::new(path).exists()), name)
}

/// Where a current release is: nginx, Caddy and curl with HTTP/3, which Debian 12's have not. None, and a skip, without it.
pub fn current(program: &str) -> Option<String> {
    let path = current_releases().join(program);
    let found = path.exists().then(|| path.display().to_string());
    present(found, &format!("a current {program}"))
}

/// The folder of current releases; it need not be there.
pub fn current_releases() -> PathBuf {
    said_by_peers("current")
}

/// Where `./peers` keeps what Debian does not package. None, and a skip, where `part` is not there.
pub fn kept(part: &str) -> Option<PathBuf> {
    let path = said_by_peers("path").join("..").join(part);
    present(path.exists().then_some(path), part)
}

/// h2spec, from the search path or from where `go install` puts it. None, and a skip, without it.
pub fn h2spec() -> Option<PathBuf> {
    let go_path = Command::new("go").args(["env", "GOPATH"]).output();
    let go_path = go_path.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let installed = go_path.map(|path| PathBuf::from(path.trim()).join("bin/h2spec"));
    let installed = installed.filter(|path| path.exists());
    let program = installed.unwrap_or_else(|| PathBuf::from("h2spec"));
    has(&program.display().to_string(), "--version", "./peers install").then_some(program)
}

/// Whether `program` runs here with the argument `probe`. Where it does not, the test is skipped, and `remedy` told.
pub fn has(program: &str, probe: &str, remedy: &str) -> bool {
    let found = Command::new(program).arg(probe).output().is_ok();
    if !found {
        skip(format_args!("{program} is not installed: {remedy}"));
    }
    found
}

/// Runs a program to its end.
///
/// # Panics
/// With the program's words where it fails.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().expect("a program that can be started");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// An address on loopback, with a port that was free a moment ago.
///
/// # Panics
/// Where there is none.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

/// A port on loopback that was free a moment ago.
///
/// # Panics
/// Where there is none.
pub fn free_port() -> u16 {
    free_address().port()
}

/// The folder that `./peers WORD` prints.
fn said_by_peers(word: &str) -> PathBuf {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let said = run(Command::new(peers).arg(word)).stdout;
    PathBuf::from(String::from_utf8_lossy(&said).trim())
}

fn present<T>(found: Option<T>, name: &str) -> Option<T> {
    if found.is_none() {
        skip(format_args!("{name} is not installed: ./peers install"));
    }
    found
}
