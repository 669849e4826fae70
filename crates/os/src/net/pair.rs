//! Two programs of the user, at the two ends of a link. The one rule: when the near program ends, everything ends.

use crate::clock;
use crate::error::Os;
use crate::net::counters::LinkCounters;
use crate::net::forwarder::{ForwardSpec, Forwarder, Observers, Stop, Stopped};
use crate::net::readiness::WaitFor;
use crate::net::settings::Settings;
use crate::net::topology::{Placement, Side, Topology, TopologySpec};
use crate::process::{Child, CpuSet, EndSignal, Exit, Group};
use crate::signal::Interrupts;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::time::Duration;
use unit::{Instant, format_duration};

/// Which programs, across what.
#[derive(Debug, Clone)]
pub struct PairSpec {
    /// The ends.
    pub topology: TopologySpec,
    /// The link between them.
    pub forward: ForwardSpec,
    /// The far program, a command line for `sh`; None where only near runs.
    pub far: Option<String>,
    /// The near program and its arguments. Where empty, the link stays until it is interrupted.
    pub near: Vec<OsString>,
    /// The CPUs that the two programs run on; any: those that we run on.
    pub cpus: CpuSet,
    /// What to wait for between the two.
    pub ready: WaitFor,
    /// When to give up; None for never.
    pub timeout: Option<Duration>,
}

/// Starts helper processes that must run as long as the near program. Called once, when far is ready. If a helper ends
/// by itself, the run fails.
pub type StartHelpers<'a> = &'a mut dyn FnMut(&Topology) -> Result<Vec<Child>, Os>;

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct PairReport {
    /// What ended it.
    pub end: PairEnd,
    /// How far ended, where it did before near.
    pub far: Option<Exit>,
    /// What was still on its way when the wait for near's bytes was cut.
    pub left: Left,
    /// What the link counted.
    pub counters: LinkCounters,
    /// The kernel settings of both ends, read back.
    pub settings: Settings,
}

/// What ended a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairEnd {
    /// The near program ended, in this way.
    Near(Exit),
    /// Ctrl-C before the near program started, or where there is none.
    Interrupted,
    /// The time was up.
    TimedOut,
}

/// What was still on its way when the wait for near's bytes was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing; or nobody waited for it to the end: Ctrl-C came, or far failed.
    Nothing,
    /// Packets: they still came or were under way after this time, the longest that is waited.
    Packets(Duration),
}

/// How soon far is first polled. Each pause is twice the one before, up to the second value. A poll walks the kernel's
/// socket tables, which are large on large machines.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(32)];
/// After this time without a packet on the link, and one round trip more, nothing is on its way. A shorter time than TCP's
/// least retransmission time-out (200 ms) would miss a lost last segment.
const QUIET: Duration = Duration::from_millis(250);
/// How long the bytes that near left unsent may take to arrive.
const LINGER: Duration = Duration::from_secs(30);
/// How long far may take to end after it was asked to: longer than `wirelap serve` lets its connections drain.
const GRACE: Duration = Duration::from_secs(12);

