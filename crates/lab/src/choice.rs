//! From what the user named to the experiments that run: built-in names, files, pages, and the flags
//! that change them. Everything is read and checked here, before anything runs.

use crate::cli::RaceArgs;
use crate::trouble::{self, Trouble};
use link::{LinkSpec, SpecError};
use std::fs;
use std::path::{Path, PathBuf};
use study::experiment::{
    Dependencies, Experiment, HarWorkload, LinkChoice, MARGINS, Think, Workload, WorkloadKind, builtin,
};

/// An experiment ready to be planned.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The experiment, every flag applied. Workloads name their files as they are called in the run's folder.
    pub(crate) experiment: Experiment,
    /// Files to copy into the run's folder: where each is, and what it is called there.
    pub(crate) files: Vec<(PathBuf, String)>,
}

/// Reads what `name` stands for and applies the flags.
pub(crate) fn choose(name: &str, args: &RaceArgs) -> Result<Chosen, Trouble> {
    let mut experiment = read(name)?;
    apply(&mut experiment, args)?;
    let files = gather_files(name, &mut experiment)?;
    for link in &experiment.links {
        link_spec(link)?;
    }
    Ok(Chosen { experiment, files })
}

/// The link that a choice stands for.
pub(crate) fn link_spec(choice: &LinkChoice) -> Result<LinkSpec, Trouble> {
    read_link(choice.text())
}

/// Reads a link, with its trace files.
pub(crate) fn read_link(text: &str) -> Result<LinkSpec, Trouble> {
    let load = |file: &str| fs::read_to_string(file).map_err(|error| error.to_string());
    LinkSpec::parse(text, load).map_err(|error| {
        let known: Vec<&str> = link::profiles().iter().map(|profile| profile.name).collect();
        let remedy = match &error {
            SpecError::UnknownProfile { .. } => format!(
                "links with a name: {}; or give figures, such as rtt=60ms,down=10mbit,up=2mbit,loss=0.5%",
                known.join(", ")
            ),
            _ => "such as rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB".to_owned(),
        };
        Trouble::misuse(error).remedy(remedy)
    })
}

fn read(name: &str) -> Result<Experiment, Trouble> {
    if name.starts_with("http://") || name.starts_with("https://") {
        return Err(Trouble::misuse(format!("`{name}` is a URL, and wirelap sends nothing into the internet")).remedy(
            "record the page once, then race the recording: open it in a browser with the developer tools' Network \
             panel open (F12), reload, choose \"Save all as HAR\" (Firefox, Chrome, Edge: right click on the list; \
             Safari: Export), then: wirelap race FILE.har",
        ));
    }
    if let Some(builtin) = builtin().iter().find(|builtin| builtin.name == name) {
        return parse(name, builtin.toml);
    }
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("har") => {
            let workload =
                HarWorkload { file: name.to_owned(), think: Think::Recorded, dependencies: Dependencies::Inferred };
            har_experiment(Workload::har(workload))
        }
        Some("toml") => {
            let text = fs::read_to_string(name)
                .map_err(|error| trouble::file(format!("reading the experiment {name}"), &error))?;
            parse(name, &text)
        }
        _ => Err(unknown_experiment(name)),
    }
}

fn parse(name: &str, toml: &str) -> Result<Experiment, Trouble> {
    toml.parse().map_err(|error: study::experiment::ExperimentError| {
        let line = toml.lines().nth(error.line - 1).unwrap_or_default();
        let pointer = " ".repeat(error.column - 1);
        Trouble::misuse(format!("{name}, {error}")).remedy(format!("{line}\n{pointer}^"))
    })
}

/// The contenders and links of `quick`, loading the recorded page; its trials on slow links are fewer, as each
/// takes many seconds, and each of its verdicts is put to the proof with flat dependencies.
fn har_experiment(workload: Workload) -> Result<Experiment, Trouble> {
    let quick = builtin().iter().find(|builtin| builtin.name == "quick");
    let quick = parse("quick", quick.map_or("", |builtin| builtin.toml))?;
    let check = workload.flat_check();
    let name = workload.name.clone();
    let mut experiment = quick.with_workloads([Some(workload), check].into_iter().flatten().collect());
    experiment.title = format!("page: {name}, as recorded, cold");
    experiment.question = format!("Which HTTP loads {name} soonest?");
    experiment.not_covered = ["loss", "h3", "warm cache", "CPU of a real browser", "differing distances of hosts"]
        .map(str::to_owned)
        .into();
    experiment.timeout = HAR_TIMEOUT;
    experiment.name = name;
    for link in &mut experiment.links {
        link.warmup = 0;
        link.trials = link.trials.min(HAR_TRIALS);
    }
    Ok(experiment)
}

