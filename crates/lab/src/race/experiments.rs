//! From what the user named to the experiments that run: built-in names, files, pages, and the flags
//! that change them. Everything is read and checked here, before anything runs.

use crate::cli::RaceArgs;
use crate::console;
use crate::error::{self, CliError};
use crate::foreign;
use crate::inputs::files;
use crate::inputs::links::link_spec;
use crate::inputs::policy;
use crate::inputs::regular::{self, LONGEST_TEXT, position};
use crate::inputs::servers::{Servers, Source};
use crate::inputs::site;
use crate::inputs::subjects;
use crate::race::{foretold, service};
use crate::trial::profile;
use std::fs;
use std::path::{Path, PathBuf};
use study::experiment::{
    Contender, Dependencies, Experiment, ExperimentError, Extent, HarWorkload, Overrides,
    RecordedHosts, Stopping, Think, builtin,
};
use subject::{Catalogue, ClientDeclaration};

/// An experiment ready to be planned.
#[derive(Debug)]
pub(crate) struct Selected {
    /// The experiment, every flag applied. Workloads name their files as they are called in the run's folder.
    pub(crate) experiment: Experiment,
    /// Files to copy into the run's folder: where each is, and what it is called there.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// The client subjects that are known to it.
    pub(crate) subjects: Catalogue,
    /// Servers of the user's that it names.
    pub(crate) servers: Vec<Source>,
}

/// Reads what `name` stands for and applies the flags.
pub(crate) fn select(name: &str, args: &RaceArgs) -> Result<Selected, CliError> {
    let mut experiment = read(name, args)?;
    let beside = if name.ends_with(".toml") { Path::new(name).parent() } else { None };
    if let Some(folder) = beside {
        files::rebase(&mut experiment, folder);
    }
    // Links that a flag names read their files from here.
    let whole = Overrides { client: None, ..overrides(args)? };
    let whole = experiment.clone().with(&whole).map_err(CliError::misuse)?;
    let mut experiment = experiment.with(&overrides(args)?).map_err(CliError::misuse)?;
    if let Some(client) = &args.client {
        tell_left_out(&whole, &experiment, client);
    }
    if args.profile {
        let links = experiment.links.iter_mut();
        links.for_each(|link| link.warmup = link.warmup.max(profile::PROFILED));
    }
    for link in &experiment.links {
        let here = |file: &str| PathBuf::from(file);
        link_spec(link, here).map_err(|error| error.within(named_at(name, link.text())))?;
    }
    study::check_gates(&experiment).map_err(|error| {
        CliError::misuse(error).remedy("docs/gates.md tells how a gate is written")
    })?;
    policy::check_effects(&experiment)?;
    let known_servers = Servers::of_experiment(beside, &args.subjects)?;
    let servers = known_servers.used_by(&experiment)?;
    let files = files::gather(&mut experiment)?;
    let subjects = subjects::known(beside, &args.subjects)?;
    subjects::check(&experiment, &subjects)?;
    leave_out_checks(&mut experiment, &subjects);
    let unsupported = foretold::unsupported(&experiment, &known_servers, &subjects)?;
    unsupported.iter().for_each(|sentence| console::note(sentence));
    let experiment = foreign::cleaned(&experiment).map_err(CliError::failed)?;
    Ok(Selected { experiment, files, subjects, servers })
}

/// A browser finds a page's fetches itself: to check them with other dependencies would be to run the same trials twice.
fn leave_out_checks(experiment: &mut Experiment, subjects: &Catalogue) {
    if experiment.contenders.iter().all(|contender| is_browser(contender, subjects)) {
        experiment.workloads.retain(|workload| workload.check_of.is_none());
    }
}

fn is_browser(contender: &Contender, subjects: &Catalogue) -> bool {
    let client = contender.client.as_ref().and_then(|client| subjects.client(&client.name));
    client.is_some_and(ClientDeclaration::is_browser)
}

impl Selected {
    /// Whether any of its contenders has a browser for its client.
    pub(crate) fn has_browser(&self) -> bool {
        has_browser(&self.experiment, &self.subjects)
    }
}

