//! A recorded site: a folder with `site.json`, which is a HAR 1.2 with two further members, and the decoded bodies in
//! `bodies/`, each called by its SHA-256 digest (docs/record.md). So a recording is read by the reader of HARs.

use std::path::{Path, PathBuf};

/// The file that says what was asked for and answered.
pub(crate) const FILE: &str = "site.json";

/// The folder of the bodies.
pub(crate) const BODIES: &str = "bodies";

/// The file of the recording at `path`, which is a HAR file or a site's folder.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(FILE),
        false => path.to_owned(),
    }
}

/// The site's folder of which `path` is the folder or the file; None where it is another file.
pub(crate) fn folder_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return path.join(FILE).is_file().then(|| path.to_owned());
    }
    let is_site = path.file_name().is_some_and(|name| name == FILE);
    let folder = path.parent().filter(|_| is_site && path.is_file())?;
    Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() })
}

/// What a site is called: its folder's name.
pub(crate) fn name_of(folder: &Path) -> String {
    let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "site".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_known_by_its_folder_and_by_its_file() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("shop");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(folder_of(&folder), None);
        let file = folder.join(FILE);
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(folder_of(&folder).as_deref(), Some(folder.as_path()));
        assert_eq!(folder_of(&file).as_deref(), Some(folder.as_path()));
        assert_eq!((file_of(&folder), name_of(&folder.join("."))), (file, "shop".to_owned()));
        let other = above.path().join("page.har");
        std::fs::write(&other, "{}").unwrap();
        assert_eq!(folder_of(&other), None);
    }
}
