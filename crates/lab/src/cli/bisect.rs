//! The flags of `wirelap bisect`.

use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;
use study::gate::Gate;

/// Find the commit that broke a gate: builds commits, races each against the good one, and states how sure it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap bisect v1.2 HEAD --experiment bench/page.toml --gate 'load_ms<1.05' -- make

The experiment has one contender, or --contender names it. What it declares in subjects/ beside it (a server or a client) says `{checkout}` where the files of a commit are: command = [\"{checkout}/server\", \"{port}\"]. BUILD runs in a checkout of each commit, in a worktree of its own: your files and your branch are left alone. Each commit races against GOOD, interleaved, until the gate is decided: bad where it fails, good where it passes. More in docs/gates.md.

Exit codes: 0 found, 1 GOOD or BAD does not build, 2 misuse (or BAD is not bad), 3 the machine lacks something, 4 undecided, 130 interrupted.")]
pub(crate) struct BisectArgs {
    /// A commit at which all is well
    #[arg(value_name = "GOOD")]
    pub(crate) good: String,
    /// A later commit at which it is not
    #[arg(value_name = "BAD")]
    pub(crate) bad: String,
    /// What is raced, a file (.toml)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) experiment: PathBuf,
    /// What a good commit keeps, over GOOD: `METRIC<RATIO` or `METRIC>RATIO`
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Gate,
    /// The contender whose server or client is built, where the experiment has several
    #[arg(long, value_name = "NAME")]
    pub(crate) contender: Option<String>,
    /// The git repository [default: the one of this folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub(crate) repository: PathBuf,
    /// The longest that a comparison may take, beside the wait for a busy machine
    #[arg(long, value_name = "TIME", value_parser = super::race::parse_limit, default_value = "5m")]
    pub(crate) until_decided: Duration,
    /// The chance at most that the commit named is not the first bad one
    #[arg(long, value_name = "SHARE", value_parser = super::gates::parse_error, default_value = "5%", allow_negative_numbers = true)]
    pub(crate) error: f64,
    /// Folder for the comparisons, made new [default: wirelap-bisect-N]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Do not wait for a busy machine before each comparison: say who takes its processors, and race all the same
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Leave out the seconds in which the link machinery is measured before each comparison
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// What builds a commit, in its checkout; `true` where there is nothing to build
    #[arg(value_name = "BUILD", required = true, last = true)]
    pub(crate) build: Vec<String>,
}
