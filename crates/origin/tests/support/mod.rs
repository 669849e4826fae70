//! The origin on real sockets of loopback, and real programs as its peers. A peer that is missing
//! is a skip (`testing::skip`).
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

#[path = "../../../lab/src/files_adapter.rs"]
mod files_adapter;

use endpoint::{DatagramSettings, SocketSettings};
use files_adapter::FilesAdapter;
use origin::{
    AccessLog, AccessRecord, DeliveryPolicy, ExchangeEnd, Limits, ListenerKind, NotPushed,
    OpenedRecord, Origin, OriginConfig, Parts, SkippedPush, UpstreamSettings, WallClock,
};
use os::files::{CacheSettings, Root};
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use os::tcp::{Listener, Sharing};
use os::udp::DatagramSocket;
use secure::{Authority, AuthoritySpec, Resumption, ServerTls, ServerTlsOptions};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use testing::peers::run;
use trace::TlsRecord;
use transport::{Protocol, QuicSettings};

/// A name of its certificate that no name server has.
pub(crate) const FAR: &str = "far.test";

/// Bytes of `big.bin`.
pub(crate) const BIG: usize = 50_000_000;

/// A folder of one test's own, removed with it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        let base = folder.path();
        let root = base.join("www");
        std::fs::create_dir_all(root.join("sub dir")).unwrap();
        std::fs::create_dir_all(root.join("bare")).unwrap();
        std::fs::write(base.join("secret"), "secret").unwrap();
        std::fs::write(root.join("a.txt"), "0123456789").unwrap();
        std::fs::write(root.join("empty.css"), "").unwrap();
        std::fs::write(root.join("index.html"), "<p>root</p>").unwrap();
        std::fs::write(root.join("sub dir/index.html"), "<p>sub</p>").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("out")).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        assert!(Command::new("mkfifo").arg(root.join("fifo")).status().unwrap().success());
        Self(folder)
    }

    /// With a big file too.
    pub(crate) fn with_big_file() -> Self {
        let folder = Self::new();
        std::fs::write(folder.root().join("big.bin"), vec![7; BIG]).unwrap();
        folder
    }

    /// What is served.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("www")
    }

    /// What stands above it.
    pub(crate) fn base(&self) -> &Path {
        self.0.path()
    }
}

/// An access record, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) connection: u64,
    pub(crate) protocol: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: Option<u16>,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) end: ExchangeEnd,
    /// The stream that it was pushed with.
    pub(crate) pushed_with: Option<u64>,
}

struct Lines(Sender<Line>, Sender<TlsRecord>, Sender<(String, NotPushed)>);

impl AccessLog for Lines {
    fn record(&self, record: &AccessRecord<'_>) {
        let _nobody_reads = self.0.send(Line {
            connection: record.connection,
            protocol: record.protocol.name().to_owned(),
            method: record.method.to_owned(),
            path: record.path.to_owned(),
            status: record.status,
            received: record.received_bytes,
            sent: record.sent_bytes,
            end: record.end,
            pushed_with: record.pushed_with,
        });
    }

    fn opened(&self, opened: &OpenedRecord) {
        if let Some(tls) = &opened.tls {
            let _nobody_reads = self.1.send(tls.clone());
        }
    }

    fn not_pushed(&self, skipped: &SkippedPush<'_>) {
        let _nobody_reads = self.2.send((skipped.target.to_owned(), skipped.why));
    }
}

/// A running origin on a clear and a TLS port.
pub(crate) struct Serving {
    pub(crate) clear: SocketAddr,
    pub(crate) tls: SocketAddr,
    pub(crate) quic: SocketAddr,
    pub(crate) stop: Stop,
    pub(crate) log: Receiver<Line>,
    /// What TLS agreed on, of each connection.
    pub(crate) handshakes: Receiver<TlsRecord>,
    /// Pushes that were not made.
    pub(crate) skipped: Receiver<(String, NotPushed)>,
    /// The root of its certificates, as PEM.
    pub(crate) root: Vec<u8>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    pub(crate) fn start(root: &Path) -> Self {
        Self::start_with(root, Limits::default())
    }