/// Whether any contender of `experiment` has a browser for its client.
pub(crate) fn has_browser(experiment: &Experiment, subjects: &Catalogue) -> bool {
    experiment.contenders.iter().any(|contender| is_browser(contender, subjects))
}

fn read(name: &str, args: &RaceArgs) -> Result<Experiment, CliError> {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if matches!(scheme.as_deref(), Some("http" | "https")) {
        let found = service::of_url(name, quick()?, args)?;
        return found.ok_or_else(|| how_to_record(name));
    }
    if let Some(flag) = args.flag_of_url() {
        return Err(CliError::misuse(format!("{flag} is for URLs, and {name} is none")).remedy(
            "in an experiment's file the workload and its server say it (docs/experiment.md)",
        ));
    }
    if let Some(builtin) = builtin().iter().find(|builtin| builtin.name == name) {
        return parse(name, builtin.toml);
    }
    if site::folder_of(Path::new(name)).is_some() {
        let whole = std::fs::canonicalize(name);
        let whole = whole.map_err(|error| error::file(format!("reading {name}"), &error))?;
        return recorded(&whole.to_string_lossy(), args);
    }
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some(har) if har.eq_ignore_ascii_case("har") => recorded(name, args),
        Some("toml") => parse(name, &read_toml(name)?),
        _ => Err(unknown_experiment(name)),
    }
}

/// Names the contenders that another client leaves nothing of.
fn tell_left_out(whole: &Experiment, experiment: &Experiment, client: &str) {
    let is_left = |name: &str| experiment.contenders.iter().any(|one| one.name == name);
    let names = whole.contenders.iter().map(|one| one.name.as_str());
    let gone: Vec<&str> = names.filter(|name| !is_left(name)).collect();
    if !gone.is_empty() {
        console::note(&format!(
            "{}: left out with --client {client}: {}: what sets them apart is of wirelap's own client",
            experiment.name,
            gone.join(", ")
        ));
    }
}

fn read_toml(name: &str) -> Result<String, CliError> {
    let bytes = regular::read(Path::new(name), LONGEST_TEXT)
        .map_err(|error| error::file(format!("reading the experiment {name}"), &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let (line, column) = position(&String::from_utf8_lossy(valid));
        CliError::misuse(format!("{name}, line {line}, column {column}: not UTF-8"))
            .remedy("an experiment is a text file in TOML (see `wirelap list`)")
    })
}

/// Where an experiment's file names a link; None where a flag or something built in does.
fn named_at(name: &str, link: &str) -> Option<String> {
    let text = if name.ends_with(".toml") { fs::read_to_string(name).ok()? } else { return None };
    let places = [format!("\"{link}\""), format!("'{link}'")];
    let place = places.iter().find_map(|quoted| text.rfind(quoted.as_str()))?;
    let (line, column) = position(&text[..place]);
    Some(format!("{name}, line {line}, column {column}"))
}

fn quick() -> Result<Experiment, CliError> {
    let quick = builtin().iter().find(|builtin| builtin.name == "quick");
    parse("quick", quick.map_or("", |builtin| builtin.toml))
}

/// The contenders and links of `quick`, loading the recorded page. Nobody wrote its baseline down: where the contenders chosen
/// are without it, the first of them is.
fn recorded(name: &str, args: &RaceArgs) -> Result<Experiment, CliError> {
    let page = HarWorkload {
        file: name.to_owned(),
        think: Think::Recorded,
        dependencies: Dependencies::Inferred,
        hosts: RecordedHosts::Apart,
    };
    let mut experiment = quick()?.over_pages(vec![page]);
    experiment.timeout = RECORDED_TIMEOUT;
    if let Some(first) = args.contenders.first()
        && !args.contenders.contains(&experiment.baseline)
    {
        experiment.baseline.clone_from(first);
    }
    for link in &mut experiment.links {
        // Each trial takes long, and warms up what the next one needs by itself.
        link.warmup = 0;
        link.trials = link.trials.min(RECORDED_TRIALS);
    }
    Ok(experiment)
}

/// A page of some megabytes takes half a minute on 3G, and as much again when connections compete.
const RECORDED_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(180);

