//! The report of a client subject as rows. Nothing here checks whether it is true; `study` does.

use super::figures::{busy, client_use, done, metrics, ready_at, sum, system_calls, work_cpu_ms};
use super::{FILM, OUTPUT, ProcessRun, ServedFile, SubjectClient};
use crate::trial::download_files;
use crate::trial::job::{NearReport, NextTimes, NextView};
use crate::trial::outcome::failed;
use crate::trial::own_calls::wrong_status;
use crate::trial::profile::Profile;
use page::PaintTimes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;
use study::experiment::{Contender, FirstVisit, Transport};
use study::metric;
use study::outcome::Outcome;
use study::reconcile::{Case, KeyLogFacts};
use study::record::{CLIENT_CLOCK_RESOLUTION, EndUse};
use subject::contract::{Fetch, FetchLine, Leaves, NextLine, PageLine};
use trace::{
    CacheTally, FetchOutcome, FetchRecord, HintTally, Phases, Protocol, SpokenProtocol, TlsVersion,
};
use unit::Instant;

/// What a subject reports, and what its processes used.
pub(crate) struct SubjectReport {
    /// Its fetches and settings.
    pub(crate) near: NearReport,
    /// What its processes used.
    pub(crate) usage: EndUse,
    /// Processor time of the work that is measured, in milliseconds; None where a warm-up cannot be told from it.
    pub(crate) cpu_ms: Option<f64>,
    /// Figures of the processes.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Its processor time from when it was ready to its end, as a share of one core.
    pub(crate) busy: Option<f64>,
    /// A file that is not what was served.
    pub(crate) wrong_file: Option<String>,
    /// What a browser asked for beside the page: what else shared the link with it.
    pub(crate) unlisted: Vec<String>,
    /// When the work after an earlier visit began; None where there was no visit, nor a load after the work.
    pub(crate) visited: Option<Instant>,
    /// Paths that the client says came from its cache.
    pub(crate) cached: BTreeSet<String>,
    /// What carried the load after the one that is judged, where there was one.
    pub(crate) next_protocols: Option<Vec<String>>,
    expected: BTreeMap<u32, u64>,
    reported_bytes: BTreeMap<u32, u64>,
    connections: Option<u64>,
    named_connections: u64,
    resumed: Option<u64>,
    reported_tls: Vec<TlsVersion>,
    key_log: Option<KeyLogFacts>,
    /// When the measured work began, where it was warmed up.
    since: Option<Instant>,
}

impl SubjectClient {
    /// What the processes report. It is slow (it digests files and runs programs for their version): call it only when the
    /// link has done its work.
    pub(crate) fn report(&self, processes: &[ProcessRun]) -> Result<SubjectReport, Outcome> {
        let usage = processes.iter().map(client_use).reduce(EndUse::with).unwrap_or_default();
        let connections = ReportedConnections::of(processes);
        let mut report = SubjectReport {
            near: self.near(processes),
            usage,
            cpu_ms: work_cpu_ms(processes, self.client.warmup > 0),
            metrics: metrics(processes, usage, self.client.warmup > 0),
            // A download compares what its client costs, its start included. So no share of a core is judged.
            busy: busy(processes).filter(|_| self.files.is_none()),
            wrong_file: None,
            // What a recorded page asks for beside its recording is counted where it is answered.
            unlisted: page(processes)
                .filter(|_| self.statuses.is_empty())
                .map(|page| page.unlisted.clone())
                .unwrap_or_default(),
            visited: self.visited(processes),
            cached: cached(processes).filter_map(|id| self.path(id)).collect(),
            next_protocols: next(processes).map(|(_, line)| line.protocols.clone()),
            expected: self.uncached(processes),
            reported_bytes: reported_bytes(processes),
            connections: sum(processes
                .iter()
                .map(|process| done(process).connections.map(u64::from))),
            named_connections: connections.numbered.len() as u64,
            resumed: connections.resumed(),
            reported_tls: connections.tls.into_iter().collect(),
            key_log: self.key_log_facts(processes),
            since: self.since(processes),
        };
        if let Some(page) = page(processes) {
            report.metrics.extend(page_metrics(page));
        }
        if !self.statuses.is_empty() {
            let missing = self.statuses.len().saturating_sub(report.near.fetches.len());
            report.metrics.insert(metric::REPLAY_NOT_ASKED.to_owned(), missing as f64);
        }
        if let Some(Profile::SystemCalls(file)) = &self.profile {
            report.metrics.extend(system_calls(&fs::read_to_string(file).map_err(failed)?));
        }
        if let Some(folder) = &self.film {
            keep_film(&self.scratch.join(FILM), folder, begun_ms(processes)).map_err(failed)?;
        }
        if let Some(files) = &self.files {
            self.check_files(files, &mut report)?;
        }
        Ok(report)
    }

