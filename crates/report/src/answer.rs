//! The answer to an experiment's question, in one sentence for each workload. Regressions come first, then the fastest,
//! then what is level or undecided. The one rule: a sentence says no more than the verdicts do.

use crate::Report;
use crate::number::{self, Percent};
use crate::overview::{Group, load, measure};
use crate::way_out::way_out;
use crate::words::{failures, listed, ratio, saved, sentence_case};
use study::comparison::Verdict;
use study::deciding_metric;
use study::experiment::{Workload, WorkloadKind};
use study::metric;
use study::result::{CellResult, Ranked};

/// A part of the sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    /// What was found.
    pub(crate) text: String,
    /// The ratio as text: `0.56× [0.55, 0.57]`; None where no single ratio describes the finding.
    pub(crate) ratio: Option<String>,
    /// The command that decides it, for a shell.
    pub(crate) command: Option<String>,
}

impl Clause {
    pub(crate) fn plain(text: String) -> Self {
        Self { text, ratio: None, command: None }
    }
}

/// What was found of one workload.
#[derive(Debug, Clone)]
pub(crate) struct Answer<'a> {
    /// The workload's name, where there are several.
    pub(crate) workload: Option<&'a str>,
    /// The sentence as markup; empty where nothing could be compared.
    pub(crate) clauses: Vec<Clause>,
}

impl Answer<'_> {
    /// The sentence as plain text; None where it is empty.
    pub(crate) fn sentence(&self) -> Option<String> {
        let clause = |clause: &Clause| {
            let ratio = clause.ratio.as_ref().map(|ratio| format!(" ({ratio})"));
            let command = clause.command.as_ref().map(|command| format!(": {command}"));
            [Some(clause.text.clone()), ratio, command].into_iter().flatten().collect::<String>()
        };
        let clauses: Vec<String> = self.clauses.iter().map(clause).collect();
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }
}

/// One sentence for each workload with verdicts.
pub(crate) fn answers<'a>(report: &Report<'a>) -> Vec<Answer<'a>> {
    let groups: Vec<Group<'_>> =
        report.groups().into_iter().filter(|group| group.verdicts.is_some()).collect();
    let workloads: Vec<&[Group<'_>]> =
        groups.chunk_by(|a, b| a.workload.name == b.workload.name).collect();
    let named = workloads.len() > 1;
    workloads
        .into_iter()
        .map(|groups| {
            let workload = named.then_some(groups[0].workload.name.as_str());
            let mut clauses = sentence(groups, report.result.margin);
            clauses.extend(way_out(report, groups));
            Answer { workload, clauses }
        })
        .collect()
}

/// The title of `group`'s picture: its finding without ratios.
pub(crate) fn finding(group: &Group<'_>, margin: f64) -> String {
    if group.verdicts.is_none() {
        let measure = sentence_case(measure(group.workload));
        let (link, workload) = (&group.link.name, &group.workload.name);
        return format!("{measure} of each trial on {link} with {workload}");
    }
    let clauses = sentence(std::slice::from_ref(group), margin);
    clauses.into_iter().map(|clause| clause.text).collect::<Vec<_>>().join("; ")
}

