//! Child processes that cannot outlive us. The one rule: whoever starts one can wait for it with a
//! time-out, end it with all that it started, and learn what it used.
#![allow(unsafe_code)]

use crate::error::Os;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::Duration;

/// The process group of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A new one: Ctrl-C at the terminal does not reach it, and one signal ends all of it.
    Own,
    /// Ours: it may read from the terminal, and Ctrl-C reaches it.
    Shared,
}

/// As whom a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// As we do.
    Ours,
    /// As an ordinary user, in a user namespace below ours: for programs that refuse to work as root, which
    /// is what we may be, or seem to be. What is ours stays its own.
    Ordinary,
}

/// How a child is set up before it becomes its program.
#[derive(Debug)]
pub struct Setup<'a> {
    /// Its process group.
    pub group: Group,
    /// The CPUs that it may run on; none given: any.
    pub cpus: Vec<usize>,
    /// The network namespace that it is to enter.
    pub network: Option<BorrowedFd<'a>>,
    /// Whether it needs a /proc of its own, because it is in another PID namespace than we are. Where
    /// the system refuses that, it sees ours.
    pub own_proc: bool,
    /// As whom it runs.
    pub user: User,
}

/// A signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGHUP.
    HangUp,
}

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
    fn of(usage: &libc::rusage) -> Self {
        Self {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            max_rss: usage.ru_maxrss as u64 * 1024,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its status.
    pub status: ExitStatus,
    /// What it used.
    pub usage: Usage,
}

/// A running child, or one that has ended. Dropping it ends it.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    pidfd: OwnedFd,
    group: Group,
    exit: Option<Exit>,
    /// Where its command asked for a pipe.
    pub stdin: Option<ChildStdin>,
    /// Where its command asked for a pipe.
    pub stdout: Option<ChildStdout>,
    /// Where its command asked for a pipe.
    pub stderr: Option<ChildStderr>,
}

/// Starts `command`; it is killed when this thread ends.
pub fn spawn(mut command: Command, setup: Setup<'_>) -> Result<Child, Os> {
    let program = command.get_program().to_string_lossy().into_owned();
    let group = setup.group;
    let network = setup.network.map(|fd| fd.as_raw_fd());
    let cpus = cpu_set(&setup.cpus);
    let own_proc = setup.own_proc;
    let maps = (setup.user == User::Ordinary).then(Maps::to_ordinary);
    // SAFETY: the closure makes system calls only, allocates nothing, and uses values that were made
    // before the fork; the descriptor is open until spawn() returns.
    unsafe {
        command.pre_exec(move || {
            prepare(group, network, cpus.as_ref(), own_proc)?;
            maps.as_ref().map_or(Ok(()), Maps::enter)?;
            tie_to_parent()
        });
    }
    let attempted = || format!("start {program}");
    let mut child = command.spawn().map_err(|source| {
        let kind = source.kind();
        let error = Os::new(attempted(), source);
        match kind {
            io::ErrorKind::NotFound => error.with_remedy("install it, or give its full path"),
            // What execvp(3) says, too, of a program that is nowhere when a folder of PATH is closed.
            io::ErrorKind::PermissionDenied => {
                error.with_remedy("check that it is there and that you may run it")
            }
            _ => error,
        }
    })?;
    let pid = child.id() as libc::pid_t;
    // SAFETY: a system call without pointers.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if pidfd < 0 {
        let error = Os::last(attempted());
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    // SAFETY: a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as RawFd) };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(Child { pid, pidfd, group, exit: None, stdin, stdout, stderr })
}

