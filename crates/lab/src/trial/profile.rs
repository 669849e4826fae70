//! What somebody else's client did with the processor, in a trial that does not count: its system calls, counted by strace, or a
//! recording of its JVM (JFR), which has samples of copying and of the collector. Both slow it down, so warm-ups alone are
//! profiled.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};
use study::plan::TrialPlan;

/// Warm-ups of a cell that are profiled: one each way.
pub(crate) const PROFILED: u32 = 2;

/// What counts system calls.
pub(crate) const STRACE: &str = "strace";

/// What a JVM calls its recording, in its own folder.
const RECORDING: &str = "recording.jfr";

/// What is kept of a trial's client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Profile {
    /// A table of its system calls, in this file.
    SystemCalls(PathBuf),
    /// A recording of its JVM, in this file; of a client without a JVM there is none.
    Recording(PathBuf),
}

impl Profile {
    /// What of a trial is kept, in files whose names begin with `stem`.
    pub(crate) fn of(plan: &TrialPlan, stem: &Path) -> Option<Self> {
        let file = |ending: &str| {
            let mut name = stem.to_path_buf().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        match (plan.warmup, plan.block) {
            (true, 0) => Some(Self::SystemCalls(file(".syscalls.txt"))),
            (true, 1) => Some(Self::Recording(file(".jfr"))),
            _ => None,
        }
    }

    /// The command line that starts a client of this one.
    pub(crate) fn command(&self, words: &[String]) -> Vec<String> {
        match self {
            // One table after another, of a client that takes several processes.
            Self::SystemCalls(file) => {
                let file = file.display().to_string();
                let own = [STRACE, "-f", "-c", "-A", "-o", &file, "--"].map(str::to_owned);
                own.into_iter().chain(words.iter().cloned()).collect()
            }
            Self::Recording(_) => words.to_vec(),
        }
    }

    /// The variable that a client is started with.
    pub(crate) fn variable(&self) -> Option<(&'static str, String)> {
        let Self::Recording(_) = self else { return None };
        // The recording is written where the JVM exits, and its start is not told on standard output, which is the contract's. These
        // options have no way to quote a space or a comma, so the name is plain.
        let options = format!(
            "-Dwirelap.profile=true -Xlog:jfr+startup=off \
             -XX:StartFlightRecording=settings=profile,dumponexit=true,filename={RECORDING}"
        );
        Some(("JAVA_TOOL_OPTIONS", options))
    }

    /// Puts the recording that a client left in its `folder` where it is kept.
    pub(crate) fn keep(&self, folder: &Path) -> io::Result<()> {
        let Self::Recording(file) = self else { return Ok(()) };
        let recording = folder.join(RECORDING);
        match fs::copy(&recording, file) {
            Ok(_) => fs::remove_file(recording),
            // A client without a JVM.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The system calls of strace's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SystemCalls {
    /// All of them, those that failed too.
    pub(crate) all: u64,
    /// Those that copied bytes from the kernel into the program.
    pub(crate) reads: u64,
    /// Those that copied bytes from the program into the kernel.
    pub(crate) writes: u64,
    /// Those that moved bytes without the program's seeing them.
    pub(crate) in_kernel: u64,
}

impl SystemCalls {
    /// Reads strace's tables, however many stand one after another.
    pub(crate) fn read(text: &str) -> Self {
        let mut calls = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // % time, seconds, usecs/call, calls, perhaps errors, name.
            let (Some(count), Some(name)) = (words.get(3), words.last()) else { continue };
            let Ok(count) = count.parse::<u64>() else { continue };
            if *name == "total" {
                continue;
            }
            calls.all += count;
            // One that failed, such as a read where nothing was there yet, moved nothing.
            let errors = if words.len() > COLUMNS { words[4].parse().unwrap_or(0) } else { 0 };
            let count = count.saturating_sub(errors);
            let kind = match *name {
                "read" | "readv" | "pread64" | "preadv" | "recvfrom" | "recvmsg" => {
                    &mut calls.reads
                }
                "write" | "writev" | "pwrite64" | "pwritev" | "sendto" | "sendmsg" => {
                    &mut calls.writes
                }
                "sendfile" | "splice" | "copy_file_range" | "tee" | "vmsplice" => {
                    &mut calls.in_kernel
                }
                _ => continue,
            };
            *kind += count;
        }
        calls
    }
}

/// Columns of a line without errors.
const COLUMNS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// As strace 6.1 prints it.
    const TABLE: &str = "% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ------------------
 93.52    0.052946         277       191        13 futex
  0.43    0.000244           2      1180           read
  0.39    0.000238           2        20         1 recvfrom
  0.18    0.000117           1        61           write
  0.02    0.000017           1         4           sendfile
------ ----------- ----------- --------- --------- ------------------
100.00    0.056612          51      1456        14 total
";

    #[test]
    fn calls_are_counted_by_what_they_do_over_all_tables() {
        let once = SystemCalls { all: 1456, reads: 1199, writes: 61, in_kernel: 4 };
        assert_eq!(SystemCalls::read(TABLE), once);
        let twice = SystemCalls::read(&TABLE.repeat(2));
        assert_eq!((twice.all, twice.reads), (2912, 2398));
        assert_eq!(SystemCalls::read("strace: Process 7 attached\n"), SystemCalls::default());
    }

    #[test]
    fn a_client_is_started_by_strace_or_told_to_record_itself() {
        let words = ["java".to_owned(), "Main".to_owned()];
        let counts = Profile::SystemCalls("/run/a.txt".into());
        let command = counts.command(&words).join(" ");
        assert_eq!(command, "strace -f -c -A -o /run/a.txt -- java Main");
        assert_eq!(counts.variable(), None);
        let records = Profile::Recording("/run/a.jfr".into());
        assert_eq!(records.command(&words), words);
        assert!(records.variable().unwrap().1.ends_with("filename=recording.jfr"));
    }

    #[test]
    fn a_recording_is_kept_in_a_file_of_any_name() {
        let folder = std::env::temp_dir().join(format!("wirelap-profile-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let kept = Profile::Recording(folder.join("page,rtt=1ms,up=5mbit h2.jfr"));
        kept.keep(&folder).unwrap();
        fs::write(folder.join(RECORDING), "FLR").unwrap();
        kept.keep(&folder).unwrap();
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["page,rtt=1ms,up=5mbit h2.jfr"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
