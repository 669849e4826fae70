//! A run's counts as the result that is printed.

use super::run::{LoadRun, Snapshot};
use super::targets::{is_echo, written_url};
use super::warnings::{behind, unopened, warnings};
use crate::machine;
use client::load::{Exchange, Fault, Faults, LoadPlan, Pace, Part, Spacing, Stage, Tally};
use client::{KeepAlive, Protocol as Offered};
use std::collections::BTreeMap;
use std::time::Duration;
use study::load::{
    ClientCpu, ConnectsResult, EarlyDataResult, LOAD_SCHEMA, LoadResult, LoadSetting, LoopKind,
    PartResult, Second, SpacingKind, StageResult, TargetResult, TimesSummary,
};
use trace::{Protocol, SpokenProtocol};
use unit::counted;

/// What a result says of its run besides what was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts {
    pub(crate) threads: usize,
    pub(crate) seed: u64,
    /// When it began, since 1970.
    pub(crate) started: Duration,
    /// How many agents handed in nothing, after an interrupt.
    pub(crate) missing_agents: usize,
}

/// The result of a run.
pub(crate) fn result(plan: &LoadPlan, ran: &LoadRun, facts: RunFacts) -> LoadResult {
    let tally = &ran.tally;
    let seconds = match (tally.began, tally.ended) {
        (Some(began), Some(ended)) => ended.since(began).as_secs_f64(),
        _ => 0.0,
    };
    let rate = tally.in_time as f64 / seconds.max(1e-9);
    let is_open = plan.pace != Pace::Closed;
    let mut result = LoadResult {
        schema: LOAD_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: study::calendar::rfc3339(facts.started.as_millis() as u64),
        host: machine::facts(),
        command_line: std::env::args().collect(),
        setting: setting(plan, facts.threads, facts.seed),
        protocol: tally.protocol.map(SpokenProtocol::from),
        seconds,
        answers_per_second: if seconds > 0.0 { rate } else { 0.0 },
        whole: part(&tally.whole()),
        stages: stages(plan, tally),
        targets: targets(plan, tally),
        statuses: tally
            .statuses()
            .filter(|_| tally.protocol != Some(Protocol::WebSocket))
            .map(|(code, count)| (code.to_string(), count))
            .collect(),
        first_byte: TimesSummary::of(tally.first_byte.histogram()),
        lateness: TimesSummary::of(tally.lateness.histogram()).filter(|_| is_open),
        latency_without_client: TimesSummary::of(tally.latency_since_seen.histogram())
            .filter(|_| is_open),
        connects: ConnectsResult {
            opened: tally.connects.opened,
            errors: faults(&tally.connects.faults),
            tcp: TimesSummary::of(tally.connects.tcp.histogram()),
            tls: TimesSummary::of(tally.connects.tls.histogram()),
            quic: TimesSummary::of(tally.connects.quic.histogram()),
            resumed: tally.connects.resumed,
            early_data: EarlyDataResult {
                accepted: tally.connects.early_accepted,
                rejected: tally.connects.early_rejected,
            },
        },
        warm_up_requests: tally.warm_up.ended(),
        made_again: tally.again,
        unfinished: tally.unfinished,
        received_bytes: tally.received,
        sent_bytes: tally.sent,
        client: cpu(ran),
        interrupted: ran.is_interrupted,
        warnings: Vec::new(),
        course: ran.course.clone(),
        slo: None,
    };
    result.warnings = warnings(plan, &result);
    result.warnings.extend(unopened(plan, tally, ran.is_interrupted));
    if facts.missing_agents == 0 {
        result.warnings.extend(behind(plan, &result, &tally.trend));
    } else {
        let missing = facts.missing_agents;
        let agents = if missing == 1 { "agent" } else { "agents" };
        result.warnings.push(format!(
            "the run was interrupted, and {missing} {agents} handed in nothing: the counts are of the others alone"
        ));
    }
    result.warnings.extend(stream_limit(plan, tally));
    result.warnings.extend(reasons(plan, tally));
    result
}

fn setting(plan: &LoadPlan, threads: usize, seed: u64) -> LoadSetting {
    let (pace, rates, spacing) = match &plan.pace {
        Pace::Closed => (LoopKind::Closed, Vec::new(), None),
        Pace::Open { stages, spacing } => {
            let spacing = match spacing {
                Spacing::Even => SpacingKind::Even,
                Spacing::Poisson(_) => SpacingKind::Poisson,
            };
            (LoopKind::Open, stages.iter().map(Stage::to_string).collect(), Some(spacing))
        }
    };
    LoadSetting {
        pace,
        rates,
        spacing,
        seed,
        connections: plan.connections as u32,
        streams: plan.streams as u32,
        threads: threads as u32,
        warm_up_seconds: plan.warm_up.as_secs_f64(),
        timeout_seconds: plan.timeout.as_secs_f64(),
    }
}

