//! `wirelap`: the command line of the web transport laboratory.
//!
//! A folder uses those below it and none above; a test holds that.
//!
//! ```text
//! commands     a file for each command: it calls the other folders and prints what they find
//! bisect       commits that are raced against each other
//! race         a run of an experiment: schedule, workers, rows, report
//! trial        one trial, from its order to its row
//! load         the parts of `wirelap load`
//! get          the parts of `wirelap get`
//! calibrate    what links are worth on this machine
//! link         what passes the packets of two ends on, their capture, and ports that lead onto a link
//! inputs       the files that an experiment names
//! cli          every command and flag
//! console, error, environment, machine ...    printing, exit codes, what the machine is
//! ```

mod bisect;
mod calibrate;
mod cli;
mod commands;
mod console;
mod environment;
mod error;
mod files_adapter;
mod foreign;
mod get;
mod inputs;
mod key_log;
mod link;
mod load;
mod machine;
mod named_file;
mod percent;
mod qlog;
mod race;
mod trial;

use clap::Parser;
use cli::{Cli, Command};
use error::CliError;
use std::process::ExitCode;

/// How requests of ours name their client.
const VERSION_FIELD: &str = concat!("wirelap/", env!("CARGO_PKG_VERSION"));

fn main() -> ExitCode {
    let done: Result<ExitCode, CliError> = match Cli::parse().command {
        Command::Race(args) => commands::race::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Get(args) => commands::get::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Link(args) => commands::link::run(&args),
        Command::Load(args) => commands::load::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Timer(args) => commands::timer::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Slurm(args) => commands::engines::slurm(&args),
        Command::K8s(args) => commands::engines::kubernetes(&args),
        Command::Bisect(args) => commands::bisect::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::Trial => trial::worker::run(),
        Command::Near => trial::near::run(),
        Command::Far => trial::far::run(),
        Command::Subject(args) => commands::subject::run(&args),
        Command::Relay => commands::relay::run(),
        Command::Gauge => calibrate::gauge::run(),
        Command::Probe => calibrate::probe::run(),
    };
    done.unwrap_or_else(|error| {
        console::print_error(&error);
        error.exit_code()
    })
}
