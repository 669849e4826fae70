//! `wirelap gauge` (hidden): one measurement of a calibration. It makes the two ends, starts a probe at each, carries
//! their packets where there is a link, and passes on what the probes report.

use super::probe::{ProbeJob, ProbeReport};
use crate::error::CliError;
use crate::link::path::TrialCpus;
use os::net::{
    Core, ForwardSpec, Forwarder, Observers, Placement, Reception, Segmentation, Side, Stop,
    SuperPackets, Topology, TopologySpec, Wiring,
};
use os::process::{Child, CpuSet, Exit};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;
use unit::Seed;

/// The seed of every gauge, so that losses can be compared with the plan.
pub(super) const SEED: u64 = 1;

/// What a measurement is of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GaugeJob {
    /// What is between the ends.
    pub(super) path: Path,
    /// What far does; it is ready before near begins.
    pub(super) far: Option<ProbeJob>,
    /// What near does.
    pub(super) near: ProbeJob,
}

/// What is between the ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Path {
    /// A veth pair.
    #[serde(with = "super_packets")]
    Bare(SuperPackets),
    /// A link as text. With `split`, super-packets are split even where the link does not need it.
    Link { text: String, split: bool },
}

impl Path {
    /// A link as trials have it.
    pub(super) fn link(text: &str) -> Self {
        Self::Link { text: text.to_owned(), split: false }
    }

    /// The link's spec, and where its ends receive, as in a trial that runs alone; None without a link.
    fn forward(
        &self,
        cpus: Option<TrialCpus>,
    ) -> Result<Option<(ForwardSpec, Option<Reception>)>, CliError> {
        let Self::Link { text, split } = self else { return Ok(None) };
        let link = link::LinkSpec::parse(text, link::no_traces).map_err(CliError::failed)?;
        let segmentation =
            if *split { Segmentation::Split } else { Segmentation::KeepWhereUnlimited };
        let (core, reception) =
            cpus.map_or((Core::Shared, None), |cpus| cpus.reception(&link, segmentation));
        Ok(Some((ForwardSpec { link, seed: Seed(SEED), segmentation, core }, reception)))
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bare(_) => f.write_str("a bare veth pair"),
            Self::Link { text, .. } => write!(f, "the link {text}"),
        }
    }
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GaugeReport {
    /// Near's word.
    pub(super) near: ProbeReport,
    /// Far's.
    pub(super) far: Option<ProbeReport>,
    /// What the link did for it; None without a link.
    pub(super) link: Option<LinkWork>,
}

/// What a link's thread did.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct LinkWork {
    /// Its processor time.
    pub(super) cpu: Duration,
    /// The 99th percentile of how late packets left.
    pub(super) late_p99: Duration,
}

/// Longer than any probe takes.
const LIMIT: Duration = Duration::from_secs(30);
const END: Duration = Duration::from_millis(500);

