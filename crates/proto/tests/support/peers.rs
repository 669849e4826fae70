//! Other people's programs as children on loopback, in folders of their own, killed by handle.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A folder that goes away with its owner.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::with_prefix("wirelap-test-").expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("a file in the temporary folder");
        path
    }
}

/// A server that runs beside the test.
pub struct Peer(Child);

impl Peer {
    /// Starts it and waits until it listens; None, and a skip, where the program is not there.
    pub fn start(command: &mut Command, address: SocketAddr, install: &str) -> Option<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut peer = match child {
            Ok(child) => Self(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                unsupported(command, install);
                return None;
            }
            Err(error) => panic!("{command:?}: {error}"),
        };
        // A Python program takes seconds to start where everything else is busy.
        for _ in 0..1200 {
            if TcpStream::connect(address).is_ok() {
                return Some(peer);
            }
            if let Ok(Some(status)) = peer.0.try_wait() {
                panic!("{command:?} ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("{command:?} does not listen");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // nginx's master takes its workers with it on SIGTERM, and not on SIGKILL.
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        for _ in 0..80 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a client to its end; None, and a skip, where the program is not there.
pub fn run(command: &mut Command, install: &str) -> Option<Output> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            unsupported(command, install);
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

fn unsupported(command: &Command, install: &str) {
    testing::skip(format_args!("{:?} is not installed: {install}", command.get_program()));
}
