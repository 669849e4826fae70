//! Which cores a thread may run on.
#![allow(unsafe_code)]

use crate::error::Os;
use std::io;

/// The CPUs that this thread may run on, in order; empty where the kernel does not say.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: plain data, zero is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a valid set and its size.
    let told = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let most = if told < 0 { 0 } else { libc::CPU_SETSIZE as usize };
    // SAFETY: each number is below CPU_SETSIZE.
    (0..most).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Binds this thread to `cpus`.
pub fn pin(cpus: &[usize]) -> Result<(), Os> {
    match cpu_set(cpus) {
        Some(set) => {
            apply_cpus(&set).map_err(|source| Os::new(format!("use CPUs {cpus:?}"), source))
        }
        None => Ok(()),
    }
}

/// Binds this thread. It is one system call, so it can be used between fork and exec.
pub(super) fn apply_cpus(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: a valid set and its size.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The set of `cpus`; None where none are named.
pub(super) fn cpu_set(cpus: &[usize]) -> Option<libc::cpu_set_t> {
    if cpus.is_empty() {
        return None;
    }
    // SAFETY: plain data, zero is the empty set; CPU_SET checks its bound.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus {
            libc::CPU_SET(cpu, &mut set);
        }
        Some(set)
    }
}
