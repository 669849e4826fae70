//! What a page asked for, as lines of the contract. A fetch of the job is matched by its URL. The browser may ask for one URL
//! twice (a hint, and then the page, which takes it from the cache): both are one fetch, which began with the first and whose
//! bytes came with the one that was not from the cache.

use crate::contract::{Fetch, FetchLine, Job};
use crate::tools::ToolError;
use std::collections::{BTreeMap, BTreeSet};

/// Why a fetch that the page did not make has no response.
pub const NOT_ASKED: &str = "the page did not ask for it";

/// URLs that the job does not have and that are told by name.
const MOST_UNLISTED: usize = 10;

/// The requests of a page.
pub(crate) struct Requests<'a> {
    job: &'a Job,
    /// By the identifier of the browser's protocol, which a redirect keeps.
    by_id: BTreeMap<String, Request>,
    /// Identifiers in the order of their requests.
    order: Vec<String>,
    /// Why the document could not be asked for.
    refusal: Option<String>,
    ended_ms: f64,
}

/// A request of the page; times are milliseconds since `ready`.
#[derive(Debug, Default)]
pub(crate) struct Request {
    url: String,
    pub(crate) started_ms: f64,
    pub(crate) status: Option<u16>,
    pub(crate) protocol: Option<String>,
    pub(crate) tls: Option<String>,
    pub(crate) connection: Option<u32>,
    pub(crate) connected_ms: Option<f64>,
    pub(crate) secured_ms: Option<f64>,
    pub(crate) sent_ms: Option<f64>,
    pub(crate) first_byte_ms: Option<f64>,
    pub(crate) ended_ms: Option<f64>,
    pub(crate) bytes: u64,
    pub(crate) from_cache: bool,
    pub(crate) error: Option<String>,
}

impl<'a> Requests<'a> {
    /// For the page of `job`.
    pub(crate) fn new(job: &'a Job) -> Self {
        Self { job, by_id: BTreeMap::new(), order: Vec::new(), refusal: None, ended_ms: 0.0 }
    }

    /// The page asks for `url`. Data in the page itself is no request. A redirect is one of its own where the page is a
    /// recorded one, since the recording has it.
    pub(crate) fn ask(&mut self, id: &str, url: &str, started_ms: f64) {
        if !url.starts_with("http") {
            return;
        }
        if let Some(before) = self.by_id.get(id) {
            if self.job.replay.is_none() || before.url == url {
                return;
            }
            self.set_aside(id, started_ms);
        }
        self.order.push(id.to_owned());
        let request = Request { url: url.to_owned(), started_ms, ..Request::default() };
        self.by_id.insert(id.to_owned(), request);
    }

    /// What `id` was for until now led elsewhere at this time.
    fn set_aside(&mut self, id: &str, ended_ms: f64) {
        let Some(mut before) = self.by_id.remove(id) else { return };
        before.ended_ms = Some(ended_ms);
        let own = format!("{id}, before redirect {}", self.order.len());
        for known in self.order.iter_mut().filter(|known| *known == id) {
            known.clone_from(&own);
        }
        self.by_id.insert(own, before);
    }

    /// The request of this identifier.
    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Request> {
        self.by_id.get_mut(id)
    }

    /// The document could not be asked for.
    pub(crate) fn refuse(&mut self, error: &str) {
        self.refusal = Some(error.to_owned());
    }

    /// Whether the document could not be asked for.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Whether every request has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.by_id.values().all(|request| request.ended_ms.is_some())
    }

    /// Nothing is waited for after this time.
    pub(crate) fn end(&mut self, ended_ms: f64) {
        self.ended_ms = ended_ms;
    }

    /// The first request.
    pub(crate) fn document(&self) -> Option<&Request> {
        self.order.first().and_then(|id| self.by_id.get(id))
    }

    /// The same, to be changed.
    pub(crate) fn document_mut(&mut self) -> Option<&mut Request> {
        self.order.first().and_then(|id| self.by_id.get_mut(id))
    }

    /// URLs that the job does not have. A browser may ask for an icon by itself, once the page has loaded; the trial has
    /// ended by then as good as always.
    pub(crate) fn unlisted(&self) -> Vec<String> {
        let listed: BTreeSet<&str> =
            self.job.fetches.iter().map(|fetch| fetch.url.as_str()).collect();
        let asked = self.order.iter().filter_map(|id| self.by_id.get(id));
        let mut urls: Vec<String> = asked
            .filter(|request| !listed.contains(request.url.as_str()))
            .filter(|request| !request.url.ends_with("/favicon.ico"))
            .map(|request| request.url.clone())
            .collect();
        urls.dedup();
        urls.truncate(MOST_UNLISTED);
        urls
    }

    /// Whether every fetch of the job came in `view`. The error names one that did not.
    pub(crate) fn all_came(&self, view: &str) -> Result<(), ToolError> {
        let lines = self.lines();
        let mut failed = lines.iter().zip(&self.job.fetches).filter_map(|(line, fetch)| {
            Some(format!("{view} failed: {}: {}", fetch.url, line.error.as_deref()?))
        });
        failed.next().map_or(Ok(()), |reason| Err(ToolError::Broken(reason)))
    }

    /// A line for each fetch of the job.
    pub(crate) fn lines(&self) -> Vec<FetchLine> {
        let mut by_url: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
        for request in self.order.iter().filter_map(|id| self.by_id.get(id)) {
            by_url.entry(&request.url).or_default().push(request);
        }
        let line = |fetch: &Fetch| {
            let asked = by_url.get(fetch.url.as_str());
            asked.map_or_else(|| self.missing(fetch.id), |asked| self.line(fetch.id, asked))
        };
        self.job.fetches.iter().map(line).collect()
    }

    fn missing(&self, id: u32) -> FetchLine {
        let error = match &self.refusal {
            Some(error) => error.clone(),
            None => NOT_ASKED.to_owned(),
        };
        FetchLine { error: Some(error), ..FetchLine::at(id, self.ended_ms, self.ended_ms) }
    }

    /// The requests of one URL, in their order, as one fetch.
    fn line(&self, id: u32, asked: &[&Request]) -> FetchLine {
        let first = asked[0];
        let carrier = asked.iter().find(|request| !request.from_cache).unwrap_or(&first);
        let ended_ms = carrier.ended_ms.unwrap_or(self.ended_ms).max(first.started_ms);
        let error = match (&carrier.error, carrier.status, carrier.ended_ms) {
            (Some(error), ..) => Some(error.clone()),
            (None, None, _) => Some("no response".to_owned()),
            (None, Some(_), None) => Some("the response did not end in time".to_owned()),
            (None, Some(_), Some(_)) => None,
        };
        // A connection may have been opened before the request was made.
        let within = |ms: Option<f64>| ms.map(|ms| ms.clamp(first.started_ms, ended_ms));
        FetchLine {
            status: carrier.status.filter(|_| error.is_none()),
            error,
            protocol: carrier.protocol.clone(),
            connection: carrier.connection,
            connected_ms: within(carrier.connected_ms),
            secured_ms: within(carrier.secured_ms),
            sent_ms: within(carrier.sent_ms),
            first_byte_ms: within(carrier.first_byte_ms),
            bytes: Some(carrier.bytes),
            tls: carrier.tls.clone(),
            cached: carrier.from_cache,
            ..FetchLine::at(id, first.started_ms, ended_ms)
        }
    }
}
