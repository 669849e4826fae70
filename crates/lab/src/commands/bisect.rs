//! `wirelap bisect`: the commit that broke a gate.

use crate::bisect::comparison::{Compared, Plan};
use crate::bisect::git::{Commit, Repository, forget_repository};
use crate::cli::BisectArgs;
use crate::console;
use crate::error::{self, CliError};
use crate::race::run_folder::RunFolder;
use os::signal::Interrupts;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use study::bisect::{Judgement, Search, Step};
use study::gate::GateOutcome;

/// The exit code where the commits could not be told apart.
const UNDECIDED: u8 = 4;

/// Searches, and prints each step as it comes.
pub(crate) fn run(args: &BisectArgs) -> Result<ExitCode, CliError> {
    if args.gate.names_contenders() {
        return Err(CliError::misuse(format!("`{}` names contenders", args.gate))
            .remedy("leave them away: each commit is set over GOOD"));
    }
    let repository = Repository::open(&args.repository)?;
    let (good, bad) = (repository.commit(&args.good)?, repository.commit(&args.bad)?);
    let commits = repository.between(&good, &bad)?;
    let search = Search::new(commits.len());
    let plan =
        Plan::new(&args.experiment, args.contender.as_deref(), args.gate.clone(), PathBuf::new())?;
    os::net::probe()?;
    // From here on Ctrl-C comes back to us, and the checkouts are taken away.
    let interrupts = Interrupts::take()
        .map_err(|error| CliError::failed(format!("taking over Ctrl-C: {error}")))?;
    let folder = RunFolder::create_empty(args.out.as_deref(), "bisect")?;
    let folder = std::path::absolute(folder.path()).unwrap_or_else(|_| folder.path().to_owned());
    let mut bisection = Bisection { args, repository, plan, folder, interrupts, steps: Vec::new() };
    bisection.plan.good = bisection.folder.join("good");
    bisection.plan.error = search.error_of_each(args.error);
    bisection.plan.time_limit = args.until_decided;
    bisection.plan.no_wait = args.no_wait;
    bisection.plan.no_calibration = args.no_calibration;
    bisection.begin(&good, &commits, &search)?;
    bisection.search(&commits, search)
}

/// A search under way.
struct Bisection<'a> {
    args: &'a BisectArgs,
    repository: Repository,
    plan: Plan,
    folder: PathBuf,
    interrupts: Interrupts,
    /// The comparisons so far: of which commit, and what they came to.
    steps: Vec<(usize, Compared)>,
}

