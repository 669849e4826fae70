//! The workload `download`: files to disk, as a build tool or a browser's download list has them.

use super::quantity::size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unit::ByteSize;

/// Files that go to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DownloadWorkload {
    /// Bytes of one file.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub size: ByteSize,
    /// How many files.
    pub count: u32,
    /// Whether one process fetches all of them.
    pub processes: Processes,
    /// Connections to the origin at most; None leaves it to the contender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
}

/// How many processes a download takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Processes {
    /// One for all files: a build tool.
    One,
    /// One for each file, one after another: a script that calls a downloader.
    Each,
}

impl DownloadWorkload {
    /// What the download is named by in tables and keys.
    pub(super) fn name(&self) -> String {
        let mut name = match self.count {
            1 => format!("download-{}", self.size),
            count => format!("download-{count}x{}", self.size),
        };
        if self.processes == Processes::Each && self.count > 1 {
            name.push_str("-each");
        }
        if let Some(connections) = self.connections {
            name.push_str(&format!("-{connections}c"));
        }
        name.replace(' ', "")
    }

    /// What its files are called, in order: `80kB`, or `80kB-0`, `80kB-1` … where there are several.
    pub fn files(&self) -> Vec<String> {
        let size = self.size.to_string().replace(' ', "");
        match self.count {
            1 => vec![size],
            count => (0..count).map(|nth| format!("{size}-{nth}")).collect(),
        }
    }
}

impl fmt::Display for DownloadWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.count, self.processes) {
            (1, _) => write!(f, "a file of {} to disk", self.size)?,
            (count, Processes::One) => write!(f, "{count} files of {} to disk", self.size)?,
            (count, Processes::Each) => {
                write!(f, "{count} files of {} to disk, a process each", self.size)?;
            }
        }
        match self.connections {
            None => Ok(()),
            Some(1) => f.write_str(", over one connection"),
            Some(connections) => write!(f, ", over {connections} connections at most"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_is_named_by_its_figures_and_its_files_by_their_size() {
        let one = DownloadWorkload {
            size: ByteSize(80_000),
            count: 1,
            processes: Processes::Each,
            connections: None,
        };
        assert_eq!((one.name().as_str(), one.files()), ("download-80kB", vec!["80kB".to_owned()]));
        let many = DownloadWorkload { count: 50, connections: Some(4), ..one };
        assert_eq!(many.name(), "download-50x80kB-each-4c");
        assert_eq!((many.files().len(), many.files()[7].as_str()), (50, "80kB-7"));
        assert_eq!(
            many.to_string(),
            "50 files of 80 kB to disk, a process each, over 4 connections at most"
        );
    }
}
