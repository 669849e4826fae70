//! A comparison as JUnit XML. Without gates, a case for each figure, which fails never.

use crate::gates::{self, ratio_text};
use crate::number::Ratio;
use study::compare::RunComparison;

/// The document, ending in a new line.
pub fn comparison_junit(comparison: &RunComparison) -> String {
    gates::document("wirelap compare", |m| {
        gates::suites(m, &comparison.gates);
        if !comparison.gates.is_empty() {
            return;
        }
        let tests = comparison.changes.len();
        let suite: [(&'static str, &dyn std::fmt::Display); 3] =
            [("name", &"changes"), ("tests", &tests), ("failures", &0)];
        m.element("testsuite", &suite, |m| {
            for change in &comparison.changes {
                let class = format!("{}.{}", change.cell.workload, change.cell.link);
                let name = format!("{} {}", change.cell.contender, change.metric);
                let ratio = Ratio::of_change(change).map_or_else(String::new, ratio_text);
                m.element("testcase", &[("classname", &class), ("name", &name)], |m| {
                    m.line("system-out", &[], format!("{} {ratio}", change.change.word()));
                });
            }
        });
    })
}
