//! `wirelap trial` (hidden): one trial, from a JSON order on standard input to a JSON row on standard
//! output. It builds the namespaces, starts far and near in them, forwards their packets, and hears
//! both witnesses at the end. Nothing outlives it.

use crate::console;
use crate::error::Trouble;
use crate::inputs::links;
use crate::link::path::{self, NetworkPath};
use crate::trial::audit::{self, MachineWatch};
use crate::trial::capture;
use crate::trial::download_files::Digest;
use crate::trial::job::TrialOrder;
use crate::trial::outcome::{failed, unsupported};
use crate::trial::run::{self, Sides};
use crate::trial::setup::Work;
use crate::trial::subject_client::{self, SubjectTrial};
use crate::trial::task::Task;
use crate::trial::tcp_settings;
use os::net::{Core, ForwardSpec, Frame, Frames, LinkCounters, Segmentation, TopologySpec};
use secure::{Authority, AuthoritySpec};
use std::collections::BTreeMap;
use std::process::ExitCode;
use study::audit::Trial;
use study::experiment::Transport;
use study::reconcile::{LinkFacts, call_metrics, echo_metrics};
use study::record::{self, Outcome, TrialRecord, metric, without_figures};
use trace::PacketRecord;
use unit::Seed;

/// Reads the order, runs the trial, prints the row.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    os::process::die_with_parent();
    let Some(order) = console::read_job::<TrialOrder>()? else { return Ok(ExitCode::FAILURE) };
    let began = os::clock::now();
    let started_unix_ms = os::clock::realtime().as_millis() as u64;
    let mut record = match trial(&order) {
        Ok(record) => record,
        Err(outcome) => without_figures(order.plan.clone(), outcome, started_unix_ms),
    };
    record.started_unix_ms = started_unix_ms;
    record.duration_ms = os::clock::now().since(began).as_secs_f64() * 1e3;
    console::print_job(&record)?;
    Ok(ExitCode::SUCCESS)
}

