//! What a group's files say. Formats: the kernel's Documentation/admin-guide/cgroup-v2.rst, and cgroup-v1/cpuacct.rst and
//! cgroup-v1/memory.rst.

use super::Version;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What a group's processes used, and which version of cgroups said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Processor time.
    pub cpu: Option<(CpuTime, Version)>,
    /// The most memory that they held at one time, in bytes. It includes pages of files that they were the first to
    /// touch.
    pub peak_memory: Option<(u64, Version)>,
}

/// Processor time of all of a group's processes, including those that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

pub(super) fn cpu(folder: &Path, version: Version) -> Option<CpuTime> {
    match version {
        Version::V2 => cpu_stat(&read(folder, "cpu.stat")?),
        // cpuacct.stat gives the same in hundredths of a second, which is too coarse for a fetch.
        Version::V1 => Some(CpuTime {
            user: Duration::from_nanos(number(&read(folder, "cpuacct.usage_user")?)?),
            system: Duration::from_nanos(number(&read(folder, "cpuacct.usage_sys")?)?),
        }),
    }
}

pub(super) fn peak_memory(folder: &Path, version: Version) -> Option<u64> {
    number(&read(folder, peak_file(version))?)
}

fn peak_file(version: Version) -> &'static str {
    match version {
        Version::V2 => "memory.peak",
        Version::V1 => "memory.max_usage_in_bytes",
    }
}

/// `cpu.stat`: one key and one number a line, in microseconds.
fn cpu_stat(text: &str) -> Option<CpuTime> {
    let micros = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key).and_then(|(_, value)| number(value))
    };
    Some(CpuTime {
        user: Duration::from_micros(micros("user_usec")?),
        system: Duration::from_micros(micros("system_usec")?),
    })
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn read(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok()
}
