//! `wirelap far` (hidden): the server's side of a trial. Takes its job, says when it listens, and
//! answers until it is asked to stop.

use crate::console;
use crate::error::CliError;
use crate::files_adapter::FilesAdapter;
use crate::inputs::policy::PolicyText;
use crate::key_log;
use crate::qlog;
use crate::trial::contender::{server_quic_settings, socket_settings};
use crate::trial::first_visit;
use crate::trial::job::{FarJob, FarReady, FarReport};
use crate::trial::near::timed;
use crate::trial::origin_config::{OriginSpec, origin_config, server_tls};
use crate::trial::read_back::{note_quic, note_socket, tallied};
use crate::trial::site_contents::FarSite;
use endpoint::DatagramSettings;
use origin::{
    AccessLog, AccessRecord, DeliveryLog, Files, ListenerKind, OpenedRecord, Origin, Parts, Replay,
    SkippedPush, WallClock,
};
use os::files::{CacheSettings, Root};
use os::reactor::{Reactor, Stop};
use os::signal::Interrupts;
use os::tcp::{Listener, Sharing};
use os::udp::DatagramSocket;
use proto::ResponseHead;
use report::QlogVantage;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use study::reconcile::{ServerConnection, ServerLog};
use transport::QuicTally;

/// Serves the job.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    let Some(job) = console::read_job::<FarJob>()? else { return Ok(ExitCode::FAILURE) };
    let key_log = key_log::open(job.key_log.as_deref())?;
    let protocols = protocols(&job)?;
    let tls = match job.identities.is_empty() {
        true => None,
        false => Some(server_tls(&job.contender, &protocols, &job.identities, key_log)?),
    };
    let mut kinds = Vec::new();
    let mut settings = BTreeMap::new();
    let stop = Stop::new()?;
    stop_when_told(stop.clone())?;
    let mut reactor = Reactor::new(timed(), stop)?;
    let clear = job.listen.iter().map(|address| (address, ListenerKind::Clear));
    let secure = tls.iter().flat_map(|tls| {
        job.listen_tls.iter().map(move |address| (address, ListenerKind::Tls(tls.clone())))
    });
    for (address, kind) in clear.chain(secure) {
        let socket = socket_settings(&job.contender, job.contender.settings.server);
        let listener = Listener::bind(*address, Sharing::Found, &socket)?;
        reactor.listen(listener)?;
        kinds.push(kind);
    }
    for (address, tls) in job.listen_quic.iter().zip(tls.iter().cycle()) {
        let socket = DatagramSocket::bind(*address, Sharing::Found, &DatagramSettings::default())?;
        reactor.listen_datagrams(socket);
        kinds.push(ListenerKind::Quic(tls.clone(), server_quic_settings(&job.contender)));
    }
    let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
    let alt_svc = first_visit::alt_svc(&job);
    let table = job.table.map(Arc::new);
    let policy = job.policy.as_ref().map(PolicyText::read).transpose()?.unwrap_or_default();
    let choice = job.contender.settings.policy.as_ref();
    settings.insert("policy".to_owned(), choice.map_or("none".to_owned(), ToString::to_string));
    let spec = OriginSpec { listeners: kinds, protocols, table, alt_svc, wall_clock, policy };
    let config = origin_config(&job.contender, spec)?;
    let deliveries = Rc::new(RefCell::new(Vec::new()));
    let delivery_log = job.tells_delivery.then(|| {
        let kept = Rc::clone(&deliveries);
        let keep = move |record| kept.borrow_mut().push(record);
        Rc::new(DeliveryLog::new(config.priorities, Box::new(keep)))
    });
    let files = job.root.map(|root| Root::open(&root, CacheSettings::default())).transpose();
    let files = files?.map(|root| Box::new(FilesAdapter(root)) as Box<dyn Files>);
    let log = Rc::new(ConnectionLog {
        delivery: delivery_log.clone(),
        has_browser_sockets: job.site.as_ref().is_some_and(FarSite::has_web_sockets),
        ..ConnectionLog::default()
    });
    let tracer = qlog::tracer(job.qlog.map(|files| files.spec(QlogVantage::Server)));
    let tracer = match delivery_log {
        Some(delivery_log) => tracer.and(delivery_log),
        None => tracer,
    };
    let site = job.site.as_ref();
    let replay = site.map(|site| Rc::new(Replay::new(&site.page(), site.contents())));
    let parts = Parts { files, log: Some(log.clone()), tracer, replay: replay.clone() };
    let mut origin = Origin::new(config, parts);
    let witness = Rc::clone(&log);
    reactor.observe(Box::new(move |_, stage, facts| {
        witness.settings.borrow_mut().extend(note_socket("far", stage, facts));
    }));
    console::print_job(&FarReady { settings })?;
    reactor.run(&mut origin)?;
    // With it go the qlog files: whoever reads the report finds them whole.
    drop(origin);
    let (times, mut settings) = (reactor.loop_times(), log.settings.take());
    settings.extend(log.not_pushed());
    let deliveries = deliveries.take();
    let replay = replay.map(|replay| replay.tally().into());
    console::print_job(&FarReport { log: log.report(), times, settings, deliveries, replay })?;
    Ok(ExitCode::SUCCESS)
}

