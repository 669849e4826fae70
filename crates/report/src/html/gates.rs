//! The gates in a page.

use super::table::{table, text};
use crate::gates::{finding, ratio_head, reading};
use crate::markup::Markup;
use study::gate::{GateOutcome, GateResult};

/// The section of the gates; nothing where there are none.
pub(super) fn gates(m: &mut Markup, gates: &[GateResult]) {
    let Some(reading) = reading(gates) else { return };
    m.element("section", &[("id", &"gates")], |m| {
        m.line("h2", &[], "Gates");
        let line = |gate: &GateResult| {
            let outcome = match gate.outcome {
                GateOutcome::Passed => "passed".to_owned(),
                other => other.word().to_uppercase(),
            };
            let place = &gate.place;
            let who = match &place.against {
                Some(against) => format!("{} over {against}", place.contender),
                None => place.contender.clone(),
            };
            let (workload, link) = (place.workload.clone(), place.link.clone());
            [gate.gate.clone(), outcome, workload, link, who, finding(gate)]
        };
        let ratio = ratio_head(gates);
        let columns = ["gate", "outcome", "workload", "link", "contender", &ratio].map(text);
        table(m, "Every gate over every cell", &columns, gates.iter().map(line));
        m.line("p", &[("class", &"note")], reading);
    });
}
