//! Creates namespaces, with root's rights or a user's. The one rule: a refusal names the setting that refuses, and the
//! command that changes it.
#![allow(unsafe_code)]

use crate::error::Os;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The rights with which the namespaces were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The process was privileged; no user namespace was needed.
    Root,
    /// In a user namespace that maps the user to root.
    UserNamespace,
}

impl Privilege {
    /// `root` or `user namespace`, as stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::UserNamespace => "user namespace",
        }
    }
}

/// A network namespace, kept alive by a descriptor.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) fd: OwnedFd,
}

impl Network {
    /// The one that this thread is in.
    pub(crate) fn current() -> Result<Self, Os> {
        let file = File::open("/proc/thread-self/ns/net")
            .map_err(|source| Os::new("open this thread's network namespace", source))?;
        Ok(Self { fd: file.into() })
    }

    /// A new one. This thread is in it from now on.
    pub(crate) fn fresh() -> Result<Self, Os> {
        // SAFETY: unshare takes flags alone.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
            .map_err(|source| refusal("make a network namespace", source))?;
        Self::current()
    }

    /// Moves this thread there.
    pub(crate) fn enter(&self) -> Result<(), Os> {
        // SAFETY: the descriptor is open and a network namespace; the kernel checks it again.
        check(unsafe { libc::setns(self.fd.as_raw_fd(), libc::CLONE_NEWNET) })
            .map_err(|source| Os::new("enter a network namespace", source))
    }

    /// Runs `work` in this namespace and returns to `home`.
    pub(crate) fn within<T>(
        &self,
        home: &Self,
        work: impl FnOnce() -> Result<T, Os>,
    ) -> Result<T, Os> {
        self.enter()?;
        let result = work();
        home.enter()?;
        result
    }
}

/// Gives this process mounts of its own, and a PID namespace to its later children; inside a user
/// namespace where it has no rights otherwise. The process must have one thread, and cannot start
/// threads afterwards (clone(2): CLONE_THREAD after an unshared CLONE_NEWPID).
pub(crate) fn isolate() -> Result<Privilege, Os> {
    let (uid, gid) = ids();
    let wanted = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET;
    // SAFETY: unshare takes flags alone.
    let privilege = match check(unsafe { libc::unshare(wanted) }) {
        Ok(()) => Privilege::Root,
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            // SAFETY: as above.
            check(unsafe { libc::unshare(wanted | libc::CLONE_NEWUSER) })
                .map_err(|source| refusal("make a user namespace", source))?;
            map_to_root(uid, gid)?;
            Privilege::UserNamespace
        }
        Err(error) => return Err(refusal("make namespaces", error)),
    };
    mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE)
        .map_err(|source| refusal("make the mounts private", source))?;
    Ok(privilege)
}

/// Tries in a child whether namespaces can be made here. It leaves nothing behind.
pub fn probe() -> Result<Privilege, Os> {
    let tried = in_child(|| isolate().and_then(|privilege| Network::fresh().map(|_| privilege)))?;
    tried.map_err(|code| refusal("make namespaces", io::Error::from_raw_os_error(code)))
}

/// Runs `work`, which makes namespaces and more, in a child. Returns the rights that it had, or the system's error
/// number.
pub(super) fn in_child(
    work: impl FnOnce() -> Result<Privilege, Os>,
) -> Result<Result<Privilege, i32>, Os> {
    let attempted = "try namespaces in a child";
    // SAFETY: the child calls what the building of a link calls and leaves by _exit; that allocates, which after
    // a fork is safe with glibc, whose fork() takes the allocator's locks itself.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(Os::last(attempted));
    }
    if pid == 0 {
        let code = match work() {
            Ok(Privilege::Root) => 0,
            Ok(Privilege::UserNamespace) => 1,
            // Error numbers of Linux are below 134.
            Err(error) => 64 + error.source.raw_os_error().unwrap_or(libc::EPERM),
        };
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: waits for the child just made; `status` is a valid int.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 {
        return Err(Os::last(attempted));
    }
    match libc::WEXITSTATUS(status) {
        _ if !libc::WIFEXITED(status) => Err(Os::new(attempted, io::ErrorKind::Other.into())),
        0 => Ok(Ok(Privilege::Root)),
        1 => Ok(Ok(Privilege::UserNamespace)),
        code => Ok(Err(code - 64)),
    }
}

/// mount(2) without data.
pub(crate) fn mount(
    source: &str,
    target: &str,
    kind: &str,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let [source, target, kind] = [source, target, kind].map(CString::new);
    let (source, target, kind) = (source?, target?, kind?);
    // SAFETY: three NUL-terminated strings that outlive the call; no data is passed.
    check(unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null())
    })
}

