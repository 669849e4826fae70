//! The command line: every command and flag has its one home here, with its help.

mod bisect;
mod gates;
mod get;
mod link;
mod load;
mod record;
mod serve;
mod shards;
mod suggest;

pub(crate) use bisect::BisectArgs;
pub(crate) use gates::GateArgs;
pub(crate) use get::{Address, GetArgs, ProxyChoice, parse_proxy};
pub(crate) use link::{Expose, FarPort, Forward, Host, LinkArgs, Service};
pub(crate) use load::{Inconclusive, LoadArgs, TargetUrl, parse_target};
pub(crate) use record::{RecordArgs, Resolve};
use serve::{PatienceArgs, QuicCongestion};
pub(crate) use shards::{KubernetesArgs, MergeArgs, ShardChoice, SlurmArgs};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use os::reactor::Backend;
use proto::schedule::Policy;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use study::experiment::MOST_TRIALS;
use unit::Seed;

/// A web transport laboratory: which way of moving your bytes over the web is fastest, by how much, and why.
#[derive(Debug, Parser)]
#[command(
    name = "wirelap",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:
  wirelap race quick                    the built-in race: one page, three transports, three links
  wirelap race my.har --links 4g,3g     your own page, as your browser exported it
  wirelap record https://shop.example/ -o shop/    a page with all its responses, for wirelap race shop/
  wirelap serve ./site --listen 127.0.0.1:8080 --listen-tls 127.0.0.1:8443
  wirelap link 3g --far 'iperf3 -s -1' -- sh -c 'iperf3 -c far'
  wirelap get -O https://example.org/disk.iso    a download that resumes and never leaves half a file
  wirelap load -c 64 -d 10s http://127.0.0.1:8080/    requests as many, or as often (--rate), as you say
  wirelap doctor                        what this machine lacks, and the command that mends it

Environment: NO_COLOR leaves colours out; SSLKEYLOGFILE takes TLS secrets, for Wireshark.
Exit codes: 0 done, 1 a gate failed or a race answers nothing, 2 misuse, 3 the machine lacks something, 4 a gate is inconclusive under --inconclusive fail, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Race(RaceArgs),
    Record(RecordArgs),
    Get(Box<GetArgs>),
    Load(Box<LoadArgs>),
    Serve(ServeArgs),
    Link(LinkArgs),
    List(ListArgs),
    Doctor(DoctorArgs),
    Report(ReportArgs),
    Timer(TimerArgs),
    Compare(CompareArgs),
    Merge(MergeArgs),
    Slurm(Box<SlurmArgs>),
    K8s(Box<KubernetesArgs>),
    Bisect(Box<BisectArgs>),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// One trial, as JSON on standard input; its row, as JSON on standard output.
    #[command(hide = true)]
    Trial,
    /// The client's side of a trial.
    #[command(hide = true)]
    Near,
    /// The server's side of a trial.
    #[command(hide = true)]
    Far,
    /// A command-line client behind the subject contract.
    #[command(hide = true)]
    Subject(SubjectArgs),
    /// What relays connections for `link --expose` and `--forward`.
    #[command(hide = true)]
    Relay,
    /// One measurement of a calibration.
    #[command(hide = true)]
    Gauge,
    /// One end of a calibration's measurement.
    #[command(hide = true)]
    Probe,
}

/// Do a job by a command-line client: the adapter that a trial starts.
#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    /// The client
    #[arg(value_name = "TOOL", value_parser = clap::builder::PossibleValuesParser::new(subject::tools::names()))]
    pub(crate) tool: String,
    /// The program, of a client that comes as several programs: a browser
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
}

/// Run an experiment: the same work by every contender over every link, and a verdict.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  wirelap race quick
  wirelap race quick --links 3g,'rtt=60ms,down=10mbit,up=2mbit,loss=0.5%' --trials 20
  wirelap race published --fast         what others measured, again: their findings, confirmed or not
  wirelap race https://127.0.0.1:3443/api/items --contenders h1,h2 --links 4g -k   an API that runs here
  wirelap race my.har                   a page load that any browser's developer tools saved as HAR
  wirelap race shop/                    a page that wirelap record has recorded
  wirelap race experiment.toml --out results --seed 7
  wirelap race aa                       how often is a difference found where there is none, here and now?
  wirelap race mine.toml --gate 'new/old load_ms<1.05' --junit gates.xml    two builds in one run, for CI
  wirelap race mine.toml --gate 'load_ms<1.05' --until-decided 10m    as many trials as decide it
  wirelap race --resume wirelap-mine-1 --add 20     more trials for a finished run, to explore
  wirelap race quick --capture=page/3g/     keep what went over the wire, for Wireshark
  wirelap race --resume wirelap-quick-1     go on where an interrupted run stopped
  wirelap race --again wirelap-quick-1      the same once more, from all that the folder holds
  wirelap race quick --shard 2/8            one of eight parts, on a machine of its own; wirelap merge judges them

