//! One entry of a HAR as it is in the file; nothing is assumed.
//!
//! What is missing, null, empty or -1 is None; numbers may be strings, as
//! WebPageTest writes them. What has the wrong shape is an error that names the field.

use super::HarError;
use super::socket::{self, TimedMessage};
use super::time;
use crate::exchange::Field;
use crate::url::Url;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The facts of one entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Place in the file's `log.entries`.
    pub(super) index: usize,
    pub(super) url: String,
    pub(super) method: String,
    pub(super) pageref: Option<String>,
    /// Nanoseconds since 1970.
    pub(super) started: Option<i64>,
    pub(super) time: Option<Duration>,
    pub(super) timings: Timings,
    pub(super) status: Option<i64>,
    /// Whether the browser made up the answer itself.
    pub(super) answered_inside: bool,
    /// Whether the browser's cache answered, and nobody was asked.
    pub(super) from_cache: bool,
    /// Whether a service worker answered.
    pub(super) by_service_worker: bool,
    pub(super) mime: String,
    pub(super) resource_type: String,
    pub(super) rank: String,
    pub(super) referer: Option<String>,
    /// Where a 3xx answer leads.
    pub(super) redirect: Option<String>,
    pub(super) initiators: Vec<String>,
    /// Whether it asks for leave (CORS) for another request of the same URL.
    pub(super) is_preflight: bool,
    pub(super) upload: u64,
    /// Bytes of the cookies that it sent.
    pub(super) cookies: u64,
    /// Fields of the request that its answer depends on.
    pub(super) asked: Vec<Field>,
    /// Fields of the response, as a replay can send them.
    pub(super) answered: Vec<Field>,
    /// The connection of HTTP/2 or HTTP/3 that carried it; None of HTTP/1.1, and where nothing says so.
    pub(super) shared_connection: Option<String>,
    /// Whether it came over HTTP/2 or HTTP/3.
    pub(super) is_multiplexed: bool,
    /// Whether the page said that its first paint waits for it; None where it did not say.
    pub(super) blocks_rendering: Option<bool>,
    /// The messages of a WebSocket; None where the recording has none of them.
    pub(super) messages: Option<Vec<TimedMessage>>,
    /// The file of a recorded site that has the decoded body.
    pub(super) file: Option<String>,
    pub(super) transfer_size: Option<u64>,
    pub(super) body_size: Option<u64>,
    pub(super) content_length: Option<u64>,
    pub(super) content_size: Option<u64>,
}

/// The phases of one entry; a phase that did not happen is None.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timings {
    pub(super) blocked: Option<Duration>,
    pub(super) dns: Option<Duration>,
    pub(super) connect: Option<Duration>,
    pub(super) ssl: Option<Duration>,
    pub(super) send: Option<Duration>,
    pub(super) wait: Option<Duration>,
    pub(super) receive: Option<Duration>,
}

