//! The requests of a page as lines of the contract, from the events of the protocol's domain Network. A fetch of the job is
//! matched by its URL. The browser may ask for one URL twice (a hint, and then the page, which takes it from the cache): both
//! are one fetch, which began with the first and whose bytes came with the one that was not from the cache.

use super::devtools::Event;
use crate::contract::{FetchLine, Job};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use unit::Instant;

/// URLs that the job does not have and that are told by name.
const MOST_UNLISTED: usize = 10;

/// What a page asked for.
pub(super) struct Fetches<'a> {
    job: &'a Job,
    zero: Instant,
    /// By the protocol's identifier, which a redirect keeps.
    requests: BTreeMap<String, Request>,
    /// Identifiers in the order of their requests.
    order: Vec<String>,
    /// The protocol's numbers of connections, and the job's.
    connections: BTreeMap<u64, u32>,
    /// Why the document could not be asked for.
    refusal: Option<String>,
    ended_ms: f64,
}

/// A request of the page; times are milliseconds since `ready`.
#[derive(Debug, Default)]
struct Request {
    url: String,
    started_ms: f64,
    /// The same on the wall clock, in seconds since its epoch.
    wall_s: f64,
    status: Option<u16>,
    protocol: Option<String>,
    tls: Option<String>,
    connection: Option<u32>,
    connected_ms: Option<f64>,
    secured_ms: Option<f64>,
    sent_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    ended_ms: Option<f64>,
    bytes: u64,
    from_cache: bool,
    error: Option<String>,
}

impl<'a> Fetches<'a> {
    /// For a page that is asked for from `zero` on.
    pub(super) fn new(job: &'a Job, zero: Instant) -> Self {
        Self {
            job,
            zero,
            requests: BTreeMap::new(),
            order: Vec::new(),
            connections: BTreeMap::new(),
            refusal: None,
            ended_ms: 0.0,
        }
    }

    /// Takes an event; those of other domains say nothing here.
    pub(super) fn take(&mut self, event: &Event) {
        let Some(name) = event.method.strip_prefix("Network.") else { return };
        let params = &event.params;
        let Some(id) = params["requestId"].as_str() else { return };
        let at_ms = params["timestamp"].as_f64().map(|at| self.since_zero(at));
        if name == "requestWillBeSent" {
            return self.ask(id, at_ms, params);
        }
        if name == "responseReceived" {
            return self.respond(id, &params["response"]);
        }
        let Some(request) = self.requests.get_mut(id) else { return };
        match name {
            "requestServedFromCache" => request.from_cache = true,
            "dataReceived" => request.bytes += params["dataLength"].as_u64().unwrap_or(0),
            "loadingFinished" => request.ended_ms = at_ms,
            "loadingFailed" => {
                request.ended_ms = at_ms;
                request.error =
                    Some(params["errorText"].as_str().unwrap_or("it failed").to_owned());
            }
            _ => {}
        }
    }

    fn ask(&mut self, id: &str, at_ms: Option<f64>, params: &Value) {
        let url = params["request"]["url"].as_str().unwrap_or_default();
        if !url.starts_with("http") {
            // Data in the page itself.
            return;
        }
        if !self.requests.contains_key(id) {
            self.order.push(id.to_owned());
        }
        let request = self.requests.entry(id.to_owned()).or_default();
        if request.url.is_empty() {
            url.clone_into(&mut request.url);
            request.started_ms = at_ms.unwrap_or_default();
            request.wall_s = params["wallTime"].as_f64().unwrap_or_default();
        }
    }

    fn respond(&mut self, id: &str, response: &Value) {
        let zero = self.zero;
        let Some(request) = self.requests.get_mut(id) else { return };
        request.status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        request.from_cache |= response["fromDiskCache"].as_bool() == Some(true);
        // Of what comes from the cache the protocol repeats how it came there.
        if request.from_cache {
            return;
        }
        request.protocol = response["protocol"].as_str().map(str::to_owned);
        request.tls = response["securityDetails"]["protocol"].as_str().and_then(tls_name);
        if let Some(number) = response["connectionId"].as_u64().filter(|number| *number > 0) {
            let next = self.connections.len() as u32;
            request.connection = Some(*self.connections.entry(number).or_insert(next));
        }
        let timing = &response["timing"];
        let Some(base) = timing["requestTime"].as_f64() else { return };
        let base = base * 1e3 - zero.nanos() as f64 / 1e6;
        // An offset of -1 means that there was no such step.
        let at = |step: &str| timing[step].as_f64().filter(|ms| *ms >= 0.0).map(|ms| base + ms);
        if response["connectionReused"].as_bool() == Some(false) {
            request.connected_ms = at("sslStart").or_else(|| at("connectEnd"));
            request.secured_ms = at("sslEnd");
        }
        request.sent_ms = at("sendStart");
        // `receiveHeadersStart` is the time of a 103 where one came.
        request.first_byte_ms = at("receiveHeadersEnd");
    }

