//! Flags of `wirelap serve`.

use super::get::parse_time;
use super::number::whole;
use super::parse_name;
use clap::{Args, ValueEnum, ValueHint};
use origin::Limits;
use os::reactor::Backend;
use proto::schedule::Policy;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use transport::CongestionController;
use unit::ByteSize;

/// Serve a folder, and synthetic pages, over HTTP/1.1 and HTTP/2, clear and TLS, and HTTP/3.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap serve ./site --listen 127.0.0.1:8080
  wirelap serve ./site --listen 127.0.0.1:8080 --listen-tls 127.0.0.1:8443
  wirelap serve ./site --listen-tls '[::]:443' --cert chain.pem --key key.pem
  wirelap serve ./site --listen-tls 127.0.0.1:8443 --name shop.test --ca-out ca.pem
  curl -k --http2 'https://127.0.0.1:8443/page?images=100&bytes=5000'
  curl 'http://127.0.0.1:8080/index.html?delay_ms=200'
  wirelap serve ./site --listen-tls 127.0.0.1:8443 --listen-quic 127.0.0.1:8443
  wirelap serve ./site --listen-tls 127.0.0.1:8443 --spdy

Also there: /page?images=N&bytes=N, /api?bytes=N, /echo and /discard (POST), /ws/echo and /ws/double (WebSocket).
/stream?count=N&bytes=N&every_ms=N&delay_ms=N sends server-sent events, each when it is due (&format=text: plain lines); /poll takes the same by long polling, and /ws/stream as a text message.
A WebSocket message may have up to 16 MiB. Up to 16 MiB of an /echo wait for a client that writes all before it reads; a client that leaves more unread is reset after 10 s.
The clear port speaks HTTP/1.1 and HTTP/2 with prior knowledge; the TLS port offers h2 and http/1.1.
Ctrl-C finishes what is under way and stops; a second one stops at once.")]
pub(crate) struct ServeArgs {
    /// The folder; nothing outside it is ever served
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Clear address and port (repeatable)
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub(crate) listen: Vec<SocketAddr>,
    /// TLS address and port (repeatable)
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// UDP address and port for HTTP/3 over QUIC, with the certificate of --listen-tls; the other answers offer it (Alt-Svc)
    #[arg(long, value_name = "ADDR:PORT", requires = "listen_tls", value_parser = parse_listen)]
    pub(crate) listen_quic: Option<SocketAddr>,
    /// Write a qlog file for each connection over QUIC into DIR [default: the variable QLOGDIR]
    #[arg(long, value_name = "DIR", requires = "listen_quic", value_hint = ValueHint::DirPath)]
    pub(crate) qlog: Option<PathBuf>,
    /// Have clients over QUIC prove their address by a Retry first: a round trip more, and no state for addresses that are not theirs
    #[arg(long, requires = "listen_quic")]
    pub(crate) quic_retry: bool,
    /// Congestion control of connections over QUIC
    #[arg(long, requires = "listen_quic", value_enum, value_name = "NAME", default_value_t)]
    pub(crate) quic_congestion: QuicCongestion,
    /// Take requests within TLS's and QUIC's handshakes (0-RTT) from clients that were here before. Tickets are then kept in
    /// memory, so that none serves twice
    #[arg(long, requires = "listen_tls")]
    pub(crate) early_data: bool,
    /// Certificate chain in PEM, leaf first [default: one made for this run]
    #[arg(long, value_name = "FILE", requires_all = ["key", "listen_tls"], value_hint = ValueHint::FilePath)]
    pub(crate) cert: Option<PathBuf>,
    /// Private key in PEM
    #[arg(long, value_name = "FILE", requires_all = ["cert", "listen_tls"], value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Where to write the root certificate of the self-made chain, for `curl --cacert`
    #[arg(long, value_name = "FILE", conflicts_with = "cert", requires = "listen_tls", value_hint = ValueHint::FilePath)]
    pub(crate) ca_out: Option<PathBuf>,
    /// A name that the self-made certificate holds beside localhost, far, near and the addresses listened on (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "cert", requires = "listen_tls", value_parser = parse_name)]
    pub(crate) name: Vec<String>,
    /// Offer SPDY too: by ALPN `spdy/3.1` and `spdy/3` over TLS, 3.1 by prior knowledge in the clear
    #[arg(long)]
    pub(crate) spdy: bool,
    /// Do not offer WebSockets over HTTP/2 (RFC 8441), for clients that break on the setting: OkHttp 2.3 to 3.0.1.
    /// --spdy leaves the offer out too
    #[arg(long)]
    pub(crate) no_websocket_over_h2: bool,
    /// Who sends next where responses share a connection: auto, rfc9218, rfc7540, spdy, fifo, round-robin or server-driven
    /// (CSS, fonts and the scripts that block first, whatever the client asks)
    /// [default: the policy file's, else auto]
    #[arg(long, value_name = "NAME")]
    pub(crate) priorities: Option<Policy>,
    /// What is pushed, hinted (103) and linked, and in which order: a policy by its name (`wirelap list`) or a TOML file
    /// (docs/delivery.md). --priorities overrides its key of that name
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// The application server that answers what is no file in DIR, over HTTP/1.1: http://127.0.0.1:3000. Its 103 and its Link
    /// fields are passed on, and push by a policy; `serve` then has no targets of its own but /timer (docs/delivery.md)
    #[arg(long, value_name = "URL", value_parser = parse_upstream)]
    pub(crate) upstream: Option<SocketAddr>,
    /// Write what each response asked for and what it got, a line of JSON each; a file that is there is added to
    /// (docs/delivery.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) delivery_log: Option<PathBuf>,
    /// Threads, each pinned to a core of its own [default: one a core]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// How the kernel is asked for bytes [default: io-uring where the kernel has it, else epoll]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) reactor: Option<ReactorName>,
    /// Congestion control of all connections over TCP, by the kernel's name [default: the host's, and reno on addresses of loopback]
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Print a line for each request
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
}

