//! Ports that lead onto the link: those of this machine (`--expose`) and those of far (`--forward`). The one rule: a
//! process listens or connects only in its own network namespace. To listen in one namespace and connect in another, a
//! listener is passed to a relay process.
//!
//! ```text
//! this machine              near                 far                this machine
//! client ── listener   near relay ══ link ══ listener   host relay ── service
//! ```

use crate::cli::{Expose, Forward, Host, Service};
use crate::console;
use crate::error::CliError;
use crate::link::relay::{Route, Targets, socket_settings};
use crate::link::relay_process::RelayProcess;
use os::error::Os;
use os::net::{Placement, Side, Topology, is_listened_on};
use os::process::{Child, CpuSet};
use os::tcp::{Listener, Sharing};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::process::Stdio;

/// Ports that are bound on this machine, and services that are known by address.
pub(crate) struct Ports {
    exposed: Vec<Exposed>,
    forwarded: Vec<(u16, Route)>,
    cpus: CpuSet,
    /// Stays in this machine's network when this process leaves it. None where it has nothing to do.
    host_relay: Option<RelayProcess>,
    /// The relays' sockets: a relay ends when its own closes.
    lifelines: Vec<OwnedFd>,
}

/// A port of this machine.
struct Exposed {
    listener: Listener,
    to: Target,
}

enum Target {
    ThisMachine(Route),
    /// This port.
    Far(u16),
}

impl Ports {
    /// Listens on this machine and looks the services up, so that what is wrong is reported before anything runs.
    pub(crate) fn open(
        exposed_ports: &[Expose],
        forwarded_ports: &[Forward],
    ) -> Result<Self, CliError> {
        let expose = |port: &Expose| {
            let listener = Listener::bind(port.listen, Sharing::Found, &socket_settings());
            let listener = listener.map_err(cannot_listen)?;
            let to = match &port.to.host {
                Host::Far => Target::Far(port.to.port),
                Host::Named(host) => Target::ThisMachine(look_up(host, &port.to)?),
            };
            Ok(Exposed { listener, to })
        };
        let forward = |port: &Forward| match &port.to.host {
            Host::Far => Err(CliError::misuse("a port of far cannot lead to far")),
            Host::Named(host) => Ok((port.from.port, look_up(host, &port.to)?)),
        };
        let exposed = exposed_ports.iter().map(expose).collect::<Result<_, CliError>>()?;
        let forwarded = forwarded_ports.iter().map(forward).collect::<Result<_, CliError>>()?;
        Ok(Self {
            exposed,
            forwarded,
            cpus: CpuSet::any(),
            host_relay: None,
            lifelines: Vec::new(),
        })
    }

    /// Starts what connects to this machine's services, on `cpus`. To be called before this process leaves this
    /// machine's network.
    pub(crate) fn start_host_relay(&mut self, cpus: &CpuSet) -> Result<(), Os> {
        self.cpus = cpus.clone();
        if self.routes().next().is_none() {
            return Ok(());
        }
        self.routes().for_each(note_missing_service);
        self.host_relay = Some(RelayProcess::start_here(cpus.clone())?);
        Ok(())
    }

    /// Listens in far and starts what connects from near. Gives the relays, which the link cannot do without.
    pub(crate) fn connect(&mut self, topology: &Topology) -> Result<Vec<Child>, Os> {
        let mut to_host = Handover::default();
        let mut from_host = Handover::default();
        for (port, route) in &self.forwarded {
            for listener in listen_in_far(topology, *port)? {
                to_host.add(listener, route.clone());
            }
        }
        for exposed in std::mem::take(&mut self.exposed) {
            let (service, port) = match exposed.to {
                Target::Far(port) => (format!("far:{port}"), port),
                Target::ThisMachine(route) => {
                    // Any free port: far's own program may want the service's.
                    let address = SocketAddr::new(far_addresses()[0], 0);
                    let listener = topology.within(Side::Far, || listen(address))?;
                    let port = listener.local().port();
                    let service = route.service.clone();
                    to_host.add(listener, route);
                    (service, port)
                }
            };
            let addresses = far_addresses().map(|ip| SocketAddr::new(ip, port)).to_vec();
            from_host.add(exposed.listener, Route { service, addresses });
        }
        let mut relays = Vec::new();
        if let Some(relay) = self.host_relay.take() {
            relays.push(self.hand_over(relay, to_host)?);
        }
        if !from_host.routes.is_empty() {
            let cpus = self.cpus.clone();
            let placement = Placement { cpus, ..Placement::at(Side::Near) };
            let spawn = |command| topology.spawn(command, placement);
            let relay = RelayProcess::start(Stdio::null(), spawn)?;
            relays.push(self.hand_over(relay, from_host)?);
        }
        Ok(relays)
    }

