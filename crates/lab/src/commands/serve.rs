//! `wirelap serve`: the origin on this machine's own addresses.

use super::serve_log::{DeliveryFile, Log, Printed};
use crate::cli::ServeArgs;
use crate::console;
use crate::environment;
use crate::error::{self, CliError};
use crate::files_adapter::FilesAdapter;
use crate::inputs::policy::{PolicyFile, PolicyText};
use crate::key_log;
use crate::machine;
use crate::named_file;
use crate::qlog::{self, QlogSpec};
use endpoint::{CongestionControl, DatagramSettings, SocketSettings};
use origin::{
    AccessLog, DeliveryLog, ListenerKind, Origin, OriginConfig, Parts, PushCheck, UpstreamSettings,
    WallClock,
};
use os::error::Os;
use os::files::{CacheSettings, Root};
use os::memory::UnusedMemory;
use os::process::{Cpu, CpuSet};
use os::reactor::{AdaptiveSendBuffer, Backend, Reactor, ReactorSettings, Stop};
use os::signal::Interrupts;
use os::tcp::{Listener, probe_congestion_control};
use os::udp::DatagramSocket;
use report::QlogVantage;
use secure::{
    Authority, AuthoritySpec, Ciphers, Identity, Pem, Resumption, ServerTls, ServerTlsOptions,
    UnixTime, Validity,
};
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use transport::{AddressValidation, ListeningSocket, Protocol, QuicSettings};

/// Serves until interrupted: the first interrupt ends it in good order, the second one at once.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, CliError> {
    // clap would name one of the two alone.
    if args.listen.is_empty() && args.listen_tls.is_empty() {
        return Err(CliError::misuse("there is no address to listen on")
            .remedy("add --listen 127.0.0.1:8080, or --listen-tls 127.0.0.1:8443 for TLS"));
    }
    let descriptors = os::process::raise_descriptors();
    // Opened here first, so that a wrong folder is reported before anything listens.
    Root::open(&args.dir, CacheSettings::default()).map_err(misuse)?;
    let backend = backend(args)?;
    let policy = policy(args)?;
    if args.upstream.is_some() {
        policy.notes_before_application().into_iter().for_each(console::note);
    }
    let settings = SocketSettings {
        unsent_low_water: UNSENT_LOW_WATER,
        congestion_control: congestion_control(args)?,
        ..SocketSettings::default()
    };
    let most = if args.listen_quic.is_some() { MOST_QUIC_THREADS } else { usize::MAX };
    let threads = args.threads.map_or_else(|| most.min(machine::cores() as usize), |n| n as usize);
    let identity = identity(args)?;
    // Before the URLs are printed: from then on somebody may interrupt this process.
    let interrupts = Interrupts::take()
        .map_err(|error| CliError::failed(format!("taking over Ctrl-C: {error}")))?;
    let Listening { kinds, shares, quic_port, urls } = listen(args, identity, threads, &settings)?;
    let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
    let mut config = OriginConfig::new(kinds, wall_clock);
    config.protocols = protocols(args);
    config.alt_svc = quic_port;
    // The flag goes before the file.
    config.priorities = args.priorities.or(policy.priorities).unwrap_or_default();
    config.delivery = policy.delivery.map(Arc::new);
    // Clients of SPDY's time have HTTP/2 without the setting that offers it.
    config.web_socket_over_h2 = !(args.no_websocket_over_h2 || args.spdy);
    config.timer = Some(report::timer_page(env!("CARGO_PKG_VERSION")).into());
    config.upstream = args.upstream.map(UpstreamSettings::new);
    config.limits = args.patience.limits(threads);
    note_descriptors(descriptors);
    let folder = args.qlog.clone().or_else(environment::qlog_folder);
    let folder = folder.filter(|_| args.listen_quic.is_some());
    let delivery_log = args.delivery_log.as_deref().map(DeliveryFile::open).transpose()?;
    let qlog = qlog::into_folder(folder.as_deref(), QlogVantage::Server)?;
    // Whoever reads them may ask at once: nothing is refused from here on.
    console::print(&urls)?;
    let (stop, cpus) = (Stop::new()?, CpuSet::allowed());
    let memory = UnusedMemory::new();
    let workers: Vec<_> = shares
        .into_iter()
        .enumerate()
        .map(|(index, share)| {
            let worker = Worker {
                config: of_thread(&config, index),
                stop: stop.clone(),
                dir: args.dir.clone(),
                cpu: cpus.nth(index),
                backend,
                share,
                verbose: args.verbose,
                delivery_log: delivery_log.clone(),
                qlog: qlog.as_ref().map(|spec| spec.of_thread(index)),
            };
            thread::spawn(move || worker.run())
        })
        .collect();
    await_interrupt(&interrupts, &workers, memory);
    stop.stop();
    while !workers.iter().all(thread::JoinHandle::is_finished) {
        if interrupts.count() > 1 {
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(LOOK_UP);
    }
    for worker in workers {
        worker.join().map_err(|_| CliError::failed("a thread of the server panicked"))??;
    }
    Ok(ExitCode::SUCCESS)
}