Writes result.json, report.html and rows.sqlite to the output folder.
Exit codes: 0 done, 1 a gate failed or a race answers nothing, 2 misuse, 3 the machine lacks something, 4 a gate is inconclusive under --inconclusive fail, 130 interrupted.
What a link can be given: wirelap link --help.")]
pub(crate) struct RaceArgs {
    /// Built-in experiments (see `wirelap list`), experiment files (.toml), page loads (.har), recorded sites (folders), or URLs of a service that runs
    /// on this machine
    #[arg(value_name = "NAME|FILE|URL", required_unless_present_any = ["resume", "again"], value_hint = ValueHint::FilePath, value_parser = suggest::experiments(), hide_possible_values = true)]
    pub(crate) experiments: Vec<String>,
    /// Folder for the results, made new [default: wirelap-NAME-N]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random choice: order of trials, loss, jitter, bootstrap [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_negative_numbers = true, help_heading = "Trials and verdicts")]
    pub(crate) seed: Option<Seed>,
    /// Measured trials a cell [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_TRIALS)), allow_negative_numbers = true, help_heading = "Trials and verdicts")]
    pub(crate) trials: Option<u32>,
    /// Links, by name or as KEY=VALUE,… ; separate several by commas, or repeat the flag
    #[arg(long, value_name = "LINKS", help_heading = "What races", value_parser = suggest::links(), hide_possible_values = true)]
    pub(crate) links: Vec<String>,
    /// Contenders that race: the experiment's, or any that `wirelap list` names
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "What races", value_parser = suggest::contenders(), hide_possible_values = true)]
    pub(crate) contenders: Vec<String>,
    /// Whose client does the work of every contender that has none of its own, by the name that `wirelap list` gives it: a
    /// browser loads the pages of any experiment
    #[arg(long, value_name = "NAME", help_heading = "What races")]
    pub(crate) client: Option<String>,
    /// Run every experiment twice, by wirelap's own client and by this browser, and tell how far the page model is from the
    /// browser: the error of each time, the order of contenders, and in which phase it misses
    #[arg(long, value_name = "NAME", conflicts_with = "client", help_heading = "What races")]
    pub(crate) with_browser: Option<String>,
    /// The contender that the others are set against
    #[arg(long, value_name = "NAME", help_heading = "What races")]
    pub(crate) baseline: Option<String>,
    /// Folder of further subjects, NAME.toml each, beside the built-in ones and those in `subjects/` beside the experiment (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "What races")]
    pub(crate) subjects: Vec<PathBuf>,
    /// With a URL: requests of several kinds, with methods, headers, bodies, weights and expected statuses: a TOML file in
    /// the format of `load --requests-from` (docs/load.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "A service of your own (with a URL)")]
    pub(crate) requests_from: Option<PathBuf>,
    /// Requests of a trial: with a URL [default: 20]; of an experiment with calls or messages, so many in each [default: the
    /// experiment's]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Trials and verdicts")]
    pub(crate) requests: Option<u32>,
    /// With a URL: what the service is called, in Host and in its certificate [default: the URL's host and port]
    #[arg(long, value_name = "NAME", help_heading = "A service of your own (with a URL)")]
    pub(crate) server_name: Option<String>,
    /// With a URL: the authorities believed, in PEM [default: the system's, or SSL_CERT_FILE's]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", value_hint = ValueHint::FilePath, help_heading = "A service of your own (with a URL)")]
    pub(crate) cacert: Option<PathBuf>,
    /// With a URL: the TLS version of its contenders, 1.2 or 1.3, exactly [default: 1.3]
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"], help_heading = "A service of your own (with a URL)")]
    pub(crate) tls_max: Option<String>,
    /// With a URL: believe any certificate
    #[arg(short = 'k', long, help_heading = "A service of your own (with a URL)")]
    pub(crate) insecure: bool,
    /// What counts as a tie, as a percentage or a fraction [default: the experiment's, else 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse_margin, allow_negative_numbers = true, help_heading = "Trials and verdicts")]
    pub(crate) margin: Option<f64>,
    /// Smaller workloads and fewer trials, to see within minutes that all works
    #[arg(long, help_heading = "What races")]
    pub(crate) fast: bool,
    /// Look a few times before the end, and stop a workload on a link once all of its pairs are decided; --trials
    /// is then the most that run. False verdicts stay as rare
    #[arg(long, help_heading = "Trials and verdicts")]
    pub(crate) sequential: bool,
    /// As many trials as decide every gate, or without gates every pair, and at most so long: 10m, 90s. The first blocks warm
    /// up and show how many trials fit; the looks and the error that each may spend are fixed then
    #[arg(long, value_name = "TIME", value_parser = parse_limit, conflicts_with_all = ["trials", "sequential"], help_heading = "Trials and verdicts")]
    pub(crate) until_decided: Option<Duration>,
    /// Print the plan and how long it will take, with -v every trial, and run nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Do not wait for a busy machine: say who takes its processors, and race all the same
    #[arg(long, help_heading = "Trials and verdicts")]
    pub(crate) no_wait: bool,
    /// Go on with the interrupted run in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiments", "out", "seed", "trials", "links", "contenders", "client", "with_browser", "baseline", "margin", "fast", "sequential", "until_decided", "gate", "gate_error", "subjects", "requests_from", "requests", "server_name", "cacert", "tls_max", "insecure"], value_hint = ValueHint::DirPath, help_heading = "Runs that exist")]
    pub(crate) resume: Option<PathBuf>,
    /// Add so many trials to each cell of the run that --resume names. What comes of them is labelled exploratory: the
    /// confidence of the intervals no longer holds, and the gates are judged without them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_TRIALS)), help_heading = "Runs that exist")]
    pub(crate) add: Option<u32>,
    /// Run the experiment of this folder once more, into a new one: same settings, seeds and files
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiments", "resume", "seed", "trials", "links", "contenders", "client", "with_browser", "baseline", "margin", "fast", "sequential", "until_decided", "requests_from", "requests", "server_name", "cacert", "tls_max", "insecure"], value_hint = ValueHint::DirPath, help_heading = "Runs that exist")]
    pub(crate) again: Option<PathBuf>,
    /// Run a part of the trials, by whole blocks: shard I of N, on a machine of its own; `auto` where a job array of Slurm
    /// tells it, auto/N where an Indexed Job of Kubernetes does. --out names the folder that all shards share; a shard that
    /// is there goes on. `wirelap merge` judges (docs/many-machines.md)
    #[arg(long, value_name = "I/N|auto", value_parser = shards::parse_shard, conflicts_with_all = ["resume", "sequential", "until_decided", "with_browser", "json", "csv", "bmf", "junit", "markdown"], help_heading = "Many machines")]
    pub(crate) shard: Option<ShardChoice>,
    /// Run every trial alone, even those that need little CPU
    #[arg(long, help_heading = "Trials and verdicts")]
    pub(crate) serial: bool,
    /// Keep the packets of every trial, or of those whose key begins with KEY (see --dry-run -v), in the output folder's
    /// captures/ as pcapng with the TLS secrets inside: Wireshark opens and decrypts them
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = "Records of trials")]
    pub(crate) capture: Option<String>,
    /// Write what our client and origin do on each connection over QUIC as qlog, for every trial or for those whose key begins
    /// with KEY, into the output folder's qlogs/
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = "Records of trials")]
    pub(crate) qlog: Option<String>,
    /// Have browsers film every trial: the report shows the frames of the median trials above their waterfall, and the output
    /// folder's films/ keeps them all. It costs the browser half a second of CPU or more in each trial
    #[arg(long, help_heading = "Records of trials")]
    pub(crate) film: bool,
    /// Before the trials, keep what each client of somebody else's does, in two warm-ups of each cell, which do not count: a table
    /// of its system calls (strace), and a recording of its JVM (JFR), in the output folder's profiles/
    #[arg(long, help_heading = "Records of trials")]
    pub(crate) profile: bool,
    /// Leave out the second in which the link machinery is measured before the first trial
    #[arg(long, help_heading = "Trials and verdicts")]
    pub(crate) no_calibration: bool,
    /// Print the result as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print every trial's figures as CSV instead of text
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) csv: bool,
    /// Write the medians in Bencher Metric Format too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) bmf: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    /// Say what each trial does
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