/// A reactor's backend, by name.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ReactorName {
    /// Tells who is ready; each read and each write is a call
    #[default]
    Epoll,
    /// Receives by itself, and takes all that a turn sends in one call (Linux 6.1)
    IoUring,
}

impl From<ReactorName> for Backend {
    fn from(name: ReactorName) -> Self {
        match name {
            ReactorName::Epoll => Self::Epoll,
            ReactorName::IoUring => Self::IoUring,
        }
    }
}

/// The origin's limits, which a test holds against its own defaults.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Patience")]
pub(crate) struct PatienceArgs {
    /// For a TLS handshake
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    handshake_timeout: Duration,
    /// For the head of a request, from its first byte to its last
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    head_timeout: Duration,
    /// For a connection on which nothing is asked
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "75s")]
    idle_timeout: Duration,
    /// For a request under way of which no byte goes either way
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "120s")]
    stall_timeout: Duration,
    /// Memory for all peers together: bodies that wait to be sent, echoes, WebSocket messages. Above it the connections
    /// that hold most are reset. One connection may hold three eighths of a thread's share, one address three quarters
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "256MiB")]
    max_memory: ByteSize,
}

/// With less no connection can hold what waits in one socket.
const LEAST_MEMORY: ByteSize = ByteSize(16 << 20);

fn parse_memory(text: &str) -> Result<ByteSize, String> {
    let size = text.parse::<ByteSize>().map_err(|error| error.to_string())?;
    if size < LEAST_MEMORY {
        return Err(format!("the peers need {LEAST_MEMORY} at least, together"));
    }
    Ok(size)
}

/// What the end of a connection in good order may take.
const QUIC_MARGIN: Duration = Duration::from_secs(10);

impl PatienceArgs {
    /// How long QUIC keeps a connection on which no packet comes (max_idle_timeout, RFC 9000 §10.1): longer than the limits of
    /// HTTP/3, which end it in good order.
    pub(crate) fn quic_idle_timeout(&self) -> Duration {
        self.idle_timeout.max(self.stall_timeout).saturating_add(QUIC_MARGIN)
    }

    /// The limits of each of so many threads.
    pub(crate) fn limits(self, threads: usize) -> Limits {
        let all = usize::try_from(self.max_memory.0).unwrap_or(usize::MAX);
        let held = all / threads.max(1);
        Limits {
            held,
            held_by_peer: held / 4 * 3,
            held_by_connection: held / 8 * 3,
            handshake: self.handshake_timeout,
            head: self.head_timeout,
            idle: self.idle_timeout,
            stall: self.stall_timeout,
            ..Limits::default()
        }
    }
}

/// A congestion controller of QUIC, by name.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum QuicCongestion {
    /// CUBIC with HyStart++
    #[default]
    Cubic,
    /// NewReno with HyStart++
    Reno,
    /// BBR, version 1, of the library quinn-proto
    Bbr,
}

impl From<QuicCongestion> for CongestionController {
    fn from(name: QuicCongestion) -> Self {
        match name {
            QuicCongestion::Cubic => Self::Cubic,
            QuicCongestion::Reno => Self::NewReno,
            QuicCongestion::Bbr => Self::Bbr,
        }
    }
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "an address and a port are expected, such as 127.0.0.1:8080, [::1]:8443 or 0.0.0.0:0"
            .to_owned()
    })
}

/// The address of an application server, as a URL or alone.
fn parse_upstream(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("http://").unwrap_or(text);
    let address = address.strip_suffix('/').unwrap_or(address);
    // Another name may mean many addresses, or none at times: an address is one.
    let address = match address.strip_prefix("localhost") {
        Some(port) => format!("127.0.0.1{port}"),
        None => address.to_owned(),
    };
    let address = if address.ends_with(']') || !address.contains(':') {
        format!("{address}:80")
    } else {
        address
    };
    address.parse().map_err(|_| {
        "an address without TLS and without a path is expected, such as http://127.0.0.1:3000"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        patience: PatienceArgs,
    }

    #[test]
    fn without_flags_the_origins_own_limits_hold() {
        let line = Line::try_parse_from(["serve"]).unwrap();
        assert_eq!(line.patience.limits(2), Limits::default());
    }

    #[test]
    fn quic_keeps_a_connection_for_longer_than_either_patience_of_http3() {
        for (flags, seconds) in [(&[][..], 130), (&["--idle-timeout", "10min"], 610)] {
            let line = Line::try_parse_from([&["serve"], flags].concat()).unwrap();
            assert_eq!(line.patience.quic_idle_timeout(), Duration::from_secs(seconds));
        }
    }

    #[test]
    fn threads_share_max_memory_and_an_address_and_a_connection_have_their_parts_of_a_share() {
        const MIB: usize = 1024 * 1024;
        assert!(Line::try_parse_from(["serve", "--max-memory", "1"]).is_err());
        let line = Line::try_parse_from(["serve", "--max-memory", "64MiB"]).unwrap();
        let limits = line.patience.limits(4);
        assert_eq!(limits.held, 16 * MIB);
        assert_eq!(limits.held_by_peer, 12 * MIB);
        assert_eq!(limits.held_by_connection, 6 * MIB);
        let usual = Limits { held: 0, held_by_peer: 0, held_by_connection: 0, ..limits };
        let defaults = Limits::default();
        let defaults = Limits { held: 0, held_by_peer: 0, held_by_connection: 0, ..defaults };
        assert_eq!(usual, defaults, "it changes nothing else");
    }
}
