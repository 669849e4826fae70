//! A run that never happened: pages loaded over links that are two numbers each, with seeded noise, heard by
//! `study::reconcile` and judged by `study::analyse` as real rows are.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;
use study::audit::{Audit, AuditFigure};
use study::calibration::{Calibration, RoundTripGauge, Spread};
use study::experiment::{Contender, Experiment, Tls, Transport, Workload, builtin};
use study::outcome::Outcome;
use study::plan::{Surroundings, TrialPlan, trials};
use study::reconcile::{LinkFacts, Nagle, TrialLogs, reconcile};
use study::record::{
    CpuUse, DirectionCounters, HostFacts, LinkCounters, ROWS_SCHEMA, RunHeader, TrialRecord,
    without_figures,
};
use study::result::RunResult;
use study::timeline::Timeline;
use trace::{
    ConnectionRecord, Direction, Fate, FetchOutcome, FetchRecord, HeaderBytes, HeaderSize,
    PacketRecord, Passage, Phases, TlsRecord, TlsVersion,
};
use unit::{BitRate, ByteSize, Instant, Random, Seed};

/// Screenshots of one page: blank, half there, there.
pub(crate) const SCREENSHOTS: (&[u8], &[u8], &[u8]) = (
    include_bytes!("../../../../vectors/film/blank.jpg"),
    include_bytes!("../../../../vectors/film/half.jpg"),
    include_bytes!("../../../../vectors/film/whole.jpg"),
);

const FOLDER: &str = "./wirelap-quick-1";

/// A simulated run.
pub(crate) struct Run {
    pub(crate) result: RunResult,
    pub(crate) rows: Vec<TrialRecord>,
    pub(crate) links: BTreeMap<String, report::LinkText>,
    pub(crate) films: report::Films,
    pub(crate) again: Option<String>,
}

