//! Child processes that cannot outlive us. The one rule: the caller can wait for a child with a time-out, end it with
//! everything that it started, and learn what it used.
#![allow(unsafe_code)]

mod before_exec;
mod cpus;
mod descriptors;
mod init;
mod usage;

pub use cpus::{Cpu, CpuSet};
pub use descriptors::{make_room_for_descriptors, raise_descriptors};
pub(crate) use init::Init;
pub use usage::{Counter, Usage, children_usage, own_usage, thread_waited};

pub use crate::descriptor::{is_readable, wait_readable};

use crate::cgroup;
use crate::descriptor;
use crate::error::Os;
use crate::process_tree;
use before_exec::{Maps, prepare, tie_to_parent};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

/// Whether this process is root, in its own user namespace.
pub fn is_root() -> bool {
    // SAFETY: it cannot fail and takes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// The process group of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A new process group: Ctrl-C at the terminal does not reach it, and one signal ends all of it.
    Own,
    /// Our process group: it may read from the terminal, and Ctrl-C reaches it.
    Shared,
}

/// As whom a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// As we do.
    Ours,
    /// As an ordinary user, in a user namespace below ours, for programs that refuse to run as root. We may be root, or
    /// appear to be. Files that are ours remain ours.
    Ordinary,
}

/// How a child is set up before it becomes its program.
#[derive(Debug)]
pub struct Setup<'a> {
    /// Its process group.
    pub group: Group,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// The network namespace that it enters.
    pub network: Option<BorrowedFd<'a>>,
    /// Whether it needs a /proc of its own, because it is in another PID namespace than we are. Where the system
    /// refuses that, it sees ours.
    pub own_proc: bool,
    /// As whom it runs.
    pub user: User,
    /// The control group that counts it and everything that it starts. Where it cannot enter the group, only wait4(2)
    /// counts it. Dropping the child removes the group and kills what is left in it.
    pub account: Option<cgroup::Group>,
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
    account: Option<Account>,
    /// Where its command asked for a pipe.
    pub stdin: Option<ChildStdin>,
    /// Where its command asked for a pipe.
    pub stdout: Option<ChildStdout>,
    /// Where its command asked for a pipe.
    pub stderr: Option<ChildStderr>,
}

/// A child's control group.
#[derive(Debug)]
struct Account {
    group: cgroup::Group,
    /// Whether the child went in.
    counts: bool,
}

/// Starts `command`; it is killed when this thread ends.
pub fn spawn(mut command: Command, setup: Setup<'_>) -> Result<Child, Os> {
    let program = command.get_program().to_string_lossy().into_owned();
    let group = setup.group;
    let network = setup.network.map(|fd| fd.as_raw_fd());
    let cpus = setup.cpus.to_kernel();
    let own_proc = setup.own_proc;
    let maps = (setup.user == User::Ordinary).then(Maps::to_ordinary);
    let entry = setup.account.as_ref().and_then(|account| account.entry().ok()).map(Arc::new);
    let entrance = entry.clone();
    // SAFETY: the closure makes system calls only, allocates nothing, and uses values that were made
    // before the fork; the descriptor is open until spawn() returns.
    unsafe {
        command.pre_exec(move || {
            // This is first: a later step may take the rights for it away.
            if let Some(entry) = &entrance {
                entry.enter();
            }
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
            // execvp(3) gives the same error for a missing program when a folder of PATH cannot be read.
            io::ErrorKind::PermissionDenied => {
                error.with_remedy("check that it is there and that you may run it")
            }
            _ => error,
        }
    })?;
    let pid = child.id() as libc::pid_t;
    let pidfd = descriptor::process(pid).map_err(|source| {
        let _ = child.kill();
        let _ = child.wait();
        Os::new(attempted(), source)
    })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let counts = entry.is_some_and(|entry| entry.was_entered());
    let account = setup.account.map(|group| Account { group, counts });
    Ok(Child { pid, pidfd, group, exit: None, account, stdin, stdout, stderr })
}

impl Child {
    /// Its process number, in our PID namespace.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Processor time that it and everything that it started have used so far; None where the kernel does not tell.
    pub fn cpu_time(&self) -> Option<Duration> {
        let counted = self.account.as_ref().filter(|account| account.counts);
        match counted.and_then(|account| account.group.figures().cpu) {
            Some((time, _)) => Some(time.user + time.system),
            None => process_tree::cpu_time(self.id()),
        }
    }

