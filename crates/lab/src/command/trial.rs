//! `wirelap trial` (hidden): one trial, from a JSON order on standard input to a JSON row on standard
//! output. It builds the namespaces, starts far and near in them, forwards their packets, and hears
//! both witnesses at the end. Nothing outlives it.

use crate::audit::audit;
use crate::capture;
use crate::choice;
use crate::environment;
use crate::far_side::{FarEnd, FarSide, Order, low_ports, outcome};
use crate::job::{FarJob, FarReady, IdentityPem, NearJob, NearReport, TrialOrder};
use crate::materials::{self, Materials};
use crate::path::{self, Path};
use crate::served::Digest;
use crate::servers::Servers;
use crate::sitting::Carrier;
use crate::subject_trial::{self, SubjectReport, SubjectTrial};
use crate::task::Task;
use crate::trouble::Trouble;
use os::error::Os;
use os::net::{
    Core, ForwardSpec, Frame, LinkCounters, NamesFor, Placement, Segmentation, Side, Stop,
    Topology, TopologySpec,
};
use os::process::Child;
use secure::{Authority, AuthoritySpec};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;
use study::experiment::{Contender, ORIGIN, Tls};
use study::plan::TrialPlan;
use study::reconcile::{
    Case, Evidence, Finding, LinkFacts, ServerLog, Testimony, call_metrics, echo_metrics,
    reconcile, reconcile_subject,
};
use study::record::{self, CpuUse, Outcome, Resources, TrialRecord, metric, without_figures};
use subject::server::ServerDeclaration;
use trace::PacketRecord;
use unit::{Instant, Seed};

/// What near may take beyond its trial's time-out, to write down that it came.
const NEAR_GRACE: Duration = Duration::from_secs(2);

/// How long far may take to listen.
const FAR_START: Duration = Duration::from_secs(10);

/// How long near may take to end when it has reported.
const NEAR_END: Duration = Duration::from_millis(500);

/// Reads the order, runs the trial, prints the row.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    os::process::die_with_parent();
    let Some(order) = super::read_job::<TrialOrder>()? else { return Ok(ExitCode::FAILURE) };
    let began = os::clock::now();
    let started_unix_ms = os::clock::realtime().as_millis() as u64;
    let mut record = match trial(&order) {
        Ok(record) => record,
        Err(outcome) => without_figures(order.plan.clone(), outcome, started_unix_ms),
    };
    record.started_unix_ms = started_unix_ms;
    record.duration_ms = os::clock::now().since(began).as_secs_f64() * 1e3;
    super::print_job(&record)?;
    Ok(ExitCode::SUCCESS)
}

