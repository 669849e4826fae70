//! A trial's fetches as a HAR 1.2 document (W3C draft "HTTP Archive (HAR) format"), for browsers and waterfall viewers.
//! What the lab does not record (headers, cookies) is empty, as the format allows.

use crate::number::timestamp;
use crate::timing::{self, Phase, Span};
use serde_json::{Value, json};
use study::metric;
use study::record::TrialRecord;
use trace::{ConnectionRecord, FetchRecord, Protocol, SpokenProtocol};
use unit::Instant;

/// The HAR document of `trial`, made by this `version` of wirelap.
pub fn har(trial: &TrialRecord, version: &str) -> String {
    let origin = timing::origin(&trial.fetches);
    let entries: Vec<Value> = trial.fetches.iter().map(|f| entry(trial, f, origin)).collect();
    let known = |name| trial.metrics.get(name).copied().unwrap_or(-1.0);
    let document = json!({ "log": {
        "version": "1.2",
        "creator": { "name": "wirelap", "version": version },
        "pages": [{
            "startedDateTime": timestamp(trial.started_unix_ms),
            "id": PAGE,
            "title": trial.plan.key,
            "pageTimings": {
                "onContentLoad": known(metric::DOM_CONTENT_LOADED_MS),
                "onLoad": known(metric::LOAD_MS),
            },
        }],
        "entries": entries,
    }});
    format!("{document:#}\n")
}

const PAGE: &str = "page_1";

fn entry(trial: &TrialRecord, fetch: &FetchRecord, origin: Instant) -> Value {
    let spans = timing::spans(fetch, origin);
    let queued = timing::millis(origin, fetch.phases.queued);
    let version = http_version(&fetch.protocol);
    let mut entry = json!({
        "pageref": PAGE,
        "startedDateTime": timestamp(trial.started_unix_ms + queued.round() as u64),
        "time": round(spans.iter().map(|span| span.to - span.from).sum::<f64>() + 0.0),
        "request": {
            "method": fetch.method,
            "url": fetch.url,
            "httpVersion": version,
            "cookies": [],
            "headers": [],
            "queryString": query(&fetch.url),
            "headersSize": -1,
            "bodySize": upload(fetch),
        },
        "response": {
            // Browsers write zero if no response came.
            "status": fetch.status.unwrap_or(0),
            "statusText": "",
            "httpVersion": version,
            "cookies": [],
            "headers": [],
            "content": { "size": fetch.body_bytes, "mimeType": "" },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": fetch.body_bytes,
        },
        "cache": {},
        "timings": timings(&spans),
    });
    let connection =
        trial.connections.iter().find(|connection| Some(connection.id) == fetch.connection);
    if let Some(connection) = connection {
        entry["connection"] = json!(connection.id.to_string());
        entry["serverIPAddress"] = json!(address(connection));
    }
    entry
}

/// Bytes of the request's body. -1 means that the size is not known (HAR 1.2, "request").
fn upload(fetch: &FetchRecord) -> i64 {
    let known = fetch.request_body_bytes.and_then(|bytes| i64::try_from(bytes).ok());
    // Other people's clients do not report it. They give these two no body.
    known.unwrap_or(if matches!(fetch.method.as_str(), "GET" | "HEAD") { 0 } else { -1 })
}

/// `connect` includes `ssl`. -1 means that a phase did not happen (HAR 1.2, "timings").
fn timings(spans: &[Span]) -> Value {
    let spent = |phase| timing::spent(spans, phase);
    let tls = spent(Phase::Tls);
    let connect = spent(Phase::Connect) + tls;
    let or_none = |millis: f64| if millis > 0.0 { round(millis) } else { -1.0 };
    json!({
        "blocked": round(spent(Phase::Queued)),
        "dns": -1,
        "connect": or_none(connect),
        "ssl": or_none(tls),
        "send": 0,
        "wait": round(spent(Phase::Wait)),
        "receive": round(spent(Phase::Receive)),
    })
}

/// Milliseconds rounded to the nanosecond, without the error of binary fractions.
fn round(millis: f64) -> f64 {
    (millis * 1e6).round() / 1e6
}

fn http_version(protocol: &SpokenProtocol) -> &str {
    match protocol {
        SpokenProtocol::Known(Protocol::Http1) => "HTTP/1.1",
        SpokenProtocol::Known(Protocol::Http2) => "HTTP/2.0",
        other => other.name(),
    }
}

fn address(connection: &ConnectionRecord) -> &str {
    let host = connection.remote.rsplit_once(':').map_or(connection.remote.as_str(), |(h, _)| h);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn query(url: &str) -> Vec<Value> {
    let without_fragment = url.split('#').next().unwrap_or(url);
    let Some((_, query)) = without_fragment.split_once('?') else { return Vec::new() };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({ "name": name, "value": value })
        })
        .collect()
}
