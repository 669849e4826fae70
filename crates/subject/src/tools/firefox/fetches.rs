//! The requests of a page, from the events of WebDriver BiDi's module network. Their `timings` are milliseconds of the wall clock
//! with microseconds behind the point; 0 means that there was no such step.

use crate::contract::{FetchLine, Job};
use crate::tools::ToolError;
use crate::tools::browser::{Event, Requests};
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

    /// When the head of the document's final response came, where a 103 came before it: the protocol has the 103's time.
    pub(super) fn note_final_head(&mut self, at_ms: Option<f64>) {
        if let (Some(at_ms), Some(document)) = (at_ms, self.requests.document_mut()) {
            document.first_byte_ms = Some(at_ms);
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

    /// Whether every fetch of the job came in `view`.
    pub(super) fn all_came(&self, view: &str) -> Result<(), ToolError> {
        self.requests.all_came(view)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;
    use serde_json::json;

    const PAGE: &str = "https://far.test/";
    const IMAGE: &str = "https://far.test/a.png";

    /// The wall clock at `ready`, in milliseconds.
    const ZERO: f64 = 1_795_629_393_136.0;

    fn event(name: &str, id: &str, url: &str, steps: &[(&str, f64)], more: Value) -> Event {
        let mut params = json!({"context": "c", "timestamp": ZERO + 400.0, "request": {"request": id, "url": url,
            "timings": {"timeOrigin": 0, "requestTime": 0, "connectStart": 0, "connectEnd": 0, "tlsStart": 0, "tlsEnd": 0,
                "requestStart": 0, "responseStart": 0, "responseEnd": 0}}});
        for (step, at) in steps {
            params["request"]["timings"][*step] = json!(ZERO + at);
        }
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        Event { method: format!("network.{name}"), params }
    }

    fn asked(id: &str, url: &str, at: f64) -> Event {
        event("beforeRequestSent", id, url, &[("requestTime", at)], json!({}))
    }

    fn ended(id: &str, url: &str, steps: &[(&str, f64)], bytes: u64, cached: bool) -> Event {
        let response =
            json!({"status": 200, "protocol": "h2", "fromCache": cached, "bodySize": bytes});
        event("responseCompleted", id, url, steps, json!({ "response": response }))
    }

    fn fetches<'a>(job: &'a Job, events: &[Event]) -> Fetches<'a> {
        let zero = Instant::from_nanos(10_000_000_000);
        let mut fetches = Fetches::new(job, zero, Duration::from_secs_f64(ZERO / 1e3));
        events.iter().for_each(|event| fetches.take(event));
        fetches.end(Instant::from_nanos(11_000_000_000));
        fetches
    }

    const STEPS: [(&str, f64); 8] = [
        ("requestTime", 4.0),
        ("connectStart", 5.0),
        ("connectEnd", 80.0),
        ("tlsStart", 45.0),
        ("tlsEnd", 80.0),
        ("requestStart", 81.0),
        ("responseStart", 120.5),
        ("responseEnd", 300.25),
    ];

    #[test]
    fn a_request_is_a_fetch_with_the_times_of_its_steps() {
        let job = job(&[PAGE]);
        let events = [asked("1", PAGE, 4.0), ended("1", PAGE, &STEPS, 1_000, false)];
        let lines = fetches(&job, &events).lines();
        let line = &lines[0];
        assert_eq!(
            (line.status, line.bytes, line.protocol.as_deref()),
            (Some(200), Some(1_000), Some("h2"))
        );
        let times = [line.started_ms, line.ended_ms].map(|ms| (ms * 10.0).round());
        assert_eq!(times, [40.0, 3_003.0]);
        let steps = [line.connected_ms, line.secured_ms, line.sent_ms, line.first_byte_ms];
        let rounded = steps.map(|ms| ms.map(|ms| (ms * 10.0).round()));
        assert_eq!(rounded, [450.0, 800.0, 810.0, 1_205.0].map(Some));
        // It tells neither.
        assert_eq!((line.connection, line.tls.as_deref()), (None, None));
    }

    #[test]
    fn a_connection_that_was_there_has_no_steps_and_one_without_tls_is_not_secured() {
        let job = job(&[PAGE, IMAGE]);
        let clear =
            [("connectStart", 5.0), ("connectEnd", 45.0), ("tlsEnd", 45.0), ("responseEnd", 90.0)];
        let events = [
            asked("1", PAGE, 4.0),
            ended("1", PAGE, &clear, 10, false),
            asked("2", IMAGE, 95.0),
            ended("2", IMAGE, &[("requestStart", 96.0), ("responseEnd", 150.0)], 10, false),
        ];
        let lines = fetches(&job, &events).lines();
        assert_eq!(lines[0].connected_ms.map(f64::round), Some(45.0));
        assert_eq!(lines[0].secured_ms, None);
        assert_eq!((lines[1].connected_ms, lines[1].secured_ms), (None, None));
    }

    #[test]
    fn the_documents_first_byte_is_that_of_its_final_head() {
        let job = job(&[PAGE]);
        let events = [asked("1", PAGE, 4.0), ended("1", PAGE, &STEPS, 1_000, false)];
        let mut fetches = fetches(&job, &events);
        fetches.note_final_head(None);
        assert_eq!(fetches.lines()[0].first_byte_ms.map(f64::round), Some(121.0));
        fetches.note_final_head(Some(290.0));
        assert_eq!(fetches.lines()[0].first_byte_ms, Some(290.0));
    }

    #[test]
    fn what_a_hint_fetched_and_the_page_took_from_the_cache_is_one_fetch() {
        let job = job(&[PAGE, IMAGE]);
        let events = [
            asked("1", PAGE, 4.0),
            asked("2", IMAGE, 20.0),
            ended("2", IMAGE, &[("responseEnd", 200.0)], 5_000, false),
            ended("1", PAGE, &STEPS, 10, false),
            asked("3", IMAGE, 310.0),
            ended("3", IMAGE, &[("responseEnd", 311.0)], 0, true),
        ];
        let lines = fetches(&job, &events).lines();
        assert_eq!((lines[1].bytes, lines[1].started_ms.round()), (Some(5_000), 20.0));
        assert_eq!(lines[1].ended_ms.round(), 200.0);
    }

    #[test]
    fn what_failed_or_is_under_way_says_so_and_what_nobody_listed_is_named() {
        let other = "https://elsewhere.test/beacon";
        let job = job(&[PAGE, IMAGE]);
        let failed = json!({ "errorText": "NS_ERROR_NET_RESET" });
        let under_way =
            json!({ "response": {"status": 200, "protocol": "h2", "fromCache": false} });
        let events = [
            asked("1", PAGE, 4.0),
            event("responseStarted", "1", PAGE, &STEPS[..7], under_way),
            asked("2", IMAGE, 20.0),
            event("fetchError", "2", IMAGE, &[], failed),
            asked("3", other, 30.0),
            asked("4", "data:image/png;base64,AA==", 31.0),
        ];
        let fetches = fetches(&job, &events);
        assert!(!fetches.is_idle() && !fetches.is_refused());
        let lines = fetches.lines();
        assert_eq!(lines[0].error.as_deref(), Some("the response did not end in time"));
        assert_eq!((lines[0].status, lines[0].ended_ms.round()), (None, 1_000.0));
        assert_eq!(lines[1].error.as_deref(), Some("NS_ERROR_NET_RESET"));
        assert_eq!(lines[1].ended_ms.round(), 400.0);
        assert_eq!(fetches.unlisted(), [other]);
    }

    #[test]
    fn without_its_document_there_is_no_page() {
        let job = job(&[PAGE, IMAGE]);
        let failed = json!({ "errorText": "NS_ERROR_CONNECTION_REFUSED" });
        let events = [asked("1", PAGE, 4.0), event("fetchError", "1", PAGE, &[], failed)];
        let fetches = fetches(&job, &events);
        assert!(fetches.is_refused());
        let lines = fetches.lines();
        assert_eq!(lines[0].error.as_deref(), Some("NS_ERROR_CONNECTION_REFUSED"));
        assert_eq!(lines[1].error.as_deref(), Some("the page did not ask for it"));
    }
}
