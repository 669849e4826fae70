//! A run made again from another run's folder: its experiment with every override, its seeds and its copies of the
//! files, and what is not the same any more.

use crate::console;
use crate::error::{self, CliError};
use crate::inputs::subjects;
use crate::machine;
use crate::race::experiments::Selected;
use crate::race::run_folder::RunFolder;
use crate::race::store::Store;
use std::fs;
use std::path::Path;
use study::experiment::Overrides;
use study::gate::Gates;
use study::record::{HostFacts, RunHeader};

/// The experiment of the run in `dir`. Notes on standard error tell what differs here and now.
/// Gates that are asked for go before the earlier run's, and so does a number of trials.
pub(crate) fn select(dir: &Path, gates: Gates, trials: Option<u32>) -> Result<Selected, CliError> {
    let folder = RunFolder::open(dir);
    folder.check_contents()?;
    let header = Store::open(&folder.rows())?.header()?;
    for difference in differences(&header, &machine::facts()) {
        console::note(&difference);
    }
    // The declarations of the user's servers are among the files.
    let servers = Vec::new();
    let subjects = subjects::of_run(&folder.inputs())?;
    let mut experiment = header.experiment;
    // What was added there is planned here.
    experiment.links.iter_mut().for_each(|link| link.added = 0);
    if trials.is_some() {
        let more = Overrides { trials, ..Overrides::default() };
        experiment = experiment.with(&more).map_err(CliError::misuse)?;
    }
    if !gates.is_empty() {
        experiment.gates = gates;
        study::check_gates(&experiment).map_err(CliError::misuse)?;
    }
    Ok(Selected { experiment, files: inputs(&folder)?, subjects, servers })
}

/// The folder's copies of the files that the experiment reads, by their names there.
fn inputs(folder: &RunFolder) -> Result<Vec<(std::path::PathBuf, String)>, CliError> {
    let path = folder.inputs();
    let unreadable =
        |error: std::io::Error| error::file(format!("reading {}", path.display()), &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // The clients' declarations have a folder of their own, which is read as one.
        if entry.path().is_file() {
            files.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
        }
    }
    files.sort();
    Ok(files)
}

/// What is not as it was: figures of the two runs may differ for it.
fn differences(then: &RunHeader, now: &HostFacts) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let other = (then.version != version)
        .then(|| ("wirelap".to_owned(), then.version.clone(), version.to_owned()));
    let differ = other.into_iter().chain(then.host.differences(now));
    differ.map(|(what, before, now)| format!("{what} was {before}, and is {now} now")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::builtin;
    use study::record::ROWS_SCHEMA;

    #[test]
    fn only_what_differs_is_told_and_never_the_load() {
        let facts = machine::facts();
        let mut then = RunHeader {
            schema: ROWS_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: builtin()[0].toml.parse().unwrap(),
            started_unix_ms: 0,
            host: facts.clone(),
            command_line: Vec::new(),
            shard: None,
            machines: Vec::new(),
            missing: Vec::new(),
        };
        then.host.more.insert(HostFacts::LOAD.to_owned(), "99.0 99.0 99.0".to_owned());
        assert_eq!(differences(&then, &facts), Vec::<String>::new());
        then.host.kernel = "2.6.32".to_owned();
        then.version = "0.0.9".to_owned();
        let told = differences(&then, &facts);
        assert_eq!(told.len(), 2);
        assert!(told[1].starts_with("the kernel was 2.6.32, and is "), "{told:?}");
    }
}