    /// See [`was_stopped`].
    pub fn was_stopped(&self) -> bool {
        self.exit.is_none() && was_stopped(self.id())
    }

    /// Waits until it has ended; None when `timeout` came first.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Exit>, Os> {
        if self.exit.is_none() && wait_readable(self.pidfd.as_fd(), timeout)? {
            self.exit = Some(self.reap()?);
        }
        Ok(self.exit)
    }

    /// Asks it and its own process group to end (SIGTERM), and kills what is left of them after `grace` (SIGKILL).
    pub fn end(&mut self, grace: Duration) -> Result<Exit, Os> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        self.signal(libc::SIGTERM);
        self.finish(grace, None)
    }

    /// As [`Child::end`], but asks with `signal`, and asks the child only: a server with workers ends them itself. Those that
    /// it leaves behind are asked when it has ended.
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
        self.finish(grace, Some(signal))
    }

    /// Waits for the requested state, and enforces it. Those of its group that outlive it get the signal `rest`.
    fn finish(&mut self, grace: Duration, rest: Option<libc::c_int>) -> Result<Exit, Os> {
        let deadline = crate::clock::now() + grace;
        if wait_readable(self.pidfd.as_fd(), Some(grace))? {
            if let Some(signal) = rest {
                self.signal(signal);
            }
            self.await_group(deadline);
        } else {
            self.kill();
            wait_readable(self.pidfd.as_fd(), None)?;
        }
        // Done before it is reaped. Until then nobody else can have its process group's number.
        self.kill();
        let exit = self.reap()?;
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Waits until nobody else lives in its own process group: a shell ends at a signal before the program that it runs.
    fn await_group(&self, deadline: unit::Instant) {
        const LOOK: Duration = Duration::from_millis(2);
        while self.group == Group::Own
            && process_tree::lives_in_group(self.id())
            && crate::clock::now() < deadline
        {
            std::thread::sleep(LOOK);
        }
    }

    /// Asks it to end (SIGTERM), and does not wait.
    pub fn ask_to_end(&self) {
        if self.exit.is_none() {
            self.signal(libc::SIGTERM);
        }
    }

    /// Signals it, with its process group where it has its own: once, for a second signal may mean more than the first.
    /// Only as long as it has not been reaped.
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: takes numbers alone. A child that was not waited for keeps its number; it may have ended, and it may have
        // left its group, which is an error without effect where it is empty.
        unsafe {
            if self.group == Group::Shared || libc::getpgid(self.pid) != self.pid {
                libc::kill(self.pid, signal);
            }
            if self.group == Group::Own {
                libc::kill(-self.pid, signal);
            }
        }
    }

    fn kill(&self) {
        self.signal(libc::SIGKILL);
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
                return Err(Os::new("wait for a descriptor", error));
            }
        }
        let counted = self.account.as_ref().filter(|account| account.counts);
        let figures = counted.map_or_else(Default::default, |account| account.group.figures());
        let usage = Usage::of(&usage).or_of(figures);
        Ok(Exit { status: ExitStatus::from_raw(status), usage })
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
            self.kill();
            let _ = self.wait(Some(Duration::from_secs(5)));
        }
    }
}

/// Whether somebody has stopped our child of this number (SIGSTOP), even if it was continued since. The kernel forgets it
/// when the child ends.
pub fn was_stopped(child: u32) -> bool {
    let events = libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: plain data, zero is a valid value of each field.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: a valid structure to write to.
    let result = unsafe { libc::waitid(libc::P_PID, child, &raw mut info, events) };
    // SAFETY: waitid fills this field, or leaves it zero where nothing has happened.
    result == 0 && unsafe { info.si_pid() } != 0
}

/// Arranges that this process is killed when its parent ends.
pub fn die_with_parent() {
    // SAFETY: this option takes a number and cannot fail.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

/// Makes this process the parent of every descendant whose own parent has ended, so that [`reap_orphans`] can wait for
/// all of them.
pub fn adopt_orphans() {
    // SAFETY: this option takes a number and cannot fail on the kernels that have pidfds.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) };
}

/// Waits until no child is left, adopted ones too, but not longer than `limit`. Returns whether none is left. Only for
/// a process that no longer waits for its children in another way.
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
