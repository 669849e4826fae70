//! Two programs of the user's across a link. The one rule: near decides; when it ends, all ends.

use crate::clock;
use crate::error::Os;
use crate::net::counters::LinkCounters;
use crate::net::forwarder::{ForwardSpec, Forwarder, Stop, Stopped};
use crate::net::readiness::{Ready, bound_ports};
use crate::net::settings::Settings;
use crate::net::topology::{Placement, Side, Topology, TopologySpec};
use crate::process::{Child, Exit, Group};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;
use trace::PacketRecord;
use unit::Instant;

/// Which programs, across what.
#[derive(Debug, Clone)]
pub struct PairSpec {
    /// The ends.
    pub topology: TopologySpec,
    /// The link between them.
    pub forward: ForwardSpec,
    /// The far program, a command line for `sh`; without one, near is alone.
    pub far: Option<String>,
    /// The near program and its arguments.
    pub near: Vec<OsString>,
    /// What to wait for between the two.
    pub ready: Ready,
    /// When to give up; None for never.
    pub timeout: Option<Duration>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct PairReport {
    /// How near ended; None where the time was up before.
    pub near: Option<Exit>,
    /// How far ended, where it did before near.
    pub far: Option<Exit>,
    /// What the link counted.
    pub counters: LinkCounters,
    /// The kernel settings of both ends, read back.
    pub settings: Settings,
}

/// How often far is looked at until it is ready.
const LOOK: Duration = Duration::from_millis(5);
/// How long far may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the two programs. The process must have one thread; it is moved into namespaces for good, so it
/// is one that was started for this. Near has our standard streams, far our output and no input.
pub fn run_pair(spec: &PairSpec, record: &mut dyn FnMut(PacketRecord)) -> Result<PairReport, Os> {
    let deadline = spec.timeout.map(|timeout| clock::now() + timeout);
    let topology = Topology::build(&spec.topology)?;
    let mut forwarder = Forwarder::new(&topology, &spec.forward)?.with_records(record);
    let mut far = spec.far.as_ref().map(|line| start_far(&topology, line)).transpose()?;
    if let Some(far) = &mut far {
        await_far(&topology, &mut forwarder, far, spec.ready)?;
    }
    let mut near = start_near(&topology, &spec.near)?;
    forwarder.run(Stop { readable: &[near.as_fd()], deadline })?;
    let near = near.wait(Some(Duration::ZERO))?;
    let far = match &mut far {
        Some(far) => {
            let ended = far.wait(Some(Duration::ZERO))?;
            far.end(GRACE)?;
            ended
        }
        None => None,
    };
    let counters = forwarder.counters();
    let mut settings = topology.settings().clone();
    let buffer = forwarder.receive_buffer();
    settings.insert("link receive buffer".to_owned(), buffer.to_string());
    topology.end()?;
    Ok(PairReport { near, far, counters, settings })
}

fn start_far(topology: &Topology, line: &str) -> Result<Child, Os> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::null());
    topology.spawn(command, Placement::at(Side::Far))
}

fn start_near(topology: &Topology, words: &[OsString]) -> Result<Child, Os> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Os::new("start nothing", io::ErrorKind::InvalidInput.into())
            .with_remedy("give the near command behind --"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let placement = Placement { group: Group::Shared, ..Placement::at(Side::Near) };
    topology.spawn(command, placement)
}

/// Waits until far is ready, the link already carrying: far may need near's namespace to answer.
fn await_far(
    topology: &Topology,
    forwarder: &mut Forwarder<'_>,
    far: &mut Child,
    ready: Ready,
) -> Result<(), Os> {
    let end = clock::now() + ready.limit();
    while !is_ready(topology, ready)? {
        let now = clock::now();
        if now >= end {
            return match ready {
                Ready::AtOnce | Ready::Listening(_) => Ok(()),
                Ready::Port(port, _) => Err(late(port)),
            };
        }
        let look: Instant = (now + LOOK).min(end);
        let stop = Stop { readable: &[far.as_fd()], deadline: Some(look) };
        if forwarder.run(stop)? != Stopped::Deadline {
            // A far that has gone may have started a daemon; only a failure is certain.
            if far.wait(None)?.is_some_and(|exit| !exit.status.success()) {
                return Err(Os::new(
                    "keep the far program running",
                    io::ErrorKind::BrokenPipe.into(),
                )
                .with_remedy("run it by itself to see why it ends"));
            }
            return Ok(());
        }
    }
    Ok(())
}

fn late(port: u16) -> Os {
    Os::new(format!("wait for far to listen on port {port}"), io::ErrorKind::TimedOut.into())
        .with_remedy("check the port, or raise the time to wait")
}

fn is_ready(topology: &Topology, ready: Ready) -> Result<bool, Os> {
    match ready {
        Ready::AtOnce => Ok(true),
        Ready::Listening(_) => Ok(!topology.within(Side::Far, bound_ports)?.is_empty()),
        Ready::Port(port, _) => Ok(topology.within(Side::Far, bound_ports)?.contains(&port)),
    }
}