fn part(part: &Part) -> PartResult {
    PartResult {
        requests: part.ended(),
        answers: part.answers,
        refused: part.refused,
        errors: faults(&part.faults),
        not_begun: part.not_begun,
        body_bytes: part.body,
        latency: TimesSummary::of(part.latency.histogram()),
    }
}

pub(crate) fn faults(faults: &Faults) -> BTreeMap<String, u64> {
    let met = Fault::ALL.into_iter().filter(|fault| faults.of(*fault) > 0);
    met.map(|fault| (fault.name().to_owned(), faults.of(fault))).collect()
}

fn stages(plan: &LoadPlan, tally: &Tally) -> Vec<StageResult> {
    let Pace::Open { stages, .. } = &plan.pace else { return Vec::new() };
    if stages.len() < 2 {
        return Vec::new();
    }
    let each = stages.iter().zip(&tally.stages);
    each.map(|(stage, own)| StageResult { rate: stage.to_string(), part: part(own) }).collect()
}

fn targets(plan: &LoadPlan, tally: &Tally) -> Vec<TargetResult> {
    let whole = tally.whole();
    let each = plan.targets.iter().enumerate().map(|(number, target)| {
        let url = written_url(target);
        let method = match &target.exchange {
            Exchange::Http { method, .. } => method.to_string(),
            Exchange::Echo { .. } => "echo".to_owned(),
        };
        let own = tally.targets.get(number).unwrap_or(&whole);
        TargetResult { method, url, weight: target.weight, part: part(own) }
    });
    each.collect()
}

fn cpu(ran: &LoadRun) -> ClientCpu {
    let cpu_seconds: f64 = ran.cpu.iter().map(|(used, _)| used.as_secs_f64()).sum();
    let share =
        |(used, span): &(Duration, Duration)| used.as_secs_f64() / span.as_secs_f64().max(1e-9);
    let busiest_share = ran.cpu.iter().map(share).fold(0.0, f64::max);
    let per_second = (cpu_seconds > 0.0).then(|| ran.tally.in_time as f64 / cpu_seconds);
    ClientCpu { cpu_seconds, busiest_share, answers_per_cpu_second: per_second }
}

pub(super) fn second(snapshot: &Snapshot) -> Second {
    let times = snapshot.part.latency.histogram();
    let at = |share| (!times.is_empty()).then(|| times.value_at_quantile(share) as f64 / 1e6);
    Second {
        at: snapshot.at.as_secs_f64(),
        seconds: snapshot.span.as_secs_f64(),
        answers: snapshot.part.answers,
        errors: snapshot.part.faults.total() + snapshot.part.refused,
        waiting: snapshot.waiting,
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        max_ms: at(1.0),
    }
}

/// That connections took fewer requests at a time than -m says.
fn stream_limit(plan: &LoadPlan, tally: &Tally) -> Option<String> {
    let (most, is_multiplexed) = (tally.most_streams, tally.protocol != Some(Protocol::Http1));
    // Fewer requests than that prove no limit: a client does not know the server's before its settings come.
    let is_asked = is_multiplexed
        && tally.whole().ended() > most * plan.connections as u64
        && plan.access.keep_alive == KeepAlive::On
        && !plan.targets.iter().any(is_echo);
    (is_asked && 0 < most && most < plan.streams as u64).then(|| {
        format!(
            "a connection took {most} requests at a time, the server's limit, where -m {} asked for more: \
             more connections (-c) ask more",
            plan.streams
        )
    })
}

/// What is behind the errors that were met, and what to do about it.
pub(crate) fn reasons(plan: &LoadPlan, tally: &Tally) -> Vec<String> {
    let whole = tally.whole();
    let is_met = |fault: &Fault| tally.connects.faults.of(*fault) + whole.faults.of(*fault) > 0;
    Fault::ALL.into_iter().filter(is_met).filter_map(|fault| reason(plan, tally, fault)).collect()
}

