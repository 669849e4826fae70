//! The server of a trial: our own origin in a process of its own, or one that a file declares.

use crate::link::path::NetworkPath;
use crate::trial::job::{FarReport, IdentityPem};
use crate::trial::outcome::{failed, server_failed};
use crate::trial::recorded_site::RecordedSite;
use crate::trial::service::ServiceBridge;
use crate::trial::site_contents::ReplayCounts;
use crate::trial::static_files::{self, StaticFile, StaticFiles};
use os::net::{Stop, Topology};
use os::process::{Child, CpuSet, Usage};
use os::reactor::LoopTimes;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::ChildStdout;
use std::time::Duration;
use study::experiment::Contender;
use study::outcome::Outcome;
use study::reconcile::{self, ServerConnection};
use subject::server::{
    HostSite, RunningServer, ServerDeclaration, ServerEnvironment, ServerLog, ServerSite,
};
use trace::{DeliveryRecord, TlsRecord, TlsVersion};
use unit::ByteSize;

/// How long our own origin may take to end when asked to.
const ORIGIN_END: Duration = Duration::from_millis(500);

/// Covered by a folder in memory that the trial alone sees. Every Linux has it, its name needs no quotes in any
/// configuration, and nobody keeps programs there.
const MEMORY: &str = "/dev/shm";

/// For a server's folder, and for files that are made anew for each trial.
const MEMORY_SIZE: ByteSize = ByteSize(512 << 20);

/// Files that take more are made once a run, on disk.
const MOST_IN_MEMORY: ByteSize = ByteSize(64 << 20);

/// Whoever serves.
#[derive(Debug)]
pub(crate) enum ServerProcess<'d> {
    /// Our own origin.
    Origin {
        /// Its process.
        child: Child,
        /// Its last line will come from here.
        stdout: ChildStdout,
        /// What it said of its sockets.
        settings: BTreeMap<String, String>,
    },
    /// Somebody else's server, and an upstream of ours behind it where files are not enough.
    Server(Box<RunningServer<'d>>, Option<Upstream>),
    /// The relay to a service that already runs.
    Service(ServiceBridge),
}

/// Our origin behind somebody else's server.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// Held open: its last line goes there.
    pub(crate) stdout: ChildStdout,
}

/// What a far side leaves behind.
#[derive(Debug, Default)]
pub(crate) struct ServerReport {
    /// What it used.
    pub(crate) usage: Usage,
    /// What it said of itself, by name.
    pub(crate) settings: BTreeMap<String, String>,
    /// What it saw; None where it does not tell.
    pub(crate) log: Option<reconcile::ServerLog>,
    /// The times of its event loop, where it is our own origin.
    pub(crate) times: Option<LoopTimes>,
    /// What each stream asked for and what it got, where our own origin tells.
    pub(crate) deliveries: Vec<DeliveryRecord>,
    /// How a browser's requests found their answers in a recorded site.
    pub(crate) replay: Option<ReplayCounts>,
}

/// What a server that is not ours is started with.
#[derive(Debug)]
pub(crate) struct ServerSpec<'a> {
    pub(crate) declaration: &'a ServerDeclaration,
    pub(crate) contender: &'a Contender,
    pub(crate) files: &'a StaticFiles,
    /// Where the page is a recorded one.
    pub(crate) recorded: Option<&'a RecordedSite>,
    /// What it serves, of which there is something.
    pub(crate) hosts: Vec<ServedHost<'a>>,
    /// Who answers what is no file.
    pub(crate) upstream: Option<Upstream>,
    pub(crate) cpus: CpuSet,
    /// Where large files are kept for a run's next trials.
    pub(crate) large_files: &'a Path,
}

/// A host that is served.
#[derive(Debug)]
pub(crate) struct ServedHost<'a> {
    /// The name that it is asked for by.
    pub(crate) name: &'a str,
    /// Where it is.
    pub(crate) address: SocketAddr,
    /// What it shows, where TLS is spoken.
    pub(crate) identity: Option<IdentityPem>,
}

