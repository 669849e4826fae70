//! The servers that contenders may name: those that are part of wirelap and those that the user declares, in files
//! beside the experiment or in folders of their own.

use crate::environment;
use crate::error::{self, CliError};
use crate::inputs::regular::{self, LONGEST_TEXT};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use study::experiment::{Experiment, ORIGIN};
use subject::Lacking;
use subject::server::{ServerDeclaration, builtin_servers};

/// The folder beside an experiment's file in which subjects are looked for.
const BESIDE: &str = "subjects";

/// What a run's folder calls the declarations that are the user's.
pub(crate) const KEPT: &str = "servers.json";

/// Every server that is known, wirelap's own origin not among them.
#[derive(Debug)]
pub(crate) struct Servers {
    /// A later one of a name goes before an earlier one.
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    declaration: ServerDeclaration,
    /// None for one that is part of wirelap.
    source: Option<Source>,
}

/// A declaration of the user's, as a run's folder keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    file: PathBuf,
    text: String,
}

impl Servers {
    /// Those that are part of wirelap.
    pub(crate) fn builtin() -> Self {
        let known = builtin_servers().into_iter();
        Self { known: known.map(|declaration| Known { declaration, source: None }).collect() }
    }

    /// Those that an experiment may name: `beside` is the folder of its file, `folders` are the user's.
    pub(crate) fn of_experiment(
        beside: Option<&Path>,
        folders: &[PathBuf],
    ) -> Result<Self, CliError> {
        let mut servers = Self::builtin();
        let own = beside.map(|folder| folder.join(BESIDE)).filter(|folder| folder.is_dir());
        for folder in own.iter().chain(folders) {
            servers.add_folder(folder)?;
        }
        Ok(servers)
    }

    /// Those that a run names, from its inputs.
    pub(crate) fn of_run(inputs: &Path) -> Result<Self, CliError> {
        let mut servers = Self::builtin();
        let file = inputs.join(KEPT);
        let text = match regular::read_text(&file, LONGEST_TEXT) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(servers),
            Err(error) => {
                return Err(error::file(format!("reading {}", file.display()), &error));
            }
        };
        let sources: Vec<Source> = serde_json::from_str(&text)
            .map_err(|error| CliError::failed(format!("{}: {error}", file.display())))?;
        sources.into_iter().try_for_each(|source| servers.add(source))?;
        Ok(servers)
    }

    /// The server of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&ServerDeclaration> {
        let found = self.known.iter().rev().find(|known| known.declaration.name() == name);
        found.map(|known| &known.declaration)
    }

    /// Every server, by name, each once.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ServerDeclaration> {
        self.known.iter().map(|known| &known.declaration).filter(|declaration| {
            self.named(declaration.name()).is_some_and(|last| std::ptr::eq(last, *declaration))
        })
    }

    /// The declarations of the user's that `experiment` uses; a name that nobody declares is a slip.
    pub(crate) fn used_by(&self, experiment: &Experiment) -> Result<Vec<Source>, CliError> {
        let mut used: Vec<Source> = Vec::new();
        for name in experiment.contenders.iter().filter_map(|one| one.foreign_server()) {
            let found = self.known.iter().rev().find(|known| known.declaration.name() == name);
            let Some(known) = found else { return Err(self.unknown(name)) };
            if let Some(source) = &known.source
                && !used.contains(source)
            {
                used.push(source.clone());
            }
        }
        Ok(used)
    }

    /// The servers of `experiment` that this machine does not have, a sentence each with the command that brings it.
    pub(crate) fn missing(&self, experiment: &Experiment) -> Vec<String> {
        let (folders, peers) = (environment::program_folders(), environment::peers_folder());
        let names: BTreeSet<&str> =
            experiment.contenders.iter().filter_map(|one| one.foreign_server()).collect();
        let declared = names.into_iter().filter_map(|name| self.named(name));
        let absent = declared.filter_map(|server| server.is_here(&folders, &peers).err());
        let sentence = |Lacking { reason, remedy }| {
            let remedy = if remedy.is_empty() { remedy } else { format!(": {remedy}") };
            format!("{reason}, so its trials will be unsupported{remedy}")
        };
        absent.map(sentence).collect()
    }

    fn unknown(&self, name: &str) -> CliError {
        let known: Vec<&str> =
            std::iter::once(ORIGIN).chain(self.all().map(ServerDeclaration::name)).collect();
        let guess = unit::nearest(name, known.iter().copied());
        let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
        CliError::misuse(format!("no server is called `{name}`")).remedy(format!(
            "{guess}known are {}; another one is declared in {BESIDE}/{name}.toml beside the experiment",
            known.join(", ")
        ))
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), CliError> {
        let unreadable = |error: &std::io::Error| {
            error::file(format!("reading the subjects in {}", folder.display()), error)
        };
        let folder = std::path::absolute(folder).map_err(|error| unreadable(&error))?;
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&error))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        files.sort();
        for file in files {
            let text = regular::read_text(&file, LONGEST_TEXT)
                .map_err(|error| error::file(format!("reading {}", file.display()), &error))?;
            if ServerDeclaration::is_meant(&text) {
                self.add(Source { file, text })?;
            }
        }
        Ok(())
    }

    fn add(&mut self, source: Source) -> Result<(), CliError> {
        let home = source.file.parent().unwrap_or(Path::new(""));
        let declaration = ServerDeclaration::read(&source.text, home).map_err(|error| {
            CliError::misuse(format!("{}, {error}", source.file.display()))
                .remedy("what a declaration has is told in docs/servers.md")
        })?;
        self.known.push(Known { declaration, source: Some(source) });
        Ok(())
    }
}

/// What was kept, without the folders of the files: these differ between the machines of one run. None: it is something else.
pub(crate) fn without_folders(kept: &str) -> Option<Vec<(OsString, String)>> {
    let sources: Vec<Source> = serde_json::from_str(kept).ok()?;
    let named = sources.into_iter().map(|Source { file, text }| {
        let name = file.file_name().unwrap_or_default().to_owned();
        (name, text)
    });
    Some(named.collect())
}

/// Keeps the declarations that a run uses in its inputs.
pub(crate) fn keep(sources: &[Source], inputs: &Path) -> Result<(), CliError> {
    if sources.is_empty() {
        return Ok(());
    }
    let file = inputs.join(KEPT);
    let text = serde_json::to_string_pretty(sources).map_err(CliError::failed)?;
    fs::write(&file, text)
        .map_err(|error| error::file(format!("writing {}", file.display()), &error))
}
