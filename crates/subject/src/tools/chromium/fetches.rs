//! The requests of a page, from the events of the protocol's domain Network.

use crate::contract::{FetchLine, Job};
use crate::tools::ToolError;
use crate::tools::browser::{Event, Requests};
use serde_json::Value;
use std::collections::BTreeMap;
use unit::Instant;

/// What a page asked for.
pub(super) struct Fetches<'a> {
    zero: Instant,
    requests: Requests<'a>,
    /// The protocol's numbers of connections, and the job's.
    connections: BTreeMap<u64, u32>,
    /// When the document was asked for on the wall clock, in seconds since its epoch.
    wall_s: Option<f64>,
}

impl<'a> Fetches<'a> {
    /// For a page that is asked for from `zero` on.
    pub(super) fn new(job: &'a Job, zero: Instant) -> Self {
        Self { zero, requests: Requests::new(job), connections: BTreeMap::new(), wall_s: None }
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
        if params["redirectResponse"].is_object() {
            self.respond(id, &params["redirectResponse"]);
        }
        self.requests.ask(id, url, at_ms.unwrap_or_default());
        if self.requests.document().is_some() && self.wall_s.is_none() {
            self.wall_s = params["wallTime"].as_f64();
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
        self.requests.refuse(error);
    }

    /// Whether the document could not be asked for.
    pub(super) fn is_refused(&self) -> bool {
        self.requests.is_refused()
    }

    /// Whether every request has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_idle()
    }

    /// Nothing is waited for any more.
    pub(super) fn end(&mut self, now: Instant) {
        self.requests.end(now.since(self.zero).as_secs_f64() * 1e3);
    }

    /// When the document was asked for, since `ready`; 0 where it was not.
    pub(super) fn begun_ms(&self) -> f64 {
        self.requests.document().map_or(0.0, |document| document.started_ms)
    }

    /// How far the contract's clock is behind the wall clock's, in milliseconds: the document was asked for on both. None
    /// where it was not.
    pub(super) fn zero_wall_ms(&self) -> Option<f64> {
        Some(self.wall_s? * 1e3 - self.requests.document()?.started_ms)
    }

    /// URLs that the job does not have.
    pub(super) fn unlisted(&self) -> Vec<String> {
        self.requests.unlisted()
    }

    /// Whether every fetch of the job came in `view`.
    pub(super) fn all_came(&self, view: &str) -> Result<(), ToolError> {
        self.requests.all_came(view)
    }

    /// A line for each fetch of the job.
    pub(super) fn lines(&self) -> Vec<FetchLine> {
        self.requests.lines()
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
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;
    use serde_json::json;

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