/// The clauses about `groups`, which are one workload's links. The first clause begins with a capital letter.
fn sentence(groups: &[Group<'_>], margin: f64) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = groups.iter().filter_map(regression).collect();
    let mut leads: Vec<Lead<'_>> = groups.iter().filter_map(Lead::of).collect();
    leads.sort_by(|a, b| b.least_saved().total_cmp(&a.least_saved()));
    let mut before: Option<String> = None;
    for lead in leads {
        clauses.push(lead.clause(before.as_deref()));
        before = Some(lead.names());
    }
    clauses.extend(unencrypted(groups));
    clauses.extend(without_difference(groups, margin));
    if let Some(first) = clauses.first_mut() {
        first.text = sentence_case(&first.text);
    }
    clauses
}

/// The contenders that are slower than the baseline on a link, the slowest first.
fn regression(group: &Group<'_>) -> Option<Clause> {
    let baseline = &group.verdicts?.baseline;
    let mut slower = group.with_verdict(Verdict::Slower);
    let size = |ranked: &Ranked| ranked.comparison.ratio.map_or(1.0, |ratio| ratio.0);
    slower.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let link = &group.link.name;
    let by = |ranked: &Ranked| {
        ratio(&ranked.comparison).map(|ratio| format!("{}× {}", ratio.number(), ratio.interval()))
    };
    match slower.as_slice() {
        [] => None,
        [one] => {
            let much = saved(group, one).map_or_else(String::new, |much| format!(" {much}"));
            let failed = told_failures(group, one);
            let text =
                format!("on {link}, {} is{much} slower than {baseline}{failed}", one.contender);
            Some(Clause { ratio: by(one), ..Clause::plain(text) })
        }
        several => {
            let name = |ranked: &&Ranked| {
                let told = [by(ranked), failures(group, ranked)].into_iter().flatten();
                match told.collect::<Vec<_>>().join("; ") {
                    told if told.is_empty() => ranked.contender.clone(),
                    told => format!("{} ({told})", ranked.contender),
                }
            };
            let names = up_to_three(several.iter().map(name).collect());
            Some(Clause::plain(format!("on {link}, {names} are slower than {baseline}")))
        }
    }
}

/// `: h1-tls failed in 11 of 14 trials, h2 in none`; empty where neither failed.
fn told_failures(group: &Group<'_>, ranked: &Ranked) -> String {
    failures(group, ranked).map_or_else(String::new, |told| format!(": {told}"))
}

/// In a page race with TLS, every contender besides the baseline may be without TLS. The sentence then states what they
/// save as a fact, not as advice.
fn unencrypted(groups: &[Group<'_>]) -> Vec<Clause> {
    let clause = |group: &Group<'_>| {
        let all = &group.verdicts?.ranking;
        if !group.none_advisable() {
            return None;
        }
        let clear = all.iter().find(|r| r.comparison.verdict == Verdict::Faster)?;
        let much = saved(group, clear)?;
        let (link, name) = (&group.link.name, &clear.contender);
        let baseline = &group.verdicts?.baseline;
        Some(Clause::plain(format!(
            "on {link}, {name}, not encrypted, is {much} sooner than {baseline}"
        )))
    };
    groups.iter().filter_map(clause).collect()
}

/// What is level or undecided. Links with the same finding share a clause.
fn without_difference(groups: &[Group<'_>], margin: f64) -> Vec<Clause> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for group in groups {
        for what in level_or_undecided(group, margin) {
            match said.iter_mut().find(|(other, _)| *other == what) {
                Some((_, links)) => links.push(&group.link.name),
                None => said.push((what, vec![&group.link.name])),
            }
        }
    }
    let clause = |(what, links): (String, Vec<&str>)| format!("on {}, {what}", all_of(&links));
    said.into_iter().map(|said| Clause::plain(clause(said))).collect()
}

/// The links in words. A link that is its own figures has commas in its name, which do not set it apart from the next.
fn all_of(links: &[&str]) -> String {
    match links.iter().any(|link| link.contains(',')) {
        true => links.join(" and "),
        false => listed(links),
    }
}

fn level_or_undecided(group: &Group<'_>, margin: f64) -> Vec<String> {
    let all = group.verdicts.map_or(&[][..], |verdicts| &verdicts.ranking);
    // Undecided means that more trials may decide it. Where no two contenders ran in one block there is no finding at
    // all.
    if all.iter().all(|ranked| ranked.comparison.ratio.is_none()) {
        return vec![nothing_compared(group)];
    }
    let mut said = Vec::new();
    // A contender that is there only for comparison with HTTPS is no alternative to the baseline.
    let is_told = |ranked: &&&Ranked| group.is_advisable(ranked) || group.none_advisable();
    let ties = group.with_verdict(Verdict::Tie);
    let ties: Vec<String> =
        ties.iter().filter(is_told).map(|ranked| ranked.contender.clone()).collect();
    let margin = Percent(margin);
    let slower = slower_ties(group);
    let decided = group.decided_pairs();
    if group.with_verdict(Verdict::Tie).len() == all.len() {
        let baseline = group.verdicts.map_or("", |verdicts| &verdicts.baseline);
        let with = if decided.is_empty() { String::new() } else { format!(" with {baseline}") };
        let pair = |(fast, slow): &(&str, &str)| format!("{fast} is faster than {slow}");
        let pairs = up_to_three(decided.iter().map(pair).collect());
        let pairs = if pairs.is_empty() { pairs } else { format!("; {pairs}") };
        said.push(format!("all tie{with} within {margin}{slower}{pairs}"));
    } else if !ties.is_empty() && group.winner().is_none() {
        let baseline = group.verdicts.map_or("", |verdicts| &verdicts.baseline);
        let (verb, names) = (if ties.len() == 1 { "ties" } else { "tie" }, up_to_three(ties));
        said.push(format!("{names} {verb} with {baseline} within {margin}{slower}"));
    }
    // In the order of the experiment: that of the ranking differs from link to link.
    let mut undecided = group.with_verdict(Verdict::Undecided);
    undecided.sort_by_key(|one| {
        group.cells.iter().position(|cell| cell.contender.name == one.contender)
    });
    let undecided: Vec<String> = undecided.iter().map(|one| one.contender.clone()).collect();
    match undecided.len() {
        0 => {}
        1 => said.push(format!("{} is undecided", undecided[0])),
        many if many == all.len() && decided.is_empty() => {
            said.push("nothing is decided".to_owned());
        }
        _ => said.push(format!("{} are undecided", up_to_three(undecided))),
    }
    said
}

/// That there is no finding, and why, where the baseline alone could not run.
fn nothing_compared(group: &Group<'_>) -> String {
    let could_run = |cell: &CellResult| cell.trials.unsupported < cell.trials.all();
    let Some(baseline) = group.baseline().filter(|cell| !could_run(cell)) else {
        return "nothing could be compared".to_owned();
    };
    let name = &baseline.contender.name;
    match group.cells.iter().any(|cell| could_run(cell)) {
        true => format!(
            "{name}, the baseline, cannot run here, so nothing is compared with it; --baseline takes another one"
        ),
        false => "nothing could be compared".to_owned(),
    }
}

/// Those that tie within the margin and yet are surely slower, with their ratios; empty without any.
fn slower_ties(group: &Group<'_>) -> String {
    let ties = group.with_verdict(Verdict::Tie).into_iter();
    let slower = ties.filter(|ranked| Group::slower_within_margin(ranked));
    let named = slower.filter_map(|ranked| {
        let ratio = ratio(&ranked.comparison)?;
        Some(format!("{} {}× {}", ranked.contender, ratio.number(), ratio.interval()))
    });
    match up_to_three(named.collect()) {
        named if named.is_empty() => named,
        named => format!(", though slower: {named}"),
    }
}

/// `a, b and c`; of more than three, the first two and the number of the others.
fn up_to_three(names: Vec<String>) -> String {
    match names.len() {
        0..=3 => listed(&names),
        all => format!("{} and {} more", names[..2].join(", "), all - 2),
    }
}

/// Those who are ahead on a link.
pub(crate) struct Lead<'a> {
    group: &'a Group<'a>,
    leaders: Vec<&'a Ranked>,
    /// The one that saves least: what is said of it holds for all of them.
    least: &'a Ranked,
}