impl Run {
    /// The built-in experiment, on a machine where nothing goes wrong.
    pub(crate) fn clean() -> &'static Self {
        static RUN: LazyLock<Run> = LazyLock::new(|| Run::of(quick(), |_| None));
        &RUN
    }

    /// The same with a contender that this machine cannot run, and a cell in which trials fail.
    pub(crate) fn troubled() -> &'static Self {
        static RUN: LazyLock<Run> = LazyLock::new(Run::with_troubles);
        &RUN
    }

    fn with_troubles() -> Self {
        let mut experiment = quick();
        let mut bbr = experiment.contender("h2").expect("quick has h2").clone();
        bbr.name = "h2-bbr".into();
        bbr.settings.congestion_control = study::experiment::CongestionControl::Bbr;
        experiment.contenders.push(bbr);
        Self::of(experiment, |plan| match (plan.cell.contender.name.as_str(), plan.block) {
            ("h2-bbr", _) => Some(Outcome::Unsupported {
                reason: "this kernel has no congestion control `bbr`".into(),
                remedy: "modprobe tcp_bbr".into(),
            }),
            ("h1", 2 | 5) if plan.cell.link.name == "wifi" => Some(Outcome::Failed {
                reason: "1 of 51 fetches failed, the first https://far/image/17: timed out".into(),
            }),
            ("h2", 3) if plan.cell.link.name == "wifi" => {
                Some(Outcome::Invalid { reason: "a packet left 4.1 ms late".into() })
            }
            _ => None,
        })
    }

    /// The built-in experiment with films of its loads on 3g: h2 is complete after 1.9 s, h1-tls after 4.1 s, of h1 nobody
    /// computed how complete it was.
    pub(crate) fn filmed() -> &'static Self {
        static RUN: LazyLock<Run> = LazyLock::new(Run::with_films);
        &RUN
    }

    fn with_films() -> Self {
        let (blank, half, whole) = SCREENSHOTS;
        let film =
            |contender: &str, shown: &[(f64, &[u8], Option<f64>)]| {
                let frame = |&(at_ms, jpeg, percent): &(f64, &[u8], Option<f64>)| {
                    report::FilmFrame { at_ms, jpeg: jpeg.to_owned(), percent }
                };
                let workload = quick().workloads[0].name.clone();
                let (link, contender) = ("3g".to_owned(), contender.to_owned());
                (report::FilmKey { workload, link, contender }, shown.iter().map(frame).collect())
            };
        let run = Self::of(quick(), |_| None);
        let films = report::Films::from([
            film("h1", &[(640.0, half, None), (3900.0, whole, None)]),
            film(
                "h1-tls",
                &[
                    (31.0, blank, Some(0.0)),
                    (1210.0, half, Some(50.0)),
                    (1230.0, half, Some(50.0)),
                    (4100.0, whole, Some(100.0)),
                    (5000.0, whole, Some(100.0)),
                ],
            ),
            film("h2", &[(22.0, blank, Some(0.0)), (1900.0, whole, Some(100.0))]),
        ]);
        Self { films, ..run }
    }

    /// Any experiment, each trial of which took `load_ms` milliseconds.
    pub(crate) fn timed(experiment: Experiment, load_ms: impl Fn(&TrialPlan) -> f64) -> Self {
        let mut run = Self::of(experiment.clone(), |_| None);
        for row in &mut run.rows {
            row.metrics.insert("load_ms".to_owned(), load_ms(&row.plan));
        }
        let result = study::analyse(&header(experiment.clone()), &run.rows);
        let again = report::again(&experiment, &result, FOLDER);
        Self { result, again, ..run }
    }

    /// Any experiment; `trouble` tells which trials have no figures.
    pub(crate) fn of(
        experiment: Experiment,
        trouble: impl Fn(&TrialPlan) -> Option<Outcome>,
    ) -> Self {
        let plan = trials(&experiment, &Surroundings { cores: 2, ..Surroundings::default() });
        let mut started_unix_ms = 1_795_291_086_123;
        let rows: Vec<TrialRecord> = plan
            .into_iter()
            .map(|plan| {
                let row = match trouble(&plan) {
                    Some(outcome) => without_figures(plan, outcome, started_unix_ms),
                    None => load(plan, started_unix_ms),
                };
                started_unix_ms += row.duration_ms as u64 + 90;
                row
            })
            .collect();
        let films = report::Films::new();
        let result = study::analyse(&header(experiment.clone()), &rows);
        Self {
            again: report::again(&experiment, &result, FOLDER),
            result,
            rows,
            links: link_texts(),
            films,
        }
    }

    /// `quick` on a machine that was too busy on 3g, with h2's scripts there later than the baseline's, and an instrument
    /// beyond its limits.
    pub(crate) fn warned() -> Self {
        let busy = "the machine was busy: the link let a packet out too late";
        let mut run = Self::of(quick(), |_| None);
        for row in &mut run.rows {
            let h2 = row.plan.cell.contender.name == "h2";
            row.metrics.insert("scripts_ms".to_owned(), if h2 { 2_200.0 } else { 1_100.0 });
            row.metrics.insert("round_trips".to_owned(), if h2 { 4.0 } else { 11.0 });
            if row.plan.cell.link.name == "3g" {
                row.outcome = Outcome::Invalid { reason: busy.to_owned() };
            }
        }
        let error = Spread { p50_us: 20.0, p99_us: 400.0 };
        let trip = RoundTripGauge { rtt_ms: 10.0, pings: 300, unanswered: 0, error };
        let calibration =
            Calibration { spare_cpu: 0.97, round_trips: vec![trip], ..Calibration::default() };
        let mut header = header(quick());
        header.host.calibration = Some(calibration);
        Self { result: study::analyse(&header, &run.rows), ..run }
    }

    pub(crate) fn report(&self) -> report::Report<'_> {
        report::Report {
            result: &self.result,
            rows: &self.rows,
            folder: FOLDER,
            links: &self.links,
            assumptions: &[],
            films: &self.films,
            again: self.again.as_deref(),
            next: Some("wirelap race my.har --links 4g,3g"),
            full_run: Some("wirelap race spdy-images, about 9 min"),
        }
    }
}

pub(crate) fn header(experiment: Experiment) -> RunHeader {
    RunHeader {
        schema: ROWS_SCHEMA.into(),
        version: "0.1.0".into(),
        experiment,
        started_unix_ms: 1_795_291_086_123,
        host: host(),
        command_line: ["wirelap", "race", "quick", "--seed", "1"].map(str::to_owned).to_vec(),
        shard: None,
        machines: Vec::new(),
        missing: Vec::new(),
    }
}

/// The built-in experiment with its three contenders over TCP.
pub(crate) fn quick() -> Experiment {
    let mut quick: Experiment = builtin()[0].toml.parse().expect("the simulation is sound");
    quick.contenders.retain(|contender| contender.transport != Transport::H3);
    quick.links.iter_mut().for_each(|link| link.trials = 12);
    quick
}

