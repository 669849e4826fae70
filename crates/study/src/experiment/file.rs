//! The TOML form of an experiment. Every field that can be wrong keeps its position; what is right, `read` knows.

use super::browser::{Profile, RaiseBy};
use super::contender::{CongestionControl, Negotiation, Priorities, Temperature, Transport};
use super::download::Processes;
use super::fast::Fast;
use super::first_visit::FirstVisit;
use super::next_view::NextView;
use super::one_or_table::{RequestsField, RequestsSchema, ServerField};
use super::page::FetchPriority;
use super::page::{PageMetric, PageShape};
use super::policy::PolicyChoice;
use super::quantity::{SizeField, SpanField};
use super::service::Server;
use super::stopping::Stopping;
use super::stream::Delivery;
use super::terms::Terms;
use super::workload::RecordedHosts;
use crate::experiment::Source;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// An experiment, as a file states it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "wirelap experiment")]
pub(super) struct ExperimentFile {
    /// The name that `race` takes.
    #[schemars(with = "String")]
    pub(super) name: Spanned<String>,
    /// One line over the table of results.
    pub(super) title: String,
    /// What is asked, in words.
    pub(super) question: String,
    /// The published measurement that is run again; its contenders, links and workloads go by their names.
    pub(super) published: Option<Source>,
    /// What the experiment says nothing about.
    #[serde(default)]
    pub(super) not_covered: Vec<String>,
    /// The contender that the others are set against (default: the only one).
    #[schemars(with = "Option<String>")]
    pub(super) baseline: Option<Spanned<String>>,
    /// A difference up to this share counts as none (default 0.05).
    #[schemars(with = "Option<f64>", range(min = 0.001, max = 1.0))]
    pub(super) margin: Option<Spanned<f64>>,
    /// Measured trials of each cell (default: one more than all comparisons need for an interval each, 10 at least).
    #[schemars(with = "Option<u32>", range(min = 1, max = 10000))]
    pub(super) trials: Option<Spanned<u32>>,
    /// Trials of each cell that are run before and not counted (default 1).
    #[schemars(with = "Option<u32>", range(max = 10000))]
    pub(super) warmup: Option<Spanned<u32>>,
    /// Where all random choices come from (default 1).
    #[schemars(with = "Option<u64>")]
    pub(super) seed: Option<Spanned<u64>>,
    /// "fixed" (the default) runs all trials; "sequential" looks a few times before the end and stops a workload on a
    /// link once all of its pairs are decided. The chance of a false verdict is the same.
    #[serde(default)]
    pub(super) stopping: Stopping,
    /// For an A/A experiment of two contenders alike but for the name: so many blocks make a comparison by itself.
    #[schemars(with = "Option<u32>", range(min = 6, max = 10000))]
    pub(super) same: Option<Spanned<u32>>,
    /// When a trial has failed for taking too long, such as "30s" (the default).
    #[schemars(with = "Option<String>")]
    pub(super) timeout: Option<Spanned<SpanField>>,
    /// Who answers every contender that names no server: see a contender's `server`.
    #[schemars(with = "Option<Server>")]
    pub(super) server: Option<Spanned<ServerField>>,
    /// Who races.
    #[schemars(with = "Vec<ContenderFile>", length(min = 1))]
    pub(super) contenders: Spanned<Vec<ContenderFile>>,
    /// At what.
    #[schemars(with = "Vec<WorkloadFile>", length(min = 1))]
    pub(super) workloads: Spanned<Vec<Spanned<WorkloadFile>>>,
    /// Over which networks.
    #[schemars(with = "Vec<LinkFile>", length(min = 1))]
    pub(super) links: Spanned<Vec<LinkFile>>,
    /// What `race --fast` leaves of contenders and links (default: all).
    #[schemars(with = "Option<Fast>")]
    pub(super) fast: Option<Spanned<Fast>>,
}

