//! The first part of a trial: everything that can be settled before a process starts.

use super::job::ServerTrust;
use super::outcome::failed;
use super::service;
use super::setup::Setup;
use super::subject_client::{SubjectClient, Trust};
use super::task::Task;
use super::{Network, Trial, first_visit, run};
use crate::inputs::links;
use crate::link::path::TrialCpus;
use crate::trial::job::TrialOrder;
use os::net::{Core, ForwardSpec, ProxySpec, Segmentation, TopologySpec};
use os::process::CpuSet;
use secure::{Authority, AuthoritySpec};
use study::experiment::{RunningService, Tls};
use study::outcome::Outcome;
use unit::Seed;

impl<'o> Trial<'o> {
    /// Reads what `order` names. An error is how the trial ends.
    pub(super) fn prepare(order: &'o TrialOrder) -> Result<Self, Outcome> {
        let setup = Setup::of(order)?;
        let network = Network::of(order, &setup)?;
        let authority = Authority::new(AuthoritySpec::default()).map_err(failed)?;
        let trust = match order.plan.cell.contender.service() {
            Some(service) => {
                Trust { root: subject_trusts(order, service, &setup.task)?, public_key: None }
            }
            None => Trust {
                root: authority.root_pem().text.to_vec(),
                public_key: Some(authority.public_key_digest()),
            },
        };
        let subject = SubjectClient::prepare(order, &setup, trust)?;
        Ok(Self { order, setup, network, authority, subject })
    }
}

/// The authorities in PEM by which another's client judges the certificate of a service that already runs. Refuses what
/// such a client cannot be given.
fn subject_trusts(
    order: &TrialOrder,
    service: &RunningService,
    task: &Task,
) -> Result<Vec<u8>, Outcome> {
    let contender = &order.plan.cell.contender;
    let Some(client) = SubjectClient::of_contender(contender, task) else { return Ok(Vec::new()) };
    let unable = |reason: String, remedy: &str| {
        Err(Outcome::Unsupported { reason, remedy: remedy.to_owned() })
    };
    let client = client.name;
    if service.is_called_by_address() {
        return unable(
            format!("{client} would ask {} on its own side of the link", service.host()),
            "give the server a `name`, such as \"shop.test\"",
        );
    }
    if contender.tls == Tls::None {
        return Ok(Vec::new());
    }
    match service::trust(service, &order.inputs)? {
        (ServerTrust::Root, text) => Ok(text.into_bytes()),
        (ServerTrust::System | ServerTrust::Anyone, _) => unable(
            format!(
                "{client} is told one file of authorities to believe, and the server names none"
            ),
            "give the server `ca`, the PEM file of its authority",
        ),
    }
}

impl Network {
    fn of(order: &TrialOrder, setup: &Setup) -> Result<Self, Outcome> {
        let cell = &order.plan.cell;
        let link = links::link_spec(&cell.link, |file| order.inputs.join(file)).map_err(failed)?;
        let is_unlimited_download =
            matches!(setup.task, Task::Download { .. }) && link.is_unlimited();
        let link = first_visit::link_of(&cell.contender, link, links::is_loopback(&cell.link))?;
        let limits = !links::is_loopback(&cell.link) && !is_unlimited_download;
        // Whole frames are copied to us in any case.
        let segmentation = match order.capture {
            Some(_) => Segmentation::CopyWhereUnlimited,
            None => Segmentation::KeepWhereUnlimited,
        };
        let cpus = match run::is_pinned(&order.plan) {
            true => TrialCpus::choose(&order.plan.placement, &CpuSet::allowed()),
            false => None,
        };
        let (core, reception) =
            cpus.map_or((Core::Shared, None), |cpus| cpus.reception(&link, segmentation));
        let proxy = link.split_tcp.map(|split| ProxySpec { buffer: split.buffer });
        let topology = TopologySpec { reception, proxy, ..setup.topology(&cell.contender) };
        let seed = Seed(order.plan.seed);
        let forward = ForwardSpec { link, seed, segmentation, core };
        Ok(Self { topology, forward, cpus, limits })
    }
}
