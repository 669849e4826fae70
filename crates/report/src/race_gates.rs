//! A race for a CI system: its gates and verdicts as JUnit XML and as Markdown.

use crate::gates::{self, escaped};
use crate::number;
use crate::words;
use study::result::{CellResult, Ranked, RunResult, TrialCounts, Verdicts};

/// The gates as JUnit XML, ending in a new line. Without gates, a case for each contender, which fails never.
pub fn race_junit(result: &RunResult) -> String {
    gates::document("wirelap race", |m| {
        gates::suites(m, &result.gates);
        if !result.gates.is_empty() {
            return;
        }
        let ranked = || {
            result
                .verdicts
                .iter()
                .flat_map(|table| table.ranking.iter().map(move |one| (table, one)))
        };
        let tests = ranked().count();
        let suite: [(&'static str, &dyn std::fmt::Display); 3] =
            [("name", &"verdicts"), ("tests", &tests), ("failures", &0)];
        m.element("testsuite", &suite, |m| {
            for (table, one) in ranked() {
                let class = format!("{}.{}", table.workload, table.link);
                let name = format!("{} over {} {}", one.contender, table.baseline, table.metric);
                m.element("testcase", &[("classname", &class), ("name", &name)], |m| {
                    let both = [&one.contender, &table.baseline];
                    let unlike = both.into_iter().filter_map(|name| {
                        let counts = cell(result, table, name)?.trials;
                        (counts.measured < counts.all())
                            .then(|| format!("; {name}: {}", trials(counts)))
                    });
                    let told: String = std::iter::once(verdict(one)).chain(unlike).collect();
                    m.line("system-out", &[], told);
                });
            }
        });
    })
}

/// A summary as Markdown, ending in a new line.
pub fn race_markdown(result: &RunResult) -> String {
    let mut out = format!("### wirelap: {}\n", escaped(&result.title));
    if !result.gates.is_empty() {
        out.push_str(&format!("\nGates: {}.\n", escaped(gates::counts(&result.gates))));
    }
    let exploratory = words::exploratory(result);
    for told in result.warnings.iter().chain(&exploratory) {
        out.push_str(&format!("\n**{}**\n", escaped(told)));
    }
    for note in &result.notes {
        out.push_str(&format!("\n{}\n", escaped(note)));
    }
    out.push_str(&gates::section(&result.gates));
    out.push_str(
        "\n| workload | link | contender | over | median | trials | verdict |\n|---|---|---|---|--:|---|---|\n",
    );
    for table in &result.verdicts {
        let ranked =
            table.ranking.iter().map(|one| (&*one.contender, &*table.baseline, verdict(one)));
        let baseline = [(&*table.baseline, "", "baseline".to_owned())];
        for (contender, over, verdict) in ranked.chain(baseline) {
            let (median, trials) = figures(result, table, contender);
            let cells = [&table.workload, &table.link, contender, over, &median, &trials, &verdict];
            out.push_str(&format!("| {} |\n", cells.map(escaped).join(" | ")));
        }
    }
    out
}

/// With its ratio, or why there is none.
fn verdict(one: &Ranked) -> String {
    let ratio = words::ratio(&one.comparison).map(gates::ratio_text);
    let reason = one.comparison.reason.as_ref().map(|reason| format!("({reason})"));
    let parts = [Some(one.comparison.verdict.word().to_owned()), ratio, reason];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn cell<'r>(result: &'r RunResult, table: &Verdicts, contender: &str) -> Option<&'r CellResult> {
    let here = |cell: &&CellResult| {
        (&*cell.workload.name, &*cell.link.name, &*cell.contender.name)
            == (&*table.workload, &*table.link, contender)
    };
    result.cells.iter().find(here)
}

/// The median of a contender, and how its trials ended.
fn figures(result: &RunResult, table: &Verdicts, contender: &str) -> (String, String) {
    let Some(cell) = cell(result, table, contender) else { return Default::default() };
    let median = cell.metrics.get(&table.metric);
    let median = median.map_or_else(|| "no figure".to_owned(), |it| number::duration(it.median));
    (median, trials(cell.trials))
}

/// `3 of 14 measured, 11 failed`.
fn trials(counts: TrialCounts) -> String {
    let TrialCounts { measured, invalid, failed, unsupported } = counts;
    let others = [(invalid, "invalid"), (failed, "failed"), (unsupported, "unsupported")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, what)| format!(", {count} {what}")).collect();
    format!("{measured} of {} measured{others}", counts.all())
}
