//! Two programs of the user, at the two ends of a link. The one rule: when the near program ends, all ends.

use crate::clock;
use crate::error::Os;
use crate::net::counters::LinkCounters;
use crate::net::forwarder::{ForwardSpec, Forwarder, Observers, Stop, Stopped};
use crate::net::readiness::WaitFor;
use crate::net::settings::Settings;
use crate::net::topology::{Placement, Side, Topology, TopologySpec};
use crate::process::{Child, Exit, Group};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;
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
    /// On which CPUs the two programs run; none given: where we run.
    pub cpus: Vec<usize>,
    /// What to wait for between the two.
    pub ready: WaitFor,
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

/// How soon far is looked at, then twice as late each time up to the second one: a look costs the kernel
/// a walk over its socket tables, which are large on large machines.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(32)];
/// No packet for so long, and a round trip more: nothing is under way any more. Below TCP's least
/// retransmission time-out (200 ms) would miss a tail that was lost.
const QUIET: Duration = Duration::from_millis(250);
/// How long what near has left behind may take to arrive.
const LINGER: Duration = Duration::from_secs(30);
/// How long far may take to end when asked to.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the two programs. The process must have one thread; it is moved into namespaces for good, so it
/// is one that was started for this. Near has our standard streams; far has no input, and all its output goes to our
/// standard error, so that near's can be piped on.
pub fn run_pair(spec: &PairSpec, observers: Observers<'_>) -> Result<PairReport, Os> {
    let deadline = spec.timeout.map(|timeout| clock::now() + timeout);
    let topology = Topology::build(&spec.topology)?;
    let mut forwarder = Forwarder::new(&topology, &spec.forward, observers)?;
    let mut far =
        spec.far.as_ref().map(|line| start_far(&topology, line, &spec.cpus)).transpose()?;
    if let Some(far) = &mut far {
        await_far(&topology, &mut forwarder, far, spec.ready)?;
    }
    let mut near = start_near(&topology, spec)?;
    forwarder.run(Stop { readable: &[near.as_fd()], deadline })?;
    let ended = near.wait(Some(Duration::ZERO))?;
    near.end(GRACE)?;
    let far = match far {
        Some(far) => end_far(&mut forwarder, far, spec)?,
        None => None,
    };
    let counters = forwarder.counters();
    let mut settings = topology.settings().clone();
    settings.extend(forwarder.settings());
    Ok(PairReport { near: ended, far, counters, settings })
}

/// Lets what near has sent arrive, then ends far; how it ended where it did so by itself. A program
/// may close its connection and end while most of its bytes are still in its kernel.
fn end_far(
    forwarder: &mut Forwarder<'_>,
    mut far: Child,
    spec: &PairSpec,
) -> Result<Option<Exit>, Os> {
    let end = clock::now() + LINGER;
    let quiet = spec.forward.link.rtt() + QUIET;
    loop {
        let before = forwarder.progress();
        let deadline = Some((clock::now() + quiet).min(end));
        let stopped = forwarder.run(Stop { readable: &[far.as_fd()], deadline })?;
        if stopped != Stopped::Deadline || forwarder.progress() == before || clock::now() >= end {
            break;
        }
    }
    let ended = far.wait(Some(Duration::ZERO))?;
    far.end(GRACE)?;
    Ok(ended)
}

fn start_far(topology: &Topology, line: &str, cpus: &[usize]) -> Result<Child, Os> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::null()).stdout(io::stderr());
    topology.spawn(command, Placement { cpus: cpus.to_vec(), ..Placement::at(Side::Far) })
}

fn start_near(topology: &Topology, spec: &PairSpec) -> Result<Child, Os> {
    let Some((program, arguments)) = spec.near.split_first() else {
        return Err(Os::new("start nothing", io::ErrorKind::InvalidInput.into())
            .with_remedy("give the near command behind --"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let cpus = spec.cpus.clone();
    let placement = Placement { group: Group::Shared, cpus, ..Placement::at(Side::Near) };
    topology.spawn(command, placement)
}

/// Waits until far is ready, the link already carrying: far may need near's namespace to answer.
fn await_far(
    topology: &Topology,
    forwarder: &mut Forwarder<'_>,
    far: &mut Child,
    ready: WaitFor,
) -> Result<(), Os> {
    let end = clock::now() + ready.limit();
    let [mut pause, longest] = LOOK;
    while !is_ready(topology, ready)? {
        let now = clock::now();
        if now >= end {
            return match ready {
                WaitFor::Nothing | WaitFor::Listening(_) => Ok(()),
                WaitFor::Port(port, _) => Err(late(port)),
            };
        }
        let look: Instant = (now + pause).min(end);
        pause = longest.min(pause * 2);
        let stop = Stop { readable: &[far.as_fd()], deadline: Some(look) };
        if forwarder.run(stop)? != Stopped::Deadline {
            // A far that has gone may have started a daemon; only a failure is certain.
            return match far.wait(None)? {
                Some(exit) if !exit.status.success() => Err(Os::new(
                    "keep the far program running",
                    io::Error::other(format!("it ended at once ({})", exit.status)),
                )
                .with_remedy("run it by itself to see why it ends")),
                _ => Ok(()),
            };
        }
    }
    Ok(())
}

fn late(port: u16) -> Os {
    Os::new(format!("wait for far to listen on port {port}"), io::ErrorKind::TimedOut.into())
        .with_remedy("check the port, or raise the time to wait")
}

fn is_ready(topology: &Topology, ready: WaitFor) -> Result<bool, Os> {
    match ready {
        WaitFor::Nothing => Ok(true),
        WaitFor::Listening(_) => Ok(!topology.bound_ports(Side::Far)?.is_empty()),
        WaitFor::Port(port, _) => Ok(topology.bound_ports(Side::Far)?.contains(&port)),
    }
}