impl<'d> ServerProcess<'d> {
    /// Starts a server that is not ours, and waits until it listens.
    pub(crate) fn start(spec: ServerSpec<'d>, topology: &Topology) -> Result<Self, Outcome> {
        let programs = crate::environment::program_folders();
        let site = lay_out(&spec, topology)?;
        let peers = crate::environment::peers_folder();
        let environment =
            ServerEnvironment { topology, cpus: spec.cpus, programs: &programs, peers: &peers };
        let mut running =
            RunningServer::start(spec.declaration, spec.contender, &site, environment)
                .map_err(server_failed)?;
        running.await_ready(topology).map_err(server_failed)?;
        Ok(Self::Server(Box::new(running), spec.upstream))
    }

    /// What became of it, where it has ended too early.
    pub(crate) fn died(&mut self) -> Option<String> {
        match self {
            Self::Origin { child, .. } => {
                let exit = child.wait(Some(Duration::ZERO)).ok()??;
                Some(format!("the far side died ({})", exit.status))
            }
            Self::Server(running, _) => running.ended_early(),
            Self::Service(_) => None,
        }
        .or_else(|| self.instrument_fault())
    }

    /// What became of a process of ours that stands between the contender's client and its server: it ended, or somebody
    /// stopped it for a while. None where nothing did. That is no fault of the contender.
    pub(crate) fn instrument_fault(&mut self) -> Option<String> {
        match self {
            Self::Origin { .. } | Self::Server(_, None) => None,
            Self::Server(_, Some(Upstream { child, .. })) => {
                fault_of("our server behind the contender's", child)
            }
            Self::Service(bridge) => bridge.fault(),
        }
    }

    /// Ends it and takes its report.
    pub(crate) fn end(self, path: &mut NetworkPath<'_>) -> Result<ServerReport, Outcome> {
        match self {
            Self::Origin { mut child, stdout, mut settings } => {
                let report = last_report(&child, stdout, path)?;
                settings.extend(report.iter().flat_map(|report| report.settings.clone()));
                let exit = child.end(ORIGIN_END).map_err(failed)?;
                let times = report.as_ref().and_then(|report| report.times);
                let has_report = report.is_some();
                let report = report.unwrap_or_default();
                let FarReport { log, deliveries, replay, .. } = report;
                let log = has_report.then_some(log);
                Ok(ServerReport { usage: exit.usage, settings, log, times, deliveries, replay })
            }
            Self::Service(bridge) => {
                bridge.end().map_err(failed)?;
                Ok(ServerReport::default())
            }
            Self::Server(running, upstream) => {
                if let Some(Upstream { mut child, stdout, .. }) = upstream {
                    drop(stdout);
                    child.end(ORIGIN_END).map_err(failed)?;
                }
                let stopped = running.stop().map_err(server_failed)?;
                let mut settings = stopped.log.as_ref().map_or_else(BTreeMap::new, facts);
                let peak = ByteSize(stopped.peak_resident).to_string();
                settings.insert("server peak memory".to_owned(), peak);
                let log = stopped.log.as_ref().map(witnessed);
                Ok(ServerReport { usage: stopped.usage, settings, log, ..ServerReport::default() })
            }
        }
    }
}

/// How `child`, called `name`, broke off its work; None where it did not.
pub(crate) fn fault_of(name: &str, child: &mut Child) -> Option<String> {
    match child.wait(Some(Duration::ZERO)) {
        Ok(Some(exit)) => Some(format!("{name} died ({})", exit.status)),
        _ => child.was_stopped().then(|| format!("{name} was stopped for a while")),
    }
}

impl AsFd for ServerProcess<'_> {
    /// Readable once it has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Origin { child, .. } => child.as_fd(),
            Self::Server(running, _) => running.as_fd(),
            Self::Service(bridge) => bridge.as_fd(),
        }
    }
}

/// What a server's own log says, connection by connection. It counts each kind alone, so that which connection had
/// which is not known; their numbers and kinds are.
fn witnessed(log: &ServerLog) -> reconcile::ServerLog {
    let protocols = log.connections.iter().flat_map(|(name, count)| (0..*count).map(move |_| name));
    let mut versions = log.tls.iter().flat_map(|(name, count)| (0..*count).map(move |_| name));
    let connections = (1..).zip(protocols).map(|(id, protocol)| {
        let tls = versions.next().map(|version| TlsRecord {
            version: TlsVersion::from_name(&format!("TLSv{version}")),
            cipher: String::new(),
            alpn: protocol.to_string(),
            resumed: id <= log.resumed,
            early_data: trace::EarlyData::None,
        });
        let body_bytes = if id == 1 { log.bytes } else { 0 };
        ServerConnection { id, protocol: protocol.clone(), tls, requests: 1, body_bytes }
    });
    reconcile::ServerLog { connections: connections.collect() }
}