/// What is behind errors of one kind; None where its name says all.
fn reason(plan: &LoadPlan, tally: &Tally, fault: Fault) -> Option<String> {
    let hosts = hosts(plan, tally, fault);
    let cause = tally.causes.get(&fault).map(|said| unit::escape(said).into_owned());
    let known = plan.access.transport.offer.known();
    let is_clear = plan.targets.iter().all(|target| target.url.scheme == page::Scheme::Http);
    let is_met_later = tally.connects.faults.of(fault) > 0 && had_answered(plan, tally, fault);
    if let Some(what) = later(fault).filter(|_| is_met_later) {
        return Some(format!("{hosts} answered, and later {what}: it has ended, or is overloaded"));
    }
    Some(match (fault, known) {
        (Fault::ConnectRefused, Some(Offered::Http3)) => format!(
            "{hosts} refused connections: nothing listens on its UDP port; does it speak HTTP/3?"
        ),
        (Fault::ConnectRefused, _) => {
            format!("{hosts} refused connections: nothing listens there, or its queue is full")
        }
        (Fault::ConnectTimedOut, Some(Offered::Http3)) => format!(
            "{hosts} did not answer over QUIC: it may speak no HTTP/3, or the path may drop UDP; --http2 goes over TCP"
        ),
        (Fault::ConnectTimedOut, _) => format!(
            "{hosts} did not answer in time: the path may drop packets, or its queue is full"
        ),
        (Fault::UnknownHost, _) => format!("no address is known for the name in {hosts}"),
        (Fault::Tls, _) => match cause {
            Some(cause) => format!("{hosts} did not complete TLS's handshake: {cause}"),
            None => format!("{hosts} did not complete TLS's handshake"),
        },
        (Fault::Protocol, _) if cause.is_some() && plan.targets.iter().any(is_echo) => {
            format!("{hosts} opened no WebSocket: {}", cause.unwrap_or_default())
        }
        // Since it answered, too, it speaks what was asked for.
        (Fault::Protocol, _) if had_answered(plan, tally, fault) => {
            let rule = cause.map_or_else(String::new, |rule| format!(": {rule}"));
            let requests = counted(tally.whole().faults.of(fault), "request");
            format!("{hosts} answered, and broke the protocol on {requests}{rule}")
        }
        // Some servers of HTTP/1.1 answer what they do not understand without a status line: that proves nothing.
        (Fault::Protocol, Some(Offered::Http2)) if is_clear => format!(
            "{hosts} did not answer in HTTP/2, which few servers speak in the clear: it is likely to speak HTTP/1.1, which --http1.1 \
             asks for"
        ),
        (Fault::Protocol, _) if is_clear => format!(
            "what {hosts} sent is not the protocol that was asked for, or breaks its rules: where it speaks TLS, https:// asks so"
        ),
        (Fault::Protocol, _) => {
            format!("what {hosts} sent is not the protocol that was asked for, or breaks its rules")
        }
        (Fault::Http1Answer, _) => format!("{hosts} answers in HTTP/1.1, which --http1.1 asks for"),
        // Where nothing listens for TLS, a server takes a ClientHello for a request and hangs up.
        (Fault::Closed | Fault::Reset, offered)
            if !is_clear
                && !matches!(offered, Some(Offered::Http3))
                && tally.connects.faults.of(fault) > 0 =>
        {
            format!(
                "{hosts} ended connections within TLS's handshake: is it a TLS port? http:// asks without TLS"
            )
        }
        (Fault::NoDescriptors, _) => {
            "this process has no descriptor left: lower -c, or raise `ulimit -n`".to_owned()
        }
        (Fault::NoPorts, _) => {
            "this machine has no local port left: lower -c, keep connections alive, or widen \
             `sysctl net.ipv4.ip_local_port_range`"
                .to_owned()
        }
        (Fault::TimedOut, _) => {
            return cause.map(|cause| format!("requests to {hosts} ran out of time: {cause}"));
        }
        (
            Fault::Unreachable
            | Fault::Reset
            | Fault::Closed
            | Fault::StreamReset
            | Fault::WrongEcho
            | Fault::System,
            _,
        ) => return None,
    })
}

/// What a server does that takes no connections any more. Since it answered before, it speaks what was asked for.
fn later(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::ConnectRefused => Some("refused connections"),
        Fault::ConnectTimedOut => Some("took connections no longer"),
        Fault::Closed | Fault::Reset => Some("ended connections before they were open"),
        _ => None,
    }
}

/// The numbers of the targets at which a fault was met.
fn met_at(plan: &LoadPlan, tally: &Tally, fault: Fault) -> impl Iterator<Item = usize> {
    let has_met = move |number: &usize| {
        let parts = tally.targets.get(*number).map(|part| &part.faults);
        let mut faults = parts.into_iter().chain(tally.unreached.get(*number));
        plan.targets.len() == 1 || faults.any(|faults| faults.of(fault) > 0)
    };
    (0..plan.targets.len()).filter(has_met)
}

/// Whether each server at which a fault was met gave answers, too, perhaps to requests for another of its targets.
fn had_answered(plan: &LoadPlan, tally: &Tally, fault: Fault) -> bool {
    let whole = tally.whole();
    let answers = |number| tally.targets.get(number).unwrap_or(&whole).answers;
    let server = |number: usize| plan.targets[number].url.authority();
    let has_answered = |met: usize| {
        (0..plan.targets.len()).any(|other| server(other) == server(met) && answers(other) > 0)
    };
    met_at(plan, tally, fault).all(has_answered)
}

/// The servers at which a fault was met.
fn hosts(plan: &LoadPlan, tally: &Tally, fault: Fault) -> String {
    let targets = met_at(plan, tally, fault).map(|number| &plan.targets[number]);
    let mut hosts: Vec<String> = targets.map(|target| target.url.authority()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.join(", ")
}
