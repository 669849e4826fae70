//! `wirelap near` (hidden): the client's side of a trial. Takes its job, does it, and reports what happened.

use crate::console;
use crate::error::CliError;
use crate::key_log;
use crate::qlog;
use crate::trial::client_config::{ClientSpec, client_config};
use crate::trial::earlier_visit::EarlierVisit;
use crate::trial::echo::EchoTask;
use crate::trial::first_visit;
use crate::trial::job::{NearJob, NearReport};
use crate::trial::next_view;
use crate::trial::own_calls;
use crate::trial::read_back::{note_quic, note_socket, tallied};
use crate::trial::stream::StreamTask;
use crate::trial::task::{Call, Task};
use crate::trial::tcp_settings;
use client::{
    Calls, Client, ClientConfig, Cookies, EchoRequests, EchoSocket, PageLoad, Records,
    StreamRequests, StreamSocket, WebSocketClient, Work,
};
use endpoint::EndPoint;
use os::reactor::{LoopTimes, Reactor, ReactorSettings, Stop, Timing};
use page::{Browser, Evidence, Load, Page, ResourceId};
use report::QlogVantage;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::rc::Rc;
use study::experiment::{Contender, FirstVisit, Tls, Transport};
use trace::{CacheTally, HintTally};
use transport::{QuicFacts, QuicTally};
use unit::Instant;

/// Does the job.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    let Some(job) = console::read_job::<NearJob>()? else { return Ok(ExitCode::FAILURE) };
    let mut config = config_of(&job)?;
    config.tracer = qlog::tracer(job.qlog.clone().map(|files| files.spec(QlogVantage::Client)));
    let visit = EarlierVisit::of(&job)?;
    let before = cookies(&job)?;
    let report = do_task(config.clone(), visit, &job)?;
    let next = match job.contender.settings.first_visit {
        FirstVisit::AltSvc => first_visit::next_view(config, &job, &report)?,
        _ => None,
    };
    console::print_job(&NearReport { before, next, ..report })?;
    Ok(ExitCode::SUCCESS)
}

/// The client that a job's contender asks for, with TLS sessions of its own.
pub(super) fn config_of(job: &NearJob) -> Result<ClientConfig, CliError> {
    let spec = ClientSpec {
        hosts: &job.hosts,
        root: &job.root,
        trust: job.trust,
        timeout: job.timeout,
        head_start: job.head_start,
        rebinds: job.rebinds,
        key_log: key_log::open(job.key_log.as_deref())?,
    };
    client_config(&job.contender, spec)
}

/// Does the task of a job, after `visit`.
pub(super) fn do_task(
    config: ClientConfig,
    visit: EarlierVisit,
    job: &NearJob,
) -> Result<NearReport, CliError> {
    Ok(match &job.task {
        Task::Page { page, recorded } => {
            // Where a recorded redirect leads is another fetch of the recording.
            let redirects = if *recorded { 0 } else { config.redirects };
            let shared_hosts = shared_hosts(job).filter(|_| *recorded).unwrap_or_default();
            let cookies = Some(Cookies::new());
            let config = ClientConfig { cookies, redirects, shared_hosts, ..config };
            let browser = config.browser;
            let (load, said) = match job.contender.settings.next_view {
                None => visit.drive(config, page_load(page, browser, &job.contender))?,
                Some(view) => next_view::drive(config, view, page, job)?,
            };
            page_report(page, &load, said)
        }
        Task::Calls { pattern, calls } => {
            let work = Calls::beside_each_other(own_calls::fetches(calls)?, &pattern.lists());
            // An answer that leads elsewhere is an answer: its status is what the user expects, or not.
            let redirects =
                if calls.iter().any(|call| call.own.is_some()) { 0 } else { config.redirects };
            let (done, said) = visit.drive(ClientConfig { redirects, ..config }, work)?;
            calls_report(calls, &done, said)
        }
        Task::Download { .. } => {
            return Err(CliError::misuse("files go to disk by a client subject"));
        }
        Task::Echo(task) => echo(config, visit, &job.contender, task)?,
        Task::Stream(task) => stream(config, visit, &job.contender, task)?,
    })
}

