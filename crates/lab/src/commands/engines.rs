//! `wirelap slurm` and `wirelap k8s`: print what an engine takes to run a race in shards. Nothing is sent to an engine.

mod manifest;

use super::race;
use crate::cli::{KubernetesArgs, RaceArgs, SlurmArgs};
use crate::console;
use crate::error::{self, CliError};
use crate::race::experiments::{self, Selected};
use crate::race::run_folder::plain;
use crate::race::shard;
use manifest::Job;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use study::shard::Shard;

/// Prints a script for `sbatch`.
pub(crate) fn slurm(args: &SlurmArgs) -> Result<ExitCode, CliError> {
    let sharded = Sharded::of(&args.race, args.shards)?;
    let words = words_but(&["--shards", "--sbatch", "--program"]);
    console::print(&script(args, &sharded, &words)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a manifest for `kubectl apply`.
pub(crate) fn kubernetes(args: &KubernetesArgs) -> Result<ExitCode, CliError> {
    let sharded = Sharded::of(&args.race, args.shards)?;
    let out = match &args.race.out {
        Some(out) if out.is_absolute() => out.clone(),
        Some(out) => Path::new(manifest::MOUNTED).join(out),
        None => Path::new(manifest::MOUNTED).join(&sharded.out),
    };
    let mut command = vec!["wirelap".to_owned(), "race".to_owned()];
    command.extend(words_but(&["--shards", "--image", "--claim", "--out"]));
    let shard = format!("auto/{}", args.shards);
    command.extend(["--shard".to_owned(), shard, "--out".to_owned(), out.display().to_string()]);
    let job = Job {
        name: manifest::label(&sharded.name),
        shards: args.shards,
        image: &args.image,
        claim: &args.claim,
        command,
    };
    let text = format!(
        "# {}. When all pods are done, with the claim mounted: wirelap merge {}\n{}",
        sharded.headline(args.shards),
        error::quoted(&out),
        manifest::yaml(&job.value()),
    );
    console::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One experiment that can be dealt to so many shards.
struct Sharded {
    name: String,
    out: PathBuf,
    /// How long the longest shard takes.
    time: Duration,
}

impl Sharded {
    fn of(args: &RaceArgs, shards: u32) -> Result<Self, CliError> {
        if args.shard.is_some() || args.resume.is_some() || args.again.is_some() {
            return Err(CliError::misuse("the tasks of an array get their shards by themselves")
                .remedy("leave out --shard, --resume and --again"));
        }
        refuse_flags_of_whole_runs(args)?;
        let [name] = args.experiments.as_slice() else {
            return Err(CliError::misuse("an array runs one experiment")
                .remedy("print an array for each, and submit them one after another"));
        };
        let chosen: Selected = experiments::select(name, args)?;
        let mut planned = race::planned(&chosen)?;
        shard::check(&chosen.experiment, &planned.trials, shards)?;
        // The first shard is dealt to first.
        if let Some(first) = Shard::new(1, shards) {
            planned.trials = first.part(&planned.trials);
        }
        let name = chosen.experiment.name;
        let out = args.out.clone().unwrap_or_else(|| shard::shared_folder(&name));
        let time = planned.time(race::concurrency(args));
        Ok(Self { name, out, time })
    }

    fn headline(&self, shards: u32) -> String {
        let time = study::estimate::in_words(self.time);
        format!("{} in {shards} shards, {time} each", self.name)
    }
}

/// Flags that `race --shard` refuses: every task would fail by them.
fn refuse_flags_of_whole_runs(args: &RaceArgs) -> Result<(), CliError> {
    const TO_MERGE: &str = "leave it out, and give it to `wirelap merge`";
    let flags = [
        ("--json", args.json, TO_MERGE),
        ("--csv", args.csv, TO_MERGE),
        ("--junit", args.gates.junit.is_some(), TO_MERGE),
        ("--markdown", args.gates.markdown.is_some(), TO_MERGE),
        (
            "--bmf",
            args.bmf.is_some(),
            "leave it out, and give it to `wirelap report` after `wirelap merge`",
        ),
        ("--add", args.add.is_some(), "say how many trials there are by --trials"),
        ("--dry-run", args.dry_run, "print the plan by `wirelap race --dry-run`"),
        (
            "--with-browser",
            args.with_browser.is_some(),
            "race with --client, as an array of its own",
        ),
    ];
    match flags.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((flag, _, remedy)) => Err(CliError::misuse(format!(
            "{flag} is for a whole run, and each task runs a shard of one"
        ))
        .remedy(remedy)),
        None => Ok(()),
    }
}

/// The words of this command line: all but the command's name and the flags in `own`, which have a value each.
pub(super) fn words_but(own: &[&str]) -> Vec<String> {
    let words = std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned());
    without(words, own)
}

fn without(mut words: impl Iterator<Item = String>, own: &[&str]) -> Vec<String> {
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        let flag = word.split_once('=').map_or(word.as_str(), |(flag, _)| flag);
        if !own.contains(&flag) {
            left.push(word);
        } else if !word.contains('=') {
            let _value = words.next();
        }
    }
    left
}

fn script(args: &SlurmArgs, sharded: &Sharded, words: &[String]) -> Result<String, CliError> {
    let Sharded { name, out, time } = sharded;
    let shards = args.shards;
    if let Some(option) = args.sbatch.iter().find(|option| option.contains('\n')) {
        return Err(CliError::misuse(format!("--sbatch {option:?} has more than one line")));
    }
    let quoted: Vec<String> = words.iter().map(|word| error::quoted(Path::new(word))).collect();
    let mut text = String::from("#!/bin/sh\n");
    let _ = writeln!(text, "# {}. A node for each: trials judge times.", sharded.headline(shards));
    let _ = writeln!(text, "#SBATCH --job-name=wirelap-{}", plain(name));
    let _ = writeln!(text, "#SBATCH --array=1-{shards}");
    // Calibration, waiting for a quiet machine and blocks that run again come on top.
    let _ = writeln!(text, "#SBATCH --time={}", 15 + 2 * time.as_secs().div_ceil(60));
    text.push_str(
        "#SBATCH --nodes=1\n#SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH --open-mode=append\n",
    );
    args.sbatch.iter().for_each(|option| text.push_str(&format!("#SBATCH {option}\n")));
    text.push_str(
        "# A task that was killed goes on where it stopped: scontrol requeue JOB_TASK, or sbatch --array=TASK once more.\n",
    );
    let out_words = match args.race.out {
        Some(_) => String::new(),
        None => format!(" --out {}", error::quoted(out)),
    };
    let _ = writeln!(
        text,
        "exec {} race {}{out_words} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\"",
        error::quoted(Path::new(&args.program)),
        quoted.join(" "),
    );
    let _ = writeln!(text, "# When all are done: wirelap merge {}", error::quoted(out));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_race_are_all_but_the_commands_own() {
        let words =
            ["quick", "--shards", "8", "--trials", "40", "--sbatch=--partition=a", "--links=3g"];
        let left = without(words.iter().map(|word| (*word).to_owned()), &["--shards", "--sbatch"]);
        assert_eq!(left, ["quick", "--trials", "40", "--links=3g"]);
    }
}