    /// The document could not be asked for.
    pub(super) fn refuse(&mut self, error: &str) {
        self.refusal = Some(error.to_owned());
    }

    /// Whether the document could not be asked for.
    pub(super) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Whether every request has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.values().all(|request| request.ended_ms.is_some())
    }

    /// Nothing is waited for any more.
    pub(super) fn end(&mut self, now: Instant) {
        self.ended_ms = now.since(self.zero).as_secs_f64() * 1e3;
    }

    /// When the document was asked for, since `ready`; 0 where it was not.
    pub(super) fn begun_ms(&self) -> f64 {
        self.document().map_or(0.0, |document| document.started_ms)
    }

    /// The document's start on both clocks: milliseconds since `ready`, and milliseconds of the wall clock.
    pub(super) fn clocks(&self) -> Option<(f64, f64)> {
        self.document().map(|document| (document.started_ms, document.wall_s * 1e3))
    }

    fn document(&self) -> Option<&Request> {
        self.order.first().and_then(|id| self.requests.get(id))
    }

    /// URLs that the job does not have. The full browser asks for an icon by itself, once the page has loaded; the trial has
    /// ended by then as good as always.
    pub(super) fn unlisted(&self) -> Vec<String> {
        let listed: BTreeSet<&str> =
            self.job.fetches.iter().map(|fetch| fetch.url.as_str()).collect();
        let asked = self.order.iter().filter_map(|id| self.requests.get(id));
        let mut urls: Vec<String> = asked
            .filter(|request| !listed.contains(request.url.as_str()))
            .filter(|request| !request.url.ends_with("/favicon.ico"))
            .map(|request| request.url.clone())
            .collect();
        urls.dedup();
        urls.truncate(MOST_UNLISTED);
        urls
    }

    /// A line for each fetch of the job.
    pub(super) fn lines(&self) -> Vec<FetchLine> {
        let mut by_url: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
        for request in self.order.iter().filter_map(|id| self.requests.get(id)) {
            by_url.entry(&request.url).or_default().push(request);
        }
        let line = |fetch: &crate::contract::Fetch| {
            let asked = by_url.get(fetch.url.as_str());
            asked.map_or_else(|| self.missing(fetch.id), |asked| self.line(fetch.id, asked))
        };
        self.job.fetches.iter().map(line).collect()
    }

    fn missing(&self, id: u32) -> FetchLine {
        let error = match &self.refusal {
            Some(error) => error.clone(),
            None => "the page did not ask for it".to_owned(),
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
            ..FetchLine::at(id, first.started_ms, ended_ms)
        }
    }

    /// A time of the protocol, in seconds of the monotonic clock, as milliseconds since `ready`.
    fn since_zero(&self, seconds: f64) -> f64 {
        (seconds * 1e3 - self.zero.nanos() as f64 / 1e6).max(0.0)
    }
}

