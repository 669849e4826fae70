//! An experiment is a value: who races, at what, over which links, how often, and what counts as a
//! difference. Files state it in TOML; the schema for editors is `docs/schema/experiment.schema.json`.
//! Links are opaque here but for their names: the crate `link` knows what they mean.

mod browser;
mod calls;
mod contender;
mod download;
mod echo;
mod error;
mod fast;
mod file;
mod first_visit;
mod known;
mod next_view;
mod one_or_table;
mod overrides;
mod own_end;
mod page;
mod policy;
pub(crate) mod quantity;
mod read;
mod receive_windows;
mod service;
mod side;
mod source;
mod stopping;
mod stream;
mod terms;
#[cfg(test)]
mod tests;
mod workload;

pub use browser::{Profile, RaiseBy};
pub use calls::{CallsWorkload, OwnRequests, Pattern, RequestSource, ServerTime};
pub use contender::{
    ClientSubject, CongestionControl, Contender, Negotiation, Priorities, Settings, Temperature,
    Tls, Transport,
};
pub use download::{DownloadWorkload, Processes};
pub use echo::{EchoPattern, EchoWorkload};
pub use error::ExperimentError;
pub use fast::Fast;
pub use first_visit::FirstVisit;
pub use known::{KNOWN_CONTENDERS, KnownContender};
pub use next_view::NextView;
pub use overrides::{Extent, OverrideError, Overrides};
pub use page::{
    FetchPriority, LARGEST_PART, LEAST_PICTURE, LEAST_SCRIPT, LEAST_SHEET, MOST_BELOW_FOLD,
    MOST_PARTS, PART_BYTES, PageMetric, PageParts, PageShape, PageWorkload,
};
pub use policy::PolicyChoice;
pub use receive_windows::receive_window;
pub use service::{ORIGIN, PortKind, RunningService, Server};
pub use side::Side;
pub use source::Source;
pub use stopping::Stopping;
pub use stream::{Delivery, StreamWorkload};
pub use terms::Terms;
pub use workload::{Dependencies, HarWorkload, RecordedHosts, Think, Workload, WorkloadKind};

use crate::gate::Gates;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use unit::ByteSize;

/// What is asked, and all that is needed to ask it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// The name that `race` takes.
    pub name: String,
    /// One line over the table of results.
    pub title: String,
    /// What is asked, in words.
    pub question: String,
    /// The published measurement that is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Source>,
    /// What the experiment says nothing about.
    pub not_covered: Vec<String>,
    /// The contender that the others are set against.
    pub baseline: String,
    /// A ratio from 1/(1 + margin) to 1 + margin counts as no difference.
    pub margin: f64,
    /// Where all random choices come from.
    pub seed: u64,
    /// When the trials of a workload on a link end.
    #[serde(default, skip_serializing_if = "Stopping::is_fixed")]
    pub stopping: Stopping,
    /// The longest that the trials may take, where as many run as decide and that time allows. A link's trials are 0 until
    /// the first blocks, which only warm up, have shown how many those can be.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "quantity::optional_span")]
    #[schemars(with = "Option<String>")]
    pub time_limit: Option<Duration>,
    /// What the run is held to.
    #[serde(default, skip_serializing_if = "Gates::is_empty")]
    pub gates: Gates,
    /// For two names of one contender: so many blocks make a comparison by itself, and how many of them are found
    /// to differ is what is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<u32>,
    /// When a trial has failed for taking too long.
    #[serde(with = "quantity::span")]
    #[schemars(with = "String")]
    pub timeout: Duration,
    /// Who answers contenders that are asked for by name on the command line: the file's own server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// Who races; names are distinct.
    pub contenders: Vec<Contender>,
    /// At what; names are distinct.
    pub workloads: Vec<Workload>,
    /// Over which networks; names are distinct.
    pub links: Vec<LinkChoice>,
    /// What `--fast` leaves of contenders and links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast: Option<Fast>,
}

/// A link by name, and how often each cell runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkChoice {
    /// A profile's name, or the link's own figures.
    pub name: String,
    /// The link's own figures, where the name does not give them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<String>,
    /// Measured trials of each cell.
    pub trials: u32,
    /// Those among them that were added after the run had been judged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u32,
    /// Trials of each cell before these, not counted.
    pub warmup: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl LinkChoice {
    /// The trials of each cell that the run was planned with.
    pub fn planned(&self) -> u32 {
        self.trials.saturating_sub(self.added)
    }

    /// The text that the crate `link` reads: the figures, else the name.
    pub fn text(&self) -> &str {
        self.figures.as_deref().unwrap_or(&self.name)
    }
}

/// Margins that make sense: below a thousandth nothing is ever a tie, above a doubling everything is.
pub const MARGINS: RangeInclusive<f64> = 0.001..=1.0;

/// The most measured trials of a cell: a plan of more would not fit into the memory of what plans it.
pub const MOST_TRIALS: u32 = 10_000;

impl FromStr for Experiment {
    type Err = ExperimentError;
    fn from_str(text: &str) -> Result<Self, ExperimentError> {
        read::parse(text)
    }
}

