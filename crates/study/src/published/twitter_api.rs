//! `twitter-api`: the published rows beside our contenders `plain` and `spdy`, and what its author found. Its desktop row is
//! `twitter-desktop`'s, and what it says of bad conditions `twitter-conditions`'.

use super::check::{Check, finding};
use super::{Ours, Published, PublishedFinding, PublishedRow, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::{Pattern, ServerTime, WorkloadKind};
use serde::Deserialize;
use std::time::Duration;

/// The published file.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) title: String,
    pub(super) row: Vec<Row>,
}

/// Mean times of a call in milliseconds, one a run; the desktop's are three calls of one run.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pattern: String,
    pub(super) link: String,
    #[serde(default)]
    plain_ms: Vec<f64>,
    pub(super) spdy_ms: Vec<f64>,
}

pub(super) const FILE: &str = include_str!("../../../../experiments/published/twitter-api.toml");

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
pub(super) enum How {
    Serial,
    Staggered,
}

/// "showStatus … 11 times".
pub(super) const PUBLISHED_CALLS: u32 = 11;

/// Our patterns and theirs.
const PATTERNS: [(How, &str); 2] = [(How::Staggered, "parallel"), (How::Serial, "sequential")];

/// Our links and theirs.
const LINKS: [(&str, &str); 2] = [("3g-2013", "3G"), ("wifi-2013", "WiFi + fibre")];

pub(super) fn mean(values: &[f64]) -> Option<f64> {
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
            // With fewer calls the first connection weighs more, so the ratio would be another one. A server that does not
            // think is another one than theirs.
            if calls.count != PUBLISHED_CALLS
                || calls.server_time == ServerTime::Fixed(Duration::ZERO)
            {
                return false;
            }
            how.is(calls.pattern)
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
            finding(
                "skipping protocol negotiation (prior knowledge) changes nothing that can be measured",
                &negotiation.collect::<Vec<_>>(),
                "",
            ),
            // A resumed session spares one of the handshake's two round trips, and nothing else.
            finding(
                "the TLS hand-shake is the cost",
                &self.everywhere(&[How::Serial], "plain-resumed", "plain", Check::faster),
                "",
            ),
        ]
    }
}

impl How {
    pub(super) fn is(self, pattern: Pattern) -> bool {
        match self {
            Self::Serial => pattern == Pattern::Serial,
            Self::Staggered => matches!(pattern, Pattern::Staggered { .. }),
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Staggered => "staggered",
        }
    }
}
