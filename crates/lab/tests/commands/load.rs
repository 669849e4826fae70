//! What else runs on the machine, put there by a test.

use crate::bench::Bench;
use std::process::{Child, Command, Stdio};

/// A busy loop for each core, ended with the test.
pub(crate) struct Load(Vec<Child>);

impl Load {
    pub(crate) fn begin(bench: &Bench) -> Self {
        let busy = || {
            let mut command: Command = bench.command("sh");
            command.args(["-c", "while :; do :; done"]).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        Self((0..cores()).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
