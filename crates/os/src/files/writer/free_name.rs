//! Gives a file a name that nothing else has. The one rule: the kernel looks and names in one step. A look before would
//! miss a file that comes in between.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Renames `from` to `to`. Fails with `AlreadyExists` where anything has that name, also a link that leads nowhere.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match rename_by_flag(from, to) {
        // EINVAL: a file system that does not know the flag (NFS, some of FUSE). EPERM: a container's seccomp filter that
        // does not know the call.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EPERM)) =>
        {
            rename_by_link(from, to)
        }
        done => done,
    }
}

fn rename_by_flag(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (terminated(from)?, terminated(to)?);
    // By its number: musl has no function for it.
    // SAFETY: two strings that end with a NUL byte.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// link(2) never replaces. Between its two steps the file has both names.
fn rename_by_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

fn terminated(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    #[test]
    fn a_free_name_is_given_and_a_taken_one_is_not() {
        for rename in [rename, rename_by_flag, rename_by_link] {
            let folder = TempDir::with_prefix("wirelap-test-").unwrap();
            let [part, file, link] = ["part", "file", "link"].map(|name| folder.path().join(name));
            symlink("nowhere", &link).unwrap();
            for name in [&file, &link] {
                fs::write(&part, "new").unwrap();
                let again = rename(&part, name);
                assert_eq!(again.is_ok(), name == &file);
                assert_eq!(part.exists(), again.is_err());
            }
            let refused = rename(&part, &file).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        }
    }
}
