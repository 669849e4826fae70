//! Reads a page from a HAR 1.2 file as browsers and WebPageTest export it.
//!
//! Exporters disagree on nearly every field, so each gap is filled by a stated rule and every use of a
//! rule is counted in [`Assumptions`]:
//! - size: `_transferSize`, else `bodySize`, else Content-Length, else `content.size`; the first that
//!   is above 0, so that what came from a cache has its size too;
//! - a HEAD stays one, and its Content-Length is that of its response; other methods become GET;
//! - a replay is a first visit, as a trial has no cache: what was answered 304 is answered 200 with the size of its
//!   Content-Length, else `content.size`, and stays a 304 where neither is known;
//! - round trip of a host: its least TCP connect (without TLS), else the median of the hosts;
//! - server time: `wait` less the round trip, never below 0;
//! - initiators and gaps: see `discovery.rs`;
//! - requests that began after the load are left out: see `extent.rs`;
//! - an entry whose URL cannot be asked for is left out, unless it is the document.
//!
//! The one rule: what cannot be read is an error that names the entry; what is merely missing is not.

mod assumptions;
mod blocking;
mod discovery;
mod entry;
mod extent;
mod file;
mod kind;
mod time;
mod times;

#[cfg(test)]
mod tests;

pub use assumptions::Assumptions;

use crate::graph::{GraphError, Page};
use crate::priority::{Hint, Rank};
use crate::resource::{Blocks, Fold, Kind, Method, Resource, ResourceId};
use crate::table::Answer;
use crate::url::{Url, UrlError, path_was_mended};
use discovery::{Detective, Request};
use entry::Entry;
use extent::Extent;
use file::{Chosen, PageLoad};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;
use thiserror::Error;
use times::RoundTrips;
use unit::ByteSize;

/// What makes a resource known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependencies {
    /// Its initiator, recorded or inferred.
    #[default]
    Inferred,
    /// The document's end, for everything: the other extreme.
    Flat,
}

/// What becomes of the gap between being known and being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// It is replayed as recorded. (Flat dependencies have none: the recorded gap would hold the very
    /// fetches whose order they leave out.)
    #[default]
    Recorded,
    /// It is left out.
    None,
}

/// How to read a HAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HarOptions {
    /// What makes a resource known.
    pub dependencies: Dependencies,
    /// What becomes of gaps.
    pub think: Think,
    /// Which of several page loads in the file, from 0, of those that have entries.
    pub page: u32,
}

/// A page read from a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The page's title, as recorded.
    pub title: String,
    /// The page.
    pub page: Page,
    /// What was assumed on the way.
    pub assumptions: Assumptions,
}

