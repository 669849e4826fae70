//! The comparison as Markdown, for the summary page of a CI system. The one rule: a name from outside cannot
//! leave its cell of the table.

use super::{figure, headline, only_in, reading, remark};
use crate::gates::{self, escaped, ratio_text};
use crate::number::Ratio;
use study::compare::RunComparison;

/// The summary, ending in a new line.
pub fn comparison_markdown(comparison: &RunComparison) -> String {
    let (a, b) = (escaped(&comparison.a), escaped(&comparison.b));
    let mut out = format!("### wirelap: {a} → {b}\n\n{}.\n\n", escaped(headline(comparison)));
    for warning in &comparison.warnings {
        out.push_str(&format!("**{}**\n\n", escaped(warning)));
    }
    if !comparison.changes.is_empty() {
        out.push_str(
            "| workload | metric | link | contender | before | after | ratio | change |\n",
        );
        out.push_str("|---|---|---|---|--:|--:|---|---|\n");
    }
    for change in &comparison.changes {
        let ratio = Ratio::of_change(change).map_or_else(String::new, ratio_text);
        let cell = &change.cell;
        let cells = [
            &cell.workload,
            &change.metric,
            &cell.link,
            &cell.contender,
            &figure(&change.metric, change.a),
            &figure(&change.metric, change.b),
            &ratio,
            change.change.word(),
        ];
        out.push_str(&format!("| {} |\n", cells.map(escaped).join(" | ")));
    }
    out.push_str(&gates::section(&comparison.gates));
    for change in comparison.changes.iter().filter(|change| change.reason.is_some()) {
        out.push_str(&format!("\n- {}", escaped(remark(change))));
    }
    for difference in &comparison.differences {
        out.push_str(&format!("\n- {}", escaped(difference)));
    }
    for line in only_in(comparison) {
        out.push_str(&format!("\n- {}", escaped(line)));
    }
    out.push_str(&format!("\n\n<sub>{}</sub>\n", escaped(reading(comparison))));
    out
}
