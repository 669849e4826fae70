//! Files that are written whole or not at all. The one rule: nothing is written through a symbolic link. A folder that
//! somebody else packed may hold a link under any name that we write, and its target may be any file of the user's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new file in the folder of the one that it is to replace. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    /// Whether it still has its temporary name.
    is_temporary: bool,
}

/// Replaces the file at `path`, or makes it. A symbolic link at `path` is replaced, and its target stays as it is. After
/// an error the file at `path` is as it was before.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = NewFile::beside(path)?;
    new.file().write_all(bytes)?;
    new.replace(path)
}

/// Writes the file that the user named. A symbolic link or a device, such as `/dev/stdout`, is the user's choice and is
/// written to. All else is replaced.
pub fn write_named(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_file() => fs::write(path, bytes),
        _ => replace(path, bytes),
    }
}

/// Whether [`write_named`] could write there now. It changes nothing.
pub fn check_named(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => match fs::symlink_metadata(path) {
            Ok(facts) if !facts.is_file() => Ok(()),
            _ => NewFile::beside(path).map(drop),
        },
    }
}

impl NewFile {
    /// Makes an empty file with a name of its own in the folder of `path`. O_EXCL refuses whatever is there already,
    /// symbolic links too (open(2)).
    pub fn beside(path: &Path) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".wirelap-{}-{number}.part", std::process::id());
            let new = path.with_file_name(name);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&new) {
                Ok(file) => return Ok(Self { file, path: new, is_temporary: true }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The file, open for reading and writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it the name `path`, in place of what has that name.
    pub fn replace(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_temporary = false;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.is_temporary {
            // It may be gone with its folder.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            Self(TempDir::with_prefix("wirelap-test-").unwrap())
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.path()).unwrap().map(Result::unwrap);
            let mut names: Vec<_> =
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort_unstable();
            names
        }
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let folder = Folder::new();
        let (target, page) = (folder.path().join("target"), folder.path().join("page"));
        fs::write(&target, "the user's own").unwrap();
        symlink(&target, &page).unwrap();
        replace(&page, b"a page").unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "a page");
        assert_eq!(fs::read_to_string(&target).unwrap(), "the user's own");
        assert_eq!(folder.names(), ["page", "target"]);
    }

    #[test]
    fn a_link_under_a_temporary_name_is_passed_over() {
        let folder = Folder::new();
        let (target, page) = (folder.path().join("target"), folder.path().join("page"));
        fs::write(&target, "the user's own").unwrap();
        // Other tests take numbers meanwhile.
        for number in 0..100 {
            let name = format!(".wirelap-{}-{number}.part", std::process::id());
            symlink(&target, folder.path().join(name)).unwrap();
        }
        replace(&page, b"a page").unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "a page");
        assert_eq!(fs::read_to_string(&target).unwrap(), "the user's own");
        assert!(fs::symlink_metadata(&page).unwrap().is_file());
        assert_eq!(folder.names().len(), 102);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_stays_and_nothing_is_left_beside_it() {
        let folder = Folder::new();
        let page = folder.path().join("page");
        fs::create_dir(&page).unwrap();
        assert!(replace(&page, b"a page").is_err());
        assert_eq!(folder.names(), ["page"]);
    }

    #[test]
    fn a_link_that_the_user_names_is_followed() {
        let folder = Folder::new();
        let (target, page) = (folder.path().join("target"), folder.path().join("page"));
        symlink(&target, &page).unwrap();
        write_named(&page, b"a page").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "a page");
        assert!(fs::symlink_metadata(&page).unwrap().is_symlink());
    }
}
