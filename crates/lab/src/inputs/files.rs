//! The files that an experiment reads: which they are, and what they are called in a run's folder, which is
//! whole by itself. Recorded pages, links' trace files, delivery policies.

use crate::error::CliError;
use crate::inputs::policy::PolicyText;
use crate::inputs::requests;
use crate::inputs::site;
use link::{trace_files, with_trace_files};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use study::experiment::{Experiment, HarWorkload, WorkloadKind};

/// Takes the files that an experiment's file names as standing beside it, in `folder`.
pub(crate) fn rebase(experiment: &mut Experiment, folder: &Path) {
    let beside = |file: &str| folder.join(file).to_string_lossy().into_owned();
    for workload in &mut experiment.workloads {
        if let WorkloadKind::Har(har) = &mut workload.kind {
            har.file = beside(&har.file);
        }
    }
    requests::rebase(experiment, folder);
    for file in policy_files(experiment) {
        *file = beside(file);
    }
    for link in &mut experiment.links {
        if trace_files(link.text()).next().is_some() {
            link.figures = Some(with_trace_files(link.text(), beside));
        }
    }
}

/// Every file to copy into the run's folder, with its name there; the experiment names them so afterwards.
/// Recorded pages are checked to be such.
pub(crate) fn gather(experiment: &mut Experiment) -> Result<Vec<(PathBuf, String)>, CliError> {
    let mut files = Vec::new();
    for workload in &mut experiment.workloads {
        let WorkloadKind::Har(har) = &mut workload.kind else { continue };
        let path = PathBuf::from(&har.file);
        if let Some(folder) = site::folder_of(&path) {
            har.file = gather_site(&mut files, &folder, har)?;
            continue;
        }
        if !files.iter().any(|(known, _)| *known == path) {
            crate::inputs::har::read(&path, har)?;
        }
        har.file = call(&mut files, &har.file)?;
    }
    requests::gather(experiment, |file| call(&mut files, file))?;
    for file in policy_files(experiment) {
        PolicyText::of_file(Path::new(file))?.read()?;
        *file = call(&mut files, file)?;
    }
    for link in &mut experiment.links {
        let named: Vec<String> = trace_files(link.text()).map(str::to_owned).collect();
        for file in &named {
            call(&mut files, file)?;
        }
        if !named.is_empty() {
            link.figures = Some(with_trace_files(link.text(), base_name));
        }
    }
    Ok(files)
}

/// Notes the files of a recorded site, and gives the name of its first one in the run's folder. A body that is missing
/// is missed by browsers alone, and then counted.
fn gather_site(
    files: &mut Vec<(PathBuf, String)>,
    folder: &Path,
    har: &HarWorkload,
) -> Result<String, CliError> {
    let name = site::name_of(folder);
    let (file, called) = (folder.join(site::FILE), format!("{name}/{}", site::FILE));
    if files.iter().any(|(known, _)| *known == file) {
        return Ok(called);
    }
    if files.iter().any(|(_, other)| *other == called) {
        return Err(CliError::misuse(format!("two sites of the experiment are called {name}"))
            .remedy("rename one of them"));
    }
    let recording = crate::inputs::har::read(&file, har)?;
    files.push((file, called.clone()));
    let bodies = recording.page.resources().iter();
    let bodies: BTreeSet<&str> = bodies.filter_map(|one| one.answered.file.as_deref()).collect();
    for body in bodies {
        let path = folder.join(site::BODIES).join(body);
        if path.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
            files.push((path, format!("{name}/{}/{body}", site::BODIES)));
        }
    }
    Ok(called)
}

/// The policy files that contenders name.
fn policy_files(experiment: &mut Experiment) -> impl Iterator<Item = &mut String> {
    let choices = experiment.contenders.iter_mut().map(|one| &mut one.settings.policy);
    choices.filter_map(|choice| choice.as_mut()?.file_mut())
}

/// Notes a file, once, and gives its name in the run's folder.
fn call(files: &mut Vec<(PathBuf, String)>, file: &str) -> Result<String, CliError> {
    let (path, called) = (PathBuf::from(file), base_name(file));
    if !files.iter().any(|(known, _)| *known == path) {
        if files.iter().any(|(_, other)| *other == called) {
            return Err(CliError::misuse(format!(
                "two files of the experiment are called {called}"
            ))
            .remedy("rename one of them"));
        }
        files.push((path, called.clone()));
    }
    Ok(called)
}

fn base_name(file: &str) -> String {
    Path::new(file).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_of_one_name_are_refused_and_one_file_named_twice_is_not() {
        let mut files = Vec::new();
        assert_eq!(call(&mut files, "a/lte.up").unwrap(), "lte.up");
        assert_eq!(call(&mut files, "a/lte.up").unwrap(), "lte.up");
        assert_eq!(files.len(), 1);
        assert!(call(&mut files, "b/lte.up").unwrap_err().to_string().contains("rename one"));
    }
}
