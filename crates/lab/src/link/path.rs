//! What is between the two ends of a trial: an emulated link, or the loopback device that both share. Either way
//! there is a packet log.

use crate::inputs::links;
use link::LinkSpec;
use os::error::Os;
use os::net::{
    Core, ForwardSpec, Forwarder, Frames, LinkCounters, Observers, Reception, Segmentation,
    Settings, Stop, Stopped, Topology, TopologySpec, Watch,
};
use os::process::{Cpu, CpuSet};
use std::collections::BTreeSet;
use std::time::Duration;
use study::experiment::LinkChoice;
use study::plan::Placement;
use trace::PacketRecord;

/// The longest that the last packets of a client are waited for.
const SETTLE: Duration = Duration::from_secs(2);

/// The CPU of each part of a trial that runs alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialCpus {
    pub(crate) link: Cpu,
    pub(crate) client: Cpu,
    pub(crate) origin: Cpu,
}

impl TrialCpus {
    /// What `placement` means among the CPUs that are `allowed`; None where the kernel does not say which they are.
    pub(crate) fn choose(placement: &Placement, allowed: &CpuSet) -> Option<Self> {
        let cpu = |index: u32| allowed.nth(index as usize);
        Some(Self {
            link: cpu(placement.link)?,
            client: cpu(placement.client)?,
            origin: cpu(placement.origin)?,
        })
    }

    /// Whether the link has its CPU for itself, and where the kernel receives for the ends.
    pub(crate) fn reception(
        &self,
        link: &LinkSpec,
        segmentation: Segmentation,
    ) -> (Core, Option<Reception>) {
        if self.link == self.client || self.link == self.origin {
            return (Core::Shared, None);
        }
        let ends = Reception { near: self.client, far: self.origin };
        (Core::Own, Reception::over(link, segmentation, ends))
    }
}

/// What carries the packets of a trial, or looks on while they pass.
pub(crate) enum NetworkPath<'a> {
    /// A link between two namespaces. In a box, for its buffers are many.
    Link(Box<Forwarder<'a>>),
    /// One namespace.
    Loopback(Box<Watch<'a>>),
}

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSpec<'s> {
    /// As the experiment names it.
    pub(crate) link: &'s LinkChoice,
    /// How packets are forwarded, where it is a link.
    pub(crate) forward: &'s ForwardSpec,
    /// Where far listens: over loopback only their packets are the trial's.
    pub(crate) ports: &'s BTreeSet<u16>,
}

/// Who is notified of packets.
pub(crate) struct PathObservers<'a> {
    /// Takes the record of each.
    pub(crate) record: &'a mut dyn FnMut(PacketRecord),
    /// Sees each at both ends.
    pub(crate) frames: Option<Frames<'a>>,
}

impl<'a> NetworkPath<'a> {
    /// The namespaces of a trial over `link`.
    pub(crate) fn topology(link: &LinkChoice, spec: &TopologySpec) -> Result<Topology, Os> {
        match links::is_loopback(link) {
            true => Topology::build_loopback(spec),
            false => Topology::build(spec),
        }
    }

    /// Opens what is between the ends.
    pub(crate) fn open(
        spec: PathSpec<'_>,
        topology: &Topology,
        observers: PathObservers<'a>,
    ) -> Result<Self, Os> {
        let PathObservers { record, frames } = observers;
        Ok(match links::is_loopback(spec.link) {
            true => {
                let watch = Watch::new(topology, spec.ports.clone(), record)?;
                Self::Loopback(Box::new(match frames {
                    Some(frames) => watch.with_frames(frames),
                    None => watch,
                }))
            }
            false => {
                let observers = Observers { records: Some(record), frames };
                Self::Link(Box::new(Forwarder::new(topology, spec.forward, observers)?))
            }
        })
    }

    /// What was counted so far.
    pub(crate) fn counters(&mut self) -> LinkCounters {
        match self {
            Self::Link(forwarder) => forwarder.counters(),
            Self::Loopback(watch) => watch.counters(),
        }
    }

    /// Packets that passed and are not in the log. On a link they did not pass, and its counters have them.
    pub(crate) fn missed(&mut self) -> u64 {
        match self {
            Self::Link(_) => 0,
            Self::Loopback(watch) => watch.missed(),
        }
    }

    /// How it gets at packets.
    pub(crate) fn settings(&self) -> Settings {
        match self {
            Self::Link(forwarder) => forwarder.settings(),
            Self::Loopback(watch) => watch.settings(),
        }
    }

    /// Lets what near has sent arrive at far. Over loopback it has.
    pub(crate) fn settle(&mut self) {
        match self {
            Self::Link(forwarder) => forwarder.settle(os::clock::now() + SETTLE),
            Self::Loopback(_) => {}
        }
    }

    /// Passes packets on until `stop`.
    pub(crate) fn run_until(&mut self, stop: Stop<'_>) -> Result<Stopped, Os> {
        match self {
            Self::Link(forwarder) => forwarder.run(stop),
            Self::Loopback(watch) => watch.run(stop),
        }
    }
}
