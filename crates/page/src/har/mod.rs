//! Reads a page from a HAR 1.2 file as browsers and WebPageTest export it.
//!
//! Exporters disagree on nearly every field, so each gap is filled by a stated rule and every use of a
//! rule is counted in [`Assumptions`]:
//! - size: `_transferSize`, else `bodySize`, else Content-Length, else `content.size`; the first that
//!   is above 0, so that what came from a cache has its size too;
//! - round trip of a host: its least TCP connect (without TLS), else the median of the hosts;
//! - server time: `wait` less the round trip, never below 0;
//! - initiators and gaps: see `discovery.rs`;
//! - requests that began after onLoad do not count into the load.
//!
//! The one rule: what cannot be read is an error that names the entry; what is merely missing is not.

mod assumptions;
mod discovery;
mod entry;
mod file;
mod kind;
mod time;
mod times;

#[cfg(test)]
mod tests;

pub use assumptions::Assumptions;

use crate::graph::{GraphError, Page};
use crate::priority::{Hint, Rank};
use crate::resource::{Counts, Kind, Resource, ResourceId};
use crate::table::Answer;
use crate::url::{Url, UrlError, path_was_mended};
use discovery::{Detective, Request};
use entry::Entry;
use file::{Chosen, PageLoad};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
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
    };
    builder.build(chosen, entries)
}

struct Builder {
    options: HarOptions,
    assumptions: Assumptions,
}

impl Builder {
    fn build(mut self, chosen: Chosen, entries: Vec<Entry>) -> Result<Recording, HarError> {
        let count = entries.len();
        let hosts = entries.iter().filter_map(|entry| Some(entry.url.parse::<Url>().ok()?.host));
        self.assumptions.hosts = hosts.collect::<BTreeSet<_>>().len() as u32;
        let mut requests = self.requests(&chosen, entries)?;
        if requests.is_empty() {
            return Err(HarError::Nothing(count));
        }
        requests.sort_by_key(|request| (request.start, request.entry.index));
        self.assumptions.replayed = requests.len() as u32;
        let document = document_of(&requests);
        requests[document].kind = Kind::Document;
        let rtts = RoundTrips::measure(&requests, &mut self.assumptions);
        let on_load = self.on_load(&chosen.load, &requests, document);
        let mut resources = self.resources(&requests, document, &rtts);
        for (resource, request) in resources.iter_mut().zip(&requests) {
            if on_load.is_some_and(|on_load| request.start > on_load) {
                resource.counts = Counts::AfterLoad;
                self.assumptions.after_load += 1;
            }
        }
        self.rename(&mut resources, &requests);
        let page = Page::new(ResourceId(document as u32), resources)?;
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
    fn requests(&mut self, chosen: &Chosen, entries: Vec<Entry>) -> Result<Vec<Request>, HarError> {
        let mut requests = Vec::new();
        let first = entries.iter().find_map(|entry| entry.started);
        let mut last_start = chosen.load.started.or(first).unwrap_or(0);
        for entry in entries {
            if entry.pageref.as_ref().is_some_and(|page| chosen.others.contains(page)) {
                self.assumptions.of_other_pages += 1;
                continue;
            }
            let Some(url) = self.fetchable(&entry)? else { continue };
            let start = entry.started.unwrap_or_else(|| {
                self.assumptions.starts_missing += 1;
                last_start
            });
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
                size: self.size(&entry),
                url,
                start,
                end,
                entry,
            });
        }
        Ok(requests)
    }

    /// The URL of an entry that went over the network by HTTP; others are counted.
    fn fetchable(&mut self, entry: &Entry) -> Result<Option<Url>, HarError> {
        let url = match entry.url.parse::<Url>() {
            Ok(url) => url,
            Err(UrlError::Scheme(scheme)) => {
                match scheme.as_str() {
                    "ws" | "wss" => self.assumptions.websockets += 1,
                    _ => self.assumptions.not_http += 1,
                }
                return Ok(None);
            }
            Err(error) => {
                return Err(HarError::Entry {
                    index: entry.index,
                    url: entry.url.clone(),
                    field: "request.url".to_owned(),
                    problem: error.to_string(),
                });
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
            _ => return Ok(Some(url)),
        };
        *skipped += 1;
        Ok(None)
    }

    fn size(&mut self, entry: &Entry) -> ByteSize {
        let told = &mut self.assumptions;
        let sources = [
            (entry.transfer_size, &mut told.size_from_transfer),
            (entry.body_size, &mut told.size_from_body),
            (entry.content_length, &mut told.size_from_length),
            (entry.content_size, &mut told.size_from_content),
        ];
        for (size, count) in sources {
            if let Some(size) = size.filter(|&size| size > 0) {
                *count += 1;
                return ByteSize(size);
            }
        }
        told.size_unknown += 1;
        ByteSize::ZERO
    }

    /// When onLoad was; None where it is not known or was before the document began.
    fn on_load(&mut self, load: &PageLoad, requests: &[Request], document: usize) -> Option<i64> {
        let started = load.started.unwrap_or(requests[0].start);
        let on_load = load.on_load.map(|span| started.saturating_add(nanos(span)));
        let usable = on_load.filter(|&at| at >= requests[document].start);
        self.assumptions.no_on_load = usable.is_none();
        usable
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
            if !matches!(request.entry.method.as_str(), "GET" | "") {
                self.assumptions.not_get += 1;
                self.assumptions.upload_bytes += request.entry.upload;
            }
            resources.push(Resource {
                url: request.url.clone(),
                kind: request.kind,
                content_type: request.entry.mime.clone(),
                body: request.size,
                server_time: rtts.server_time(request, &mut self.assumptions),
                release: discovery.release,
                think,
                hint: Rank::from_name(&request.entry.rank).map_or(Hint::None, Hint::Recorded),
                counts: Counts::IntoLoad,
            });
        }
        resources
    }

    /// Gives address literals a name, and repeats with another answer a path of their own.
    fn rename(&mut self, resources: &mut [Resource], requests: &[Request]) {
        let mut renamed = BTreeSet::new();
        let mut answers: BTreeMap<(String, String), Answer> = BTreeMap::new();
        for (resource, request) in resources.iter_mut().zip(requests) {
            if path_was_mended(&request.entry.url, &resource.url) {
                self.assumptions.paths_mended += 1;
            }
            if let Some(name) = name_for_literal(&resource.url.host) {
                renamed.insert(std::mem::replace(&mut resource.url.host, name));
            }
            let (path, answer) = (resource.url.path.clone(), Answer::of(resource));
            let mut repeat = 1;
            loop {
                let key = (resource.url.host.clone(), resource.url.path.clone());
                if *answers.entry(key).or_insert_with(|| answer.clone()) == answer {
                    break;
                }
                repeat += 1;
                let joint = if path.contains('?') { '&' } else { '?' };
                resource.url.path = format!("{path}{joint}wirelap-repeat={repeat}");
            }
            self.assumptions.repeats_renamed += u32::from(repeat > 1);
        }
        self.assumptions.hosts_renamed = renamed.len() as u32;
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
    let is_literal = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    let plain = host.trim_matches(['[', ']']).replace(['.', ':'], "-");
    is_literal.then(|| format!("ip-{plain}.invalid"))
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

fn of_url(url: &str) -> String {
    // Enough to find it by; some URLs are pages long.
    let short: String = url.chars().take(100).collect();
    if short.is_empty() { short } else { format!(" for {short}") }
}