/// Runs the two programs. The process must have one thread; it is moved into namespaces for good, so it
/// is one that was started for this. Near has our standard streams; far has no input, and all its output goes to our
/// standard error, so that near's can be piped on.
///
/// Ctrl-C is the near program's while that runs. Before and after, and where there is no near program, it ends the run.
pub fn run_pair(
    spec: &PairSpec,
    observers: Observers<'_>,
    start_helpers: StartHelpers<'_>,
) -> Result<PairReport, Os> {
    let deadline = spec.timeout.map(|timeout| clock::now() + timeout);
    let taken = match spec.near.is_empty() {
        true => Interrupts::take_unignored(),
        false => Interrupts::take_keyboard(),
    };
    let interrupts = taken.map_err(|source| Os::new("take over Ctrl-C", source))?;
    let topology = Topology::build(&spec.topology)?;
    let forwarder = Forwarder::new(&topology, &spec.forward, observers)?;
    let mut run = Run { spec, topology: &topology, forwarder, interrupts: &interrupts, deadline };
    let mut far =
        spec.far.as_ref().map(|line| start_far(&topology, line, &spec.cpus)).transpose()?;
    if let Some(far) = &mut far {
        run.await_far(far)?;
    }
    let mut helpers = Vec::new();
    let end = if interrupts.count() > 0 {
        PairEnd::Interrupted
    } else {
        helpers = start_helpers(&topology)?;
        match spec.near.is_empty() {
            true => run.await_interrupt(far.as_mut(), &helpers)?,
            false => run.run_near(&helpers)?,
        }
    };
    let mut left = Left::Nothing;
    if matches!(end, PairEnd::Near(_)) && (far.is_some() || !helpers.is_empty()) {
        left = run.settle(far.as_mut())?;
    }
    let far = far.map(end_far).transpose()?.flatten();
    let counters = run.forwarder.counters();
    let mut settings = topology.settings().clone();
    settings.extend(run.forwarder.settings());
    Ok(PairReport { end, far, left, counters, settings })
}

/// The link under way.
struct Run<'a, 'o> {
    spec: &'a PairSpec,
    topology: &'a Topology,
    forwarder: Forwarder<'o>,
    interrupts: &'a Interrupts,
    deadline: Option<Instant>,
}

impl Run<'_, '_> {
    /// Waits until far is ready or somebody interrupts. The link already carries packets: far may need near's namespace
    /// to answer.
    fn await_far(&mut self, far: &mut Child) -> Result<(), Os> {
        let ready = self.spec.ready;
        let end = clock::now() + ready.limit();
        let [mut pause, longest] = LOOK;
        let mut far = Some(far);
        while !is_ready(self.topology, ready)? {
            let now = clock::now();
            if now >= end {
                return match ready {
                    WaitFor::Nothing | WaitFor::Listening(_) => Ok(()),
                    WaitFor::Port(port, wait) => Err(late(port, wait)),
                };
            }
            let look: Instant = (now + pause).min(end);
            pause = longest.min(pause * 2);
            let mut readable = vec![self.interrupts.as_fd()];
            readable.extend(far.iter().map(|far| far.as_fd()));
            match self.forwarder.run(Stop { readable: &readable, deadline: Some(look) })? {
                Stopped::Deadline => {}
                Stopped::Readable(0) => return Ok(()),
                // The daemon that it may have left behind is waited for as far itself would be.
                Stopped::Readable(_) => far = far.take().map(far_goes_on).transpose()?.flatten(),
            }
        }
        Ok(())
    }

    /// Runs the near program to its end.
    fn run_near(&mut self, helpers: &[Child]) -> Result<PairEnd, Os> {
        let mut near = start_near(self.topology, self.spec)?;
        if self.interrupts.count() > 0 {
            // The interrupt came while the program was being started, and may not have reached it.
            near.end_by(EndSignal::Interrupt, GRACE)?;
            return Ok(PairEnd::Interrupted);
        }
        let readable: Vec<_> =
            std::iter::once(near.as_fd()).chain(helpers.iter().map(AsFd::as_fd)).collect();
        let stopped = self.forwarder.run(Stop { readable: &readable, deadline: self.deadline })?;
        let ended = near.wait(Some(Duration::ZERO))?;
        near.end(GRACE)?;
        match (ended, stopped) {
            (Some(exit), _) => Ok(PairEnd::Near(exit)),
            (None, Stopped::Deadline) => Ok(PairEnd::TimedOut),
            (None, Stopped::Readable(_)) => Err(helper_ended()),
        }
    }