/// A contender.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContenderFile {
    /// What it is called in tables and pictures.
    #[schemars(with = "String")]
    pub(super) name: Spanned<String>,
    /// The protocol spoken.
    #[schemars(with = "Transport")]
    pub(super) transport: Spanned<Transport>,
    /// The security below it (default "auto": none for http/1.1 and ws, else TLS 1.3).
    #[serde(default)]
    pub(super) tls: TlsFile,
    /// A client subject's name, such as "curl" (default: wirelap's own client).
    #[schemars(with = "Option<String>")]
    pub(super) client: Option<Spanned<String>>,
    /// Times that the client subject does the whole work, in the same process, before it is measured (default 0).
    #[schemars(with = "Option<u32>", range(max = 1000))]
    pub(super) client_warmup: Option<Spanned<u32>>,
    /// The server that answers: "origin" (the default, wirelap's own), another by its name (`wirelap list`), or a service
    /// that runs already: { at = "127.0.0.1:3000", name = "shop.test" }.
    #[schemars(with = "Option<Server>")]
    pub(super) server: Option<Spanned<ServerField>>,
    /// What differs from a browser on a current kernel.
    #[serde(default)]
    pub(super) settings: SettingsFile,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
pub(super) enum TlsFile {
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "none")]
    None,
    #[serde(rename = "1.2")]
    V1_2,
    #[serde(rename = "1.3")]
    V1_3,
}

