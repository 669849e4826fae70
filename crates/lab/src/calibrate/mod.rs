//! Calibration: how exact emulated links are on this machine. It is measured with the code that trials use. Each
//! measurement is a process of its own ([`gauge`]), and so is each of its two ends ([`probe`]).

pub(crate) mod gauge;
pub(crate) mod probe;

use crate::error::CliError;
use ::link::LinkSpec;
use gauge::{GaugeJob, GaugeReport, LinkWork, Path};
use os::machine::CpuTimes;
use os::net::probe::{PingSpec, PushSpec, StreamSpec};
use os::net::{Side, SuperPackets, Topology};
use os::process::CpuSet;
use probe::{ProbeJob, ProbeReport};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use study::calibration::{
    Calibration, DatagramGauge, LinkLoad, LossGauge, RateGauge, RoundTripGauge, Spread, Throughput,
};
use trace::{Direction, Fate};
use unit::{BitRate, ByteSize, Instant, Seed};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalibrationKind {
    /// A second or two, before each race.
    Short,
    /// Half a minute, when asked for.
    Full,
}

/// Measures. The error names what could not be measured, because the machine lacks something.
pub(crate) fn calibrate(kind: CalibrationKind) -> Result<Calibration, CliError> {
    let before = CpuTimes::read(&CpuSet::of_process(std::process::id()));
    let (began, spent_before) = (os::clock::now(), spent());
    let timer = timer_lateness(kind);
    let (floor, round_trips) = round_trips(kind)?;
    let calibration = Calibration {
        short: kind == CalibrationKind::Short,
        spare_cpu: 0.0,
        timer,
        polling: polling_lateness(kind)?,
        floor,
        round_trips,
        rates: rates(kind)?,
        loss: if kind == CalibrationKind::Full { Some(loss()?) } else { None },
        throughput: throughput(kind)?,
        datagrams: if kind == CalibrationKind::Full { Some(datagrams()?) } else { None },
    };
    let own = spent().saturating_sub(spent_before);
    let spare_cpu = spare_since(before, own, os::clock::now().since(began));
    Ok(Calibration { spare_cpu, ..calibration })
}

/// Refuses a link that this machine cannot hold.
pub(crate) fn check_link(
    calibration: &Calibration,
    name: &str,
    spec: &LinkSpec,
) -> Result<(), CliError> {
    match calibration.refuses(spec.rtt(), fastest(spec)) {
        Some(why) => Err(CliError::lacking(format!("link {name}: {why}"))
            .remedy("or say --no-calibration to try it all the same")),
        None => Ok(()),
    }
}

/// Whether a link needs more than every machine that runs trials is known to achieve. Only then does starting two
/// programs wait for a calibration.
pub(crate) fn needs_calibration(spec: &LinkSpec) -> bool {
    /// The fastest rate that the full calibration keeps within its 0.02 %.
    const RATE: u64 = 1_000_000_000;
    /// Half of the shortest round trip of a named link.
    const ROUND_TRIP: Duration = Duration::from_micros(200);
    let rtt = spec.rtt();
    fastest(spec).is_some_and(|rate| rate.bits_per_second() > RATE)
        || (!rtt.is_zero() && rtt < ROUND_TRIP)
}

fn fastest(spec: &LinkSpec) -> Option<BitRate> {
    let rates = [&spec.down, &spec.up].map(|path| path.bottleneck.mean_rate());
    rates.into_iter().flatten().max()
}

const PATIENCE: Duration = Duration::from_secs(2);
const PORT: u16 = 9;

fn far() -> std::net::Ipv4Addr {
    Topology::addresses(Side::Far).v4
}

/// How pings are sent, and how many in turn. The baseline and each link take turns, so that they meet the same
/// conditions.
struct PingPlan {
    rounds: usize,
    spec: PingSpec,
    round_trips: &'static [u64],
}

impl PingPlan {
    fn of(kind: CalibrationKind) -> Self {
        // This spacing is no multiple of a timer's resolution. Whole milliseconds would hide errors.
        let (rounds, count, spacing, round_trips): (_, _, _, &[u64]) = match kind {
            CalibrationKind::Full => (4, 150, Duration::from_micros(4_370), &[10, 50, 100]),
            CalibrationKind::Short => (2, 150, Duration::from_micros(1_370), &[10]),
        };
        let spec = PingSpec { to: far(), count, spacing, patience: PATIENCE };
        Self { rounds, spec, round_trips }
    }

    fn ask(&self, path: Path) -> Result<Vec<Option<u64>>, CliError> {
        match measure(GaugeJob { path, far: None, near: ProbeJob::Ping(self.spec) })?.near {
            ProbeReport::Pinged(trips) => Ok(trips),
            other => Err(strange(&other)),
        }
    }
}

