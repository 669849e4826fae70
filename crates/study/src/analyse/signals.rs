//! Which signals of a client never reached a server's order of sending, from what the streams asked for and who chose the next one.
//! The one rule: only what stands in the rows is said, so servers without a delivery log are passed over.

use super::Rows;
use crate::metric;
use crate::outcome::Outcome;
use crate::record::TrialRecord;
use crate::result::CellResult;
use trace::{AskedPriority, DeliveryRecord, PrioritySource};

/// A sentence for each cell whose server heeds RFC 9218 only, while its client raised images by PRIORITY frames only.
pub(super) fn notes(cells: &[CellResult], rows: &Rows<'_>) -> Vec<String> {
    let hearing = |cell: &CellResult| {
        let records = rows.cells.get(&cell.id()).map_or(&[][..], Vec::as_slice);
        let measured = records.iter().filter(|record| record.outcome == Outcome::Measured);
        measured.filter_map(|record| Hearing::of(record)).collect::<Vec<_>>()
    };
    let hearings: Vec<(&CellResult, Vec<Hearing>)> =
        cells.iter().map(|cell| (cell, hearing(cell))).collect();
    let deaf = hearings.iter().filter(|(_, all)| all.contains(&Hearing::Deaf));
    deaf.map(|(cell, all)| {
        let times = all.iter().filter(|one| **one == Hearing::Deaf).count();
        let mut text = format!(
            "{} on {}: {} raises an image by a PRIORITY frame only; this server heeds RFC 9218 only. It did not hear of \
             the raise in {times} of {} measured trials.",
            cell.contender.name,
            cell.link.name,
            browser(cell),
            cell.trials.measured,
        );
        let is_heard = |(other, all): &&(&CellResult, Vec<Hearing>)| {
            (&other.workload.name, &other.link.name) == (&cell.workload.name, &cell.link.name)
                && all.contains(&Hearing::Heard)
        };
        let heard = hearings.iter().filter(is_heard).filter_map(|(other, _)| Some((other, lcp(other)?)));
        let best = heard.min_by(|(_, one), (_, other)| one.total_cmp(other));
        if let (Some(own), Some((other, least))) = (lcp(cell), best) {
            text.push_str(&format!(
                " The median LCP is {own:.0} ms there, and {least:.0} ms with {}, whose server hears of it.",
                other.contender.name
            ));
        }
        text
    })
    .collect()
}

/// The browser that asked, or the one as which wirelap's own client did.
fn browser(cell: &CellResult) -> &str {
    let contender = &cell.contender;
    contender
        .client
        .as_ref()
        .map_or(contender.settings.profile.name(), |client| client.name.as_str())
}

fn lcp(cell: &CellResult) -> Option<f64> {
    cell.metrics.get(metric::LCP_MS).map(|summary| summary.median)
}

/// Whether the order of sending heard that a stream was raised while it was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hearing {
    Heard,
    Deaf,
}

impl Hearing {
    /// None where no stream was raised, or the server's own decisions go first.
    fn of(record: &TrialRecord) -> Option<Self> {
        let mut raised = record.deliveries.iter().filter_map(Self::of_stream);
        let first = raised.next()?;
        Some(if raised.any(|one| one == Self::Deaf) { Self::Deaf } else { first })
    }

    fn of_stream(stream: &DeliveryRecord) -> Option<Self> {
        let said = |source| stream.asked.iter().filter(move |one| one.by == source);
        let weights = |source| said(source).filter_map(|one| weight(one.asked)).max();
        let urgencies = |source| said(source).filter_map(|one| urgency(one.asked)).min();
        let first = urgencies(PrioritySource::Field).unwrap_or(DEFAULT_URGENCY);
        let by_tree = weights(PrioritySource::Priority) > weights(PrioritySource::Headers);
        let by_update =
            urgencies(PrioritySource::PriorityUpdate).is_some_and(|urgency| urgency < first);
        match stream.policy.as_str() {
            "rfc9218" if by_update => Some(Self::Heard),
            "rfc9218" if by_tree => Some(Self::Deaf),
            "rfc7540" | "auto" if by_tree => Some(Self::Heard),
            _ => None,
        }
    }
}

