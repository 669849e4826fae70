//! Flags of `wirelap race`.

use super::number::whole;
use super::{GateArgs, ShardChoice, parse_margin, parse_seed, shards, suggest};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;
use study::experiment::MOST_TRIALS;
use unit::Seed;

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
  wirelap race quick --capture=page-50x5kB/3g/     keep what went over the wire, for Wireshark
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
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(MOST_TRIALS)), allow_negative_numbers = true, help_heading = "Trials and verdicts")]
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
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u32>(1..=10_000), help_heading = "Trials and verdicts")]
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
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiments", "out", "seed", "trials", "links", "contenders", "client", "with_browser", "baseline", "margin", "fast", "sequential", "until_decided", "gate", "gate_error", "subjects", "requests_from", "requests", "server_name", "cacert", "tls_max", "insecure", "dry_run"], value_hint = ValueHint::DirPath, help_heading = "Runs that exist")]
    pub(crate) resume: Option<PathBuf>,
    /// Add so many trials to each cell of the run that --resume names. What comes of them is labelled exploratory: the
    /// confidence of the intervals no longer holds, and the gates are judged without them
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(MOST_TRIALS)), help_heading = "Runs that exist")]
    pub(crate) add: Option<u32>,
    /// Run the experiment of this folder once more, into a new one: same settings, seeds and files; --trials may be others
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiments", "resume", "seed", "links", "contenders", "client", "with_browser", "baseline", "margin", "fast", "sequential", "until_decided", "requests_from", "requests", "server_name", "cacert", "tls_max", "insecure"], value_hint = ValueHint::DirPath, help_heading = "Runs that exist")]
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
    /// Leave out the seconds in which the link machinery is measured before the first trial
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

/// A time limit: `10m`, `90s`, `1h`, or seconds.
pub(super) fn parse_limit(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let units = [("min", 60.0), ("ms", 1e-3), ("m", 60.0), ("h", 3600.0), ("s", 1.0), ("", 1.0)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number > 0.0 && number * seconds <= 1e6).then(|| Duration::from_secs_f64(number * seconds))
    });
    parsed.ok_or_else(|| format!("`{text}` is no time such as 10m, 90s or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