impl Timings {
    /// All phases in a row, where `ssl` is a part of `connect` (HAR 1.2).
    pub(super) fn sum(&self) -> Duration {
        [self.blocked, self.dns, self.connect, self.send, self.wait, self.receive]
            .into_iter()
            .flatten()
            .fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Entry {
    /// Whether it asks for the head alone.
    pub(super) fn is_head(&self) -> bool {
        self.method.eq_ignore_ascii_case("HEAD")
    }

    /// Whether it got what its sender had already (RFC 9110 §15.4.5).
    pub(super) fn is_not_modified(&self) -> bool {
        self.status == Some(304)
    }

    /// Whether it asked for a WebSocket.
    pub(super) fn is_for_web_socket(&self) -> bool {
        let scheme = self.url.split(':').next().unwrap_or_default().to_ascii_lowercase();
        matches!(scheme.as_str(), "ws" | "wss")
            || self.status == Some(101)
            || self.resource_type == "websocket"
    }

    /// Whether it asked for a WebSocket and was answered as any other request (RFC 6455 §4.1): with 2xx too, unless that
    /// came over HTTP/2 or HTTP/3, where it opens one (RFC 8441 §5).
    pub(super) fn is_refused_web_socket(&self) -> bool {
        let is_refusal = self.status.is_some_and(|status| match status {
            200..300 => !self.is_multiplexed,
            other => (300..600).contains(&other),
        });
        self.is_for_web_socket() && !self.has_messages() && is_refusal
    }

    /// Whether it opened a WebSocket.
    pub(super) fn is_web_socket(&self) -> bool {
        self.is_for_web_socket() && !self.is_refused_web_socket()
    }

    /// Whether messages went over it.
    pub(super) fn has_messages(&self) -> bool {
        self.messages.as_ref().is_some_and(|messages| !messages.is_empty())
    }

    /// Whether the browser answered it by itself, as far as the recording tells.
    pub(super) fn is_answered_by_browser(&self) -> bool {
        self.from_cache || self.by_service_worker
    }

    /// Is to the page what `page`, which it answers, was to it.
    pub(super) fn take_place_of(&mut self, page: Self) {
        self.resource_type = page.resource_type;
        self.rank = page.rank;
        self.referer = page.referer;
        self.initiators = page.initiators;
        self.blocks_rendering = page.blocks_rendering;
    }

    /// Whether its body came bit by bit, as its server made it (WHATWG HTML, "Server-sent events").
    pub(super) fn is_stream(&self) -> bool {
        self.resource_type == "eventsource" || self.mime == "text/event-stream"
    }

    /// Reads entry `index` of a file.
    pub(super) fn read(index: usize, json: &str) -> Result<Self, HarError> {
        let mut reader = Reader { index, url: String::new() };
        let none = Value::Null;
        let value = reader.fields(json)?;
        let request = reader.object(&value, "request")?.unwrap_or(&none);
        let url = reader.text(request, "request.url")?.filter(|url| !url.is_empty());
        reader.url = url.ok_or_else(|| reader.wrong("request.url", "it is missing"))?;
        let response = reader.object(&value, "response")?.unwrap_or(&none);
        let content = reader.object(response, "response.content")?.unwrap_or(&none);
        let status_text = reader.text(response, "response.statusText")?.unwrap_or_default();
        let sent = reader.length(request, "request.headers")?;
        // Chrome writes 0 where it has not kept the body.
        let upload = reader.size(request, "request.bodySize")?.filter(|&size| size > 0).or(sent);
        let status = reader.number(response, "response.status")?.map(|status| status as i64);
        let is_redirect = status.is_some_and(|status| (300..400).contains(&status));
        let target = reader.text(response, "response.redirectURL")?.filter(|url| !url.is_empty());
        let method = reader.text(request, "request.method")?.unwrap_or_default();
        let resource_type = lower(reader.text(&value, "_resourceType")?);
        Ok(Self {
            index,
            is_preflight: resource_type == "preflight"
                || (method.eq_ignore_ascii_case("OPTIONS") && is_by_preflight(&value)),
            method,
            pageref: reader.text(&value, "pageref")?,
            started: reader.time_stamp(&value, "startedDateTime")?,
            time: reader.millis(&value, "time")?,
            timings: reader.timings(&value)?,
            status,
            answered_inside: status_text == "Internal Redirect"
                || header(response, "non-authoritative-reason").is_some(),
            from_cache: value
                .get("_fromCache")
                .is_some_and(|kept| !matches!(kept, Value::Null | Value::Bool(false))),
            by_service_worker: [response, &value].iter().any(|of| {
                of.get("_fetchedViaServiceWorker").and_then(Value::as_bool) == Some(true)
            }),
            mime: mime_of(
                reader
                    .text(content, "response.content.mimeType")?
                    .or(header(response, "content-type")),
            ),
            resource_type,
            rank: reader.text(&value, "_priority")?.unwrap_or_default(),
            referer: header(request, "referer"),
            redirect: target.or_else(|| header(response, "location")).filter(|_| is_redirect),
            initiators: initiators(value.get("_initiator")),
            upload: upload.unwrap_or(0),
            shared_connection: reader
                .connection(&value)?
                .filter(|number| !number.is_empty() && is_multiplexed(response)),
            is_multiplexed: is_multiplexed(response),
            blocks_rendering: match reader.text(&value, "_renderBlocking")?.as_deref() {
                Some("blocking") => Some(true),
                Some("non-blocking") => Some(false),
                _ => None,
            },
            cookies: cookie_bytes(request),
            asked: fields(request, |name| ASKED.contains(&name)),
            answered: fields(response, is_replayed),
            messages: value.get("_webSocketMessages").map(socket::messages),
            file: reader.text(content, "response.content._file")?.filter(|name| is_digest(name)),
            transfer_size: reader.size(response, "response._transferSize")?,
            body_size: reader.size(response, "response.bodySize")?,
            content_length: reader.length(response, "response.headers")?,
            content_size: reader.size(content, "response.content.size")?,
            url: reader.url,
        })
    }
}

/// Reads fields of one entry and knows whose fault a wrong one is. A field is named by its whole path.
struct Reader {
    index: usize,
    url: String,
}

/// The fields of an entry that are looked at.
const FIELDS: [&str; 14] = [
    "request",
    "response",
    "timings",
    "startedDateTime",
    "time",
    "pageref",
    "_resourceType",
    "_priority",
    "_fromCache",
    "_fetchedViaServiceWorker",
    "_webSocketMessages",
    "_renderBlocking",
    "connection",
    "_connectionId",
];

/// The fields of a request that change the answer to it.
const ASKED: [&str; 5] =
    ["content-type", "if-modified-since", "if-none-match", "if-range", "range"];

/// Whether a replay sends a recorded field of a response. What is of a connection, and what the replay's own server
/// says in its own words, it does not.
fn is_replayed(name: &str) -> bool {
    const OTHERS: [&str; 22] = [
        "accept-ranges",
        "age",
        "alt-svc",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "keep-alive",
        "nel",
        "proxy-authenticate",
        "proxy-connection",
        "report-to",
        "reporting-endpoints",
        "sec-websocket-accept",
        "sec-websocket-extensions",
        "server",
        "strict-transport-security",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    !OTHERS.contains(&name)
}

impl Reader {
    /// The entry's fields, each parsed apart: the stack in an `_initiator` may be nested deeper than the
    /// parser's limit, and is then as good as missing.
    fn fields(&self, json: &str) -> Result<Value, HarError> {
        let all: BTreeMap<String, &RawValue> =
            serde_json::from_str(json).map_err(|_| self.wrong("entry", "an object is expected"))?;
        let mut parsed = Map::new();
        for (name, text) in FIELDS.iter().filter_map(|&name| Some((name, all.get(name)?))) {
            let value = serde_json::from_str(text.get());
            let value = value.map_err(|error| self.wrong(name, &error.to_string()))?;
            parsed.insert(name.to_owned(), value);
        }
        let initiator =
            all.get("_initiator").and_then(|text| serde_json::from_str(text.get()).ok());
        parsed.insert("_initiator".to_owned(), initiator.unwrap_or(Value::Null));
        Ok(Value::Object(parsed))
    }

    /// What tells its connection from others. Chrome writes that as `_connectionId`. `connection` (HAR 1.2) may be the server's
    /// port, as in Chrome's and Firefox's files: that says nothing.
    fn connection(&self, entry: &Value) -> Result<Option<String>, HarError> {
        if let Some(id) = self.text(entry, "_connectionId")? {
            return Ok(Some(id));
        }
        let port = self.url.parse::<Url>().ok().map(|url| url.port().to_string());
        Ok(self.text(entry, "connection")?.filter(|id| Some(id) != port.as_ref()))
    }

    fn wrong(&self, field: &str, problem: &str) -> HarError {
        HarError::Entry {
            index: self.index,
            url: self.url.clone(),
            field: field.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn object<'v>(&self, of: &'v Value, field: &str) -> Result<Option<&'v Value>, HarError> {
        match of.get(last(field)) {
            None | Some(Value::Null) => Ok(None),
            Some(value) if value.is_object() => Ok(Some(value)),
            Some(_) => Err(self.wrong(field, "an object is expected")),
        }
    }

    fn text(&self, of: &Value, field: &str) -> Result<Option<String>, HarError> {
        match of.get(last(field)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(self.wrong(field, "a text is expected")),
        }
    }

    fn number(&self, of: &Value, field: &str) -> Result<Option<f64>, HarError> {
        match of.get(last(field)) {
            None | Some(Value::Null | Value::Bool(_)) => Ok(None),
            Some(Value::Number(number)) => Ok(number.as_f64().filter(|n| n.is_finite())),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => match text.trim().parse::<f64>() {
                Ok(number) => Ok(Some(number).filter(|n| n.is_finite())),
                Err(_) => Err(self.wrong(field, &format!("`{text}` is not a number"))),
            },
            Some(_) => Err(self.wrong(field, "a number is expected")),
        }
    }

    /// A size; -1 stands for unknown.
    fn size(&self, of: &Value, field: &str) -> Result<Option<u64>, HarError> {
        let size = self.number(of, field)?.filter(|&n| n >= 0.0);
        size.map(|size| self.checked_size(size, field)).transpose()
    }

    /// The Content-Length among the `headers` of a request or a response; one that is no number is none.
    fn length(&self, of: &Value, headers: &str) -> Result<Option<u64>, HarError> {
        let value = header(of, "content-length").unwrap_or_default();
        let digits = value.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let size = digits.parse::<f64>().ok().filter(|_| is_number);
        let field = format!("{headers} Content-Length");
        size.map(|size| self.checked_size(size, &field)).transpose()
    }

    fn checked_size(&self, size: f64, field: &str) -> Result<u64, HarError> {
        /// 1 TiB: what is said to be larger is a mistake that would only overflow sums.
        const LARGEST: f64 = (1_u64 << 40) as f64;
        match size > LARGEST {
            true => Err(self.wrong(field, "it is larger than 1 TiB")),
            false => Ok(size as u64),
        }
    }

    /// A span in ms; -1 stands for one that did not happen.
    fn millis(&self, of: &Value, field: &str) -> Result<Option<Duration>, HarError> {
        /// A day.
        const LONGEST: f64 = 86_400_000.0;
        let millis = self.number(of, field)?.filter(|&n| n >= 0.0);
        match millis {
            Some(n) if n > LONGEST => Err(self.wrong(field, "it is longer than a day")),
            millis => Ok(millis.map(|n| Duration::from_nanos((n * 1e6).round() as u64))),
        }
    }

    fn time_stamp(&self, of: &Value, field: &str) -> Result<Option<i64>, HarError> {
        match self.text(of, field)?.filter(|text| !text.trim().is_empty()) {
            None => Ok(None),
            Some(text) => match time::read(&text) {
                Some(at) => Ok(Some(at)),
                None => Err(self.wrong(field, &format!("`{text}` is not an ISO 8601 time stamp"))),
            },
        }
    }

    fn timings(&self, entry: &Value) -> Result<Timings, HarError> {
        let Some(timings) = self.object(entry, "timings")? else { return Ok(Timings::default()) };
        Ok(Timings {
            blocked: self.millis(timings, "timings.blocked")?,
            dns: self.millis(timings, "timings.dns")?,
            connect: self.millis(timings, "timings.connect")?,
            ssl: self.millis(timings, "timings.ssl")?,
            send: self.millis(timings, "timings.send")?,
            wait: self.millis(timings, "timings.wait")?,
            receive: self.millis(timings, "timings.receive")?,
        })
    }
}

fn last(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

fn lower(text: Option<String>) -> String {
    text.unwrap_or_default().trim().to_ascii_lowercase()
}

/// The media type without parameters, of characters that a header field may hold.
fn mime_of(text: Option<String>) -> String {
    let lower = lower(text);
    let bare = lower.split(';').next().unwrap_or("").trim();
    bare.chars().filter(char::is_ascii_graphic).collect()
}

/// Whether a response came over HTTP/2 or HTTP/3, as exporters write them.
fn is_multiplexed(response: &Value) -> bool {
    let version = lower(response.get("httpVersion").and_then(Value::as_str).map(str::to_owned));
    let number = version.trim_start_matches("http/").trim_start_matches('h');
    number.starts_with('2') || number.starts_with('3')
}

/// The fields of a head that `wanted` wants by their names in lower case, as far as they are ones.
fn fields(of: &Value, wanted: impl Fn(&str) -> bool) -> Vec<Field> {
    let headers = of.get("headers").and_then(Value::as_array).into_iter().flatten();
    let field = |header: &Value| {
        let (name, value) = (header.get("name")?.as_str()?, header.get("value")?.as_str()?);
        // Chromium joins the values of a field by line feeds.
        Some(value.split('\n').filter_map(|value| Field::new(name, value)).collect::<Vec<_>>())
    };
    headers.filter_map(field).flatten().filter(|field| wanted(&field.name)).collect()
}

/// Bytes of all values of the field `Cookie`.
fn cookie_bytes(request: &Value) -> u64 {
    fields(request, |name| name == "cookie").iter().map(|field| field.value.len() as u64).sum()
}

/// Whether a body's file has the name that `record` gives it: nothing else is opened.
fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn header(of: &Value, name: &str) -> Option<String> {
    let headers = of.get("headers")?.as_array()?;
    let named = |header: &&Value| {
        let own = header.get("name").and_then(Value::as_str);
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    Some(headers.iter().find(named)?.get("value")?.as_str()?.to_owned())
}

/// Whether the exporter says that the entry was made for another request (CORS).
fn is_by_preflight(entry: &Value) -> bool {
    entry.get("_initiator").and_then(|initiator| initiator.get("type"))
        == Some(&Value::from("preflight"))
}

/// The URLs that `_initiator` blames, the most direct first. Chrome writes an object: a script's is known
/// by the frames of its stack (and of the stacks that scheduled it), a parser's by `url`. WebPageTest
/// writes a URL.
fn initiators(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(url)) if !url.is_empty() => vec![url.clone()],
        Some(Value::Object(object)) => {
            let mut urls = Vec::new();
            let mut stack = object.get("stack");
            while let Some(frames) = stack {
                let frames_of = frames.get("callFrames").and_then(Value::as_array);
                let urls_of = frames_of.into_iter().flatten().filter_map(|frame| frame.get("url"));
                urls.extend(urls_of.filter_map(Value::as_str).map(str::to_owned));
                stack = frames.get("parent");
            }
            urls.extend(object.get("url").and_then(Value::as_str).map(str::to_owned));
            urls.retain(|url| !url.is_empty());
            urls.dedup();
            urls
        }
        _ => Vec::new(),
    }
}
