//! The first part of a trial: everything that can be settled before a process starts.

use super::contender::lacks_machine;
use super::outcome::failed;
use super::setup::Setup;
use super::subject_client::SubjectClient;
use super::task::Task;
use super::{Network, Trial, run};
use crate::inputs::links;
use crate::link::path;
use crate::trial::job::TrialOrder;
use os::net::{Core, ForwardSpec, Segmentation, TopologySpec};
use secure::{Authority, AuthoritySpec};
use study::experiment::Contender;
use study::outcome::Outcome;
use unit::Seed;

impl<'o> Trial<'o> {
    /// Reads what `order` names. An error is how the trial ends.
    pub(super) fn prepare(order: &'o TrialOrder) -> Result<Self, Outcome> {
        let setup = Setup::of(order)?;
        let network = Network::of(order, &setup)?;
        speaks_own_transports(&order.plan.cell.contender, &setup.task)?;
        let authority = Authority::new(AuthoritySpec::default()).map_err(failed)?;
        let root = authority.root_pem().text.to_vec();
        let subject = SubjectClient::prepare(order, &setup.task, root)?;
        Ok(Self { order, setup, network, authority, subject })
    }
}

impl Network {
    fn of(order: &TrialOrder, setup: &Setup) -> Result<Self, Outcome> {
        let cell = &order.plan.cell;
        let link = links::link_spec(&cell.link, |file| order.inputs.join(file)).map_err(failed)?;
        let is_unlimited_download =
            matches!(setup.task, Task::Download { .. }) && link.is_unlimited();
        let limits = !links::is_loopback(&cell.link) && !is_unlimited_download;
        // Whole frames are copied to us in any case.
        let segmentation = match order.capture {
            Some(_) => Segmentation::CopyWhereUnlimited,
            None => Segmentation::KeepWhereUnlimited,
        };
        let (core, reception) = match run::is_pinned(&order.plan) {
            true => path::cores(&order.plan.placement, &link, segmentation),
            false => (Core::Shared, None),
        };
        let topology = TopologySpec { reception, ..setup.topology(&cell.contender) };
        let seed = Seed(order.plan.seed);
        Ok(Self { topology, forward: ForwardSpec { link, seed, segmentation, core }, limits })
    }
}

/// Refuses a contender whose client or server is wirelap's own where that does not speak the transport.
fn speaks_own_transports(contender: &Contender, task: &Task) -> Result<(), Outcome> {
    let has_own_client = SubjectClient::of_contender(contender, task).is_none();
    let own = match (has_own_client, contender.foreign_server().is_none()) {
        (true, _) => "client",
        (false, true) => "server",
        (false, false) => return Ok(()),
    };
    match lacks_machine(own, contender.transport) {
        Some(reason) => Err(Outcome::Unsupported {
            reason,
            remedy: "give the contender a client and a server that do, such as curl and caddy"
                .to_owned(),
        }),
        None => Ok(()),
    }
}