/// What can be turned on a contender.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsFile {
    /// Whether a connection serves more requests once it carries none (default true).
    #[schemars(with = "Option<bool>")]
    pub(super) keep_alive: Option<Spanned<bool>>,
    /// Whether the server keeps a connection that carries no request (default true); wirelap's own origin alone.
    #[schemars(with = "Option<bool>")]
    pub(super) server_keep_alive: Option<Spanned<bool>>,
    /// Whether TLS sessions are taken up again by a later connection (default true).
    #[schemars(with = "Option<bool>")]
    pub(super) resumption: Option<Spanned<bool>>,
    /// What is left of an earlier visit when the work begins: "cold" (default), "resumed", "early" (0-RTT) or "open";
    /// wirelap's own client, or a browser with wirelap's own server.
    #[schemars(with = "Option<Temperature>")]
    pub(super) temperature: Option<Spanned<Temperature>>,
    /// How HTTP/3 is found: "known" (default), "alt-svc", "https-record", "race" or "udp-blocked"; h3 alone.
    #[schemars(with = "Option<FirstVisit>")]
    pub(super) first_visit: Option<Spanned<FirstVisit>>,
    /// Whether the client knows beforehand what the server speaks (default "known").
    #[schemars(with = "Option<Negotiation>")]
    pub(super) negotiation: Option<Spanned<Negotiation>>,
    /// Connections to one origin at most (default 6 for http/1.1, else 1; ws has one).
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub(super) connections: Option<Spanned<u32>>,
    /// The client's HTTP/2, HTTP/3 or SPDY receive window for a stream (default Chromium's, "6MiB").
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) stream_window: Option<Spanned<SizeField>>,
    /// The client's HTTP/2, HTTP/3 or SPDY receive window for the connection (default Chromium's, "15MiB").
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) connection_window: Option<Spanned<SizeField>>,
    /// Congestion control of both sides, over TCP and QUIC (default "cubic").
    pub(super) congestion_control: Option<CongestionControl>,
    /// Initial congestion window of both sides, over TCP and QUIC, in packets (default 10).
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub(super) initial_window: Option<Spanned<u32>>,
    /// Largest IP packet in bytes (default 1500).
    #[schemars(with = "Option<u32>", range(min = 576, max = 9000))]
    pub(super) mtu: Option<Spanned<u32>>,
    /// Whether TCP and QUIC send on the same terms, "equal" (default), or "as-shipped".
    pub(super) terms: Option<Terms>,
    /// TCP: true: wirelap's own ends spread a congestion window over the round trip. They always do beside a contender over QUIC
    /// on equal terms; false does not switch that off (default false).
    #[schemars(with = "Option<bool>")]
    pub(super) pacing: Option<Spanned<bool>>,
    /// h3 and ws-h3: whether packets larger than the first ones are tried (default false; true where `terms` is "as-shipped").
    #[schemars(with = "Option<bool>")]
    pub(super) mtu_discovery: Option<Spanned<bool>>,
    /// h3 and ws-h3: whether one system call sends several datagrams (default true).
    #[schemars(with = "Option<bool>")]
    pub(super) gso: Option<Spanned<bool>>,
    /// h3 and ws-h3: the peer is asked to acknowledge when more than so many packets came (default: every other packet).
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub(super) ack_threshold: Option<Spanned<u32>>,
    /// Whether TCP starts anew, from the initial window, after an idle time of a retransmission time-out (default true).
    #[schemars(with = "Option<bool>")]
    pub(super) slow_start_after_idle: Option<Spanned<bool>>,
    /// TCP Fast Open: the client's first bytes go with its SYN (default false). Each trial fetches the cookie before it
    /// begins; wirelap's own client and server alone.
    #[schemars(with = "Option<bool>")]
    pub(super) fast_open: Option<Spanned<bool>>,
    /// h2, h3 and SPDY: how the origin picks the response that sends next (default "auto"); wirelap's own origin alone.
    #[schemars(with = "Option<Priorities>")]
    pub(super) priorities: Option<Spanned<Priorities>>,
    /// h2 and SPDY: whether the client takes what the server pushes (default false); wirelap's own client alone.
    #[schemars(with = "Option<bool>")]
    pub(super) push: Option<Spanned<bool>>,
    /// h2 and h3: whether the client follows the early hints (103) of a page (default true); wirelap's own client alone.
    #[schemars(with = "Option<bool>")]
    pub(super) early_hints: Option<Spanned<bool>>,
    /// page and har: the browser whose priorities and signals the client sends (default "chrome-156"); wirelap's own client alone.
    #[schemars(with = "Option<Profile>")]
    pub(super) profile: Option<Spanned<Profile>>,
    /// page and har over h2 and h3: how the client raises an image that can be seen, "profile" (default) or "priority-update".
    #[schemars(with = "Option<RaiseBy>")]
    pub(super) raise: Option<Spanned<RaiseBy>>,
    /// page with a hero: what the markup says of it for this contender, "auto" or "high" (default: the workload's word).
    #[schemars(with = "Option<FetchPriority>")]
    pub(super) fetchpriority: Option<Spanned<FetchPriority>>,
    /// page and har: the view that is measured comes after a first one, with its cache and its cookies, { } or
    /// { evicted = 20, away = "2h" } (default: a first view); wirelap's own client, or a browser with wirelap's own server, which
    /// takes neither of the two keys.
    #[schemars(with = "Option<NextView>")]
    pub(super) next_view: Option<Spanned<NextView>>,
    /// What the origin pushes, hints and sends first (docs/delivery.md): a built-in policy's name, a file that ends in
    /// .toml, or the keys of such a file; wirelap's own origin alone.
    #[schemars(with = "Option<PolicyChoice>")]
    pub(super) policy: Option<Spanned<PolicyChoice>>,
    /// stream: how tokens come, "sse" (default), "chunked" or "long-polling"; over ws "web-socket".
    #[schemars(with = "Option<Delivery>")]
    pub(super) delivery: Option<Spanned<Delivery>>,
    /// TCP_NODELAY of the client's sockets (default true): without it a small segment waits until what was sent
    /// before it is acknowledged (Nagle).
    #[schemars(with = "Option<bool>")]
    pub(super) client_nodelay: Option<Spanned<bool>>,
    /// TCP_NODELAY of the server's sockets (default true).
    #[schemars(with = "Option<bool>")]
    pub(super) server_nodelay: Option<Spanned<bool>>,
    /// TCP_QUICKACK of the client's sockets, set again after each read (default false: the kernel delays
    /// acknowledgements).
    #[schemars(with = "Option<bool>")]
    pub(super) client_quickack: Option<Spanned<bool>>,
    /// TCP_QUICKACK of the server's sockets (default false).
    #[schemars(with = "Option<bool>")]
    pub(super) server_quickack: Option<Spanned<bool>>,
    /// ws: whether the client writes a frame's header and payload together, 1 (default), or one after the other, 2.
    #[schemars(with = "Option<u32>", range(min = 1, max = 2))]
    pub(super) client_writes: Option<Spanned<u32>>,
    /// ws: the same for the server.
    #[schemars(with = "Option<u32>", range(min = 1, max = 2))]
    pub(super) server_writes: Option<Spanned<u32>>,
    /// ws: whether the client offers permessage-deflate (default false).
    #[schemars(with = "Option<bool>")]
    pub(super) client_deflate: Option<Spanned<bool>>,
    /// ws: whether the server accepts permessage-deflate where it is offered (default false).
    #[schemars(with = "Option<bool>")]
    pub(super) server_deflate: Option<Spanned<bool>>,
    /// calls: how much longer than the workload says this contender's server thinks about each call, in whole
    /// milliseconds (default "0ms").
    #[schemars(with = "Option<String>")]
    pub(super) server_time: Option<Spanned<SpanField>>,
}