/// Why a file gives no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HarError {
    /// It is not UTF-8.
    #[error("line {line}, column {column}: not UTF-8")]
    Encoding {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
    },
    /// It is not JSON, or not a HAR's.
    #[error("{problem}")]
    Json {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        /// What is wrong, with the place.
        problem: String,
    },
    /// An entry cannot be read.
    #[error("entry {index} (log.entries[{index}]){}: {field}: {problem}", of_url(.url))]
    Entry {
        /// Its place in `log.entries`, from 0.
        index: usize,
        /// The URL that it asks for, where that could be read.
        url: String,
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing in it that can be replayed.
    #[error("none of the {0} entries can be replayed: no http or https request with an answer")]
    Nothing(usize),
    /// It has fewer page loads than that.
    #[error("there is no page {asked}: the file has {pages} page loads with entries, from 0")]
    NoSuchPage {
        /// The number asked for.
        asked: u32,
        /// How many there are.
        pages: usize,
    },
    /// The resources make no page.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Reads the page that `file` recorded.
pub fn parse(file: &[u8], options: HarOptions) -> Result<Recording, HarError> {
    let har = file::read(file)?;
    let entries = har.log.entries.0.iter().enumerate();
    let entries: Vec<Entry> =
        entries.map(|(index, json)| Entry::read(index, json.get())).collect::<Result<_, _>>()?;
    let pages = PageLoad::read_all(har.log.pages.as_ref(), &entries);
    let chosen = Chosen::of(&pages, options.page)?;
    let builder = Builder {
        options,
        assumptions: Assumptions {
            entries: entries.len() as u32,
            pages: pages.len().max(1) as u32,
            dependencies: options.dependencies,
            think: options.think,
            ..Assumptions::default()
        },
        unusable: Vec::new(),
    };
    builder.build(chosen, entries)
}

struct Builder {
    options: HarOptions,
    assumptions: Assumptions,
    unusable: Vec<Unusable>,
}

/// An entry that is left out because its URL cannot be asked for.
struct Unusable {
    start: Option<i64>,
    is_document: bool,
    error: HarError,
}

/// Entries left out for their URLs that are listed one by one.
const UNUSABLE_TOLD: usize = 5;

impl Builder {
    fn build(mut self, mut chosen: Chosen, entries: Vec<Entry>) -> Result<Recording, HarError> {
        let count = entries.len();
        let hosts = entries.iter().filter_map(|entry| Some(entry.url.parse::<Url>().ok()?.host));
        self.assumptions.hosts = hosts.collect::<BTreeSet<_>>().len() as u32;
        let mut requests = self.requests(&mut chosen, entries);
        if requests.is_empty() {
            let unusable = self.unusable.into_iter().next();
            return Err(unusable.map_or(HarError::Nothing(count), |unusable| unusable.error));
        }
        requests.sort_by_key(|request| (request.start, request.entry.index));
        let document = document_of(&requests);
        self.tell_unusable(&requests[document])?;
        requests[document].kind = Kind::Document;
        let extent = Extent::of(&chosen.load, &requests, document);
        self.assumptions.after_load = (requests.len() - extent.requests) as u32;
        self.assumptions.no_on_load = !extent.by_on_load;
        self.assumptions.load_span = Some(span(extent.end - requests[0].start));
        requests.truncate(extent.requests);
        self.assumptions.replayed = requests.len() as u32;
        for request in &mut requests {
            request.size = self.size(&request.entry);
        }
        let rtts = RoundTrips::measure(&requests, &mut self.assumptions);
        let mut resources = self.resources(&requests, document, &rtts);
        self.end_with_the_load(&mut resources, &requests, &extent);
        self.rename(&mut resources, &requests);
        let page = blocking::with_head(Page::new(ResourceId(document as u32), resources)?);
        let by_host = rtts.by_host().iter();
        let by_name =
            by_host.map(|(host, &rtt)| (name_for_literal(host).unwrap_or(host.clone()), rtt));
        Ok(Recording {
            title: chosen.load.title,
            page: page.with_recorded_rtts(&by_name.collect()),
            assumptions: self.assumptions,
        })
    }

    /// The entries that are replayed, with what is known of their times.
    fn requests(&mut self, chosen: &mut Chosen, entries: Vec<Entry>) -> Vec<Request> {
        let is_other =
            |entry: &Entry| entry.pageref.as_ref().is_some_and(|page| chosen.others.contains(page));
        let (others, entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_other);
        self.assumptions.of_other_pages = others.len() as u32;
        let plausible = extent::plausible_starts(&mut chosen.load, &entries);
        let mut requests = Vec::new();
        let first =
            entries.iter().filter_map(|entry| entry.started).find(|at| plausible.contains(at));
        let mut last_start = chosen.load.started.or(first).unwrap_or(0);
        for entry in entries {
            let started = entry.started.filter(|at| plausible.contains(at));
            let Some(url) = self.fetchable(&entry, started) else { continue };
            let start = started.unwrap_or(last_start);
            match entry.started {
                None => self.assumptions.starts_missing += 1,
                Some(_) if started.is_none() => self.assumptions.starts_absurd += 1,
                Some(_) => {}
            }
            last_start = start;
            let taken = entry.time.filter(|time| !time.is_zero()).unwrap_or(entry.timings.sum());
            if taken.is_zero() && entry.time.is_none() {
                self.assumptions.durations_missing += 1;
            }
            let end = start.saturating_add(nanos(taken));
            let receiving = nanos(entry.timings.receive.unwrap_or_default());
            requests.push(Request {
                body_start: end.saturating_sub(receiving).max(start),
                kind: kind::of(&entry, &url),
                size: ByteSize::ZERO,
                url,
                start,
                end,
                entry,
            });
        }
        requests
    }

    /// Tells which entries are left out for their URLs; an error where one of them may be the document.
    fn tell_unusable(&mut self, document: &Request) -> Result<(), HarError> {
        self.assumptions.urls_unusable = self.unusable.len() as u32;
        for unusable in std::mem::take(&mut self.unusable) {
            let comes_first = unusable.start.is_none_or(|start| start <= document.start);
            if unusable.is_document && comes_first {
                return Err(unusable.error);
            }
            if self.assumptions.unusable.len() < UNUSABLE_TOLD {
                self.assumptions.unusable.push(unusable.error.to_string());
            }
        }
        Ok(())
    }

    /// No server thinks longer than the recorded load took: a stream or a long poll was under way at its end.
    fn end_with_the_load(
        &mut self,
        resources: &mut [Resource],
        requests: &[Request],
        extent: &Extent,
    ) {
        for (resource, request) in resources.iter_mut().zip(requests) {
            let left = span(extent.end - request.start);
            if resource.server_time > left {
                resource.server_time = left;
                self.assumptions.waits_cut += 1;
            }
        }
    }

    /// The URL of an entry that went over the network by HTTP; others are counted.
    fn fetchable(&mut self, entry: &Entry, start: Option<i64>) -> Option<Url> {
        let url = match entry.url.parse::<Url>() {
            Ok(url) => url,
            Err(UrlError::Scheme(scheme)) => {
                match scheme.as_str() {
                    "ws" | "wss" => self.assumptions.websockets += 1,
                    _ => self.assumptions.not_http += 1,
                }
                return None;
            }
            Err(error) => {
                let error = HarError::Entry {
                    index: entry.index,
                    url: entry.url.clone(),
                    field: "request.url".to_owned(),
                    problem: error.to_string(),
                };
                let is_document = kind::without_url(entry) == Some(Kind::Document);
                self.unusable.push(Unusable { start, is_document, error });
                return None;
            }
        };
        let empty =
            [entry.transfer_size, entry.body_size, entry.content_length, entry.content_size]
                .iter()
                .all(|size| size.unwrap_or(0) == 0);
        let skipped = match entry.status {
            Some(101) => &mut self.assumptions.websockets,
            _ if entry.resource_type == "websocket" => &mut self.assumptions.websockets,
            _ if entry.answered_inside => &mut self.assumptions.answered_inside,
            // 0 and below: blocked, cancelled, or pushed and never used.
            Some(status) if status < 100 && empty => &mut self.assumptions.unanswered,
            _ => return Some(url),
        };
        *skipped += 1;
        None
    }

    fn size(&mut self, entry: &Entry) -> ByteSize {
        let noted = &mut self.assumptions;
        noted.from_cache += u32::from(entry.from_cache);
        if entry.is_head() {
            noted.heads += 1;
            return ByteSize(entry.content_length.unwrap_or(0));
        }
        if entry.is_not_modified() {
            // What the other sizes count is the head.
            let sizes = [entry.content_length, entry.content_size];
            let size = sizes.into_iter().flatten().find(|&size| size > 0);
            match size {
                Some(_) => noted.not_modified_whole += 1,
                None => noted.not_modified_bare += 1,
            }
            return ByteSize(size.unwrap_or(0));
        }
        let sources = [
            (entry.transfer_size, &mut noted.size_from_transfer),
            (entry.body_size, &mut noted.size_from_body),
            (entry.content_length, &mut noted.size_from_length),
            (entry.content_size, &mut noted.size_from_content),
        ];
        for (size, count) in sources {
            if let Some(size) = size.filter(|&size| size > 0) {
                *count += 1;
                return ByteSize(size);
            }
        }
        noted.size_unknown += 1;
        ByteSize::ZERO
    }

    fn resources(
        &mut self,
        requests: &[Request],
        document: usize,
        rtts: &RoundTrips,
    ) -> Vec<Resource> {
        let detective = Detective::new(requests, document);
        let mut resources = Vec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            let discovery = match self.options.dependencies {
                Dependencies::Inferred => detective.discover(place, &mut self.assumptions),
                Dependencies::Flat => detective.discover_flat(place, &mut self.assumptions),
            };
            let think = match self.options.think {
                Think::Recorded => discovery.think,
                Think::None => Duration::ZERO,
            };
            let method = self.method(&request.entry);
            let status = self.status(&request.entry, request.size);
            resources.push(Resource {
                url: request.url.clone(),
                kind: request.kind,
                method,
                status,
                content_type: request.entry.mime.clone(),
                body: request.size,
                server_time: rtts.server_time(request, &mut self.assumptions),
                release: discovery.release,
                think,
                hint: Rank::from_name(&request.entry.rank).map_or(Hint::None, Hint::Recorded),
                blocks: Blocks::Nothing,
                pixels: None,
                fold: Fold::Unknown,
            });
        }
        blocking::mark(&mut resources, document);
        resources
    }

    fn method(&mut self, entry: &Entry) -> Method {
        if entry.is_head() {
            return Method::Head;
        }
        if !matches!(entry.method.as_str(), "GET" | "") {
            self.assumptions.not_get += 1;
            self.assumptions.upload_bytes += entry.upload;
        }
        Method::Get
    }

    /// Redirects and errors are answered 200, for the browser's next step is in the recording.
    fn status(&mut self, entry: &Entry, size: ByteSize) -> u16 {
        if entry.is_not_modified() && !entry.is_head() && size == ByteSize::ZERO {
            return 304;
        }
        let is_error = entry.status.is_some_and(|status| status >= 400);
        self.assumptions.errors += u32::from(is_error);
        200
    }

    /// Gives address literals a name, and repeats with another answer a path of their own.
    fn rename(&mut self, resources: &mut [Resource], requests: &[Request]) {
        let mut renamed = BTreeSet::new();
        let mut paths = Paths::default();
        for (resource, request) in resources.iter_mut().zip(requests) {
            if path_was_mended(&request.entry.url, &resource.url) {
                self.assumptions.paths_mended += 1;
            }
            if let Some(name) = name_for_literal(&resource.url.host) {
                renamed.insert(std::mem::replace(&mut resource.url.host, name));
            }
            let path = paths.path_for(resource);
            self.assumptions.repeats_renamed += u32::from(path != resource.url.path);
            resource.url.path = path;
        }
        self.assumptions.hosts_renamed = renamed.len() as u32;
    }
}

