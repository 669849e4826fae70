//! A relay in a process of its own, which runs where it was started: in this machine's network, at near, or in the link's
//! proxy. It waits for its job, and ends when the process that started it lets go of its socket or ends.

use crate::link::relay::Targets;
use os::error::Os;
use os::handover;
use os::process::{Child, CpuSet, Group, Setup, User};
use os::tcp::Listener;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

/// The job of a relay process. Its listeners come with it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelayJob {
    /// Where the connections of its listeners go.
    pub(crate) targets: Targets,
}

/// A relay that runs.
#[derive(Debug)]
pub(crate) struct RelayProcess {
    /// The process.
    pub(crate) child: Child,
    /// Its job goes through it.
    socket: OwnedFd,
}

impl RelayProcess {
    /// Starts a relay by `spawn`, which says where.
    pub(crate) fn start(
        stdout: Stdio,
        spawn: impl FnOnce(Command) -> Result<Child, Os>,
    ) -> Result<Self, Os> {
        let program =
            std::env::current_exe().map_err(|error| Os::new("find this program", error))?;
        let (socket, theirs) = handover::pair()?;
        let mut command = Command::new(program);
        command.arg("relay").stdin(Stdio::from(theirs)).stdout(stdout);
        Ok(Self { child: spawn(command)?, socket })
    }

    /// Starts a relay on `cpus`, in the network that this process is in.
    pub(crate) fn start_here(cpus: CpuSet) -> Result<Self, Os> {
        let setup = Setup {
            group: Group::Own,
            cpus,
            network: None,
            own_proc: false,
            user: User::Ours,
            account: None,
        };
        Self::start(Stdio::null(), |command| os::process::spawn(command, setup))
    }

    /// Tells it its job. The listeners are its own from then on; the caller closes those it was given.
    pub(crate) fn begin(&self, targets: Targets, listeners: &[Listener]) -> Result<(), Os> {
        let job = serde_json::to_vec(&RelayJob { targets })
            .map_err(|error| Os::new("tell a relay its job", io::Error::other(error)))?;
        let listeners: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        handover::send(self.socket.as_fd(), &job, &listeners)
    }

    /// The process, and the socket that it ends without.
    pub(crate) fn into_parts(self) -> (Child, OwnedFd) {
        (self.child, self.socket)
    }

    /// Asks it to end, and gives its process.
    pub(crate) fn let_go(self) -> Child {
        self.child
    }
}
