//! The results of gates, in the same form for `race` and for `compare`.

mod junit;
mod markdown;

pub(crate) use junit::{document, suites};
pub(crate) use markdown::{escaped, section};

use crate::number::{Percent, Ratio, decimals_beside, fixed};
use study::gate::{Gate, GateOutcome, GateResult};

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
    let ratio = Ratio { value: value.0, ci: ci.map(|end| end.0) };
    Some(limit_of(gate).map_or_else(|| ratio_text(ratio), |limit| ratio.beside(limit)))
}

/// The ratio that the gate asks for. Every gate that judged has one.
fn limit_of(gate: &GateResult) -> Option<f64> {
    gate.gate.parse().ok().map(|gate: Gate| gate.limit())
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
        let ends = [below.0, above.0];
        let decimals = limit_of(gate).map_or(3, |limit| decimals_beside(&ends, limit, 3));
        let [below, above] = ends.map(|end| fixed(end, decimals));
        parts.push(format!(
            "{} find a true ratio below {below} or above {above} in 4 runs of 5",
            trials(gate.n),
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
    let own = interval_level(gates).map_or_else(String::new, |level| {
        format!(
            " Each gate's interval holds with at least {level} by itself, since the gates share that chance; those of verdicts \
             and changes share another one, so the same ratio has another interval there."
        )
    });
    (!gates.is_empty()).then(|| format!("{rule}{chance}{own}"))
}

/// What each interval of the gates holds with at least; None where none has an interval.
pub(crate) fn interval_level(gates: &[GateResult]) -> Option<Percent> {
    let told = gates.iter().filter(|gate| gate.interval.is_some() && gate.error > 0.0);
    let error = told.map(|gate| gate.error).max_by(f64::total_cmp)?;
    Some(Percent(((1.0 - 2.0 * error) * 1e3).floor() / 1e3))
}

/// The head of the column with the gates' ratios.
pub(crate) fn ratio_head(gates: &[GateResult]) -> String {
    interval_level(gates)
        .map_or_else(|| "ratio".to_owned(), |level| format!("ratio and {level} interval"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::comparison::Ratio as Figure;
    use study::gate::GatePlace;

    fn told(gate: &str, interval: [f64; 2], outcome: GateOutcome) -> String {
        finding(&GateResult {
            gate: gate.to_owned(),
            place: GatePlace {
                workload: "page".to_owned(),
                link: "4g".to_owned(),
                contender: "new".to_owned(),
                against: None,
            },
            outcome,
            n: 11,
            ratio: Some(Figure((interval[0] * interval[1]).sqrt())),
            interval: Some(interval.map(Figure)),
            error: 0.05,
            reason: None,
            detectable: Some([Figure(1.04992), Figure(1.0512)]),
            trials_needed: None,
        })
    }

    #[test]
    fn a_ratio_never_reads_like_the_limit_that_it_is_held_to() {
        let near = told("new/old mean_ms<1.05", [1.0496, 1.0503], GateOutcome::Inconclusive);
        assert!(near.starts_with("1.0499× [1.0496, 1.0503]; "), "{near}");
        assert!(near.contains("below 1.0499 or above 1.0512"), "{near}");
        let fine = told("total_ms<1.0005", [1.0001, 1.0009], GateOutcome::Inconclusive);
        assert!(fine.starts_with("1.0005× [1.0001, 1.0009]"), "{fine}");
        let far = told("total_ms<+5%", [1.17, 1.24], GateOutcome::Failed);
        assert!(far.starts_with("1.20× [1.17, 1.24]"), "{far}");
    }
}
