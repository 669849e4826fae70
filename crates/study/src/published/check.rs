//! Checks a claim against an interval. The interval lies wholly where the claim holds, wholly elsewhere, or across the
//! border.

use super::{Agreement, PublishedFinding};
use crate::comparison::{Comparison, Verdict};
use crate::stats::{CONFIDENCE, blocks_for_any_interval};
use std::collections::BTreeSet;
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

/// What a check rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Basis {
    /// Figures.
    Measured,
    /// Trials of which none counts: the audit refused them, or they failed.
    Refused,
    /// The run left it out.
    NotRun,
}

impl Basis {
    fn of(ours: Option<&Comparison>) -> Self {
        match ours {
            None => Self::NotRun,
            Some(comparison) if comparison.ratio.is_none() => Self::Refused,
            Some(_) => Self::Measured,
        }
    }
}

impl Check {
    /// The first takes less time.
    pub(super) fn faster(what: &str, ours: Option<&Comparison>) -> Self {
        Self::within(what, ours, 0.0..1.0)
    }

    /// The first takes more time.
    pub(super) fn slower(what: &str, ours: Option<&Comparison>) -> Self {
        Self::within(what, ours, 1.0..f64::INFINITY)
    }

    /// The two take the same time, within the run's margin.
    pub(super) fn alike(what: &str, ours: Option<&Comparison>) -> Self {
        let check = Self::of(what, ours, |comparison| match comparison.verdict {
            Verdict::Tie => Agreement::Confirmed,
            Verdict::Faster | Verdict::Slower => Agreement::NotConfirmed,
            Verdict::Undecided | Verdict::Unsupported => Agreement::CannotTell,
        });
        match ours.and_then(limited) {
            Some(_) => check.open_because("neither a tie nor a difference"),
            None => check,
        }
    }

    /// The ratio lies in this range.
    pub(super) fn within(what: &str, ours: Option<&Comparison>, range: Range<f64>) -> Self {
        let (least, most) = (range.start, range.end);
        let check = Self::of(what, ours, |comparison| match bounds(comparison) {
            Some((low, high)) if low > least && high < most => Agreement::Confirmed,
            Some((low, high)) if high < least || low > most => Agreement::NotConfirmed,
            _ => Agreement::CannotTell,
        });
        let Some((low, high)) = ours.and_then(limited) else { return check };
        let crossed: Vec<String> = [least, most]
            .into_iter()
            .filter(|border| low <= *border && *border <= high)
            .map(|border| ((border * 1e3).round() / 1e3).to_string())
            .collect();
        check.open_because(&format!("on both sides of {}", crossed.join(" and of ")))
    }

    /// The ratio is about this one: a quarter more or less.
    pub(super) fn about(what: &str, ours: Option<&Comparison>, published: f64) -> Self {
        Self::within(what, ours, published * (1.0 - ABOUT)..published * (1.0 + ABOUT))
    }

    /// The first ratio is smaller than the second.
    pub(super) fn smaller(
        what: &str,
        ours: Option<&Comparison>,
        than: &str,
        other: Option<&Comparison>,
    ) -> Self {
        let agreement = match (ours.and_then(bounds), other.and_then(bounds)) {
            (Some((_, high)), Some((low, _))) if high < low => Agreement::Confirmed,
            (Some((low, _)), Some((_, high))) if low > high => Agreement::NotConfirmed,
            _ => Agreement::CannotTell,
        };
        let [ours_in_words, theirs_in_words] =
            [(what, ours), (than, other)].map(|(what, one)| describe(what, one, agreement));
        let text = format!("{ours_in_words} against {theirs_in_words}");
        let basis = Basis::of(ours).max(Basis::of(other));
        let check = Self { agreement, basis, text };
        match ours.and_then(limited).and(other.and_then(limited)) {
            Some(_) => check.open_because("the intervals overlap"),
            None => check,
        }
    }

    /// The first count is smaller than the second. Each is of one run of a program and has no interval.
    pub(super) fn fewer(what: &str, ours: f64, other: f64) -> Self {
        let agreement = if ours < other { Agreement::Confirmed } else { Agreement::NotConfirmed };
        Self { agreement, basis: Basis::Measured, text: format!("{what}: {ours} against {other}") }
    }

    /// The check, with what it tests of a claim that says more: which ratios confirm it.
    pub(super) fn tested(mut self, range: &str) -> Self {
        self.text.push_str(&format!(" (tested: {range})"));
        self
    }

