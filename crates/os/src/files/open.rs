//! Opening below a directory: by openat2 where the kernel has it (5.6), otherwise one path component after another.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// O_NONBLOCK: opening a FIFO must not wait for its writer.
const FLAGS: libc::c_int = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;

/// How often a lookup is begun that renames are in the way of.
const ATTEMPTS: usize = 100;

/// Opens `path` below `directory` for reading. A path that leads out of it is an error.
pub(super) fn below(directory: &OwnedFd, path: &str) -> io::Result<OwnedFd> {
    // openat2(2): EAGAIN where something on the machine was renamed or mounted during a step to `..`, as links have it.
    let raced = |opened: &io::Result<OwnedFd>| matches!(opened, Err(error) if error.raw_os_error() == Some(libc::EAGAIN));
    let mut opened = with_openat2(directory.as_fd(), path);
    for _ in 1..ATTEMPTS {
        if !raced(&opened) {
            break;
        }
        opened = with_openat2(directory.as_fd(), path);
    }
    match opened {
        // ENOSYS: an old kernel. EPERM: a container's seccomp filter that does not know the call.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            part_by_part(directory.as_fd(), path)
        }
        other => other,
    }
}

fn with_openat2(directory: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let path = c_path(if path.is_empty() { "." } else { path })?;
    // SAFETY: open_how is plain integers, for which all zeros is a value.
    let mut how: libc::open_how = unsafe { mem::zeroed() };
    how.flags = FLAGS as u64;
    // The kernel follows a symbolic link if every step of it stays below the directory.
    how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the path and `how` live through the call, and the size is that of `how`.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            directory.as_raw_fd(),
            path.as_ptr(),
            &raw const how,
            mem::size_of_val(&how),
        )
    };
    owned(fd as libc::c_int)
}

/// Reads up to `most` bytes from `offset` into the spare capacity of the buffer, which need not be zeroed first.
pub(super) fn read_into_spare(
    file: &File,
    buffer: &mut Vec<u8>,
    offset: u64,
    most: usize,
) -> io::Result<usize> {
    let offset = i64::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let spare = buffer.spare_capacity_mut();
    let length = spare.len().min(most);
    // SAFETY: the kernel writes at most `length` bytes into the spare capacity, which is no shorter.
    let count = unsafe { libc::pread(file.as_raw_fd(), spare.as_mut_ptr().cast(), length, offset) };
    let count = usize::try_from(count).map_err(|_negative| io::Error::last_os_error())?;
    // SAFETY: the kernel has written so many bytes after the old length, within the capacity.
    unsafe { buffer.set_len(buffer.len() + count) };
    Ok(count)
}

/// The same without openat2. Each component is opened below the one before. None may be `..` or a symbolic link,
/// because checking a link's target would be a race.
pub(super) fn part_by_part(directory: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    let mut current = open_part(directory, ".", libc::O_DIRECTORY)?;
    while let Some(part) = parts.next() {
        if part == ".." {
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        let kind = if parts.peek().is_some() { libc::O_DIRECTORY } else { 0 };
        current = open_part(current.as_fd(), part, kind)?;
    }
    Ok(current)
}

fn open_part(directory: BorrowedFd<'_>, part: &str, kind: libc::c_int) -> io::Result<OwnedFd> {
    let part = c_path(part)?;
    let flags = FLAGS | libc::O_NOFOLLOW | kind;
    // SAFETY: the path lives through the call.
    let fd = unsafe { libc::openat(directory.as_raw_fd(), part.as_ptr(), flags) };
    owned(fd)
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave this descriptor, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn c_path(path: &str) -> io::Result<CString> {
    CString::new(path).map_err(|_nul| io::Error::from_raw_os_error(libc::ENOENT))
}
