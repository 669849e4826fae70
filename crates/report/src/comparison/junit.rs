//! The gates as JUnit XML, which CI systems read: a suite a gate, a case a cell. Without gates, a case for each
//! figure, which fails never.

use super::ratio_text;
use crate::markup::Markup;
use crate::number::Ratio;
use study::compare::{GateOutcome, GateResult, RunComparison};

/// The document, ending in a new line.
pub fn comparison_junit(comparison: &RunComparison) -> String {
    let mut m = Markup::default();
    m.own("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    m.element("testsuites", &[("name", &"wirelap compare")], |m| {
        for gates in comparison.gates.chunk_by(|a, b| a.gate == b.gate) {
            suite(m, gates);
        }
        if comparison.gates.is_empty() {
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
        }
    });
    m.own("\n");
    m.finish()
}

fn suite(m: &mut Markup, gates: &[GateResult]) {
    let count = |outcome| gates.iter().filter(|gate| gate.outcome == outcome).count();
    let (failures, skipped) = (count(GateOutcome::Broken), count(GateOutcome::NotMeasured));
    let attributes: [(&'static str, &dyn std::fmt::Display); 4] = [
        ("name", &gates[0].gate),
        ("tests", &gates.len()),
        ("failures", &failures),
        ("skipped", &skipped),
    ];
    m.element("testsuite", &attributes, |m| gates.iter().for_each(|gate| case(m, gate)));
}

fn case(m: &mut Markup, gate: &GateResult) {
    let class = format!("{}.{}", gate.cell.workload, gate.cell.link);
    let name = format!("{} {}", gate.cell.contender, gate.gate);
    let ratio = Ratio::of_gate(gate).map_or_else(String::new, ratio_text);
    m.element("testcase", &[("classname", &class), ("name", &name)], |m| match gate.outcome {
        GateOutcome::Broken => {
            let message = format!("{} is broken: {ratio}", gate.gate);
            m.line("failure", &[("message", &message), ("type", &"gate")], &message);
        }
        GateOutcome::NotMeasured => {
            m.empty("skipped", &[("message", &"not measured in one of the runs")]);
        }
        GateOutcome::Holds | GateOutcome::WithinNoise => {
            m.line("system-out", &[], format!("{} {ratio}", gate.outcome.words()));
        }
    });
}
