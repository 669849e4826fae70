//! Which client subjects a run has, and where what they need is. A run's folder keeps the declarations that its
//! trials use, so that it is whole by itself.

use crate::environment;
use crate::error::{self, CliError};
use std::fs;
use std::path::{Path, PathBuf};
use study::experiment::Experiment;
use subject::{Catalogue, DeclarationError, Places};

/// The folder of declarations, beside an experiment's file and in a run's folder of inputs.
pub(crate) const FOLDER: &str = "subjects";

/// The built-in ones, those of `subjects/` beside the experiment's file, and those of the folders asked for; the
/// later go before the earlier.
pub(crate) fn known(beside: Option<&Path>, asked: &[PathBuf]) -> Result<Catalogue, CliError> {
    let mut catalogue = Catalogue::builtin().map_err(wrong)?;
    let beside = beside.map(|folder| folder.join(FOLDER)).filter(|folder| folder.is_dir());
    for folder in beside.iter().chain(asked) {
        catalogue.add_folder(folder).map_err(wrong)?;
    }
    Ok(catalogue)
}

/// Those of a run's folder of inputs, beside the built-in ones.
pub(crate) fn of_run(inputs: &Path) -> Result<Catalogue, CliError> {
    known(Some(inputs), &[])
}

/// Refuses an experiment that names a client which is nowhere declared.
pub(crate) fn check(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), CliError> {
    for contender in &experiment.contenders {
        let Some(client) = &contender.client else { continue };
        if catalogue.client(&client.name).is_none() {
            let known: Vec<&str> = catalogue.clients().map(|known| known.name.as_str()).collect();
            let guess = unit::nearest(&client.name, known.iter().copied());
            let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
            let message = format!("{}: no client `{}` is declared", contender.name, client.name);
            return Err(CliError::misuse(message).remedy(format!(
                "{guess}declared: {}; others by a file subjects/{}.toml beside the experiment, or --subjects DIR",
                known.join(", "),
                client.name
            )));
        }
    }
    Ok(())
}

/// Writes the declarations that `experiment` uses into a run's folder of inputs.
pub(crate) fn keep(
    experiment: &Experiment,
    catalogue: &Catalogue,
    inputs: &Path,
) -> Result<(), CliError> {
    let folder = inputs.join(FOLDER);
    let used = experiment.contenders.iter().filter_map(|contender| contender.client.as_ref());
    for client in used.filter_map(|client| catalogue.client(&client.name)) {
        let file = folder.join(format!("{}.toml", client.name));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&file, client.to_toml()))
            .map_err(|error| error::file(format!("writing {}", file.display()), &error))?;
    }
    Ok(())
}

/// Where the words of declarations lead on this machine.
pub(crate) fn places() -> Result<Places, CliError> {
    let wirelap = std::env::current_exe()
        .map_err(|error| CliError::failed(format!("finding this program's own file: {error}")))?;
    Ok(Places {
        wirelap,
        peers: environment::peers_folder(),
        programs: environment::program_folders(),
    })
}

fn wrong(wrong: DeclarationError) -> CliError {
    match &wrong {
        DeclarationError::Unreadable { path, source }
            if source.kind() == std::io::ErrorKind::InvalidData =>
        {
            error::file(format!("reading {}", path.display()), source)
        }
        DeclarationError::Unreadable { .. } => {
            CliError::misuse(wrong).remedy("name a folder of declarations that you may read")
        }
        DeclarationError::Wrong { .. } => {
            CliError::misuse(wrong).remedy("docs/subjects.md tells how a subject is declared")
        }
    }
}
