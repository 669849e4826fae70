//! A recorded page as the files of a site, and as a HAR 1.2 file (docs/record.md).

use crate::inputs::har::SITE_VERSION;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use report::timestamp;
use secure::Sha256;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use subject::record::{RecordedExchange, RecordedPage, RecordedResponse};

/// The files of a site.
pub(super) struct Archive {
    /// The HAR's `log`, whose bodies are named by their digests.
    log: Value,
    bodies: BTreeMap<String, Vec<u8>>,
    epoch_ms: u64,
}

impl Archive {
    /// That of a page which saw this time.
    pub(super) fn of(page: &RecordedPage, epoch_ms: u64) -> Self {
        let mut bodies = BTreeMap::new();
        let entries: Vec<Value> =
            page.exchanges.iter().map(|exchange| entry(exchange, &mut bodies)).collect();
        let coverage: Vec<Value> = page
            .coverage
            .iter()
            .map(|one| json!({"url": one.url, "total": one.total, "used": one.used}))
            .collect();
        let since = |at: Option<i64>| at.map_or(json!(-1), |at| json!(millis(at - page.started)));
        let (name, version) = page.browser.split_once('/').unwrap_or((&page.browser, ""));
        let log = json!({
            "version": "1.2",
            "creator": {"name": "wirelap", "version": env!("CARGO_PKG_VERSION")},
            "browser": {"name": name, "version": version},
            "pages": [{
                "id": PAGE,
                "title": page.title,
                "startedDateTime": time(page.started),
                "pageTimings": {"onContentLoad": since(page.dom_content_loaded), "onLoad": since(page.loaded)},
                "_coverage": coverage,
            }],
            "entries": entries,
        });
        Self { log, bodies, epoch_ms }
    }

    /// The text of `site.json`.
    pub(super) fn site(&self) -> String {
        let site = json!({
            "wirelap_site": SITE_VERSION,
            "wirelap_epoch_ms": self.epoch_ms,
            "log": self.log,
        });
        format!("{site:#}\n")
    }

    /// The bodies and their names.
    pub(super) fn bodies(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.bodies.iter().map(|(name, body)| (name.as_str(), body.as_slice()))
    }

    /// The text of a HAR file, with the bodies in it.
    pub(super) fn har(&self) -> String {
        let mut log = self.log.clone();
        for entry in log["entries"].as_array_mut().into_iter().flatten() {
            let content = &mut entry["response"]["content"];
            let named = content.as_object_mut().and_then(|content| content.remove("_file"));
            let name = named.as_ref().and_then(Value::as_str).unwrap_or_default();
            let Some(body) = self.bodies.get(name) else { continue };
            match std::str::from_utf8(body) {
                Ok(text) => content["text"] = json!(text),
                Err(_) => {
                    content["text"] = json!(BASE64_STANDARD.encode(body));
                    content["encoding"] = json!("base64");
                }
            }
        }
        format!("{:#}\n", json!({ "log": log }))
    }
}

const PAGE: &str = "page_1";

/// One exchange; its body goes to `bodies`.
fn entry(exchange: &RecordedExchange, bodies: &mut BTreeMap<String, Vec<u8>>) -> Value {
    let response = exchange.response.as_ref();
    let timing = response.map(|response| response.timing).unwrap_or_default();
    let ended = exchange.ended.or(exchange.came_until).unwrap_or(exchange.started);
    let whole = millis(ended - exchange.started).max(timing.head);
    let step = |span: Option<f64>| span.unwrap_or(-1.0);
    let is_socket = exchange.url.starts_with("ws");
    let protocol = response.map_or("", |response| response.protocol.as_str());
    let mut entry = json!({
        "pageref": PAGE,
        "startedDateTime": time(exchange.started),
        "time": whole,
        "request": {
            "method": exchange.method,
            "url": exchange.url,
            "httpVersion": protocol,
            "headers": fields(&exchange.request_fields),
            "queryString": query(&exchange.url),
            "cookies": [],
            "headersSize": -1,
            "bodySize": exchange.upload,
        },
        "response": answer(response, bodies),
        "cache": {},
        "timings": {
            "blocked": step(timing.blocked),
            "dns": step(timing.dns),
            "connect": step(timing.connect),
            "ssl": step(timing.ssl),
            "send": timing.send,
            "wait": timing.wait,
            "receive": (whole - timing.head).max(0.0),
        },
        "_resourceType": exchange.kind.to_ascii_lowercase(),
        "_initiator": exchange.initiator,
    });
    let more = [
        (
            "serverIPAddress",
            response.and_then(|response| response.address.clone()).map(Value::from),
        ),
        (
            "_connectionId",
            response.and_then(|r| r.connection).map(|number| json!(number.to_string())),
        ),
        ("_priority", exchange.priority.clone().map(Value::from)),
        ("_renderBlocking", exchange.render_blocking.clone().map(Value::from)),
        ("_error", exchange.error.clone().map(Value::from)),
        ("_fromCache", response.filter(|r| r.from_cache).map(|_| json!("memory"))),
        ("_webSocketMessages", is_socket.then(|| messages(exchange))),
    ];
    let known = more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    if let Some(object) = entry.as_object_mut() {
        object.extend(known);
    }
    entry
}