/// What is spoken over TLS: what the contender asks for, and HTTP/1.1 where a browser may open a WebSocket, which it does on
/// a connection of its own where it has none of HTTP/2 for that.
fn protocols(job: &FarJob) -> Result<Vec<transport::Protocol>, CliError> {
    let asked = first_visit::over_tls(&job.contender)?;
    let has_sockets = job.site.as_ref().is_some_and(FarSite::has_web_sockets);
    Ok(match asked {
        transport::Protocol::Http2 if has_sockets => vec![asked, transport::Protocol::Http1],
        _ => vec![asked],
    })
}

/// SIGTERM is how the worker ends this process; its last word is what it saw.
fn stop_when_told(stop: Stop) -> Result<(), CliError> {
    let interrupts = Interrupts::take().map_err(CliError::failed)?;
    std::thread::spawn(move || {
        let _ = os::process::wait_readable(interrupts.as_fd(), None);
        stop.stop();
    });
    Ok(())
}

/// Keeps a line a connection.
#[derive(Default)]
struct ConnectionLog {
    connections: RefCell<BTreeMap<u64, ServerConnection>>,
    /// What the last connection sends by.
    settings: RefCell<BTreeMap<String, String>>,
    /// What its policy names and does not push.
    not_pushed: RefCell<Vec<String>>,
    delivery: Option<Rc<DeliveryLog>>,
    /// Whether a browser may open WebSockets beside the page's own connections.
    has_browser_sockets: bool,
}

impl ConnectionLog {
    fn report(&self) -> ServerLog {
        ServerLog { connections: self.connections.borrow().values().cloned().collect() }
    }

    /// The setting that says what was not pushed, where there is something.
    fn not_pushed(&self) -> Option<(String, String)> {
        let not_pushed = self.not_pushed.borrow();
        (!not_pushed.is_empty()).then(|| ("policy, not pushed".to_owned(), not_pushed.join("; ")))
    }
}

impl AccessLog for ConnectionLog {
    fn record(&self, record: &AccessRecord<'_>) {
        // What a browser upgrades is no connection of the page's protocol.
        let is_beside = self.has_browser_sockets && record.status == Some(101);
        if let Some(connection) =
            self.connections.borrow_mut().get_mut(&record.connection).filter(|_| !is_beside)
        {
            connection.requests += 1;
            connection.body_bytes += record.sent_bytes;
        }
        if let Some(delivery) = &self.delivery {
            delivery.record(record);
        }
    }

    fn began(&self, connection: u64, stream: u64) {
        if let Some(delivery) = &self.delivery {
            delivery.began(connection, stream);
        }
    }

    fn answered(&self, connection: u64, stream: u64, head: &ResponseHead) {
        if let Some(delivery) = &self.delivery {
            delivery.answered(connection, stream, head);
        }
    }

    fn not_pushed(&self, SkippedPush { target, why }: &SkippedPush<'_>) {
        let mut not_pushed = self.not_pushed.borrow_mut();
        if not_pushed.len() < MOST_NOT_PUSHED {
            not_pushed.push(format!("{target}: {why}"));
        }
    }

    fn opened(&self, opened: &OpenedRecord) {
        let connection = ServerConnection {
            id: opened.connection,
            protocol: trace::Protocol::from(opened.protocol).into(),
            tls: opened.tls.clone(),
            ..ServerConnection::default()
        };
        self.connections.borrow_mut().insert(opened.connection, connection);
        if let Some(facts) = &opened.quic {
            self.settings.borrow_mut().extend(note_quic("far", facts));
        }
    }

    fn closed(&self, _connection: u64, tally: &QuicTally) {
        self.settings.borrow_mut().extend(tallied(["far", "near"], tally));
    }
}

/// What a row tells of pushes that were not made.
const MOST_NOT_PUSHED: usize = 8;