/// Round trip, rate and the noise of one trial's times.
struct Link {
    rtt: f64,
    bytes_a_ms: f64,
    noise: f64,
}

fn link(name: &str) -> Link {
    let (rtt, mbit, noise) = match name {
        "lan" => (0.4, 1000.0, 0.03),
        "wifi" => (22.0, 30.0, 0.08),
        _ => (300.0, 1.6, 0.04),
    };
    Link { rtt, bytes_a_ms: mbit * 125.0, noise }
}

fn link_texts() -> BTreeMap<String, report::LinkText> {
    let text = |figures: &str, source: &str| report::LinkText {
        figures: figures.to_owned(),
        source: source.to_owned(),
    };
    [
        ("lan", text("1000/1000 Mbit/s, RTT 0.4 ms, queue 512 kB", "assumed: switched gigabit")),
        (
            "wifi",
            text(
                "30/15 Mbit/s, RTT 22 ms, queue 256 kB",
                "Firefox DevTools Wi-Fi plus 20 ms of wired path; queue assumed",
            ),
        ),
        (
            "3g",
            text(
                "1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB",
                "WebPageTest 3G; queue assumed, 1 BDP",
            ),
        ),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}

/// One load, in virtual milliseconds.
struct Load<'a> {
    contender: &'a Contender,
    link: Link,
    random: Random,
    /// When the bottleneck has sent all that it was given.
    link_free: f64,
    /// When each connection can take a request, and whether it was used before.
    connections: Vec<Connection>,
    fetches: Vec<FetchRecord>,
}

struct Connection {
    free: f64,
    opened: f64,
    connected: f64,
    secured: Option<f64>,
    fresh: bool,
    requests: u32,
}

fn load(plan: TrialPlan, started_unix_ms: u64) -> TrialRecord {
    let cell = plan.cell.clone();
    let mut random = Seed(plan.seed).child(&cell.contender.name).random();
    let mut facts = link(&cell.link.name);
    // Differences between trials lie above the least round trip, as on a real machine.
    facts.rtt *= 1.0 + facts.noise * random.next_fraction();
    facts.bytes_a_ms /= 1.0 + facts.noise * random.next_fraction();
    let mut load = Load {
        contender: &cell.contender,
        link: facts,
        random,
        link_free: 0.0,
        connections: Vec::new(),
        fetches: Vec::new(),
    };
    load.page(&cell.workload);
    load.record(plan, started_unix_ms)
}

