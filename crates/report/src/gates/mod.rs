//! The results of gates, in the same form for `race` and for `compare`.

mod junit;
mod markdown;

pub(crate) use junit::{document, suites};
pub(crate) use markdown::{escaped, section};

use crate::number::{Percent, Ratio};
use study::gate::{GateOutcome, GateResult};

/// `1.02× [1.01, 1.03]`.
pub(crate) fn ratio_text(ratio: Ratio) -> String {
    format!("{}× {}", ratio.number(), ratio.interval())
}

/// Where a gate was asked: `page, 3g, new over old`.
pub(crate) fn place(gate: &GateResult) -> String {
    let place = &gate.place;
    let who = match &place.against {
        Some(against) => format!("{} over {against}", place.contender),
        None => place.contender.clone(),
    };
    format!("{}, {}, {who}", place.workload, place.link)
}

/// The ratio that was judged, with its interval and what explains it.
pub(crate) fn finding(gate: &GateResult) -> String {
    let parts = ratio_of(gate).into_iter().chain(explanation(gate));
    parts.collect::<Vec<_>>().join("; ")
}

/// The ratio that was judged, with its interval; None without a figure.
fn ratio_of(gate: &GateResult) -> Option<String> {
    let (value, ci) = gate.ratio.zip(gate.interval)?;
    Some(ratio_text(Ratio { value: value.0, ci: ci.map(|end| end.0) }))
}

/// What a gate found in one place, for a terminal.
pub fn gate_finding(gate: &GateResult) -> String {
    finding(gate).replace('×', "x")
}

/// Why a gate is inconclusive or failed where the interval does not say it, what could have been found, and what would
/// decide it.
fn explanation(gate: &GateResult) -> Vec<String> {
    let mut parts: Vec<String> = gate.reason.iter().cloned().collect();
    let trials = |n: u32| if n == 1 { "1 trial".to_owned() } else { format!("{n} trials") };
    if let Some([below, above]) = gate.detectable {
        parts.push(format!(
            "{} find a true ratio below {:.3} or above {:.3} in 4 runs of 5",
            trials(gate.n),
            below.0,
            above.0
        ));
    }
    if let Some(needed) = gate.trials_needed {
        parts.push(format!("about {} of each would decide", trials(needed)));
    }
    parts
}

/// The gates in lines, an outcome in capitals first. Of many places only those that did not pass are named.
pub(crate) fn lines(gates: &[GateResult]) -> Vec<String> {
    let mut lines = Vec::new();
    for gates in gates.chunk_by(|a, b| a.gate == b.gate) {
        lines.push(format!("{}: {}", gates[0].gate, counts(gates)));
        let is_named =
            |gate: &&GateResult| gates.len() <= NAMED || gate.outcome != GateOutcome::Passed;
        lines.extend(gates.iter().filter(is_named).map(|gate| {
            let outcome = gate.outcome.word().to_uppercase();
            format!("  {outcome} {}: {}", place(gate), finding(gate))
        }));
    }
    lines
}

const NAMED: usize = 6;

/// `1 failed, 2 passed`.
pub(crate) fn counts(gates: &[GateResult]) -> String {
    let told = [GateOutcome::Failed, GateOutcome::Inconclusive, GateOutcome::Passed]
        .into_iter()
        .map(|outcome| (count(gates, outcome), outcome.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"));
    told.collect::<Vec<_>>().join(", ")
}

/// How many have this outcome.
pub(crate) fn count(gates: &[GateResult], outcome: GateOutcome) -> usize {
    gates.iter().filter(|gate| gate.outcome == outcome).count()
}

/// How the gates are to be read; None where there are none.
pub(crate) fn reading(gates: &[GateResult]) -> Option<String> {
    let spent: f64 = gates.iter().map(|gate| gate.error).sum();
    let rule = "A gate passes where its whole interval lies on the right side of the limit, fails where all of it \
                lies at the limit or beyond, and is inconclusive otherwise.";
    let chance = match spent > 0.0 {
        true => format!(
            " Chance that any passes wrongly, and that any fails wrongly: at most {} each.",
            Percent((spent * 1e3).ceil() / 1e3)
        ),
        false => String::new(),
    };
    (!gates.is_empty()).then(|| format!("{rule}{chance}"))
}