impl<'a> Lead<'a> {
    /// None where nobody beats the baseline.
    pub(crate) fn of(group: &'a Group<'a>) -> Option<Self> {
        let leaders = group.leaders();
        let saving = |ranked: &&&Ranked| ranked.saved_s.unwrap_or(0.0);
        let least = *leaders.iter().min_by(|a, b| saving(a).total_cmp(&saving(b)))?;
        Some(Self { group, leaders, least })
    }

    fn least_saved(&self) -> f64 {
        self.least.saved_s.unwrap_or(0.0)
    }

    /// Their names.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.leaders.iter().map(|r| r.contender.as_str()).collect();
        listed(&names)
    }

    /// Which view of a page was judged of whom, where anybody's was a next one.
    fn views(&self) -> Views {
        let is_next = |name: &str| {
            self.group.cell(name).is_some_and(|cell| cell.contender.settings.next_view.is_some())
        };
        let all = self.leaders.len();
        let next = self.leaders.iter().filter(|leader| is_next(&leader.contender)).count();
        let of_baseline = self.group.verdicts.is_some_and(|all| is_next(&all.baseline));
        match (next, of_baseline) {
            (0, false) => Views::default(),
            (next, true) if next == all => Views { are_next: true, ..Views::default() },
            (next, _) => Views {
                own: match (next, all) {
                    (0, 1) => ", on its first view,",
                    (0, _) => ", on their first views,",
                    (_, 1) => ", on its next view,",
                    (next, all) if next == all => ", on their next views,",
                    _ => ", some on their next views,",
                },
                baselines: if of_baseline { " on its next" } else { " on its first" },
                ..Views::default()
            },
        }
    }

    /// `before` names the fastest contenders earlier in the clause.
    fn clause(&self, before: Option<&str>) -> Clause {
        let link = &self.group.link.name;
        let names = self.names();
        let baseline = self.group.verdicts.map_or("", |v| &v.baseline);
        let (verb, beat) = if self.leaders.len() == 1 { ("s", "beats") } else { ("", "beat") };
        let text = match (saved(self.group, self.least), before) {
            (Some(saved), None) => {
                let Views { are_next, own, baselines } = self.views();
                let what = done(self.group.workload, verb, are_next);
                format!("on {link}, {names}{own} {what} {saved} sooner than {baseline}{baselines}")
            }
            (Some(saved), Some(before)) if before == names => format!("on {link} {saved} sooner"),
            (Some(saved), Some(_)) => format!("on {link}, {names} {saved} sooner"),
            (None, _) => {
                let failed = told_failures(self.group, self.least);
                format!("on {link}, {names} {beat} {baseline}{failed}")
            }
        };
        let ratio = ratio(&self.least.comparison);
        Clause {
            text,
            ratio: ratio.map(|ratio| format!("{}× {}", ratio.number(), ratio.interval())),
            command: None,
        }
    }
}

