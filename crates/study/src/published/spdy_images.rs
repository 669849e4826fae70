//! `spdy-images`: which of our contenders each published row corresponds to, and what its author found. nginx's
//! `keepalive_timeout`, which was switched, did not apply to SPDY: there the same was measured twice. Ours are closed in
//! earnest, by the server and by the client.

use super::check::{Check, finding};
use super::{
    Ours, Published, PublishedFinding, PublishedRatio, PublishedRow, Question, conditions,
};
use crate::comparison::Comparison;
use crate::experiment::WorkloadKind;
use serde::Deserialize;

/// The published file.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    title: String,
    keepalive_on: Rows,
    keepalive_off: Rows,
}

/// Times in milliseconds, by number of images.
#[derive(Debug, Deserialize)]
struct Rows {
    n: Vec<u32>,
    spdy: Vec<f64>,
    https: Vec<f64>,
    http: Vec<f64>,
}

const FILE: &str = include_str!("../../../../experiments/published/spdy-images.toml");

pub(super) fn file() -> Result<File, toml::de::Error> {
    toml::from_str(FILE)
}

pub(super) fn compare(ours: &Ours<'_>) -> Option<Published> {
    let file = file().ok()?;
    let mut ratios = Vec::new();
    for (mode, rows, pairs) in [
        (Mode::KeepAlive, &file.keepalive_on, &KEPT[..]),
        (Mode::Close, &file.keepalive_off, &CLOSED[..]),
    ] {
        for index in 0..rows.n.len() {
            let row = Page { mode, rows, index };
            ratios.extend(pairs.iter().filter_map(|pair| row.ratio(ours, pair)));
        }
    }
    for index in 0..file.keepalive_on.n.len() {
        ratios.extend(CLOSED_SPDY.iter().filter_map(|own| file.closing(ours, own, index)));
    }
    let findings = Judge { ours }.findings(&file);
    let conditions = conditions(FILE);
    Some(Published { title: file.title, conditions, ratios, findings, open_question: None })
}

/// The link was reconstructed from the keep-alive rows up to this number of images.
const RECONSTRUCTED_UP_TO: u32 = 100;

/// A published pair of columns, and our two contenders for it.
struct Columns {
    published: (Column, Column),
    ours: (&'static str, &'static str),
}

#[derive(Debug, Clone, Copy)]
enum Column {
    Spdy,
    Https,
    Http,
}

use Column::{Http, Https, Spdy};

const KEPT: [Columns; 2] = [
    Columns { published: (Spdy, Https), ours: ("spdy", "https") },
    Columns { published: (Http, Https), ours: ("http", "https") },
];

const CLOSED: [Columns; 4] = [
    Columns { published: (Spdy, Https), ours: ("spdy", "https-close-full") },
    Columns { published: (Spdy, Https), ours: ("spdy", "https-close-resumed") },
    Columns { published: (Http, Https), ours: ("http-close", "https-close-full") },
    Columns { published: (Http, Https), ours: ("http-close", "https-close-resumed") },
];

/// Whose connection is closed when it carries no request, and by whom.
const CLOSED_SPDY: [&str; 2] = ["spdy-close-server", "spdy-close-client"];

impl File {
    /// SPDY with keep-alive off against SPDY with it on.
    fn closing(&self, ours: &Ours<'_>, own: &str, index: usize) -> Option<PublishedRatio> {
        let n = *self.keepalive_on.n.get(index)?;
        let off = self.keepalive_off.n.iter().position(|other| *other == n)?;
        let (on, off) = (self.keepalive_on.at(Spdy, index)?, self.keepalive_off.at(Spdy, off)?);
        let row = PublishedRow {
            what: format!("{own} / spdy, N = {n}"),
            condition: "keep-alive off against on".to_owned(),
            n: u64::from(n),
            unit: "images",
            reconstructs: false,
            published: off / on,
            published_ms: [Some(off), Some(on)],
            contenders: [own, "spdy"],
        };
        Some(row.with_ours(Judge { ours }.question(n, own, "spdy"), ours))
    }
}

impl Rows {
    fn at(&self, column: Column, index: usize) -> Option<f64> {
        let column = match column {
            Spdy => &self.spdy,
            Https => &self.https,
            Http => &self.http,
        };
        column.get(index).copied()
    }
}

/// Whether connections were kept for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    KeepAlive,
    Close,
}

impl Mode {
    fn words(self) -> &'static str {
        match self {
            Self::KeepAlive => "keep-alive on",
            Self::Close => "keep-alive off",
        }
    }
}

/// One row of a published table: a number of images.
struct Page<'f> {
    mode: Mode,
    rows: &'f Rows,
    index: usize,
}