impl Experiment {
    /// The contender of this name.
    pub fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// The workload of this name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The same contenders and links over recorded pages, each with its check: what `race my.har` runs.
    pub fn over_pages(self, pages: Vec<HarWorkload>) -> Self {
        let pages: Vec<Workload> = pages.into_iter().map(Workload::har).collect();
        let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        Self {
            name: names.join("+"),
            title: format!("recorded page: {}, cold", names.join(", ")),
            question: "Which HTTP loads this page soonest?".to_owned(),
            published: None,
            // A recorded page has the origins that it has.
            not_covered: self
                .not_covered
                .into_iter()
                .filter(|what| what != "several origins")
                .collect(),
            workloads: pages.into_iter().flat_map(Workload::with_check).collect(),
            ..self
        }
    }

    /// The same links over requests to a service that already runs: what `race http://127.0.0.1:3000/` runs. `count`
    /// requests are made one after another, and as many all at once, over `names`, of which the first is the baseline.
    pub fn at_service(
        self,
        service: RunningService,
        requests: OwnRequests,
        count: u32,
        names: &[String],
    ) -> Self {
        let usual = [KnownContender::find("h1"), KnownContender::find("h2")];
        let asked = names.iter().map(|name| KnownContender::find(name));
        let known = usual.into_iter().chain(asked).flatten().map(KnownContender::contender);
        let mut contenders: Vec<Contender> = Vec::new();
        for contender in known.map(|one| one.at(&service)) {
            if !contenders.contains(&contender) {
                contenders.push(contender);
            }
        }
        let calls = |pattern| {
            Workload::calls(CallsWorkload {
                pattern,
                count,
                bytes: ByteSize(0),
                server_time: ServerTime::Fixed(Duration::ZERO),
                requests: Some(requests.clone()),
            })
        };
        Self {
            name: "calls".to_owned(),
            title: format!("{} of {}", requests.name, service.at),
            question: "Which HTTP answers these requests soonest?".to_owned(),
            published: None,
            not_covered: vec!["other users of the service".to_owned(), "pages".to_owned()],
            baseline: names.first().cloned().unwrap_or_else(|| "h1".to_owned()),
            workloads: vec![calls(Pattern::Serial), calls(Pattern::Parallel)],
            server: Some(Server::Running(service)),
            contenders,
            fast: None,
            ..self
        }
    }
}

/// An experiment that is part of wirelap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The name that `race` takes.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

/// The experiments that are part of wirelap.
pub fn builtin() -> &'static [Builtin] {
    &[
        Builtin { name: "quick", toml: include_str!("../../../../experiments/quick.toml") },
        Builtin { name: "servers", toml: include_str!("../../../../experiments/servers.toml") },
        Builtin {
            name: "spdy-images",
            toml: include_str!("../../../../experiments/spdy-images.toml"),
        },
        Builtin {
            name: "twitter-api",
            toml: include_str!("../../../../experiments/twitter-api.toml"),
        },
        Builtin {
            name: "twitter-desktop",
            toml: include_str!("../../../../experiments/twitter-desktop.toml"),
        },
        Builtin {
            name: "twitter-conditions",
            toml: include_str!("../../../../experiments/twitter-conditions.toml"),
        },
        Builtin {
            name: "websocket-echo",
            toml: include_str!("../../../../experiments/websocket-echo.toml"),
        },
        Builtin {
            name: "jvm-downloads",
            toml: include_str!("../../../../experiments/jvm-downloads.toml"),
        },
        Builtin { name: "jvm-many", toml: include_str!("../../../../experiments/jvm-many.toml") },
        Builtin { name: "stream", toml: include_str!("../../../../experiments/stream.toml") },
        Builtin { name: "lossy", toml: include_str!("../../../../experiments/lossy.toml") },
        Builtin {
            name: "http3-loss",
            toml: include_str!("../../../../experiments/http3-loss.toml"),
        },
        Builtin {
            name: "first-visit",
            toml: include_str!("../../../../experiments/first-visit.toml"),
        },
        Builtin { name: "h2-push", toml: include_str!("../../../../experiments/h2-push.toml") },
        Builtin {
            name: "first-paint",
            toml: include_str!("../../../../experiments/first-paint.toml"),
        },
        Builtin {
            name: "h2-push-next",
            toml: include_str!("../../../../experiments/h2-push-next.toml"),
        },
        Builtin { name: "pages", toml: include_str!("../../../../experiments/pages.toml") },
        Builtin {
            name: "priorities",
            toml: include_str!("../../../../experiments/priorities.toml"),
        },
        Builtin {
            name: "early-hints",
            toml: include_str!("../../../../experiments/early-hints.toml"),
        },
        Builtin { name: "aa", toml: include_str!("../../../../experiments/aa.toml") },
    ]
}

/// The JSON Schema of an experiment's file, as published in `docs/schema/experiment.schema.json`.
pub fn file_schema() -> serde_json::Value {
    schemars::schema_for!(file::ExperimentFile).to_value()
}
