//! The CPUs that this process may use, and binding threads to them. The one rule: a [`Cpu`] is a number of the kernel's
//! that came from the kernel. "The second CPU that we may use" is not CPU 1 in a container or under taskset(1), so a
//! caller picks by index from a [`CpuSet`].
#![allow(unsafe_code)]

use crate::error::Os;
use std::fmt;
use std::io;

/// One CPU, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu(usize);

/// CPUs that a thread or a process may run on, in order. The empty set means any CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuSet(Vec<Cpu>);

impl Cpu {
    /// The kernel's number, as in /proc/stat and /sys/devices/system/cpu.
    pub fn number(self) -> usize {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn of_test(number: usize) -> Self {
        Self(number)
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CpuSet {
    /// The CPUs that this thread may run on (sched_getaffinity(2)), or any CPU where the kernel does not say. A thread
    /// that is bound to one CPU sees only that one.
    pub fn allowed() -> Self {
        // SAFETY: plain data, zero is an empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: a valid set and its size.
        let result =
            unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
        let most = if result < 0 { 0 } else { libc::CPU_SETSIZE as usize };
        // SAFETY: each number is below CPU_SETSIZE.
        let is_in = |&number: &usize| unsafe { libc::CPU_ISSET(number, &set) };
        Self((0..most).filter(is_in).map(Cpu).collect())
    }

    /// The CPUs that a process may use: those of its first thread (proc(5)). Any CPU where the kernel does not say.
    pub fn of_process(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.and_then(|list| Self::parse(list.trim())).unwrap_or_default()
    }

    /// Reads a list such as `0-3,8` (cpuset(7)).
    fn parse(list: &str) -> Option<Self> {
        let mut cpus = Vec::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            cpus.extend((first.parse().ok()?..=last.parse().ok()?).map(Cpu));
        }
        Some(Self(cpus))
    }

    /// Any CPU.
    pub fn any() -> Self {
        Self::default()
    }

    /// The CPU with `index` in this set; indices beyond the last begin again at the first. None where the set means any
    /// CPU.
    pub fn nth(&self, index: usize) -> Option<Cpu> {
        self.0.get(index.checked_rem(self.0.len())?).copied()
    }

    /// The CPUs, in order; none where the set means any CPU.
    pub fn as_slice(&self) -> &[Cpu] {
        &self.0
    }

    /// Binds this thread to these CPUs. Any CPU: it stays as it is.
    pub fn pin(&self) -> Result<(), Os> {
        let Some(set) = self.to_kernel() else { return Ok(()) };
        apply(&set).map_err(|source| Os::new(format!("use CPU {self}"), source))
    }

    /// As the kernel takes it; None where the set means any CPU.
    pub(super) fn to_kernel(&self) -> Option<libc::cpu_set_t> {
        if self.0.is_empty() {
            return None;
        }
        // SAFETY: plain data, zero is the empty set; CPU_SET checks its bound.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for cpu in &self.0 {
                libc::CPU_SET(cpu.0, &mut set);
            }
            Some(set)
        }
    }
}

impl From<Cpu> for CpuSet {
    fn from(cpu: Cpu) -> Self {
        Self(vec![cpu])
    }
}

impl FromIterator<Cpu> for CpuSet {
    fn from_iter<I: IntoIterator<Item = Cpu>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    /// `1, 4`, or `any`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("any");
        }
        let numbers: Vec<String> = self.0.iter().map(Cpu::to_string).collect();
        f.write_str(&numbers.join(", "))
    }
}

/// Binds this thread. It is one system call, so it can be used between fork and exec.
pub(super) fn apply(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: a valid set and its size.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_picks_one_of_the_cpus_that_are_there() {
        let cpus: CpuSet = [3, 7].into_iter().map(Cpu).collect();
        let picked = [0, 1, 2, 3].map(|index| cpus.nth(index).map(Cpu::number));
        assert_eq!(picked, [3, 7, 3, 7].map(Some));
        assert_eq!(CpuSet::any().nth(0), None);
        assert_eq!((cpus.to_string(), CpuSet::any().to_string()), ("3, 7".into(), "any".into()));
    }

    #[test]
    fn a_list_of_the_kernels_names_single_cpus_and_ranges() {
        let numbers = |list| {
            CpuSet::parse(list).map(|cpus| cpus.0.iter().map(|cpu| cpu.0).collect::<Vec<_>>())
        };
        assert_eq!(numbers("1,3-5,8"), Some(vec![1, 3, 4, 5, 8]));
        assert_eq!((numbers(""), numbers("1-"), numbers("x")), (None, None, None));
        assert_eq!(CpuSet::of_process(0), CpuSet::any(), "there is none such");
    }

    #[test]
    fn a_thread_that_is_bound_to_its_last_cpu_may_use_that_one_alone() {
        let last = *CpuSet::allowed().as_slice().last().unwrap();
        let bound = std::thread::spawn(move || {
            CpuSet::from(last).pin().unwrap();
            CpuSet::allowed()
        });
        assert_eq!(bound.join().unwrap(), CpuSet::from(last));
    }
}
