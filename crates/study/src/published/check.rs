//! Checks a claim against an interval. The interval lies wholly where the claim holds, wholly elsewhere, or across the
//! border.

use super::answer::{Answer, Basis, CellTrials, RefusedTrials};
use super::{Agreement, PublishedFinding};
use crate::comparison::{Comparison, Verdict};
use crate::stats::{CONFIDENCE, blocks_for_any_interval};
use std::ops::Range;

/// How often a finding claims that something occurs in the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurs {
    /// In every trial.
    Always,
    /// In no trial.
    Never,
}

/// One claim of a finding, checked against an interval.
#[derive(Debug, Clone)]
pub(super) struct Check {
    agreement: Agreement,
    basis: Basis,
    text: String,
}

impl Check {
    /// The first takes less time.
    pub(super) fn faster(what: &str, ours: &Answer) -> Self {
        Self::within(what, ours, 0.0..1.0)
    }

    /// The two take the same time, within the run's margin.
    pub(super) fn alike(what: &str, ours: &Answer) -> Self {
        Self::of(what, ours, |comparison| match comparison.verdict {
            Verdict::Tie => Agreement::Confirmed,
            Verdict::Faster | Verdict::Slower => Agreement::NotConfirmed,
            Verdict::Undecided | Verdict::Unsupported => Agreement::CannotTell,
        })
    }

    /// The ratio lies in this range.
    pub(super) fn within(what: &str, ours: &Answer, range: Range<f64>) -> Self {
        let (least, most) = (range.start, range.end);
        Self::of(what, ours, |comparison| match bounds(comparison) {
            Some((low, high)) if low > least && high < most => Agreement::Confirmed,
            Some((low, high)) if high < least || low > most => Agreement::NotConfirmed,
            _ => Agreement::CannotTell,
        })
    }

    /// The ratio is about this one: a quarter more or less.
    pub(super) fn about(what: &str, ours: &Answer, published: f64) -> Self {
        Self::within(what, ours, published * (1.0 - ABOUT)..published * (1.0 + ABOUT))
    }

    /// The first ratio is smaller than the second.
    pub(super) fn smaller(what: &str, ours: &Answer, than: &str, other: &Answer) -> Self {
        let text = format!("{} against {}", describe(what, ours), describe(than, other));
        let agreement = match (bounds_of(ours), bounds_of(other)) {
            (Some((_, high)), Some((low, _))) if high < low => Agreement::Confirmed,
            (Some((low, _)), Some((_, high))) if low > high => Agreement::NotConfirmed,
            _ => Agreement::CannotTell,
        };
        Self { agreement, basis: ours.basis().and(other.basis()), text }
    }

    /// Each of `counts`, one per trial, is as `expected`. It stays open with fewer trials than an interval of 95 %
    /// needs, and with trials of both kinds.
    pub(super) fn occurs(
        what: &str,
        counts: &[f64],
        cells: &[CellTrials],
        expected: Occurs,
    ) -> Self {
        let seen = counts.iter().filter(|count| **count > 0.0).count();
        let basis = Basis::of(counts.len() as u32, cells);
        let text = match without_figure(&basis) {
            Some(why) => format!("{what}: {why}"),
            None => format!("{what}: in {seen} of {} trials", counts.len()),
        };
        let enough = counts.len() >= blocks_for_any_interval(1, 1.0 - CONFIDENCE);
        let agreement = match expected {
            _ if !enough || (seen > 0 && seen < counts.len()) => Agreement::CannotTell,
            Occurs::Always if seen > 0 => Agreement::Confirmed,
            Occurs::Never if seen == 0 => Agreement::Confirmed,
            Occurs::Always | Occurs::Never => Agreement::NotConfirmed,
        };
        Self { agreement, basis, text }
    }

    fn of(what: &str, ours: &Answer, judge: impl FnOnce(&Comparison) -> Agreement) -> Self {
        let agreement = ours.comparison.as_ref().map_or(Agreement::CannotTell, judge);
        Self { agreement, basis: ours.basis(), text: describe(what, ours) }
    }
}