    /// Sends a relay its listeners, and closes ours.
    fn hand_over(&mut self, relay: RelayProcess, handover: Handover) -> Result<Child, Os> {
        let Handover { listeners, routes } = handover;
        relay.begin(Targets::Routes(routes), &listeners)?;
        let (child, socket) = relay.into_parts();
        self.lifelines.push(socket);
        Ok(child)
    }

    /// A line for each port: where it is, and where it leads.
    pub(crate) fn describe(&self, link: &str) -> String {
        let mut text = String::new();
        for exposed in &self.exposed {
            let to = match &exposed.to {
                Target::ThisMachine(route) => route.service.clone(),
                Target::Far(port) => format!("far:{port}"),
            };
            text += &format!("{} -> {link} -> {to}\n", exposed.listener.local());
        }
        for (port, route) in &self.forwarded {
            text += &format!("far:{port} -> {}\n", route.service);
        }
        text
    }

    /// Those to services of this machine.
    fn routes(&self) -> impl Iterator<Item = &Route> {
        let exposed = self.exposed.iter().filter_map(|exposed| match &exposed.to {
            Target::ThisMachine(route) => Some(route),
            Target::Far(_) => None,
        });
        exposed.chain(self.forwarded.iter().map(|(_, route)| route))
    }
}

/// Listeners and their routes, on their way to a relay.
#[derive(Default)]
struct Handover {
    listeners: Vec<Listener>,
    routes: Vec<Route>,
}

impl Handover {
    fn add(&mut self, listener: Listener, route: Route) {
        self.listeners.push(listener);
        self.routes.push(route);
    }
}

/// The service's addresses, in this machine's order.
fn look_up(host: &str, service: &Service) -> Result<Route, CliError> {
    let found = (host, service.port).to_socket_addrs().map(Vec::from_iter);
    match found {
        Ok(addresses) if !addresses.is_empty() => {
            Ok(Route { service: service.to_string(), addresses })
        }
        found => {
            let why = found.err().map_or_else(String::new, |error| format!(": {error}"));
            Err(CliError::misuse(format!("this machine knows no host `{host}`{why}"))
                .remedy("name a host that this machine can reach, such as 127.0.0.1"))
        }
    }
}

/// Says so where a service of this machine does not run yet. No connection is made: the service need not hear of it.
fn note_missing_service(route: &Route) {
    let is_own = route.addresses.iter().all(|address| address.ip().is_loopback());
    if is_own && !route.addresses.iter().any(|&address| is_listened_on(address)) {
        console::note(&format!("note: nothing listens at {} yet", route.service));
    }
}

fn cannot_listen(error: Os) -> CliError {
    let misuse = CliError::misuse(&error);
    match error.remedy() {
        Some(remedy) => misuse.remedy(remedy),
        None => misuse,
    }
}

/// On all addresses of far that there are.
fn listen_in_far(topology: &Topology, port: u16) -> Result<Vec<Listener>, Os> {
    topology.within(Side::Far, || {
        let mut listeners = Vec::new();
        for ip in far_addresses() {
            match listen(SocketAddr::new(ip, port)) {
                Ok(listener) => listeners.push(listener),
                Err(error) if error.source.kind() == ErrorKind::AddrInUse => {
                    return Err(Os::new(format!("listen on port {port} of far"), error.source)
                        .with_remedy("the --far program listens there: choose another port"));
                }
                // A kernel without IPv6.
                Err(_) if ip.is_ipv6() && !listeners.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(listeners)
    })
}

fn listen(address: SocketAddr) -> Result<Listener, Os> {
    Listener::bind(address, Sharing::Found, &socket_settings())
}

fn far_addresses() -> [IpAddr; 2] {
    let far = Topology::addresses(Side::Far);
    [far.v4.into(), far.v6.into()]
}