    /// Each of `counts`, one per trial, is as `expected`. It stays open with fewer trials than an interval of 95 %
    /// needs, and with trials of both kinds. None where it was not run.
    pub(super) fn occurs(what: &str, counts: Option<&[f64]>, expected: Occurs) -> Self {
        let basis = match counts {
            None => Basis::NotRun,
            Some([]) => Basis::Refused,
            Some(_) => Basis::Measured,
        };
        let counts = counts.unwrap_or_default();
        let seen = counts.iter().filter(|count| **count > 0.0).count();
        let text = match basis {
            Basis::Measured => format!("{what}: in {seen} of {} trials", counts.len()),
            Basis::Refused | Basis::NotRun => without_figure(what, basis),
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

    fn of(
        what: &str,
        ours: Option<&Comparison>,
        judge: impl FnOnce(&Comparison) -> Agreement,
    ) -> Self {
        let agreement = ours.map_or(Agreement::CannotTell, judge);
        Self { agreement, basis: Basis::of(ours), text: describe(what, ours, agreement) }
    }

    /// The check, with the reason why its figures leave it open, where they do.
    fn open_because(mut self, why: &str) -> Self {
        if self.agreement == Agreement::CannotTell && self.basis == Basis::Measured {
            self.text.push_str(&format!(", {why}"));
        }
        self
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
    let lacks = |basis: Basis| {
        verdict == Agreement::CannotTell && checks.iter().any(|check| check.basis == basis)
    };
    let (not_run, refused) = (lacks(Basis::NotRun), lacks(Basis::Refused));
    PublishedFinding { finding: finding.to_owned(), verdict, reason, not_run, refused }
}

/// The checks' texts, one after another. Of many checks without a figure, only their number.
fn listed(checks: &[&Check]) -> String {
    let of = |basis: Basis| checks.iter().filter(|check| check.basis == basis).count();
    let kept =
        checks.iter().filter(|check| check.basis == Basis::Measured || of(check.basis) <= FEW);
    // Two checks of one comparison have one text.
    let mut named = BTreeSet::new();
    let mut texts: Vec<String> =
        kept.map(|check| check.text.clone()).filter(|text| named.insert(text.clone())).collect();
    for (basis, words) in [
        (Basis::NotRun, "comparisons that it depends on were not run"),
        (Basis::Refused, "comparisons that it depends on have no trial that counts"),
    ] {
        if of(basis) > FEW {
            texts.push(format!("{} {words}", of(basis)));
        }
    }
    texts.join("; ")
}

/// Up to this many are named.
const FEW: usize = 3;

/// The interval, where there were trials enough for one.
fn limited(comparison: &Comparison) -> Option<(f64, f64)> {
    bounds(comparison).filter(|(_, high)| high.is_finite())
}

fn bounds(comparison: &Comparison) -> Option<(f64, f64)> {
    comparison.ci95.map(|[low, high]| (low.0, high.0))
}

/// The ratio and its interval. Where they leave a check open, in the digits that show why.
fn describe(what: &str, ours: Option<&Comparison>, agreement: Agreement) -> String {
    let figures = ours.and_then(|comparison| Some((comparison.ratio?, comparison.ci95?)));
    // Of a ratio below a tenth two decimals say too little.
    let is_small = figures.is_some_and(|(ratio, _)| ratio.0 < 0.095);
    let decimals = if agreement == Agreement::CannotTell || is_small { 3 } else { 2 };
    match figures {
        Some((ratio, [low, high])) if low.0 <= 0.0 && high.0.is_infinite() => {
            format!("{what}: {:.decimals$}, too few trials for an interval", ratio.0)
        }
        // A trial that failed ranks as slower than any time.
        Some((_, [low, high])) if high.0.is_infinite() => {
            format!("{what}: {:.decimals$} at least, for trials failed", low.0)
        }
        Some((ratio, [low, high])) => {
            format!("{what}: {:.decimals$} [{:.decimals$}, {:.decimals$}]", ratio.0, low.0, high.0)
        }
        None => without_figure(what, Basis::of(ours)),
    }
}

fn without_figure(what: &str, basis: Basis) -> String {
    match basis {
        Basis::NotRun => format!("{what}: not run"),
        Basis::Refused | Basis::Measured => format!("{what}: no trial counts"),
    }
}

/// "About half" is from 0.375 to 0.625.
const ABOUT: f64 = 0.25;
