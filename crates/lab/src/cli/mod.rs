//! The command line: every command and flag has its one home here, with its help.

mod bisect;
mod gates;
mod get;
mod link;
mod load;
mod number;
mod race;
mod record;
mod serve;
mod shards;
mod suggest;
mod written_url;

pub(crate) use bisect::BisectArgs;
pub(crate) use gates::GateArgs;
pub(crate) use get::{Address, GetArgs, ProxyChoice, Since, parse_proxy};
pub(crate) use link::{Expose, FarPort, Forward, Host, LinkArgs, Service};
pub(crate) use load::{Inconclusive, LoadArgs, parse_target};
pub(crate) use race::RaceArgs;
pub(crate) use record::{RecordArgs, Resolve};
pub(crate) use serve::ServeArgs;
pub(crate) use shards::{KubernetesArgs, MergeArgs, ShardChoice, SlurmArgs};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use std::path::PathBuf;
use unit::Seed;

/// A web transport laboratory: which way of moving your bytes over the web is fastest, by how much, and why.
#[derive(Debug, Parser)]
#[command(
    name = "wirelap",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:
  wirelap race quick                    the built-in race: one page, four contenders (h1, h1-tls, h2, h3), three links
  wirelap race my.har --links 4g,3g     your own page, as your browser exported it
  wirelap record https://shop.example/ -o shop/    a page with all its responses, for wirelap race shop/
  wirelap serve ./site --listen 127.0.0.1:8080 --listen-tls 127.0.0.1:8443
  wirelap link 3g --far 'iperf3 -s -1' -- sh -c 'iperf3 -c far'
  wirelap get -O https://example.org/disk.iso    a download that resumes and never leaves half a file
  wirelap load -c 64 -d 10s http://127.0.0.1:8080/    requests as many, or as often (--rate), as you say
  wirelap doctor                        what this machine lacks, and the command that mends it

Environment: NO_COLOR leaves colours out; SSLKEYLOGFILE takes TLS secrets, for Wireshark.
Exit codes: 0 done, 1 a gate failed or a race answers nothing, 2 misuse, 3 the machine lacks something, 4 a gate is inconclusive under --inconclusive fail, 130 interrupted.
What each command means by them: docs/exit-codes.md."
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
    /// Measure what links are worth on this machine: half a minute, longer while other programs use it
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
what noise could explain breaks none, and neither does a tie.
Exit codes: 0 no gate failed, 1 a gate failed, 2 misuse (such as runs that have no cell in common), 3 the machine lacks something, 4 a gate is inconclusive under --inconclusive fail.")]
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
    fn a_margin_is_a_percentage_or_a_fraction() {
        assert_eq!(parse_margin("5%"), Ok(0.05));
        assert_eq!(parse_margin("0.1"), Ok(0.1));
        assert!(parse_margin("0").is_err());
    }
}
