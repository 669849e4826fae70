//! The middle part of a trial: the server is started and listens, the client does its work, the link passes their
//! packets on meanwhile, and both are ended.

use super::audit::MachineWatch;
use super::job::{FarJob, FarReady, IdentityPem, NearJob, NearReport, ServerTrust};
use super::observed::{ClientReport, Ends, Observed, ServerCpu, end_use};
use super::outcome::{broken_instrument, failed, unsaved_capture, unsupported};
use super::server_process::{ServedHost, ServerProcess, ServerReport, ServerSpec, Upstream};
use super::service::{self, ServiceBridge};
use super::setup::DeclaredServer;
use super::site_contents::ReplayCounts;
use super::split_proxy::{SplitProxy, SplitProxySpec};
use super::subject_client::{ProcessRun, SubjectClient};
use super::task::Task;
use super::{Trial, browser_visit, capture, first_visit};
use crate::inputs::links;
use crate::inputs::policy::PolicyText;
use crate::link::path::{NetworkPath, PathObservers, PathSpec};
use os::net::{Frame, Frames, Placement, Side, Stop, Topology};
use os::process::{Child, CpuSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;
use study::experiment::{Contender, RunningService, Settings, Tls, Transport};
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::reconcile::follow_rebindings;
use study::record::{CpuUse, EndUse, Resources};
use unit::Instant;

/// What near may take beyond its trial's time-out, to write down that it came. A subject gets the same time-out for
/// each fetch, and its word for one that took longer is worth more than that it was ended.
pub(super) const NEAR_GRACE: Duration = Duration::from_secs(2);

/// How long far may take to listen.
const FAR_START: Duration = Duration::from_secs(10);

/// How long near may take to end when it has reported.
const NEAR_END: Duration = Duration::from_millis(500);

impl Trial<'_> {
    /// Runs both ends over the link. An error is how the trial ends where it could not even begin.
    pub(super) fn run(&self) -> Result<Observed, Outcome> {
        let plan = &self.order.plan;
        self.network.link_cpus().pin().map_err(failed)?;
        let link = &plan.cell.link;
        let far_cpus = || self.network.cpus_of(Side::Far);
        let bridge = self.service().map(|service| ServiceBridge::start(service, far_cpus()));
        let bridge = bridge.transpose()?;
        let topology = NetworkPath::topology(link, &self.network.topology).map_err(unsupported)?;
        let mut packets = Vec::new();
        let mut record = |packet| packets.push(packet);
        let mut captured = capture::begin(self.order).map_err(unsaved_capture)?;
        let mut show =
            |frame: Frame<'_>| captured.iter_mut().for_each(|capture| capture.take(frame));
        let frames = self.order.capture.is_some().then_some(&mut show as Frames<'_>);
        let spec = PathSpec { link, forward: &self.network.forward, ports: &self.setup.ports };
        let observers = PathObservers { record: &mut record, frames };
        let mut path = NetworkPath::open(spec, &topology, observers).map_err(unsupported)?;
        let machine = MachineWatch::begin(self.order, &topology).map_err(unsupported)?;
        let ends = BothEnds { trial: self, topology: &topology }.run(bridge, &mut path);
        let ends = ends.map_err(|outcome| match topology.has_processes() {
            true => outcome,
            false => broken_instrument("the first process of the trial's namespaces was killed"),
        });
        let machine = machine.end(&topology).map_err(failed)?;
        let (mut counters, missed, link_settings) =
            (path.counters(), path.missed(), path.settings());
        if let Ok(ends) = &ends {
            counters.lateness = ends.lateness.clone();
        }
        drop(path);
        // An active queue tells of a packet when it leaves. What passes a TCP proxy by is sent before it comes to the link.
        let link = &self.network.forward.link;
        if link.decides_late() || link.split_tcp.is_some() {
            packets.sort_by_key(|packet| packet.at);
        }
        follow_rebindings(&mut packets);
        // A trial that failed is the one that people look into.
        let capture = capture::keep(captured, self.order);
        let namespace_settings = topology.settings().clone();
        Ok(Observed {
            ends,
            packets,
            missed,
            counters,
            machine,
            namespace_settings,
            link_settings,
            capture,
        })
    }

    /// The service that answers and that runs already.
    pub(super) fn service(&self) -> Option<&RunningService> {
        self.order.plan.cell.contender.service()
    }

    /// Which cores each has, for the row.
    pub(super) fn cores(&self) -> String {
        self.network.cpus.map_or("any".to_owned(), |cpus| {
            format!("link {}, client {}, origin {}", cpus.link, cpus.client, cpus.origin)
        })
    }
}

/// Trials that run side by side share all cores; the kernel spreads them better than a plan made
/// beforehand. Without a link there is nobody who needs a core of his own.
pub(super) fn is_pinned(plan: &TrialPlan) -> bool {
    !plan.is_light() && !links::is_loopback(&plan.cell.link)
}

/// The client and the server of a trial while they run.
struct BothEnds<'a> {
    trial: &'a Trial<'a>,
    topology: &'a Topology,
}