/// The fewest with which every pair on three links can be decided.
const RECORDED_TRIALS: u32 = 9;

fn parse(name: &str, toml: &str) -> Result<Experiment, CliError> {
    let experiment: Experiment = toml.parse().map_err(|error: ExperimentError| {
        pointing_at((error.line, error.column), toml, format!("{name}, {error}"))
    })?;
    policy::check_choices(toml).map_err(|fault| {
        let (line, column) = fault.place(toml);
        pointing_at((line, column), toml, format!("{name}, line {line}, column {column}: {fault}"))
    })?;
    Ok(experiment)
}

/// A misuse at a line and a column of a text, which are shown.
fn pointing_at((line, column): (usize, usize), toml: &str, words: String) -> CliError {
    let line = toml.lines().nth(line - 1).unwrap_or_default();
    let pointer = " ".repeat(column - 1);
    let error = CliError::misuse(words);
    if line.is_empty() { error } else { error.remedy(format!("{line}\n{pointer}^")) }
}

fn overrides(args: &RaceArgs) -> Result<Overrides, CliError> {
    let links = split_links(&args.links);
    if links.is_empty() && !args.links.is_empty() {
        return Err(CliError::misuse("--links names no link")
            .remedy("such as --links 3g,wifi (see `wirelap list`)"));
    }
    Ok(Overrides {
        seed: args.seed.map(|seed| seed.0),
        trials: args.trials,
        margin: args.margin,
        baseline: args.baseline.clone(),
        contenders: args.contenders.clone(),
        client: args.client.clone(),
        links,
        extent: if args.fast { Extent::Fast } else { Extent::Whole },
        stopping: args.sequential.then_some(Stopping::Sequential),
        requests: args.requests,
        time_limit: args.until_decided,
        gates: args.gates.gates(),
    })
}

/// `3g,wifi` are two links; `3g,loss=1%` is one: a piece with `=` belongs to the link before it.
fn split_links(asked: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for argument in asked {
        let mut pieces = argument.split(',').map(str::trim).filter(|piece| !piece.is_empty());
        names.extend(pieces.next().map(str::to_owned));
        for piece in pieces {
            match names.last_mut() {
                Some(link) if piece.contains('=') => {
                    link.push(',');
                    link.push_str(piece);
                }
                _ => names.push(piece.to_owned()),
            }
        }
    }
    names
}

fn how_to_record(url: &str) -> CliError {
    CliError::misuse(format!("`{url}` is not of this machine, and wirelap sends nothing into the internet")).remedy(
        "record the page once, then race the recording: wirelap record URL -o site/, and then wirelap race site/\n\
         or by a browser of your own:\n\
         1. open the page in a browser with the developer tools' Network panel open (F12), and reload it\n\
         2. save the recording: \"Save all as HAR\" (Chrome, Edge, Firefox) or \"Export\" (Safari)\n\
         3. wirelap race FILE.har",
    )
}

/// What a name on the command line stands for: `published` is every built-in experiment that runs a published
/// measurement again.
pub(crate) fn expand(name: &str) -> Vec<&str> {
    if name != PUBLISHED {
        return vec![name];
    }
    let is_run_again = |toml: &str| {
        toml.parse().is_ok_and(|e: Experiment| e.published.is_some_and(|one| one.is_run_again()))
    };
    let names = builtin().iter().filter(|one| is_run_again(one.toml)).map(|one| one.name);
    names.collect()
}

const PUBLISHED: &str = "published";

