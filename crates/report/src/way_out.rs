//! What gives a run an answer where it has none. The one rule: everything that advises a command advises the same one.

use crate::answer::Clause;
use crate::number::Ratio;
use crate::overview::Group;
use crate::words::{audited, ratio};
use crate::{Report, command};
use study::blocks::Audited;
use study::comparison::{Comparison, Verdict};
use study::experiment::Experiment;
use study::family::blocks_for_all;
use study::result::{RunResult, Verdicts};
use unit::counted;

/// The command that makes the run in `folder` again so that what is undecided can be decided: with more trials, where so many
/// are needed. None where nothing is undecided or more trials would not decide it. Trials that are added to a judged run
/// are for exploring: a new run decides. A merged run is made again by its shards.
pub fn again(experiment: &Experiment, result: &RunResult, folder: &str) -> Option<String> {
    if !result.machines.is_empty() {
        return None;
    }
    let mut tables: Vec<&Verdicts> = result.verdicts.iter().collect();
    tables.sort_by_key(|table| &table.workload);
    let workloads = tables.chunk_by(|a, b| a.workload == b.workload);
    // So many are enough for each workload's sentence.
    let trials = workloads
        .clone()
        .filter_map(|tables| Needed::of(&undecided(tables)).map(|needed| needed.trials));
    let is_refused = |table: &Verdicts| {
        let mut cells = result.cells.iter().filter(|cell| cell.audited.invalid > 0);
        cells.any(|one| one.workload.name == table.workload && one.link.name == table.link)
    };
    let refused = |table: &&&Verdicts| {
        is_refused(table) && compares_nothing(&undecided(std::slice::from_ref(*table)))
    };
    let refused: Vec<&&Verdicts> = tables.iter().filter(refused).collect();
    let too_few = refused.iter().filter_map(|table| {
        let least = blocks_for_all(table.ranking.len());
        let link = experiment.links.iter().find(|link| link.name == table.link)?;
        (link.trials > 0 && link.trials < least).then_some(least)
    });
    let trials = trials.chain(too_few).max();
    let mut arguments = vec!["wirelap", "race", "--again", folder];
    let trials = trials.map(|trials| trials.to_string());
    if let Some(trials) = &trials {
        arguments.extend(["--trials", trials]);
    }
    (trials.is_some() || !refused.is_empty()).then(|| command::shell_line(&arguments))
}

/// The comparisons with the baseline that are undecided.
fn undecided<'t, T: std::borrow::Borrow<Verdicts> + 't>(
    tables: impl IntoIterator<Item = &'t T>,
) -> Vec<&'t Comparison> {
    let all = tables.into_iter().flat_map(|table| &table.borrow().ranking);
    let comparisons = all.map(|ranked| &ranked.comparison);
    comparisons.filter(|one| one.verdict == Verdict::Undecided).collect()
}

/// Whether there are comparisons, and none has a figure.
fn compares_nothing(undecided: &[&Comparison]) -> bool {
    !undecided.is_empty() && undecided.iter().all(|one| one.ratio.is_none())
}

/// How many trials decide what is undecided.
struct Needed {
    trials: u32,
    /// How many those had that need so many.
    had: u32,
    /// Whether they decide all of it. All are meant where there are too few for any answer.
    for_all: bool,
}

impl Needed {
    fn of(undecided: &[&Comparison]) -> Option<Self> {
        let mut enough: Vec<(u32, u32)> = undecided
            .iter()
            .filter_map(|one| Some((one.trials_to_add()? + one.n, one.n)))
            .collect();
        enough.sort_unstable();
        let too_few = undecided.iter().all(|one| ratio(one).is_none_or(Ratio::is_anything));
        let for_all = too_few && enough.len() == with_ratios(undecided);
        let (trials, had) = *(if for_all { enough.last() } else { enough.first() })?;
        Some(Self { trials, had, for_all })
    }
}

fn with_ratios(undecided: &[&Comparison]) -> usize {
    undecided.iter().filter(|one| one.ratio.is_some()).count()
}

/// Why comparisons with the baseline are undecided, where one cause is behind all that are, and the command that decides
/// them; None where nothing is undecided, and where more trials would not decide it.
pub(crate) fn way_out(report: &Report<'_>, groups: &[Group<'_>]) -> Option<Clause> {
    let undecided = undecided(groups.iter().filter_map(|group| group.verdicts.as_ref()));
    if compares_nothing(&undecided) {
        return refused(report, groups);
    }
    let needed = Needed::of(&undecided)?;
    let (trials, many) = (needed.trials, with_ratios(&undecided));
    let cause = match (needed.for_all, many) {
        (true, _) => format!("{} too few, {trials} would do", are(needed.had)),
        (false, 1) => format!("about {trials} trials would decide it"),
        (false, _) => format!("about {trials} trials would decide the first of these"),
    };
    Some(Clause { command: report.again.map(str::to_owned), ..Clause::plain(cause) })
}

fn are(trials: u32) -> String {
    format!("{} {}", counted(trials, "trial"), if trials == 1 { "is" } else { "are" })
}

/// That the audit refused so much that no times are left.
fn refused(report: &Report<'_>, groups: &[Group<'_>]) -> Option<Clause> {
    let cells = groups.iter().flat_map(|group| group.cells.iter().copied());
    let Audited { trials: attempts, invalid: refused } = audited(cells);
    (refused > 0).then(|| {
        let cause = format!("the audit refused {refused} of {attempts} attempts");
        let cause = match report.again {
            Some(_) => format!("{cause}; on a quiet machine"),
            None => cause,
        };
        Clause { command: report.again.map(str::to_owned), ..Clause::plain(cause) }
    })
}