impl Child {
    /// Its process number, in our PID namespace.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Waits until it has ended; None when `timeout` came first.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Exit>, Os> {
        if self.exit.is_none() && wait_readable(self.pidfd.as_fd(), timeout)? {
            self.exit = Some(self.reap()?);
        }
        Ok(self.exit)
    }

    /// Asks it to end (SIGTERM), and after `grace` makes it (SIGKILL), with all of its own group.
    pub fn end(&mut self, grace: Duration) -> Result<Exit, Os> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        self.signal(libc::SIGTERM);
        self.finish(grace)
    }

    /// As [`Child::end`], but asks with `signal`, and asks the child alone: a server that has workers tells
    /// them itself.
    pub fn end_by(&mut self, signal: EndSignal, grace: Duration) -> Result<Exit, Os> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let signal = match signal {
            EndSignal::Terminate => libc::SIGTERM,
            EndSignal::Interrupt => libc::SIGINT,
            EndSignal::Quit => libc::SIGQUIT,
            EndSignal::HangUp => libc::SIGHUP,
        };
        // SAFETY: a child that was not waited for keeps its number. It may have ended; fine.
        unsafe { libc::kill(self.pid, signal) };
        self.finish(grace)
    }

    /// Waits for what was asked for, and makes it so.
    fn finish(&mut self, grace: Duration) -> Result<Exit, Os> {
        if !wait_readable(self.pidfd.as_fd(), Some(grace))? {
            self.signal(libc::SIGKILL);
            wait_readable(self.pidfd.as_fd(), None)?;
        }
        // Before it is reaped, for until then its number is its group's and nobody else's.
        self.signal_group(libc::SIGKILL);
        let exit = self.reap()?;
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Asks it to end (SIGTERM), and does not wait.
    pub fn ask_to_end(&self) {
        if self.exit.is_none() {
            self.signal(libc::SIGTERM);
        }
    }

    /// To it, and to its group where that is its own; only as long as it has not been reaped.
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a child that was not waited for keeps its number. It may have ended; fine.
        unsafe { libc::kill(self.pid, signal) };
        self.signal_group(signal);
    }

    fn signal_group(&self, signal: libc::c_int) {
        if self.group == Group::Own {
            // SAFETY: takes numbers alone; a group that is gone is an error without effect.
            unsafe { libc::kill(-self.pid, signal) };
        }
    }

    fn reap(&self) -> Result<Exit, Os> {
        let mut status = 0;
        // SAFETY: plain data, zero is a valid value of each field.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: our own child; both pointers are valid.
            let pid = unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut usage) };
            if pid >= 0 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Os::new("wait for a child", error));
            }
        }
        Ok(Exit { status: ExitStatus::from_raw(status), usage: Usage::of(&usage) })
    }
}

impl AsFd for Child {
    /// Its pidfd: readable once it has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.signal(libc::SIGKILL);
            let _ = self.wait(Some(Duration::from_secs(5)));
        }
    }
}

