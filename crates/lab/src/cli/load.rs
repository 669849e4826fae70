//! The flags of `wirelap load`: those of wrk and h2load where they have them, curl's for requests.

use super::ShardChoice;
use super::get::{field, parse_time};
use super::number::whole;
use super::serve::ReactorName;
use super::written_url::WrittenUrl;
use clap::{Args, ValueEnum, ValueHint};
use client::load::Stage;
use page::Url;
use std::path::PathBuf;
use std::time::Duration;
use study::load::Slo;
use unit::Seed;

/// Make requests as many, or as often, as you say, and tell how long they take.
#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:
  wirelap load -c 64 -d 10s http://127.0.0.1:8080/
  wirelap load -c 10 -m 32 -n 100000 -k https://127.0.0.1:8443/
  wirelap load -c 10 -m 32 -n 100000 -k --http3 https://127.0.0.1:8443/
  wirelap load -c 64 --rate 20000 -d 30s --warm-up 5s http://127.0.0.1:8080/
  wirelap load -c 64 --rate 1000:10s,1000-20000:60s,20000:10s http://127.0.0.1:8080/
  wirelap load -c 64 --slo 'p99<50ms' -d 5s http://127.0.0.1:8080/
  wirelap load -c 64 -X POST --data @order.json -H 'Content-Type: application/json' http://127.0.0.1:8080/orders
  wirelap load -c 64 -m 4 ws://127.0.0.1:8080/ws/echo
  srun -n 4 wirelap load -c 256 --rate 80000 --agent auto --rendezvous node1:7000 http://server:8080/

Without --rate each connection asks again when it has its answer: what a server can do at most. With --rate requests are made by a schedule, whatever the server does, and a request's time counts from when it was due: what users meet.
TLS offers h2 and http/1.1. Times are seconds, or have a unit (500ms, 2min). More in docs/load.md.
Exit codes: 0 done, whatever was answered, 1 an objective holds at no rate, no connection could be opened or not one request was answered, 2 misuse, 3 the machine lacks something, 4 a search is inconclusive under --inconclusive fail, 130 a search was interrupted."
)]
pub(crate) struct LoadArgs {
    /// What to ask for: http, https, ws or wss; several take turns. http:// where no scheme is given, with --http3 https://
    #[arg(value_name = "URL", required_unless_present = "requests_from", value_parser = parse_target, value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<TargetUrl>,
    /// Connections, spread over the servers
    #[arg(short, long, value_name = "N", default_value_t = 10, visible_alias = "clients", value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) connections: u32,
    /// Requests at a time on each HTTP/2, HTTP/3 and SPDY connection, messages at a time on each WebSocket
    #[arg(short = 'm', long, value_name = "N", visible_alias = "max-concurrent-streams", value_parser = whole::<u32>(1..=100_000))]
    pub(crate) streams: Option<u32>,
    /// Threads, a core each
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1..=1024))]
    pub(crate) threads: u32,
    /// How the kernel is asked for bytes
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    pub(crate) reactor: ReactorName,
    /// How long requests are made [default: 10s, where neither -n nor the schedule ends it]
    #[arg(short, long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) duration: Option<Duration>,
    /// How many requests are made
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub(crate) requests: Option<u64>,
    /// Requests a second, as a schedule: RATE, steps as RATE:TIME,RATE:TIME, pauses as 0:TIME and ramps as FROM-TO:TIME
    #[arg(short = 'R', long, value_name = "RATES", value_delimiter = ',')]
    pub(crate) rate: Vec<Stage>,
    /// Space the requests of a schedule as independent users come, instead of evenly
    #[arg(long)]
    pub(crate) poisson: bool,
    /// The highest rate that holds this is searched for: p99<50ms, or several as p99<50ms,max<1s,errors<1%; each probe
    /// lasts as long as -d says, the search at most 48 probes
    #[arg(long, value_name = "OBJECTIVE", conflicts_with = "requests")]
    pub(crate) slo: Option<Slo>,
    /// What a search without a limit, undecided or client-bound, does to the exit code: nothing, or 4
    #[arg(long, value_enum, value_name = "OUTCOME", default_value_t, requires = "slo")]
    pub(crate) inconclusive: Inconclusive,
    /// How long requests are made before anything counts
    #[arg(long, value_name = "TIME", visible_alias = "warm-up-time", value_parser = parse_time)]
    pub(crate) warm_up: Option<Duration>,
    /// When a request is given up
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// The longest that a connection may take, TLS included
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    pub(crate) connect_timeout: Duration,
    /// A field of the requests, as `Name: value` (repeatable)
    #[arg(short = 'H', long, value_name = "FIELD", value_parser = parse_field)]
    pub(crate) header: Vec<(String, String)>,
    /// The method [default: GET, or POST with --data]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(crate) request: Option<String>,
    /// The body of the requests, or the text of a WebSocket's messages; @FILE for a file's bytes
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) data: Option<String>,
    /// Requests of more kinds, with methods, headers, bodies and weights of their own: a TOML file (docs/load.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) requests_from: Option<PathBuf>,
    /// A connection for each request
    #[arg(long)]
    pub(crate) close: bool,
    /// Resume TLS sessions: connections after the first ones save the certificates [default: every handshake is a full one]
    #[arg(long)]
    pub(crate) resume: bool,
    /// As --resume, and the first requests of a connection go within its handshake (0-RTT); for GET and HEAD without a body
    #[arg(long, visible_alias = "tls-earlydata")]
    pub(crate) early_data: bool,
    /// HTTP/1.1 alone
    #[arg(long = "http1.1", visible_alias = "h1", conflicts_with_all = ["http2", "http2_prior_knowledge", "http3", "spdy"])]
    pub(crate) http1_1: bool,
    /// HTTP/2 alone over TLS, HTTP/1.1 in the clear
    #[arg(long, conflicts_with_all = ["http2_prior_knowledge", "http3", "spdy"])]
    pub(crate) http2: bool,
    /// HTTP/2 alone, in the clear too
    #[arg(long, conflicts_with_all = ["http3", "spdy"])]
    pub(crate) http2_prior_knowledge: bool,
    /// HTTP/3 alone, over QUIC
    #[arg(long, visible_alias = "h3", conflicts_with = "spdy")]
    pub(crate) http3: bool,
    /// SPDY/3.1 alone, in the clear too
    #[arg(long)]
    pub(crate) spdy: bool,
    /// The authorities believed, in PEM [default: the system's, or SSL_CERT_FILE's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Option<PathBuf>,
    /// Believe any certificate
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "N", value_parser = super::parse_seed, default_value = "1")]
    pub(crate) seed: Seed,
    /// One of several processes that share this load, on as many machines: agent I of N; `auto` where an array tells it, or
    /// `srun` of Slurm. -c, -n and --rate are of all agents together; they begin together and end with one exit code
    #[arg(long, value_name = "I/N|auto", value_parser = super::shards::parse_agent, requires = "rendezvous")]
    pub(crate) agent: Option<ShardChoice>,
    /// Where agents meet: the first one listens on this port, and the others connect to it
    #[arg(long, value_name = "HOST:PORT", requires = "agent")]
    pub(crate) rendezvous: Option<String>,
    /// Write the times as an HDR histogram log, which other tools merge and draw
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hdr: Option<PathBuf>,
    /// Write a page with the rates, percentiles and the course as pictures, this client's lateness shaded
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Write counts and the histogram of times in Prometheus's text format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) prometheus: Option<PathBuf>,
    /// Print the result as JSON (docs/schema/load.schema.json)
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print the course over time as CSV, a line a second; with --slo the probes, a line each
    #[arg(long)]
    pub(crate) csv: bool,
    /// Taken for wrk's sake: percentiles are always printed
    #[arg(long, hide = true)]
    pub(crate) latency: bool,
}