/// A client whose work is done.
enum FinishedClient<'a> {
    Own(Box<NearReport>, EndUse),
    Subject(&'a SubjectClient, Vec<ProcessRun>),
}

impl FinishedClient<'_> {
    /// What it says, and what it used.
    fn report(self) -> Result<(ClientReport, EndUse), Outcome> {
        Ok(match self {
            Self::Own(report, usage) => (ClientReport::Own(report), usage),
            Self::Subject(subject, processes) => {
                let report = subject.report(&processes)?;
                let usage = report.usage;
                (ClientReport::Subject(Box::new(report)), usage)
            }
        })
    }
}

impl BothEnds<'_> {
    /// Runs them to their end.
    fn run(
        &self,
        bridge: Option<ServiceBridge>,
        path: &mut NetworkPath<'_>,
    ) -> Result<Ends, Outcome> {
        let mut server = match bridge {
            Some(bridge) => self.start_bridge(bridge)?,
            None => self.start_server(path)?,
        };
        let mut proxy = self.start_proxy()?;
        let client = self.run_client(&mut server, path);
        let lateness = path.counters().lateness;
        if let Some(fault) = proxy.as_mut().and_then(SplitProxy::fault) {
            return Err(broken_instrument(fault));
        }
        if let Some(fault) = server.instrument_fault() {
            return Err(broken_instrument(fault));
        }
        let client = client?;
        if let Some(end) = server.died() {
            return Err(failed(end));
        }
        // The server's qlog has the client's last packets, too. Without one nobody needs them, and a trial over a long link
        // is over sooner.
        if self.trial.order.qlog.is_some() {
            path.settle();
        }
        let report = server.end(path)?;
        let ServerReport { usage, settings: mut far_settings, log: server, .. } = report;
        far_settings.extend(report.replay.as_ref().and_then(ReplayCounts::missed_in_words));
        let proxy_times = proxy.map(|proxy| proxy.end(path)).transpose()?.flatten();
        far_settings.extend(self.trial.setup.server.iter().flat_map(DeclaredServer::facts));
        far_settings.extend(self.trial.service().into_iter().flat_map(service::facts));
        let server_use = end_use(usage);
        let own = end_use(os::process::own_usage());
        let (client, client_use) = client.report()?;
        let cpu = CpuUse {
            client_ms: client_use.cpu_ms(),
            origin_ms: server_use.cpu_ms(),
            link_ms: own.cpu_ms(),
        };
        let resources = Resources { client: client_use, server: server_use };
        let asked = &self.trial.order.plan.cell.contender;
        let is_warm = asked.client.as_ref().is_some_and(|client| client.warmup > 0);
        let server_cpu = match is_warm || self.trial.service().is_some() {
            true => ServerCpu::Unknown,
            false => ServerCpu::Counted,
        };
        Ok(Ends {
            lateness,
            client,
            server,
            far_times: report.times,
            proxy_times,
            far_settings,
            deliveries: report.deliveries,
            replay: report.replay,
            cpu,
            resources,
            server_cpu,
        })
    }

    /// Starts the proxy of a link that splits TCP. It shares the origin's core: the client's is the one that is audited
    /// more closely.
    fn start_proxy(&self) -> Result<Option<SplitProxy>, Outcome> {
        let Trial { network, setup, .. } = self.trial;
        let start = |split| {
            let spec =
                SplitProxySpec { split, ports: &setup.ports, cpus: network.cpus_of(Side::Far) };
            SplitProxy::start(spec, self.topology)
        };
        network.forward.link.split_tcp.map(start).transpose()
    }

    fn run_client(
        &self,
        server: &mut ServerProcess<'_>,
        path: &mut NetworkPath<'_>,
    ) -> Result<FinishedClient<'_>, Outcome> {
        let Some(subject) = &self.trial.subject else { return self.run_own_client(server, path) };
        let cpus = self.cpus(Side::Near);
        let processes = subject.run(path, self.topology, server.as_fd(), cpus)?;
        Ok(FinishedClient::Subject(subject, processes))
    }

    fn run_own_client(
        &self,
        server: &mut ServerProcess<'_>,
        path: &mut NetworkPath<'_>,
    ) -> Result<FinishedClient<'_>, Outcome> {
        let mut near = self.start("near", Side::Near)?;
        let deadline = os::clock::now() + self.trial.order.plan.timeout + NEAR_GRACE;
        hand_over(&mut near, &self.near_job()?)?;
        let report = await_report(&mut near, server, path, deadline);
        capture::share_keys(self.trial.order);
        let report = report?;
        let usage = near.end(NEAR_END).map_err(failed)?.usage;
        Ok(FinishedClient::Own(Box::new(report), end_use(usage)))
    }

    /// Starts whoever serves, and waits until it listens.
    fn start_server(&self, path: &mut NetworkPath<'_>) -> Result<ServerProcess<'_>, Outcome> {
        let setup = &self.trial.setup;
        let Some(server) = &setup.server else {
            let mut far = self.start("far", Side::Far)?;
            hand_over(&mut far, &self.far_job()?)?;
            let (ready, stdout) = await_ready(&mut far, path)?;
            return Ok(ServerProcess::Origin { child: far, stdout, settings: ready.settings });
        };
        let contender = &self.trial.order.plan.cell.contender;
        let host = |(name, address)| {
            let identity = match contender.tls {
                Tls::None => None,
                Tls::V1_2 | Tls::V1_3 => Some(self.identity(name)?),
            };
            Ok(ServedHost { name, address, identity })
        };
        let upstream = server.asks_upstream().then(|| self.start_upstream(path));
        let spec = ServerSpec {
            declaration: &server.declaration,
            contender,
            files: &server.files,
            recorded: server.recorded.as_ref(),
            hosts: setup.listening_hosts().map(host).collect::<Result<_, Outcome>>()?,
            upstream: upstream.transpose()?,
            cpus: self.cpus(Side::Far),
            large_files: &self.trial.order.large_files,
        };
        ServerProcess::start(spec, self.topology)
    }

    /// Starts our origin behind a server that is not ours, which asks it for what it has not itself.
    fn start_upstream(&self, path: &mut NetworkPath<'_>) -> Result<Upstream, Outcome> {
        let address = self.trial.setup.upstream();
        let mut child = self.start("far", Side::Far)?;
        let asked = &self.trial.order.plan.cell.contender;
        let job = FarJob {
            listen: vec![address],
            listen_tls: Vec::new(),
            listen_quic: Vec::new(),
            identities: Vec::new(),
            table: self.trial.setup.task.table(),
            root: self.served_folder(),
            key_log: None,
            qlog: None,
            policy: None,
            tells_delivery: false,
            site: None,
            contender: Contender {
                transport: Transport::Http1,
                tls: Tls::None,
                settings: Settings::usual(Transport::Http1),
                ..asked.clone()
            },
        };
        hand_over(&mut child, &job)?;
        let (_, stdout) = await_ready(&mut child, path)?;
        Ok(Upstream { child, address, stdout })
    }

    fn start(&self, role: &str, side: Side) -> Result<Child, Outcome> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let placement = Placement { cpus: self.cpus(side), ..Placement::at(side) };
        self.topology.spawn(command, placement).map_err(failed)
    }

    /// Has the service that already runs answer at far's address.
    fn start_bridge(&self, bridge: ServiceBridge) -> Result<ServerProcess<'_>, Outcome> {
        for address in self.trial.setup.listeners() {
            bridge.listen(self.topology, address)?;
        }
        Ok(ServerProcess::Service(bridge))
    }

    fn cpus(&self, side: Side) -> CpuSet {
        self.trial.network.cpus_of(side)
    }

    fn identity(&self, host: &str) -> Result<IdentityPem, Outcome> {
        // A host that shares another one's connections is in that one's certificate.
        let names = self.trial.setup.neighbours(host);
        let identity = self.trial.authority.issue(&names).map_err(failed)?;
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        Ok(IdentityPem { chain: text(identity.chain_pem()), key: text(identity.key_pem()) })
    }

    fn far_job(&self) -> Result<FarJob, Outcome> {
        let Trial { order, setup, .. } = self.trial;
        let contender = &order.plan.cell.contender;
        let (mut listen, mut listen_tls, mut listen_quic) = (Vec::new(), Vec::new(), Vec::new());
        let listeners = match (contender.transport, contender.tls) {
            (transport, _) if transport.is_over_quic() => {
                if contender.settings.first_visit.uses_tcp() {
                    listen_tls = setup.listeners();
                }
                &mut listen_quic
            }
            (_, Tls::None) => &mut listen,
            (_, Tls::V1_2 | Tls::V1_3) => &mut listen_tls,
        };
        *listeners = setup.listeners();
        let identities = match contender.tls {
            Tls::None => Vec::new(),
            Tls::V1_2 | Tls::V1_3 => {
                setup.addresses().map(|(name, _)| self.identity(name)).collect::<Result<_, _>>()?
            }
        };
        let table = setup.task.table();
        let root = self.served_folder();
        let choice = contender.settings.policy.as_ref();
        let policy = choice.map(|choice| PolicyText::of_choice(choice, &order.inputs));
        Ok(FarJob {
            listen,
            listen_tls,
            listen_quic,
            identities,
            table,
            root,
            key_log: order.capture.as_ref().map(|_| capture::far_keys(order)),
            qlog: order.qlog_of("server"),
            policy: policy.transpose().map_err(failed)?,
            // Where responses share a connection and belong together, their order is worth knowing.
            tells_delivery: matches!(setup.task, Task::Page { .. })
                || browser_visit::is_asked_for(contender),
            site: setup.site.as_ref().map(|site| site.far.clone()),
            contender: contender.clone(),
        })
    }

    /// The folder whose files our origin serves.
    fn served_folder(&self) -> Option<PathBuf> {
        match self.trial.setup.task {
            Task::Download { .. } => Some(self.trial.order.served.clone()),
            Task::Page { .. } | Task::Calls { .. } | Task::Echo(_) | Task::Stream(_) => None,
        }
    }

    fn near_job(&self) -> Result<NearJob, Outcome> {
        let Trial { order, setup, authority, .. } = self.trial;
        let hosts = setup.addresses();
        let job = NearJob {
            contender: order.plan.cell.contender.clone(),
            task: setup.task.clone(),
            hosts: hosts.map(|(name, address)| (name.to_owned(), address)).collect(),
            root: String::from_utf8_lossy(&authority.root_pem().text).into_owned(),
            trust: ServerTrust::Root,
            timeout: order.plan.timeout,
            head_start: first_visit::head_start(
                &order.plan.cell.contender,
                self.trial.network.forward.link.rtt(),
            ),
            rebinds: self.trial.network.forward.link.rebind.is_some(),
            key_log: match order.capture {
                Some(_) => Some(capture::near_keys(order)),
                None => order.key_log.clone(),
            },
            qlog: order.qlog_of("client"),
            seed: order.plan.seed,
        };
        match self.trial.service() {
            Some(service) => service::ask(job, service, &order.inputs),
            None => Ok(job),
        }
    }
}

