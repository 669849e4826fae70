//! The result as lines for a terminal. The one rule: names and reasons from outside cannot move the cursor
//! or set a colour.

use crate::connections::ConnectionSummary;
use crate::cost::Cost;
use crate::hue::Hue;
use crate::number::{self, Percent};
use crate::overview::{Group, load, median_of};
use crate::{Assumptions, Report, answer, command, gates, metrics, waits, words};
use study::comparison::Verdict;
use study::experiment::WorkloadKind;
use study::published::Published;
use study::result::{CellResult, Ranked};

/// How the lines are to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether there are colours.
    pub colour: Colour,
    /// Columns of the terminal.
    pub width: usize,
}

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Yes: one for each transport, the same as in the page.
    On,
    /// No escape sequence at all.
    Off,
}

/// The result for a terminal, ending in a new line.
pub fn terminal(report: &Report<'_>, style: Style) -> String {
    let mut out = Lines::new(style);
    report.result.warnings.iter().for_each(|warning| out.labelled("WARNING", warning));
    report.result.notes.iter().for_each(|note| out.labelled("NOTE", note));
    out.wrapped(&words::conditions(report), 0);
    out.wrapped(&words::trials_line(report), 0);
    for machine in &report.result.machines {
        out.labelled(&machine.name, &words::machine(machine));
    }
    if let Some(calibration) = &report.result.host.calibration {
        out.labelled("calibration", &crate::calibration::line(calibration));
    }
    let groups = report.groups();
    let widths = Widths::of(&groups);
    let shown: Vec<&Group<'_>> =
        groups.iter().filter(|g| g.verdicts.is_some() || g.is_of_one()).collect();
    let workloads = shown.chunk_by(|a, b| a.workload.name == b.workload.name);
    let named = workloads.clone().count() > 1;
    for groups in workloads {
        if named {
            out.wrapped(&format!("{}: {}", groups[0].workload.name, groups[0].workload), 0);
        }
        if let Some(columns) = columns(report, groups) {
            out.wrapped(&columns, 2);
        }
        groups.iter().for_each(|group| block(&mut out, report, group, &widths));
        out.if_short("protocols", &protocols(report, groups));
    }
    summary(&mut out, report);
    if let Some(words) = words::exploratory(report.result) {
        out.labelled("exploratory", &words);
    }
    for line in gates::lines(&report.result.gates) {
        match line.strip_prefix("  ") {
            Some(place) => out.wrapped(&format!("  {}", place.replace('×', "x")), 4),
            None => out.labelled("gate", &line),
        }
    }
    for line in words::confidence(report) {
        out.labelled("confidence", &line);
    }
    words::same(report).iter().for_each(|line| out.wrapped(line, 2));
    if let Some(published) = &report.result.published {
        out.labelled("published", &published.title);
        for finding in &published.findings {
            let words = finding.verdict.words().to_uppercase();
            out.wrapped(&format!("  {words}: {}", finding.finding), 4);
            out.wrapped(&format!("    {}", finding.reason), 4);
        }
        for need in words::findings_need(report) {
            out.wrapped(&format!("  {need}"), 4);
        }
        open_question(&mut out, published);
    }
    for Assumptions { read_from, sentences } in report.assumptions {
        let label = if read_from.is_some() { "read from" } else { "assumed" };
        if let Some(name) = read_from {
            out.labelled(label, &format!("{name}:"));
        }
        for sentence in sentences {
            out.labelled(if read_from.is_some() { "" } else { label }, sentence);
        }
    }
    if !report.result.not_covered.is_empty() {
        out.labelled("not tested", &report.result.not_covered.join(", "));
    }
    let page = format!("{}/report.html", report.folder.trim_end_matches('/'));
    let path = command::shell_line(&[&page]);
    match report.next {
        Some(next) => {
            out.line(&format!("{}{}      next  {}", label("report"), plain(&path), plain(next)));
        }
        None => out.line(&format!("{}{}", label("report"), plain(&path))),
    }
    out.finish()
}

/// What the published measurement left open, and what each cause adds.
fn open_question(out: &mut Lines, published: &Published) {
    let Some(open) = &published.open_question else { return };
    out.wrapped(
        &format!("  OPEN QUESTION: {} ({:.1} ms a message)", open.question, open.excess_ms),
        4,
    );
    for cause in &open.causes {
        let added = cause.added_ms.map_or_else(String::new, |added| {
            let interval = cause.ci95.map_or_else(String::new, words::millis_interval);
            format!("{}{interval}, ", words::signed_millis(added))
        });
        out.wrapped(&format!("    {}: {added}{}", cause.what, cause.words()), 6);
    }
    out.wrapped(&format!("    {}", open.answer), 4);
}

/// The widths that columns need, so that they align over all blocks.
struct Widths {
    link: usize,
    name: usize,
    time: usize,
    ratio: usize,
}