    /// Carries until somebody interrupts.
    fn await_interrupt(
        &mut self,
        far: Option<&mut Child>,
        helpers: &[Child],
    ) -> Result<PairEnd, Os> {
        let mut far = far;
        loop {
            let mut readable: Vec<BorrowedFd<'_>> = vec![self.interrupts.as_fd()];
            readable.extend(helpers.iter().map(AsFd::as_fd));
            readable.extend(far.iter().map(|far| far.as_fd()));
            let stop = Stop { readable: &readable, deadline: self.deadline };
            match self.forwarder.run(stop)? {
                Stopped::Deadline => return Ok(PairEnd::TimedOut),
                Stopped::Readable(0) => return Ok(PairEnd::Interrupted),
                Stopped::Readable(number) if number <= helpers.len() => return Err(helper_ended()),
                Stopped::Readable(_) => far = far.take().map(far_goes_on).transpose()?.flatten(),
            }
        }
    }

    /// Lets the bytes that near has sent arrive. A program may close its connection and end while most of its bytes are
    /// still in its kernel. Ctrl-C ends the wait, and so does a far that fails.
    fn settle(&mut self, far: Option<&mut Child>) -> Result<Left, Os> {
        // What came before was the near program's.
        self.interrupts.clear();
        let end = clock::now() + LINGER;
        let quiet = self.spec.forward.link.rtt() + QUIET;
        let mut far = far;
        loop {
            let before = self.forwarder.progress();
            let mut readable = vec![self.interrupts.as_fd()];
            readable.extend(far.iter().map(|far| far.as_fd()));
            let deadline = Some((clock::now() + quiet).min(end));
            match self.forwarder.run(Stop { readable: &readable, deadline })? {
                Stopped::Readable(0) => return Ok(Left::Nothing),
                Stopped::Readable(_) => match far.take().map(far_goes_on).transpose() {
                    Ok(ended) => far = ended.flatten(),
                    Err(_) => return Ok(Left::Nothing),
                },
                Stopped::Deadline => {
                    // A packet may be on the link for long: behind a slow rate, in an outage of a trace, held back.
                    let is_quiet =
                        self.forwarder.progress() == before && self.forwarder.under_way() == 0;
                    if is_quiet {
                        return Ok(Left::Nothing);
                    }
                    if clock::now() >= end {
                        return Ok(Left::Packets(LINGER));
                    }
                }
            }
        }
    }
}

/// Ends far. Returns its exit status where it ended by itself.
fn end_far(mut far: Child) -> Result<Option<Exit>, Os> {
    let ended = far.wait(Some(Duration::ZERO))?;
    far.end(GRACE)?;
    Ok(ended)
}

/// Far has ended. A failure ends the run. After success it may have left a daemon behind: None, for there is no process
/// to wait for.
fn far_goes_on(far: &mut Child) -> Result<Option<&mut Child>, Os> {
    match far.wait(None)? {
        Some(exit) if !exit.status.success() => Err(Os::new(
            "keep the far program running",
            io::Error::other(format!("it ended ({})", exit.status)),
        )
        .with_remedy("run it by itself to see why it ends")),
        _ => Ok(None),
    }
}

fn helper_ended() -> Os {
    Os::new("keep the link's relays running", io::Error::other("one ended by itself"))
}

fn start_far(topology: &Topology, line: &str, cpus: &CpuSet) -> Result<Child, Os> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::null()).stdout(io::stderr());
    topology.spawn(command, Placement { cpus: cpus.clone(), ..Placement::at(Side::Far) })
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

fn late(port: u16, wait: Duration) -> Os {
    let wait = format_duration(wait);
    let what = format!("wait {wait} for far to listen on port {port}");
    Os::new(what, io::ErrorKind::TimedOut.into())
        .with_remedy("check the port, and whether the far program listens there by then")
}

fn is_ready(topology: &Topology, ready: WaitFor) -> Result<bool, Os> {
    match ready {
        WaitFor::Nothing => Ok(true),
        WaitFor::Listening(_) => Ok(!topology.bound_ports(Side::Far)?.is_empty()),
        WaitFor::Port(port, _) => Ok(topology.bound_ports(Side::Far)?.contains(&port)),
    }
}