/// A finding that holds where all `checks` do. `differs`: why the result may differ here; it is reported only where it
/// does.
pub(super) fn finding(finding: &str, checks: &[Check], differs: &str) -> PublishedFinding {
    let any = |wanted: Agreement| checks.iter().any(|check| check.agreement == wanted);
    let verdict = if any(Agreement::NotConfirmed) {
        Agreement::NotConfirmed
    } else if any(Agreement::CannotTell) || checks.is_empty() {
        Agreement::CannotTell
    } else {
        Agreement::Confirmed
    };
    let telling = checks.iter().filter(|check| check.agreement == verdict);
    let mut reason = listed(&telling.collect::<Vec<_>>());
    // The reason is given where the result differs, and where there was nothing to check.
    let says_why = verdict == Agreement::NotConfirmed || checks.is_empty();
    if says_why && !differs.is_empty() {
        let gap = if reason.is_empty() { "" } else { ". " };
        reason.push_str(&format!("{gap}{differs}"));
    }
    let open = verdict == Agreement::CannotTell;
    let not_run = open && checks.iter().any(|check| matches!(check.basis, Basis::NotRun));
    let refused = refused(checks).filter(|_| open);
    PublishedFinding { finding: finding.to_owned(), verdict, reason, not_run, refused }
}

/// The checks' texts, one after another. Of many checks that did not run, only their number, and of many whose trials were
/// refused.
fn listed(checks: &[&Check]) -> String {
    let not_run = |check: &&&Check| matches!(check.basis, Basis::NotRun);
    let without = |check: &&&Check| matches!(check.basis, Basis::Refused(_));
    let absent = checks.iter().filter(not_run).count();
    let rejected = checks.iter().filter(without).count();
    let kept = checks
        .iter()
        .filter(|check| !(not_run(check) && absent > FEW || without(check) && rejected > FEW));
    let mut texts: Vec<String> = kept.map(|check| check.text.clone()).collect();
    if absent > FEW {
        texts.push(format!("{absent} comparisons that it depends on were not run"));
    }
    if let Some(refused) = refused(checks.iter().copied()).filter(|_| rejected > FEW) {
        texts.push(format!(
            "{rejected} comparisons that it depends on have too few trials ({refused})"
        ));
    }
    texts.join("; ")
}

/// The refused trials of all checks that they leave without an interval.
fn refused<'c>(checks: impl IntoIterator<Item = &'c Check>) -> Option<RefusedTrials> {
    RefusedTrials::of(checks.into_iter().flat_map(|check| match &check.basis {
        Basis::Refused(cells) => cells.as_slice(),
        Basis::Measured | Basis::NotRun | Basis::NoFigure => &[],
    }))
}

/// Up to this many are named.
const FEW: usize = 3;

fn bounds(comparison: &Comparison) -> Option<(f64, f64)> {
    comparison.ci95.map(|[low, high]| (low.0, high.0))
}

fn bounds_of(answer: &Answer) -> Option<(f64, f64)> {
    answer.comparison.as_ref().and_then(bounds)
}

fn describe(what: &str, ours: &Answer) -> String {
    let figures = ours.comparison.as_ref().and_then(|one| Some((one.ratio?, one.ci95?)));
    match (without_figure(&ours.basis()), figures) {
        (None, Some((ratio, [low, high]))) => {
            format!("{what}: {:.2} [{:.2}, {:.2}]", ratio.0, low.0, high.0)
        }
        (None, None) => format!("{what}: {NO_FIGURE}"),
        (Some(why), _) => format!("{what}: {why}"),
    }
}

/// Why there is no interval; None where trials were measured.
fn without_figure(basis: &Basis) -> Option<String> {
    match basis {
        Basis::Measured => None,
        Basis::NotRun => Some("not run".to_owned()),
        Basis::Refused(cells) => RefusedTrials::of(cells).map(|refused| refused.to_string()),
        Basis::NoFigure => Some(NO_FIGURE.to_owned()),
    }
}

const NO_FIGURE: &str = "no trial was measured";

/// "About half" is from 0.375 to 0.625.
const ABOUT: f64 = 0.25;