    /// What its browser leaves for the work by an earlier visit; None: it makes none.
    fn leaves(&self) -> Option<Leaves> {
        self.jobs.iter().find_map(|job| job.earlier.as_ref()).map(|visit| visit.leaves)
    }

    /// When the work after an earlier visit began. Where only a load comes after the work, all before that is the work.
    fn visited(&self, processes: &[ProcessRun]) -> Option<Instant> {
        match self.leaves() {
            Some(_) => processes.first().map(ready_at),
            None => self.jobs.iter().find_map(|job| job.alt_svc.as_ref()).map(|_| Instant::ZERO),
        }
    }

    /// From when on packets are of the work, where the flows alone do not say it.
    fn since(&self, processes: &[ProcessRun]) -> Option<Instant> {
        let by_time = self.client.warmup > 0 || self.leaves() == Some(Leaves::Connections);
        processes.first().filter(|_| by_time).map(ready_at)
    }

    /// From when on connections are the work's own, where others were opened before it.
    fn began(&self, processes: &[ProcessRun]) -> Option<Instant> {
        let opens = self.leaves().is_some_and(|leaves| leaves != Leaves::Connections);
        processes.first().filter(|_| opens).map(ready_at)
    }

    /// The bytes of each body that comes over the link.
    fn uncached(&self, processes: &[ProcessRun]) -> BTreeMap<u32, u64> {
        let cached: BTreeSet<u32> = cached(processes).collect();
        let expected = self.expected.iter().filter(|(id, _)| !cached.contains(id));
        expected.map(|(id, bytes)| (*id, *bytes)).collect()
    }

    /// Path and query of a fetch.
    fn path(&self, id: u32) -> Option<String> {
        let mut fetches = self.jobs.iter().flat_map(|job| &job.fetches);
        fetches.find(|fetch| fetch.id == id).map(|fetch| fetch.path().to_owned())
    }

    /// The fetches as rows, in the order of their numbers, and the client's settings.
    fn near(&self, processes: &[ProcessRun]) -> NearReport {
        let asked = self.jobs.iter().flat_map(|job| &job.fetches);
        let asked: BTreeMap<u32, &Fetch> = asked.map(|fetch| (fetch.id, fetch)).collect();
        let mut fetches = Vec::new();
        for process in processes {
            for fetch in &process.transcript.fetches {
                let asked = asked.get(&fetch.line.id).copied();
                fetches.push(self.judged(record(ready_at(process), asked, &fetch.line)));
            }
        }
        fetches.sort_by_key(|fetch| fetch.id);
        if !self.statuses.is_empty() {
            fetches.retain(|fetch| !was_not_asked(fetch));
        }
        NearReport {
            fetches,
            connections: Vec::new(),
            hints: HintTally::default(),
            cached: CacheTally {
                fresh: cached(processes).count() as u32,
                revalidated: 0,
                bytes: cached(processes).filter_map(|id| self.expected.get(&id)).sum(),
            },
            tokens: Vec::new(),
            server_time: BTreeMap::new(),
            settings: self.settings(processes),
            times: None,
            schedule_lag: None,
            before: Vec::new(),
            began: self.began(processes),
            paint: page(processes).map(|line| paint_times(line, processes)),
            next: next(processes).map(|(zero, line)| next_view(zero, line)),
        }
    }

