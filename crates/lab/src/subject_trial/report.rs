//! What a client subject said, put into the words of rows. Nothing here judges what it says; `study` does.

use super::{Sittings, SubjectTrial};
use crate::audit::LEAST_TICKS;
use crate::job::NearReport;
use crate::ran::end_use;
use crate::served;
use crate::sitting::Sat;
use crate::task::{Asset, Task};
use crate::unmade::failed;
use os::machine::CpuTimes;
use os::process::Counter;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;
use study::experiment::Contender;
use study::reconcile::{Case, KeyLogFacts};
use study::record::{EndUse, Outcome, metric};
use subject::contract::{self, FetchLine};
use trace::{FetchOutcome, FetchRecord, Phases, SpokenProtocol, TlsVersion};
use unit::Instant;

/// What the subject came to.
pub(crate) struct SubjectReport {
    /// Its fetches, and what it says of itself.
    pub(crate) near: NearReport,
    /// What its processes used.
    pub(crate) usage: EndUse,
    /// Figures of the processes.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Its processor time from when it was ready to its end, as a share of one core.
    pub(crate) busy: Option<f64>,
    /// A file that is not what was served.
    pub(crate) wrong_file: Option<String>,
    expected: BTreeMap<u32, u64>,
    told: BTreeMap<u32, u64>,
    connections: Option<u64>,
    named_connections: u64,
    resumed: Option<u64>,
    tls_told: Vec<TlsVersion>,
    key_log: Option<KeyLogFacts>,
    /// When the measured work began, where it was warmed up.
    since: Option<Instant>,
}

impl SubjectTrial<'_> {
    /// What they came to. It takes its time (files are digested, programs asked for their version): the link has to be
    /// done by then.
    pub(crate) fn report(
        &self,
        Sittings { jobs, sat }: &Sittings,
    ) -> Result<SubjectReport, Outcome> {
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
                times: None,
                schedule_lag: None,
                before: Vec::new(),
            },
            usage: sat.iter().map(client_use).reduce(EndUse::with).unwrap_or_default(),
            metrics: BTreeMap::new(),
            // Of a download, what its client costs is the contest, from the start of its process on.
            busy: busy(sat).filter(|_| !matches!(self.task, Task::Download { .. })),
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
    fn wrong_file(&self, files: &[Asset]) -> std::io::Result<Option<String>> {
        for (id, asset) in files.iter().enumerate() {
            let path = self.order.scratch.join("out").join(id.to_string());
            let name = &asset.name;
            let (digest, bytes) = match served::digest(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Some(format!("it left no file of {name}")));
                }
                read => read?,
            };
            if bytes != asset.bytes {
                let expected = asset.bytes;
                return Ok(Some(format!("its file of {name} has {bytes} bytes, not {expected}")));
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
            protocol: contender.transport.protocol(),
            tls: contender.tls.version(),
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
    tls: BTreeSet<TlsVersion>,
}

impl Named {
    fn note(&mut self, process: u32, line: &FetchLine) {
        self.tls.extend(line.tls.as_deref().map(TlsVersion::from_name));
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
        protocol: SpokenProtocol::from_name(line.protocol.as_deref().unwrap_or_default()),
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

/// The share of one core that its work took, without its start; None where that is too short to be told by what counts.
fn busy(sat: &[Sat]) -> Option<f64> {
    let (mut cpu_ms, mut span) = (0.0, Duration::ZERO);
    for sat in sat {
        let usage = client_use(sat);
        // An adapter starts its client when it is ready itself.
        let before = if begun(sat) == sat.started { sat.spent? } else { Duration::ZERO };
        cpu_ms += (usage.cpu_ms() - before.as_secs_f64() * 1e3).max(0.0);
        span += sat.ended.since(ready_at(sat));
    }
    let by_ticks = sat.iter().any(|sat| sat.usage.counted_by == Counter::Wait4);
    let least = if by_ticks { CpuTimes::TICK * LEAST_TICKS } else { CpuTimes::TICK };
    (span >= least).then(|| cpu_ms / (span.as_secs_f64() * 1e3))
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

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
