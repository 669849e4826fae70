//! `wirelap trial` (hidden): one trial, from a JSON order on standard input to a JSON row on standard output.

use super::Trial;
use super::job::TrialOrder;
use crate::console;
use crate::error::CliError;
use std::process::ExitCode;
use study::record::without_figures;

/// Reads the order, runs the trial, prints the row.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    os::process::die_with_parent();
    let Some(order) = console::read_job::<TrialOrder>()? else { return Ok(ExitCode::FAILURE) };
    let began = os::clock::now();
    let started_unix_ms = os::clock::realtime().as_millis() as u64;
    let judged = Trial::prepare(&order).and_then(|trial| Ok(trial.judge(trial.run()?)));
    let mut record =
        judged.unwrap_or_else(|outcome| without_figures(order.plan.clone(), outcome, 0));
    record.started_unix_ms = started_unix_ms;
    record.duration_ms = os::clock::now().since(began).as_secs_f64() * 1e3;
    console::print_job(&record)?;
    Ok(ExitCode::SUCCESS)
}
