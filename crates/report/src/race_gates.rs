//! A race for a CI system: its gates and verdicts as JUnit XML and as Markdown.

use crate::gates::{self, escaped};
use crate::number;
use crate::words;
use study::result::{Ranked, RunResult, Verdicts};

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
                    m.line("system-out", &[], verdict(one));
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
    if let Some(words) = words::exploratory(result) {
        out.push_str(&format!("\n**{}**\n", escaped(words)));
    }
    out.push_str(&gates::section(&result.gates));
    out.push_str(
        "\n| workload | link | contender | over | median | verdict |\n|---|---|---|---|--:|---|\n",
    );
    for table in &result.verdicts {
        for one in &table.ranking {
            let median = escaped(median(result, table, one));
            let names = [&table.workload, &table.link, &one.contender, &table.baseline];
            let cells = names.map(escaped).join(" | ");
            out.push_str(&format!("| {cells} | {median} | {} |\n", escaped(verdict(one))));
        }
    }
    out
}

fn verdict(one: &Ranked) -> String {
    let ratio = words::ratio(&one.comparison).map(gates::ratio_text);
    let parts = [Some(one.comparison.verdict.word().to_owned()), ratio];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn median(result: &RunResult, table: &Verdicts, one: &Ranked) -> String {
    let here = |cell: &&study::result::CellResult| {
        let id = cell.id();
        (id.workload, id.link, id.contender)
            == (table.workload.clone(), table.link.clone(), one.contender.clone())
    };
    let summary = result.cells.iter().find(here).and_then(|cell| cell.metrics.get(&table.metric));
    summary.map_or_else(|| "no figure".to_owned(), |summary| number::duration(summary.median))
}
