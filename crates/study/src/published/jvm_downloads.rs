//! `jvm-downloads`: what its author found of seven download clients, and whether our run confirms it. No times were
//! published, only their order, in words. The order is judged on the first link of the run: a fast local network
//! unless others were asked for.

use super::check::{Check, Occurs, finding};
use super::{Ours, Published, PublishedFinding, PublishedRow, Question, conditions};
use crate::comparison::Comparison;
use crate::experiment::WorkloadKind;
use crate::metric;
use serde::Deserialize;
use std::ops::Range;

/// The published file. Its findings are data, in their author's words.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) title: String,
    expect: Expect,
}

#[derive(Debug, Deserialize)]
struct Expect {
    findings: [String; 7],
}

const CURL: &str = "curl";
pub(super) const COMMONS: &str = "commons-httpclient-3";
const APACHE: &str = "apache-httpclient-4";
const ZERO_COPY: &str = "apache-asyncclient-4";
/// Bee wraps it.
pub(super) const BEE: &str = "jdk-urlconnection";
/// soke-http wraps it.
const SOKE: &str = "finagle-6";
const DISPATCH: &str = "dispatch-0.10";

const SEVEN: [&str; 7] = [CURL, COMMONS, APACHE, ZERO_COPY, BEE, SOKE, DISPATCH];

/// "By far", "far behind", "far last": the other takes at most two thirds of the time.
pub(super) const FAR: f64 = 2.0 / 3.0;

/// "Narrowly": not by more than a fifth.
const NARROW: f64 = 0.8;

/// "About twice as fast as Bee".
const TWICE_AS_FAST: f64 = 0.5;

/// "Bee twice the asynchronous client (20 MB against 10 MB)".
const HEAP: f64 = 2.0;

/// The published sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Medium,
    Large,
}

impl File {
    /// The finding on many files in one process, which `jvm-many` judges.
    pub(super) fn many_files(&self) -> &str {
        let [.., many] = &self.expect.findings;
        many
    }
}

pub(super) const FILE: &str = include_str!("../../../../experiments/published/jvm-downloads.toml");

