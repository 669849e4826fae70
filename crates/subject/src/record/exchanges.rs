//! The exchanges of a page, from the events of the protocol's domain Network. The one rule: an event that lacks what it
//! should have changes nothing.

use super::{RecordedExchange, RecordedMessage, RecordedResponse, Timing};
use crate::tools::browser::Event;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// The exchanges so far.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    all: Vec<Open>,
    /// The last one of each of the protocol's identifiers: a redirect keeps its identifier.
    by_id: BTreeMap<String, usize>,
    /// Heads as they were on the wire, by the protocol's identifiers. They come from another process of the browser than the
    /// other events, before or after those that they belong to.
    heads: BTreeMap<String, Heads>,
    /// How far the wall clock is ahead of the protocol's, in seconds.
    ahead_s: Option<f64>,
}

/// An exchange with what is needed until it ends.
#[derive(Debug, Default)]
struct Open {
    id: String,
    issued_s: f64,
    exchange: RecordedExchange,
    /// Bytes on the wire until the response's head had come.
    head_bytes: u64,
    /// Bytes of the body without its content coding.
    decoded: u64,
    /// Bytes of the body as they came on the wire, as far as the browser tells.
    received: u64,
}

/// The heads of an identifier's requests and responses, in their order.
#[derive(Debug, Default)]
struct Heads {
    requests: VecDeque<Value>,
    /// With their statuses.
    responses: VecDeque<(u64, Value)>,
}

impl Exchanges {
    /// Takes an event. Gives the identifier of an exchange whose body can be read now.
    pub(super) fn take(&mut self, event: &Event) -> Option<String> {
        let (params, name) = (&event.params, event.method.strip_prefix("Network.")?);
        let id = params["requestId"].as_str()?;
        match name {
            "requestWillBeSent" => self.ask(id, params),
            "webSocketCreated" => self.create_socket(id, params),
            "requestWillBeSentExtraInfo" => {
                let heads = self.heads.entry(id.to_owned()).or_default();
                heads.requests.push_back(params["headers"].clone());
            }
            "responseReceivedExtraInfo" => {
                let heads = self.heads.entry(id.to_owned()).or_default();
                let status = params["statusCode"].as_u64().unwrap_or_default();
                heads.responses.push_back((status, params["headers"].clone()));
            }
            _ => {}
        }
        let at_s = params["timestamp"].as_f64().unwrap_or_default();
        let at = self.wall(at_s);
        let open = self.by_id.get(id).and_then(|place| self.all.get_mut(*place))?;
        match name {
            "requestServedFromCache" => {
                open.exchange.response.get_or_insert_default().from_cache = true;
            }
            "responseReceived" => open.respond(&params["response"]),
            "dataReceived" => {
                open.decoded += params["dataLength"].as_u64().unwrap_or(0);
                open.received += params["encodedDataLength"].as_u64().unwrap_or(0);
                open.exchange.came_until = at;
            }
            "loadingFinished" => {
                open.finish(params["encodedDataLength"].as_f64().unwrap_or(0.0) as u64);
                open.exchange.ended = at;
                return Some(id.to_owned());
            }
            "loadingFailed" => {
                open.cut();
                open.exchange.ended = at;
                let error = params["errorText"].as_str().unwrap_or("it failed");
                open.exchange.error = Some(error.to_owned());
            }
            "webSocketWillSendHandshakeRequest" => {
                open.issued_s = at_s;
                self.ahead_s = params["wallTime"].as_f64().map(|wall| wall - at_s).or(self.ahead_s);
                let started = self.wall(at_s).unwrap_or_default();
                let open = self.last(id)?;
                open.exchange.started = started;
                open.exchange.request_fields = fields(&params["request"]["headers"]);
            }
            "webSocketHandshakeResponseReceived" => {
                open.open_socket(&params["response"], at_s);
            }
            "webSocketFrameSent" | "webSocketFrameReceived" => {
                let is_sent = name == "webSocketFrameSent";
                open.exchange.messages.extend(message(at?, is_sent, &params["response"]));
            }
            "webSocketClosed" => open.exchange.ended = at,
            _ => {}
        }
        None
    }

    /// The body of an exchange.
    pub(super) fn set_body(&mut self, id: &str, body: Vec<u8>) {
        let Some(open) = self.last(id) else { return };
        // What was received and is empty is what the browser has not kept.
        let is_kept = open.decoded == 0 || !body.is_empty();
        if let Some(response) = open.exchange.response.as_mut().filter(|_| is_kept) {
            response.body = Some(body);
        }
    }

