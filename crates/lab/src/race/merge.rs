//! The folders of shards, read as every run's folder is, and made one run's folder.

use crate::error::{self, CliError};
use crate::inputs::regular::{self, LONGEST_TEXT};
use crate::inputs::{servers, subjects};
use crate::race::planned::plan;
use crate::race::run_folder::{Lock, RunFolder};
use crate::race::store::{Rows, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use study::experiment::Experiment;
use study::merge::{MergeError, Merged, ShardRows, Terms, check_one_run, merge};
use study::record::RunHeader;
use subject::ClientDeclaration;

/// The folder of one shard, which nobody writes to meanwhile.
struct ShardFolder {
    folder: RunFolder,
    name: String,
    header: RunHeader,
    rows: Rows,
    _lock: Lock,
}

/// Shards that were found to make one run.
pub(crate) struct ReadShards {
    shards: Vec<ShardFolder>,
    merged: Merged,
}

impl ReadShards {
    /// Reads the shards in `dirs`, each the folder of one or the folder that several share.
    pub(crate) fn read(dirs: &[PathBuf], terms: Terms) -> Result<Self, CliError> {
        let mut shards = Vec::new();
        let mut seen = BTreeSet::new();
        for dir in dirs {
            for folder in expand(dir)? {
                // Each is locked while it is read.
                if folder.canonicalize().is_ok_and(|place| !seen.insert(place)) {
                    return Err(CliError::misuse(format!("{} is named twice", folder.display()))
                        .remedy("name each shard once"));
                }
                shards.push(ShardFolder::read(&folder)?);
            }
        }
        let Some(first) = shards.first() else {
            return Err(CliError::misuse(MergeError::Nothing));
        };
        let inputs = first.folder.inputs();
        let of_all: Vec<ShardRows<'_>> = shards.iter().map(ShardFolder::rows).collect();
        // Before what is missing: to run that would take hours, and not help.
        check_one_run(&of_all).map_err(with_remedy)?;
        check_inputs(&shards)?;
        let planned = plan(&first.header.experiment, |name| inputs.join(name))?;
        let merged = merge(&of_all, &planned.trials, terms).map_err(with_remedy)?;
        Ok(Self { shards, merged })
    }

    /// The experiment of all of them.
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.merged.header.experiment
    }

    /// Writes the run into `folder`, with the files that its shards read and kept.
    pub(crate) fn write(
        self,
        folder: &RunFolder,
        change: impl FnOnce(&mut RunHeader),
    ) -> Result<(RunHeader, Rows), CliError> {
        let Merged { mut header, rows } = self.merged;
        change(&mut header);
        if let Some(first) = self.shards.first() {
            copy_tree(&first.folder.inputs(), &folder.inputs())?;
        }
        for shard in &self.shards {
            let kept: [fn(&RunFolder) -> PathBuf; 4] =
                [RunFolder::captures, RunFolder::qlogs, RunFolder::films, RunFolder::profiles];
            for kept in kept {
                copy_tree(&kept(&shard.folder), &kept(folder))?;
            }
        }
        let mut store = Store::create(&folder.rows(), &header)?;
        rows.iter().try_for_each(|row| store.put(row))?;
        Ok((header, store.records()?))
    }
}

impl ShardFolder {
    fn read(path: &Path) -> Result<Self, CliError> {
        let folder = RunFolder::open(path);
        folder.check_contents()?;
        let store = Store::open(&folder.rows())?;
        let lock = folder.lock()?;
        let (header, rows) = (store.header()?, store.records()?);
        if let Some(damaged) = rows.damaged.first() {
            let resume = format!("wirelap race --resume {}", error::quoted(path));
            return Err(CliError::misuse(format!("a row is damaged: {damaged}"))
                .remedy(format!("run what is damaged again: {resume}")));
        }
        Ok(Self { name: path.display().to_string(), folder, header, rows, _lock: lock })
    }

    fn rows(&self) -> ShardRows<'_> {
        ShardRows { name: &self.name, header: &self.header, rows: &self.rows.records }
    }
}

/// A shard's own folder, or the shards' folders in the one that they share.
fn expand(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    if dir.join("rows.sqlite").exists() || !dir.is_dir() {
        return Ok(vec![dir.to_owned()]);
    }
    let unreadable = |error| error::file(format!("reading {}", dir.display()), &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.join("rows.sqlite").exists() && !is_beginning(&path) {
            found.push(path);
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(CliError::misuse(format!("{} holds no shard", dir.display())).remedy(
            "name the folders that `wirelap race --shard` made, or the one that they are in",
        )),
        false => Ok(found),
    }
}

/// Whether it is what a shard left that was killed before it began.
fn is_beginning(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".new-"))
}

