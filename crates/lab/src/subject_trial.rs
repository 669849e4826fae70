//! A trial's work, done by somebody else's client: what the subject is told, the processes that do it, and what it
//! says put into the words of rows. Nothing here judges what it says; `study` does.

use crate::capture;
use crate::job::{NearReport, TrialOrder};
use crate::served::{self, Digest};
use crate::sitting::{self, Carrier, Sat, Sitting};
use crate::subjects;
use crate::task::Task;
use os::cgroup::Version;
use os::net::{Placement, Side, Topology};
use os::process::Usage;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::experiment::{ClientSubject, Contender, Processes, Tls, Transport};
use study::reconcile::{Case, KeyLogFacts};
use study::record::{Counter, EndUse, GroupMemory, Outcome, metric};
use subject::contract::{self, Fetch, FetchLine, Job};
use subject::{ClientDeclaration, Lacking};
use trace::{FetchOutcome, FetchRecord, Phases};
use unit::Instant;

/// What does downloads where no other client is named.
const OWN_DOWNLOADER: &str = "wirelap-get";

/// Whose client does the work of a contender; None: the one in this program.
pub(crate) fn client_of(contender: &Contender, task: &Task) -> Option<ClientSubject> {
    match (&contender.client, task) {
        (Some(client), _) => Some(client.clone()),
        (None, Task::Download { .. }) => {
            Some(ClientSubject { name: OWN_DOWNLOADER.to_owned(), warmup: 0 })
        }
        (None, _) => None,
    }
}

/// A subject that can be started.
pub(crate) struct SubjectTrial<'a> {
    order: &'a TrialOrder,
    task: &'a Task,
    workload: contract::Workload,
    transport: contract::Transport,
    client: ClientSubject,
    words: Vec<String>,
    /// The command that prints its version, where it has one.
    version: Option<Vec<String>>,
    /// PEM of the root certificate.
    root: &'a [u8],
    /// The files that are served, by name, where files are.
    digests: &'a BTreeMap<String, Digest>,
}

/// What the subject came to.
pub(crate) struct SubjectReport {
    /// Its fetches, and what it says of itself.
    pub(crate) near: NearReport,
    /// What its processes used.
    pub(crate) usage: EndUse,
    /// Figures of the processes.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// A file that is not what was served.
    pub(crate) wrong_file: Option<String>,
    expected: BTreeMap<u32, u64>,
    told: BTreeMap<u32, u64>,
    connections: Option<u64>,
    named_connections: u64,
    resumed: Option<u64>,
    tls_told: Vec<String>,
    key_log: Option<KeyLogFacts>,
    /// When the measured work began, where it was warmed up.
    since: Option<Instant>,
}

impl<'a> SubjectTrial<'a> {
    /// Finds the subject; what it lacks makes the trial unsupported before anything is started.
    pub(crate) fn prepare(
        order: &'a TrialOrder,
        task: &'a Task,
        client: ClientSubject,
        (root, digests): (&'a [u8], &'a BTreeMap<String, Digest>),
    ) -> Result<Self, Outcome> {
        let catalogue = subjects::of_run(&order.inputs).map_err(failed)?;
        let name = &client.name;
        let declared: &ClientDeclaration = catalogue.client(name).ok_or_else(|| {
            lacking(Lacking {
                reason: format!("no client `{name}` is declared"),
                remedy: "name a declared one, see wirelap list".to_owned(),
            })
        })?;
        let asked = order.plan.cell.contender.transport;
        let kind = workload(task).zip(transport(asked));
        let (workload, transport) = kind.ok_or_else(|| {
            lacking(Lacking {
                reason: format!("{name} is asked for fetches alone, and not for messages"),
                remedy: "leave the contender's client away for this workload".to_owned(),
            })
        })?;
        declared.supports(transport, workload).map_err(lacking)?;
        let places = subjects::places().map_err(failed)?;
        let words = declared.command_line(&places).map_err(lacking)?;
        let version = declared.version_command(&places);
        Ok(Self { order, task, workload, transport, client, words, version, root, digests })
    }