impl RaceArgs {
    /// A flag that counts for URLs alone, where one is given.
    pub(crate) fn flag_of_url(&self) -> Option<&'static str> {
        let flags = [
            ("--requests-from", self.requests_from.is_some()),
            ("--server-name", self.server_name.is_some()),
            ("--cacert", self.cacert.is_some()),
            ("--tls-max", self.tls_max.is_some()),
            ("--insecure", self.insecure),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

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
    #[arg(long, value_name = "ADDR:PORT", required_unless_present = "listen_tls", value_parser = parse_listen)]
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
    /// (docs/delivery.md). --priorities goes before its key of that name
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// The application server that answers what is no file in DIR, over HTTP/1.1: http://127.0.0.1:3000. Its 103 and its Link
    /// fields are passed on, and push by a policy; `serve` then has no targets of its own but /timer (docs/delivery.md)
    #[arg(long, value_name = "URL", value_parser = parse_upstream)]
    pub(crate) upstream: Option<SocketAddr>,
    /// Write what each response asked for and what it got, a line of JSON each (docs/delivery.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) delivery_log: Option<PathBuf>,
    /// Threads, each pinned to a core of its own [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
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

/// List experiments, links, transports and what this machine can run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap list
  wirelap list --json | jq '.links[].name'")]
pub(crate) struct ListArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what is missing on this machine and the one command that mends it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap doctor
  wirelap doctor --json | jq '.findings[] | select(.remedy)'
  wirelap doctor --calibrate            how late, how even and how fast links are here

The exit code is 3 where races cannot run, else 0.")]
pub(crate) struct DoctorArgs {
    /// Measure what links are worth on this machine: half a minute, best while nothing else runs
    #[arg(long)]
    pub(crate) calibrate: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Judge the rows of a finished or interrupted run, or of the page timer, anew and write its report again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap report wirelap-quick-1
  wirelap report wirelap-quick-1 --csv > trials.csv
  wirelap report wirelap-quick-1 --parquet trials.parquet
  wirelap report wirelap-quick-1 --json | jq .verdicts
  wirelap report wirelap-quick-1 --har h2.har --trial page-50x5kB/3g/h2
  wirelap report timer.json             what `wirelap timer` let download; writes timer-report.html beside it")]
pub(crate) struct ReportArgs {
    /// The run's folder, or the page timer's download; several folders, all of published measurements, give one summary
    /// page beside the first
    #[arg(value_name = "DIR|FILE", value_hint = ValueHint::AnyPath, required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every trial's figures as CSV instead of text
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write the medians in Bencher Metric Format too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) bmf: Option<PathBuf>,
    /// Write every trial's figures as Parquet too; a build with `--features parquet` can
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) parquet: Option<PathBuf>,
    /// Write the fetches of one trial as HAR too, for a browser's developer tools
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "trial")]
    pub(crate) har: Option<PathBuf>,
    /// The trial of --har: its key, or workload/link/contender for the median one
    #[arg(long, value_name = "KEY", requires = "har")]
    pub(crate) trial: Option<String>,
    /// Write two films of a race with --film beside each other too, as an animated PNG of ten seconds at most
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "side")]
    pub(crate) film: Option<PathBuf>,
    /// A side of --film, given twice: a trial's key, or workload/link/contender for the median one
    #[arg(long, value_name = "KEY", requires = "film")]
    pub(crate) side: Vec<String>,
}

