//! What runs in a child between fork and exec. The one rule: only system calls, on values that were made before the
//! fork.
#![allow(unsafe_code)]

use super::Group;
use super::cpus;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;

/// Runs between fork and exec: system calls only.
pub(super) fn prepare(
    group: Group,
    network: Option<RawFd>,
    bound_to: Option<&libc::cpu_set_t>,
    own_proc: bool,
) -> io::Result<()> {
    let checked = |result: libc::c_int| {
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: system calls on numbers, on descriptors that are open and on static strings.
    unsafe {
        if group == Group::Own {
            checked(libc::setpgid(0, 0))?;
        }
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_DFL);
        }
        if let Some(network) = network {
            checked(libc::setns(network, libc::CLONE_NEWNET))?;
        }
        if let Some(set) = bound_to {
            cpus::apply(set)?;
        }
        if own_proc && libc::unshare(libc::CLONE_NEWNS) == 0 {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            let proc = c"proc".as_ptr();
            libc::mount(proc, c"/proc".as_ptr(), proc, flags, std::ptr::null());
        }
        Ok(())
    }
}

/// The last step between fork and exec, because changes of credentials clear it.
pub(super) fn tie_to_parent() -> io::Result<()> {
    // SAFETY: this option takes a number.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What turns a child into an ordinary user, prepared before the fork (user_namespaces(7)).
pub(super) struct Maps([(CString, String); 3]);

impl Maps {
    /// The first ordinary user of Debian and most other distributions. Any number but 0 would do.
    const ORDINARY: u32 = 1000;

    pub(super) fn to_ordinary() -> Self {
        // SAFETY: these cannot fail and take nothing.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let file = |name: &CStr, text: String| (name.to_owned(), text);
        Self([
            file(c"/proc/self/setgroups", "deny".to_owned()),
            file(c"/proc/self/uid_map", format!("{} {uid} 1", Self::ORDINARY)),
            file(c"/proc/self/gid_map", format!("{} {gid} 1", Self::ORDINARY)),
        ])
    }

    /// Between fork and exec: system calls only.
    pub(super) fn enter(&self) -> io::Result<()> {
        // SAFETY: unshare takes flags alone.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } < 0 {
            return Err(io::Error::last_os_error());
        }
        self.0.iter().try_for_each(|(file, text)| {
            // SAFETY: a NUL-terminated string, and as many bytes as the slice has; the descriptor is
            // this call's own.
            unsafe {
                let fd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                let wrote = libc::write(fd, text.as_ptr().cast(), text.len());
                let error = io::Error::last_os_error();
                libc::close(fd);
                if fd < 0 || wrote < 0 { Err(error) } else { Ok(()) }
            }
        })
    }
}
