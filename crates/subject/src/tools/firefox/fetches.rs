//! The requests of a page, from the events of WebDriver BiDi's module network. Their `timings` are milliseconds of the wall clock
//! with microseconds behind the point; 0 means that there was no such step.

use super::bidi::Event;
use crate::contract::{FetchLine, Job};
use crate::tools::browser::Requests;
use serde_json::Value;
use std::time::Duration;
use unit::Instant;

/// The events that tell of requests.
pub(super) const EVENTS: [&str; 4] = [
    "network.beforeRequestSent",
    "network.responseStarted",
    "network.responseCompleted",
    "network.fetchError",
];

/// What a page asked for.
pub(super) struct Fetches<'a> {
    zero: Instant,
    /// The same on the wall clock, in milliseconds since its epoch.
    zero_wall_ms: f64,
    requests: Requests<'a>,
}

impl<'a> Fetches<'a> {
    /// For a page that is asked for from `zero` on, which is `zero_wall` since the epoch of the wall clock.
    pub(super) fn new(job: &'a Job, zero: Instant, zero_wall: Duration) -> Self {
        let zero_wall_ms = zero_wall.as_secs_f64() * 1e3;
        Self { zero, zero_wall_ms, requests: Requests::new(job) }
    }

    /// Takes an event; those of other modules say nothing here.
    pub(super) fn take(&mut self, event: &Event) {
        let Some(name) = event.method.strip_prefix("network.") else { return };
        let params = &event.params;
        let timings = &params["request"]["timings"];
        let Some(id) = params["request"]["request"].as_str() else { return };
        if name == "beforeRequestSent" {
            let url = params["request"]["url"].as_str().unwrap_or_default();
            let started_ms = self.since_zero(&timings["requestTime"]).unwrap_or_default();
            return self.requests.ask(id, url, started_ms);
        }
        // A whole millisecond, when the event was written.
        let told_ms = self.since_zero(&params["timestamp"]);
        let at = |step: &str| self.since_zero(&timings[step]);
        let steps = Steps {
            connected_ms: at("tlsStart").or_else(|| at("connectEnd")),
            secured_ms: at("tlsStart").and_then(|_| at("tlsEnd")),
            sent_ms: at("requestStart"),
            first_byte_ms: at("responseStart"),
            ended_ms: at("responseEnd").or(told_ms),
        };
        let Some(request) = self.requests.get_mut(id) else { return };
        if name == "fetchError" {
            request.ended_ms = steps.ended_ms;
            let error = params["errorText"].as_str().unwrap_or("it failed");
            request.error = Some(error.to_owned());
            return;
        }
        let response = &params["response"];
        request.status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        request.from_cache |= response["fromCache"].as_bool() == Some(true);
        request.protocol = protocol(response);
        if name == "responseCompleted" {
            request.bytes = response["bodySize"].as_u64().unwrap_or_default();
            request.connected_ms = steps.connected_ms;
            request.secured_ms = steps.secured_ms;
            request.sent_ms = steps.sent_ms;
            request.first_byte_ms = steps.first_byte_ms;
            request.ended_ms = steps.ended_ms;
        }
    }

    /// The document could not be asked for.
    pub(super) fn refuse(&mut self, error: &str) {
        self.requests.refuse(error);
    }

    /// Whether there is no document, and nothing to wait for.
    pub(super) fn is_refused(&self) -> bool {
        let failed = self.requests.document().is_some_and(|document| document.error.is_some());
        failed || self.requests.is_refused()
    }

    /// Whether every request has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_idle()
    }

    /// Nothing is waited for any more.
    pub(super) fn end(&mut self, now: Instant) {
        self.requests.end(now.since(self.zero).as_secs_f64() * 1e3);
    }

    /// `ready` in milliseconds of the wall clock.
    pub(super) fn zero_wall_ms(&self) -> f64 {
        self.zero_wall_ms
    }

    /// URLs that the job does not have.
    pub(super) fn unlisted(&self) -> Vec<String> {
        self.requests.unlisted()
    }

    /// A line for each fetch of the job.
    pub(super) fn lines(&self) -> Vec<FetchLine> {
        self.requests.lines()
    }

    /// A time of the protocol as milliseconds since `ready`; None for a step that was not.
    fn since_zero(&self, time: &Value) -> Option<f64> {
        let wall_ms = time.as_f64().filter(|ms| *ms > 0.0)?;
        Some((wall_ms - self.zero_wall_ms).max(0.0))
    }
}

/// The times of a request's steps, in milliseconds since `ready`.
struct Steps {
    connected_ms: Option<f64>,
    secured_ms: Option<f64>,
    sent_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    ended_ms: Option<f64>,
}

/// The ALPN name of what carried a response.
fn protocol(response: &Value) -> Option<String> {
    let name = response["protocol"].as_str()?.to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}