fn answer(response: Option<&RecordedResponse>, bodies: &mut BTreeMap<String, Vec<u8>>) -> Value {
    // 0: no answer came.
    let empty = RecordedResponse::default();
    let response = response.unwrap_or(&empty);
    let location = response.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let size = response.body.as_ref().map_or(0, Vec::len);
    let mut content = Map::new();
    content.insert("size".to_owned(), json!(size));
    content.insert("mimeType".to_owned(), json!(response.media_type));
    if let Some(body) = response.body.as_ref().filter(|body| !body.is_empty()) {
        let mut digest = Sha256::new();
        digest.update(body);
        let name = digest.finish().to_string();
        content.insert("_file".to_owned(), json!(name));
        bodies.insert(name, body.clone());
    }
    json!({
        "status": response.status,
        "statusText": response.status_text,
        "httpVersion": response.protocol,
        "headers": fields(&response.fields),
        "cookies": [],
        "content": content,
        "redirectURL": location.map_or("", |(_, value)| value.as_str()),
        "headersSize": response.head_bytes,
        "bodySize": response.body_bytes,
        "_transferSize": response.head_bytes + response.body_bytes,
    })
}

fn fields(fields: &[(String, String)]) -> Vec<Value> {
    fields.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn query(url: &str) -> Vec<Value> {
    let without_fragment = url.split('#').next().unwrap_or_default();
    let query = without_fragment.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"name": name, "value": value})
    };
    pairs.map(pair).collect()
}

/// As Chromium's developer tools write them.
fn messages(exchange: &RecordedExchange) -> Value {
    let message = |message: &subject::record::RecordedMessage| {
        json!({
            "type": if message.is_sent { "send" } else { "receive" },
            "time": message.at as f64 / 1e9,
            "opcode": message.opcode,
            "data": message.data,
        })
    };
    exchange.messages.iter().map(message).collect()
}

fn millis(nanos: i64) -> f64 {
    (nanos as f64 / 1e3).round() / 1e3
}

/// A time with microseconds.
fn time(nanos: i64) -> String {
    let micros = u64::try_from(nanos / 1_000).unwrap_or(0);
    let coarse = timestamp(micros / 1_000);
    format!("{}{:03}Z", coarse.trim_end_matches('Z'), micros % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use subject::record::{RecordedMessage, Timing};

    fn page() -> RecordedPage {
        let started = 1_767_268_800_000_001_000;
        let document = RecordedExchange {
            url: "https://a.test/?q=1".to_owned(),
            method: "GET".to_owned(),
            started,
            ended: Some(started + 90_000_000),
            kind: "Document".to_owned(),
            response: Some(RecordedResponse {
                status: 200,
                fields: vec![("Set-Cookie".to_owned(), "a=1".to_owned())],
                media_type: "text/html".to_owned(),
                timing: Timing { wait: 40.0, head: 50.0, ..Timing::default() },
                body_bytes: 30,
                body: Some(b"<p>\xff".to_vec()),
                ..RecordedResponse::default()
            }),
            ..RecordedExchange::default()
        };
        let socket = RecordedExchange {
            url: "wss://b.test/chat".to_owned(),
            started: started + 60_000_000,
            kind: "WebSocket".to_owned(),
            response: Some(RecordedResponse { status: 101, ..RecordedResponse::default() }),
            messages: vec![RecordedMessage {
                at: started + 80_000_000,
                is_sent: true,
                opcode: 1,
                data: "hello".to_owned(),
            }],
            ..RecordedExchange::default()
        };
        RecordedPage {
            started,
            loaded: Some(started + 100_000_000),
            exchanges: vec![document, socket],
            ..RecordedPage::default()
        }
    }

    #[test]
    fn a_site_and_its_har_are_read_as_the_same_page() {
        let archive = Archive::of(&page(), 5);
        let options = page::har::HarOptions::default();
        let site = page::har::parse(archive.site().as_bytes(), options).unwrap();
        let har = page::har::parse(archive.har().as_bytes(), options).unwrap();
        assert!(site.is_site && !har.is_site);
        let urls = |recording: &page::har::Recording| -> Vec<String> {
            recording.page.resources().iter().map(|one| one.url.to_string()).collect()
        };
        assert_eq!(urls(&site), ["https://a.test/?q=1", "https://b.test/chat"]);
        assert_eq!(urls(&site), urls(&har));
        let document = &site.page.resources()[0];
        assert_eq!((document.body.0, document.server_time.as_millis()), (30, 40));
        assert_eq!(document.answered.field("set-cookie"), Some("a=1"));
        let file = document.answered.file.as_deref().unwrap();
        assert_eq!(archive.bodies().map(|(name, _)| name).collect::<Vec<_>>(), [file]);
        let messages = site.page.resources()[1].answered.messages.as_ref().unwrap();
        assert_eq!((messages.len(), messages[0].after.as_millis()), (1, 20));
        assert!(archive.har().contains("\"encoding\": \"base64\""));
    }

    #[test]
    fn times_have_microseconds() {
        assert_eq!(time(1_767_268_800_000_001_000), "2026-01-01T12:00:00.000001Z");
    }
}