    /// Does all of the work, one process or several.
    pub(crate) fn run(
        &self,
        carrier: &mut dyn Carrier,
        topology: &Topology,
        far: BorrowedFd<'_>,
        cpus: &[usize],
    ) -> Result<SubjectReport, Outcome> {
        let jobs = self.jobs()?;
        let deadline = os::clock::now() + self.order.plan.timeout;
        let mut sat = Vec::new();
        for job in &jobs {
            let sitting = Sitting { name: &self.client.name, job, deadline, far };
            let command =
                sitting::command(&self.words, job, &self.order.scratch).map_err(failed)?;
            let placement = Placement { cpus: cpus.to_vec(), ..Placement::at(Side::Near) };
            let spawn = || topology.spawn(command, placement).map_err(failed);
            sat.push(sitting.hear(carrier, spawn)?);
        }
        self.report(&jobs, &sat)
    }

    /// What each process is told.
    fn jobs(&self) -> Result<Vec<Job>, Outcome> {
        let scratch = &self.order.scratch;
        let output = scratch.join("out");
        fs::create_dir_all(&output).map_err(failed)?;
        let contender = &self.order.plan.cell.contender;
        let trust = scratch.join("root.pem");
        fs::write(&trust, self.root).map_err(failed)?;
        let is_clear = contender.tls == Tls::None;
        let (pattern, connections) = (self.pattern(), self.connections());
        let whole = Job {
            contract: contract::CONTRACT,
            workload: self.workload,
            transport: self.transport,
            tls: contender.tls,
            negotiation: contender.settings.negotiation,
            pattern,
            connections,
            keep_alive: contender.settings.keep_alive,
            resumption: contender.settings.resumption && !is_clear,
            fetches: self.fetches(),
            trust: (!is_clear).then_some(trust),
            output: matches!(self.task, Task::Download { .. }).then_some(output),
            key_log: (!is_clear).then(|| self.keys()),
            warmup: self.client.warmup,
            timeout_ms: self.order.plan.timeout.as_millis() as u64,
        };
        Ok(match self.task {
            Task::Download { processes: Processes::Each, .. } => {
                let one = |fetch: &Fetch| Job { fetches: vec![fetch.clone()], ..whole.clone() };
                whole.fetches.iter().map(one).collect()
            }
            _ => vec![whole],
        })
    }

    fn keys(&self) -> PathBuf {
        capture::near_keys(self.order)
    }

    fn pattern(&self) -> contract::Pattern {
        match self.task {
            Task::Calls { pattern, .. } => pattern.told(),
            Task::Download { .. } | Task::Page { .. } | Task::Echo(_) => {
                contract::Pattern::Parallel
            }
        }
    }

    fn connections(&self) -> u32 {
        let own = self.order.plan.cell.contender.settings.connections;
        match self.task {
            Task::Download { connections, .. } => connections.unwrap_or(own),
            Task::Calls { .. } | Task::Page { .. } | Task::Echo(_) => own,
        }
    }

    fn fetches(&self) -> Vec<Fetch> {
        let is_clear = self.order.plan.cell.contender.tls == Tls::None;
        let scheme = if is_clear { page::Scheme::Http } else { page::Scheme::Https };
        let files = matches!(self.task, Task::Download { .. });
        let fetch = |(id, (mut url, _)): (u32, (page::Url, u64))| {
            url.scheme = scheme;
            Fetch { id, url: url.to_string(), file: files.then(|| id.to_string()) }
        };
        (0..).zip(self.task.bodies()).map(fetch).collect()
    }