    /// A connection to it, on which a read waits for at most 20 s.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.clear).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    pub(crate) fn start_with(root: &Path, limits: Limits) -> Self {
        Self::start_speaking(root, limits, &[Protocol::Http2, Protocol::Http1])
    }

    /// With these protocols, best first. WebSockets over HTTP/2 are offered where SPDY is not.
    pub(crate) fn start_speaking(root: &Path, limits: Limits, protocols: &[Protocol]) -> Self {
        Self::start_resuming(root, limits, protocols, Resumption::On)
    }

    /// The same, with another choice about sessions.
    pub(crate) fn start_resuming(
        root: &Path,
        limits: Limits,
        protocols: &[Protocol],
        resumption: Resumption,
    ) -> Self {
        Self::launch(root, protocols, resumption, |config| config.limits = limits)
    }

    /// With a delivery policy, over SPDY too.
    pub(crate) fn start_delivering(root: &Path, delivery: DeliveryPolicy) -> Self {
        let protocols = [Protocol::Http2, Protocol::Spdy31, Protocol::Http1];
        Self::launch(root, &protocols, Resumption::On, |config| {
            config.delivery = Some(Arc::new(delivery));
        })
    }

    /// Before an application server, with a delivery policy.
    pub(crate) fn start_before(
        upstream: UpstreamSettings,
        root: &Path,
        delivery: DeliveryPolicy,
    ) -> Self {
        let protocols = [Protocol::Http2, Protocol::Spdy31, Protocol::Http1];
        Self::launch(root, &protocols, Resumption::On, |config| {
            config.delivery = Some(Arc::new(delivery));
            config.upstream = Some(upstream);
        })
    }

    fn launch(
        root: &Path,
        protocols: &[Protocol],
        resumption: Resumption,
        configure: impl FnOnce(&mut OriginConfig),
    ) -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let identity = authority.issue(&["localhost", "127.0.0.1", FAR]).unwrap();
        let alpn = protocols.iter().map(|protocol| protocol.alpn().to_owned()).collect();
        let options =
            ServerTlsOptions { alpn, resumption, ..ServerTlsOptions::new(vec![identity]) };
        let tls = ServerTls::new(options).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bind = || Listener::bind_all(any, 1, &SocketSettings::default()).unwrap().remove(0);
        let listeners = [bind(), bind()];
        let [clear, secured] = [listeners[0].local(), listeners[1].local()];
        let wall_clock = WallClock { at: os::clock::now(), unix: os::clock::realtime() };
        let datagrams = DatagramSettings::default();
        let udp = DatagramSocket::bind(any, Sharing::Found, &datagrams).unwrap();
        let quic = udp.local();
        let over_quic = ListenerKind::Quic(tls.clone(), QuicSettings::default());
        let kinds = vec![ListenerKind::Clear, ListenerKind::Tls(tls), over_quic];
        let mut config = OriginConfig {
            protocols: protocols.to_vec(),
            // As in `wirelap serve --spdy`.
            web_socket_over_h2: !protocols.contains(&Protocol::Spdy31),
            ..OriginConfig::new(kinds, wall_clock)
        };
        configure(&mut config);
        let stop = Stop::new().unwrap();
        let (sender, log) = channel();
        let (tell, handshakes) = channel();
        let (skip, skipped) = channel();
        let (thread_stop, folder) = (stop.clone(), root.to_owned());
        let thread = std::thread::spawn(move || {
            let root = Root::open(&folder, CacheSettings::default()).unwrap();
            let settings = ReactorSettings { backend: backend(), ..ReactorSettings::default() };
            let mut reactor = Reactor::new(settings, thread_stop).unwrap();
            for listener in listeners {
                reactor.listen(listener).unwrap();
            }
            reactor.listen_datagrams(udp);
            let parts = Parts {
                files: Some(Box::new(FilesAdapter(root))),
                log: Some(Rc::new(Lines(sender, tell, skip))),
                ..Parts::default()
            };
            reactor.run(&mut Origin::new(config, parts)).unwrap();
        });
        let root = authority.root_pem().text;
        Self {
            clear,
            tls: secured,
            quic,
            stop,
            log,
            handshakes,
            skipped,
            root,
            thread: Some(thread),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.clear)
    }

    pub(crate) fn quic_url(&self, path: &str) -> String {
        format!("https://{}{path}", self.quic)
    }

    pub(crate) fn tls_url(&self, path: &str) -> String {
        format!("https://{}{path}", self.tls)
    }

    /// Waits until the origin has come to its end.
    pub(crate) fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Twice: at once.
            self.stop.stop();
            self.stop.stop();
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the origin's thread panicked");
        }
    }
}

/// What the reactor of this test binary's origin carries by: the binary `io_uring` holds the tests of others once more.
fn backend() -> Backend {
    if env!("CARGO_CRATE_NAME") != "io_uring" {
        return Backend::Epoll;
    }
    let Err(error) = Backend::IoUring.probe() else { return Backend::IoUring };
    testing::skip(format_args!("{error}; epoll serves instead"));
    Backend::Epoll
}

pub(crate) fn run_text(program: &str, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&run(Command::new(program).args(arguments)).stdout).into_owned()
}

/// The path of a peer's script.
pub(crate) fn peer(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name).display().to_string()
}