/// A workload; which fields belong to it, its kind says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadFile {
    /// What is done.
    pub(super) kind: KindFile,
    /// page: how many images; a list makes a workload of each.
    #[schemars(with = "Option<OneOrMany<u32>>")]
    pub(super) images: Option<Spanned<OneOrMany<u32>>>,
    /// page: bytes of one image, calls: bytes of one answer, such as "5kB"; a list makes a workload of each. echo:
    /// bytes of one message, which comes back as it was (default: numbers, each of which comes back doubled).
    #[schemars(with = "Option<OneOrMany<SizeSchema>>")]
    pub(super) bytes: Option<Spanned<OneOrMany<SizeField>>>,
    /// har: the file, as a browser exports it.
    #[schemars(with = "Option<String>")]
    pub(super) file: Option<Spanned<String>>,
    /// page: a time such as "2ms" between finding and asking (default "0ms"); har: "recorded" (default) or "0".
    #[schemars(with = "Option<String>")]
    pub(super) think: Option<Spanned<String>>,
    /// page: a page known by name, "late-hero"; other keys change it.
    #[schemars(with = "Option<PageShape>")]
    pub(super) shape: Option<Spanned<PageShape>>,
    /// page: the time that decides, "load_ms" (default), "lcp_ms", "fcp_ms", "first_paint_ms", "dom_content_loaded_ms",
    /// "speed_index_ms" or "unload_ms".
    #[schemars(with = "Option<PageMetric>")]
    pub(super) metric: Option<Spanned<PageMetric>>,
    /// page: style sheets in the head, 20 at most (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) css: Option<Spanned<u32>>,
    /// page: style sheets that the first of them imports, one the next (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) imports: Option<Spanned<u32>>,
    /// page: bytes of each style sheet (default "20kB").
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) css_bytes: Option<Spanned<SizeField>>,
    /// page: classic scripts in the head, which stop the parser (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) scripts: Option<Spanned<u32>>,
    /// page: async scripts in the head (default 0).
    #[schemars(with = "Option<u32>")]
    #[serde(rename = "async")]
    pub(super) async_scripts: Option<Spanned<u32>>,
    /// page: deferred scripts in the head (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) defer: Option<Spanned<u32>>,
    /// page: module scripts in the head (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) modules: Option<Spanned<u32>>,
    /// page: bytes of each script (default "20kB").
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) script_bytes: Option<Spanned<SizeField>>,
    /// page: fonts that the first style sheet names (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) fonts: Option<Spanned<u32>>,
    /// page: bytes of each font (default "20kB").
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) font_bytes: Option<Spanned<SizeField>>,
    /// page: images below the fold, of `bytes` bytes each (default 0).
    #[schemars(with = "Option<u32>")]
    pub(super) below_fold: Option<Spanned<u32>>,
    /// page: bytes of the hero image, last in the markup and first in the viewport (default: none).
    #[schemars(with = "Option<SizeSchema>")]
    pub(super) hero: Option<Spanned<SizeField>>,
    /// page: what the markup says of the hero's importance, "auto" (default: nothing) or "high".
    #[schemars(with = "Option<FetchPriority>")]
    pub(super) fetchpriority: Option<Spanned<FetchPriority>>,
    /// calls and echo: "serial" (the next when the last has been answered) or "parallel" (all at once); calls too:
    /// "staggered" (one every so often, whatever has come back) or "mixed" (a user's tabs beside calls in the background).
    #[schemars(with = "Option<PatternFile>")]
    pub(super) pattern: Option<Spanned<PatternFile>>,
    /// echo, serial: page views that the messages are dealt out to; each opens its WebSocket anew (default: one page).
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub(super) views: Option<Spanned<u32>>,
    /// download: bytes of one file, such as "80kB"; a list makes a workload of each.
    #[schemars(with = "Option<OneOrMany<SizeSchema>>")]
    pub(super) files: Option<Spanned<OneOrMany<SizeField>>>,
    /// download: "one" process for all files (default), or "each" file one, one after another.
    #[schemars(with = "Option<Processes>")]
    pub(super) processes: Option<Spanned<Processes>>,
    /// download: connections to the origin at most (default: the contender's).
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub(super) connections: Option<Spanned<u32>>,
    /// calls, echo, stream (tokens of each) and download (default 1): how many; a list makes a workload of each.
    #[schemars(with = "Option<OneOrMany<u32>>")]
    pub(super) count: Option<Spanned<OneOrMany<u32>>>,
    /// calls, mixed: how many tabs, each with its own calls one after another (default 2).
    #[schemars(with = "Option<u32>", range(min = 1, max = 100))]
    pub(super) tabs: Option<Spanned<u32>>,
    /// calls, staggered and mixed: the time between two calls, such as "100ms". stream: the time between two tokens, such as
    /// "20ms", or "uniform 10ms..30ms" drawn for each from the block's seed.
    #[schemars(with = "Option<String>")]
    pub(super) every: Option<Spanned<String>>,
    /// stream: how many streams begin together (default 1).
    #[schemars(with = "Option<u32>", range(min = 1, max = 100))]
    pub(super) streams: Option<Spanned<u32>>,
    /// calls: how long the server thinks, such as "300ms", or "uniform 300ms..500ms" drawn for each call from
    /// the block's seed (default "0ms"). page: how long it thinks about the document.
    #[schemars(with = "Option<String>")]
    pub(super) server_time: Option<Spanned<String>>,
    /// calls: requests of your own, in place of wirelap's: a list, or the name of a file in the format of
    /// `load --requests-from`. `count` of them are drawn by weight.
    #[schemars(with = "Option<RequestsSchema>")]
    pub(super) requests: Option<Spanned<RequestsField>>,
    /// calls with requests of your own: what they are called (default: the file's name, else "requests").
    #[schemars(with = "Option<String>")]
    pub(super) name: Option<Spanned<String>>,
    /// har: what makes a resource known (default "both": inferred, with flat as a check).
    #[schemars(with = "Option<DependenciesFile>")]
    pub(super) dependencies: Option<Spanned<DependenciesFile>>,
    /// har: where its hosts are (default "apart").
    #[schemars(with = "Option<RecordedHosts>")]
    pub(super) hosts: Option<Spanned<RecordedHosts>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum KindFile {
    Page,
    Har,
    Calls,
    Download,
    Echo,
    Stream,
}

