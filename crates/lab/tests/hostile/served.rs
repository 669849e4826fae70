//! `wirelap serve` as a child process, an honest peer of it, and what has to hold after an attack.

use crate::bench::{Bench, Running, wirelap};
use crate::process::{Process, eventually};
use secure::{ClientTls, ClientTlsOptions, Layer, Tls, Trust};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Bytes of `big.bin`.
pub(crate) const BIG: usize = 20_000_000;

/// Times that a test need not wait for long, and that an honest peer on a busy machine keeps.
pub(crate) const SHORT: &str =
    "--handshake-timeout 2s --head-timeout 2s --idle-timeout 2s --stall-timeout 2s";

/// How often an honest peer tries, which may itself have been away for that long.
const TRIES: usize = 5;

/// A server of one thread, with `a.txt`, `b.txt` and `c.txt` (10 bytes each) and `big.bin`.
pub(crate) struct Served {
    running: Running,
    pub(crate) process: Process,
    pub(crate) clear: SocketAddr,
    pub(crate) tls: SocketAddr,
    /// Lines of its standard output after those two addresses.
    lines: Receiver<String>,
    /// Its descriptors and bytes of memory when it has served, and nobody is there.
    descriptors: usize,
    memory: u64,
}

impl Served {
    /// With further flags.
    pub(crate) fn start(bench: &Bench, flags: &str) -> Self {
        Self::start_after(bench, "", flags)
    }

    /// After a shell's words, such as a limit.
    pub(crate) fn start_after(bench: &Bench, words: &str, flags: &str) -> Self {
        bench.write("a.txt", "0123456789");
        bench.write("b.txt", "9876543210");
        bench.write("c.txt", "never open");
        bench.write("big.bin", vec![7; BIG]);
        let line = format!(
            "{words} exec \"$W\" serve . --threads 1 --spdy --listen 127.0.0.1:0 --listen-tls 127.0.0.1:0 {flags}"
        );
        let mut command = bench.command("sh");
        command.args(["-c", &line]).env("W", wirelap());
        let mut running = bench.start(command);
        let lines = lines(running.child.stdout.take().unwrap());
        let (clear, tls) = (address(&lines.recv().unwrap()), address(&lines.recv().unwrap()));
        let process = Process(running.pid());
        let mut served = Self { running, process, clear, tls, lines, descriptors: 0, memory: 0 };
        assert_eq!(served.get("/big.bin"), (200, BIG));
        // Small files stay open from now on.
        assert_eq!((served.get("/a.txt"), served.get("/b.txt")), ((200, 10), (200, 10)));
        let listeners = LISTENERS + usize::from(flags.contains("--listen-quic"));
        let alone = || served.process.sockets() == listeners;
        eventually("the honest peers' connections are closed", alone);
        (served.descriptors, served.memory) =
            (served.process.descriptors(), served.process.memory());
        served
    }

    /// Where it listens for HTTP/3, with `--listen-quic`.
    pub(crate) fn await_quic(&mut self) -> SocketAddr {
        address(&self.await_line("(HTTP/3)"))
    }

    /// Waits until its standard output has a line with these words. With `--verbose` each exchange has a line.
    pub(crate) fn await_line(&mut self, words: &str) -> String {
        let mut lines =
            std::iter::from_fn(|| self.lines.recv_timeout(Duration::from_secs(60)).ok());
        lines.find(|line| line.contains(words)).expect("a line with these words")
    }