    fn report(&self, jobs: &[Job], sat: &[Sat]) -> Result<SubjectReport, Outcome> {
        let urls: BTreeMap<u32, &str> = jobs
            .iter()
            .flat_map(|job| &job.fetches)
            .map(|fetch| (fetch.id, fetch.url.as_str()))
            .collect();
        let mut report = SubjectReport {
            near: NearReport {
                fetches: Vec::new(),
                connections: Vec::new(),
                uncounted: BTreeSet::new(),
                server_time: BTreeMap::new(),
                settings: self.settings(sat),
            },
            usage: sat.iter().map(client_use).reduce(EndUse::with).unwrap_or_default(),
            metrics: BTreeMap::new(),
            wrong_file: None,
            expected: (0..).zip(self.task.bodies()).map(|(id, (_, bytes))| (id, bytes)).collect(),
            told: BTreeMap::new(),
            connections: sum(sat.iter().map(|sat| done(sat).connections.map(u64::from))),
            named_connections: 0,
            resumed: None,
            tls_told: Vec::new(),
            key_log: self.key_log_facts(sat),
            since: sat.first().filter(|_| self.client.warmup > 0).map(ready_at),
        };
        let mut named = Named::default();
        for (process, sat) in (0..).zip(sat) {
            let zero = ready_at(sat);
            for told in &sat.transcript.fetches {
                named.note(process, &told.line);
                let url = urls.get(&told.line.id).copied().unwrap_or_default();
                report.near.fetches.push(record(zero, url, &told.line));
                if let Some(bytes) = told.line.bytes.filter(|_| told.line.status == Some(200)) {
                    report.told.insert(told.line.id, bytes);
                }
            }
        }
        report.near.fetches.sort_by_key(|fetch| fetch.id);
        report.named_connections = named.connections.len() as u64;
        report.resumed = named.resumed();
        report.tls_told = named.tls.into_iter().collect();
        report.metrics = metrics(sat, report.usage, self.client.warmup > 0);
        if let Task::Download { files, .. } = self.task {
            let gib = report.expected.values().sum::<u64>() as f64 / GIB;
            let seconds = report.usage.cpu_ms() / 1e3;
            report.metrics.insert(metric::CPU_PER_GIB.to_owned(), seconds / gib);
            report.wrong_file = self.wrong_file(files).map_err(failed)?;
            let right = f64::from(u8::from(report.wrong_file.is_none()));
            report.metrics.insert(metric::SHA256_OK.to_owned(), right);
        }
        Ok(report)
    }

    fn settings(&self, sat: &[Sat]) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        let mut note = |what: &str, value: &Option<String>| {
            if let Some(value) = value {
                settings.insert(format!("client {what}"), value.clone());
            }
        };
        note("subject", &Some(self.client.name.clone()));
        if let Some(ready) = sat.first().and_then(|sat| sat.transcript.ready.as_ref()) {
            note("name", &ready.line.name);
            // A runtime takes its time to start: it is asked only where nothing was told.
            let asked = || {
                let (program, arguments) = self.version.as_deref()?.split_first()?;
                subject::version(program.as_ref(), arguments)
            };
            note("version", &ready.line.version.clone().or_else(asked));
            note("runtime", &ready.line.runtime);
        }
        settings
    }

    /// What its key log tells, where it says that it wrote one; the user's own is given the same lines.
    fn key_log_facts(&self, sat: &[Sat]) -> Option<KeyLogFacts> {
        let writes =
            |sat: &Sat| sat.transcript.ready.as_ref().is_some_and(|told| told.line.key_log);
        if !sat.iter().any(writes) {
            return None;
        }
        let text = fs::read_to_string(self.keys()).unwrap_or_default();
        if let Some(path) = &self.order.key_log {
            let appended = fs::OpenOptions::new().create(true).append(true).open(path);
            // The user's key log is for looking at packets; no figure hangs on it.
            let _ =
                appended.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        }
        Some(KeyLogFacts::read(&text))
    }

    /// The first file that is not what was served, and how it differs.
    fn wrong_file(&self, files: &[crate::task::Asset]) -> std::io::Result<Option<String>> {
        for (id, asset) in files.iter().enumerate() {
            let path = self.order.scratch.join("out").join(id.to_string());
            let name = &asset.name;
            let (digest, octets) = match served::digest(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Some(format!("it left no file of {name}")));
                }
                read => read?,
            };
            if octets != asset.bytes {
                let expected = asset.bytes;
                return Ok(Some(format!("its file of {name} has {octets} octets, not {expected}")));
            }
            if self.digests.get(name) != Some(&digest) {
                return Ok(Some(format!("the SHA-256 of its file of {name} is wrong")));
            }
        }
        Ok(None)
    }
}