/// The backend that was asked for, else the better one of those that are there (docs/performance.md, "Two reactors").
fn backend(args: &ServeArgs) -> Result<Backend, CliError> {
    if let Some(name) = args.reactor {
        let backend = Backend::from(name);
        return backend.probe().map(|()| backend).map_err(CliError::from);
    }
    Ok(if Backend::IoUring.probe().is_ok() { Backend::IoUring } else { Backend::Epoll })
}

/// The congestion control that was asked for, else the host's own, but on loopback the one that does least: there is
/// no path for BBR to estimate and pace for (docs/performance.md, "What helped").
fn congestion_control(args: &ServeArgs) -> Result<CongestionControl, CliError> {
    let Some(name) = &args.congestion else {
        let least = probe_congestion_control(LEAST);
        return Ok(least.map_or(CongestionControl::Host, |()| {
            CongestionControl::OnLoopback(LEAST.to_owned())
        }));
    };
    probe_congestion_control(name).map_err(|error| {
        let (what, list) = match error.source.kind() {
            ErrorKind::PermissionDenied => ("without privilege there are", "allowed"),
            _ => ("there are", "available"),
        };
        let file = format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control");
        let names = machine::read(&file).unwrap_or_default().replace(' ', ", ");
        CliError::misuse(error).remedy(format!("name one of those in {file}: {what} {names}"))
    })?;
    Ok(CongestionControl::Named(name.clone()))
}

/// The congestion control that neither paces nor estimates; every Linux has it.
const LEAST: &str = "reno";

/// The policy, where there is one. What it pushes must be there.
fn policy(args: &ServeArgs) -> Result<PolicyFile, CliError> {
    let Some(named) = &args.policy else { return Ok(PolicyFile::default()) };
    let root = Root::open(&args.dir, CacheSettings::default()).map_err(misuse)?;
    let files = Box::new(FilesAdapter(root));
    PolicyText::find(named)?.read_for(match args.upstream {
        Some(_) => PushCheck::before_application(files),
        None => PushCheck::new(files),
    })
}

/// Bytes that the origin is asked for at a time, at first. It is asked when half as many wait unsent in the kernel, so
/// that no more than 15 KiB stand where an urgent response cannot overtake them. Where the path is slow, the reactor
/// lets fewer wait, and more where it is quick ([`AdaptiveSendBuffer`]).
const UNSENT_LOW_WATER: u32 = 10 * 1024;

/// How often the main thread, which serves nobody, looks up.
const LOOK_UP: std::time::Duration = std::time::Duration::from_millis(50);

fn await_interrupt(
    interrupts: &Interrupts,
    workers: &[thread::JoinHandle<Result<(), Os>>],
    mut memory: UnusedMemory,
) {
    while interrupts.count() == 0 && !workers.iter().any(thread::JoinHandle::is_finished) {
        // Waits for an interrupt; wakes now and then for a worker that has failed, and for memory that is no longer used.
        let _ = os::process::wait_readable(interrupts.as_fd(), Some(20 * LOOK_UP));
        memory.give_back();
    }
}

/// Tells of a limit that bounds its connections.
fn note_descriptors(descriptors: u64) {
    if descriptors < FEW_DESCRIPTORS {
        console::note(&format!(
            "this process may open {descriptors} files, which bounds its connections: raise the limit by `ulimit -Hn`, or \
             LimitNOFILE= of systemd"
        ));
    }
}

/// Fewer are the usual limit of a shell, or less.
const FEW_DESCRIPTORS: u64 = 4_096;

/// One thread: its reactor, its origin, its files.
struct Worker {
    config: OriginConfig,
    stop: Stop,
    dir: PathBuf,
    cpu: Option<Cpu>,
    backend: Backend,
    share: Share,
    verbose: bool,
    delivery_log: Option<DeliveryFile>,
    qlog: Option<QlogSpec>,
}