/// The paths given out: one for each answer of a URL.
#[derive(Default)]
struct Paths {
    /// By URL and answer.
    given: HashMap<(String, String, Answer), String>,
    taken: HashSet<(String, String)>,
    /// How many answers a URL has had.
    answers: HashMap<(String, String), u32>,
}

impl Paths {
    fn path_for(&mut self, resource: &Resource) -> String {
        let (host, path) = (resource.url.host.clone(), resource.url.path.clone());
        let key = (host.clone(), path.clone(), Answer::of(resource));
        if let Some(known) = self.given.get(&key) {
            return known.clone();
        }
        let answers = self.answers.entry((host.clone(), path.clone())).or_default();
        let joint = if path.contains('?') { '&' } else { '?' };
        let chosen = loop {
            *answers += 1;
            let candidate = match *answers {
                1 => path.clone(),
                repeat => format!("{path}{joint}wirelap-repeat={repeat}"),
            };
            if self.taken.insert((host.clone(), candidate.clone())) {
                break candidate;
            }
        };
        self.given.insert(key, chosen.clone());
        chosen
    }
}

/// The main document: the first HTML that is no redirect, else the first that is none, else the first.
fn document_of(requests: &[Request]) -> usize {
    let answers = |request: &Request| request.entry.redirect.is_none();
    let html =
        requests.iter().position(|request| request.kind == Kind::Document && answers(request));
    html.or_else(|| requests.iter().position(answers)).unwrap_or(0)
}

/// A name that stands for an address literal: at the far side every host has an address of the lab's
/// own choice. RFC 6761 keeps `invalid` free of real hosts.
fn name_for_literal(host: &str) -> Option<String> {
    // What ends in a number is an IPv4 address to browsers and to TLS, well written or not.
    let ends_in_number = |last: &str| last.bytes().all(|byte| byte.is_ascii_digit());
    let is_literal = host.starts_with('[') || host.rsplit('.').next().is_some_and(ends_in_number);
    let plain = host.trim_matches(['[', ']']).replace(['.', ':'], "-");
    is_literal.then(|| format!("ip-{plain}.invalid"))
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn of_url(url: &str) -> String {
    // Enough to find it by; some URLs are pages long.
    let short: String = url.chars().take(100).collect();
    if short.is_empty() { short } else { format!(" for {short}") }
}