/// A bind mount.
pub(crate) fn bind(folder: &Path, place: &Path) -> io::Result<()> {
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (folder, place) = (path(folder)?, path(place)?);
    let (none, flags) = (std::ptr::null(), libc::MS_BIND);
    // SAFETY: two NUL-terminated strings that outlive the call; a bind mount takes neither kind nor data.
    check(unsafe { libc::mount(folder.as_ptr(), place.as_ptr(), none, flags, std::ptr::null()) })
}

/// Mounts a file system of a kind, with options (mount(2)).
pub(crate) fn mount_with(source: &str, target: &Path, kind: &str, options: &str) -> io::Result<()> {
    let target = CString::new(target.as_os_str().as_bytes())?;
    let (source, kind, options) =
        (CString::new(source)?, CString::new(kind)?, CString::new(options)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: four NUL-terminated strings that outlive the call.
    check(unsafe {
        let data = options.as_ptr().cast();
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data)
    })
}

/// 0 or more for success, else errno.
pub(crate) fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A call that gives a new descriptor, or -1.
pub(crate) fn new_fd(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: callers pass what a system call has just given them, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(result as libc::c_int) })
}

fn ids() -> (u32, u32) {
    // SAFETY: these cannot fail and take nothing.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

fn map_to_root(uid: u32, gid: u32) -> Result<(), Os> {
    let maps = [
        // user_namespaces(7): without this the kernel refuses an unprivileged gid_map.
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ];
    for (file, text) in maps {
        fs::write(file, text).map_err(|source| refusal(&format!("write {file}"), source))?;
    }
    Ok(())
}

fn refusal(attempted: &str, source: io::Error) -> Os {
    let code = source.raw_os_error();
    // The system's text for these, "no space left on device", is about disks.
    let error = match code {
        Some(libc::ENOSPC | libc::EUSERS) => {
            Os::new(format!("{attempted} within the limit on their number"), source)
        }
        _ => Os::new(attempted, source),
    };
    match remedy(code, &|file| fs::read_to_string(file).ok()) {
        Some(remedy) => error.with_remedy(remedy),
        None => error,
    }
}

/// The command that changes the setting that refused. `read` gives a file of /proc/sys.
fn remedy(code: Option<i32>, read: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is = |file: &str, value: &str| read(file).is_some_and(|text| text.trim() == value);
    let refused = matches!(code, Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::EUSERS));
    if refused && is("/proc/sys/user/max_user_namespaces", "0") {
        return Some("sudo sysctl -w user.max_user_namespaces=10000");
    }
    if refused && is("/proc/sys/user/max_net_namespaces", "0") {
        return Some("sudo sysctl -w user.max_net_namespaces=10000");
    }
    if refused && is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return Some("sudo sysctl -w kernel.unprivileged_userns_clone=1");
    }
    if refused && is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Some("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    }
    match code? {
        libc::ENOSPC | libc::EUSERS => {
            Some("too many namespaces exist: sudo sysctl -w user.max_net_namespaces=100000")
        }
        libc::EPERM | libc::EACCES => Some(
            "run it as root; in a container: --privileged, or a seccomp profile that allows unshare(2)",
        ),
        libc::EINVAL => {
            Some("namespaces need a process with one thread and a kernel built with CONFIG_USER_NS")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_tells_whether_links_can_run_here_and_moves_nobody() {
        let namespace = || fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = namespace();
        match probe() {
            Ok(_) => {}
            Err(error) => assert!(error.remedy().is_some(), "{error}"),
        }
        assert_eq!(namespace(), before);
    }

    #[test]
    fn the_switch_that_refuses_is_named() {
        let with = |name: &'static str, value: &'static str| {
            move |file: &str| file.ends_with(name).then(|| value.to_owned())
        };
        let ubuntu = with("apparmor_restrict_unprivileged_userns", "1\n");
        let remedy_of = |code, read: &dyn Fn(&str) -> Option<String>| remedy(Some(code), read);
        assert_eq!(
            remedy_of(libc::EACCES, &ubuntu),
            Some("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
        );
        let none = with("max_user_namespaces", "0\n");
        assert_eq!(
            remedy_of(libc::ENOSPC, &none),
            Some("sudo sysctl -w user.max_user_namespaces=10000")
        );
        let plenty = with("max_user_namespaces", "500\n");
        assert!(remedy_of(libc::EPERM, &plenty).unwrap().contains("as root"));
    }
}