impl Widths {
    fn of(groups: &[Group<'_>]) -> Self {
        let cells = || groups.iter().flat_map(|group| group.cells.iter().map(move |c| (group, *c)));
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        Self {
            // A link that is its own figures would push all others to the right.
            link: longest(&mut groups.iter().map(|group| width(&group.link.name))).min(12),
            name: longest(&mut cells().map(|(_, cell)| width(&cell.contender.name))),
            time: longest(&mut cells().map(|(_, cell)| width(&time(cell)))),
            ratio: longest(&mut cells().map(|(group, cell)| {
                group.ranked(&cell.contender.name).map_or(0, |ranked| width(&ratio(ranked)))
            })),
        }
    }
}

/// What the columns of the tables are; None where nothing is compared.
fn columns(report: &Report<'_>, groups: &[&Group<'_>]) -> Option<String> {
    let group = groups.iter().find(|group| group.verdicts.is_some())?;
    let (level, baseline) = (Percent(report.result.family.confidence), &report.result.baseline);
    let median = median_of(group.workload);
    let shown = match words::without_interval(groups.iter().copied()) {
        Some(words) => format!("{median} ({words})"),
        None => format!("{median} [{level} interval]"),
    };
    Some(format!("{shown}, ratio to {baseline} [interval], verdict, difference"))
}

/// The protocols and connections of each contender: on every link, or on the last one where links differ.
fn protocols(report: &Report<'_>, groups: &[&Group<'_>]) -> String {
    let of_cell = |cell: &&CellResult| {
        let row = report.median_row(cell)?;
        // Somebody else's client reports no connections; what was seen of them stands as its evidence.
        if row.connections.is_empty() {
            return None;
        }
        let summary = ConnectionSummary::of(row);
        Some(format!("{} {}", cell.contender.name, summary.in_short()))
    };
    let of_group =
        |group: &Group<'_>| group.cells.iter().filter_map(of_cell).collect::<Vec<_>>().join("; ");
    let Some(last) = groups.last() else { return String::new() };
    let text = of_group(last);
    match text.is_empty() || groups.iter().all(|group| of_group(group) == text) {
        true => text,
        false => format!("on {}: {text}", last.link.name),
    }
}

/// The answer, a sentence for each workload: of many they stand on the page alone.
fn summary(out: &mut Lines, report: &Report<'_>) {
    let answers = answer::answers(report);
    if answers.len() > MOST_LINES {
        return;
    }
    for answer in &answers {
        let workload = answer.workload.map_or_else(String::new, |name| format!("{name}: "));
        let sentence = answer.sentence();
        let sentence = sentence.unwrap_or_else(|| "nothing could be compared".to_owned());
        out.labelled("result", &format!("{workload}{sentence}"));
    }
}

fn block(out: &mut Lines, report: &Report<'_>, group: &Group<'_>, widths: &Widths) {
    let link = padded(&plain(&group.link.name), widths.link);
    let has_later =
        || group.cells.iter().any(|cell| !metrics::later_assets(group, cell).is_empty());
    let is_level = group.all_tie()
        && !group.with_verdict(Verdict::Tie).into_iter().any(Group::slower_within_margin);
    if is_level && group.is_clean() && !has_later() {
        let margin = Percent(report.result.margin);
        let level = group.baseline().map(time).unwrap_or_default();
        let least = group.least_shown().map_or_else(String::new, |least| format!("  {least}"));
        out.line(&format!("{}   all  TIE within {margin}   {level}{least}", out.bold(&link)));
        for cell in &group.cells {
            for view in metrics::views(cell) {
                out.wrapped(&format!("    {}: {view}", cell.contender.name), 6);
            }
            exchanges(out, cell);
            tokens(out, cell);
        }
        return;
    }
    let figures = plain(report.link_figures(group.link));
    out.line(format!("{}   {figures}", out.bold(&link)).trim_end());
    for cell in group.fastest_first() {
        row(out, group, cell, widths);
        if let Some(cost) = Cost::of(cell) {
            out.wrapped(&format!("    {}", cost.in_short()), 6);
        }
        if let Some(evidence) = words::evidence(cell) {
            out.wrapped(&format!("    {evidence}"), 6);
        }
        for view in metrics::views(cell) {
            out.wrapped(&format!("    {view}"), 6);
        }
        let reasons = words::not_measured(report, cell).into_iter();
        for line in metrics::later_assets(group, cell).into_iter().chain(reasons) {
            out.wrapped(&format!("    {line}"), 6);
        }
        if let Some(counted) = metrics::counted_without_times(group, cell) {
            out.wrapped(&format!("    {counted}"), 6);
        }
        exchanges(out, cell);
        tokens(out, cell);
    }
    if let Some(round_trips) = words::round_trips(group) {
        out.wrapped(&format!("  why: {round_trips}"), 4);
    }
    if let Some(waits) = waits::waits(report, group) {
        out.wrapped(&format!("  waits: {waits}"), 4);
    }
}

