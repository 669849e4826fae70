//! What a trial does, with which hosts, and who serves it: all that is known before anything is started.

use crate::environment;
use crate::inputs::servers::Servers;
use crate::trial::job::TrialOrder;
use crate::trial::outcome::{failed, server_failed};
use crate::trial::recorded_site::RecordedSite;
use crate::trial::server_process::low_ports;
use crate::trial::site_contents::SiteReplay;
use crate::trial::static_files::{self, StaticFiles};
use crate::trial::task::Task;
use crate::trial::tcp_settings;
use os::net::{NamesFor, Topology, TopologySpec};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use study::experiment::{Contender, ORIGIN, Tls, Transport, WorkloadKind};
use study::outcome::Outcome;
use subject::server::ServerDeclaration;
use unit::Seed;

/// What is done, and with which hosts.
pub(crate) struct Setup {
    pub(crate) task: Task,
    /// Its hosts, those together that have one address.
    pub(crate) hosts: Vec<Vec<String>>,
    pub(crate) ports: BTreeSet<u16>,
    /// Who serves, where that is not our origin.
    pub(crate) server: Option<DeclaredServer>,
    /// The recorded site that a browser loads.
    pub(crate) site: Option<SiteReplay>,
}

impl Setup {
    /// What `order` asks for.
    pub(crate) fn of(order: &TrialOrder) -> Result<Self, Outcome> {
        let cell = &order.plan.cell;
        let task = Task::of(cell, &order.inputs, Seed(order.plan.seed)).map_err(failed)?;
        let usual_port = if cell.contender.tls == Tls::None { 80 } else { 443 };
        let hosts = match (&cell.workload.kind, task.recorded_page()) {
            (WorkloadKind::Har(har), Some(page)) if !har.hosts.are_apart() => page.shared_hosts(),
            _ => task.hosts().into_iter().map(|name| vec![name]).collect(),
        };
        let ports = task.ports(usual_port);
        let has_web_sockets =
            task.recorded_page().is_some_and(|page| page.table().has_web_sockets());
        if has_web_sockets && matches!(cell.contender.transport, Transport::Spdy | Transport::Spdy3)
        {
            return Err(Outcome::Unsupported {
                reason: "the recorded page has a WebSocket, and SPDY carries none".to_owned(),
                remedy: "race it over http/1.1, h2 and h3".to_owned(),
            });
        }
        let server = DeclaredServer::of(order, &task)?;
        if server.is_some() && hosts.iter().any(|group| group.len() > 1) {
            return Err(Outcome::Unsupported {
                reason: "hosts that share connections as recorded are served by wirelap's own origin alone".to_owned(),
                remedy: format!("set the contender's server to \"{ORIGIN}\", or leave the workload's `hosts` away"),
            });
        }
        let site = SiteReplay::of(order)?;
        if site.is_some() && server.is_some() {
            return Err(Outcome::Unsupported {
                reason: "a browser's replay of a recorded site is answered by wirelap's own origin alone".to_owned(),
                remedy: format!("set the contender's server to \"{ORIGIN}\" for this workload"),
            });
        }
        Ok(Self { task, hosts, ports, server, site })
    }

    /// Every address that far listens on: each host has its own.
    pub(crate) fn listeners(&self) -> Vec<SocketAddr> {
        let all: BTreeSet<SocketAddr> =
            self.listening_hosts().map(|(_, address)| address).collect();
        all.into_iter().collect()
    }

    /// Every host with each address that it is served at.
    pub(crate) fn listening_hosts(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.addresses().flat_map(|(name, address)| {
            self.ports.iter().map(move |port| (name, SocketAddr::new(address, *port)))
        })
    }

    /// Every host with its address.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, IpAddr)> {
        self.hosts.iter().enumerate().flat_map(|(place, group)| {
            group.iter().map(move |name| (name.as_str(), address(place)))
        })
    }

    /// The hosts that have the address of this one.
    pub(crate) fn neighbours(&self, name: &str) -> Vec<&str> {
        let group = self.hosts.iter().find(|group| group.iter().any(|one| one == name));
        group.map_or_else(Vec::new, |group| group.iter().map(String::as_str).collect())
    }

    /// Where an upstream behind a declared server listens: on the far side's loopback device, at a port that no host
    /// has.
    pub(crate) fn upstream(&self) -> SocketAddr {
        let port = (8080..).find(|port| !self.ports.contains(port)).unwrap_or(8080);
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    /// The namespaces that it is done in.
    pub(crate) fn topology(&self, contender: &Contender) -> TopologySpec {
        let mut spec = TopologySpec::default();
        spec.tcp.congestion = contender.settings.congestion_control.name().to_owned();
        spec.tcp.initial_window = contender.settings.initial_window;
        spec.mtu = contender.settings.mtu;
        // Far listens on no other.
        spec.names = NamesFor::Ipv4;
        spec.tcp.further = tcp_settings::sysctls(contender);
        if self.server.is_some() {
            spec.tcp.further.push(low_ports());
        }
        spec.hosts.clone_from(&self.hosts);
        spec
    }
}

