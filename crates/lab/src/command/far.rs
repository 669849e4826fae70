//! `wirelap far` (hidden): the server's side of a trial. Takes its job, says when it listens, and
//! answers until it is told to stop.

use crate::command::near::timed;
use crate::echo;
use crate::files_adapter::FilesAdapter;
use crate::job::{FarJob, FarReady, FarReport, IdentityPem};
use crate::key_log;
use crate::trouble::Trouble;
use endpoint::{Acks, FastOpen, Nagle, SocketSettings};
use origin::{
    AccessLog, AccessRecord, Files, ListenerKind, OpenedRecord, Origin, OriginConfig, Parts,
    Protocol, WallClock, WebSocketSettings,
};
use os::files::{CacheSettings, Root};
use os::reactor::{Reactor, Stop};
use os::signal::Interrupts;
use os::tcp::{Listener, Sharing, TcpFacts};
use secure::{Identity, Pem, Resumption, ServerTls, ServerTlsOptions, Versions};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use study::experiment::{Contender, Side, Tls, Transport};
use study::reconcile::{ServerConnection, ServerLog};
use trace::SpokenProtocol;

/// Serves the job.
pub(crate) fn run() -> Result<ExitCode, Trouble> {
    let Some(job) = super::read_job::<FarJob>()? else { return Ok(ExitCode::FAILURE) };
    let tls = server_tls(&job)?;
    let mut kinds = Vec::new();
    let mut settings = BTreeMap::new();
    let stop = Stop::new().map_err(super::lacking)?;
    stop_when_told(stop.clone())?;
    let mut reactor = Reactor::new(timed(), stop).map_err(super::lacking)?;
    let clear = job.listen.iter().map(|address| (address, ListenerKind::Clear));
    let secure = tls.iter().flat_map(|tls| {
        job.listen_tls.iter().map(move |address| (address, ListenerKind::Tls(tls.clone())))
    });
    for (address, kind) in clear.chain(secure) {
        let socket = socket_settings(&job.contender, job.contender.settings.server);
        let listener = Listener::bind(*address, Sharing::Found, &socket).map_err(super::lacking)?;
        if let Ok(facts) = TcpFacts::read(listener.as_fd()) {
            // What it accepts inherits it.
            settings.insert("far socket nodelay".to_owned(), facts.no_delay.to_string());
        }
        reactor.listen(listener).map_err(super::lacking)?;
        kinds.push(kind);
    }
    let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
    let mut config = OriginConfig::new(kinds, wall_clock);
    config.protocols = vec![protocol(&job.contender)?];
    config.table = job.table.map(Arc::new);
    let side = job.contender.settings.server;
    config.web_socket = WebSocketSettings {
        deflate: echo::deflate(side),
        writes: echo::writes(side),
        compression_level: echo::COMPRESSION_LEVEL,
    };
    // Who is still there when the trial has ended is not waited for.
    config.limits.drain = Duration::ZERO;
    let files = job.root.map(|root| Root::open(&root, CacheSettings::default())).transpose();
    let files =
        files.map_err(super::lacking)?.map(|root| Box::new(FilesAdapter(root)) as Box<dyn Files>);
    let log = Rc::new(ConnectionLog::default());
    let parts = Parts { files, log: Some(log.clone()), ..Parts::default() };
    let mut origin = Origin::new(config, parts);
    super::print_job(&FarReady { settings })?;
    reactor.run(&mut origin).map_err(super::lacking)?;
    super::print_job(&FarReport { log: log.report(), times: reactor.loop_times() })?;
    Ok(ExitCode::SUCCESS)
}

/// SIGTERM is how the worker ends this process; its last word is what it saw.
fn stop_when_told(stop: Stop) -> Result<(), Trouble> {
    let interrupts = Interrupts::take().map_err(Trouble::failed)?;
    std::thread::spawn(move || {
        let _ = os::process::wait_readable(interrupts.as_fd(), None);
        stop.stop();
    });
    Ok(())
}

/// Keeps a line a connection.
#[derive(Default)]
struct ConnectionLog(RefCell<BTreeMap<u64, ServerConnection>>);

impl ConnectionLog {
    fn report(&self) -> ServerLog {
        ServerLog { connections: self.0.borrow().values().cloned().collect() }
    }
}

impl AccessLog for ConnectionLog {
    fn record(&self, record: &AccessRecord<'_>) {
        if let Some(connection) = self.0.borrow_mut().get_mut(&record.connection) {
            connection.requests += 1;
            connection.body_bytes += record.sent_bytes;
        }
    }

    fn opened(&self, opened: &OpenedRecord<'_>) {
        let connection = ServerConnection {
            id: opened.connection,
            protocol: SpokenProtocol::from_name(opened.protocol),
            tls: opened.tls.clone(),
            ..ServerConnection::default()
        };
        self.0.borrow_mut().insert(opened.connection, connection);
    }
}

fn server_tls(job: &FarJob) -> Result<Option<ServerTls>, Trouble> {
    if job.listen_tls.is_empty() {
        return Ok(None);
    }
    let identities = job.identities.iter().map(identity).collect::<Result<_, _>>()?;
    let options = ServerTlsOptions {
        alpn: vec![protocol(&job.contender)?.name.to_owned()],
        versions: versions(&job.contender),
        resumption: resumption(&job.contender),
        key_log: key_log::open(job.key_log.as_deref())?,
        ..ServerTlsOptions::new(identities)
    };
    ServerTls::new(options).map(Some).map_err(Trouble::failed)
}

fn identity(pem: &IdentityPem) -> Result<Identity, Trouble> {
    let chain = Pem::new("the trial's chain", pem.chain.as_bytes());
    let key = Pem::new("the trial's key", pem.key.as_bytes());
    Identity::from_pem(&chain, &key).map_err(Trouble::failed)
}

/// The one protocol that a contender speaks, whether the client knows that beforehand or not.
fn protocol(contender: &Contender) -> Result<Protocol, Trouble> {
    Ok(match contender.transport {
        // A WebSocket begins as a request.
        Transport::Http1 | Transport::WebSocket => Protocol::HTTP_1_1,
        Transport::H2 => Protocol::HTTP_2,
        Transport::Spdy => Protocol::SPDY_3_1,
        Transport::Spdy3 => Protocol::SPDY_3,
        other @ Transport::H3 => return Err(unspoken("server", other)),
    })
}

/// What neither end of wirelap's own speaks; a trial that asks for it is unsupported before it begins.
pub(crate) fn unspoken(end: &str, transport: Transport) -> Trouble {
    Trouble::failed(format!("wirelap's own {end} does not speak {transport}"))
}

/// How a side's sockets send and acknowledge.
pub(crate) fn socket_settings(contender: &Contender, side: Side) -> SocketSettings {
    SocketSettings {
        fast_open: if contender.settings.fast_open { FastOpen::On } else { FastOpen::Off },
        nagle: if side.nodelay { Nagle::Off } else { Nagle::On },
        acks: if side.quickack { Acks::Quick } else { Acks::Delayed },
        ..SocketSettings::default()
    }
}

/// Exactly the TLS version that a contender names; both sides are held to it.
pub(crate) fn versions(contender: &Contender) -> Versions {
    match contender.tls {
        Tls::V1_2 => Versions::Tls12,
        Tls::None | Tls::V1_3 => Versions::Tls13,
    }
}

/// Whether tickets are given and taken; both sides are held to it.
pub(crate) fn resumption(contender: &Contender) -> Resumption {
    if contender.settings.resumption { Resumption::On } else { Resumption::Off }
}