fn unknown_experiment(name: &str) -> CliError {
    let path = Path::new(name);
    if path.is_dir() {
        return CliError::misuse(format!("{name} is a folder, and not that of a recorded site"))
            .remedy(
                "wirelap record URL -o FOLDER makes one; of recordings name one: FOLDER/page.har",
            );
    }
    if path.is_file() {
        return CliError::misuse(format!("{name} ends neither in .toml nor in .har"))
            .remedy("rename it: a HAR is JSON, and its name ends in .har");
    }
    let known = builtin().iter().map(|builtin| builtin.name);
    let known: Vec<&str> = known.chain([PUBLISHED]).collect();
    let guess = unit::nearest(name, known.iter().copied());
    let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
    CliError::misuse(format!("there is no experiment `{name}`")).remedy(format!(
        "{guess}built in: {}; else give a file that ends in .toml or .har, or the folder of a recorded site",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::Tls;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: RaceArgs,
    }

    fn args(words: &[&str]) -> RaceArgs {
        let line: Line = clap::Parser::parse_from(["race"].iter().chain(words));
        line.args
    }

    #[test]
    fn a_url_of_this_machine_is_raced_over_the_contenders_that_are_asked_for() {
        let url = "http://127.0.0.1:3000/api/items";
        let found = read(url, &args(&[url])).unwrap();
        let names: Vec<&str> = found.workloads.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["serial-20xGET-api-items", "parallel-20xGET-api-items"]);
        let ways: Vec<_> =
            found.contenders.iter().map(|one| (one.name.as_str(), one.tls)).collect();
        assert_eq!(ways, [("h1", Tls::None), ("h2", Tls::None)]);
        let url = "https://localhost:3443/";
        let words = [url, "--contenders", "h2,spdy", "--server-name", "shop.test", "-k", "-n", "3"];
        let found = read(url, &args(&words)).unwrap();
        assert_eq!(found.baseline, "h2");
        assert!(found.contenders.iter().all(|one| one.tls == Tls::V1_3));
        let service = found.contenders[0].service().unwrap();
        assert_eq!((service.host(), service.port(), service.insecure), ("shop.test", None, true));
        let error = read("quick", &args(&["quick", "--server-name", "a"])).unwrap_err();
        assert!(error.to_string().contains("--server-name is for URLs"), "{error}");
    }

    #[test]
    fn the_first_contender_chosen_of_a_recording_is_its_baseline_where_the_default_is_left_out() {
        let baseline = |words: &[&str]| read("shop.har", &args(words)).unwrap().baseline;
        assert_eq!(baseline(&["shop.har"]), "h1-tls");
        assert_eq!(baseline(&["shop.har", "--contenders", "h2,h1-tls"]), "h1-tls");
        assert_eq!(baseline(&["shop.har", "--contenders", "h3,h2"]), "h3");
    }

    #[test]
    fn a_piece_with_an_equals_sign_belongs_to_the_link_before_it() {
        let asked = ["3g,wifi", "lan,loss=1%", "rtt=60ms,down=10mbit"].map(str::to_owned);
        assert_eq!(split_links(&asked), ["3g", "wifi", "lan,loss=1%", "rtt=60ms,down=10mbit"]);
    }

    #[test]
    fn a_url_is_told_how_to_become_a_recording() {
        let error = read("https://example.org/", &args(&["quick"])).unwrap_err();
        assert!(error.to_string().contains("wirelap race FILE.har"), "{error}");
    }

    #[test]
    fn what_is_there_and_no_experiment_is_told_as_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("my.json");
        std::fs::write(&json, "{}").unwrap();
        for (path, told) in
            [(folder.path(), "is a folder"), (&json, "neither in .toml nor in .har")]
        {
            let error = unknown_experiment(path.to_str().unwrap()).to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn an_unknown_experiment_suggests_the_nearest() {
        let error = read("qiuck", &args(&["quick"])).unwrap_err();
        assert!(error.to_string().contains("did you mean `quick`?"), "{error}");
    }

    #[test]
    fn published_is_every_experiment_that_runs_a_published_one_again() {
        let all = [
            "first-paint",
            "h2-push",
            "http3-loss",
            "jvm-downloads",
            "jvm-many",
            "spdy-images",
            "twitter-api",
            "twitter-conditions",
            "twitter-desktop",
            "websocket-echo",
        ];
        let mut published = expand("published");
        published.sort_unstable();
        assert_eq!(published, all);
        assert_eq!(expand("quick"), ["quick"]);
    }

    #[test]
    fn every_built_in_experiment_can_be_selected() {
        for builtin in builtin() {
            let experiment = read(builtin.name, &args(&["quick"])).unwrap();
            experiment
                .links
                .iter()
                .for_each(|link| drop(link_spec(link, |file| PathBuf::from(file)).unwrap()));
        }
    }
}
