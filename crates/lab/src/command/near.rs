//! `wirelap near` (hidden): the client's side of a trial. Takes its job, does it, and tells what happened.

use crate::command::far::{resumption, socket_settings, unspoken, versions};
use crate::echo::EchoTask;
use crate::job::{NearJob, NearReport};
use crate::key_log;
use crate::task::{Call, Task};
use crate::tcp_settings;
use crate::trouble::Trouble;
use client::{
    Calls, Client, ClientConfig, EchoRequests, EchoSocket, FetchSpec, Hosts, KeepAlive, PageLoad,
    Place, PoolLimits, Timeouts, Transport, WebSocketClient, Work,
};
use endpoint::EndPoint;
use os::reactor::{LoopTimes, Reactor, ReactorSettings, SocketStage, Stop, Timing};
use os::tcp::TcpFacts;
use page::{Browser, Counts, Kind, Load, Page, ResourceId};
use proto::h2;
use secure::{ClientTls, ClientTlsOptions, Pem};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::rc::Rc;
use study::experiment::{Contender, Negotiation, Tls, Transport as Asked};
use trace::{ConnectionRecord, FetchRecord};
use unit::ByteSize;

/// Does the job.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let Some(job) = super::read_job::<NearJob>()? else { return Ok(ExitCode::FAILURE) };
    let config = config(&job)?;
    let before = cookies(&job)?;
    let report = match job.task {
        Task::Page { page, .. } => {
            let replayed = page.clone();
            let work = PageLoad::new(move |now| Load::replay(&replayed, Browser::Chromium, now));
            let (load, said) = drive(config, work)?;
            page_report(&page, &load, said)
        }
        Task::Calls { pattern, calls } => {
            let work = Calls::new(calls.iter().map(request), pattern.into());
            let (done, said) = drive(config, work)?;
            calls_report(&calls, &done, said)
        }
        Task::Download { .. } => {
            return Err(Trouble::misuse("files go to disk by a client subject"));
        }
        Task::Echo(task) => echo(config, &job.contender, &task)?,
    };
    super::print_job(&NearReport { before, ..report })?;
    Ok(ExitCode::SUCCESS)
}

/// Fetches what a contender needs that says its first bytes with its SYN: one cookie an address.
fn cookies(job: &NearJob) -> Result<Vec<SocketAddr>, Trouble> {
    let usual = if job.contender.tls == Tls::None { 80 } else { 443 };
    let port = job.task.ports(usual).first().copied().unwrap_or(usual);
    let hosts: BTreeSet<IpAddr> = job.hosts.values().copied().collect();
    let hosts = hosts.into_iter().map(|host| SocketAddr::new(host, port));
    tcp_settings::fetch_cookies(&job.contender, hosts, job.timeout).map_err(super::lacking)
}

/// Sends the messages by what the contender speaks.
fn echo(
    config: ClientConfig,
    contender: &Contender,
    task: &EchoTask,
) -> Result<NearReport, Trouble> {
    if contender.transport == Asked::WebSocket {
        let own = task.web_socket(contender.settings.client);
        let talk = EchoSocket::new(task.messages(), task.pattern());
        let mut client = WebSocketClient::new(config, own, talk);
        let said = run_client(&mut client)?;
        let done = client.into_conversation();
        return Ok(report(done.fetches(), done.connections(), said));
    }
    let work = EchoRequests::new(task.requests(), task.pattern());
    let (done, said) = drive(config, work)?;
    Ok(report(done.fetches(), done.connections(), said))
}

/// What is told of a client's run beside its work.
struct Said {
    /// By its sockets.
    settings: BTreeMap<String, String>,
    /// By its reactor.
    times: Option<LoopTimes>,
}

/// Does `work` to its end; gives it back, with what was said beside it.
fn drive<W: Work>(config: ClientConfig, work: W) -> Result<(W, Said), Trouble> {
    let mut client = Client::new(config, work);
    let said = run_client(&mut client)?;
    Ok((client.into_work(), said))
}

/// Runs a client to its end.
fn run_client<E: EndPoint>(client: &mut E) -> Result<Said, Trouble> {
    let settings = Rc::new(RefCell::new(BTreeMap::new()));
    let mut reactor =
        Reactor::new(timed(), Stop::new().map_err(super::lacking)?).map_err(super::lacking)?;
    let witness = settings.clone();
    reactor.observe(Box::new(move |_, stage, facts| {
        note_facts(&mut witness.borrow_mut(), stage, facts)
    }));
    reactor.run(client).map_err(super::lacking)?;
    let times = reactor.loop_times();
    drop(reactor);
    Ok(Said { settings: settings.take(), times })
}

/// A reactor of a trial keeps its own time, for the audit.
pub(crate) fn timed() -> ReactorSettings {
    ReactorSettings { timing: Timing::On, ..ReactorSettings::default() }
}

fn request(call: &Call) -> FetchSpec {
    FetchSpec {
        kind: Kind::Xhr,
        expected: Some(ByteSize(call.bytes)),
        ..FetchSpec::get(call.url.clone())
    }
}