/// Print the page timer: one HTML file that times two pages of the server that it lies on, in any browser.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap timer > timer.html            put it beside the pages, and open it there
  wirelap serve ./site --listen 127.0.0.1:8080    has it at http://127.0.0.1:8080/timer
  wirelap report timer.json             its download, judged again and as a report

What it can and cannot tell: docs/timer.md.")]
pub(crate) struct TimerArgs {}

/// Set one run against another, cell by cell, and hold it to gates.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap compare wirelap-quick-1 wirelap-quick-2
  wirelap compare before after --gate 'load_ms<1.05' --gate 'connections<1.01'
  wirelap compare before after --gate 'load_ms<+5%' --junit gates.xml --markdown \"$GITHUB_STEP_SUMMARY\"

A gate limits a metric's ratio, RUN_B over RUN_A. It is broken where the whole interval lies beyond the limit:
what noise could explain breaks none, and neither does a tie. The exit code is 1 where a gate is broken, else 0.")]
pub(crate) struct CompareArgs {
    /// The earlier run's folder
    #[arg(value_name = "RUN_A", value_hint = ValueHint::DirPath)]
    pub(crate) a: PathBuf,
    /// The later run's folder
    #[arg(value_name = "RUN_B", value_hint = ValueHint::DirPath)]
    pub(crate) b: PathBuf,
    /// Compare this metric too (repeatable)
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Vec<String>,
    /// What counts as a tie, as a percentage or a fraction [default: RUN_B's]
    #[arg(long, value_name = "SHARE", value_parser = parse_margin, allow_negative_numbers = true)]
    pub(crate) margin: Option<f64>,
    /// Print the comparison as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the page is written [default: compare.html in RUN_B]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap completions bash > ~/.local/share/bash-completion/completions/wirelap
  wirelap completions zsh > \"${fpath[1]}/_wirelap\"")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Write the man pages into a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap man ~/.local/share/man/man1
  man wirelap-race")]
