//! `wirelap link`: two programs of the user's, or a client and a service of this machine, across an emulated link.

use crate::calibrate::{self, CalibrationKind, calibrate};
use crate::cli::{FarPort, LinkArgs};
use crate::console;
use crate::environment;
use crate::error::{self, CliError};
use crate::inputs::links;
use crate::link::capture::Capture;
use crate::link::ports::Ports;
use ::link::LinkSpec;
use os::net::{
    Core, ForwardSpec, Frame, Frames, Left, LinkCounters, Observers, PairEnd, PairSpec, Reception,
    Segmentation, Topology, TopologySpec, WaitFor, WayCounters, run_pair,
};
use os::process::CpuSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use study::audit::LATE_MS;
use trace::Direction;
use unit::{Seed, format_duration};

/// How long far may take to listen on the port that `--ready-port` names.
const PORT_WAIT: Duration = Duration::from_secs(30);

/// How long a far side that names no port is given to listen anywhere.
const LISTEN_WAIT: Duration = Duration::from_secs(2);

/// Runs them; the exit code is near's.
pub(crate) fn run(args: &LinkArgs) -> Result<ExitCode, CliError> {
    let link = links::read_link(&args.link, |file| PathBuf::from(file))?;
    if link.split_tcp.is_some() {
        let what = "`split_tcp=` is for races: the proxy listens on the ports of the experiment's servers, and nobody knows those of a program";
        return Err(CliError::misuse(what).remedy("race it, or leave split_tcp= away"));
    }
    check_names(args)?;
    check_ports(args)?;
    let mut ports = Ports::open(&args.expose, &args.forward)?;
    os::net::probe()?;
    if !args.no_calibration && calibrate::needs_calibration(&link) {
        calibrate_for(args, &link)?;
    }
    let has_near = !args.command.is_empty();
    if has_near {
        os::process::die_with_parent();
    }
    let cpus = CpuSet::allowed();
    ports.start_host_relay(&cpus)?;
    let spec = pair_spec(args, link, cpus)?;
    let mut kept = args.capture.as_deref().map(Kept::begin).transpose()?;
    let mut show = |frame: Frame<'_>| kept.iter_mut().for_each(|kept| kept.capture.take(frame));
    let frames = args.capture.is_some().then_some(&mut show as Frames<'_>);
    let mut start_relays = |topology: &Topology| {
        let places = ports.describe(&args.link);
        let relays = ports.connect(topology)?;
        tell_places(&places, has_near);
        if has_near && !args.expose.is_empty() {
            console::note(
                "note: exposed ports are this machine's; COMMAND runs at near, whose own way to a service is --forward",
            );
        }
        Ok(relays)
    };
    let ran = run_pair(&spec, Observers { frames, ..Observers::default() }, &mut start_relays);
    let kept = kept.map_or(Ok(()), |kept| kept.finish(&spec.forward));
    let report = ran?;
    kept?;
    if args.verbose {
        console::note(&describe(&spec.forward, &report.counters));
    }
    if let Some(doubt) = doubt(&report.counters) {
        console::note(&format!("note: {doubt}; figures taken over this link may be off"));
    }
    if let Some(lossless) = lossless(&spec.forward, &report.counters) {
        console::note(&lossless);
    }
    if let Left::Packets(waited) = report.left {
        let waited = format_duration(waited);
        console::note(&format!(
            "note: {waited} after COMMAND ended, bytes were still on the way; the link ended without them"
        ));
    }
    if let Some(far) = report.far.filter(|far| !far.status.success()) {
        console::note(&format!("the far side ended unexpectedly: {}", far.status));
    }
    match report.end {
        // A signal's number over 128, as shells have it.
        PairEnd::Near(near) => {
            let code =
                near.status.code().unwrap_or_else(|| 128 + near.status.signal().unwrap_or(0));
            Ok(ExitCode::from(code as u8))
        }
        PairEnd::Interrupted if has_near => {
            Err(CliError::interrupted("a signal came before COMMAND was started"))
        }
        PairEnd::Interrupted => Ok(ExitCode::SUCCESS),
        PairEnd::TimedOut => Err(CliError::failed("the near side did not end")),
    }
}

/// A port is forwarded from a name that far has.
fn check_names(args: &LinkArgs) -> Result<(), CliError> {
    let is_fars = |name: &String| name == "far" || args.name.contains(name);
    match args.forward.iter().find(|port| !is_fars(&port.from.name)) {
        Some(port) => {
            let FarPort { name, port } = &port.from;
            let what = format!(
                "--forward {name}:{port} begins at `{name}`, which is no name of the far side"
            );
            Err(CliError::misuse(what).remedy(format!("write far:{port}=…, or add --name {name}")))
        }
        None => Ok(()),
    }
}

/// A port leads to one place.
fn check_ports(args: &LinkArgs) -> Result<(), CliError> {
    let twice = |what: String| {
        Err(CliError::misuse(format!("{what} stands there twice"))
            .remedy("a port leads to one service: name another port, or leave one of them away"))
    };
    for (place, port) in args.forward.iter().enumerate() {
        let FarPort { port, .. } = port.from;
        if args.forward[..place].iter().any(|before| before.from.port == port) {
            return twice(format!("--forward of port {port} of far"));
        }
    }
    for (place, port) in args.expose.iter().enumerate() {
        let taken = args.expose[..place].iter().any(|before| overlap(before.listen, port.listen));
        if taken {
            return twice(format!("--expose of {}", port.listen));
        }
    }
    Ok(())
}

/// Whether only one of two sockets can listen. Port 0 is any free one.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip(), other.ip());
    let is_any = a.is_unspecified() || b.is_unspecified();
    one.port() == other.port()
        && one.port() != 0
        && (a == b || is_any && a.is_ipv4() == b.is_ipv4())
}

