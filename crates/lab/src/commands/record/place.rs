//! Where a site is put, and where it is written until it is whole. The one rule: that the place can be written to is known
//! before the page is asked for.

use super::archive::Archive;
use super::interrupted;
use crate::error::{self, CliError};
use crate::inputs::site;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The place of a site to come.
pub(super) struct Place {
    folder: PathBuf,
    /// Whether the folder was there, and empty. It stays then: it may be a mount, or somebody's working directory.
    is_taken: bool,
    part: Scratch,
}

impl Place {
    /// Takes a place that holds nothing. An empty folder is the one that a symbolic link leads to: in the link's own place
    /// no folder can be put.
    pub(super) fn of(folder: &Path) -> Result<Self, CliError> {
        let name = folder.display();
        let unwritable = |error| error::file(format!("writing to {name}"), &error);
        let (folder, is_taken) = match fs::read_dir(folder).map(|mut all| all.next().is_none()) {
            Ok(true) => (fs::canonicalize(folder).map_err(unwritable)?, true),
            Ok(false) => {
                return Err(CliError::misuse(format!("{name} is there already, and not empty"))
                    .remedy("name a new folder by -o, or remove that one"));
            }
            Err(_) if fs::symlink_metadata(folder).is_ok_and(|data| data.is_symlink()) => {
                return Err(CliError::misuse(format!(
                    "{name} is a symbolic link that leads to no folder"
                ))
                .remedy("name a new folder by -o, or make the one that it leads to"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (std::path::absolute(folder).map_err(unwritable)?, false)
            }
            Err(error) => return Err(unwritable(error)),
        };
        // The folders between this one and the site's are new, and so on the same file system.
        let there = folder.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
        let part = Scratch::make(there.unwrap_or(&folder), ".wirelap-site", ".part")?;
        Ok(Self { folder, is_taken, part })
    }

    /// Writes the site, and gives it its place when it is whole.
    pub(super) fn keep(
        self,
        archive: &Archive,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), CliError> {
        let bodies = self.part.0.join(site::BODIES);
        fs::create_dir(&bodies).map_err(|error| wrong(&bodies, &error))?;
        for (name, body) in archive.bodies() {
            if is_stopped() {
                return Err(interrupted());
            }
            let file = bodies.join(name);
            os::replace::replace(&file, body).map_err(|error| wrong(&file, &error))?;
        }
        let file = self.part.0.join(site::FILE);
        os::replace::replace(&file, archive.site().as_bytes())
            .map_err(|error| wrong(&file, &error))?;
        self.give().map_err(|error| wrong(&self.folder, &error))
    }

    /// Moves the site to its place. Refuses where that has been filled meanwhile.
    fn give(&self) -> Result<(), Error> {
        let (part, folder) = (&self.part.0, &self.folder);
        if !self.is_taken {
            folder.parent().map_or(Ok(()), fs::create_dir_all)?;
            return fs::rename(part, folder);
        }
        for entry in fs::read_dir(folder)? {
            if entry?.path() != *part {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
        }
        let bodies = folder.join(site::BODIES);
        fs::rename(part.join(site::BODIES), &bodies)?;
        // A folder with this file is a site.
        fs::rename(part.join(site::FILE), folder.join(site::FILE)).inspect_err(|_| {
            let _ = fs::remove_dir_all(&bodies);
        })
    }
}

fn wrong(what: &Path, error: &Error) -> CliError {
    error::file(format!("writing {}", what.display()), error)
}

/// A new folder, which is removed with all that is in it where nobody has moved it away.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes one in the folder `above`, under a name that is free.
    pub(super) fn make(above: &Path, name: &str, end: &str) -> Result<Self, CliError> {
        let process = std::process::id();
        let mut number = 0;
        loop {
            let path = above.join(format!("{name}-{process}-{number}{end}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // An earlier process of this number was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    let what = format!("making the folder {}", path.display());
                    return Err(error::file(what, &error));
                }
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may have got its final name.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};
    use subject::record::RecordedPage;

    fn keep(folder: &Path) -> Result<(), CliError> {
        let archive = Archive::of(&RecordedPage::default(), 0);
        Place::of(folder)?.keep(&archive, &|| false)
    }

    fn refused(folder: &Path) -> String {
        Place::of(folder).map(drop).unwrap_err().to_string()
    }

    fn names(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = all.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_empty_folder_stays_the_one_that_it_was() {
        let above = tempfile::tempdir().unwrap();
        let (folder, link) = (above.path().join("site"), above.path().join("link"));
        symlink("site", &link).unwrap();
        assert!(refused(&link).contains("leads to no folder"), "{}", refused(&link));
        fs::create_dir(&folder).unwrap();
        let before = fs::metadata(&folder).unwrap().ino();
        keep(&link).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().ino(), before);
        assert_eq!(names(&folder), [site::BODIES, site::FILE]);
        assert_eq!(names(above.path()), ["link", "site"]);
        assert!(refused(&folder).contains("not empty"));
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_refused_beforehand() {
        let told = refused(Path::new("/proc/site"));
        assert!(told.contains("making the folder /proc/.wirelap-site-"), "{told}");
    }

    #[test]
    fn nothing_is_left_above_a_site_that_is_not_kept() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("of/mine/site");
        drop(Place::of(&folder).unwrap());
        assert!(names(above.path()).is_empty());
        keep(&folder).unwrap();
        assert_eq!(names(&folder), [site::BODIES, site::FILE]);
        assert_eq!(names(above.path()), ["of"]);
    }

    #[test]
    fn what_fills_a_folder_meanwhile_stays() {
        let above = tempfile::tempdir().unwrap();
        let place = Place::of(above.path()).unwrap();
        fs::write(above.path().join("mine"), "mine").unwrap();
        let archive = Archive::of(&RecordedPage::default(), 0);
        place.keep(&archive, &|| false).unwrap_err();
        assert_eq!(names(above.path()), ["mine"]);
    }

    #[test]
    fn a_folder_that_a_killed_process_has_left_is_passed_over() {
        let above = tempfile::tempdir().unwrap();
        let first = Scratch::make(above.path(), "record", "").unwrap();
        let second = Scratch::make(above.path(), "record", "").unwrap();
        assert_ne!(first.0, second.0);
    }
}