/// The contract's name of a TLS version; QUIC's is TLS 1.3 (RFC 9001).
fn tls_name(version: &str) -> Option<String> {
    match version {
        "TLS 1.2" => Some("TLSv1.2".to_owned()),
        "TLS 1.3" | "QUIC" => Some("TLSv1.3".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::contract::{Fetch, Negotiation, Pattern, Tls, Transport, Workload};
    use serde_json::json;

    /// A page's job in the clear.
    pub(in super::super) fn job(urls: &[&str]) -> Job {
        Job {
            contract: 1,
            workload: Workload::Page,
            transport: Transport::Http1,
            tls: Tls::None,
            negotiation: Negotiation::Alpn,
            pattern: Pattern::Parallel,
            connections: 6,
            keep_alive: true,
            resumption: true,
            fetches: (0..).zip(urls).map(|(id, url)| Fetch::get(id, (*url).into(), None)).collect(),
            trust: None,
            public_keys: Vec::new(),
            film: None,
            output: None,
            key_log: None,
            warmup: 0,
            timeout_ms: 1_000,
        }
    }

    const PAGE: &str = "https://far.test/";
    const IMAGE: &str = "https://far.test/a.png";

    fn event(name: &str, params: Value) -> Event {
        Event { method: format!("Network.{name}"), params }
    }

    fn asked(id: &str, url: &str, at: f64) -> Event {
        let params = json!({"requestId": id, "timestamp": at, "wallTime": 1000.0 + at, "request": {"url": url}});
        event("requestWillBeSent", params)
    }

    fn answered(id: &str, more: Value) -> Event {
        let mut response = json!({"status": 200, "protocol": "h2", "connectionId": 77, "connectionReused": false,
            "securityDetails": {"protocol": "TLS 1.3"},
            "timing": {"requestTime": 10.01, "connectEnd": 60.0, "sslStart": 30.0, "sslEnd": 60.0,
                "sendStart": 61.0, "receiveHeadersStart": 70.0, "receiveHeadersEnd": 95.0}});
        for (key, value) in more.as_object().into_iter().flatten() {
            response[key] = value.clone();
        }
        event("responseReceived", json!({"requestId": id, "timestamp": 10.2, "response": response}))
    }

    fn data(id: &str, bytes: u64) -> Event {
        event("dataReceived", json!({"requestId": id, "dataLength": bytes}))
    }

    fn finished(id: &str, at: f64) -> Event {
        event("loadingFinished", json!({"requestId": id, "timestamp": at}))
    }

    fn lines(urls: &[&str], events: &[Event]) -> (Vec<FetchLine>, Vec<String>) {
        let job = job(urls);
        let mut fetches = Fetches::new(&job, Instant::from_nanos(10_000_000_000));
        events.iter().for_each(|event| fetches.take(event));
        fetches.end(Instant::from_nanos(11_000_000_000));
        (fetches.lines(), fetches.unlisted())
    }

    #[test]
    fn a_request_is_a_fetch_with_the_times_of_its_steps() {
        let events = [
            asked("1", PAGE, 10.01),
            answered("1", json!({})),
            data("1", 400),
            data("1", 600),
            finished("1", 10.15),
        ];
        let (lines, unlisted) = lines(&[PAGE], &events);
        let line = &lines[0];
        assert_eq!((line.status, line.bytes, line.connection), (Some(200), Some(1000), Some(0)));
        let times = [line.started_ms, line.ended_ms].map(f64::round);
        assert_eq!(times, [10.0, 150.0]);
        let steps = [line.connected_ms, line.secured_ms, line.sent_ms, line.first_byte_ms];
        // The head of the final response, not the 103 before it.
        assert_eq!(steps.map(|ms| ms.map(f64::round)), [40.0, 70.0, 71.0, 105.0].map(Some));
        assert_eq!((line.protocol.as_deref(), line.tls.as_deref()), (Some("h2"), Some("TLSv1.3")));
        assert!(unlisted.is_empty());
    }

    #[test]
    fn what_a_hint_fetched_and_the_page_took_from_the_cache_is_one_fetch() {
        let events = [
            asked("1", PAGE, 10.0),
            asked("2", IMAGE, 10.02),
            answered("2", json!({"connectionReused": true})),
            data("2", 5_000),
            finished("2", 10.3),
            answered("1", json!({})),
            finished("1", 10.4),
            asked("3", IMAGE, 10.41),
            answered("3", json!({"fromDiskCache": true, "connectionId": 99})),
            finished("3", 10.42),
        ];
        let (lines, _) = lines(&[PAGE, IMAGE], &events);
        assert_eq!((lines[1].bytes, lines[1].started_ms.round()), (Some(5_000), 20.0));
        assert_eq!((lines[1].ended_ms.round(), lines[1].connected_ms), (300.0, None));
    }

    #[test]
    fn what_failed_or_was_never_asked_for_says_so_and_what_nobody_listed_is_named() {
        let failed = event(
            "loadingFailed",
            json!({"requestId": "1", "timestamp": 10.5, "errorText": "net::ERR_FAILED"}),
        );
        let other = "https://elsewhere.test/beacon";
        let events = [asked("1", PAGE, 10.0), failed, asked("2", other, 10.1)];
        let (lines, unlisted) = lines(&[PAGE, IMAGE], &events);
        assert_eq!(lines[0].error.as_deref(), Some("net::ERR_FAILED"));
        assert_eq!(lines[1].error.as_deref(), Some("the page did not ask for it"));
        assert_eq!(unlisted, [other]);
    }

    #[test]
    fn a_response_that_is_under_way_has_not_ended_in_time() {
        let events = [asked("1", PAGE, 10.0), answered("1", json!({})), data("1", 3)];
        let (lines, _) = lines(&[PAGE], &events);
        assert_eq!(lines[0].error.as_deref(), Some("the response did not end in time"));
        assert_eq!((lines[0].status, lines[0].ended_ms.round()), (None, 1000.0));
    }
}