fn trial(order: &TrialOrder) -> Result<TrialRecord, Outcome> {
    let work = Work::of(order)?;
    let spec =
        choice::link_spec(&order.plan.cell.link, |file| order.inputs.join(file)).map_err(failed)?;
    if is_pinned(&order.plan) {
        os::process::pin(&[order.plan.placement.link as usize]).map_err(failed)?;
    }
    let authority = Authority::new(AuthoritySpec::default()).map_err(failed)?;
    let digests = subject_trial::lay_out(&work.task, &order.served).map_err(failed)?;
    let root = authority.root_pem();
    let subject = subject(order, &work.task, (&root.text, &digests))?;
    let link = &order.plan.cell.link;
    let (core, reception) = match is_pinned(&order.plan) {
        true => path::cores(&order.plan.placement, &spec),
        false => (Core::Shared, None),
    };
    let ends = TopologySpec { reception, ..topology_spec(&order.plan.cell.contender, &work) };
    let topology = Path::topology(link, &ends).map_err(unsupported)?;
    let forward = ForwardSpec {
        link: spec.clone(),
        seed: Seed(order.plan.seed),
        segmentation: Segmentation::KeepWhereUnlimited,
        core,
    };
    let mut packets: Vec<PacketRecord> = Vec::new();
    let mut keep = |packet| packets.push(packet);
    let between = (&forward, &work.ports);
    let mut captured = capture::begin(order).map_err(failed)?;
    let mut show = |frame: Frame<'_>| captured.iter_mut().for_each(|capture| capture.take(frame));
    let mut path = Path::open(link, &topology, between, &mut keep).map_err(unsupported)?;
    if order.capture.is_some() {
        path = path.with_frames(&mut show);
    }
    let run = Run { order, work: &work, topology: &topology, authority: &authority };
    let ran = run.go(&mut path, subject.as_ref());
    let counters = path.counters();
    let (buffer, missed) = (path.receive_buffer(), path.missed());
    drop(path);
    // A trial that failed is the one that people look into.
    let kept = capture::keep(captured, order);
    let ran = ran?;
    kept.map_err(failed)?;
    let mut settings = topology.settings().clone();
    settings.insert("link receive buffer".to_owned(), buffer.to_string());
    settings.extend(ran.near().settings.clone());
    settings.extend(ran.far_settings.clone());
    settings.extend(run.placement());
    // A log with gaps is no witness.
    let log = (missed == 0).then_some(packets.as_slice());
    if missed > 0 {
        settings.insert("packets missing from the log".to_owned(), missed.to_string());
    }
    drop(topology);
    let facts = LinkFacts {
        rtt: spec.rtt(),
        down: spec.down.bottleneck.mean_rate(),
        up: spec.up.bottleneck.mean_rate(),
    };
    let (mut finding, evidence) = ran.find(&order.plan.cell.contender, log, facts);
    let told = ran.near();
    match work.task {
        Task::Calls { .. } => finding.metrics.extend(call_metrics(&told.fetches)),
        Task::Echo(_) => finding.metrics.extend(echo_metrics(&told.fetches, &told.connections)),
        Task::Page { .. } | Task::Download { .. } => {}
    }
    let load_ms = finding.metrics.get(metric::LOAD_MS);
    let outcome = audit(finding.outcome, load_ms, &counters);
    finding.metrics.extend(ran.metrics());
    let near = ran.near();
    Ok(TrialRecord {
        plan: order.plan.clone(),
        outcome,
        started_unix_ms: 0,
        duration_ms: 0.0,
        metrics: finding.metrics,
        parts: finding.parts,
        fetches: near.fetches.clone(),
        connections: near.connections.clone(),
        link: link_counters(&counters),
        packets: finding.packets,
        settings,
        cpu: ran.cpu,
        resources: ran.resources,
        evidence,
    })
}

/// The client subject of a trial, found; None where the client in this program does the work.
fn subject<'a>(
    order: &'a TrialOrder,
    task: &'a Task,
    laid_out: (&'a [u8], &'a BTreeMap<String, Digest>),
) -> Result<Option<SubjectTrial<'a>>, Outcome> {
    let client = subject_trial::client_of(&order.plan.cell.contender, task);
    client.map(|client| SubjectTrial::prepare(order, task, client, laid_out)).transpose()
}

/// What is done, and with which hosts.
struct Work {
    task: Task,
    hosts: Vec<String>,
    ports: BTreeSet<u16>,
    /// Who serves, where that is not our origin.
    server: Option<Server>,
}

/// A server that is not ours, and what it is to serve.
struct Server {
    declaration: ServerDeclaration,
    materials: Materials,
    version: String,
}

impl Work {
    fn of(order: &TrialOrder) -> Result<Self, Outcome> {
        let cell = &order.plan.cell;
        let task = Task::of(cell, &order.inputs, Seed(order.plan.seed)).map_err(failed)?;
        let usual_port = if cell.contender.tls == Tls::None { 80 } else { 443 };
        let (hosts, ports) = (task.hosts(), task.ports(usual_port));
        let server = Server::of(order, &task)?;
        Ok(Self { task, hosts, ports, server })
    }

