//! The files of downloads: seeded bytes on disk, the same for every server that serves them and in every trial of
//! a run. The one rule: a file that stands under its name is whole, and its digest is known.

use secure::Sha256;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use unit::Seed;

/// Bytes made or read at a time.
const PIECE: usize = 256 * 1024;

/// A SHA-256.
pub(crate) type Digest = [u8; 32];

/// Where the files are, below the folder that a server serves: `/files/NAME`.
pub(crate) const FOLDER: &str = "files";

/// Makes sure that `folder` serves the file `name` of `bytes`, and gives its digest. Its content follows from its
/// name and its length.
pub(crate) fn lay_out(folder: &Path, name: &str, bytes: u64) -> io::Result<Digest> {
    let (files, digests) = (folder.join(FOLDER), folder.join("sha256"));
    fs::create_dir_all(&files)?;
    fs::create_dir_all(&digests)?;
    let (file, digest) = (files.join(name), digests.join(name));
    let is_whole = fs::metadata(&file).is_ok_and(|facts| facts.len() == bytes);
    if is_whole && let Ok(known) = fs::read(&digest)?.try_into() {
        return Ok(known);
    }
    let part = files.join(format!(".{name}.{}", std::process::id()));
    let made = File::create(&part).and_then(|mut out| {
        let made = write(&mut out, name, bytes)?;
        // Or the disk would still be writing it while a trial writes its own.
        out.sync_all()?;
        // The file's name comes last: where it stands, its digest does.
        fs::write(&digest, made)?;
        fs::rename(&part, &file)?;
        Ok(made)
    });
    made.inspect_err(|_| drop(fs::remove_file(&part)))
}

/// The digest of a file, and how many bytes it has.
pub(crate) fn digest(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = File::open(path)?;
    let mut context = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((context.finish().0, bytes)),
            count => {
                context.update(&piece[..count]);
                bytes += count as u64;
            }
        }
    }
}

/// Writes the content of the file `name` of `bytes`; its digest.
pub(crate) fn write(out: &mut impl Write, name: &str, bytes: u64) -> io::Result<Digest> {
    let mut random = Seed(bytes).child(name).random();
    let mut context = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let count = left.min(PIECE as u64) as usize;
        context.update(&piece[..count]);
        out.write_all(&piece[..count])?;
        left -= count as u64;
    }
    Ok(context.finish().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_once_and_its_digest_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let first = lay_out(folder, "300kB", 300_001).unwrap();
        let path = folder.join(FOLDER).join("300kB");
        assert_eq!(digest(&path).unwrap(), (first, 300_001));
        let made = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(lay_out(folder, "300kB", 300_001).unwrap(), first);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), made);
        assert_ne!(lay_out(folder, "300kB", 300_002).unwrap(), first);
        assert_ne!(lay_out(folder, "other", 300_001).unwrap(), first);
        assert_eq!(fs::read_dir(folder.join(FOLDER)).unwrap().count(), 2, "a part is left");
    }

    #[test]
    fn the_digest_is_sha_256() {
        // FIPS 180-4, the digest of no bytes.
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let empty = lay_out(folder, "empty", 0).unwrap();
        assert_eq!(empty[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    }
}
