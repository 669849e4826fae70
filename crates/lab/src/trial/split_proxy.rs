//! The TCP proxy of a trial's link, as a process. It listens where near reaches far's addresses, and connects where far sees
//! near's. The one rule: it is part of the instrument. What it does too late, and how it breaks, is never charged to the
//! contender.

use super::outcome::failed;
use super::server_process::fault_of;
use crate::link::path::NetworkPath;
use crate::link::relay::{Targets, socket_settings};
use crate::link::relay_process::RelayProcess;
use link::SplitTcp;
use os::net::{Stop, Topology};
use os::process::CpuSet;
use os::reactor::LoopTimes;
use os::tcp::{Listener, Sharing};
use std::collections::BTreeSet;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{ChildStdout, Stdio};
use std::time::Duration;
use study::outcome::Outcome;

/// How long the proxy may take to end when asked to.
const PROXY_END: Duration = Duration::from_millis(500);

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct SplitProxy {
    relay: RelayProcess,
    stdout: ChildStdout,
}

/// What to start.
#[derive(Debug)]
pub(super) struct SplitProxySpec<'a> {
    pub(super) split: SplitTcp,
    /// The ports that far serves.
    pub(super) ports: &'a BTreeSet<u16>,
    pub(super) cpus: CpuSet,
}

impl SplitProxy {
    /// Starts it; it takes connections from now on.
    pub(super) fn start(spec: SplitProxySpec<'_>, topology: &Topology) -> Result<Self, Outcome> {
        let spawn = |command| topology.spawn_proxy(command, spec.cpus);
        let mut relay = RelayProcess::start(Stdio::piped(), spawn).map_err(failed)?;
        let Some(stdout) = relay.child.stdout.take() else {
            return Err(failed("the link's proxy has no standard output"));
        };
        // The namespace has the addresses of all of far's hosts.
        let listen = |port: &u16| {
            let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, *port));
            Listener::bind(address, Sharing::Found, &socket_settings())
        };
        let listeners = topology.within_proxy(|| spec.ports.iter().map(listen).collect());
        let listeners: Vec<Listener> = listeners.map_err(failed)?;
        let targets = Targets::AsAsked { buffer: spec.split.buffer.0 as usize };
        relay.begin(targets, &listeners).map_err(failed)?;
        Ok(Self { relay, stdout })
    }

    /// How it broke off its work; None where it did not.
    pub(super) fn fault(&mut self) -> Option<String> {
        fault_of("the link's TCP proxy", &mut self.relay.child)
    }

    /// Ends it. Returns the times of its event loop; None where it does not tell in time.
    pub(super) fn end(self, path: &mut NetworkPath<'_>) -> Result<Option<LoopTimes>, Outcome> {
        let Self { relay, mut stdout } = self;
        let mut process = relay.let_go();
        let deadline = Some(os::clock::now() + PROXY_END);
        path.run_until(Stop { readable: &[stdout.as_fd()], deadline }).map_err(failed)?;
        let mut text = Vec::new();
        if os::process::is_readable(stdout.as_fd()).map_err(failed)? {
            stdout.read_to_end(&mut text).map_err(failed)?;
        }
        process.end(PROXY_END).map_err(failed)?;
        Ok(serde_json::from_slice(&text).ok().flatten())
    }
}
