//! The progress file of a part: which bytes of the part are written, and the caller's own lines about its source. The
//! one rule: it never lists a byte that a later run would not find.
//!
//! It is updated in place, after the writes that it lists. The kernel keeps what a killed process has written, so the
//! file is right until the machine restarts. After a restart only synced bytes count. A progress file that cannot be read
//! is ignored.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use unit::Ranges;

/// The first line. Files of another version are not read.
const FIRST: &str = "wirelap-part 1";

/// Longer ones are not ours.
const LONGEST: u64 = 1 << 20;

/// What an earlier run has left of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Which bytes are there.
    pub ranges: Ranges,
    /// The lines of who wrote it.
    pub label: String,
}

/// Why what is left of an earlier download cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// There is nothing.
    Nothing,
    /// The progress file is missing, or cannot be read.
    NoProgress,
    /// The machine has restarted, and the last writes may be lost.
    Restarted,
}

/// What is left of an earlier download to `target`.
pub fn inspect(target: &Path) -> Result<Leftover, Unusable> {
    let is_file = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let part = is_file(&part_path(target)).ok_or(Unusable::Nothing)?;
    let path = progress_path(target);
    let readable = is_file(&path).is_some_and(|file| file.len() <= LONGEST);
    if part.len() == 0 {
        return Err(Unusable::Nothing);
    }
    if !readable {
        return Err(Unusable::NoProgress);
    }
    let text = fs::read_to_string(path).map_err(|_| Unusable::NoProgress)?;
    let leftover = parse(&text, &boot())?;
    match leftover.ranges.end() <= part.len() {
        true => Ok(leftover),
        false => Err(Unusable::NoProgress),
    }
}

/// Removes the part of `target`, which the caller has locked.
pub(super) fn discard(target: &Path) {
    // A file that does not exist need not be removed.
    let _ = fs::remove_file(progress_path(target));
    let _ = fs::remove_file(part_path(target));
}

/// Makes the file with the final name the partial file: resumes another program's download.
pub fn take_over(target: &Path) -> io::Result<()> {
    fs::rename(target, part_path(target))
}

/// Where the bytes are until the file is whole.
pub(super) fn part_path(target: &Path) -> PathBuf {
    sibling(target, "part")
}

/// Where the progress is saved.
pub(super) fn progress_path(target: &Path) -> PathBuf {
    sibling(target, "note")
}

/// `.NAME.wirelap-WORD`, cut where the name would be too long for the file system.
fn sibling(target: &Path, word: &str) -> PathBuf {
    const NAME_MAX: usize = 255;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let longest = NAME_MAX - ".".len() - ".wirelap-".len() - word.len();
    let mut kept = name.len().min(longest);
    while !name.is_char_boundary(kept) {
        kept -= 1;
    }
    target.with_file_name(format!(".{}.wirelap-{word}", &name[..kept]))
}

/// How safe what was written is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It survives the end of the process, but not a restart of the machine.
    Written,
    /// It is on the disk.
    Synced,
}

/// The progress file of one part, open.
#[derive(Debug)]
pub(super) struct ProgressFile {
    file: File,
    boot: String,
    length: usize,
}

impl ProgressFile {
    pub(super) fn create(target: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            // The earlier text stays valid until it is overwritten.
            .truncate(false)
            .custom_flags(libc::O_NOFOLLOW)
            .open(progress_path(target))?;
        let length = file.metadata()?.len().min(LONGEST) as usize;
        Ok(Self { file, boot: boot(), length })
    }

    pub(super) fn write(
        &mut self,
        ranges: &Ranges,
        label: &str,
        durability: Durability,
    ) -> io::Result<()> {
        let synced = if durability == Durability::Synced { "yes" } else { "no" };
        let mut text = format!(
            "{FIRST}\nboot {}\nsynced {synced}\nranges {ranges}\n{label}\nend\n",
            self.boot
        );
        // One call overwrites the whole text. A shorter text is padded, which avoids a second call to truncate the
        // file.
        let padding = self.length.saturating_sub(text.len());
        text.extend(std::iter::repeat_n('\n', padding));
        self.length = text.len();
        self.file.write_all_at(text.as_bytes(), 0)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn parse(text: &str, boot: &str) -> Result<Leftover, Unusable> {
    let parts = || {
        let text = text.trim_end_matches('\n').strip_suffix("\nend")?;
        let (first, rest) = text.split_once('\n')?;
        let (written_under, rest) = rest.strip_prefix("boot ")?.split_once('\n')?;
        let (synced, rest) = rest.strip_prefix("synced ")?.split_once('\n')?;
        let (ranges, label) = rest.strip_prefix("ranges ")?.split_once('\n')?;
        let ranges: Ranges = ranges.parse().ok().filter(|ranges: &Ranges| !ranges.is_empty())?;
        let is_safe = synced == "yes" || (written_under == boot && !boot.is_empty());
        (first == FIRST).then(|| (is_safe, Leftover { ranges, label: label.to_owned() }))
    };
    match parts() {
        Some((true, leftover)) => Ok(leftover),
        Some((false, _)) => Err(Unusable::Restarted),
        None => Err(Unusable::NoProgress),
    }
}

/// The kernel's identifier of this boot (random(4)); empty where there is none.
fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str =
        "wirelap-part 1\nboot b\nsynced no\nranges 0-10\nurl http://a/\nlength 20\nend\n\n\n";

    #[test]
    fn a_progress_file_of_this_start_of_the_machine_is_believed() {
        let left = parse(NOTE, "b").unwrap();
        assert_eq!(left.ranges.to_string(), "0-10");
        assert_eq!(left.label, "url http://a/\nlength 20");
    }

    #[test]
    fn an_earlier_start_of_the_machine_is_believed_only_if_all_was_synced() {
        assert_eq!(parse(NOTE, "c"), Err(Unusable::Restarted));
        assert!(parse(&NOTE.replace("synced no", "synced yes"), "c").is_ok());
    }

    #[test]
    fn a_torn_progress_file_is_none() {
        for cut in 1..NOTE.trim_end().len() {
            assert_eq!(parse(&NOTE[..cut], "b"), Err(Unusable::NoProgress), "{:?}", &NOTE[..cut]);
        }
        assert_eq!(parse(&NOTE.replace("part 1", "part 2"), "b"), Err(Unusable::NoProgress));
        assert_eq!(parse(&NOTE.replace("0-10", "0+10"), "b"), Err(Unusable::NoProgress));
        assert_eq!(parse(&NOTE.replace("0-10", ""), "b"), Err(Unusable::NoProgress));
    }

    #[test]
    fn names_beside_the_longest_name_are_not_too_long() {
        let longest = "é".repeat(127);
        let part = part_path(Path::new("/x").join(&longest).as_path());
        assert!(part.file_name().unwrap().len() <= 255);
        assert_eq!(part_path(Path::new("d/a.iso")), Path::new("d/.a.iso.wirelap-part"));
    }
}