fn calibrate_for(args: &LinkArgs, link: &LinkSpec) -> Result<(), CliError> {
    let calibration = calibrate(CalibrationKind::Short)?;
    calibrate::check_link(&calibration, &args.link, link)?;
    if !calibration.knows_bounds() {
        console::note(
            "note: other programs keep the processors busy: it is not known whether this machine can hold the link",
        );
    }
    Ok(())
}

fn pair_spec(args: &LinkArgs, link: LinkSpec, cpus: CpuSet) -> Result<PairSpec, CliError> {
    // Whole frames are copied to us in any case.
    let segmentation = match args.capture {
        Some(_) => Segmentation::CopyWhereUnlimited,
        None => Segmentation::KeepWhereUnlimited,
    };
    let (core, reception) = take_core(&cpus, &link, segmentation)?;
    let ready = match args.ready_port {
        Some(port) => WaitFor::Port(port, PORT_WAIT),
        None => WaitFor::Listening(LISTEN_WAIT),
    };
    let aliases = args.name.clone();
    Ok(PairSpec {
        topology: TopologySpec { reception, aliases, ..TopologySpec::default() },
        forward: ForwardSpec { link, seed: args.seed, segmentation, core },
        far: args.far.clone(),
        near: args.command.iter().map(Into::into).collect(),
        cpus,
        ready,
        timeout: None,
    })
}

/// Says what leads where. Standard output is the near program's, where there is one.
fn tell_places(places: &str, has_near: bool) {
    match has_near {
        _ if places.is_empty() => {}
        true => console::note(places.trim_end()),
        // A reader who has gone away is none of the link's business.
        false => drop(console::print(places)),
    }
}

/// Puts the link on the first of `cpus` where there are several. The programs may use all of them: the scheduler
/// keeps them off one that is busy.
fn take_core(
    cpus: &CpuSet,
    link: &LinkSpec,
    segmentation: Segmentation,
) -> Result<(Core, Option<Reception>), CliError> {
    let [first, second, ..] = *cpus.as_slice() else { return Ok((Core::Shared, None)) };
    CpuSet::from(first).pin()?;
    Ok((Core::Own, Reception::over(link, segmentation, Reception { near: second, far: second })))
}

/// The packets that a link carries, on their way into the user's file.
struct Kept<'a> {
    to: &'a Path,
    capture: Capture,
    /// The user's key log, and what of it was there before.
    keys: Option<(PathBuf, u64)>,
}

impl<'a> Kept<'a> {
    fn begin(to: &'a Path) -> Result<Self, CliError> {
        let capture = Capture::begin(to)
            .map_err(|error| error::file(format!("writing {}", to.display()), &error))?;
        let keys = environment::ssl_key_log_file().map(|path| {
            let before = std::fs::metadata(&path).map_or(0, |data| data.len());
            (path, before)
        });
        Ok(Self { to, capture, keys })
    }