/// A page of some megabytes takes half a minute on 3G, and as much again when connections compete.
const HAR_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

/// Enough for the rule to decide, and a page with a check in ten minutes.
const HAR_TRIALS: u32 = 8;

fn apply(experiment: &mut Experiment, args: &RaceArgs) -> Result<(), Trouble> {
    if let Some(seed) = args.seed {
        experiment.seed = seed.0;
    }
    if let Some(margin) = args.margin {
        if !MARGINS.contains(&margin) {
            return Err(Trouble::misuse(format!("a margin of {margin} is out of range"))
                .remedy(format!("from {} to {}, such as 5%", MARGINS.start(), MARGINS.end())));
        }
        experiment.margin = margin;
    }
    if !args.links.is_empty() {
        replace_links(experiment, &args.links);
    }
    if !args.contenders.is_empty() {
        keep_contenders(experiment, &args.contenders)?;
    }
    if let Some(baseline) = &args.baseline {
        if experiment.contender(baseline).is_none() {
            return Err(unknown_contender(experiment, baseline));
        }
        experiment.baseline.clone_from(baseline);
    }
    if let Some(trials) = args.trials {
        experiment.links.iter_mut().for_each(|link| link.trials = trials);
    }
    Ok(())
}

/// `3g,wifi` are two links; `3g,loss=1%` is one: a piece with `=` belongs to the link before it.
fn replace_links(experiment: &mut Experiment, asked: &[String]) {
    let most = experiment.links.iter().map(|link| (link.trials, link.warmup)).max().unwrap_or((10, 1));
    let mut names: Vec<String> = Vec::new();
    for argument in asked {
        let mut first = true;
        for piece in argument.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
            match names.last_mut() {
                Some(link) if !first && piece.contains('=') => {
                    link.push(',');
                    link.push_str(piece);
                }
                _ => names.push(piece.to_owned()),
            }
            first = false;
        }
    }
    names.dedup();
    let links = names.into_iter().map(|name| {
        let own = experiment.links.iter().find(|link| link.name == name).cloned();
        own.unwrap_or(LinkChoice { name, figures: None, trials: most.0, warmup: most.1 })
    });
    experiment.links = links.collect();
}

fn keep_contenders(experiment: &mut Experiment, asked: &[String]) -> Result<(), Trouble> {
    if let Some(unknown) = asked.iter().find(|name| experiment.contender(name).is_none()) {
        return Err(unknown_contender(experiment, unknown));
    }
    experiment.contenders.retain(|contender| asked.contains(&contender.name));
    if experiment.contender(&experiment.baseline).is_none() {
        experiment.baseline.clone_from(&experiment.contenders[0].name);
    }
    Ok(())
}

/// Notes which files the workloads read, checks that they are what they should be, and renames them to what they
/// are called in the run's folder. Files of an experiment's file stand relative to it.
fn gather_files(name: &str, experiment: &mut Experiment) -> Result<Vec<(PathBuf, String)>, Trouble> {
    let beside = if name.ends_with(".toml") { Path::new(name).parent() } else { None };
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for workload in &mut experiment.workloads {
        let WorkloadKind::Har(har) = &mut workload.kind else { continue };
        let path = beside.map_or_else(|| PathBuf::from(&har.file), |folder| folder.join(&har.file));
        let called = path.file_name().map_or_else(String::new, |file| file.to_string_lossy().into_owned());
        if !files.iter().any(|(known, _)| *known == path) {
            crate::har::read(&path, har)?;
            if files.iter().any(|(_, other)| *other == called) {
                return Err(Trouble::misuse(format!("two HAR files of the experiment are called {called}"))
                    .remedy("rename one of them"));
            }
            files.push((path, called.clone()));
        }
        har.file = called;
    }
    Ok(files)
}

fn unknown_experiment(name: &str) -> Trouble {
    let known: Vec<&str> = builtin().iter().map(|builtin| builtin.name).collect();
    let guess = study::nearest(name, known.iter().copied());
    let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
    Trouble::misuse(format!("there is no experiment `{name}`")).remedy(format!(
        "{guess}built in: {}; else give a file that ends in .toml or .har",
        known.join(", ")
    ))
}

fn unknown_contender(experiment: &Experiment, name: &str) -> Trouble {
    let known: Vec<&str> = experiment.contenders.iter().map(|contender| contender.name.as_str()).collect();
    let guess = study::nearest(name, known.iter().copied());
    let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
    Trouble::misuse(format!("`{}` has no contender `{name}`", experiment.name))
        .remedy(format!("{guess}it has: {}", known.join(", ")))
}