pub(crate) struct ManArgs {
    /// The folder; made where it is not there
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// The command line as people are shown it: clap's generators would list hidden commands too.
pub(crate) fn shown() -> clap::Command {
    let all = Cli::command();
    let shown: Vec<_> =
        all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let text = |styled: Option<&clap::builder::StyledStr>| styled.cloned().unwrap_or_default();
    clap::Command::new("wirelap")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(text(all.get_about()))
        .after_help(text(all.get_after_help()))
        .subcommands(shown)
}

fn parse_seed(text: &str) -> Result<Seed, String> {
    text.parse().map(Seed).map_err(|_| format!("`{text}` is not a whole number from 0 to 2^64 - 1"))
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

/// A time limit: `10m`, `90s`, `1h`, or seconds.
fn parse_limit(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let units = [("min", 60.0), ("ms", 1e-3), ("m", 60.0), ("h", 3600.0), ("s", 1.0), ("", 1.0)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number > 0.0 && number * seconds <= 1e6).then(|| Duration::from_secs_f64(number * seconds))
    });
    parsed.ok_or_else(|| format!("`{text}` is no time such as 10m, 90s or 1h"))
}

/// A host's name, as it stands in certificates and in /etc/hosts. One in Unicode becomes its A-label (RFC 5890 §2.3.2.1).
fn parse_name(text: &str) -> Result<String, String> {
    if !text.is_ascii() {
        let url = format!("http://{text}/").parse::<page::Url>();
        let host =
            url.ok().map(|url| url.host).filter(|_| !text.contains(['/', ':', '@', '?', '#']));
        return host.ok_or_else(|| format!("`{text}` is no host name that DNS could have"));
    }
    // RFC 1123 §2.1, and underscores, which local set-ups use.
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
    };
    let is_address = text.parse::<std::net::IpAddr>().is_ok();
    if text.len() <= 253 && text.split('.').all(is_label) && !is_address {
        return Ok(text.to_ascii_lowercase());
    }
    Err("a host name is expected, such as shop.test".to_owned())
}

fn parse_margin(text: &str) -> Result<f64, String> {
    let share: unit::Probability =
        text.parse().map_err(|error: unit::ParseError| error.to_string())?;
    match share.fraction() {
        fraction if fraction > 0.0 && fraction < 1.0 => Ok(fraction),
        _ => Err("a margin lies between 0% and 100%, both excluded".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Clap wraps at the terminal's width. A line that ends within a sentence would be broken a second time.
    #[test]
    fn no_help_is_wrapped_by_hand() {
        let root = Cli::command();
        for command in std::iter::once(&root).chain(root.get_subcommands()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let prose = pair.iter().all(|line| !line.is_empty() && !line.starts_with(' '));
                let whole = pair[0].ends_with(['.', ':']);
                assert!(!prose || whole, "{}: {pair:?}", command.get_name());
            }
        }
    }

    #[test]
    fn a_time_limit_has_a_unit_or_is_seconds() {
        for (text, seconds) in [("10m", 600), ("2min", 120), ("90s", 90), ("90", 90), ("1h", 3600)]
        {
            assert_eq!(parse_limit(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "0s", "-1m", "ten", "10d"] {
            assert!(parse_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_margin_is_a_percentage_or_a_fraction() {
        assert_eq!(parse_margin("5%"), Ok(0.05));
        assert_eq!(parse_margin("0.1"), Ok(0.1));
        assert!(parse_margin("0").is_err());
    }
}
