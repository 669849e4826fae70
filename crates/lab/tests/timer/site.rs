//! `wirelap serve` with a few pages of a test's own, and the timer at `/timer`.

use crate::bench::{Bench, Running};
use std::io::{BufRead, BufReader};

/// A server under way.
pub(crate) struct Site {
    _running: Running,
    /// `http://127.0.0.1:PORT`.
    pub(crate) origin: String,
}

impl Site {
    /// Serves `pages`, each a name and its text.
    pub(crate) fn start(bench: &Bench, pages: &[(&str, &str)]) -> Self {
        std::fs::create_dir_all(bench.path("site")).unwrap();
        for (name, text) in pages {
            bench.write(&format!("site/{name}"), text);
        }
        let mut running = bench.start(bench.wirelap(&["serve", "site", "--listen", "127.0.0.1:0"]));
        let mut line = String::new();
        let out = running.child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let origin = line.trim().trim_end_matches('/').to_owned();
        assert!(origin.starts_with("http://127.0.0.1:"), "{line}");
        Self { _running: running, origin }
    }

    /// Where the timer is.
    pub(crate) fn timer(&self) -> String {
        format!("{}/timer", self.origin)
    }
}