fn config(job: &NearJob) -> Result<ClientConfig, Trouble> {
    let contender = &job.contender;
    let transport = transport(contender)?;
    let tls = ClientTls::new(ClientTlsOptions {
        roots: vec![Pem::new("the trial's root certificate", job.root.as_bytes())],
        alpn: transport.alpn(),
        versions: versions(contender),
        resumption: resumption(contender),
        key_log: key_log::open(job.key_log.as_deref())?,
        ..ClientTlsOptions::default()
    })
    .map_err(Trouble::failed)?;
    let settings = &contender.settings;
    let mut config = ClientConfig::new(transport, tls);
    config.hosts = hosts(job);
    config.socket = socket_settings(contender, settings.client);
    config.keep_alive = if settings.keep_alive { KeepAlive::On } else { KeepAlive::Off };
    config.limits =
        PoolLimits { per_origin: settings.connections as usize, ..PoolLimits::default() };
    config.timeouts =
        Timeouts { connect: job.timeout, stall: job.timeout, whole: Some(job.timeout) };
    config.spdy.stream_window = settings.stream_window.0 as u32;
    config.spdy.session_window = settings.connection_window.0 as u32;
    config.h2 = h2::Settings {
        stream_window: settings.stream_window.0 as u32,
        connection_window: settings.connection_window.0 as u32,
        ..h2::Settings::client()
    };
    Ok(config)
}

fn transport(contender: &Contender) -> Result<Transport, Trouble> {
    use client::{Offer, Security};
    Ok(Transport {
        offer: match (contender.settings.negotiation, contender.transport) {
            (Negotiation::Alpn, Asked::Http1 | Asked::H2) => Offer::Negotiate,
            (Negotiation::Alpn, Asked::Spdy) => Offer::NegotiateSpdy,
            (Negotiation::Alpn, Asked::Spdy3) => Offer::NegotiateSpdy3,
            (Negotiation::Known, Asked::Spdy) => Offer::Spdy,
            (Negotiation::Known, Asked::Spdy3) => Offer::Spdy3,
            (Negotiation::Known, Asked::Http1) | (_, Asked::WebSocket) => Offer::Http1,
            (Negotiation::Known, Asked::H2) => Offer::Http2,
            (_, other @ Asked::H3) => return Err(unspoken("client", other)),
        },
        security: match contender.tls {
            Tls::None => Security::Clear,
            Tls::V1_2 | Tls::V1_3 => Security::Tls,
        },
    })
}

fn hosts(job: &NearJob) -> Hosts {
    let mut hosts = Hosts::new();
    for (name, address) in &job.hosts {
        hosts.insert(name, Place::Address(*address));
    }
    hosts
}

/// What the kernel says of a connection: the same for all of them, so the last one's word is kept. A connection that
/// begins with its first bytes (Fast Open) gets its congestion control with them: it is asked again at the end.
fn note_facts(settings: &mut BTreeMap<String, String>, stage: SocketStage, facts: &TcpFacts) {
    settings.insert("near socket congestion control".to_owned(), facts.congestion_control.clone());
    if stage == SocketStage::Opened {
        settings.insert("near socket nodelay".to_owned(), facts.no_delay.to_string());
        settings.insert("near socket segment size".to_owned(), facts.segment_size.to_string());
        settings
            .insert("near socket initial window".to_owned(), facts.congestion_window.to_string());
    }
}

fn page_report(page: &Page, load: &PageLoad, said: Said) -> NearReport {
    let resource = |id: u32| {
        let id: ResourceId = load.resource(client::FetchId(id))?;
        page.resource(id)
    };
    let mut report = report(load.fetches(), load.connections(), said);
    for fetch in &report.fetches {
        let Some(resource) = resource(fetch.id) else { continue };
        if resource.counts == Counts::AfterLoad {
            report.uncounted.insert(fetch.id);
        }
        if !resource.server_time.is_zero() {
            report.server_time.insert(fetch.id, resource.server_time);
        }
    }
    report
}

fn calls_report(calls: &[Call], done: &Calls, said: Said) -> NearReport {
    let mut report = report(done.fetches(), done.connections(), said);
    report.schedule_lag = done.mean_lateness();
    // A call's number is its place in the list.
    report.server_time = (0..).zip(calls).map(|(id, call)| (id, call.server_time)).collect();
    report
}

fn report(fetches: &[FetchRecord], connections: &[ConnectionRecord], said: Said) -> NearReport {
    let Said { mut settings, times } = said;
    let mut fetches = fetches.to_vec();
    fetches.sort_by_key(|fetch| fetch.id);
    let mut connections = connections.to_vec();
    connections.sort_by_key(|connection| connection.id);
    let carried = fetches.iter().filter(|fetch| fetch.phases.sent.is_some());
    if let Some(last) = carried.max_by_key(|fetch| fetch.phases.sent) {
        settings.insert("transport last selected".to_owned(), last.protocol.clone());
    }
    NearReport {
        fetches,
        connections,
        uncounted: BTreeSet::new(),
        server_time: BTreeMap::new(),
        settings,
        times,
        schedule_lag: None,
        before: Vec::new(),
    }
}
