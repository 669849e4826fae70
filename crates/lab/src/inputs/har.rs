//! The user's recorded pages: reading them, and telling what reading them took.

use crate::error::{self, CliError};
use crate::inputs::regular::{self, LONGEST_RECORDING};
use crate::inputs::site;
pub(crate) use page::har::SITE_VERSION;
use page::har::{self, HarError, HarOptions, Recording};
use report::Assumptions;
use std::path::{Path, PathBuf};
use study::experiment::{Dependencies, Experiment, HarWorkload, Think, WorkloadKind};

/// Reads the recording at `path` as `workload` wants it.
pub(crate) fn read(path: &Path, workload: &HarWorkload) -> Result<Recording, CliError> {
    let name = path.display();
    let file = regular::read(&site::file_of(path), LONGEST_RECORDING)
        .map_err(|error| error::file(format!("reading {name}"), &error))?;
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
            HarError::Version { .. } => "record the site again, or use the wirelap that has recorded it",
            HarError::Entry { .. } => "mend or take out that entry, or save the recording again",
            _ => "record the page with the Network panel open from before its load begins",
        };
        CliError::misuse(format!("{name}: {error}")).remedy(remedy)
    })
}

/// What was read from the recorded pages of `experiment`, and what they needed assuming; `place` tells where a file is that a
/// workload names.
pub(crate) fn assumptions(
    experiment: &Experiment,
    place: impl Fn(&str) -> PathBuf,
) -> Vec<Assumptions> {
    let mut all = Vec::new();
    for workload in experiment.workloads.iter().filter(|workload| workload.check_of.is_none()) {
        let WorkloadKind::Har(har) = &workload.kind else { continue };
        let name = &har.file;
        all.push(match read(&place(name), har) {
            Ok(recording) => Assumptions {
                read_from: Some(name.clone()),
                sentences: recording.assumptions.sentences(),
            },
            Err(error) => Assumptions {
                read_from: None,
                sentences: vec![format!("what {name} needed assuming is not known: {error}")],
            },
        });
    }
    all
}
