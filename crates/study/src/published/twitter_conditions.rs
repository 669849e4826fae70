//! `twitter-conditions`: what the author of `twitter-api` says of bad conditions, on a link that loses packets and on one that is
//! worse than 3G. He gives no row for it, so only the sentence is judged.

use super::check::{Check, finding};
use super::twitter_api::{FILE, How, PUBLISHED_CALLS, file};
use super::{Ours, Published, PublishedFinding, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::{ServerTime, WorkloadKind};
use std::time::Duration;

/// Ours that are bad.
const LINKS: [&str; 2] = ["3g-2013-lossy", "edge"];

/// "At most 30 %": the least that SPDY's time is of the plain client's.
const THIRTY_PER_CENT: f64 = 0.7;

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    Some(Published {
        title: file().ok()?.title,
        conditions: conditions(FILE),
        ratios: Vec::new(),
        findings: vec![bad_conditions(ours)],
        open_question: None,
    })
}

fn bad_conditions(ours: &Ours<'_>) -> PublishedFinding {
    let places =
        [How::Serial, How::Staggered].into_iter().flat_map(|how| LINKS.map(|link| (how, link)));
    let checks: Vec<Check> = places
        .map(|(how, link)| {
            let what = format!("spdy / plain, {} on {link}", how.words());
            Check::within(&what, ask(ours, how, link).as_ref(), THIRTY_PER_CENT..f64::INFINITY)
        })
        .collect();
    finding(
        "where conditions are bad the gain is 30 % at most",
        &checks,
        "What a call spares is three round trips, and the worse the link the larger is their part of a call",
    )
}

fn ask(ours: &Ours<'_>, how: How, link: &str) -> Option<Comparison> {
    let is = |kind: &WorkloadKind| {
        matches!(kind, WorkloadKind::Calls(calls) if how.is(calls.pattern) && calls.count == PUBLISHED_CALLS
            && calls.server_time != ServerTime::Fixed(Duration::ZERO))
    };
    let experiment = ours.experiment;
    let workload = &experiment.workloads.iter().find(|workload| is(&workload.kind))?.name;
    experiment.links.iter().find(|one| one.name == link)?;
    (ours.ask)(Question { workload, link, a: "spdy", b: "plain" })
}
