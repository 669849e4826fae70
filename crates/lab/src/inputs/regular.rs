//! Reads a file of the user's whole, where that can come to an end: a regular file of a stated size at most. A FIFO
//! would be waited for, and a device such as `/dev/zero` has no end.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Recordings: with the bodies in them, large pages have some hundred megabytes.
pub(crate) const LONGEST_RECORDING: u64 = 512 << 20;

/// Whatever people write by hand, and traces of links.
pub(crate) const LONGEST_TEXT: u64 = 64 << 20;

/// The bytes of the file at `path`, which has at most `limit`.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Before it is opened: opening a FIFO waits for its other end.
    let facts = std::fs::metadata(path)?;
    if facts.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !facts.is_file() {
        let what = "it is a device, a socket or a FIFO, and no regular file";
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what = format!("it has more than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// The text of such a file.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Line and column, both from 1, of what follows `before`.
pub(crate) fn position(before: &str) -> (usize, usize) {
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_the_limit_holds() {
        let kind = |path: &str| read(Path::new(path), 9).unwrap_err().kind();
        assert_eq!(kind("/dev/zero"), ErrorKind::InvalidInput);
        assert_eq!(kind("/"), ErrorKind::IsADirectory);
        assert_eq!(kind("/no/such/file"), ErrorKind::NotFound);
        // /proc has regular files that say they are empty.
        assert_eq!(kind("/proc/self/status"), ErrorKind::FileTooLarge);
        assert!(read(Path::new("/proc/self/status"), LONGEST_TEXT).unwrap().len() > 9);
    }
}
