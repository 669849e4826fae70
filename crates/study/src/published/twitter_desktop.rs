//! `twitter-desktop`: the desktop's row of `twitter-api`, three calls over a connection that is kept. Theirs and ours are set
//! against each other by the first call over those after it, which no unknown link changes much.

use super::check::{Check, Occurs, finding};
use super::twitter_api::{FILE, File, Row, file, mean};
use super::{
    Ours, Published, PublishedFinding, PublishedRatio, PublishedSide, Question, conditions,
};
use crate::comparison::Ratio;
use crate::experiment::{Pattern, WorkloadKind};
use crate::metric;
use crate::stats::Summary;
use std::ops::Range;
use unit::Seed;

/// The row's link.
const DESKTOP: &str = "desktop";

/// Those whose first call is compared with their others: our own, and the library itself on a JVM that has just started, as
/// theirs had.
const OPENED_FIRST: [&str; 4] = ["spdy", "kept", "twitter4j-4.0.2-spdy", "twitter4j-4.0.7-kept"];

/// "3-5 % faster", with one per cent more on either side. The run's own margin of 5 % could not tell that from a tie.
const THREE_TO_FIVE_PER_CENT: Range<f64> = 0.94..0.98;

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let file = file().ok()?;
    let judge = Judge { ours };
    let ratios = file.desktop().map(|row| judge.ratios(row)).unwrap_or_default();
    let findings = vec![judge.first_call(), judge.later_calls()];
    let conditions = conditions(FILE);
    Some(Published { title: file.title, conditions, ratios, findings, open_question: None })
}

impl File {
    /// The row of one run's calls.
    fn desktop(&self) -> Option<&Row> {
        self.row.iter().find(|row| row.link == DESKTOP)
    }
}

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    fn question<'q>(&'q self, a: &'q str, b: &'q str) -> Option<Question<'q>> {
        let is = |kind: &WorkloadKind| matches!(kind, WorkloadKind::Calls(calls) if calls.pattern == Pattern::Serial);
        let experiment = self.ours.experiment;
        let workload = &experiment.workloads.iter().find(|workload| is(&workload.kind))?.name;
        let link = &experiment.links.iter().find(|link| link.name == DESKTOP)?.name;
        Some(Question { workload, link, a, b })
    }

    /// One metric of every measured trial of a contender.
    fn figures(&self, metric: &str, contender: &str) -> Option<Vec<f64>> {
        (self.ours.figures)(metric, self.question(contender, contender)?)
    }

    /// The first call over those after it, published and ours.
    fn ratios(&self, row: &Row) -> Vec<PublishedRatio> {
        let Some((first, rest)) = row.spdy_ms.split_first() else { return Vec::new() };
        let Some(rest) = mean(rest) else { return Vec::new() };
        OPENED_FIRST.iter().map(|contender| self.ratio(contender, [*first, rest], row)).collect()
    }

    fn ratio(&self, contender: &str, published: [f64; 2], row: &Row) -> PublishedRatio {
        let of = |metric: &str| self.figures(metric, contender).unwrap_or_default();
        let (firsts, rests) = (of(metric::FIRST_MS), of(metric::REST_MS));
        let ratios: Vec<f64> =
            firsts.iter().zip(&rests).map(|(first, rest)| first / rest).collect();
        let value = Summary::of(&ratios, SEED);
        let side = |published_ms: f64, ours: &[f64]| PublishedSide {
            contender: contender.to_owned(),
            published_ms: Some(published_ms),
            ours_ms: Summary::of(ours, SEED),
        };
        let [first_ms, rest_ms] = published;
        let question = self.question(contender, contender);
        PublishedRatio {
            what: format!("{contender}, its first call / its others"),
            reconstructs: false,
            published: first_ms / rest_ms,
            ours: value.map(|value| Ratio(value.median)),
            ci95: value.and_then(|value| value.ci95).map(|ends| ends.map(Ratio)),
            error: value.map(|value| value.median / (first_ms / rest_ms) - 1.0),
            n: row.spdy_ms.len() as u64,
            unit: "calls".to_owned(),
            condition: "keep-alive on, first call against later ones".to_owned(),
            workload: question.map(|question| question.workload.to_owned()),
            link: question.map(|question| question.link.to_owned()),
            a: side(first_ms, &firsts),
            b: side(rest_ms, &rests),
            trials: value.map_or(0, |value| value.n),
        }
    }

    /// Whether the first call, which opens the connection, is slower than those after it, in every trial.
    fn first_call(&self) -> PublishedFinding {
        let checks = OPENED_FIRST.iter().map(|contender| {
            let firsts = self.figures(metric::FIRST_MS, contender);
            let longer = firsts.zip(self.figures(metric::REST_MS, contender)).map(
                |(firsts, rests)| -> Vec<f64> {
                    firsts.iter().zip(&rests).map(|(first, rest)| first - rest).collect()
                },
            );
            let what = format!("{contender}'s first call slower than its others");
            Check::occurs(&what, longer.as_deref(), Occurs::Always)
        });
        finding(
            "with keep-alive on, the first call is slow (1357 ms, then 160 and 176)",
            &checks.collect::<Vec<_>>(),
            "",
        )
    }

    /// The calls after the first, of SPDY against kept HTTP/1.1.
    fn later_calls(&self) -> PublishedFinding {
        let question = self.question("spdy", "kept");
        let ours = question.and_then(|one| (self.ours.ask_of)(metric::REST_MS, one));
        let what = "spdy / kept, from the second call on";
        finding(
            "with keep-alive on, SPDY is 3-5 % faster from the second call on",
            &[Check::within(what, ours.as_ref(), THREE_TO_FIVE_PER_CENT)],
            "Ours has nothing but the transport: what SPDY spares a kept connection is fields of a few hundred bytes",
        )
    }
}

/// Medians are drawn the same whenever a run is judged.
const SEED: Seed = Seed(1);