    fn finish(self, forward: &ForwardSpec) -> Result<(), CliError> {
        // A program may have written the file anew.
        let keys = self.keys.and_then(|(path, before)| {
            let text = std::fs::read_to_string(path).ok()?;
            Some(text.get(before as usize..).unwrap_or(&text).to_owned())
        });
        let about = format!("link {}, seed {}", forward.link, forward.seed.0);
        self.capture
            .finish(self.to, &about, &keys.unwrap_or_default())
            .map_err(|error| error::file(format!("writing {}", self.to.display()), &error))
    }
}

/// That a link with loss has lost nothing, which few packets let happen.
fn lossless(forward: &ForwardSpec, counters: &LinkCounters) -> Option<String> {
    let loss = Direction::BOTH.map(|way| forward.link.path(way).loss.mean());
    let ways = [counters.up, counters.down];
    let packets: u64 = ways.iter().map(|way| way.packets).sum();
    let is_lossless = loss.iter().any(|loss| *loss > 0.0) && ways.iter().all(|way| way.lost == 0);
    (is_lossless && packets > 0).then(|| {
        let Seed(seed) = forward.seed;
        format!(
            "note: the link's loss fell on none of its {packets} packets; --seed {} draws anew",
            seed.wrapping_add(1)
        )
    })
}

/// In what the link did not keep its word, where a trial over it would not count either.
fn doubt(counters: &LinkCounters) -> Option<String> {
    match counters.unplanned() {
        0 => doubt_of_lateness(counters.lateness.max()),
        dropped => Some(format!("the kernel dropped {dropped} packets that the link did not")),
    }
}

fn doubt_of_lateness(late: Duration) -> Option<String> {
    let is_long = late.as_secs_f64() * 1e3 > LATE_MS;
    is_long.then(|| {
        format!("the machine was busy, and a packet left {} after its time", format_duration(late))
    })
}

/// What only some links do.
fn special(way: WayCounters) -> String {
    let counts = [
        (way.aqm_dropped, "dropped by the active queue"),
        (way.marked, "marked by it"),
        (way.policed, "policed"),
        (way.blocked, "blocked"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!(", {count} {what}")).collect()
}

fn describe(forward: &ForwardSpec, counters: &LinkCounters) -> String {
    let mut text = format!("link {}, seed {}\n", forward.link, forward.seed.0);
    for (name, way) in [("up", counters.up), ("down", counters.down)] {
        let _ = writeln!(
            text,
            "{name:<5}{} packets, {} bytes in; {} lost by plan, {} found the queue full{}; {} dropped unplanned",
            way.packets,
            way.bytes,
            way.lost,
            way.queue_full,
            special(way),
            way.missed + way.unsent,
        );
    }
    let late = &counters.lateness;
    text.push_str(&match late.max() {
        Duration::ZERO => "no packet was late".to_owned(),
        most => {
            let (mean, most) = (format_duration(late.mean()), format_duration(most));
            format!("late  mean {mean}, at most {most}")
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_should_lose_and_did_not_says_so() {
        let told = |link: &str, way: WayCounters| {
            let link = LinkSpec::parse(link, ::link::no_traces).unwrap();
            let (segmentation, core) = (Segmentation::default(), Core::default());
            let forward = ForwardSpec { link, seed: Seed(1), segmentation, core };
            lossless(&forward, &LinkCounters { down: way, ..LinkCounters::default() })
        };
        let passed = WayCounters { packets: 107, ..WayCounters::default() };
        let note = told("4g,loss=1%", passed).unwrap();
        assert!(note.contains("none of its 107 packets; --seed 2"), "{note}");
        assert_eq!(told("4g,loss=1%", WayCounters { lost: 1, ..passed }), None);
        assert_eq!(told("4g,loss=1%", WayCounters::default()), None);
        assert_eq!(told("4g", passed), None);
    }

    #[test]
    fn lateness_is_told_with_three_digits() {
        assert_eq!(doubt_of_lateness(Duration::from_millis(10)), None);
        let told = doubt_of_lateness(Duration::from_nanos(15_977_291)).unwrap();
        assert!(told.ends_with("left 16.0 ms after its time"), "{told}");
    }
}