impl Worker {
    fn run(self) -> Result<(), Os> {
        let root = Root::open(&self.dir, CacheSettings::default())?;
        let (cpu, backend) = (self.cpu, self.backend);
        let adaptive_send_buffer = AdaptiveSendBuffer::UpAndDown;
        let settings =
            ReactorSettings { cpu, backend, adaptive_send_buffer, ..ReactorSettings::default() };
        let mut reactor = Reactor::new(settings, self.stop)?;
        for listener in self.share.listeners {
            reactor.listen(listener)?;
        }
        for socket in self.share.datagrams {
            reactor.listen_datagrams(socket);
        }
        let delivery = self.delivery_log.map(|file| {
            let add = move |record| file.add(&record);
            Rc::new(DeliveryLog::new(self.config.priorities, Box::new(add)))
        });
        let printed = if self.verbose { Printed::Exchanges } else { Printed::SkippedPushes };
        let is_silent = !self.verbose && self.config.delivery.is_none() && delivery.is_none();
        let mut tracer = qlog::tracer(self.qlog);
        if let Some(delivery) = &delivery {
            tracer = tracer.and(delivery.clone());
        }
        let log: Option<Rc<dyn AccessLog>> = match is_silent {
            true => None,
            false => Some(Rc::new(Log { printed, delivery })),
        };
        let files = Box::new(FilesAdapter(root));
        let parts = Parts { files: Some(files), log, tracer, ..Parts::default() };
        reactor.run(&mut Origin::new(self.config, parts))
    }
}

/// What a self-made certificate is always for: this machine, and the two sides of `wirelap link`.
const ALWAYS_NAMED: [&str; 5] = ["localhost", "127.0.0.1", "::1", "far", "near"];

/// The user's certificate, or one made for this run; None where nothing is served over TLS.
fn identity(args: &ServeArgs) -> Result<Option<Identity>, CliError> {
    if args.listen_tls.is_empty() {
        return Ok(None);
    }
    if let (Some(cert), Some(key)) = (&args.cert, &args.key) {
        let identity =
            Identity::from_pem(&read_pem(cert)?, &read_pem(key)?).map_err(CliError::misuse)?;
        return Ok(Some(identity));
    }
    let now = UnixTime::since_unix_epoch(os::clock::realtime());
    let spec = AuthoritySpec { validity: Validity::around(now), ..AuthoritySpec::default() };
    let authority = Authority::new(spec).map_err(CliError::failed)?;
    let mut names: Vec<String> = ALWAYS_NAMED.map(str::to_owned).into();
    names.extend(args.name.iter().cloned());
    let others = args
        .listen_tls
        .iter()
        .chain(&args.listen_quic)
        .map(|address| address.ip())
        .filter(|ip| !ip.is_unspecified());
    names.extend(others.map(|ip| ip.to_string()));
    names.sort_unstable();
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(path) = &args.ca_out {
        named_file::write(path, &authority.root_pem().text)?;
    }
    authority.issue(&names).map(Some).map_err(CliError::failed)
}

fn read_pem(path: &Path) -> Result<Pem, CliError> {
    let name = path.display().to_string();
    let text = fs::read(path).map_err(|error| error::file(format!("reading {name}"), &error))?;
    Ok(Pem::new(name, text))
}

/// What is listened on.
struct Listening {
    /// What each listener speaks: those over TCP first, as each share has them.
    kinds: Vec<ListenerKind>,
    /// Each thread's part.
    shares: Vec<Share>,
    /// The port of HTTP/3.
    quic_port: Option<u16>,
    /// The URLs, a line each.
    urls: String,
}

/// The listeners of one thread.
#[derive(Default)]
struct Share {
    listeners: Vec<Listener>,
    datagrams: Vec<DatagramSocket>,
}

