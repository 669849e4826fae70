//! What processes used of the machine, as the kernel counts it.
#![allow(unsafe_code)]

use crate::cgroup::{Figures, Version};
use std::time::Duration;

/// Who counted a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Counter {
    /// wait4(2): the process and all children that it waited for.
    #[default]
    Wait4,
    /// A control group: all processes in it.
    Cgroup(Version),
}

/// What a child and the children that it waited for used. With a control group: everything that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Greatest resident set of one process in bytes.
    pub max_rss: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because its time slice was used up.
    pub involuntary_switches: u64,
    /// Who counted the CPU time. wait4 counts everything else but `group_peak`.
    pub counted_by: Counter,
    /// The most memory that its control group held at one time, in bytes: of all processes together, including the
    /// pages of files that they were the first to touch.
    pub group_peak: Option<(u64, Version)>,
}

impl Usage {
    /// With the figures of a control group, where it has some.
    pub(super) fn or_of(self, figures: Figures) -> Self {
        let whole = Self { group_peak: figures.peak_memory, ..self };
        match figures.cpu {
            Some((time, version)) => Self {
                user: time.user,
                system: time.system,
                counted_by: Counter::Cgroup(version),
                ..whole
            },
            None => whole,
        }
    }

    pub(super) fn of(usage: &libc::rusage) -> Self {
        Self {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            max_rss: usage.ru_maxrss as u64 * 1024,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            counted_by: Counter::Wait4,
            group_peak: None,
        }
    }
}

/// What this process has used so far, without its children.
pub fn own_usage() -> Usage {
    // SAFETY: plain data, zero is a valid value of each field.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid structure to write to; the call cannot fail with these arguments.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    Usage::of(&usage)
}

/// How long this thread was ready to run but waited for a processor, so far. None where the kernel does not tell
/// (CONFIG_SCHED_INFO, Documentation/scheduler/sched-stats.rst).
pub fn thread_waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// What all children that were waited for have used, including their own children.
pub fn children_usage() -> Usage {
    // SAFETY: plain data, zero is a valid value of each field.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid structure to write to; the call cannot fail with these arguments.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    Usage::of(&usage)
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}