/// The floor, and what links add to it.
fn round_trips(kind: CalibrationKind) -> Result<(Spread, Vec<RoundTripGauge>), CliError> {
    let asking = PingPlan::of(kind);
    let (mut bare, mut over) = (Vec::new(), vec![Vec::new(); asking.round_trips.len()]);
    for _ in 0..asking.rounds {
        bare.extend(asking.ask(Path::Bare(SuperPackets::Kept))?);
        for (trips, millis) in over.iter_mut().zip(asking.round_trips) {
            trips.extend(asking.ask(Path::link(&format!("rtt={millis}ms")))?);
        }
    }
    let floor = Spread::of_nanos(&bare.into_iter().flatten().collect::<Vec<u64>>());
    let gauge = |(trips, millis): (&Vec<Option<u64>>, &u64)| {
        RoundTripGauge::new(Duration::from_millis(*millis), trips, floor)
    };
    Ok((floor, over.iter().zip(asking.round_trips).map(gauge).collect()))
}

/// A UDP payload that fills an IP packet of Ethernet's size.
const PACKET: u64 = 1500;
const PAYLOAD: usize = 1472;
/// What the queue of a bottleneck holds, as time.
const QUEUE: Duration = Duration::from_millis(50);

fn rates(kind: CalibrationKind) -> Result<Vec<RateGauge>, CliError> {
    let wanted: &[(&str, u32)] = match kind {
        CalibrationKind::Full => &[
            ("100kbit", 12),
            ("1.6mbit", 200),
            ("9mbit", 2_000),
            ("50mbit", 5_000),
            ("1gbit", 150_000),
        ],
        CalibrationKind::Short => &[("9mbit", 150)],
    };
    wanted.iter().map(|(rate, packets)| rate_gauge(rate, *packets)).collect()
}

fn rate_gauge(text: &str, packets: u32) -> Result<RateGauge, CliError> {
    let rate: BitRate = text.parse().map_err(CliError::failed)?;
    // A quarter faster than the bottleneck, which keeps its queue filled. Packets that find it full are dropped.
    let each = rate.time_for(ByteSize(PACKET));
    let spacing = each.mul_f64(0.8);
    let to = SocketAddr::from((far(), PORT));
    // Enough packets wait for the bottleneck to have work even while the sender is delayed, which is not the link's
    // fault.
    let queued = ((QUEUE.as_nanos() / each.as_nanos().max(1)) as u32).max(10);
    // The kernel takes some 5 µs for a packet that is sent alone.
    let burst = if each < Duration::from_micros(20) { 16 } else { 1 };
    let (count, head_start) = (packets, queued / 2);
    let stream = StreamSpec { to, count, payload: PAYLOAD, spacing, head_start, burst };
    // The queue's length, and how long a busy machine may delay us.
    let quiet = each * queued + Duration::from_millis(300);
    let queue = u64::from(queued) * PACKET;
    let report = measure(GaugeJob {
        path: Path::link(&format!("rtt=1ms,rate={text},queue={queue}B")),
        far: Some(ProbeJob::Receive { port: PORT, quiet }),
        near: ProbeJob::Send(stream),
    })?;
    let arrivals = report.received()?;
    let stamps: Vec<u64> = arrivals.iter().map(|arrival| arrival.at).collect();
    RateGauge::new(rate, PACKET, &stamps).ok_or_else(|| {
        CliError::failed(format!("{} packets came through a link of {text}", stamps.len()))
    })
}

/// Loss compared with the plan: the link's own machine with the same seed in virtual time.
fn loss() -> Result<LossGauge, CliError> {
    const PACKETS: u32 = 20_000;
    const LINK: &str = "rtt=2ms,loss_up=2%";
    let to = SocketAddr::from((far(), PORT));
    let spacing = Duration::from_micros(20);
    let stream = StreamSpec { to, count: PACKETS, payload: 64, spacing, head_start: 0, burst: 1 };
    let report = measure(GaugeJob {
        path: Path::link(LINK),
        far: Some(ProbeJob::Receive { port: PORT, quiet: Duration::from_millis(300) }),
        near: ProbeJob::Send(stream),
    })?;
    let came: BTreeSet<u64> = report.received()?.iter().map(|arrival| arrival.number).collect();
    let spec = LinkSpec::parse(LINK, ::link::no_traces).map_err(CliError::failed)?;
    let mut planned = ::link::Link::new(&spec, Seed(gauge::SEED));
    let lost: BTreeSet<u64> = (0..u64::from(PACKETS))
        .filter(|_| {
            let fate = planned.handle_packet(Instant::ZERO, Direction::Up, (), ByteSize(92));
            fate == Some(Fate::Lost)
        })
        .collect();
    let against = (0..u64::from(PACKETS)).filter(|n| came.contains(n) == lost.contains(n)).count();
    Ok(LossGauge { packets: PACKETS, planned: lost.len() as u32, against_plan: against as u32 })
}