    /// Compares the files of a download with what was served, and adds the metrics of downloads.
    fn check_files(&self, files: &[ServedFile], report: &mut SubjectReport) -> Result<(), Outcome> {
        let gib = report.expected.values().sum::<u64>() as f64 / GIB;
        if let Some(ms) = report.cpu_ms {
            report.metrics.insert(metric::CPU_PER_GIB.to_owned(), ms / 1e3 / gib);
        }
        report.wrong_file = self.wrong_file(files).map_err(failed)?;
        let right = f64::from(u8::from(report.wrong_file.is_none()));
        report.metrics.insert(metric::SHA256_OK.to_owned(), right);
        Ok(())
    }

    /// A fetch that is one of the user's own requests has the status that its user expects, or has failed.
    fn judged(&self, record: FetchRecord) -> FetchRecord {
        if let (Some(recorded), Some(status)) = (self.statuses.get(&record.id), record.status)
            && *recorded == status
        {
            return FetchRecord { outcome: FetchOutcome::Done, ..record };
        }
        let own = self.own.get(&record.id).zip(record.status);
        let Some(((own, url), status)) = own else { return record };
        let outcome = match (wrong_status(own, url, status), &record.outcome) {
            (Some(reason), _) => FetchOutcome::Failed(reason),
            // By the contract, 400 and above count as failed; here they may be what is expected.
            (None, FetchOutcome::Failed(_)) if status >= 400 => FetchOutcome::Done,
            (None, outcome) => outcome.clone(),
        };
        FetchRecord { outcome, ..record }
    }

    fn settings(&self, processes: &[ProcessRun]) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        let mut note = |what: &str, value: &Option<String>| {
            if let Some(value) = value {
                settings.insert(format!("client {what}"), value.clone());
            }
        };
        note("subject", &Some(self.client.name.clone()));
        let next = next(processes).map(|(_, line)| line.protocols.join(" and "));
        note("next view spoke", &next);
        let left_out = format!("{} requests that are more than a GET", self.left_out);
        note("left out", &Some(left_out).filter(|_| self.left_out > 0));
        note("lcp element", &page(processes).and_then(|page| page.lcp_element.clone()));
        if let Some(ready) = processes.first().and_then(|process| process.transcript.ready.as_ref())
        {
            note("name", &ready.line.name);
            // A runtime takes its time to start: it is asked only where the transcript has no version.
            let asked = || {
                let (program, arguments) = self.version.as_deref()?.split_first()?;
                subject::version(program.as_ref(), arguments)
            };
            note("version", &ready.line.version.clone().or_else(asked));
            note("runtime", &ready.line.runtime);
        }
        if let Some(ms) = processes.iter().find_map(|process| done(process).clock_resolution_ms) {
            settings.insert(CLIENT_CLOCK_RESOLUTION.to_owned(), format!("{ms:.3} ms"));
        }
        settings
    }

    /// The facts of its key log, where it says that it wrote one. The same lines are appended to the user's key log.
    fn key_log_facts(&self, processes: &[ProcessRun]) -> Option<KeyLogFacts> {
        let writes = |process: &ProcessRun| {
            process.transcript.ready.as_ref().is_some_and(|ready| ready.line.key_log)
        };
        if !processes.iter().any(writes) {
            return None;
        }
        let text = fs::read_to_string(&self.keys).unwrap_or_default();
        if let Some(path) = &self.user_keys {
            let appended = fs::OpenOptions::new().create(true).append(true).open(path);
            // The user's key log is for looking at packets; no figure hangs on it.
            let _ =
                appended.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        }
        Some(KeyLogFacts::read(&text))
    }

    /// The first file that is not what was served, and how it differs.
    fn wrong_file(&self, files: &[ServedFile]) -> std::io::Result<Option<String>> {
        for (id, file) in files.iter().enumerate() {
            let path = self.scratch.join(OUTPUT).join(id.to_string());
            let name = &file.name;
            let (digest, bytes) = match download_files::digest(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Some(format!("it left no file of {name}")));
                }
                read => read?,
            };
            if bytes != file.bytes {
                let expected = file.bytes;
                return Ok(Some(format!("its file of {name} has {bytes} bytes, not {expected}")));
            }
            if digest != file.digest {
                return Ok(Some(format!("the SHA-256 of its file of {name} is wrong")));
            }
        }
        Ok(None)
    }
}

