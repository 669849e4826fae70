//! The visit before a trial's work: what a contender's temperature asks for is made within the trial, and is left out of
//! its figures.

use super::job::NearJob;
use super::near::{Said, drive};
use super::task::Task;
use crate::error::CliError;
use client::{Bodies, ClientConfig, FetchList, FetchSpec, OpenFirst, Work};
use page::Url;
use proto::Method;
use std::collections::{BTreeSet, HashSet};
use study::experiment::Temperature;
use trace::{Flow, PacketRecord};
use unit::Instant;

/// What the client does before its work.
#[derive(Debug, Clone)]
pub(super) struct EarlierVisit {
    temperature: Temperature,
    fetches: Vec<FetchSpec>,
}

impl EarlierVisit {
    /// As a job's contender asks for it: as many connections as the work may have.
    pub(super) fn of(job: &NearJob) -> Result<Self, CliError> {
        let contender = &job.contender;
        let temperature = contender.settings.temperature;
        let connections = match contender.transport.protocol().multiplexes() {
            true => 1,
            false => contender.settings.connections as usize,
        };
        let urls = match temperature {
            Temperature::Cold => BTreeSet::new(),
            Temperature::Resumed | Temperature::Early | Temperature::Open => roots(&job.task)?,
        };
        let head = |url: &String| -> Result<FetchSpec, CliError> {
            let url = url.parse().map_err(CliError::failed)?;
            Ok(FetchSpec { method: Method::Head, ..FetchSpec::get(url) })
        };
        let each = urls.iter().flat_map(|url| std::iter::repeat_n(url, connections));
        Ok(Self { temperature, fetches: each.map(head).collect::<Result<_, _>>()? })
    }

    /// None: the first handshake with each host is a full one, unless there are sessions already.
    pub(super) fn none() -> Self {
        Self { temperature: Temperature::Cold, fetches: Vec::new() }
    }

    /// Makes the visit, then does `work` to its end. Tells when the work began where the visit's connections were others.
    pub(super) fn drive<W: Work>(
        self,
        config: ClientConfig,
        work: W,
    ) -> Result<(W, Said), CliError> {
        match self.temperature {
            Temperature::Cold => drive(config, work),
            Temperature::Resumed | Temperature::Early => {
                let nothing = FetchList::new([], Bodies::Discard);
                let (visit, _) = drive(config.clone(), OpenFirst::new(self.fetches, nothing))?;
                visit.into_work().map_err(failed)?;
                let began = os::clock::now();
                let (work, mut said) = drive(config, work)?;
                said.began = Some(began);
                Ok((work, said))
            }
            Temperature::Open => {
                let (work, said) = drive(config, OpenFirst::new(self.fetches, work))?;
                Ok((work.into_work().map_err(failed)?, said))
            }
        }
    }
}

/// The root of each origin that a task asks.
fn roots(task: &Task) -> Result<BTreeSet<String>, CliError> {
    let root = |url: &Url| Url { path: "/".to_owned(), ..url.clone() }.to_string();
    Ok(match task {
        Task::Page { page, .. } => page.resources().iter().map(|one| root(&one.url)).collect(),
        Task::Calls { calls, .. } => calls.iter().map(|call| root(&call.url)).collect(),
        Task::Download { .. } | Task::Echo(_) | Task::Stream(_) => {
            task.hosts().into_iter().map(|host| format!("http://{host}/")).collect()
        }
    })
}

fn failed(reason: String) -> CliError {
    CliError::failed(format!("the visit before the work failed: {reason}"))
}

/// Takes the packets of a view that began at `began` out of the link's log: all of flows that began since.
pub(super) fn forget_since(packets: &mut Vec<PacketRecord>, began: Instant) {
    let earlier = flows_before(packets, began);
    packets.retain(|packet| is_of(packet, &earlier, began));
}

/// Takes the packets of a visit that ended before `began` out of the link's log: all of flows that began earlier.
pub(super) fn forget(packets: &mut Vec<PacketRecord>, began: Instant) {
    let earlier = flows_before(packets, began);
    packets.retain(|packet| !is_of(packet, &earlier, began));
}

fn flows_before(packets: &[PacketRecord], began: Instant) -> HashSet<Flow> {
    let earlier = packets.iter().filter(|packet| packet.at < began);
    earlier.filter_map(|packet| packet.flow).collect()
}

/// Whether a packet belongs to `earlier` flows, or was sent before `began` where it has no flow.
fn is_of(packet: &PacketRecord, earlier: &HashSet<Flow>, began: Instant) -> bool {
    match packet.flow {
        Some(flow) => earlier.contains(&flow),
        None => packet.at < began,
    }
}
