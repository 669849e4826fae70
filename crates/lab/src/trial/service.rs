//! A service that already runs, as a trial meets it: connections to far's address are relayed to it by a process that stays
//! in this machine's network. The one rule: nothing about the service is changed, and nothing is claimed that only it
//! knows.

use super::job::{NearJob, ServerTrust};
use super::outcome::{failed, unsupported};
use super::server_process::fault_of;
use crate::link::relay::{Route, Targets, socket_settings};
use crate::link::relay_process::RelayProcess;
use os::error::Os;
use os::net::{Side, Topology};
use os::process::CpuSet;
use os::tcp::{Listener, Sharing};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;
use study::experiment::RunningService;
use study::outcome::Outcome;

/// How long the relay may take to end when asked to.
const RELAY_END: Duration = Duration::from_millis(500);

/// The relay to a service: first it waits for its listener, then it relays.
#[derive(Debug)]
pub(crate) struct ServiceBridge {
    relay: RelayProcess,
    route: Route,
}

impl ServiceBridge {
    /// Starts the relay on `cpus`. To be called before this process leaves this machine's network.
    pub(super) fn start(service: &RunningService, cpus: CpuSet) -> Result<Self, Outcome> {
        let relay = RelayProcess::start_here(cpus).map_err(unsupported)?;
        let route = Route { service: service.place().to_owned(), addresses: service.addresses() };
        Ok(Self { relay, route })
    }

    /// Listens at `address` in far, and has the relay take what comes.
    pub(super) fn listen(&self, topology: &Topology, address: SocketAddr) -> Result<(), Outcome> {
        let bind = || Listener::bind(address, Sharing::Found, &socket_settings());
        let listener = topology.within(Side::Far, bind).map_err(failed)?;
        self.relay.begin(Targets::Routes(vec![self.route.clone()]), &[listener]).map_err(failed)
    }

    /// How the relay broke off its work; None where it did not.
    pub(super) fn fault(&mut self) -> Option<String> {
        fault_of(&format!("the relay to {}", self.route.service), &mut self.relay.child)
    }

    /// Ends the relay.
    pub(super) fn end(self) -> Result<(), Os> {
        self.relay.let_go().end(RELAY_END).map(drop)
    }
}

impl AsFd for ServiceBridge {
    /// Readable once the relay has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.relay.child.as_fd()
    }
}

/// How a client judges the service's certificate: how, and the authorities in PEM. `inputs` is where files are.
pub(crate) fn trust(
    service: &RunningService,
    inputs: &Path,
) -> Result<(ServerTrust, String), Outcome> {
    match (&service.ca, service.insecure) {
        (_, true) => Ok((ServerTrust::Anyone, String::new())),
        (Some(file), false) => {
            let text = std::fs::read_to_string(inputs.join(file));
            let text = text.map_err(|error| failed(format!("reading {file}: {error}")))?;
            Ok((ServerTrust::Root, text))
        }
        (None, false) => Ok((ServerTrust::System, String::new())),
    }
}

/// What a row says of the service.
pub(super) fn facts(service: &RunningService) -> BTreeMap<String, String> {
    const UNKNOWN: &str = "not known";
    let facts = [
        ("server", "a service that already runs"),
        ("server at", service.place()),
        ("server version", UNKNOWN),
        ("server TCP settings", "those of the relay in front of it"),
        ("server cpu", UNKNOWN),
        ("server state", "not reset between trials"),
    ];
    facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// A near job that asks the service.
pub(super) fn ask(
    job: NearJob,
    service: &RunningService,
    inputs: &Path,
) -> Result<NearJob, Outcome> {
    let (trust, root) = trust(service, inputs)?;
    Ok(NearJob { trust, root, ..job })
}