    /// Every address that far listens on: each host has its own.
    fn listeners(&self) -> Vec<SocketAddr> {
        let pairs =
            (0..self.hosts.len()).flat_map(|host| self.ports.iter().map(move |port| (host, *port)));
        pairs.map(|(host, port)| SocketAddr::new(address(host), port)).collect()
    }
}

impl Server {
    fn of(order: &TrialOrder, task: &Task) -> Result<Option<Self>, Outcome> {
        let contender = &order.plan.cell.contender;
        let Some(name) = contender.foreign_server() else { return Ok(None) };
        let servers = Servers::of_run(&order.inputs).map_err(failed)?;
        let Some(declaration) = servers.named(name).cloned() else {
            return Err(failed(format!("no server is called `{name}`")));
        };
        declaration.supports(contender).map_err(outcome)?;
        let materials = materials::of(task).map_err(|reason| Outcome::Unsupported {
            reason: format!("{name} cannot serve this: {reason}"),
            remedy: format!("set the contender's server to \"{ORIGIN}\" for this workload"),
        })?;
        let programs = environment::program_folders();
        let version = declaration.version(&programs).unwrap_or_else(|| "unknown".to_owned());
        Ok(Some(Self { declaration, materials, version }))
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let facts = [("server", self.declaration.name()), ("server version", &self.version)];
        facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }
}

fn address(host: usize) -> IpAddr {
    IpAddr::V4(Topology::host(host).v4)
}

/// The two sides of a trial while they run.
struct Run<'a> {
    order: &'a TrialOrder,
    work: &'a Work,
    topology: &'a Topology,
    authority: &'a Authority,
}

/// What a run came to.
struct Ran {
    client: Client,
    server: Option<ServerLog>,
    far_settings: BTreeMap<String, String>,
    cpu: CpuUse,
    resources: Resources,
}

/// Who did the work, and what it says.
enum Client {
    Own(NearReport),
    Subject(Box<SubjectReport>),
}

impl Ran {
    fn near(&self) -> &NearReport {
        match &self.client {
            Client::Own(near) => near,
            Client::Subject(report) => &report.near,
        }
    }

    fn find(
        &self,
        contender: &Contender,
        packets: Option<&[PacketRecord]>,
        link: LinkFacts,
    ) -> (Finding, Vec<Evidence>) {
        match &self.client {
            Client::Own(near) => {
                let finding = reconcile(&Testimony {
                    fetches: &near.fetches,
                    connections: &near.connections,
                    packets,
                    link,
                    server_time: &near.server_time,
                    uncounted: &near.uncounted,
                });
                (finding, Vec::new())
            }
            Client::Subject(report) => {
                let case = Case { packets, server: self.server.as_ref(), ..report.case(contender) };
                let (mut finding, evidence) = reconcile_subject(&case);
                if let (Outcome::Measured, Some(reason)) = (&finding.outcome, &report.wrong_file) {
                    finding.outcome = failed(reason);
                }
                (finding, evidence)
            }
        }
    }

    /// Figures of the processes.
    fn metrics(&self) -> BTreeMap<String, f64> {
        let (client, server) = (self.resources.client, self.resources.server);
        let mut metrics = BTreeMap::from([
            (metric::CLIENT_CPU_MS.to_owned(), client.cpu_ms()),
            (metric::SERVER_CPU_MS.to_owned(), server.cpu_ms()),
            (metric::CPU_MS.to_owned(), client.cpu_ms() + server.cpu_ms()),
            (metric::PEAK_MEMORY.to_owned(), client.peak_memory_bytes as f64),
        ]);
        if let Client::Subject(report) = &self.client {
            metrics.extend(report.metrics.clone());
        }
        metrics
    }
}