impl Page<'_> {
    fn ratio(&self, ours: &Ours<'_>, pair: &Columns) -> Option<PublishedRatio> {
        let at = |column| self.rows.at(column, self.index);
        let (over, under) = (at(pair.published.0)?, at(pair.published.1)?);
        let (a, b) = pair.ours;
        let n = self.rows.n[self.index];
        let row = PublishedRow {
            what: format!("{a} / {b}, N = {n}, {}", self.mode.words()),
            condition: self.mode.words().to_owned(),
            n: u64::from(n),
            unit: "images",
            reconstructs: self.mode == Mode::KeepAlive && n <= RECONSTRUCTED_UP_TO,
            published: over / under,
            published_ms: [Some(over), Some(under)],
            contenders: [a, b],
        };
        Some(row.with_ours(Judge { ours }.question(n, a, b), ours))
    }
}

struct Judge<'o, 'a> {
    ours: &'o Ours<'a>,
}

impl Judge<'_, '_> {
    fn question<'q>(&'q self, n: u32, a: &'q str, b: &'q str) -> Option<Question<'q>> {
        let images =
            |kind: &WorkloadKind| matches!(kind, WorkloadKind::Page(page) if page.images == n);
        let experiment = self.ours.experiment;
        let workload = &experiment.workloads.iter().find(|workload| images(&workload.kind))?.name;
        let link = &experiment.links.first()?.name;
        Some(Question { workload, link, a, b })
    }

    fn ask(&self, n: u32, a: &str, b: &str) -> Option<Comparison> {
        (self.ours.ask)(self.question(n, a, b)?)
    }

    fn findings(&self, file: &File) -> Vec<PublishedFinding> {
        vec![self.order(), self.factors(file), self.closing(), self.few_images()]
    }

    fn order(&self) -> PublishedFinding {
        let faster = |a, b| {
            let (what, ours) = self.named(1000, a, b);
            Check::faster(&what, ours.as_ref())
        };
        let more = |a, b| {
            let ((what, ours), (than, other)) = (self.named(1000, a, b), self.named(100, a, b));
            Check::smaller(&what, ours.as_ref(), &than, other.as_ref())
        };
        finding(
            "SPDY < HTTP < HTTPS in time, the more so the more images",
            &[
                faster("spdy", "http"),
                faster("http", "https"),
                faster("http-close", "https-close-full"),
                more("spdy", "https"),
                more("spdy", "http"),
            ],
            "On kept connections TLS costs a handshake at the beginning and hardly anything after it; their \
             machines paid more for each record",
        )
    }

    fn factors(&self, file: &File) -> PublishedFinding {
        let about = |rows: &Rows, b| {
            let index = rows.n.iter().position(|n| *n == 1000)?;
            let (what, ours) = self.named(1000, "spdy", b);
            Some(Check::about(&what, ours.as_ref(), rows.at(Spdy, index)? / rows.at(Https, index)?))
        };
        let checks =
            [about(&file.keepalive_on, "https"), about(&file.keepalive_off, "https-close-resumed")];
        finding(
            "at N = 1000 SPDY takes about half of HTTPS with keep-alive, about a fifth without",
            checks.into_iter().flatten().collect::<Vec<_>>().as_slice(),
            "",
        )
    }

    /// What closing costs is one handshake or none, so it shows where there are few images.
    fn closing(&self) -> PublishedFinding {
        let alike = |n, own| {
            let (what, ours) = self.named(n, own, "spdy");
            Check::alike(&what, ours.as_ref())
        };
        let checks = CLOSED_SPDY.iter().flat_map(|own| [alike(10, own), alike(100, own)]);
        finding(
            "keep-alive makes no difference to SPDY",
            &checks.collect::<Vec<_>>(),
            "nginx's `keepalive_timeout` did not govern SPDY, so nothing was switched there. Our connection is closed when \
             no request is open on it. A document of 10 images has ended before the first image is asked for, so the images wait \
             for a new handshake",
        )
    }

    fn few_images(&self) -> PublishedFinding {
        let alike = |a, b| {
            let (what, ours) = self.named(10, a, b);
            Check::alike(&what, ours.as_ref())
        };
        finding(
            "at N = 10 the three are alike with keep-alive",
            // Theirs were open from the load before.
            &[
                alike("spdy-open", "https-open"),
                alike("http-open", "https-open"),
                alike("spdy-open", "http-open"),
            ],
            "With ten images HTTP needs two turns on its six connections where SPDY needs one. A browser's own time, \
             which is the same for all, hid a round trip there",
        )
    }

    /// The comparison of `a` with `b` at `n` images, with its name.
    fn named(&self, n: u32, a: &str, b: &str) -> (String, Option<Comparison>) {
        (format!("{a} / {b} at N = {n}"), self.ask(n, a, b))
    }
}