    /// Whether the body of an exchange is worth reading.
    pub(super) fn has_body(&self, id: &str) -> bool {
        let open = self.by_id.get(id).and_then(|place| self.all.get(*place));
        open.is_some_and(|open| {
            open.exchange.url.starts_with("http") && open.exchange.method != "HEAD"
        })
    }

    /// Why the document could not be had; None where it came, or may still come.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.document()?.exchange.error.as_deref().filter(|_| !self.has_document())
    }

    /// Whether an answer to the navigation has come.
    pub(super) fn has_document(&self) -> bool {
        self.document().is_some_and(|open| open.exchange.response.is_some())
    }

    /// The last exchange of the navigation, which may have been led elsewhere.
    fn document(&self) -> Option<&Open> {
        let first = self.all.first()?;
        self.by_id.get(&first.id).and_then(|place| self.all.get(*place))
    }

    /// Whether nothing is under way, but for what may stay open for ever.
    pub(super) fn is_idle(&self) -> bool {
        self.all.iter().all(|open| open.exchange.ended.is_some() || open.may_stay_open())
    }

    /// Whether an event, which was taken, tells that the page still loads. What may stay open for ever may also talk for ever.
    pub(super) fn is_loading(&self, event: &Event) -> bool {
        let id = event.params["requestId"].as_str();
        let open = id.and_then(|id| self.all.get(*self.by_id.get(id)?));
        event.method.starts_with("Network.") && !open.is_some_and(Open::may_stay_open)
    }

    /// A time of the protocol's clock, in seconds, as nanoseconds since 1970; None before a request joined the two clocks.
    pub(super) fn wall(&self, at_s: f64) -> Option<i64> {
        Some(((at_s + self.ahead_s?) * 1e9) as i64)
    }

    /// All of them.
    pub(super) fn finish(mut self) -> Vec<RecordedExchange> {
        self.settle_heads();
        self.all.iter_mut().filter(|open| open.exchange.ended.is_none()).for_each(Open::cut);
        self.all.into_iter().map(|open| open.exchange).collect()
    }

    /// Gives the exchanges their heads as they were on the wire: they have the cookies. What a cache answered has none.
    fn settle_heads(&mut self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for open in &self.all {
            *counts.entry(open.id.clone()).or_default() += 1;
        }
        for open in &mut self.all {
            let Some(heads) = self.heads.get_mut(&open.id) else { continue };
            let left = counts.entry(open.id.clone()).or_default();
            if heads.requests.len() == *left
                && let Some(head) = heads.requests.pop_front()
            {
                open.exchange.request_fields = fields(&head);
            }
            *left -= 1;
            let Some(response) = &mut open.exchange.response else { continue };
            let is_own = |(status, _): &&(u64, Value)| *status == u64::from(response.status);
            if heads.responses.front().filter(is_own).is_some()
                && let Some((_, head)) = heads.responses.pop_front()
            {
                response.fields = fields(&head);
            }
        }
    }

    fn last(&mut self, id: &str) -> Option<&mut Open> {
        self.by_id.get(id).and_then(|place| self.all.get_mut(*place))
    }

    fn ask(&mut self, id: &str, params: &Value) {
        let at_s = params["timestamp"].as_f64().unwrap_or_default();
        if let Some(wall_s) = params["wallTime"].as_f64() {
            self.ahead_s.get_or_insert(wall_s - at_s);
        }
        let started = self.wall(at_s).unwrap_or_default();
        let redirect = &params["redirectResponse"];
        if redirect.is_object()
            && let Some(open) = self.last(id)
        {
            open.respond(redirect);
            open.finish(redirect["encodedDataLength"].as_f64().unwrap_or(0.0) as u64);
            open.exchange.ended = Some(started);
        }
        let request = &params["request"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let exchange = RecordedExchange {
            url: text(&request["url"]),
            method: text(&request["method"]),
            started,
            kind: text(&params["type"]),
            priority: request["initialPriority"].as_str().map(str::to_owned),
            initiator: params["initiator"].clone(),
            request_fields: fields(&request["headers"]),
            upload: upload(request),
            ..RecordedExchange::default()
        };
        self.insert(Open { id: id.to_owned(), issued_s: at_s, exchange, ..Open::default() });
    }

    fn create_socket(&mut self, id: &str, params: &Value) {
        let exchange = RecordedExchange {
            url: params["url"].as_str().unwrap_or_default().to_owned(),
            method: "GET".to_owned(),
            kind: "WebSocket".to_owned(),
            initiator: params["initiator"].clone(),
            ..RecordedExchange::default()
        };
        self.insert(Open { id: id.to_owned(), exchange, ..Open::default() });
    }

    fn insert(&mut self, open: Open) {
        self.by_id.insert(open.id.clone(), self.all.len());
        self.all.push(open);
    }
}