/// What a clause says of views: whether all of them are next ones; else what it adds to those ahead, and to the baseline.
#[derive(Default)]
struct Views {
    are_next: bool,
    own: &'static str,
    baselines: &'static str,
}

/// What a contender does with `workload`; `verb` ends the verb.
fn done(workload: &Workload, verb: &str, is_next_view: bool) -> String {
    match deciding_metric(workload) {
        metric::MEAN_MS => format!("answer{verb} a call"),
        metric::TOTAL_MS if matches!(workload.kind, WorkloadKind::Echo(_)) => {
            format!("answer{verb} all messages")
        }
        metric::TOTAL_MS => format!("answer{verb} all calls"),
        metric::FIRST_TOKEN_MS => format!("bring{verb} the first token"),
        metric::WALL_MS => format!("download{verb} the files"),
        name if metric::PAINT_TIMES.contains(&name) => {
            let view = if is_next_view { " of the next view" } else { "" };
            format!("bring{verb} the {}{view}", metric::words(name))
        }
        _ => format!("load{verb} the page{}", if is_next_view { "'s next view" } else { "" }),
    }
}

/// What a contender took that raced alone: `h2 loads the page in 1.33 s [1.33, 1.34] on 4g`. None where there are others, and where
/// it was not measured.
pub(crate) fn alone(report: &Report<'_>) -> Option<String> {
    let groups = report.groups();
    let raced: Vec<&Group<'_>> =
        groups.iter().filter(|group| group.workload.check_of.is_none()).collect();
    if !raced.iter().all(|group| group.is_of_one()) {
        return None;
    }
    let workloads = raced.chunk_by(|a, b| a.workload.name == b.workload.name);
    let told = |groups: &[&Group<'_>]| {
        let cell = groups[0].cells[0];
        let times: Vec<String> = groups
            .iter()
            .filter_map(|group| {
                Some(format!("{} on {}", number::summary(load(group.cells[0])?), group.link.name))
            })
            .collect();
        let is_next_view = cell.contender.settings.next_view.is_some();
        let does = done(&cell.workload, "s", is_next_view);
        let name = &cell.contender.name;
        (!times.is_empty()).then(|| format!("{name} {does} in {}", times.join(", ")))
    };
    let told: Vec<String> = workloads.filter_map(told).collect();
    (!told.is_empty()).then(|| told.join("; "))
}