/// Binds everything before anything is served.
fn listen(
    args: &ServeArgs,
    identity: Option<Identity>,
    threads: usize,
    settings: &SocketSettings,
) -> Result<Listening, CliError> {
    let key_log = key_log::open(environment::ssl_key_log_file().as_deref())?;
    let tls = match identity {
        Some(identity) => {
            let alpn = protocols(args).iter().map(|protocol| protocol.alpn().to_owned()).collect();
            let ciphers = Ciphers::Cheapest;
            let resumption = if args.early_data { Resumption::Early } else { Resumption::On };
            let options = ServerTlsOptions {
                key_log,
                alpn,
                ciphers,
                resumption,
                ..ServerTlsOptions::new(vec![identity])
            };
            Some(ServerTls::new(options).map_err(CliError::misuse)?)
        }
        None => None,
    };
    let (mut kinds, mut urls) = (Vec::new(), String::new());
    let mut shares: Vec<Share> = (0..threads).map(|_| Share::default()).collect();
    let clear = args.listen.iter().map(|address| (*address, ListenerKind::Clear));
    let secure = args.listen_tls.iter().zip(tls.iter().cycle());
    let secure = secure.map(|(address, tls)| (*address, ListenerKind::Tls(tls.clone())));
    for (address, kind) in clear.chain(secure) {
        let scheme = if matches!(kind, ListenerKind::Clear) { "http" } else { "https" };
        let local = bind(address, settings, &mut shares)?;
        urls += &format!("{scheme}://{local}/\n");
        kinds.push(kind);
    }
    let mut quic_port = None;
    if let (Some(address), Some(tls)) = (args.listen_quic, &tls) {
        let local = bind_datagrams(address, &mut shares)?;
        urls += &format!("https://{local}/ (HTTP/3)\n");
        kinds.push(ListenerKind::Quic(tls.clone(), quic_settings(args, local)));
        quic_port = Some(local.port());
    }
    Ok(Listening { kinds, shares, quic_port, urls })
}

fn quic_settings(args: &ServeArgs, address: SocketAddr) -> QuicSettings {
    let address_validation = match args.quic_retry {
        true => AddressValidation::ByRetry,
        false => AddressValidation::ByHandshake,
    };
    let congestion_controller = args.quic_congestion.into();
    let listening = Some(ListeningSocket { address, number: 0 });
    QuicSettings {
        address_validation,
        congestion_controller,
        idle_timeout: args.patience.quic_idle_timeout(),
        listening,
        ..QuicSettings::server()
    }
}

/// A thread's configuration: its socket of QUIC has the thread's number.
fn of_thread(config: &OriginConfig, index: usize) -> OriginConfig {
    let mut config = config.clone();
    for kind in &mut config.listeners {
        if let ListenerKind::Quic(_, QuicSettings { listening: Some(socket), .. }) = kind {
            socket.number = u8::try_from(index).unwrap_or_default();
        }
    }
    config
}

/// What is spoken, best first.
fn protocols(args: &ServeArgs) -> Vec<Protocol> {
    let spdy = if args.spdy { &[Protocol::Spdy31, Protocol::Spdy3][..] } else { &[] };
    [&[Protocol::Http2], spdy, &[Protocol::Http1]].concat()
}

fn bind(
    address: SocketAddr,
    settings: &SocketSettings,
    shares: &mut [Share],
) -> Result<SocketAddr, CliError> {
    let listeners = Listener::bind_all(address, shares.len(), settings).map_err(misuse)?;
    let local = listeners.first().map_or(address, Listener::local);
    for (share, listener) in shares.iter_mut().zip(listeners) {
        share.listeners.push(listener);
    }
    Ok(local)
}

/// Each thread has a socket of its own; the kernel spreads clients over them (SO_REUSEPORT).
fn bind_datagrams(address: SocketAddr, shares: &mut [Share]) -> Result<SocketAddr, CliError> {
    if shares.len() > MOST_QUIC_THREADS {
        return Err(CliError::misuse(format!("--listen-quic with {} threads", shares.len()))
            .remedy(format!("name at most {MOST_QUIC_THREADS} by --threads")));
    }
    let settings = DatagramSettings::default();
    let sockets = DatagramSocket::bind_all(address, shares.len(), &settings).map_err(misuse)?;
    let local = sockets.first().map_or(address, DatagramSocket::local);
    for (share, socket) in shares.iter_mut().zip(sockets) {
        share.datagrams.push(socket);
    }
    Ok(local)
}

/// A byte of a connection ID names the thread.
const MOST_QUIC_THREADS: usize = 256;

/// What the system refused of what the user named.
fn misuse(error: Os) -> CliError {
    let misuse = CliError::misuse(&error);
    match error.remedy() {
        Some(remedy) => misuse.remedy(remedy),
        None => match error.source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                misuse.remedy("name a folder that is there")
            }
            ErrorKind::PermissionDenied => {
                misuse.remedy("choose a folder that you may read, or change its permissions")
            }
            _ => misuse,
        },
    }
}