fn throughput(kind: CalibrationKind) -> Result<Throughput, CliError> {
    let span = Duration::from_millis(if kind == CalibrationKind::Full { 1_000 } else { 150 });
    let split = |text: &str| Path::Link { text: text.to_owned(), split: true };
    if kind == CalibrationKind::Short {
        return Ok(Throughput {
            link_segments: push(&split("rtt=0ms"), span)?,
            ..Throughput::default()
        });
    }
    // In turn, so that both parts of a ratio meet the same conditions. The best of three counts.
    let paths = [
        Path::Bare(SuperPackets::Kept),
        Path::link("rtt=0ms"),
        Path::Bare(SuperPackets::Off),
        split("rtt=0ms"),
    ];
    let mut best = [0.0_f64; 4];
    for _ in 0..3 {
        for (best, path) in best.iter_mut().zip(&paths) {
            *best = best.max(push(path, span)?);
        }
    }
    let [bare, link, bare_segments, link_segments] = best;
    Ok(Throughput { bare, link, bare_segments, link_segments })
}

/// The rate of one TCP connection from near to far, in bits a second.
fn push(path: &Path, span: Duration) -> Result<f64, CliError> {
    Ok(push_tcp(path, span)?.bits_per_second)
}

fn push_tcp(path: &Path, span: Duration) -> Result<LinkLoad, CliError> {
    let to = SocketAddr::from((far(), PORT));
    let path = path.clone();
    let far = Some(ProbeJob::Drain { port: PORT });
    load_of(&measure(GaugeJob { path, far, near: ProbeJob::Push { to, span } })?)
}

/// UDP from near to far, `train` datagrams a call.
fn push_udp(path: &Path, span: Duration, train: u32) -> Result<LinkLoad, CliError> {
    let to = SocketAddr::from((far(), PORT));
    let path = path.clone();
    let near = ProbeJob::PushDatagrams(PushSpec { to, span, payload: PAYLOAD, train });
    load_of(&measure(GaugeJob { path, far: Some(ProbeJob::DrainDatagrams { port: PORT }), near })?)
}

fn load_of(report: &GaugeReport) -> Result<LinkLoad, CliError> {
    let Some(ProbeReport::Drained { bytes, nanos: nanos @ 1.. }) = report.far else {
        return Err(CliError::failed("no byte came through"));
    };
    let link = |of: fn(&LinkWork) -> Duration| report.link.as_ref().map_or(Duration::ZERO, of);
    Ok(LinkLoad {
        bits_per_second: bytes as f64 * 8e9 / nanos as f64,
        cpu_s_per_gb: link(|link| link.cpu).as_secs_f64() / (bytes as f64 / 1e9),
        late_p99_us: link(|link| link.late_p99).as_secs_f64() * 1e6,
    })
}

/// Datagrams of a train: as many as fit into what Linux takes in one call (64 kB).
const TRAIN: u32 = 44;

/// UDP in trains and one by one, and TCP, through a link whose packets pass alone. The best of three counts.
fn datagrams() -> Result<DatagramGauge, CliError> {
    let span = Duration::from_millis(500);
    let split = Path::Link { text: "rtt=0ms".to_owned(), split: true };
    let mut best = DatagramGauge { train: TRAIN, ..DatagramGauge::default() };
    let better = |best: &mut LinkLoad, load: LinkLoad| {
        if load.bits_per_second > best.bits_per_second {
            *best = load;
        }
    };
    for _ in 0..3 {
        better(&mut best.trains, push_udp(&split, span, TRAIN)?);
        better(&mut best.single, push_udp(&split, span, 1)?);
        better(&mut best.tcp, push_tcp(&split, span)?);
    }
    Ok(best)
}

/// How late a millisecond's sleep ends.
fn timer_lateness(kind: CalibrationKind) -> Spread {
    let count = if kind == CalibrationKind::Full { 500 } else { 50 };
    let pause = Duration::from_millis(1);
    let late = |_| {
        let due = os::clock::now() + pause;
        std::thread::sleep(pause);
        os::clock::now().since(due).as_nanos() as u64
    };
    Spread::of_nanos(&(0..count).map(late).collect::<Vec<u64>>())
}

/// How late a thread that never sleeps reaches a given time: what the machine takes from every core.
fn polling_lateness(kind: CalibrationKind) -> Result<Spread, CliError> {
    let span = Duration::from_millis(if kind == CalibrationKind::Full { 2_000 } else { 200 });
    let path = Path::Bare(SuperPackets::Kept);
    match measure(GaugeJob { path, far: None, near: ProbeJob::Poll { span } })?.near {
        ProbeReport::Polled(late) => Ok(Spread::of_nanos(&late)),
        other => Err(strange(&other)),
    }
}