/// Gives a child its job and closes its standard input.
fn hand_over<J: serde::Serialize>(child: &mut Child, job: &J) -> Result<(), Outcome> {
    let text = serde_json::to_vec(job).map_err(failed)?;
    let Some(mut stdin) = child.stdin.take() else {
        return Err(failed("a child has no standard input"));
    };
    stdin
        .write_all(&text)
        .map_err(|error| failed(format!("a child does not take its job: {error}")))
}

/// Waits for far's first line; gives it, and what its last one will come from.
fn await_ready(
    far: &mut Child,
    path: &mut NetworkPath<'_>,
) -> Result<(FarReady, ChildStdout), Outcome> {
    let Some(stdout) = far.stdout.take() else { return Err(failed("far has no standard output")) };
    let stop = Stop {
        readable: &[stdout.as_fd(), far.as_fd()],
        deadline: Some(os::clock::now() + FAR_START),
    };
    path.run_until(stop).map_err(failed)?;
    if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
        return Err(failed(format!(
            "the far side did not listen within {} s",
            FAR_START.as_secs()
        )));
    }
    let mut line = String::new();
    let mut reader = BufReader::new(stdout);
    reader.read_line(&mut line).map_err(failed)?;
    match serde_json::from_str::<FarReady>(&line) {
        // Its next line comes when it is asked to end: nothing of it can be in the buffer.
        Ok(ready) => Ok((ready, reader.into_inner())),
        Err(_) => Err(failed(died("far", far))),
    }
}

/// Forwards until near reports, or a side dies, or the time is up.
fn await_report(
    near: &mut Child,
    server: &mut ServerProcess<'_>,
    path: &mut NetworkPath<'_>,
    deadline: Instant,
) -> Result<NearReport, Outcome> {
    let Some(mut stdout) = near.stdout.take() else {
        return Err(failed("near has no standard output"));
    };
    let readable = [stdout.as_fd(), near.as_fd(), server.as_fd()];
    path.run_until(Stop { readable: &readable, deadline: Some(deadline) }).map_err(failed)?;
    if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
        if let Some(end) = server.died() {
            return Err(failed(end));
        }
        return Err(failed("the near side did not end in time"));
    }
    let mut text = Vec::new();
    stdout.read_to_end(&mut text).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|_| failed(died("near", near)))
}

fn died(side: &str, child: &mut Child) -> String {
    match child.wait(Some(NEAR_END)) {
        Ok(Some(exit)) => format!("the {side} side died ({})", exit.status),
        _ => format!("the {side} side printed something that is not a report"),
    }
}