fn row(out: &mut Lines, group: &Group<'_>, cell: &CellResult, widths: &Widths) {
    let name = padded(&plain(&cell.contender.name), widths.name);
    let name = out.coloured(&name, group.hue(&cell.contender));
    let head = format!("  {name}  {}", padded(&time(cell), widths.time));
    let head_width = 4 + widths.name + widths.time;
    let Some(ranked) = group.ranked(&cell.contender.name) else {
        let role = if group.verdicts.is_some() { "  baseline" } else { "" };
        out.line(format!("{head}{role}").trim_end());
        return;
    };
    let ratio = padded(&ratio(ranked), widths.ratio);
    let verdict = ranked.comparison.verdict.word().to_uppercase();
    let mut tail = format!("{ratio}  {}", out.bold(&verdict));
    let mut tail_width = widths.ratio + 2 + width(&verdict);
    if let Some(saved) = words::saved(group, ranked) {
        let sign = if ranked.comparison.verdict == Verdict::Faster { '-' } else { '+' };
        tail_width += 3 + width(&saved);
        tail.push_str(&format!("  {sign}{saved}"));
    }
    if let Some(least) = words::would_show(&ranked.comparison) {
        tail_width += 2 + width(&least);
        tail.push_str(&format!("  {least}"));
    }
    // A narrow terminal gets the comparison on a line of its own rather than broken anywhere.
    if head_width + 2 + tail_width > out.style.width {
        out.line(head.trim_end());
        out.line(&format!("  {:name$}  {tail}", "", name = widths.name));
    } else {
        out.line(&format!("{head}  {tail}"));
    }
    for remark in words::remarks(group, ranked) {
        out.wrapped(&format!("    {remark}"), 6);
    }
}

/// Gaps, latency and stalls of streams, which the time to the first token does not tell.
fn tokens(out: &mut Lines, cell: &CellResult) {
    if let Some(told) = words::tokens(cell) {
        out.wrapped(&format!("    {}: {told}", cell.contender.name), 6);
    }
}

/// The percentiles of calls; a page's exchanges wait for each other, and their times mean little by themselves.
fn exchanges(out: &mut Lines, cell: &CellResult) {
    if matches!(cell.workload.kind, WorkloadKind::Calls(_))
        && let Some(percentiles) = words::percentiles(cell)
    {
        out.wrapped(&format!("    {}: {percentiles}", cell.contender.name), 6);
    }
}

fn time(cell: &CellResult) -> String {
    let Some(load) = load(cell) else { return "not measured".to_owned() };
    number::summary(load)
}

fn ratio(ranked: &Ranked) -> String {
    words::ratio(&ranked.comparison)
        .map(|ratio| format!("{}x {}", ratio.number(), ratio.short_interval()))
        .unwrap_or_default()
}

/// The lines so far.
pub(crate) struct Lines {
    text: String,
    style: Style,
}

impl Lines {
    /// No line yet.
    pub(crate) fn new(style: Style) -> Self {
        Self { text: String::new(), style }
    }

    /// All of them.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Adds a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        // Lines are broken here, and a reader's `grep` looks for a plain blank.
        self.text.push_str(&line.trim_end().replace('\u{a0}', " "));
        self.text.push('\n');
    }

    /// Adds plain text, broken between words at the terminal's width, further lines indented.
    pub(crate) fn wrapped(&mut self, text: &str, indent: usize) {
        let text = plain(text);
        let lead = text.len() - text.trim_start().len();
        let mut line = " ".repeat(lead);
        let mut empty = true;
        // A no-break space holds a figure and its unit together.
        for word in text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
            if !empty && width(&line) + 1 + width(word) > self.style.width {
                self.line(&line);
                line = " ".repeat(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        self.line(&line);
    }

    /// Adds plain text behind a name for what it tells, further lines below its beginning.
    fn labelled(&mut self, name: &str, text: &str) {
        let mut lines =
            Self::new(Style { width: self.style.width.saturating_sub(LABEL), ..self.style });
        lines.wrapped(text, 0);
        for (number, line) in lines.finish().lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            self.line(&format!("{}{line}", label(name)));
        }
    }

    /// The same, where it takes few lines; else nothing, as the page says it at length.
    fn if_short(&mut self, name: &str, text: &str) {
        let fits = width(text) <= MOST_LINES * self.style.width.saturating_sub(LABEL);
        if !text.is_empty() && fits {
            self.labelled(name, text);
        }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.sequence(text, "1")
    }

    fn coloured(&self, text: &str, hue: Hue) -> String {
        self.sequence(text, &format!("38;5;{}", hue.ansi()))
    }

    fn sequence(&self, text: &str, code: &str) -> String {
        match self.style.colour {
            Colour::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Colour::Off => text.to_owned(),
        }
    }
}

/// Columns of the names of lines below the tables.
const LABEL: usize = 13;
/// As many lines a text may take that the page has too.
const MOST_LINES: usize = 4;

fn label(name: &str) -> String {
    padded(name, LABEL)
}

/// Text without anything that a terminal would act on.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if unit::is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

pub(crate) fn padded(text: &str, to: usize) -> String {
    format!("{text:to$}")
}
