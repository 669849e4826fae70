//! Programs on this machine. The one rule: what is found can be started.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The path of a program: the first match in `folders`. A name with a slash is relative to `home`.
pub(crate) fn find(program: &str, home: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(home.join(program)).filter(|path| is_program(path));
    }
    folders.iter().map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
