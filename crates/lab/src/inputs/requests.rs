//! The requests of an experiment's own: read from the file that the experiment names, and checked, before anything runs.
//! In a run they stand in the experiment itself, and the files of their bodies in the run's folder.

use crate::error::{self, CliError};
use std::path::Path;
use study::experiment::{
    Experiment, OwnRequests, RequestSource, RunningService, Server, WorkloadKind,
};
use study::requests::{Request, RequestFile};

/// Takes the files that requests and services name as standing beside the experiment's file, in `folder`.
pub(super) fn rebase(experiment: &mut Experiment, folder: &Path) {
    for service in services(experiment) {
        if let Some(ca) = &mut service.ca {
            *ca = folder.join(&*ca).to_string_lossy().into_owned();
        }
    }
    for requests in own_requests(experiment) {
        match &mut requests.from {
            RequestSource::File(file) => {
                *file = folder.join(&*file).to_string_lossy().into_owned();
            }
            RequestSource::List(list) => list.iter_mut().for_each(|one| join(one, folder)),
        }
    }
}

/// Reads the files of requests; every file that is left is one to copy, which `call` notes and names.
pub(super) fn gather(
    experiment: &mut Experiment,
    mut call: impl FnMut(&str) -> Result<String, CliError>,
) -> Result<(), CliError> {
    for requests in own_requests(experiment) {
        if let RequestSource::File(file) = &requests.from {
            requests.from = RequestSource::List(read(Path::new(file))?);
        }
        let RequestSource::List(list) = &mut requests.from else { continue };
        for file in list.iter_mut().filter_map(|request| request.body_file.as_mut()) {
            *file = readable(file).and_then(|name| call(&name))?.into();
        }
    }
    for service in services(experiment) {
        if let Some(ca) = &mut service.ca {
            *ca = readable(Path::new(ca)).and_then(|name| call(&name))?;
        }
    }
    Ok(())
}

/// The requests of a file; those that name a file for their body name it from here.
pub(crate) fn read(file: &Path) -> Result<Vec<Request>, CliError> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| error::file(format!("reading the requests {name}"), &error))?;
    let wrong = |words: String| CliError::misuse(format!("{name}: {words}"));
    let mut requests = text.parse::<RequestFile>().map_err(wrong)?.requests;
    for request in &mut requests {
        request.check_for_race().map_err(wrong)?;
        join(request, file.parent().unwrap_or(Path::new("")));
    }
    Ok(requests)
}

fn join(request: &mut Request, folder: &Path) {
    if let Some(file) = &mut request.body_file {
        *file = folder.join(&*file);
    }
}

/// The file's name, where the file can be read: a missing one is reported before anything runs.
fn readable(file: &Path) -> Result<String, CliError> {
    let opened = std::fs::File::open(file).and_then(|file| file.metadata());
    match opened {
        Ok(facts) if facts.is_file() => Ok(file.to_string_lossy().into_owned()),
        Ok(_) => Err(CliError::misuse(format!("{} is no file", file.display()))),
        Err(error) => Err(error::file(format!("reading {}", file.display()), &error)),
    }
}

fn own_requests(experiment: &mut Experiment) -> impl Iterator<Item = &mut OwnRequests> {
    experiment.workloads.iter_mut().filter_map(|workload| match &mut workload.kind {
        WorkloadKind::Calls(calls) => calls.requests.as_mut(),
        _ => None,
    })
}

fn services(experiment: &mut Experiment) -> impl Iterator<Item = &mut RunningService> {
    let servers = experiment.contenders.iter_mut().map(|contender| &mut contender.server);
    servers.chain(&mut experiment.server).filter_map(|server| match server {
        Server::Running(service) => Some(service),
        Server::Named(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_and_a_wrong_request_are_told_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("bodies")).unwrap();
        let file = folder.join("shop.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            super::read(&file)
        };
        let requests = read("[[request]]\npath = \"/o\"\nbody_file = \"bodies/o.json\"").unwrap();
        assert_eq!(requests[0].body_file, Some(folder.join("bodies/o.json")));
        let error = read("[[request]]\npath = \"o\"").unwrap_err().to_string();
        assert!(error.contains("shop.toml") && error.contains("no path"), "{error}");
        let error = readable(&folder.join("bodies/o.json")).unwrap_err().to_string();
        assert!(error.contains("o.json"), "{error}");
        assert!(readable(folder).unwrap_err().to_string().contains("is no file"));
    }
}
