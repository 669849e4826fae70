//! `websocket-echo`: the published rows beside our contenders `ws` and `http`, what its author found, and his open
//! question: what each cause that can be switched adds to a message.

use super::check::{Check, finding};
use super::open_question::{Cause, OpenQuestion};
use super::{Ours, Published, PublishedFinding, PublishedRow, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::{EchoPattern, WorkloadKind};
use serde::Deserialize;

/// The published file.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    title: String,
    row: Vec<Row>,
}

/// Times of 1000 messages in milliseconds.
#[derive(Debug, Deserialize)]
struct Row {
    pattern: EchoPattern,
    http_ms: f64,
    websocket_ms: f64,
}

/// "Send the numbers 1..1000".
const PUBLISHED_MESSAGES: u32 = 1000;

/// With fewer messages the opening weighs more than a hundredth, so the ratio would be another one.
const FEWEST: u32 = 200;

/// "Many times": at least half of the published sixteen.
const MANY: f64 = 1.0 / 8.0;

/// "Not slower", within the margin that ties have by default.
const NOT_SLOWER: f64 = 1.05;

/// The setting that each contender changes.
const CAUSES: [(&str, &str); 8] = [
    ("ws-server-nagle", "server without TCP_NODELAY, header and payload in one write"),
    ("ws-server-2-writes", "server in two writes, header and payload apart, with TCP_NODELAY"),
    (
        "ws-server-nagle-2-writes",
        "server without TCP_NODELAY and in two writes: Nagle holds the payload until the client's delayed ACK",
    ),
    ("ws-server-nagle-2-writes-quickack", "the same, and the client acknowledges at once"),
    (
        "ws-client-nagle-2-writes",
        "client without TCP_NODELAY and in two writes: Nagle holds the payload until the server's delayed ACK",
    ),
    ("ws-quickack", "TCP_QUICKACK on both sides, nothing else"),
    ("ws-deflate", "permessage-deflate"),
    ("ws-dart", "what dart:io's sources show: two writes with TCP_NODELAY, and permessage-deflate"),
];

const FILE: &str = include_str!("../../../../experiments/published/websocket-echo.toml");

pub(super) fn file() -> Result<File, toml::de::Error> {
    toml::from_str(FILE)
}

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let file = file().ok()?;
    let judge = Judge { ours };
    let with_ours = |row: &Row| {
        let published = PublishedRow {
            what: format!("ws / http, {}", words(row.pattern)),
            condition: words(row.pattern).to_owned(),
            n: u64::from(PUBLISHED_MESSAGES),
            unit: "messages",
            // HTTP's row of the serial ratio gave the link; WebSocket's did not.
            reconstructs: false,
            published: row.websocket_ms / row.http_ms,
            published_ms: [Some(row.websocket_ms), Some(row.http_ms)],
            contenders: ["ws", "http"],
        };
        published.with_ours(judge.question(row.pattern, FEWEST, "ws", "http"), ours)
    };
    let ratios = file.row.iter().map(with_ours).collect();
    let serial = file.row.iter().find(|row| row.pattern == EchoPattern::Serial)?;
    let excess_ms = (serial.websocket_ms - serial.http_ms) / f64::from(PUBLISHED_MESSAGES);
    let open_question = Some(judge.open_question(excess_ms));
    let (conditions, findings) = (conditions(FILE), judge.findings());
    Some(Published { title: file.title, conditions, ratios, findings, open_question })
}

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    fn question<'q>(
        &'q self,
        pattern: EchoPattern,
        fewest: u32,
        a: &'q str,
        b: &'q str,
    ) -> Option<Question<'q>> {
        let is = |kind: &WorkloadKind| {
            matches!(kind, WorkloadKind::Echo(echo)
                if echo.pattern == pattern
                && echo.count >= fewest && echo.bytes.is_none() && echo.views.is_none())
        };
        let workload = &self.ours.experiment.workloads.iter().find(|w| is(&w.kind))?.name;
        let link = &self.ours.experiment.links.first()?.name;
        Some(Question { workload, link, a, b })
    }

    fn ask(&self, pattern: EchoPattern, a: &str, b: &str) -> Option<Comparison> {
        (self.ours.ask)(self.question(pattern, FEWEST, a, b)?)
    }

    fn open_question(&self, excess_ms: f64) -> OpenQuestion {
        let causes = CAUSES.map(|(contender, what)| {
            // Both open a connection alike, and a difference cancels that. So few messages are enough.
            let question = self.question(EchoPattern::Serial, 1, contender, "ws");
            let added = question.and_then(|question| (self.ours.differ)(question));
            Cause::of(what, contender, excess_ms, added.as_ref())
        });
        OpenQuestion::of(
            "Why did a serial WebSocket message take longer than a serial HTTP call?",
            excess_ms,
            causes.into(),
        )
    }

    fn findings(&self) -> Vec<PublishedFinding> {
        let within = |pattern: EchoPattern, a: &str, b: &str, range| {
            let what = format!("{a} / {b}, {}", words(pattern));
            Check::within(&what, self.ask(pattern, a, b).as_ref(), range)
        };
        let (serial, parallel) = (EchoPattern::Serial, EchoPattern::Parallel);
        vec![
            finding(
                "parallel: WebSocket is many times faster (16x), HTTP/1.1 being held to six connections with one \
                 request each in flight",
                &[
                    within(parallel, "ws", "http", 0.0..MANY),
                    // A transport without the limit of six connections is faster too.
                    within(parallel, "h2", "http", 0.0..0.5),
                ],
                "",
            ),
            finding(
                "serial: with keep-alive HTTP is not slower than WebSocket",
                &[within(serial, "http", "ws", 0.0..NOT_SLOWER)],
                "",
            ),
        ]
    }
}

fn words(pattern: EchoPattern) -> &'static str {
    match pattern {
        EchoPattern::Serial => "serial",
        EchoPattern::Parallel => "parallel",
    }
}