impl Run<'_> {
    fn go(
        &self,
        carrier: &mut dyn Carrier,
        subject: Option<&SubjectTrial<'_>>,
    ) -> Result<Ran, Outcome> {
        let mut far = self.start_far(carrier)?;
        let (client, client_use) = match subject {
            None => {
                let mut near = self.start("near", Side::Near)?;
                let deadline = os::clock::now() + self.order.plan.timeout + NEAR_GRACE;
                hand_over(&mut near, &self.near_job())?;
                let report = await_report(&mut near, &mut far, carrier, deadline);
                capture::share_keys(self.order);
                let report = report?;
                let usage = near.end(NEAR_END).map_err(failed)?.usage;
                (Client::Own(report), subject_trial::end_use(usage))
            }
            Some(subject) => {
                let cpus = self.cpus(Side::Near);
                let report = subject.run(carrier, self.topology, far.as_fd(), &cpus)?;
                let usage = report.usage;
                (Client::Subject(Box::new(report)), usage)
            }
        };
        if let Some(end) = far.died() {
            return Err(failed(end));
        }
        let FarEnd { usage: far_use, settings: mut far_settings, log: server } =
            far.end(carrier)?;
        far_settings.extend(self.work.server.iter().flat_map(Server::facts));
        let server_use = subject_trial::end_use(far_use);
        let own = subject_trial::end_use(os::process::own_usage());
        let cpu = CpuUse {
            client_ms: client_use.cpu_ms(),
            origin_ms: server_use.cpu_ms(),
            link_ms: own.cpu_ms(),
        };
        let resources = Resources { client: client_use, server: server_use };
        Ok(Ran { client, server, far_settings, cpu, resources })
    }

    /// Starts whoever serves, and waits until it listens.
    fn start_far(&self, carrier: &mut dyn Carrier) -> Result<FarSide<'_>, Outcome> {
        let Some(server) = &self.work.server else {
            let mut far = self.start("far", Side::Far)?;
            hand_over(&mut far, &self.far_job()?)?;
            let (ready, words) = await_ready(&mut far, carrier)?;
            return Ok(FarSide::Origin(far, words, ready.settings));
        };
        // A task without a record asks one host on one port.
        let (Some(host), Some(address)) = (self.work.hosts.first(), self.work.listeners().pop())
        else {
            return Err(failed("the workload asks nobody"));
        };
        let contender = &self.order.plan.cell.contender;
        let identity = match contender.tls {
            Tls::None => None,
            Tls::V1_2 | Tls::V1_3 => Some(self.identity(host)?),
        };
        let order = Order {
            declaration: &server.declaration,
            contender,
            materials: &server.materials,
            address,
            host,
            identity,
            cpus: self.cpus(Side::Far),
            inputs: &self.order.inputs,
        };
        FarSide::serve(order, self.topology)
    }

    fn start(&self, role: &str, side: Side) -> Result<Child, Outcome> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let placement = Placement { cpus: self.cpus(side), ..Placement::at(side) };
        self.topology.spawn(command, placement).map_err(failed)
    }

    /// The cores of a side; none: any.
    fn cpus(&self, side: Side) -> Vec<usize> {
        let places = &self.order.plan.placement;
        let core = match side {
            Side::Near => places.client,
            Side::Far => places.origin,
        };
        if is_pinned(&self.order.plan) { vec![core as usize] } else { Vec::new() }
    }

    fn identity(&self, host: &str) -> Result<IdentityPem, Outcome> {
        let identity = self.authority.issue(&[host]).map_err(failed)?;
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        Ok(IdentityPem { chain: text(identity.chain_pem()), key: text(identity.key_pem()) })
    }

    fn placement(&self) -> BTreeMap<String, String> {
        let places = &self.order.plan.placement;
        let text = match is_pinned(&self.order.plan) {
            true => {
                format!("link {}, client {}, origin {}", places.link, places.client, places.origin)
            }
            false => "any".to_owned(),
        };
        BTreeMap::from([("cores".to_owned(), text)])
    }

    fn far_job(&self) -> Result<FarJob, Outcome> {
        let contender = &self.order.plan.cell.contender;
        let listeners = self.work.listeners();
        let (listen, listen_tls) = match contender.tls {
            Tls::None => (listeners, Vec::new()),
            Tls::V1_2 | Tls::V1_3 => (Vec::new(), listeners),
        };
        let identity = |host: &String| self.identity(host);
        let identities = match listen_tls.is_empty() {
            true => Vec::new(),
            false => self.work.hosts.iter().map(identity).collect::<Result<_, _>>()?,
        };
        let table = self.work.task.table();
        let root = match self.work.task {
            Task::Download { .. } => Some(self.order.served.clone()),
            Task::Page { .. } | Task::Calls { .. } | Task::Echo(_) => None,
        };
        let key_log = self.order.capture.as_ref().map(|_| capture::far_keys(self.order));
        let contender = contender.clone();
        Ok(FarJob { listen, listen_tls, identities, table, root, key_log, contender })
    }

    fn near_job(&self) -> NearJob {
        let hosts = self.work.hosts.iter().enumerate();
        NearJob {
            contender: self.order.plan.cell.contender.clone(),
            task: self.work.task.clone(),
            hosts: hosts.map(|(index, name)| (name.clone(), address(index))).collect(),
            root: String::from_utf8_lossy(&self.authority.root_pem().text).into_owned(),
            timeout: self.order.plan.timeout,
            key_log: match self.order.capture {
                Some(_) => Some(capture::near_keys(self.order)),
                None => self.order.key_log.clone(),
            },
        }
    }
}

