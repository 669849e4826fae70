//! The flags of runs on many machines: `race --shard`, `merge`, `slurm` and `k8s`.

use super::number::whole;
use super::{GateArgs, RaceArgs};
use clap::{Arg, Args, ValueHint};
use std::path::PathBuf;
use study::shard::{MOST_SHARDS, Shard};

/// Which shard of a run a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardChoice {
    /// This one.
    Of(Shard),
    /// The one whose number an engine tells, of so many where the engine does not tell it.
    Auto(Option<u32>),
}

pub(crate) fn parse_shard(text: &str) -> Result<ShardChoice, String> {
    match text.strip_prefix("auto") {
        None => text.parse().map(ShardChoice::Of),
        Some("") => Ok(ShardChoice::Auto(None)),
        Some(of) => match of.strip_prefix('/').and_then(|of| of.parse().ok()) {
            Some(of @ 1..=MOST_SHARDS) => Ok(ShardChoice::Auto(Some(of))),
            _ => {
                Err(format!("`{text}` is neither auto nor auto/N, with N from 1 to {MOST_SHARDS}"))
            }
        },
    }
}

/// As [`parse_shard`], for the agents of a load.
pub(crate) fn parse_agent(text: &str) -> Result<ShardChoice, String> {
    parse_shard(text).map_err(|error| match text.starts_with("auto") {
        true => error,
        false => error.replacen("is no shard such", "is no agent such", 1),
    })
}

/// Make one run of the shards of a race that ran on many machines, and judge it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wirelap merge wirelap-quick-shards
  wirelap merge node1/shard-1-of-2 node2/shard-2-of-2 --out quick
  wirelap merge wirelap-quick-shards --partial    judge what is there, and name what is missing

Every trial of the plan must be there once. The judge is that of `race`: the same rows give the same verdicts. More in docs/many-machines.md.
Exit codes: 0 done, 1 a gate failed or the run answers nothing, 2 misuse (such as shards of different runs), 3 the machine lacks something, 4 a gate is inconclusive under --inconclusive fail.")]
pub(crate) struct MergeArgs {
    /// Folders of shards, or the folder that they are in
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Folder for the run, made new [default: wirelap-NAME-N]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Judge what is there where shards or trials are missing; the result names them
    #[arg(long)]
    pub(crate) partial: bool,
    /// Merge shards too whose machine was too busy for half of their trials
    #[arg(long)]
    pub(crate) keep_bad: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every trial's figures as CSV instead of text
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
}

/// What `slurm` and `k8s` do not take of the flags of `race` is not in their helps.
fn shown_for_engines(arg: Arg) -> Arg {
    let is_refused = REFUSED_BY_ENGINES.contains(&arg.get_id().as_str());
    let is_hidden = is_refused || arg.is_hide_set();
    arg.hide(is_hidden)
}

const REFUSED_BY_ENGINES: [&str; 13] = [
    "shard",
    "resume",
    "again",
    "add",
    "dry_run",
    "with_browser",
    "sequential",
    "until_decided",
    "json",
    "csv",
    "bmf",
    "junit",
    "markdown",
];

/// Print a job array for Slurm: a race in shards, a node each.
#[derive(Debug, Args)]
#[command(
    mut_args(shown_for_engines),
    after_help = "Examples:
  wirelap slurm quick --shards 8 --trials 40 > race.sbatch && sbatch race.sbatch
  wirelap slurm mine.toml --shards 8 --sbatch=--partition=quiet --out /shared/mine

The other flags are those of `race`; what judges a run is given to `wirelap merge`. Afterwards: wirelap merge wirelap-quick-shards. More in docs/many-machines.md."
)]
pub(crate) struct SlurmArgs {
    /// How many shards, a task of the array each
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(MOST_SHARDS)))]
    pub(crate) shards: u32,
    /// A line #SBATCH more, such as --sbatch=--partition=quiet (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// wirelap, as nodes find it
    #[arg(long, value_name = "FILE", default_value = "wirelap")]
    pub(crate) program: String,
    #[command(flatten)]
    pub(crate) race: RaceArgs,
}

/// Print an Indexed Job for Kubernetes: a race in shards, a pod each.
#[derive(Debug, Args)]
#[command(
    name = "k8s",
    mut_args(shown_for_engines),
    after_help = "Examples:
  wirelap k8s quick --shards 8 --image registry.test/wirelap:1 --claim runs | kubectl apply -f -

The other flags are those of `race`; files that an experiment names must be in the image. Pods are privileged: they make network namespaces and set their sysctls. Afterwards: wirelap merge /runs/wirelap-quick-shards. More in docs/many-machines.md."
)]
pub(crate) struct KubernetesArgs {
    /// How many shards, a pod each
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::from(MOST_SHARDS)))]
    pub(crate) shards: u32,
    /// The image, with wirelap in its PATH
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// The PersistentVolumeClaim that shards write to; several nodes must be able to (ReadWriteMany)
    #[arg(long, value_name = "NAME")]
    pub(crate) claim: String,
    #[command(flatten)]
    pub(crate) race: RaceArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_of_so_many_or_told_by_an_engine() {
        assert_eq!(parse_shard("2/3"), Ok(ShardChoice::Of(Shard::new(2, 3).unwrap())));
        assert_eq!(parse_shard("auto"), Ok(ShardChoice::Auto(None)));
        assert_eq!(parse_shard("auto/8"), Ok(ShardChoice::Auto(Some(8))));
        for text in ["", "auto8", "auto/", "auto/0", "auto/1001", "4/3", "automatic"] {
            assert!(parse_shard(text).is_err(), "{text}");
        }
        assert!(parse_agent("3/2").unwrap_err().contains("`3/2` is no agent such as"));
    }
}