/// A server that is not ours, and what it is to serve.
pub(crate) struct DeclaredServer {
    pub(crate) declaration: ServerDeclaration,
    pub(crate) files: StaticFiles,
    /// Where the page is a recorded one.
    pub(crate) recorded: Option<RecordedSite>,
    version: String,
}

impl DeclaredServer {
    fn of(order: &TrialOrder, task: &Task) -> Result<Option<Self>, Outcome> {
        let contender = &order.plan.cell.contender;
        let Some(name) = contender.foreign_server() else { return Ok(None) };
        let servers = Servers::of_run(&order.inputs).map_err(failed)?;
        let Some(declaration) = servers.named(name).cloned() else {
            return Err(failed(format!("no server is called `{name}`")));
        };
        if contender.settings.policy.is_some() {
            return Err(Outcome::Unsupported {
                reason: format!(
                    "{name} cannot be given a `policy`: what it pushes and hints is in its own configuration"
                ),
                remedy: format!(
                    "set the contender's server to \"{ORIGIN}\", or declare a server with that configuration \
                     (docs/servers.md)"
                ),
            });
        }
        declaration.supports(contender).map_err(server_failed)?;
        let programs = environment::program_folders();
        declaration.is_built_for(contender.transport, &programs).map_err(server_failed)?;
        if task.recorded_page().is_some_and(|page| page.table().has_web_sockets()) {
            return Err(Outcome::Unsupported {
                reason: format!("{name} cannot serve this: the recorded page has a WebSocket"),
                remedy: format!("set the contender's server to \"{ORIGIN}\" for this workload"),
            });
        }
        let recorded = task.recorded_page().map(|page| RecordedSite::of(&page.table()).0);
        if recorded.is_some() && !declaration.serves_recordings() {
            return Err(Outcome::Unsupported {
                reason: format!(
                    "{name} cannot serve this: its declaration has no `[[each]]` of hosts, and a recorded page has several"
                ),
                remedy: format!(
                    "see docs/servers.md, or set the contender's server to \"{ORIGIN}\" for this workload"
                ),
            });
        }
        let version = declaration.version(&programs).unwrap_or_else(|| "unknown".to_owned());
        if declaration.is_proxy() {
            let recorded = recorded.map(RecordedSite::without_files);
            return Ok(Some(Self { declaration, files: StaticFiles::new(), recorded, version }));
        }
        let is_echo = matches!(task, Task::Echo(_));
        if declaration.is_echo() != is_echo {
            return Err(Outcome::Unsupported {
                reason: match is_echo {
                    true => format!("{name} serves files, and an echo is answered by a program"),
                    false => format!("{name} answers messages (kind \"echo\"), and nothing else"),
                },
                remedy: format!("set the contender's server to \"{ORIGIN}\" for this workload"),
            });
        }
        if is_echo {
            return Ok(Some(Self { declaration, files: StaticFiles::new(), recorded, version }));
        }
        let files = static_files::of(task).map_err(|reason| Outcome::Unsupported {
            reason: format!("{name} cannot serve this: {reason}"),
            remedy: format!("set the contender's server to \"{ORIGIN}\" for this workload"),
        })?;
        Ok(Some(Self { declaration, files, recorded, version }))
    }

    /// Whether our origin answers behind it.
    pub(crate) fn asks_upstream(&self) -> bool {
        self.recorded.is_some() || self.declaration.is_proxy()
    }

    /// Who it is, for the row.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let facts = [("server", self.declaration.name()), ("server version", &self.version)];
        facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }
}

/// The address of a host, by its place in the list.
pub(crate) fn address(host: usize) -> IpAddr {
    IpAddr::V4(Topology::host(host).v4)
}