/// Trials that run side by side share all cores; the kernel spreads them better than a plan made
/// beforehand. Without a link there is nobody who needs a core of his own.
fn is_pinned(plan: &TrialPlan) -> bool {
    !plan.is_light() && !choice::is_loopback(&plan.cell.link)
}

fn topology_spec(contender: &Contender, work: &Work) -> TopologySpec {
    let mut spec = TopologySpec::default();
    spec.tcp.congestion = contender.settings.congestion_control.name().to_owned();
    spec.tcp.initial_window = contender.settings.initial_window;
    spec.mtu = contender.settings.mtu;
    // Far listens on no other.
    spec.names = NamesFor::Ipv4;
    if work.server.is_some() {
        spec.tcp.further.push(low_ports());
    }
    spec.hosts = work.hosts.iter().map(|name| vec![name.clone()]).collect();
    spec
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
    carrier: &mut dyn Carrier,
) -> Result<(FarReady, ChildStdout), Outcome> {
    let Some(stdout) = far.stdout.take() else { return Err(failed("far has no standard output")) };
    let stop = Stop {
        readable: &[stdout.as_fd(), far.as_fd()],
        deadline: Some(os::clock::now() + FAR_START),
    };
    carrier.carry(stop).map_err(failed)?;
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
    far: &mut FarSide<'_>,
    carrier: &mut dyn Carrier,
    deadline: Instant,
) -> Result<NearReport, Outcome> {
    let Some(mut stdout) = near.stdout.take() else {
        return Err(failed("near has no standard output"));
    };
    let readable = [stdout.as_fd(), near.as_fd(), far.as_fd()];
    carrier.carry(Stop { readable: &readable, deadline: Some(deadline) }).map_err(failed)?;
    if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
        if let Some(end) = far.died() {
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
        _ => format!("the {side} side talks nonsense"),
    }
}

fn link_counters(counters: &LinkCounters) -> record::LinkCounters {
    let way = |way: os::net::WayCounters| record::DirectionCounters {
        packets: way.packets,
        bytes: way.bytes,
        lost: way.lost,
        queue_full: way.queue_full,
    };
    record::LinkCounters {
        down: way(counters.down),
        up: way(counters.up),
        kernel_drops: counters.unplanned(),
        lateness_max_us: counters.lateness.max().as_secs_f64() * 1e6,
        lateness_p99_us: counters.lateness.quantile_bound(0.99).as_secs_f64() * 1e6,
    }
}

fn failed(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

fn unsupported(error: Os) -> Outcome {
    let remedy = error.remedy().unwrap_or("see wirelap doctor").to_owned();
    Outcome::Unsupported { reason: error.to_string(), remedy }
}
