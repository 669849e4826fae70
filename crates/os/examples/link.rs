//! Runs two programs across a link: `link SPEC [--far COMMAND] [--ready-port PORT] [--keep-whole | --copy]
//! [--packets FILE] -- COMMAND [ARGS]`.
#![allow(clippy::print_stderr)]

use link::LinkSpec;
use os::net::{
    Core, ForwardSpec, Observers, PairEnd, PairReport, PairSpec, Segmentation, TopologySpec,
    WaitFor, run_pair,
};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::time::Duration;
use trace::{Fate, PacketRecord};
use unit::Seed;

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("link: {error}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<u8, Box<dyn std::error::Error>> {
    let (spec, packets) = arguments()?;
    os::process::die_with_parent();
    let wants_log = packets.is_some();
    let mut log = packets.map(File::create).transpose()?.map(BufWriter::new);
    let mut record = |packet: PacketRecord| {
        if let Some(log) = &mut log {
            let _ = writeln!(log, "{}", line(&packet));
        }
    };
    let records: Option<&mut dyn FnMut(PacketRecord)> =
        if wants_log { Some(&mut record) } else { None };
    let observers = Observers { records, frames: None };
    let report =
        run_pair(&spec, observers, &mut |_| Ok(Vec::new())).map_err(|error| {
            match error.remedy() {
                Some(remedy) => format!("{error}\n  remedy: {remedy}"),
                None => error.to_string(),
            }
        })?;
    tell(&spec, &report);
    let code = match report.end {
        PairEnd::Near(exit) => {
            exit.status.code().unwrap_or(128 + exit.status.signal().unwrap_or(0))
        }
        PairEnd::Interrupted => 130,
        PairEnd::TimedOut => 124,
    };
    Ok(code as u8)
}

fn arguments() -> Result<(PairSpec, Option<OsString>), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let text = arguments.next().ok_or("a link is wanted first")?.into_string();
    let text = text.map_err(|_| "a link is text")?;
    let link = LinkSpec::parse(&text, |file| {
        std::fs::read_to_string(file).map_err(|error| error.to_string())
    })?;
    let mut forward = ForwardSpec {
        link,
        seed: Seed(1),
        segmentation: Segmentation::default(),
        core: Core::default(),
    };
    let (mut far, mut packets) = (None, None);
    let mut ready = WaitFor::Listening(Duration::from_secs(2));
    while let Some(word) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{word:?} wants a value"));
        match word.to_str() {
            Some("--far") => far = Some(value()?.into_string().map_err(|_| "far is text")?),
            Some("--packets") => packets = Some(value()?),
            Some("--keep-whole") => forward.segmentation = Segmentation::KeepWhereUnlimited,
            Some("--copy") => forward.segmentation = Segmentation::CopyWhereUnlimited,
            Some("--ready-port") => {
                let port = value()?.into_string().map_err(|_| "a port is a number")?.parse()?;
                ready = WaitFor::Port(port, Duration::from_secs(10));
            }
            Some("--") => break,
            _ => return Err(format!("{word:?} is not an option").into()),
        }
    }
    let near = arguments.collect();
    let topology = TopologySpec::default();
    Ok((
        PairSpec {
            topology,
            forward,
            far,
            near,
            cpus: os::process::CpuSet::any(),
            ready,
            timeout: None,
        },
        packets,
    ))
}

fn tell(spec: &PairSpec, report: &PairReport) {
    let PairReport { counters, settings, .. } = report;
    eprintln!("link: {}", spec.forward.link);
    for (name, way) in [("up", counters.up), ("down", counters.down)] {
        eprintln!(
            "  {name}: {} packets, {} bytes; delivered {}, {} bytes; lost {}, queue full {}, AQM {}, policed {}, blocked {}, marked {}, missed {}, unsent {}, beside {}",
            way.packets,
            way.bytes,
            way.delivered,
            way.delivered_bytes,
            way.lost,
            way.queue_full,
            way.aqm_dropped,
            way.policed,
            way.blocked,
            way.marked,
            way.missed,
            way.unsent,
            way.beside,
        );
    }
    let late = &counters.lateness;
    eprintln!(
        "  lateness: mean {:?}, p99 below {:?}, max {:?}; clock steps {}; under way {}; unplanned drops {}",
        late.mean(),
        late.quantile_bound(0.99),
        late.max(),
        counters.clock_steps,
        counters.under_way,
        counters.unplanned(),
    );
    for (name, value) in settings {
        eprintln!("  {name} = {value}");
    }
}

fn line(packet: &PacketRecord) -> String {
    let fate = match packet.fate {
        Fate::Delivered { at } => at.nanos().to_string(),
        Fate::Lost => "lost".to_owned(),
        Fate::QueueFull => "queue-full".to_owned(),
        Fate::AqmDropped => "aqm-dropped".to_owned(),
        Fate::Policed => "policed".to_owned(),
        Fate::Blocked => "blocked".to_owned(),
    };
    let (at, way, index, length) =
        (packet.at.nanos(), packet.direction, packet.index, packet.length);
    format!("{at} {way:?} {index} {length} {fate}")
}
