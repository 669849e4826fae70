//! `twitter-api`: the published rows beside our contenders `plain` and `spdy`, and what its author found.

use super::check::{Check, Occurs, finding};
use super::{Ours, Published, PublishedFinding, PublishedRow, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::{Pattern, WorkloadKind};
use crate::metric;
use serde::Deserialize;
use std::ops::Range;

/// The published file.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    title: String,
    row: Vec<Row>,
}

/// Mean times of a call in milliseconds, one a run.
#[derive(Debug, Deserialize)]
struct Row {
    pattern: String,
    link: String,
    #[serde(default)]
    plain_ms: Vec<f64>,
    spdy_ms: Vec<f64>,
}

const FILE: &str = include_str!("../../../../experiments/published/twitter-api.toml");

pub(super) fn file() -> Result<File, toml::de::Error> {
    toml::from_str(FILE)
}

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let file = file().ok()?;
    let judge = Judge { ours };
    let with_ours = |row: &Row| {
        let (how, _) = PATTERNS.iter().find(|(_, theirs)| *theirs == row.pattern)?;
        let (link, _) = LINKS.iter().find(|(_, theirs)| *theirs == row.link)?;
        let (spdy, plain) = (mean(&row.spdy_ms)?, mean(&row.plain_ms)?);
        let condition = format!("{} on {}", row.pattern, row.link);
        let row = PublishedRow {
            what: format!("spdy / plain, {condition}"),
            condition,
            n: u64::from(PUBLISHED_CALLS),
            unit: "calls",
            reconstructs: *how == How::Serial,
            published: spdy / plain,
            published_ms: [Some(spdy), Some(plain)],
            contenders: ["spdy", "plain"],
        };
        Some(row.with_ours(judge.question(*how, link, "spdy", "plain"), ours))
    };
    Some(Published {
        ratios: file.row.iter().filter_map(with_ours).collect(),
        title: file.title,
        conditions: conditions(FILE),
        findings: judge.findings(),
        open_question: None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Serial,
    Staggered,
}

/// "showStatus … 11 times".
const PUBLISHED_CALLS: u32 = 11;

/// "3-5 % faster", with one per cent more on either side. The run's own margin of 5 % could not tell that from a tie.
const THREE_TO_FIVE_PER_CENT: Range<f64> = 0.94..0.98;

/// Our patterns and theirs.
const PATTERNS: [(How, &str); 2] = [(How::Staggered, "parallel"), (How::Serial, "sequential")];

/// Our links and theirs.
const LINKS: [(&str, &str); 2] = [("3g-2013", "3G"), ("wifi-2013", "WiFi + fibre")];

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    fn question<'q>(
        &'q self,
        how: How,
        link: &'q str,
        a: &'q str,
        b: &'q str,
    ) -> Option<Question<'q>> {
        let is = |kind: &WorkloadKind| {
            let WorkloadKind::Calls(calls) = kind else { return false };
            // With fewer calls the first connection weighs more, so the ratio would be another one.
            if calls.count != PUBLISHED_CALLS {
                return false;
            }
            match how {
                How::Serial => calls.pattern == Pattern::Serial,
                How::Staggered => matches!(calls.pattern, Pattern::Staggered { .. }),
            }
        };
        let workload = &self.ours.experiment.workloads.iter().find(|w| is(&w.kind))?.name;
        // A run over other links has no such place.
        self.ours.experiment.links.iter().find(|one| one.name == link)?;
        Some(Question { workload, link, a, b })
    }

    fn ask(&self, how: How, link: &str, a: &str, b: &str) -> Option<Comparison> {
        (self.ours.ask)(self.question(how, link, a, b)?)
    }

    /// The claim, checked on every link under every one of `patterns`.
    fn everywhere(
        &self,
        patterns: &[How],
        a: &str,
        b: &str,
        check: impl Fn(&str, Option<&Comparison>) -> Check,
    ) -> Vec<Check> {
        let places =
            patterns.iter().flat_map(|how| LINKS.iter().map(move |(link, _)| (*how, *link)));
        places
            .map(|(how, link)| {
                let what = format!("{a} / {b}, {} on {link}", how.words());
                check(&what, self.ask(how, link, a, b).as_ref())
            })
            .collect()
    }

    fn findings(&self) -> Vec<PublishedFinding> {
        let both = [How::Serial, How::Staggered];
        let gain = |how: How| {
            let on = |link| {
                (
                    format!("spdy / plain, {} on {link}", how.words()),
                    self.ask(how, link, "spdy", "plain"),
                )
            };
            let ((what, ours), (than, other)) = (on("3g-2013"), on("wifi-2013"));
            Check::smaller(&what, ours.as_ref(), &than, other.as_ref())
        };
        let negotiation = [("spdy-known", "spdy"), ("h2-known", "h2")];
        let negotiation =
            negotiation.iter().flat_map(|(a, b)| self.everywhere(&both, a, b, Check::alike));
        vec![
            finding(
                "multiplexed over one kept connection beats a new TLS connection a call on both links, by 17-48 %",
                &self.everywhere(&both, "spdy", "plain", |what, ours| {
                    Check::within(what, ours, 0.52..0.83)
                }),
                "",
            ),
            finding("the gain is larger on 3G than on WiFi", &both.map(gain), ""),
            finding(
                "with HTTP/1.1 keep-alive on, the sequential gain all but vanishes",
                &self.everywhere(&[How::Serial], "spdy", "kept", Check::alike),
                "",
            ),
            self.first_call(),
            finding(
                "with keep-alive on, SPDY is 3-5 % faster from the second call on",
                &self.later_calls(),
                "Ours has nothing but the transport: what SPDY spares a kept connection is fields of a few hundred bytes",
            ),
            finding(
                "skipping protocol negotiation (prior knowledge) changes nothing that can be measured",
                &negotiation.collect::<Vec<_>>(),
                "",
            ),
        ]
    }

    /// Whether the first call, which opens the connection, is slower than those after it: in every trial of `spdy` and of
    /// `kept`.
    fn first_call(&self) -> PublishedFinding {
        let by = |metric: &str, link: &str, contender: &str| {
            (self.ours.figures)(metric, self.question(How::Serial, link, contender, contender)?)
        };
        let places = LINKS.iter().flat_map(|(link, _)| ["spdy", "kept"].map(|one| (*link, one)));
        let checks: Vec<Check> = places
            .map(|(link, contender)| {
                let firsts = by(metric::FIRST_MS, link, contender);
                let slower =
                    firsts.zip(by(metric::REST_MS, link, contender)).map(|(first, rest)| {
                        let longer = first.iter().zip(&rest).map(|(first, rest)| first - rest);
                        longer.collect::<Vec<f64>>()
                    });
                let what = format!("{contender}'s first call slower than its others on {link}");
                Check::occurs(&what, slower.as_deref(), Occurs::Always)
            })
            .collect();
        finding(
            "with keep-alive on, the first call is slow (1357 ms, then 160 and 176)",
            &checks,
            "",
        )
    }

    /// The calls after the first, of SPDY against kept HTTP/1.1.
    fn later_calls(&self) -> Vec<Check> {
        let of = |(link, _): &(&str, &str)| {
            let what = format!("spdy / kept, serial from the second call on, on {link}");
            let question = self.question(How::Serial, link, "spdy", "kept");
            let ours = question.and_then(|one| (self.ours.ask_of)(metric::REST_MS, one));
            Check::within(&what, ours.as_ref(), THREE_TO_FIVE_PER_CENT)
        };
        LINKS.iter().map(of).collect()
    }
}

impl How {
    fn words(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Staggered => "staggered",
        }
    }
}