impl Open {
    /// Whether the page is quiet although this goes on: a WebSocket, a stream of events, and what no network is asked for.
    fn may_stay_open(&self) -> bool {
        !self.exchange.url.starts_with("http") || self.exchange.kind == "EventSource"
    }

    fn respond(&mut self, response: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let was_cached = self.exchange.response.as_ref().is_some_and(|known| known.from_cache);
        self.head_bytes = response["encodedDataLength"].as_f64().unwrap_or(0.0).max(0.0) as u64;
        self.exchange.response = Some(RecordedResponse {
            status: status.unwrap_or(0),
            status_text: text(&response["statusText"]),
            protocol: text(&response["protocol"]),
            fields: fields(&response["headers"]),
            media_type: text(&response["mimeType"]),
            timing: Timing::read(&response["timing"], self.issued_s).unwrap_or_default(),
            connection: response["connectionId"].as_u64().filter(|number| *number > 0),
            address: response["remoteIPAddress"].as_str().map(str::to_owned),
            from_cache: was_cached || response["fromDiskCache"].as_bool() == Some(true),
            head_bytes: self.head_bytes,
            ..RecordedResponse::default()
        });
    }

    fn open_socket(&mut self, response: &Value, at_s: f64) {
        let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let wait = ((at_s - self.issued_s) * 1e3).max(0.0);
        self.exchange.response = Some(RecordedResponse {
            status: status.unwrap_or(0),
            status_text: response["statusText"].as_str().unwrap_or_default().to_owned(),
            protocol: "http/1.1".to_owned(),
            fields: fields(&response["headers"]),
            timing: Timing { wait, head: wait, ..Timing::default() },
            ..RecordedResponse::default()
        });
    }

    /// The response is whole, after so many bytes on the wire.
    fn finish(&mut self, encoded: u64) {
        let decoded = self.decoded;
        let Some(response) = &mut self.exchange.response else { return };
        let is_coded = is_coded(response);
        let length = field(response, "content-length").and_then(|length| length.parse().ok());
        // What is on the wire may be framed, and is the whole response's: it is the last resort.
        response.body_bytes = match (length, is_coded) {
            // Its Content-Length is that of another answer (RFC 9110 §9.3.2).
            _ if self.exchange.method == "HEAD" => 0,
            (Some(length), _) => length,
            (None, false) => decoded,
            (None, true) => encoded.saturating_sub(self.head_bytes),
        };
    }

    /// The response ends before it is whole, or goes on when the recording is over. What came of its body counts.
    fn cut(&mut self) {
        let Some(response) = &mut self.exchange.response else { return };
        response.body_bytes = match (is_coded(response), self.received) {
            (true, received @ 1..) => received,
            _ => self.decoded,
        };
    }
}

/// The value of a response's field.
fn field<'a>(response: &'a RecordedResponse, name: &str) -> Option<&'a str> {
    let mut all = response.fields.iter();
    all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn is_coded(response: &RecordedResponse) -> bool {
    field(response, "content-encoding").is_some_and(|coding| coding != "identity")
}