impl SubjectReport {
    /// Why the load after the judged one does not count; None where HTTP/3 carried some of it, or there is none. A browser may race TCP
    /// against QUIC once more.
    pub(crate) fn other_next_protocol(&self) -> Option<String> {
        let spoken = self.next_protocols.as_ref()?;
        let has_h3 = spoken.iter().any(|one| one == Protocol::Http3.name());
        (!has_h3).then(|| {
            format!(
                "HTTP/3 was offered by Alt-Svc, but the next view spoke {}",
                spoken.join(" and ")
            )
        })
    }

    /// The bytes of each body that came over the link, where the server sent none for these paths.
    pub(crate) fn expected_but(&self, paths: &BTreeSet<&str>) -> BTreeMap<u32, u64> {
        let came = |id: &u32| {
            let fetch = self.near.fetches.iter().find(|fetch| fetch.id == *id);
            fetch.is_none_or(|fetch| !paths.iter().any(|path| fetch.url.ends_with(path)))
        };
        let expected = self.expected.iter().filter(|(id, _)| came(id));
        expected.map(|(id, bytes)| (*id, *bytes)).collect()
    }

    /// The case to be judged, without the link's and the server's logs.
    pub(crate) fn case<'a>(&'a self, contender: &'a Contender) -> Case<'a> {
        Case {
            protocol: spoken(contender),
            beside: (spoken(contender) != contender.transport.protocol())
                .then(|| contender.transport.protocol()),
            tls: contender.tls.version(),
            fetches: &self.near.fetches,
            expected: &self.expected,
            reported_bytes: &self.reported_bytes,
            connections: self.connections,
            named_connections: self.named_connections,
            reported_tls: self.reported_tls.clone(),
            resumed: self.resumed,
            packets: None,
            since: self.since,
            server: None,
            key_log: self.key_log.as_ref(),
        }
    }
}

/// The protocol of the work that is judged.
fn spoken(contender: &Contender) -> Protocol {
    match (contender.transport, contender.settings.first_visit) {
        (Transport::H3, FirstVisit::AltSvc) => Protocol::Http2,
        (transport, _) => transport.protocol(),
    }
}

/// The fetches that the client says a cache answered.
fn cached(processes: &[ProcessRun]) -> impl Iterator<Item = u32> {
    let lines = processes.iter().flat_map(|process| &process.transcript.fetches);
    lines.filter(|fetch| fetch.line.cached).map(|fetch| fetch.line.id)
}

/// The load after the one that is judged, with the zero of its times.
fn next(processes: &[ProcessRun]) -> Option<(Instant, &NextLine)> {
    processes.iter().find_map(|process| {
        let next = process.transcript.next.as_ref()?;
        Some((ready_at(process), &next.line))
    })
}

fn next_view(zero: Instant, line: &NextLine) -> NextView {
    let span = |ms: f64| Duration::from_secs_f64(ms.max(0.0) / 1e3);
    NextView {
        began: zero + span(line.started_ms),
        times: Ok(NextTimes {
            load: span(line.ended_ms - line.started_ms),
            first_byte: span(line.first_byte_ms - line.started_ms),
        }),
        settings: BTreeMap::new(),
        connections: Vec::new(),
    }
}

/// What the fetches of all processes report about their connections. A connection is named by its process's number and
/// its number within that process.
#[derive(Default)]
struct ReportedConnections {
    numbered: BTreeSet<(u32, u32)>,
    resumed: BTreeSet<(u32, u32)>,
    reports_resumption: bool,
    /// Whether a fetch succeeded without naming its connection.
    has_unnumbered: bool,
    tls: BTreeSet<TlsVersion>,
}

impl ReportedConnections {
    fn of(processes: &[ProcessRun]) -> Self {
        let mut connections = Self::default();
        for (process_number, process) in (0..).zip(processes) {
            for fetch in &process.transcript.fetches {
                connections.add(process_number, &fetch.line);
            }
        }
        connections
    }

    fn add(&mut self, process_number: u32, line: &FetchLine) {
        self.tls.extend(line.tls.as_deref().map(TlsVersion::from_name));
        self.reports_resumption |= line.resumed.is_some();
        let Some(number) = line.connection else {
            self.has_unnumbered |= line.error.is_none();
            return;
        };
        self.numbered.insert((process_number, number));
        if line.resumed == Some(true) {
            self.resumed.insert((process_number, number));
        }
    }

