//! Gates over the cells of two runs.

use super::{Trials, withheld};
use crate::gate::{Gate, GatePlace, GateResult, Gates, RatioEvidence, Unpaired};
use crate::outcome::Outcome;

/// What each gate says of each cell that has its metric. A cell that the later run has no more is inconclusive.
pub(super) fn judge(
    gates: &Gates,
    both: &[(&Trials<'_>, &Trials<'_>)],
    gone: &[&Trials<'_>],
) -> Vec<GateResult> {
    let mut places: Vec<(&Gate, &Trials<'_>, Option<&Trials<'_>>)> = Vec::new();
    for gate in &gates.gates {
        // A trial that did not do the work has no metric at all.
        let is_asked = |a: &Trials<'_>, b: &Trials<'_>| a.has(&gate.metric) || b.has(&gate.metric);
        let both = both.iter().filter(|(a, b)| is_asked(a, b));
        places.extend(both.map(|(a, b)| (gate, *a, Some(*b))));
        let gone = gone.iter().filter(|a| a.has(&gate.metric));
        places.extend(gone.map(|a| (gate, *a, None)));
    }
    let allowed = gates.error_of_each(places.iter().filter(|(_, _, b)| b.is_some()).count());
    let mut unpaired = Unpaired::default();
    let result = |(gate, a, b): &(&Gate, &Trials<'_>, Option<&Trials<'_>>)| {
        let cell = a.cell().id();
        let place = GatePlace {
            workload: cell.workload,
            link: cell.link,
            contender: cell.contender,
            against: None,
        };
        let evidence = match b {
            Some(b) => evidence(gate, a, b, allowed, &mut unpaired),
            None => RatioEvidence::none("the later run does not have it".to_owned()),
        };
        gate.judge(place, &evidence)
    };
    places.iter().map(result).collect()
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