/// Asks far to end and takes what it saw; None where it does not tell in time.
fn last_report(
    far: &Child,
    mut stdout: ChildStdout,
    path: &mut NetworkPath<'_>,
) -> Result<Option<FarReport>, Outcome> {
    far.ask_to_end();
    let deadline = Some(os::clock::now() + ORIGIN_END);
    let mut text = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        path.run_until(Stop { readable: &[stdout.as_fd()], deadline }).map_err(failed)?;
        if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
            return Ok(None);
        }
        match stdout.read(&mut piece).map_err(failed)? {
            0 => break,
            count => text.extend_from_slice(&piece[..count]),
        }
    }
    Ok(serde_json::from_slice(&text).ok())
}

/// What a server's own log says, as a row keeps it.
fn facts(log: &ServerLog) -> BTreeMap<String, String> {
    let mut facts = vec![
        ("requests".to_owned(), log.requests),
        ("refused requests".to_owned(), log.refused),
        ("body bytes".to_owned(), log.bytes),
        ("resumed connections".to_owned(), log.resumed),
    ];
    let protocols = log.connections.iter();
    facts.extend(protocols.map(|(protocol, count)| (format!("connections of {protocol}"), *count)));
    let versions = log.tls.iter();
    facts.extend(
        versions.map(|(version, count)| (format!("connections over TLS {version}"), *count)),
    );
    facts
        .into_iter()
        .map(|(name, count)| (format!("server log: {name}"), count.to_string()))
        .collect()
}

/// Makes a server's folder, the files that it serves, its chain and its key.
fn lay_out(spec: &ServerSpec<'_>, topology: &Topology) -> Result<ServerSite, Outcome> {
    topology.scratch(Path::new(MEMORY), MEMORY_SIZE).map_err(|error| Outcome::Unsupported {
        reason: error.to_string(),
        remedy: "race against wirelap's own origin".to_owned(),
    })?;
    let memory = Path::new(MEMORY).join("wirelap");
    let made = |what: &'static str| {
        move |error: std::io::Error| failed(format!("{what} could not be made: {error}"))
    };
    let (root, folder) = (memory.join("root"), memory.join("server"));
    for folder in [&root, &folder] {
        fs::create_dir_all(folder).map_err(made("a server's folder"))?;
    }
    let mut hosts = Vec::new();
    for (number, host) in spec.hosts.iter().enumerate() {
        let chain = memory.join(format!("chain-{number}.pem"));
        let key = memory.join(format!("key-{number}.pem"));
        if let Some(identity) = &host.identity {
            fs::write(&chain, &identity.chain).map_err(made("a server's chain"))?;
            fs::write(&key, &identity.key).map_err(made("a server's key"))?;
        }
        let own = spec.recorded.and_then(|recorded| recorded.host(host.name));
        hosts.push(HostSite {
            name: host.name.to_owned(),
            address: host.address,
            root: own.map_or_else(|| root.clone(), |own| root.join(&own.folder)),
            chain,
            key,
            files: own.map(|own| own.files.clone()).unwrap_or_default(),
        });
    }
    if hosts.is_empty() {
        return Err(failed("the workload names no host"));
    }
    let upstream = spec.upstream.as_ref().map(|upstream| upstream.address);
    let site = ServerSite {
        host: hosts.remove(0),
        other_hosts: hosts,
        upstream,
        is_recorded: spec.recorded.is_some(),
        folder,
    };
    let total: u64 = spec.files.values().map(StaticFile::bytes).sum();
    let kept = (ByteSize(total) > MOST_IN_MEMORY).then_some(spec.large_files);
    let folder = kept.unwrap_or(&root);
    fs::create_dir_all(folder).map_err(made("the folder of files"))?;
    static_files::write_all(spec.files, folder).map_err(made("the files to be served"))?;
    if let Some(kept) = kept {
        topology.show(kept, &root).map_err(failed)?;
    }
    Ok(site)
}

/// The setting that lets somebody who is not root listen where servers usually do.
pub(crate) fn low_ports() -> (String, String) {
    ("net.ipv4.ip_unprivileged_port_start".to_owned(), "0".to_owned())
}
