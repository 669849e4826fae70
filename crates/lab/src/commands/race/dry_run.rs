//! `wirelap race --dry-run`: what would run and how long it would take.

use super::{concurrency, place, planned};
use crate::cli::RaceArgs;
use crate::console;
use crate::error::CliError;
use crate::inputs::har;
use crate::race::experiments::Selected;
use crate::race::service;
use crate::race::until_decided;
use report::Assumptions;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use study::carried::carried;
use study::estimate::in_words;
use study::plan::TrialPlan;
use study::shard::Shard;
use unit::format_duration;

/// Prints the plan of every experiment.
pub(super) fn run(
    args: &RaceArgs,
    chosen: &[Selected],
    shard: Option<Shard>,
) -> Result<ExitCode, CliError> {
    let mut plans: String =
        chosen.iter().map(|one| describe(one, args, shard)).collect::<Result<_, _>>()?;
    if let Some(time) = time_of_all(args, chosen)? {
        let _ = writeln!(plans, "{time}");
    }
    console::print(&plans)?;
    Ok(ExitCode::SUCCESS)
}

/// How long several experiments take one after another; None of one, which says so itself.
pub(super) fn time_of_all(
    args: &RaceArgs,
    chosen: &[Selected],
) -> Result<Option<String>, CliError> {
    if chosen.len() < 2 {
        return Ok(None);
    }
    let all = sum_of(args, chosen)?;
    Ok(Some(format!("{} experiments, {} in all", chosen.len(), in_words(all))))
}

/// The calibrations and the trials of all.
fn sum_of(args: &RaceArgs, chosen: &[Selected]) -> Result<Duration, CliError> {
    let time = |one: &Selected| {
        let limited = one.experiment.time_limit;
        Ok(limited.unwrap_or(planned(one)?.time(concurrency(args))) + BEFORE_THE_FIRST_TRIAL)
    };
    chosen.iter().map(time).sum()
}

/// A look at how busy the machine is, and its calibration.
const BEFORE_THE_FIRST_TRIAL: Duration = Duration::from_secs(5);

fn describe(chosen: &Selected, args: &RaceArgs, shard: Option<Shard>) -> Result<String, CliError> {
    let experiment = &chosen.experiment;
    let mut text =
        format!("{}: {}\n{}\n\n", experiment.name, experiment.title, experiment.question);
    let mut planned = planned(chosen)?;
    if let Some(shard) = shard {
        planned.trials = shard.part(&planned.trials);
        let _ = writeln!(text, "shard {shard}");
    }
    let recorded = har::assumptions(experiment, |name| place(chosen, name));
    for sentence in service::assumptions(experiment) {
        let _ = writeln!(text, "{sentence}");
    }
    for Assumptions { read_from, sentences } in recorded {
        // The name stands before the first sentence: those after it are about the same.
        let name = read_from.map_or_else(String::new, |name| format!("{name}: "));
        let _ = writeln!(text, "{name}{}", sentences.join("\n"));
    }
    let limit = experiment.time_limit.filter(|_| until_decided::is_open(experiment));
    let what = match limit {
        Some(limit) => format!(
            "{}, then as many trials as decide, {} at most",
            planned.count_in_words(),
            format_duration(limit)
        ),
        None => {
            for carried in carried(experiment) {
                let _ = writeln!(text, "{carried}");
            }
            format!("{}, {}", planned.count_in_words(), in_words(planned.time(concurrency(args))))
        }
    };
    let _ = writeln!(
        text,
        "{what}; baseline {}, margin {} %, seed {}",
        experiment.baseline,
        // To a ten-thousandth of a percent: 0.07 times 100 is not 7.
        (experiment.margin * 1e6).round() / 1e4,
        experiment.seed
    );
    match args.verbose {
        true => text.push_str(&list_of(&planned.trials)),
        false => text.push_str("-v lists every trial with its key and seed\n"),
    }
    Ok(text)
}

/// Each trial with its key, its seed and how it runs, a line each.
fn list_of(trials: &[TrialPlan]) -> String {
    let mut text = String::from("\n");
    for (place, trial) in trials.iter().enumerate() {
        let concurrency = if trial.is_light() { "side by side" } else { "alone" };
        let warmup = if trial.warmup { ", warm-up" } else { "" };
        let _ = writeln!(
            text,
            "{:4}  {:<40} seed {:<20} {concurrency}{warmup}",
            place + 1,
            trial.key,
            trial.seed
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    /// Whoever starts `race published` has three quarters of an hour.
    #[test]
    fn all_published_measurements_end_within_45_minutes_with_their_calibrations() {
        let cli = Cli::try_parse_from(["wirelap", "race", "published"]).unwrap();
        let Command::Race(args) = cli.command else { panic!("race") };
        let chosen = super::super::choose(&args).unwrap();
        let whole = sum_of(&args, &chosen).unwrap();
        assert!(chosen.len() >= 10 && whole < Duration::from_secs(45 * 60), "{whole:?}");
        let trials_alone: Duration =
            chosen.iter().map(|one| planned(one).unwrap().time(concurrency(&args))).sum();
        assert!(whole > trials_alone, "a calibration takes time, too");
    }
}