fn weight(asked: AskedPriority) -> Option<u16> {
    match asked {
        AskedPriority::Dependency { weight, .. } => Some(weight),
        AskedPriority::Urgency { .. } | AskedPriority::Level { .. } => None,
    }
}

fn urgency(asked: AskedPriority) -> Option<u8> {
    match asked {
        AskedPriority::Urgency { urgency, .. } => Some(urgency),
        AskedPriority::Dependency { .. } | AskedPriority::Level { .. } => None,
    }
}

/// RFC 9218 §4.1.
const DEFAULT_URGENCY: u8 = 3;

#[cfg(test)]
mod tests {
    use super::super::tests::{header, measured, quick};
    use super::super::{analyse, metric};
    use crate::experiment::Experiment;
    use crate::record::TrialRecord;
    use trace::{AskedPriority, DeliveryRecord, PrioritySignal, PrioritySource};

    fn stream(policy: &str, raised_by: &[PrioritySource]) -> DeliveryRecord {
        let text = format!(
            r#"{{"connection":1,"protocol":"h2","stream":25,"authority":"far","path":"/picture/hero.png","status":200,
            "media_type":"image/png","asked":[{{"at":7,"by":"HEADERS","parent":23,"weight":147,"exclusive":true}},
            {{"at":7,"by":"priority field","urgency":3,"incremental":true}}],
            "policy":"{policy}","requested":7,"answered":8,"first_byte":9,"ended":12,"bytes":60000,"end":"done"}}"#
        );
        let mut stream: DeliveryRecord = serde_json::from_str(&text).unwrap();
        for by in raised_by {
            // The raise may come in one piece with the request.
            let asked = match by {
                PrioritySource::Priority => {
                    AskedPriority::Dependency { parent: 0, weight: 220, exclusive: true }
                }
                _ => AskedPriority::Urgency { urgency: 1, incremental: true },
            };
            stream.asked.push(PrioritySignal { by: *by, at: stream.requested, asked });
        }
        stream
    }

    /// `quick` with the tree, RFC 9218 and another as its contenders' orders.
    fn rows(experiment: &Experiment, raised_by: &[PrioritySource]) -> Vec<TrialRecord> {
        let mut rows = measured(experiment, |_, _| 100.0);
        for row in &mut rows {
            let (policy, lcp) = match row.plan.cell.contender.name.as_str() {
                "h1" => ("rfc7540", 2_650.0),
                "h2" => ("rfc9218", 3_980.0),
                _ => ("fifo", 4_000.0),
            };
            row.deliveries = vec![stream(policy, &[]), stream(policy, raised_by)];
            row.metrics.insert(metric::LCP_MS.to_owned(), lcp);
        }
        rows
    }

    #[test]
    fn a_server_that_never_hears_of_a_raised_image_is_named_with_what_it_loses() {
        let quick = quick();
        let result = analyse(&header(quick.clone()), &rows(&quick, &[PrioritySource::Priority]));
        assert_eq!(result.notes.len(), 3, "one a link: {:?}", result.notes);
        let note = result.notes.iter().find(|note| note.contains(" on 3g")).unwrap();
        assert_eq!(
            note,
            "h2 on 3g: chrome-156 raises an image by a PRIORITY frame only; this server heeds RFC 9218 only. It did not \
             hear of the raise in 8 of 8 measured trials. The median LCP is 3980 ms there, and 2650 ms with h1, whose \
             server hears of it."
        );
    }

    #[test]
    fn a_client_that_sends_priority_updates_too_loses_nothing_and_so_does_one_that_raises_none() {
        let quick = quick();
        let both = [PrioritySource::Priority, PrioritySource::PriorityUpdate];
        for raised_by in [&both[..], &[]] {
            let result = analyse(&header(quick.clone()), &rows(&quick, raised_by));
            assert_eq!(result.notes, Vec::<String>::new());
        }
    }
}