impl Bisection<'_> {
    fn begin(
        &mut self,
        good: &Commit,
        commits: &[Commit],
        search: &Search,
    ) -> Result<(), CliError> {
        let count = commits.len();
        let most = search.most();
        console::print(&format!(
            "{count} {} after {}, at most {most} {}: a chance of at most {:.2} % each and {:.2} % in all that a \
             judgement is wrong\n",
            if count == 1 { "commit" } else { "commits" },
            good.short(),
            if most == 1 { "comparison" } else { "comparisons" },
            100.0 * self.plan.error,
            100.0 * self.args.error,
        ))?;
        let checkout = self.plan.good.clone();
        self.repository.check_out(good, &checkout)?;
        match self.build(good, &checkout)? {
            true => Ok(()),
            false => Err(CliError::failed(format!("GOOD, {}, does not build", good.short()))),
        }
    }

    fn search(&mut self, commits: &[Commit], mut search: Search) -> Result<ExitCode, CliError> {
        loop {
            let index = match search.next() {
                Step::Compare(index) => index,
                end => return self.end(end, commits),
            };
            let commit = &commits[index];
            let number = self.steps.len() + 1;
            let checkout = self.folder.join(format!("build-{}", commit.short()));
            self.repository.check_out(commit, &checkout)?;
            if !self.build(commit, &checkout)? {
                if index + 1 == commits.len() {
                    return Err(CliError::failed(format!(
                        "BAD, {}, does not build",
                        commit.short()
                    )));
                }
                console::print(&format!("skipped  {}: it does not build\n", name(commit)))?;
                search.tell(index, Judgement::Skipped);
                continue;
            }
            let into = self.folder.join(format!("step-{number}-{}", commit.short()));
            let compared = self.plan.compare(&checkout, &into)?;
            if self.interrupts.count() > 0 {
                return Err(CliError::interrupted("the checkouts are removed"));
            }
            let (word, judgement) = match compared.outcome {
                GateOutcome::Passed => ("good", Some(Judgement::Good)),
                GateOutcome::Failed => ("bad", Some(Judgement::Bad)),
                GateOutcome::Inconclusive => ("undecided", None),
            };
            let finding = compared.gate.as_ref().map_or_else(String::new, report::gate_finding);
            console::print(&format!("{number}  {word:9}  {}: {finding}\n", name(commit)))?;
            self.steps.push((index, compared));
            match judgement {
                Some(judgement) => search.tell(index, judgement),
                None => return self.undecided(index, commit),
            }
        }
    }

    /// Runs BUILD; what it prints goes to standard error.
    fn build(&self, commit: &Commit, checkout: &Path) -> Result<bool, CliError> {
        let (program, words) = self.args.build.split_first().ok_or_else(|| {
            CliError::misuse("no BUILD is named")
                .remedy("`-- true` where there is nothing to build")
        })?;
        let stderr = std::io::Write::flush(&mut std::io::stderr())
            .and_then(|()| std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned())
            .map_err(|error| CliError::failed(format!("duplicating standard error: {error}")))?;
        let mut command = Command::new(program);
        command.args(words).current_dir(checkout).env("WIRELAP_COMMIT", &commit.id).stdout(stderr);
        forget_repository(&mut command);
        let status = command.status().map_err(|error| {
            CliError::misuse(format!("starting BUILD, `{program}`: {error}"))
                .remedy("BUILD is a program and its arguments, run in the checkout of each commit")
        })?;
        match self.interrupts.count() {
            0 => Ok(status.success()),
            _ => Err(CliError::interrupted("the checkouts are removed")),
        }
    }

    fn end(&self, end: Step, commits: &[Commit]) -> Result<ExitCode, CliError> {
        let error = 100.0 * self.args.error;
        match end {
            Step::Found(index) => {
                let mut text = format!("\nfirst bad commit: {}\n", name(&commits[index]));
                text.push_str(&format!(
                    "confidence: the chance that any of {} judgements is wrong is at most {error:.2} %, if what one commit breaks stays \
                     broken\n",
                    self.steps.len()
                ));
                text.push_str(&self.evidence(index));
                console::print(&text).map(|()| ExitCode::SUCCESS)
            }
            Step::NoneBad => {
                let last = commits.len() - 1;
                Err(CliError::misuse(format!("BAD, {}, passes the gate", name(&commits[last])))
                    .remedy(self.evidence(last).trim_end()))
            }
            Step::Between(first, last) => {
                let range: Vec<String> = commits[first..=last].iter().map(name).collect();
                console::print(&format!(
                    "\nthe first bad commit is one of {}:\n  {}\nthe others do not build, or the error is spent\n{}",
                    range.len(),
                    range.join("\n  "),
                    self.evidence(last)
                ))
                .map(|()| ExitCode::from(UNDECIDED))
            }
            Step::Compare(_) => Ok(ExitCode::from(UNDECIDED)),
        }
    }

    fn undecided(&self, index: usize, commit: &Commit) -> Result<ExitCode, CliError> {
        let failed = self.steps.last().map_or(&[][..], |(_, compared)| &compared.failed);
        let why = match failed {
            [] => "give it more time by --until-decided, a quieter machine, or another limit"
                .to_owned(),
            // More time mends no failure.
            sides => format!("{}; the report says why", sides.join(", and ")),
        };
        let text = format!("\nundecided at {}: {why}\n{}", name(commit), self.evidence(index));
        console::print(&text).map(|()| ExitCode::from(UNDECIDED))
    }

    /// The command that shows the comparison of a commit.
    fn evidence(&self, index: usize) -> String {
        let of = |(own, _): &&(usize, Compared)| *own == index;
        let compared = self.steps.iter().rev().find(of);
        compared.map_or_else(String::new, |(_, compared)| {
            // Without `..`, where the user's path has some.
            let run = compared.run.canonicalize();
            let run = run.as_ref().unwrap_or(&compared.run);
            format!("evidence: wirelap report {}\n", error::quoted(run))
        })
    }
}

fn name(commit: &Commit) -> String {
    format!("{} {}", commit.short(), commit.subject)
}
