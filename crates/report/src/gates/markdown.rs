//! Gates as Markdown, for the summary page of a CI system. The one rule: names are escaped, so that none can break out of
//! its table cell.

use super::{explanation, ratio_head, ratio_of, reading};
use study::gate::GateResult;

/// A table of all gates over all places, and how to read it; empty where there are none.
pub(crate) fn section(gates: &[GateResult]) -> String {
    let Some(reading) = reading(gates) else { return String::new() };
    let ratio = ratio_head(gates);
    let mut out = format!("\n| gate | workload | link | contender | outcome | {ratio} | why |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for gate in gates {
        let place = &gate.place;
        let outcome = escaped(gate.outcome.word());
        let cells = [
            escaped(&gate.gate),
            escaped(&place.workload),
            escaped(&place.link),
            escaped(&place.contender),
            format!("**{outcome}**"),
            escaped(ratio_of(gate).unwrap_or_default()),
            escaped(explanation(gate).join("; ")),
        ];
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", escaped(reading)));
    out
}

/// Text in which nothing is markup.
pub(crate) fn escaped(text: impl AsRef<str>) -> String {
    let mut out = String::new();
    for c in text.as_ref().chars() {
        match c {
            '|' | '*' | '_' | '`' | '\\' | '[' | ']' | '#' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if unit::is_unsafe(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