/// What an inconclusive search or gate does to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Inconclusive {
    /// The code is 0
    #[default]
    Pass,
    /// The code is 4
    Fail,
}

/// A URL, and what is done there.
#[derive(Debug, Clone)]
pub(crate) struct TargetUrl {
    /// With the http scheme in place of a WebSocket's own.
    url: WrittenUrl,
    pub(crate) is_web_socket: bool,
}

impl LoadArgs {
    /// Where `target` is, as the flags have it.
    pub(crate) fn url<'a>(&self, target: &'a TargetUrl) -> &'a Url {
        if self.http3 { target.url.over_http3() } else { target.url.plain() }
    }
}

/// RFC 6455 §3: ws and wss are http and https with another word.
pub(crate) fn parse_target(text: &str) -> Result<TargetUrl, String> {
    for (own, http) in [("ws://", "http://"), ("wss://", "https://")] {
        if let Some(rest) = text.strip_prefix(own) {
            return Ok(TargetUrl {
                url: WrittenUrl::parse(&format!("{http}{rest}"))?,
                is_web_socket: true,
            });
        }
    }
    Ok(TargetUrl { url: WrittenUrl::parse(text)?, is_web_socket: false })
}

fn parse_field(text: &str) -> Result<(String, String), String> {
    field(text, &["host", "content-length", "transfer-encoding", "connection"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_socket_is_a_url_with_another_scheme() {
        let told = |text| parse_target(text).map(|t| (t.url.plain().to_string(), t.is_web_socket));
        assert_eq!(told("wss://h:1/a"), Ok(("https://h:1/a".to_owned(), true)));
        assert_eq!(told("h/a"), Ok(("http://h/a".to_owned(), false)));
        assert!(told("ftp://h/").is_err());
    }
}
