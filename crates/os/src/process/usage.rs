//! What processes used of the machine, as the kernel counts it when they end.
#![allow(unsafe_code)]

use std::time::Duration;

/// What a child used, and its waited-for children too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Greatest resident set of one process in octets.
    pub max_rss: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because its time was up.
    pub involuntary_switches: u64,
}

impl Usage {
    pub(super) fn of(usage: &libc::rusage) -> Self {
        Self {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            max_rss: usage.ru_maxrss as u64 * 1024,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
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

/// What all children that were waited for have used, theirs included.
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