/// The hosts that have another one's address, with that one's name, where the contender's protocol carries requests side by
/// side: browsers have them share connections.
fn shared_hosts(job: &NearJob) -> Option<BTreeMap<String, String>> {
    if job.contender.transport == Transport::Http1 {
        return None;
    }
    let mut first: BTreeMap<IpAddr, &String> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for (name, address) in &job.hosts {
        let whose = *first.entry(*address).or_insert(name);
        if whose != name {
            shared.insert(name.clone(), whose.clone());
        }
    }
    Some(shared)
}

/// A load of the page by this browser without a cache.
pub(super) fn page_load(page: &Page, browser: Browser, contender: &Contender) -> PageLoad {
    let replayed = page.clone();
    let has_priorities = contender.transport != Transport::Http1;
    PageLoad::new(move |now| {
        let load = Load::replay(&replayed, browser, now);
        if has_priorities { load.with_priorities() } else { load }
    })
}

/// Fetches what a contender needs that says its first bytes with its SYN: one cookie an address.
fn cookies(job: &NearJob) -> Result<Vec<SocketAddr>, CliError> {
    let usual = if job.contender.tls == Tls::None { 80 } else { 443 };
    let port = job.task.ports(usual).first().copied().unwrap_or(usual);
    let hosts: BTreeSet<IpAddr> = job.hosts.values().copied().collect();
    let hosts = hosts.into_iter().map(|host| SocketAddr::new(host, port));
    tcp_settings::fetch_cookies(&job.contender, hosts, job.timeout).map_err(CliError::from)
}

/// Sends the messages by what the contender speaks.
fn echo(
    config: ClientConfig,
    visit: EarlierVisit,
    contender: &Contender,
    task: &EchoTask,
) -> Result<NearReport, CliError> {
    if contender.transport.is_web_socket() {
        let mut whole: Option<NearReport> = None;
        for messages in task.views() {
            let own = task.web_socket(contender.settings.client);
            let talk = EchoSocket::new(messages, task.pattern());
            let mut client = WebSocketClient::new(config.clone(), own, talk);
            let mut said = run_client(&mut client)?;
            said.note_quic(client.quic_facts(), client.quic_tally());
            let view = report(&client.into_conversation().records, said);
            whole = Some(match whole {
                None => view,
                Some(before) => before.followed_by(view),
            });
        }
        return whole.ok_or_else(|| CliError::failed("an echo has messages"));
    }
    let work = EchoRequests::new(task.requests(), task.pattern());
    let (done, said) = visit.drive(config, work)?;
    Ok(report(done.records(), said))
}

/// Receives the streams as the contender delivers them.
fn stream(
    config: ClientConfig,
    visit: EarlierVisit,
    contender: &Contender,
    task: &StreamTask,
) -> Result<NearReport, CliError> {
    let Some(delivery) = task.delivery(contender.settings.delivery) else {
        let own = task.web_socket(contender.settings.client);
        let mut client = WebSocketClient::new(config, own, StreamSocket::new(task.streams()));
        let mut said = run_client(&mut client)?;
        said.note_quic(client.quic_facts(), client.quic_tally());
        let done = client.into_conversation();
        let report = report(&done.records, said);
        return Ok(NearReport { tokens: done.tokens().collect(), ..report });
    };
    let work = StreamRequests::new(task.root.clone(), task.streams(), delivery);
    let (done, said) = visit.drive(config, work)?;
    let report = report(&done.records, said);
    Ok(NearReport { tokens: done.tokens().collect(), ..report })
}

/// What is reported of a client's run besides its work.
pub(crate) struct Said {
    /// By its sockets.
    settings: BTreeMap<String, String>,
    /// By its reactor.
    times: Option<LoopTimes>,
    /// When its work began, where a visit of other connections came before it.
    pub(super) began: Option<Instant>,
    /// The cookies that servers have set, where the client keeps any.
    pub(super) cookies: Option<Cookies>,
}

impl Said {
    /// Notes what a client's last connection over QUIC did.
    fn note_quic(&mut self, facts: Option<&QuicFacts>, tally: Option<&QuicTally>) {
        if let Some(facts) = facts {
            self.settings.extend(note_quic("near", facts));
        }
        if let Some(tally) = tally {
            self.settings.extend(tallied(["near", "far"], tally));
        }
    }
}

