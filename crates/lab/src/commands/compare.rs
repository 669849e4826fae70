//! `wirelap compare`: two runs against each other, for people and for CI systems.

use crate::cli::CompareArgs;
use crate::console;
use crate::error::{self, CliError};
use crate::named_file;
use crate::race::report::left_out;
use crate::race::run_folder::RunFolder;
use crate::race::store::{Rows, Store};
use report::{Colour, ComparisonLinks, Style};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use study::compare::{Run, RunComparison, Wanted, compare, has_metric, metrics};
use study::record::RunHeader;

/// Compares, writes what was asked for, prints. The exit code is that of the gates.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, CliError> {
    let (a, b) = (Folder::read(&args.a)?, Folder::read(&args.b)?);
    let wanted =
        Wanted { gates: args.gates.gates(), metrics: args.metric.clone(), margin: args.margin };
    if let Some(gate) = wanted.gates.gates.iter().find(|gate| gate.names_contenders()) {
        return Err(CliError::misuse(format!("`{gate}` names contenders, and here the later run is set over the earlier"))
            .remedy("leave the names away; contenders of one run are held to a gate by `wirelap race --gate`"));
    }
    check_metrics(&wanted, &[&a, &b])?;
    if let (Ok(a), Ok(b)) = (args.a.canonicalize(), args.b.canonicalize())
        && a == b
    {
        return Err(CliError::misuse(format!(
            "{} and {} are one run, which is not compared with itself",
            error::quoted(&args.a),
            error::quoted(&args.b)
        ))
        .remedy("name two runs: the earlier one first, then the later one"));
    }
    let mut comparison = compare(a.run(), b.run(), &wanted);
    let damaged = [&a, &b]
        .into_iter()
        .filter_map(|folder| Some(format!("{}: {}", folder.name, left_out(&folder.rows)?)));
    comparison.warnings.splice(0..0, damaged);
    if comparison.changes.is_empty() {
        return Err(CliError::misuse("the two runs have no cell in common")
            .remedy("compare runs of one experiment: workload, link and contender go by name"));
    }
    write(args, [&a, &b], &comparison)?;
    Ok(ExitCode::from(args.gates.exit_code(comparison.outcome())))
}

fn write(
    args: &CompareArgs,
    [a, b]: [&Folder; 2],
    comparison: &RunComparison,
) -> Result<(), CliError> {
    let place = args.html.clone().unwrap_or_else(|| b.folder.path().join("compare.html"));
    let links = ComparisonLinks { a: link(&place, a), b: link(&place, b) };
    let html = report::comparison_html(comparison, &links, env!("CARGO_PKG_VERSION"));
    let page = match &args.html {
        Some(page) => {
            named_file::write(page, html)?;
            page.clone()
        }
        None => {
            let page = b.folder.path().join("compare.html");
            b.folder
                .write(&page, &html)
                .map_err(|error| error.and("or name another place for the page by --html"))?;
            page
        }
    };
    if let Some(path) = &args.gates.junit {
        named_file::write(path, report::comparison_junit(comparison))?;
    }
    if let Some(path) = &args.gates.markdown {
        named_file::write(path, report::comparison_markdown(comparison))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(comparison).map_err(CliError::failed)?;
        return console::print_json(&(text + "\n"));
    }
    let colour = if console::colour() { Colour::On } else { Colour::Off };
    let text = report::comparison_terminal(comparison, Style { colour, width: console::width() });
    console::print_coloured(&format!("{text}page  {}\n", error::quoted(&page)))
}

/// The report of `run` as seen from `page`; None where there is none.
fn link(page: &Path, run: &Folder) -> Option<String> {
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty());
    let from = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    let to = run.folder.path().join("report.html").canonicalize().ok()?;
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut link = "./".to_owned() + &"../".repeat(from.components().count() - shared);
    let rest: Vec<String> = to
        .components()
        .skip(shared)
        .map(|part| encoded(&part.as_os_str().to_string_lossy()))
        .collect();
    link.push_str(&rest.join("/"));
    Some(link)
}

/// A part of a path as it stands in a URL (RFC 3986 §3.3).
fn encoded(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    part.bytes().map(letter).collect()
}

/// A run as it was read.
struct Folder {
    name: String,
    folder: RunFolder,
    header: RunHeader,
    rows: Rows,
}

impl Folder {
    fn read(path: &Path) -> Result<Self, CliError> {
        let folder = RunFolder::open(path);
        let store = Store::open(&folder.rows())?;
        let (header, rows) = (store.header()?, store.records()?);
        let name = name(path);
        for damaged in &rows.damaged {
            console::note(&format!("a row of {name} is damaged and left out: {damaged}"));
        }
        Ok(Self { name, folder, header, rows })
    }

    fn run(&self) -> Run<'_> {
        Run { name: &self.name, header: &self.header, rows: &self.rows.records }
    }
}

fn name(path: &Path) -> String {
    path.display().to_string().trim_end_matches('/').to_owned()
}

/// A metric that no trial has would pass every gate: that is a slip, not a success. So is one that only warm-ups have.
fn check_metrics(wanted: &Wanted, folders: &[&Folder]) -> Result<(), CliError> {
    let is_there =
        |metric: &&String| folders.iter().any(|folder| has_metric(&folder.rows.records, metric));
    let mut asked = wanted.gates.gates.iter().map(|gate| &gate.metric).chain(&wanted.metrics);
    let Some(metric) = asked.find(|metric| !is_there(metric)) else { return Ok(()) };
    let known: BTreeSet<String> =
        folders.iter().flat_map(|folder| metrics(&folder.rows.records)).collect();
    let remedy = match unit::nearest(metric, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Err(CliError::misuse(format!("no trial that counts has the metric `{metric}`")).remedy(remedy))
}