/// Whether all shards read the same files.
fn check_inputs(shards: &[ShardFolder]) -> Result<(), CliError> {
    let Some((first, others)) = shards.split_first() else { return Ok(()) };
    let files = files_below(&first.folder.inputs(), Path::new(""))?;
    for other in others {
        let its = files_below(&other.folder.inputs(), Path::new(""))?;
        let mut names = files.keys().chain(its.keys());
        if let Some(name) = names.find(|name| !are_same(name, files.get(*name), its.get(*name))) {
            return Err(CliError::misuse(format!(
                "{} and {} are not shards of one run: their files {} differ",
                first.name,
                other.name,
                name.display()
            )));
        }
    }
    Ok(())
}

/// Whether two shards have the same file of this name. Where the experiment's folder was does not count: each machine has its own.
fn are_same(name: &Path, a: Option<&Vec<u8>>, b: Option<&Vec<u8>>) -> bool {
    if a == b {
        return true;
    }
    let text = |bytes: Option<&Vec<u8>>| String::from_utf8(bytes?.clone()).ok();
    let (Some(a), Some(b)) = (text(a), text(b)) else { return false };
    match name.parent() {
        _ if name == Path::new(servers::KEPT) => {
            let declared = servers::without_folders(&a);
            declared.is_some() && declared == servers::without_folders(&b)
        }
        Some(folder) if folder == Path::new(subjects::FOLDER) => {
            let declared = ClientDeclaration::without_folder(&a);
            declared.is_some() && declared == ClientDeclaration::without_folder(&b)
        }
        _ => false,
    }
}

/// Every file below a folder of inputs, by its name there.
fn files_below(folder: &Path, inside: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, CliError> {
    let mut files = BTreeMap::new();
    for (path, inside) in entries(folder, inside)? {
        let failed =
            |error: std::io::Error| error::file(format!("reading {}", path.display()), &error);
        match fs::symlink_metadata(&path).map_err(failed)?.is_dir() {
            true => files.extend(files_below(&path, &inside)?),
            false => {
                drop(files.insert(inside, regular::read(&path, LONGEST_TEXT).map_err(failed)?))
            }
        }
    }
    Ok(files)
}

/// Copies the files below `from` to `into`, where they are not there yet. Symbolic links are left out.
fn copy_tree(from: &Path, into: &Path) -> Result<(), CliError> {
    if !from.is_dir() {
        return Ok(());
    }
    let failed = |error: std::io::Error| error::file(format!("copying {}", from.display()), &error);
    fs::create_dir_all(into).map_err(failed)?;
    for (path, name) in entries(from, Path::new(""))? {
        let (kind, target) = (fs::symlink_metadata(&path).map_err(failed)?, into.join(name));
        if kind.is_dir() {
            copy_tree(&path, &target)?;
        } else if kind.is_file() && !target.exists() {
            fs::copy(&path, &target).map_err(failed)?;
        }
    }
    Ok(())
}

/// What is in a folder: where it is, and its name below `inside`.
fn entries(folder: &Path, inside: &Path) -> Result<Vec<(PathBuf, PathBuf)>, CliError> {
    let failed = |error| error::file(format!("reading {}", folder.display()), &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        found.push((entry.path(), inside.join(entry.file_name())));
    }
    Ok(found)
}

fn with_remedy(error: MergeError) -> CliError {
    let remedy = match &error {
        MergeError::Nothing | MergeError::NotAShard { .. } => {
            "name the folders that `wirelap race --shard` made, or the one that they are in"
                .to_owned()
        }
        MergeError::Twice { .. } => "name each shard once".to_owned(),
        MergeError::Unlike { .. } | MergeError::NotPlanned { .. } => {
            "merge the shards of one command, all run by one build of wirelap".to_owned()
        }
        MergeError::TwoMachines { name, .. } => again(name),
        MergeError::Bad { name, .. } => format!(
            "delete {name} and run that shard again, on another machine; or merge it all the same: --keep-bad"
        ),
        MergeError::Missing { trials, .. } => {
            let resume = trials.first().map(|(folder, _)| again(folder));
            let resume = resume.map_or_else(String::new, |resume| format!("{resume}\n"));
            format!("{resume}run what is missing, or judge what is there: --partial")
        }
    };
    CliError::misuse(error).remedy(remedy)
}

/// How a shard's missing trials are run.
fn again(name: &str) -> String {
    format!("go on with: wirelap race --resume {}", error::quoted(Path::new(name)))
}
