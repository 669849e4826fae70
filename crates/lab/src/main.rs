//! `wirelap`: the command line of the web transport laboratory. Each command has a file under
//! `command/`; this is the programme.

mod again;
mod audit;
mod calibrate;
mod capture;
mod choice;
mod cli;
mod command;
mod conclude;
mod echo;
mod environment;
mod far_side;
mod files_adapter;
mod get;
mod har;
mod host;
mod inputs;
mod job;
mod key_log;
mod materials;
mod path;
mod progress;
mod ran;
mod run_folder;
mod runner;
mod schedule;
mod served;
mod servers;
mod sides;
mod sitting;
mod store;
mod subject_trial;
mod subjects;
mod synthetic;
mod task;
mod tcp_settings;
mod trouble;
mod unmade;
mod work;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;
use trouble::Trouble;

fn main() -> ExitCode {
    let done: Result<ExitCode, Trouble> = match Cli::parse().command {
        Command::Race(args) => command::race::run(&args),
        Command::Get(args) => command::get::run(&args),
        Command::Serve(args) => command::serve::run(&args),
        Command::Link(args) => command::link::run(&args),
        Command::List(args) => command::list::run(&args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Report(args) => command::report::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Completions(args) => command::completions::run(&args),
        Command::Man(args) => command::man::run(&args),
        Command::Trial => command::trial::run(),
        Command::Near => command::near::run(),
        Command::Far => command::far::run(),
        Command::Subject(args) => command::subject::run(&args),
        Command::Gauge => calibrate::gauge::run(),
        Command::Probe => calibrate::probe::run(),
    };
    done.unwrap_or_else(|trouble| {
        command::print_error(&trouble);
        trouble.exit_code()
    })
}
