//! Gates over the cells of two runs.

use super::{Trials, withheld};
use crate::gate::{Gate, GatePlace, GateResult, Gates, RatioEvidence, Unpaired};
use crate::outcome::Outcome;

/// Where a gate is asked.
enum Asked<'p, 'r> {
    Of {
        a: &'p Trials<'r>,
        b: &'p Trials<'r>,
    },
    /// A cell that one run alone has.
    Alone {
        trials: &'p Trials<'r>,
        reason: String,
    },
}

/// What each gate says of each cell that has its metric. A cell that the later run has no more is inconclusive. So is a
/// new one where no other cell has the metric: a gate without a place would pass without a word.
pub(super) fn judge(
    gates: &Gates,
    both: &[(&Trials<'_>, &Trials<'_>)],
    gone: &[&Trials<'_>],
    new: &[&Trials<'_>],
) -> Vec<GateResult> {
    let places: Vec<(&Gate, Asked<'_, '_>)> = gates
        .gates
        .iter()
        .flat_map(|gate| asked(gate, both, gone, new).into_iter().map(move |asked| (gate, asked)))
        .collect();
    let is_judged = |(_, asked): &&(&Gate, Asked<'_, '_>)| matches!(asked, Asked::Of { .. });
    let allowed = gates.error_of_each(places.iter().filter(is_judged).count());
    let mut unpaired = Unpaired::default();
    let result = |(gate, asked): &(&Gate, Asked<'_, '_>)| {
        let (trials, evidence) = match asked {
            Asked::Of { a, b } => (a, evidence(gate, a, b, allowed, &mut unpaired)),
            Asked::Alone { trials, reason } => (trials, RatioEvidence::none(reason.clone())),
        };
        let cell = trials.cell().id();
        let place = GatePlace {
            workload: cell.workload,
            link: cell.link,
            contender: cell.contender,
            against: None,
        };
        gate.judge(place, &evidence)
    };
    places.iter().map(result).collect()
}

fn asked<'p, 'r>(
    gate: &Gate,
    both: &[(&'p Trials<'r>, &'p Trials<'r>)],
    gone: &[&'p Trials<'r>],
    new: &[&'p Trials<'r>],
) -> Vec<Asked<'p, 'r>> {
    let metric = gate.metric.as_str();
    // A trial that did not do the work has no metric at all.
    let is_asked = |(a, b): &&(&Trials<'_>, &Trials<'_>)| a.has(metric) || b.has(metric);
    let alone = |cells: &[&'p Trials<'r>], reason: String| -> Vec<Asked<'p, 'r>> {
        let cells = cells.iter().filter(|cell| cell.has(metric));
        cells.map(|trials| Asked::Alone { trials, reason: reason.clone() }).collect()
    };
    let mut places: Vec<_> =
        both.iter().filter(is_asked).map(|(a, b)| Asked::Of { a, b }).collect();
    places.extend(alone(gone, "the later run does not have it".to_owned()));
    if places.is_empty() {
        let reason =
            format!("no cell that both runs have has `{metric}`: the earlier run lacks this one");
        places = alone(new, reason);
    }
    places
}

fn evidence(
    gate: &Gate,
    a: &Trials<'_>,
    b: &Trials<'_>,
    allowed: f64,
    unpaired: &mut Unpaired,
) -> RatioEvidence {
    if let Some(reason) = a.refusal(&gate.metric).or_else(|| b.refusal(&gate.metric)) {
        return RatioEvidence::none(reason);
    }
    if let Some(reason) = [a, b].into_iter().find_map(unsupported) {
        return RatioEvidence::none(reason);
    }
    // A failure counts against the gate in the later run, and for it in the earlier: so it neither passes nor fails
    // because the earlier run was broken.
    let against = gate.failed_over_measured();
    let logs = [a, b].map(|trials| trials.logs(&gate.metric, against));
    RatioEvidence {
        refused: withheld(a, b, &gate.metric),
        obstacle: [b, a].into_iter().find_map(failures),
        ..unpaired.evidence(&logs[0], &logs[1], allowed)
    }
}

/// Why the trials could not run, and what would mend it; None where they could.
pub(super) fn unsupported(trials: &Trials<'_>) -> Option<String> {
    trials.rows.iter().find_map(|row| match &row.outcome {
        Outcome::Unsupported { reason, remedy } if remedy.is_empty() => {
            Some(format!("{}: {reason}", trials.run))
        }
        Outcome::Unsupported { reason, remedy } => {
            Some(format!("{}: {reason} ({remedy})", trials.run))
        }
        _ => None,
    })
}

/// How many trials failed, and why the first one did.
pub(super) fn failures(trials: &Trials<'_>) -> Option<String> {
    let failed = trials.rows.iter().filter_map(|row| match &row.outcome {
        Outcome::Failed { reason } => Some(reason),
        _ => None,
    });
    let reason = failed.clone().next()?;
    let (count, all) = (failed.count(), trials.rows.len());
    Some(format!("{}: {count} of {all} trials failed: {reason}", trials.run))
}