/// One measurement in a process of its own, because it moves into namespaces for good.
fn measure(job: GaugeJob) -> Result<GaugeReport, CliError> {
    let what = job.path.to_string();
    let failed =
        |error: &dyn std::fmt::Display| CliError::failed(format!("calibrating {what}: {error}"));
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.arg("gauge").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = serde_json::to_vec(&job).map_err(|error| failed(&error))?;
        // A child that died at once is recognised by its empty output.
        let _ = stdin.write_all(&text);
    }
    let output = output_of(child, LIMIT).map_err(|error| failed(&error))?;
    if os::signal::is_interrupted() {
        return Err(interrupted(&what));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|_| unmeasured(&what, output.status, &String::from_utf8_lossy(&output.stderr)))
}

/// Waits for a measurement's end, for `limit` at most. An interrupt that reached this process alone ends the measurement,
/// too; its own children end with it.
fn output_of(mut child: Child, limit: Duration) -> std::io::Result<Output> {
    let deadline = os::clock::now() + limit;
    let outputs = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(outputs.0));
        let stderr = scope.spawn(|| read_all(outputs.1));
        while !stdout.is_finished() {
            if os::signal::is_interrupted() {
                child.kill()?;
                break;
            }
            if os::clock::now() >= deadline {
                child.kill()?;
                child.wait()?;
                return Err(std::io::Error::other("its process hung and was ended"));
            }
            std::thread::sleep(LOOK);
        }
        let status = child.wait()?;
        let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().unwrap_or_default());
        Ok(Output { status, stdout, stderr })
    })
}

/// An interrupt is heeded after so long.
const LOOK: Duration = Duration::from_millis(10);

/// Longer than any measurement takes: one that is longer was stopped, or waits for a probe that was.
const LIMIT: Duration = Duration::from_secs(60);

/// What came before the other end closed the pipe.
fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A measurement that broke off is known by what it did not say.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    bytes
}

fn interrupted(what: &str) -> CliError {
    CliError::interrupted(format!("calibrating {what} was interrupted"))
}

/// The numbers of SIGINT and SIGTERM.
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

/// Why the process that measured `what` gave no result.
fn unmeasured(what: &str, status: ExitStatus, said: &str) -> CliError {
    match (said.trim().trim_start_matches("error: "), status.signal()) {
        ("", Some(INTERRUPT | TERMINATE)) => interrupted(what),
        ("", _) => CliError::failed(format!("calibrating {what}: its process ended by {status}")),
        (said, _) => CliError::failed(format!("calibrating {what}: {said}")),
    }
}

impl GaugeReport {
    fn received(self) -> Result<Vec<os::net::probe::Arrival>, CliError> {
        match self.far {
            Some(ProbeReport::Received(arrivals)) => Ok(arrivals),
            _ => Err(CliError::failed("calibrating: far received no stream")),
        }
    }
}

fn strange(report: &ProbeReport) -> CliError {
    CliError::failed(format!("calibrating: a probe answered {report:?}"))
}

/// Processor time of the measurements so far.
fn spent() -> Duration {
    let usage = os::process::children_usage();
    usage.user + usage.system
}

/// The share of all cores' time since `before` that was idle or ours.
fn spare_since(before: Option<CpuTimes>, own: Duration, elapsed: Duration) -> f64 {
    let Some((before, now)) = before.zip(CpuTimes::read(&CpuSet::of_process(std::process::id())))
    else {
        return 1.0;
    };
    let times = now.since(before);
    if times.all().is_zero() {
        return 1.0;
    }
    let idle = times.idle.as_secs_f64() / times.all().as_secs_f64();
    let cores = f64::from(crate::machine::cores().max(1));
    let own = own.as_secs_f64() / elapsed.as_secs_f64() / cores;
    (idle + own).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        let child =
            command.arg("600").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let error = output_of(child, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.to_string(), "its process hung and was ended");
    }

    #[test]
    fn a_calibration_that_was_ended_says_why() {
        let what = "a bare veth pair";
        let of = |status: i32, said: &str| {
            unmeasured(what, ExitStatus::from_raw(status), said).to_string()
        };
        assert_eq!(of(15, ""), "stopped: calibrating a bare veth pair was interrupted");
        assert_eq!(of(2, "\n"), "stopped: calibrating a bare veth pair was interrupted");
        assert!(of(9, "").contains("its process ended by signal: 9"), "{}", of(9, ""));
        assert!(of(256, "").ends_with("its process ended by exit status: 1"), "{}", of(256, ""));
        assert_eq!(of(256, "error: no veth\n"), "error: calibrating a bare veth pair: no veth");
    }
}
