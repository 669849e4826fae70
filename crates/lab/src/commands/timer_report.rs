//! `wirelap report timer.json`: the download of the page timer, judged again.

use crate::cli::ReportArgs;
use crate::console;
use crate::error::{self, CliError};
use crate::inputs::regular::{LONGEST_TEXT, read_text};
use crate::named_file;
use report::{Colour, Style};
use std::path::Path;
use std::process::ExitCode;
use study::timer::{TimerError, TimerRun};

/// Reads the download, judges, writes the page beside it, prints.
pub(crate) fn run(args: &ReportArgs, file: &Path) -> Result<ExitCode, CliError> {
    if args.parquet.is_some() || args.har.is_some() {
        return Err(CliError::misuse("--parquet and --har are for runs of `race`")
            .remedy("take --csv for the page timer's loads"));
    }
    let text = read_text(file, LONGEST_TEXT)
        .map_err(|error| error::file(format!("reading {}", file.display()), &error))?;
    let run = TimerRun::read(&text).map_err(|error| refused(file, &error))?;
    let result = run.judge();
    // Not `timer.html`, which may be the timer itself.
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let page = file.with_file_name(format!("{stem}-report.html"));
    let name = unit::escape(&file.display().to_string()).into_owned();
    let html = report::timer_html(&run, &result, &name, env!("CARGO_PKG_VERSION"));
    let wrote = named_file::write(&page, html);
    // What was found is printed all the same.
    if args.json {
        console::print_json(&report::timer_json(&result))?;
    } else if args.csv {
        console::print(&report::timer_csv(&run))?;
    } else {
        let colour = if console::colour() { Colour::On } else { Colour::Off };
        let text = report::timer_terminal(&result, Style { colour, width: console::width() });
        console::print_coloured(&format!("{text}page  {}\n", error::quoted(&page)))?;
    }
    wrote.map(|()| ExitCode::SUCCESS)
}

fn refused(file: &Path, error: &TimerError) -> CliError {
    let what = CliError::misuse(format!("{}: {error}", file.display()));
    match error {
        TimerError::Schema(_) => {
            what.remedy("read it by the wirelap that made the timer: its `version` says which")
        }
        TimerError::Shape(_) | TimerError::Value(_) => what
            .remedy("give a run's folder, or the file that the page timer's button Download made"),
    }
}