impl Load<'_> {
    fn page(&mut self, workload: &Workload) {
        let (images, bytes) = match &workload.kind {
            study::experiment::WorkloadKind::Page(page) => (page.images, page.bytes.0),
            study::experiment::WorkloadKind::Har(_) => (120, 9_000),
            study::experiment::WorkloadKind::Calls(calls) => (calls.count, calls.bytes.0),
            study::experiment::WorkloadKind::Download(files) => (files.count, files.size.0),
            study::experiment::WorkloadKind::Stream(stream) => (stream.count, stream.bytes.0),
            study::experiment::WorkloadKind::Echo(echo) => {
                (echo.count, echo.bytes.map_or(4, |bytes| bytes.0))
            }
        };
        let document = self.fetch("http://far/page?images=50", 0.0, 3_200);
        for image in 0..images {
            let wish = document + 0.02 * f64::from(image);
            self.fetch(&format!("http://far/image/{image}.png"), wish, bytes);
        }
    }

    /// When the fetch was done.
    fn fetch(&mut self, url: &str, queued: f64, bytes: u64) -> f64 {
        let id = self.connection(queued);
        let rtt = self.link.rtt;
        let multiplexed = self.contender.transport == Transport::H2;
        let connection = &mut self.connections[id];
        let sent = connection.free.max(queued);
        // The document takes its server a while, which hides the transports on a quick link.
        let work = if self.fetches.is_empty() { 110.0 } else { 0.05 };
        let think = work * (1.0 + 0.05 * self.random.next_fraction());
        let first_byte = (sent + rtt + think).max(self.link_free.min(sent + rtt * 40.0));
        let last_byte = first_byte.max(self.link_free) + bytes as f64 / self.link.bytes_a_ms;
        self.link_free = last_byte;
        if !multiplexed {
            connection.free = last_byte;
        }
        let fresh = std::mem::take(&mut connection.fresh) && connection.connected > queued;
        connection.requests += 1;
        let (opened, connected, secured) =
            (connection.opened, connection.connected, connection.secured);
        self.fetches.push(FetchRecord {
            id: self.fetches.len() as u32,
            url: url.to_owned(),
            method: "GET".to_owned(),
            connection: Some(id as u32),
            stream: if multiplexed { 1 + 2 * self.fetches.len() as u64 } else { 0 },
            protocol: self.contender.transport.protocol().into(),
            status: Some(200),
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: bytes,
            phases: Phases {
                queued: at(queued),
                connect_start: fresh.then(|| at(opened)),
                connected: fresh.then(|| at(connected)),
                secured: secured.filter(|_| fresh).map(at),
                allowed: None,
                sent: Some(at(sent)),
                first_byte: Some(at(first_byte)),
                last_byte: Some(at(last_byte)),
            },
            outcome: FetchOutcome::Done,
        });
        last_byte
    }

    /// The connection that is free first, or a new one where browsers open one.
    fn connection(&mut self, now: f64) -> usize {
        let most = self.contender.settings.connections as usize;
        let idle = self.connections.iter().position(|connection| connection.free <= now);
        match idle {
            Some(id) => id,
            None if self.connections.len() < most => {
                let connected = now + self.link.rtt;
                let secured = match self.contender.tls {
                    Tls::None => None,
                    Tls::V1_2 => Some(connected + 2.0 * self.link.rtt),
                    Tls::V1_3 => {
                        Some(connected + self.link.rtt + 3000.0 / self.link.bytes_a_ms + 0.3)
                    }
                };
                let free = secured.unwrap_or(connected);
                let (opened, fresh, requests) = (now, true, 0);
                self.connections.push(Connection {
                    free,
                    opened,
                    connected,
                    secured,
                    fresh,
                    requests,
                });
                self.connections.len() - 1
            }
            None => {
                let first = |a: &usize, b: &usize| {
                    self.connections[*a].free.total_cmp(&self.connections[*b].free)
                };
                (0..self.connections.len()).min_by(first).expect("the simulation is sound")
            }
        }
    }

    fn record(self, plan: TrialPlan, started_unix_ms: u64) -> TrialRecord {
        let connections = self.connection_records();
        let facts = LinkFacts {
            rtt: Duration::from_nanos((link(&plan.cell.link.name).rtt * 1e6) as u64),
            down: BitRate::new((self.link.bytes_a_ms * 8000.0) as u64),
            up: None,
        };
        let finding = reconcile(&TrialLogs {
            fetches: &self.fetches,
            connections: &connections,
            packets: None,
            link: facts,
            server_time: &BTreeMap::new(),
            nagle: Nagle { client: true, server: true },
        });
        // Without a packet log nothing tells serialisation from waiting: give it the time of its bytes.
        let mut parts = finding.parts;
        let bytes: u64 = connections.iter().map(|c| c.bytes_received).sum();
        if let Some(parts) = &mut parts {
            let busy = ((bytes as f64 / self.link.bytes_a_ms * 1e6) as u64).min(parts.request_ns);
            parts.request_ns -= busy;
            parts.serialisation_ns += busy;
            let served = parts.request_ns.min(110_000_000);
            parts.request_ns -= served;
            parts.server_ns += served;
        }
        let settings = [
            ("net.ipv4.tcp_congestion_control", "cubic".to_owned()),
            ("net.ipv4.tcp_rmem", "4096 131072 33554432".to_owned()),
            ("mtu", plan.cell.contender.settings.mtu.to_string()),
            ("initial window", plan.cell.contender.settings.initial_window.to_string()),
            ("connections", plan.cell.contender.settings.connections.to_string()),
            ("far address", format!("10.7.{}.2", plan.block)),
        ];
        let received = connections.iter().map(|c| c.bytes_received).sum::<u64>();
        let timeline = Timeline::of(&self.packets(), &self.fetches, facts);
        TrialRecord {
            duration_ms: finding.metrics.get("load_ms").copied().unwrap_or(0.0) + 310.0,
            metrics: finding.metrics,
            parts,
            outcome: finding.outcome,
            fetches: self.fetches,
            connections,
            next_connections: Vec::new(),
            deliveries: Vec::new(),
            link: LinkCounters {
                down: DirectionCounters {
                    packets: received / 1448,
                    bytes: received,
                    ..Default::default()
                },
                up: DirectionCounters {
                    packets: received / 2896,
                    bytes: 9_120,
                    ..Default::default()
                },
                lateness_p99_us: 41.5,
                lateness_max_us: 93.25,
                ..Default::default()
            },
            packets: finding.packets,
            timeline,
            settings: settings.map(|(name, value)| (name.to_owned(), value)).into(),
            cpu: CpuUse { client_ms: 11.5, origin_ms: 7.25, link_ms: 64.0 },
            resources: Default::default(),
            evidence: Vec::new(),
            audit: audit(),
            machine: None,
            plan,
            started_unix_ms,
        }
    }

    /// Each body as one packet, which the bottleneck sends until the body's last byte. Every tenth body's first copy is
    /// dropped.
    fn packets(&self) -> Vec<PacketRecord> {
        let packet = |fetch: &FetchRecord| {
            let phases = fetch.phases;
            let sent = phases.last_byte?;
            let busy = fetch.body_bytes as f64 / self.link.bytes_a_ms;
            let left_queue = sent - Duration::from_nanos((busy * 1e6) as u64);
            let is_dropped = fetch.id % 10 == 9;
            let entered = phases.first_byte?.min(left_queue);
            let passage = Passage { entered, left_queue, sent, is_marked: false };
            Some(PacketRecord {
                at: entered,
                direction: Direction::Down,
                index: u64::from(fetch.id),
                length: fetch.body_bytes as u32,
                fate: if is_dropped { Fate::QueueFull } else { Fate::Delivered { at: sent } },
                passage: (!is_dropped).then_some(passage),
                flow: None,
                tcp: None,
                udp: None,
            })
        };
        self.fetches.iter().filter_map(packet).collect()
    }

    fn connection_records(&self) -> Vec<ConnectionRecord> {
        let requests: Vec<u32> = self.connections.iter().map(|c| c.requests).collect();
        let tls = |version: TlsVersion| TlsRecord {
            version,
            cipher: "TLS13_AES_128_GCM_SHA256".to_owned(),
            alpn: self.contender.transport.name().to_owned(),
            resumed: false,
            early_data: trace::EarlyData::None,
        };
        let record = |(id, connection): (usize, &Connection)| ConnectionRecord {
            id: id as u32,
            authority: "far:443".into(),
            remote: "10.7.0.2:443".into(),
            protocol: self.contender.transport.protocol().into(),
            tls: match self.contender.tls {
                Tls::None => None,
                Tls::V1_2 => Some(tls(TlsVersion::V1_2)),
                Tls::V1_3 => Some(tls(TlsVersion::V1_3)),
            },
            opened: at(connection.opened),
            connected: Some(at(connection.connected)),
            secured: connection.secured.map(at),
            closed: None,
            requests: requests[id],
            pushed: 0,
            pushes: trace::PushTally::default(),
            headers: Some(heads(self.contender.transport, requests[id])),
            rounds: if self.contender.transport == Transport::H2 { 2 } else { requests[id] },
            bytes_sent: u64::from(requests[id]) * 180,
            bytes_received: u64::from(requests[id]) * 5_240,
        };
        self.connections.iter().enumerate().map(record).collect()
    }
}