pub(super) fn file() -> Result<File, toml::de::Error> {
    toml::from_str(FILE)
}

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let File { title, expect } = file().ok()?;
    let judge = Judge { ours };
    let condition = judge.words(Size::Medium);
    let twice = PublishedRow {
        what: format!("{ZERO_COPY} / {BEE}, {condition}"),
        condition,
        n: Size::Medium.bytes(),
        unit: "bytes",
        reconstructs: false,
        published: TWICE_AS_FAST,
        published_ms: [None, None],
        contenders: [ZERO_COPY, BEE],
    };
    let ratios = vec![twice.with(
        judge.ask(Size::Medium, ZERO_COPY, BEE),
        judge.question(Size::Medium, ZERO_COPY, BEE),
        ours,
    )];
    let findings = judge.findings(&expect.findings);
    Some(Published { title, conditions: conditions(FILE), ratios, findings, open_question: None })
}

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    fn question<'q>(&'q self, size: Size, a: &'q str, b: &'q str) -> Option<Question<'q>> {
        let is = |kind: &WorkloadKind| matches!(kind, WorkloadKind::Download(download) if download.count == 1 && download.size.0 == size.bytes());
        let workload = &self.ours.experiment.workloads.iter().find(|w| is(&w.kind))?.name;
        Some(Question { workload, link: self.link(), a, b })
    }

    fn link(&self) -> &str {
        self.ours.experiment.links.first().map_or("", |link| &link.name)
    }

    /// The size and the link.
    fn words(&self, size: Size) -> String {
        format!("{} on {}", size.word(), self.link())
    }

    /// As it was published: the start of the process counts, the building of the client object does not.
    fn ask(&self, size: Size, a: &str, b: &str) -> Option<Comparison> {
        self.ask_of(metric::WALL_WITHOUT_CLIENT_MS, size, a, b)
    }

    /// A comparison by a metric.
    fn ask_of(&self, metric: &str, size: Size, a: &str, b: &str) -> Option<Comparison> {
        (self.ours.ask_of)(metric, self.question(size, a, b)?)
    }

    fn within(&self, size: Size, a: &str, b: &str, range: Range<f64>) -> Check {
        let what = format!("{a} / {b}, {}", self.words(size));
        Check::within(&what, self.ask(size, a, b).as_ref(), range)
    }

    /// `first` takes less time than each of the others.
    fn before(&self, size: Size, first: &str, others: &[&str]) -> Vec<Check> {
        self.before_by(size, first, others, 1.0)
    }

    /// `first` takes less than this share of the time of each of the others.
    fn before_by(&self, size: Size, first: &str, others: &[&str], share: f64) -> Vec<Check> {
        let others = others.iter().filter(|other| **other != first);
        others.map(|other| self.within(size, first, other, 0.0..share)).collect()
    }

    /// Whether the runtime collected garbage while it downloaded the large file.
    fn collections(&self, client: &str, expected: Occurs) -> Check {
        let what = format!("collections of {client}, {}", self.words(Size::Large));
        // The question is about one contender alone.
        let question = self.question(Size::Large, client, client);
        let counts = question.and_then(|question| (self.ours.figures)(metric::GC_COUNT, question));
        Check::occurs(&what, counts.as_deref(), expected)
    }

    fn findings(&self, words: &[String; 7]) -> Vec<PublishedFinding> {
        // The last one is of many files in one process: `jvm-many`.
        let [small, medium, large, collections, heap, copies, _] = words;
        vec![
            finding(small, &self.small(), NEWER),
            finding(medium, &self.medium(), NEWER),
            finding(large, &self.large(), NEWER),
            finding(
                collections,
                &[
                    self.collections(SOKE, Occurs::Always),
                    self.collections(DISPATCH, Occurs::Always),
                    self.collections(COMMONS, Occurs::Never),
                    self.collections(APACHE, Occurs::Never),
                ],
                COLLECTOR,
            ),
            finding(heap, &[self.heap()], COLLECTOR),
            finding(copies, &self.copies(), WHOLE_PROCESS),
        ]
    }

    fn small(&self) -> Vec<Check> {
        let size = Size::Small;
        let mut checks = self.before_by(size, CURL, &SEVEN, FAR);
        checks.extend(self.before(size, COMMONS, &SEVEN[2..]));
        checks.extend(SEVEN[1..].iter().map(|client| self.starts_longer(client)));
        checks
    }

    /// "Start-up, connection and request overhead decide": a client on the JVM takes longer to start than to connect, to ask and
    /// to receive the small file. curl does not tell the two apart.
    fn starts_longer(&self, client: &str) -> Check {
        let of = |metric: &str| {
            let question = self.question(Size::Small, client, client)?;
            (self.ours.figures)(metric, question)
        };
        let longer = of(metric::STARTUP_MS).zip(of(metric::TRANSFER_MS)).map(
            |(starts, transfers)| -> Vec<f64> {
                starts.iter().zip(&transfers).map(|(start, transfer)| start - transfer).collect()
            },
        );
        let what =
            format!("start of {client} longer than its transfer, {}", self.words(Size::Small));
        Check::occurs(&what, longer.as_deref(), Occurs::Always)
    }

    fn medium(&self) -> Vec<Check> {
        let size = Size::Medium;
        let mut checks = self.before(size, COMMONS, &SEVEN);
        checks.push(self.within(size, COMMONS, BEE, 0.0..FAR));
        let what = format!("{ZERO_COPY} / {BEE}, {}", self.words(size));
        let twice = self.ask(size, ZERO_COPY, BEE);
        checks.push(Check::about(&what, twice.as_ref(), TWICE_AS_FAST));
        checks
    }

    fn large(&self) -> Vec<Check> {
        let size = Size::Large;
        let mut checks = self.before(size, COMMONS, &SEVEN);
        checks.push(self.within(size, COMMONS, ZERO_COPY, NARROW..1.0));
        checks.extend(self.before(size, ZERO_COPY, &[CURL]));
        checks.extend(self.before(size, APACHE, &[SOKE, DISPATCH]));
        let last = SEVEN.iter().filter(|client| **client != BEE);
        checks.extend(last.map(|client| self.within(size, client, BEE, 0.0..FAR)));
        checks
    }

    fn heap(&self) -> Check {
        let what = format!("peak heap of {BEE} / {ZERO_COPY}, {}", self.words(Size::Large));
        let ours = self.ask_of(metric::HEAP_PEAK, Size::Large, BEE, ZERO_COPY);
        Check::about(&what, ours.as_ref(), HEAP)
    }

    /// Copies show in the processor time per GiB, and where clients were profiled, in the system calls that copy.
    fn copies(&self) -> Vec<Check> {
        let others = || SEVEN.iter().filter(|other| ![ZERO_COPY, CURL].contains(*other));
        let time = |other: &&str| {
            let what = format!("CPU a GiB of {ZERO_COPY} / {other}, {}", self.words(Size::Large));
            let ours = self.ask_of(metric::CPU_PER_GIB, Size::Large, ZERO_COPY, other);
            Check::faster(&what, ours.as_ref())
        };
        let calls = |other: &&str| {
            let what = format!("reading and writing system calls of {ZERO_COPY} against {other}");
            let (ours, theirs) = (self.copying_calls(ZERO_COPY)?, self.copying_calls(other)?);
            Some(Check::fewer(&what, ours, theirs))
        };
        others().map(time).chain(others().filter_map(calls)).collect()
    }

    /// The system calls that copied bytes between kernel and client while it fetched the large file; None where it was not
    /// profiled.
    fn copying_calls(&self, client: &str) -> Option<f64> {
        let question = self.question(Size::Large, client, client)?;
        let of = |metric: &str| (self.ours.profiled)(metric, question);
        Some(of(metric::SYSTEM_READS)? + of(metric::SYSTEM_WRITES)?)
    }
}

/// Why the order may differ.
const NEWER: &str =
    "JDK 17 on Linux starts and copies differently from JDK 1.6 on OS X, which cannot run here";

/// Why the use of the heap may differ.
const COLLECTOR: &str = "JDK 17 picks its collector and the size of its young generation by the machine, JDK 1.6 did so otherwise";

/// Why processor time may have another cause.
const WHOLE_PROCESS: &str = "The evidence is the processor time of the whole process, the start of the JVM in it, among the clients \
     on the JVM, and with --profile the system calls that copy. JDK 17 reads a socket into a buffer and writes that to the file where \
     its transferFrom is called";

impl Size {
    fn bytes(self) -> u64 {
        match self {
            Self::Small => 80_000,
            Self::Medium => 7_000_000,
            Self::Large => 30_000_000,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}