impl KindFile {
    /// Its name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Har => "har",
            Self::Calls => "calls",
            Self::Download => "download",
            Self::Echo => "echo",
            Self::Stream => "stream",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PatternFile {
    Serial,
    Parallel,
    Staggered,
    Mixed,
}

impl PatternFile {
    /// Its name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Staggered => "staggered",
            Self::Mixed => "mixed",
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DependenciesFile {
    Inferred,
    Flat,
    Both,
}

#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

/// By hand, because `#[serde(untagged)]` would swallow what is wrong with the one value.
struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, values: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(values)).map(OneOrMany::Many)
    }
}

/// A size: bytes, or a text such as "5kB".
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "stands for SizeField in the schema alone")]
pub(super) enum SizeSchema {
    Bytes(u64),
    Text(String),
}

/// A link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFile {
    /// A profile such as "3g", or a link's own figures: "rtt=60ms,down=10mbit,up=2mbit".
    #[schemars(with = "String")]
    pub(super) name: Spanned<String>,
    /// The link's own figures, where `name` is to be short.
    pub(super) figures: Option<String>,
    /// Measured trials of each cell on this link (default: the experiment's).
    #[schemars(with = "Option<u32>", range(min = 1, max = 10000))]
    pub(super) trials: Option<Spanned<u32>>,
    /// Warm-up trials of each cell on this link (default: the experiment's).
    #[schemars(with = "Option<u32>", range(max = 10000))]
    pub(super) warmup: Option<Spanned<u32>>,
}