/// What a quiet machine shows.
fn audit() -> Audit {
    let mut audit = Audit::default();
    audit.set(AuditFigure::PacketLatenessMs, 0.093_25);
    audit.set(AuditFigure::UnplannedDrops, 0.0);
    audit.set(AuditFigure::ClientLagMs, 0.61);
    audit.set(AuditFigure::ClientBusy, 0.043);
    audit.set(AuditFigure::OtherLoad, 0.021);
    audit
}

/// Every request alike, and what a transport compresses them to.
fn heads(transport: Transport, requests: u32) -> HeaderBytes {
    let size = |plain: u64| HeaderSize {
        plain: plain * u64::from(requests),
        coded: plain * u64::from(requests) / if transport == Transport::Http1 { 1 } else { 5 },
    };
    HeaderBytes { sent: size(180), received: size(240) }
}

fn host() -> HostFacts {
    HostFacts {
        os: "Debian GNU/Linux 12".into(),
        kernel: "6.18.4".into(),
        cpu: "a processor & <its> \"name\"".into(),
        cores: 2,
        memory_bytes: ByteSize(8_000_000_000).0,
        root: false,
        calibration: None,
        more: [("rustls".to_owned(), "0.23.31".to_owned())].into(),
    }
}

/// Trials begin at some time of a clock that runs since boot.
fn at(millis: f64) -> Instant {
    Instant::from_nanos(7_000_000_000_000 + (millis * 1e6) as u64)
}