/// Does `work` to its end; gives it back, with what sockets and reactor reported.
pub(crate) fn drive<W: Work>(config: ClientConfig, work: W) -> Result<(W, Said), CliError> {
    let mut client = Client::new(config, work);
    let mut said = run_client(&mut client)?;
    if let Some(port) = client.alternative() {
        said.settings.insert(ALT_SVC.to_owned(), format!("h3 on port {port}"));
    }
    said.note_quic(client.quic_facts(), client.quic_tally());
    said.cookies = client.cookies().cloned();
    Ok((client.into_work(), said))
}

/// The setting that says what `Alt-Svc` offered.
pub(super) const ALT_SVC: &str = "near alt-svc";

/// The setting that says how many fetches were made again because their connection was lost.
const MADE_AGAIN: &str = "near fetches made again";

/// The setting that says whose priorities a page was loaded with.
const BROWSER: &str = "near browser profile";

/// Runs a client to its end.
fn run_client<E: EndPoint>(client: &mut E) -> Result<Said, CliError> {
    let settings = Rc::new(RefCell::new(BTreeMap::new()));
    let mut reactor = Reactor::new(timed(), Stop::new()?)?;
    let witness = settings.clone();
    reactor.observe(Box::new(move |_, stage, facts| {
        witness.borrow_mut().extend(note_socket("near", stage, facts));
    }));
    reactor.run(client)?;
    let times = reactor.loop_times();
    drop(reactor);
    Ok(Said { settings: settings.take(), times, began: None, cookies: None })
}

/// A reactor of a trial keeps its own time, for the audit.
pub(crate) fn timed() -> ReactorSettings {
    ReactorSettings { timing: Timing::On, ..ReactorSettings::default() }
}

fn page_report(page: &Page, load: &PageLoad, said: Said) -> NearReport {
    let resource = |id: u32| {
        let id: ResourceId = load.resource(client::FetchId(id))?;
        page.resource(id)
    };
    let mut said = said;
    if let Some(browser) = load.load().map(Load::browser) {
        let note = match browser.evidence() {
            Evidence::Recorded => "",
            Evidence::Published => " (published, in part derived)",
            Evidence::Unverified => " (unverified)",
        };
        said.settings.insert(BROWSER.to_owned(), format!("{}{note}", browser.name()));
    }
    let mut report = NearReport {
        hints: load.hints(),
        cached: load.cached(),
        paint: load.load().map(Load::paint_times),
        ..report(&load.records, said)
    };
    for fetch in &report.fetches {
        let Some(resource) = resource(fetch.id) else { continue };
        if !resource.server_time.is_zero() {
            report.server_time.insert(fetch.id, resource.server_time);
        }
    }
    report
}

fn calls_report(calls: &[Call], done: &Calls, said: Said) -> NearReport {
    let mut report = report(&done.records, said);
    report.schedule_lag = done.mean_lateness();
    // A call's number is its place in the list.
    report.server_time = (0..).zip(calls).map(|(id, call)| (id, call.server_time)).collect();
    report
}

fn report(records: &Records, said: Said) -> NearReport {
    let Said { mut settings, times, began, .. } = said;
    let Records { mut fetches, mut connections } = records.clone();
    fetches.sort_by_key(|fetch| fetch.id);
    connections.sort_by_key(|connection| connection.id);
    let carried = fetches.iter().filter(|fetch| fetch.phases.sent.is_some());
    if let Some(last) = carried.max_by_key(|fetch| fetch.phases.sent) {
        settings.insert("transport last selected".to_owned(), last.protocol.to_string());
    }
    let made_again = fetches.iter().filter(|fetch| fetch.times_lost() > 0).count();
    if made_again > 0 {
        settings.insert(MADE_AGAIN.to_owned(), made_again.to_string());
    }
    NearReport {
        fetches,
        connections,
        hints: HintTally::default(),
        cached: CacheTally::default(),
        tokens: Vec::new(),
        server_time: BTreeMap::new(),
        settings,
        times,
        schedule_lag: None,
        before: Vec::new(),
        began,
        paint: None,
        next: None,
    }
}
