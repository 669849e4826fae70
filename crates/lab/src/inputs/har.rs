//! The user's recorded pages: reading them, and telling what reading them took.

use crate::error::{self, CliError};
use page::har::{self, HarError, HarOptions, Recording};
use std::fs;
use std::path::Path;
use study::experiment::{Dependencies, HarWorkload, Think};

/// Reads the recording at `path` as `workload` wants it.
pub(crate) fn read(path: &Path, workload: &HarWorkload) -> Result<Recording, CliError> {
    let name = path.display();
    let file = fs::read(path).map_err(|error| error::file(format!("reading {name}"), &error))?;
    let options = HarOptions {
        dependencies: match workload.dependencies {
            Dependencies::Inferred => har::Dependencies::Inferred,
            Dependencies::Flat => har::Dependencies::Flat,
        },
        think: match workload.think {
            Think::Recorded => har::Think::Recorded,
            Think::None => har::Think::None,
        },
        ..HarOptions::default()
    };
    har::parse(&file, options).map_err(|error| {
        let remedy = match &error {
            HarError::Encoding { .. } | HarError::Json { .. } => {
                "save the recording again: a HAR file is JSON, as a browser's developer tools save it"
            }
            HarError::Entry { .. } => "mend or take out that entry, or save the recording again",
            _ => "record the page with the Network panel open from before its load begins",
        };
        CliError::misuse(format!("{name}: {error}")).remedy(remedy)
    })
}

/// What was assumed, one sentence each, for the report.
pub(crate) fn sentences(name: &str, recording: &Recording) -> Vec<String> {
    recording.assumptions.to_string().lines().map(|line| format!("{name}: {line}")).collect()
}