/// Does the job.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    os::process::die_with_parent();
    let Some(job) = crate::console::read_job::<GaugeJob>()? else { return Ok(ExitCode::FAILURE) };
    let wiring = match &job.path {
        Path::Bare(super_packets) => Wiring::Bare(*super_packets),
        Path::Link { .. } => Wiring::Link,
    };
    // CPUs as in trials: the link has a core of its own if there are two.
    let placement = study::plan::Placement::on(crate::machine::cores());
    let cpus = TrialCpus::choose(&placement, &CpuSet::allowed());
    cpus.map_or(CpuSet::any(), |cpus| cpus.link.into()).pin()?;
    let forward = job.path.forward(cpus)?;
    let reception = forward.as_ref().and_then(|(_, reception)| *reception);
    let spec = TopologySpec { wiring, reception, ..TopologySpec::default() };
    let topology = Topology::build(&spec)?;
    let mut forwarding = Forwarding::new(&topology, forward.map(|(spec, _)| spec))?;
    let ends =
        Ends { topology: &topology, cpus: cpus.map_or(CpuSet::any(), |cpus| cpus.client.into()) };
    let far = match &job.far {
        Some(probe) => Some(ends.start(Side::Far, probe, &mut forwarding)?),
        None => None,
    };
    let spent = || {
        let usage = os::process::own_usage();
        usage.user + usage.system
    };
    let before = spent();
    let mut near = ends.start(Side::Near, &job.near, &mut forwarding)?;
    let (near, far) = (
        near.report(&mut forwarding)?,
        far.map(|mut far| far.report(&mut forwarding)).transpose()?,
    );
    let link =
        forwarding.lateness_p99().map(|late_p99| LinkWork { cpu: spent() - before, late_p99 });
    let report = GaugeReport { near, far, link };
    crate::console::print_job(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// What moves packets while a probe is waited for.
enum Forwarding {
    /// The kernel does.
    Kernel,
    /// We do.
    Link(Box<Forwarder<'static>>),
}

impl Forwarding {
    fn new(topology: &Topology, forward: Option<ForwardSpec>) -> Result<Self, CliError> {
        let Some(spec) = forward else { return Ok(Self::Kernel) };
        let forwarder = Forwarder::new(topology, &spec, Observers::default())?;
        Ok(Self::Link(Box::new(forwarder)))
    }

    /// The 99th percentile of the lateness of packets; None without a link.
    fn lateness_p99(&mut self) -> Option<Duration> {
        match self {
            Self::Kernel => None,
            Self::Link(forwarder) => Some(forwarder.counters().lateness.quantile_bound(0.99)),
        }
    }

    /// Carries until there is something to read.
    fn await_readable(&mut self, pipe: &ChildStdout) -> Result<(), CliError> {
        // A read from the pipe blocks. Only a link needs us meanwhile.
        let Self::Link(forwarder) = self else { return Ok(()) };
        let stop = Stop { readable: &[pipe.as_fd()], deadline: Some(os::clock::now() + LIMIT) };
        forwarder.run(stop)?;
        match os::process::is_readable(pipe.as_fd())? {
            true => Ok(()),
            false => Err(CliError::failed("a probe did not answer in time")),
        }
    }
}

struct Ends<'a> {
    topology: &'a Topology,
    cpus: CpuSet,
}

/// A probe at work.
struct Probe {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Ends<'_> {
    /// Starts a probe and waits for its word that it is ready.
    fn start(
        &self,
        side: Side,
        job: &ProbeJob,
        forwarding: &mut Forwarding,
    ) -> Result<Probe, CliError> {
        let program = std::env::current_exe().map_err(CliError::failed)?;
        let mut command = Command::new(program);
        command.arg("probe").stdin(Stdio::piped()).stdout(Stdio::piped());
        let placement = Placement { cpus: self.cpus.clone(), ..Placement::at(side) };
        let mut child = self.topology.spawn(command, placement)?;
        if let Some(mut stdin) = child.stdin.take() {
            let text = serde_json::to_vec(job).map_err(CliError::failed)?;
            // One that died at once is recognised by its empty output.
            let _ = stdin.write_all(&text);
        }
        let Some(output) = child.stdout.take() else {
            return Err(CliError::failed("a probe has no standard output"));
        };
        let mut probe = Probe { child, output: BufReader::new(output) };
        forwarding.await_readable(probe.output.get_ref())?;
        let mut ready = String::new();
        probe.output.read_line(&mut ready).map_err(CliError::failed)?;
        if ready.is_empty() {
            return Err(unanswered(&probe.child.end(END)?));
        }
        Ok(probe)
    }
}

impl Probe {
    fn report(&mut self, forwarding: &mut Forwarding) -> Result<ProbeReport, CliError> {
        if self.output.buffer().is_empty() {
            forwarding.await_readable(self.output.get_ref())?;
        }
        let mut text = Vec::new();
        self.output.read_to_end(&mut text).map_err(CliError::failed)?;
        let exit = self.child.end(END)?;
        serde_json::from_slice(&text).map_err(|_| unanswered(&exit))
    }
}

/// A probe has ended, and not said all that it had to.
fn unanswered(exit: &Exit) -> CliError {
    CliError::failed(format!("a probe ended without output ({})", exit.status))
}

/// [`SuperPackets`] as a job states it.
mod super_packets {
    use os::net::SuperPackets;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &SuperPackets, s: S) -> Result<S::Ok, S::Error> {
        (*value == SuperPackets::Kept).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<SuperPackets, D::Error> {
        Ok(if bool::deserialize(d)? { SuperPackets::Kept } else { SuperPackets::Off })
    }
}