impl SubjectReport {
    /// The case to be judged, but for the witnesses.
    pub(crate) fn case<'a>(&'a self, contender: &'a Contender) -> Case<'a> {
        Case {
            transport: contender.transport.name(),
            tls: match contender.tls {
                Tls::None => None,
                Tls::V1_2 => Some("TLSv1.2"),
                Tls::V1_3 => Some("TLSv1.3"),
            },
            fetches: &self.near.fetches,
            expected: &self.expected,
            told: &self.told,
            connections: self.connections,
            named_connections: self.named_connections,
            tls_told: self.tls_told.clone(),
            resumed: self.resumed,
            packets: None,
            since: self.since,
            server: None,
            key_log: self.key_log.as_ref(),
        }
    }
}

/// What is told of connections, over all processes.
#[derive(Default)]
struct Named {
    connections: BTreeSet<(u32, u32)>,
    taken_up: BTreeSet<(u32, u32)>,
    tells_resumption: bool,
    nameless: bool,
    tls: BTreeSet<String>,
}

impl Named {
    fn note(&mut self, process: u32, line: &FetchLine) {
        self.tls.extend(line.tls.clone());
        self.tells_resumption |= line.resumed.is_some();
        let Some(number) = line.connection else {
            self.nameless |= line.error.is_none();
            return;
        };
        self.connections.insert((process, number));
        if line.resumed == Some(true) {
            self.taken_up.insert((process, number));
        }
    }

    /// How many connections took up a session; None where that cannot be counted.
    fn resumed(&self) -> Option<u64> {
        (self.tells_resumption && !self.nameless).then_some(self.taken_up.len() as u64)
    }
}

/// A fetch's line as a row.
fn record(zero: Instant, url: &str, line: &FetchLine) -> FetchRecord {
    let at = |ms: f64| zero + Duration::from_secs_f64(ms / 1e3);
    let wished = FetchRecord::wished(line.id, url.to_owned(), at(line.started_ms));
    FetchRecord {
        connection: line.connection,
        protocol: line.protocol.clone().unwrap_or_default(),
        status: line.status,
        body_bytes: line.bytes.unwrap_or(0),
        phases: Phases {
            connected: line.connected_ms.map(at),
            secured: line.secured_ms.map(at),
            sent: line.sent_ms.map(at),
            first_byte: line.first_byte_ms.map(at),
            last_byte: Some(at(line.ended_ms)),
            ..wished.phases
        },
        outcome: match (&line.error, line.status) {
            (Some(error), _) => FetchOutcome::Failed(error.clone()),
            (None, Some(status)) if status >= 400 => {
                FetchOutcome::Failed(format!("status {status}"))
            }
            (None, _) => FetchOutcome::Done,
        },
        ..wished
    }
}

fn metrics(sat: &[Sat], usage: EndUse, is_warm: bool) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let mut set = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    let of_all = |span: &dyn Fn(&Sat) -> Duration| {
        sat.iter().map(span).sum::<Duration>().as_secs_f64() * 1e3
    };
    // Whoever asks for a warm client asks about a process that runs already.
    let begun = |sat: &Sat| if is_warm { ready_at(sat) } else { begun(sat) };
    set(metric::WALL_MS, of_all(&|sat| sat.ended.since(begun(sat))));
    // An adapter whose client tells no time before its first request cannot tell its start from its work.
    if let startup @ 0.001.. = of_all(&startup) {
        set(metric::STARTUP_MS, startup);
    }
    let transfer = |sat: &Sat| {
        let lines = sat.transcript.fetches.iter().map(|told| &told.line);
        let end = lines.clone().map(|line| line.ended_ms).fold(0.0, f64::max);
        let start = lines.map(|line| line.started_ms).fold(end, f64::min);
        Duration::from_secs_f64((end - start) / 1e3)
    };
    set(metric::TRANSFER_MS, of_all(&transfer));
    set(metric::CLIENT_CPU_MS, usage.cpu_ms());
    set(metric::PEAK_MEMORY, usage.peak_memory_bytes as f64);
    let told = |name, value: Option<u64>| value.map(|value| (name, value as f64));
    let collections = sum(sat.iter().map(|sat| done(sat).gc_count));
    let pauses = sat.iter().map(|sat| done(sat).gc_ms).sum::<Option<f64>>();
    let heap = sat.iter().map(|sat| done(sat).heap_peak_bytes).max().flatten();
    let managed = [
        told(metric::GC_COUNT, collections),
        pauses.map(|ms| (metric::GC_MS, ms)),
        told(metric::HEAP_PEAK, heap),
    ];
    for (name, value) in managed.into_iter().flatten() {
        set(name, value);
    }
    metrics
}