    /// How many connections resumed a session; None where that cannot be counted.
    fn resumed(&self) -> Option<u64> {
        (self.reports_resumption && !self.has_unnumbered).then_some(self.resumed.len() as u64)
    }
}

/// The body bytes of the fetches with status 200, by fetch number, where the client reports them.
fn reported_bytes(processes: &[ProcessRun]) -> BTreeMap<u32, u64> {
    let lines = processes.iter().flat_map(|process| &process.transcript.fetches);
    lines
        .filter(|fetch| fetch.line.status == Some(200) && !fetch.line.cached)
        .filter_map(|fetch| Some((fetch.line.id, fetch.line.bytes?)))
        .collect()
}

/// The line of a fetch as a row. `asked` is None where no job has a fetch of that number.
fn record(zero: Instant, asked: Option<&Fetch>, line: &FetchLine) -> FetchRecord {
    let at = |ms: f64| zero + Duration::from_secs_f64(ms / 1e3);
    let url = asked.map(|fetch| fetch.url.clone()).unwrap_or_default();
    let record = FetchRecord::new(line.id, url, at(line.started_ms));
    FetchRecord {
        method: asked.and_then(|fetch| fetch.method.clone()).unwrap_or(record.method),
        connection: line.connection,
        protocol: SpokenProtocol::from_name(line.protocol.as_deref().unwrap_or_default()),
        status: line.status,
        body_bytes: line.bytes.unwrap_or(0),
        cached: line.cached,
        phases: Phases {
            connected: line.connected_ms.map(at),
            secured: line.secured_ms.map(at),
            sent: line.sent_ms.map(at),
            first_byte: line.first_byte_ms.map(at),
            last_byte: Some(at(line.ended_ms)),
            ..record.phases
        },
        outcome: match (&line.error, line.status) {
            (Some(error), _) => FetchOutcome::Failed(error.clone()),
            (None, Some(status)) if status >= 400 => {
                FetchOutcome::Failed(format!("status {status}"))
            }
            (None, _) => FetchOutcome::Done,
        },
        ..record
    }
}

/// Whether the page did not make a fetch.
fn was_not_asked(fetch: &FetchRecord) -> bool {
    matches!(&fetch.outcome, FetchOutcome::Failed(reason) if reason == subject::tools::NOT_ASKED)
}

/// What a browser says of the page.
fn page(processes: &[ProcessRun]) -> Option<&PageLine> {
    processes.iter().find_map(|process| process.transcript.page.as_ref()).map(|page| &page.line)
}

/// When the page was asked for, in milliseconds since `ready`: its times count from there.
fn begun_ms(processes: &[ProcessRun]) -> f64 {
    let lines = processes.iter().flat_map(|process| &process.transcript.fetches);
    lines.map(|fetch| fetch.line.started_ms).reduce(f64::min).unwrap_or(0.0)
}

fn paint_times(line: &PageLine, processes: &[ProcessRun]) -> PaintTimes {
    let begun = begun_ms(processes);
    let since = |ms: Option<f64>| ms.map(|ms| Duration::from_secs_f64((ms - begun).max(0.0) / 1e3));
    PaintTimes {
        unload: None,
        first_paint: since(line.first_paint_ms),
        fcp: since(line.fcp_ms),
        lcp: since(line.lcp_ms),
        dom_content_loaded: since(line.dom_content_loaded_ms),
        speed_index: line.speed_index_ms.map(|ms| Duration::from_secs_f64(ms / 1e3)),
    }
}

/// What only browsers tell of.
fn page_metrics(line: &PageLine) -> impl Iterator<Item = (String, f64)> {
    let named = [(metric::CLS, line.cls), (metric::LONG_TASKS_MS, line.long_tasks_ms)];
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// Moves the frames of a film to where the run keeps them; their names then count from the start of the page.
fn keep_film(from: &Path, to: &Path, begun_ms: f64) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()?.parse::<f64>().ok());
        let Some(at_ms) = stem else { continue };
        let at_ms = (at_ms - begun_ms).max(0.0);
        fs::copy(&path, to.join(format!("{at_ms:08.1}.jpg")))?;
    }
    Ok(())
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