/// Arranges that this process is killed when its parent ends.
pub fn die_with_parent() {
    // SAFETY: this option takes a number and cannot fail.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

/// Makes this process the parent of every descendant that outlives its own one, so that
/// [`reap_orphans`] can wait for all of them.
pub fn adopt_orphans() {
    // SAFETY: this option takes a number and cannot fail on the kernels that have pidfds.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) };
}

/// Waits until no child is left, adopted ones too, but not longer than `limit`; whether none is. Only for
/// a process that waits for none of them in another way any more.
pub fn reap_orphans(limit: Duration) -> bool {
    const LOOK: Duration = Duration::from_millis(1);
    let deadline = crate::clock::now() + limit;
    loop {
        // SAFETY: the status is not asked for.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
            0 if crate::clock::now() >= deadline => return false,
            0 => std::thread::sleep(LOOK),
            reaped if reaped > 0 => {}
            _ => return io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD),
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

/// Whether something can be read at once: octets, or the end.
pub fn is_readable(fd: BorrowedFd<'_>) -> Result<bool, Os> {
    wait_readable(fd, Some(Duration::ZERO))
}

/// Leaves Ctrl-C and Ctrl-\ at the terminal to the children that share our group.
pub fn ignore_terminal_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: SIG_IGN runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The CPUs that this thread may run on, in order; none where the kernel does not say.
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

/// The first process of the PID namespace of our later children. When it ends, the kernel kills all
/// others there, whatever they did to their groups and sessions; and it ends when we do.
#[derive(Debug)]
pub(crate) struct Init {
    pid: libc::pid_t,
    pidfd: OwnedFd,
    /// Its reading end is what the process waits at.
    _lifeline: OwnedFd,
}

impl Init {
    /// Starts it; the caller has just unshared CLONE_NEWPID.
    pub(crate) fn start() -> Result<Self, Os> {
        let attempted = "start the first process of a PID namespace";
        let (reader, writer) = pipe().map_err(|source| Os::new(attempted, source))?;
        // SAFETY: the child calls only async-signal-safe functions and never returns.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(Os::last(attempted));
        }
        if pid == 0 {
            await_end_of(reader.as_raw_fd());
        }
        // SAFETY: a system call without pointers.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if pidfd < 0 {
            return Err(Os::last(attempted));
        }
        // SAFETY: a new descriptor that nobody else owns.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as RawFd) };
        Ok(Self { pid, pidfd, _lifeline: writer })
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // SAFETY: our own child, not waited for, so that its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // It ends when the last process of its namespace has been waited for. Those that are our children
        // may still be in somebody's hand, so this does not wait without end.
        if matches!(wait_readable(self.pidfd.as_fd(), Some(Duration::from_secs(1))), Ok(true)) {
            // SAFETY: our own child; the status is not asked for.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

/// What the first process does: adopts orphans, and waits until the other end of its pipe is closed.
fn await_end_of(lifeline: RawFd) -> ! {
    // SAFETY: system calls only. Ignored SIGCHLD reaps orphans; descriptor 0 becomes the pipe and all
    // others are closed, so that no other pipe is held open by this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        libc::prctl(libc::PR_SET_NAME, c"wirelap-init".as_ptr());
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(lifeline, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let mut octet = 0_u8;
        while libc::read(0, (&raw mut octet).cast(), 1) < 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
        libc::_exit(0)
    }
}

/// Runs between fork and exec: system calls only.
fn prepare(
    group: Group,
    network: Option<RawFd>,
    cpus: Option<&libc::cpu_set_t>,
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
        if let Some(cpus) = cpus {
            apply_cpus(cpus)?;
        }
        if own_proc && libc::unshare(libc::CLONE_NEWNS) == 0 {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            let proc = c"proc".as_ptr();
            libc::mount(proc, c"/proc".as_ptr(), proc, flags, std::ptr::null());
        }
        Ok(())
    }
}

/// Comes last between fork and exec: changes of credentials clear it.
fn tie_to_parent() -> io::Result<()> {
    // SAFETY: this option takes a number.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What makes an ordinary user of a child, written down before the fork (user_namespaces(7)).
struct Maps([(CString, String); 3]);

impl Maps {
    /// Debian's and most others' first ordinary user. Any number but 0 would do.
    const ORDINARY: u32 = 1000;

    fn to_ordinary() -> Self {
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
    fn enter(&self) -> io::Result<()> {
        // SAFETY: unshare takes flags alone.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } < 0 {
            return Err(io::Error::last_os_error());
        }
        self.0.iter().try_for_each(|(file, text)| {
            // SAFETY: a NUL-terminated string, and as many octets as the slice has; the descriptor is
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

fn apply_cpus(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: a valid set and its size.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn cpu_set(cpus: &[usize]) -> Option<libc::cpu_set_t> {
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

/// Waits until something can be read, or the end; whether it can, when `timeout` came first.
pub fn wait_readable(fd: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<bool, Os> {
    let deadline = timeout.map(|timeout| crate::clock::now() + timeout);
    loop {
        // Rounded up, so that a wait never ends before its time.
        let millis = deadline.map_or(-1, |deadline| {
            let left = deadline.since(crate::clock::now()).as_nanos().div_ceil(1_000_000);
            left.min(1 << 30) as libc::c_int
        });
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        match unsafe { libc::poll(&raw mut poll, 1, millis) } {
            0 => return Ok(false),
            count if count > 0 => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(Os::new("wait for a child", error));
                }
            }
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two new descriptors that nobody else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}