/// Fields as the protocol has them: an object whose values join those of one name by line feeds.
fn fields(headers: &Value) -> Vec<(String, String)> {
    let all = headers.as_object().into_iter().flatten();
    all.filter(|(name, _)| !name.starts_with(':'))
        .flat_map(|(name, value)| {
            let values = value.as_str().unwrap_or_default().split('\n');
            values.map(|value| (name.clone(), value.to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

/// Bytes of a request's body.
fn upload(request: &Value) -> u64 {
    use base64::Engine as _;
    let entries = request["postDataEntries"].as_array();
    let bytes = |entry: &Value| {
        let text = entry["bytes"].as_str().unwrap_or_default();
        base64::prelude::BASE64_STANDARD.decode(text).map_or(0, |bytes| bytes.len() as u64)
    };
    match entries {
        Some(entries) => entries.iter().map(bytes).sum(),
        None => request["postData"].as_str().map_or(0, |text| text.len() as u64),
    }
}

/// A frame that carries a message or a part of one.
fn message(at: i64, is_sent: bool, frame: &Value) -> Option<RecordedMessage> {
    let opcode = frame["opcode"].as_u64().and_then(|opcode| u8::try_from(opcode).ok())?;
    let data = frame["payloadData"].as_str()?.to_owned();
    matches!(opcode, 1 | 2).then_some(RecordedMessage { at, is_sent, opcode, data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn taken(events: &[(&str, Value)]) -> (Vec<RecordedExchange>, Vec<String>) {
        let mut exchanges = Exchanges::default();
        let mut whole = Vec::new();
        for (name, params) in events {
            let event = Event { method: format!("Network.{name}"), params: params.clone() };
            whole.extend(exchanges.take(&event));
        }
        (exchanges.finish(), whole)
    }

    fn asked(url: &str, at: f64) -> Value {
        json!({"requestId": "1", "timestamp": at, "wallTime": 1000.0 + at, "type": "Document",
            "request": {"url": url, "method": "GET", "headers": {"A": "b"}, "initialPriority": "VeryHigh"},
            "initiator": {"type": "other"}})
    }

    #[test]
    fn a_redirect_is_an_exchange_of_its_own_before_the_one_that_it_leads_to() {
        let mut second = asked("http://b.test/", 1.5);
        second["redirectResponse"] = json!({"status": 302, "headers": {"Location": "http://b.test/"}, "encodedDataLength": 90});
        let (all, whole) = taken(&[
            ("requestWillBeSent", asked("http://a.test/", 1.0)),
            ("requestWillBeSent", second),
            (
                "responseReceived",
                json!({"requestId": "1", "timestamp": 1.7, "response": {"status": 200,
                "headers": {"Content-Encoding": "gzip"}, "mimeType": "text/html", "encodedDataLength": 100}}),
            ),
            ("dataReceived", json!({"requestId": "1", "timestamp": 1.7, "dataLength": 900})),
            (
                "loadingFinished",
                json!({"requestId": "1", "timestamp": 2.0, "encodedDataLength": 400}),
            ),
        ]);
        assert_eq!(whole, ["1"]);
        let [first, second] = &all[..] else { panic!("{all:?}") };
        assert_eq!(first.response.as_ref().map(|answer| answer.status), Some(302));
        assert_eq!(first.ended, Some(1_001_500_000_000));
        assert_eq!(
            (second.url.as_str(), second.ended),
            ("http://b.test/", Some(1_002_000_000_000))
        );
        assert_eq!(second.response.as_ref().map(|answer| answer.body_bytes), Some(300));
    }

    #[test]
    fn heads_on_the_wire_belong_to_their_own_exchange_however_early_they_come() {
        let head = |status: u64, to: &str| json!({"requestId": "1", "statusCode": status, "headers": {"Location": to}});
        let mut second = asked("http://b.test/", 1.5);
        second["redirectResponse"] = json!({"status": 302, "headers": {}, "encodedDataLength": 90});
        let (all, _) = taken(&[
            ("requestWillBeSent", asked("http://a.test/", 1.0)),
            ("responseReceivedExtraInfo", head(302, "there")),
            ("responseReceivedExtraInfo", head(200, "nowhere")),
            ("requestWillBeSent", second),
            (
                "responseReceived",
                json!({"requestId": "1", "timestamp": 1.7, "response": {"status": 200, "headers": {}}}),
            ),
        ]);
        let location = |one: &RecordedExchange| one.response.as_ref().unwrap().fields[0].1.clone();
        assert_eq!(all.iter().map(location).collect::<Vec<_>>(), ["there", "nowhere"]);
    }

    #[test]
    fn a_web_socket_has_its_messages_and_no_end_of_its_own() {
        let frame = |data: &str, opcode: u8, at: f64| json!({"requestId": "7", "timestamp": at, "response": {"opcode": opcode, "payloadData": data}});
        let (all, _) = taken(&[
            (
                "webSocketCreated",
                json!({"requestId": "7", "url": "ws://c.test/chat", "initiator": {"type": "script"}}),
            ),
            (
                "webSocketWillSendHandshakeRequest",
                json!({"requestId": "7", "timestamp": 2.0, "wallTime": 1002.0, "request": {"headers": {}}}),
            ),
            (
                "webSocketHandshakeResponseReceived",
                json!({"requestId": "7", "timestamp": 2.25, "response": {"status": 101, "headers": {}}}),
            ),
            ("webSocketFrameSent", frame("hello", 1, 2.5)),
            ("webSocketFrameReceived", frame("", 9, 2.6)),
            ("webSocketFrameReceived", frame("AP8=", 2, 2.75)),
        ]);
        let socket = &all[0];
        assert_eq!((socket.started, socket.ended), (1_002_000_000_000, None));
        assert_eq!(socket.messages.len(), 2, "{:?}", socket.messages);
        assert_eq!((socket.messages[1].opcode, socket.messages[1].is_sent), (2, false));
        assert_eq!(socket.response.as_ref().map(|answer| answer.timing.wait.round()), Some(250.0));
    }

    #[test]
    fn a_web_socket_and_a_stream_of_events_that_talk_leave_the_page_quiet() {
        let mut exchanges = Exchanges::default();
        let mut is_loading = |name: &str, id: &str, more: Value| {
            let mut params = more;
            params["requestId"] = json!(id);
            let event = Event { method: format!("Network.{name}"), params };
            exchanges.take(&event);
            exchanges.is_loading(&event)
        };
        let request = |url: &str, kind: &str| json!({"timestamp": 1.0, "wallTime": 1001.0, "type": kind, "request": {"url": url}});
        assert!(is_loading("requestWillBeSent", "1", request("http://a.test/", "Document")));
        assert!(is_loading("dataReceived", "1", json!({"dataLength": 9})));
        is_loading("requestWillBeSent", "2", request("http://a.test/events", "EventSource"));
        is_loading("webSocketCreated", "3", json!({"url": "ws://a.test/chat"}));
        for (name, id) in [
            ("dataReceived", "2"),
            ("eventSourceMessageReceived", "2"),
            ("webSocketFrameReceived", "3"),
            ("webSocketFrameSent", "3"),
        ] {
            assert!(!is_loading(name, id, json!({"timestamp": 2.0})), "{name}");
        }
        assert!(!exchanges.is_idle(), "the document goes on");
    }

    #[test]
    fn a_response_that_is_cut_has_the_bytes_that_came() {
        let begun = |coding: &str| {
            vec![
                ("requestWillBeSent", asked("http://a.test/", 1.0)),
                (
                    "responseReceived",
                    json!({"requestId": "1", "timestamp": 1.7, "response": {"status": 200,
                    "headers": {"Content-Length": "5000", "Content-Encoding": coding}}}),
                ),
                (
                    "dataReceived",
                    json!({"requestId": "1", "timestamp": 2.0, "dataLength": 900, "encodedDataLength": 300}),
                ),
                (
                    "dataReceived",
                    json!({"requestId": "1", "timestamp": 2.5, "dataLength": 90, "encodedDataLength": 30}),
                ),
            ]
        };
        let failed = (
            "loadingFailed",
            json!({"requestId": "1", "timestamp": 2.8, "errorText": "net::ERR_ABORTED"}),
        );
        for (coding, bytes) in [("identity", 990), ("gzip", 330)] {
            let cancelled = [begun(coding), vec![failed.clone()]].concat();
            for events in [begun(coding), cancelled] {
                let (all, _) = taken(&events);
                assert_eq!(all[0].response.as_ref().unwrap().body_bytes, bytes, "{events:?}");
                assert_eq!(all[0].came_until, Some(1_002_500_000_000));
                assert!(all[0].is_cut());
            }
        }
    }

    #[test]
    fn an_answer_to_head_has_no_body_and_is_whole_however_it_ends() {
        let mut head = asked("http://a.test/big.zip", 1.0);
        head["request"]["method"] = json!("HEAD");
        let came = json!({"requestId": "1", "timestamp": 1.7, "response": {"status": 200, "headers": {"Content-Length": "5000"}}});
        for (end, said) in [("loadingFailed", "net::ERR_ABORTED"), ("loadingFinished", "")] {
            let (all, _) = taken(&[
                ("requestWillBeSent", head.clone()),
                ("responseReceived", came.clone()),
                (end, json!({"requestId": "1", "timestamp": 1.8, "errorText": said})),
            ]);
            assert_eq!(all[0].response.as_ref().unwrap().body_bytes, 0, "{end}");
            assert!(!all[0].is_cut(), "{end}");
        }
    }

    #[test]
    fn the_fields_are_those_on_the_wire_and_each_cookie_is_one() {
        let (all, _) = taken(&[
            ("requestWillBeSent", asked("http://a.test/", 1.0)),
            (
                "responseReceivedExtraInfo",
                json!({"requestId": "1", "statusCode": 200, "headers": {"Set-Cookie": "a=1\nb=2", ":status": "200"}}),
            ),
            (
                "responseReceived",
                json!({"requestId": "1", "timestamp": 1.7, "response": {"status": 200, "headers": {}}}),
            ),
            (
                "loadingFailed",
                json!({"requestId": "1", "timestamp": 1.8, "errorText": "net::ERR_ABORTED"}),
            ),
        ]);
        let answer = all[0].response.as_ref().unwrap();
        assert_eq!(answer.fields.len(), 2, "{:?}", answer.fields);
        assert_eq!(all[0].error.as_deref(), Some("net::ERR_ABORTED"));
    }
}