    /// A connection to the clear port.
    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.clear)
    }

    /// A connection to the TLS port, secured, for HTTP/1.1.
    pub(crate) fn connect_securely(&self) -> Secured {
        let mut secured = Secured::greeting(connect(self.tls));
        while secured.layer.is_handshaking() {
            assert!(secured.receive() > 0, "the server ended the handshake");
            secured.send(b"");
        }
        secured
    }

    /// An honest peer's request on a connection of its own: the status, and bytes of the body.
    pub(crate) fn get(&self, path: &str) -> (u16, usize) {
        (0..TRIES).find_map(|_| self.try_to_get(path)).expect("honest peers are served")
    }

    /// None where the server has closed the connection before it was asked.
    fn try_to_get(&self, path: &str) -> Option<(u16, usize)> {
        let mut stream = self.connect();
        let asked = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).ok()?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all).ok()?;
        let head = all.windows(4).position(|window| window == b"\r\n\r\n")?;
        let status = std::str::from_utf8(&all[9..12]).unwrap();
        Some((status.parse().unwrap(), all.len() - head - 4))
    }

    /// Bytes of memory more than before anybody came.
    pub(crate) fn grown(&self) -> u64 {
        self.process.memory().saturating_sub(self.memory)
    }

    /// Whoever attacked is got rid of, although nobody on that side may have gone.
    pub(crate) fn await_release(&self) {
        eventually("the attackers' descriptors are free again", || {
            self.process.descriptors() <= self.descriptors
        });
    }

    /// After an attack: all is free again, `bound` bytes of memory at most stay, nobody spins, and it serves.
    pub(crate) fn recovers(&self, bound: u64) {
        self.await_release();
        let grown = self.grown();
        assert!(grown < bound, "{grown} bytes more than before");
        self.process.rests(|| std::thread::sleep(Duration::from_millis(500)));
        assert_eq!(self.get("/a.txt"), (200, 10));
    }

    /// It ends in good order, and never had anything to complain of.
    pub(crate) fn end(self) {
        self.running.signal("INT");
        self.has_ended();
    }

    /// Tells it to stop.
    pub(crate) fn terminate(&self) {
        self.running.signal("TERM");
    }

    /// Has it stand still, and go on.
    pub(crate) fn stands_still(&self, during: impl FnOnce()) {
        self.running.signal("STOP");
        during();
        self.running.signal("CONT");
    }

    /// Waits until it ends, in good order and with nothing to complain of. Where the limit of open files is low it says so.
    pub(crate) fn has_ended(self) {
        let ran = self.running.end();
        let complaint = ran.err.lines().find(|line| !line.starts_with("this process may open "));
        assert_eq!((ran.code, complaint), (0, None), "{ran:?}");
    }
}

/// The lines of a stream, which are read as they come.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        // Whoever does not want them any more lets them go by.
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

/// The address in the line of a listener.
fn address(line: &str) -> SocketAddr {
    let after = line.rsplit_once("//").unwrap().1;
    after.split_once('/').unwrap().0.parse().unwrap()
}

/// Sockets of a server over TCP that nobody is connected to.
const LISTENERS: usize = 2;

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// A connection with TLS on it.
pub(crate) struct Secured {
    layer: Layer,
    pub(crate) stream: TcpStream,
}

impl Secured {
    /// With the greeting under way.
    pub(crate) fn greeting(stream: TcpStream) -> Self {
        let alpn = vec!["http/1.1".to_owned()];
        let options = ClientTlsOptions { trust: Trust::Anyone, alpn, ..Default::default() };
        let tls = Tls::client(&ClientTls::new(options).unwrap(), "localhost").unwrap();
        let mut secured = Self { layer: Layer::secured(tls), stream };
        secured.send(b"");
        secured
    }

    pub(crate) fn send(&mut self, plain: &[u8]) {
        let bytes = self.seal(plain);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The bytes that say it.
    fn seal(&mut self, mut plain: &[u8]) -> Vec<u8> {
        let mut out = endpoint::SendBuf::new();
        self.layer.poll_transmit(&mut out, 1 << 20, |into, _| {
            if !plain.is_empty() {
                into.put(std::mem::take(&mut plain));
            }
        });
        out.to_vec()
    }

    /// Reads once; bytes that came.
    pub(crate) fn receive(&mut self) -> usize {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).unwrap();
        let mut bytes = &buffer[..count];
        while self.layer.handle_bytes(&mut bytes).unwrap().is_some() {}
        count
    }
}

/// The bytes of a TLS client's greeting.
pub(crate) fn client_hello() -> Vec<u8> {
    let (near, mut far) = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    };
    drop(Secured::greeting(near));
    let mut bytes = Vec::new();
    far.read_to_end(&mut bytes).unwrap();
    bytes
}