fn trial(order: &TrialOrder) -> Result<TrialRecord, Outcome> {
    let work = Work::of(order)?;
    let spec =
        links::link_spec(&order.plan.cell.link, |file| order.inputs.join(file)).map_err(failed)?;
    if run::is_pinned(&order.plan) {
        os::process::pin(&[order.plan.placement.link as usize]).map_err(failed)?;
    }
    let authority = Authority::new(AuthoritySpec::default()).map_err(failed)?;
    let digests = subject_client::lay_out(&work.task, &order.served).map_err(failed)?;
    let root = authority.root_pem();
    let subject = subject(order, &work.task, (&root.text, &digests))?;
    let link = &order.plan.cell.link;
    // The fastest that a download can go where nothing has a rate is what its ends can do.
    let is_of_ends = matches!(work.task, Task::Download { .. }) && spec.is_unlimited();
    let has_link = !links::is_loopback(link) && !is_of_ends;
    // Whole frames are copied to us in any case.
    let segmentation = match order.capture {
        Some(_) => Segmentation::CopyWhereUnlimited,
        None => Segmentation::KeepWhereUnlimited,
    };
    let (core, reception) = match run::is_pinned(&order.plan) {
        true => path::cores(&order.plan.placement, (&spec, segmentation)),
        false => (Core::Shared, None),
    };
    let own_cores = core == Core::Own;
    let ends = TopologySpec { reception, ..work.topology(&order.plan.cell.contender) };
    let topology = NetworkPath::topology(link, &ends).map_err(unsupported)?;
    let forward =
        ForwardSpec { link: spec.clone(), seed: Seed(order.plan.seed), segmentation, core };
    let mut packets: Vec<PacketRecord> = Vec::new();
    let mut keep = |packet| packets.push(packet);
    let between = (&forward, &work.ports);
    let mut captured = capture::begin(order).map_err(no_capture)?;
    let mut show = |frame: Frame<'_>| captured.iter_mut().for_each(|capture| capture.take(frame));
    let frames = order.capture.is_some().then_some(&mut show as Frames<'_>);
    let mut path =
        NetworkPath::open(link, &topology, between, (&mut keep, frames)).map_err(unsupported)?;
    let run = Sides { order, work: &work, topology: &topology, authority: &authority };
    let machine = MachineWatch::begin(order, &topology).map_err(unsupported)?;
    let ran = run.go(&mut path, subject.as_ref());
    let machine = machine.end(&topology).map_err(failed)?;
    let counters = path.counters();
    let (own_settings, missed) = (path.settings(), path.missed());
    drop(path);
    // A trial that failed is the one that people look into.
    let kept = capture::keep(captured, order);
    let mut audit = audit::surroundings(&machine, &counters);
    let ran = match ran {
        Ok(ran) => ran,
        Err(outcome) => {
            // What broke the link may have failed the ends too.
            let outcome = audit.judge(outcome, Trial { load_ms: None, has_link, own_cores });
            let link = link_counters(&counters, machine.dropped);
            return Ok(TrialRecord {
                link,
                audit,
                ..without_figures(order.plan.clone(), outcome, 0)
            });
        }
    };
    kept.map_err(no_capture)?;
    let mut settings = run.settings(&ran);
    settings.extend(own_settings);
    tcp_settings::forget(&mut packets, &ran.near().before);
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
    let contender = &order.plan.cell.contender;
    let seen = log.and_then(|log| tcp_settings::seen(contender, log));
    if let Some((fact, _)) = &seen {
        settings.insert("near fast open".to_owned(), fact.clone());
    }
    let unlike = tcp_settings::refused(contender, &settings).or_else(|| seen?.1);
    let found = match finding.outcome {
        Outcome::Measured => unlike.unwrap_or(Outcome::Measured),
        other => other,
    };
    let figure = |name: &str| finding.metrics.get(name).copied();
    audit::note_ends(&mut audit, &ran, figure(metric::MEAN_MS));
    let load_ms = figure(metric::LOAD_MS);
    let outcome = audit.judge(found, Trial { load_ms, has_link, own_cores });
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
        link: link_counters(&counters, machine.dropped),
        packets: finding.packets,
        settings,
        cpu: ran.cpu,
        resources: ran.resources,
        evidence,
        audit,
    })
}

/// The client subject of a trial, found; None where the client in this program does the work.
fn subject<'a>(
    order: &'a TrialOrder,
    task: &'a Task,
    laid_out: (&'a [u8], &'a BTreeMap<String, Digest>),
) -> Result<Option<SubjectTrial<'a>>, Outcome> {
    let contender = &order.plan.cell.contender;
    let client = subject_client::client_of(contender, task);
    let own = [(client.is_none(), "client"), (contender.foreign_server().is_none(), "server")];
    if let (Transport::H3, Some((_, end))) =
        (contender.transport, own.iter().find(|(is_own, _)| *is_own))
    {
        return Err(Outcome::Unsupported {
            reason: format!("wirelap's own {end} does not speak h3"),
            remedy: "give the contender a client and a server that do, such as curl and caddy"
                .to_owned(),
        });
    }
    client.map(|client| SubjectTrial::prepare(order, task, client, laid_out)).transpose()
}

/// Packets that cannot be kept are the disk's fault, and no contender's.
fn no_capture(error: impl std::fmt::Display) -> Outcome {
    Outcome::Unsupported {
        reason: format!("the packets could not be kept: {error}"),
        remedy: "free some space on that disk, or race without --capture".to_owned(),
    }
}

/// `dropped` by the devices at both ends of the link.
fn link_counters(counters: &LinkCounters, dropped: u64) -> record::LinkCounters {
    let way = |way: os::net::WayCounters| record::DirectionCounters {
        packets: way.packets,
        bytes: way.bytes,
        lost: way.lost,
        queue_full: way.queue_full,
    };
    record::LinkCounters {
        down: way(counters.down),
        up: way(counters.up),
        kernel_drops: counters.unplanned() + dropped,
        lateness_max_us: counters.lateness.max().as_secs_f64() * 1e6,
        lateness_p99_us: counters.lateness.quantile_bound(0.99).as_secs_f64() * 1e6,
    }
}
