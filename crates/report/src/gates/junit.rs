//! Gates as JUnit XML, which CI systems read: a test suite for each gate, a test case for each place where it was judged.
//! An inconclusive case is skipped, with its reason.

use super::{count, finding};
use crate::markup::Markup;
use study::gate::{GateOutcome, GateResult};

/// A whole document, ending in a new line.
pub(crate) fn document(name: &str, body: impl FnOnce(&mut Markup)) -> String {
    let mut m = Markup::default();
    m.own("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    m.element("testsuites", &[("name", &name)], body);
    m.own("\n");
    m.finish()
}

/// A suite for each gate.
pub(crate) fn suites(m: &mut Markup, gates: &[GateResult]) {
    for gates in gates.chunk_by(|a, b| a.gate == b.gate) {
        let failures = count(gates, GateOutcome::Failed);
        let skipped = count(gates, GateOutcome::Inconclusive);
        let attributes: [(&'static str, &dyn std::fmt::Display); 4] = [
            ("name", &gates[0].gate),
            ("tests", &gates.len()),
            ("failures", &failures),
            ("skipped", &skipped),
        ];
        m.element("testsuite", &attributes, |m| gates.iter().for_each(|gate| case(m, gate)));
    }
}

fn case(m: &mut Markup, gate: &GateResult) {
    let class = format!("{}.{}", gate.place.workload, gate.place.link);
    // A gate that names contenders says who is judged.
    let name = match gate.gate.contains(char::is_whitespace) {
        true => gate.gate.clone(),
        false => format!("{} {}", gate.place.contender, gate.gate),
    };
    let finding = finding(gate);
    m.element("testcase", &[("classname", &class), ("name", &name)], |m| match gate.outcome {
        GateOutcome::Failed => {
            let message = format!("{} failed: {finding}", gate.gate);
            m.line("failure", &[("message", &message), ("type", &"gate")], &message);
        }
        GateOutcome::Inconclusive => {
            let message = format!("inconclusive: {finding}");
            m.empty("skipped", &[("message", &message)]);
        }
        GateOutcome::Passed => m.line("system-out", &[], format!("passed: {finding}")),
    });
}