/// When the client was started: an adapter's own start is not the client's.
fn begun(sat: &Sat) -> Instant {
    let adapter = sat.transcript.ready.as_ref().filter(|told| told.line.adapter);
    adapter.map_or(sat.started, |told| told.at)
}

/// From the client's start to its work, but for its warm-up.
fn startup(sat: &Sat) -> Duration {
    let first = sat.transcript.fetches.iter().map(|told| told.line.started_ms);
    let first = Duration::from_secs_f64(first.reduce(f64::min).unwrap_or(0.0) / 1e3);
    let warmup = sat.transcript.ready.as_ref().and_then(|told| told.line.warmup_ms);
    let warmup = Duration::from_secs_f64(warmup.unwrap_or(0.0) / 1e3);
    match begun(sat) == sat.started {
        true => ready_at(sat).since(sat.started).saturating_sub(warmup),
        false => first,
    }
}

/// What a client used: an adapter's own processor time is not the client's.
fn client_use(sat: &Sat) -> EndUse {
    let usage = end_use(sat.usage);
    let adapter = done(sat).adapter_cpu_ms.unwrap_or(0.0);
    let share = if usage.cpu_ms() > 0.0 { (adapter / usage.cpu_ms()).min(1.0) } else { 0.0 };
    EndUse {
        user_ms: usage.user_ms * (1.0 - share),
        system_ms: usage.system_ms * (1.0 - share),
        ..usage
    }
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What a process used, as a row has it.
pub(crate) fn end_use(usage: Usage) -> EndUse {
    EndUse {
        user_ms: usage.user.as_secs_f64() * 1e3,
        system_ms: usage.system.as_secs_f64() * 1e3,
        peak_memory_bytes: usage.max_rss,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        cpu_counter: match usage.counted_by {
            os::process::Counter::Wait4 => Counter::Wait4,
            os::process::Counter::Cgroup(version) => counter(version),
        },
        group_memory: usage
            .group_peak
            .map(|(peak_bytes, version)| GroupMemory { peak_bytes, counter: counter(version) }),
    }
}

fn counter(version: Version) -> Counter {
    match version {
        Version::V1 => Counter::CgroupV1,
        Version::V2 => Counter::CgroupV2,
    }
}

fn ready_at(sat: &Sat) -> Instant {
    sat.transcript.ready.as_ref().map_or(sat.started, |told| told.at)
}

fn done(sat: &Sat) -> contract::Done {
    sat.transcript.done.as_ref().map(|told| told.line.clone()).unwrap_or_default()
}

/// The sum of what all of them tell; None where one does not.
fn sum(told: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    told.sum()
}

/// A task in the contract's words; None where it has none.
fn workload(task: &Task) -> Option<contract::Workload> {
    match task {
        Task::Download { .. } => Some(contract::Workload::Download),
        Task::Calls { .. } => Some(contract::Workload::Calls),
        Task::Page { .. } => Some(contract::Workload::Page),
        Task::Echo(_) => None,
    }
}

/// A transport in the contract's words; None where it has none.
fn transport(transport: Transport) -> Option<contract::Transport> {
    match transport {
        Transport::Http1 => Some(contract::Transport::Http1),
        Transport::H2 => Some(contract::Transport::H2),
        Transport::Spdy => Some(contract::Transport::Spdy31),
        Transport::Spdy3 => Some(contract::Transport::Spdy3),
        Transport::WebSocket => None,
    }
}

fn failed(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

fn lacking(lacking: Lacking) -> Outcome {
    Outcome::Unsupported { reason: lacking.reason, remedy: lacking.remedy }
}

/// Lays out the files of a download below `folder`; their digests, by name.
pub(crate) fn lay_out(task: &Task, folder: &Path) -> std::io::Result<BTreeMap<String, Digest>> {
    let Task::Download { files, .. } = task else { return Ok(BTreeMap::new()) };
    files
        .iter()
        .map(|file| Ok((file.name.clone(), served::lay_out(folder, &file.name, file.bytes)?)))
        .collect()
}
