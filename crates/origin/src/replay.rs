//! Answers a browser from a recorded site. A browser runs the page's scripts, and may ask for other URLs than the recorded
//! ones: a nonce, a time. So a request is matched: by its URL; else by its path, to the recorded query that has most of its
//! parameters. What nothing matches gets 404. Each kind is counted.

use crate::answer::{self, Answer, Plan};
use crate::body::Body;
use crate::site::host_of;
use crate::streamed::{EvenBody, Streamed};
use crate::web_socket::Service;
use bytes::Bytes;
use page::{Method, Page, Resource};
use proto::{Fields, RequestHead, Status};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use unit::{Instant, Seed};

/// The longest list of requests that nothing matched.
const MOST_NAMED: usize = 8;

/// A recorded site, as browsers are answered from it.
pub struct Replay {
    hosts: BTreeMap<String, Vec<Recorded>>,
    contents: HashMap<String, Content>,
    tally: RefCell<ReplayTally>,
}

/// A body.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its bytes, as they are sent.
    pub bytes: Bytes,
    /// Their content coding, such as `gzip`.
    pub coding: Option<&'static str>,
}

/// How requests found their answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayTally {
    /// By their URLs.
    pub exact: u32,
    /// By the recorded query that is nearest to theirs.
    pub nearest: u32,
    /// Not at all.
    pub missed: u32,
    /// The first of those.
    pub named: Vec<String>,
    /// Answers whose recorded bodies are not there, and that have noise instead.
    pub without_body: u32,
    /// Recorded WebSockets that nobody has opened.
    pub sockets_missed: u32,
}

/// A recorded exchange.
struct Recorded {
    method: Method,
    path: String,
    query: String,
    resource: Resource,
    /// How often it has answered.
    used: RefCell<u32>,
}

impl Replay {
    /// That of `page`, with the bodies that are there by the names of their files.
    pub fn new(page: &Page, contents: HashMap<String, Content>) -> Self {
        let mut hosts: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
        for resource in page.resources() {
            let target = resource.recorded_path();
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            hosts.entry(resource.url.host.clone()).or_default().push(Recorded {
                method: resource.method,
                path: path.to_owned(),
                query: query.to_owned(),
                resource: resource.clone(),
                used: RefCell::new(0),
            });
        }
        Self { hosts, contents, tally: RefCell::new(ReplayTally::default()) }
    }

    /// How requests found their answers so far.
    pub fn tally(&self) -> ReplayTally {
        let all = self.hosts.values().flatten();
        let missed = all.filter(|one| one.resource.is_web_socket() && *one.used.borrow() == 0);
        ReplayTally { sockets_missed: missed.count() as u32, ..self.tally.borrow().clone() }
    }

    /// How to answer a request.
    pub(crate) fn plan(&self, now: Instant, request: &RequestHead) -> Plan {
        let mut tally = self.tally.borrow_mut();
        let Some((recorded, is_exact)) = self.find(request) else {
            // Browsers ask for an icon of their own accord.
            if !request.path.ends_with("/favicon.ico") {
                tally.missed += 1;
                if tally.named.len() < MOST_NAMED {
                    let RequestHead { method, authority, path, .. } = request;
                    tally.named.push(format!("{} {authority}{path}", method.as_str()));
                }
            }
            return Plan::Answer(Answer::text(answer::NOT_FOUND, "This is not in the recording."));
        };
        *if is_exact { &mut tally.exact } else { &mut tally.nearest } += 1;
        *recorded.used.borrow_mut() += 1;
        let resource = &recorded.resource;
        if let Some(messages) = &resource.answered.messages {
            return Plan::WebSocket(Service::Recorded(messages.as_slice().into()));
        }
        let answer = self.answer(resource, &mut tally);
        // What comes bit by bit has status 200.
        let is_whole = answer.status != Status::OK || request.method == proto::Method::Head;
        if let Some(span) = resource.answered.streamed.filter(|_| !is_whole) {
            return Plan::Stream(Box::new(Streamed::even(even(answer, now, span))));
        }
        let is_read = matches!(request.method, proto::Method::Get | proto::Method::Head);
        match is_read {
            true => Plan::Answer(answer),
            false => Plan::AnswerAfter(Box::new(answer)),
        }
    }

    fn answer(&self, resource: &Resource, tally: &mut ReplayTally) -> Answer {
        let mut fields = Fields::new();
        if !resource.content_type.is_empty() {
            fields.push(b"content-type", resource.content_type.as_bytes());
        }
        for field in &resource.answered.fields {
            fields.push(field.name.as_bytes(), field.value.as_bytes());
        }
        let content = resource.answered.file.as_ref().map(|file| self.contents.get(file.as_str()));
        let body = match content {
            Some(Some(content)) => {
                if let Some(coding) = content.coding {
                    fields.push(b"content-encoding", coding.as_bytes());
                }
                Body::Bytes(match resource.answered.streamed {
                    // As much as came until the load's end.
                    Some(_) => {
                        let until_end = usize::try_from(resource.body.0).unwrap_or(usize::MAX);
                        content.bytes.slice(..until_end.min(content.bytes.len()))
                    }
                    None => content.bytes.clone(),
                })
            }
            missing => {
                tally.without_body += u32::from(missing.is_some());
                let seed = Seed(0).child(&resource.url.path);
                Body::Noise { seed, left: 0..resource.body.0 }
            }
        };
        let status = Status::new(resource.status).unwrap_or(Status::OK);
        Answer { delay: resource.server_time, ..Answer::new(status, fields, body) }
    }

    /// The recorded exchange for a request, and whether its URL is the same.
    fn find(&self, request: &RequestHead) -> Option<(&Recorded, bool)> {
        let host = host_of(&request.authority).to_ascii_lowercase();
        let method = match &request.method {
            // RFC 8441 §4: what asks for a WebSocket is a CONNECT.
            proto::Method::Connect if request.protocol.is_some() => Method::Get,
            method => Method::of_name(method.as_str())?,
        };
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let of_path = self.hosts.get(&host)?.iter().filter(|one| {
            let has_method =
                one.method == method || (one.method, method) == (Method::Get, Method::Head);
            has_method && one.path == path
        });
        // The same URL may have answered differently: in their order, and then the last one again.
        let same = of_path.clone().filter(|one| one.query == query);
        let unused = same.clone().find(|one| *one.used.borrow() == 0);
        if let Some(exact) = unused.or_else(|| same.last()) {
            return Some((exact, true));
        }
        let nearness = |one: &&Recorded| {
            let (pairs, names) = alike(&one.query, query);
            (pairs, names, std::cmp::Reverse(*one.used.borrow()))
        };
        // Of equals the first.
        let nearest = of_path.rev().max_by_key(nearness)?;
        Some((nearest, false))
    }
}

/// The same answer over a span of time.
fn even(answer: Answer, now: Instant, span: Duration) -> EvenBody {
    let bytes = answer.body.left();
    let content = match answer.body {
        Body::Bytes(bytes) => bytes,
        _ => Bytes::new(),
    };
    let begin = now + answer.delay;
    EvenBody { fields: answer.fields, bytes, content, begin, span, sent: 0 }
}

/// How many parameters two queries have in common, and how many names of parameters.
fn alike(a: &str, b: &str) -> (usize, usize) {
    let pairs = |query: &str| -> Vec<String> { query.split('&').map(str::to_owned).collect() };
    let name = |pair: &String| pair.split('=').next().unwrap_or_default().to_owned();
    let (of_a, of_b) = (pairs(a), pairs(b));
    let same = of_a.iter().filter(|pair| of_b.contains(pair)).count();
    let names: Vec<String> = of_b.iter().map(name).collect();
    (same, of_a.iter().map(name).filter(|name| names.contains(name)).count())
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("tally", &self.tally).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::ResourceId;

    /// A page of these: method, URL, status.
    fn replay(exchanges: &[(&str, &str, u16)]) -> Replay {
        let resource = |(number, &(method, url, status)): (usize, &(&str, &str, u16))| {
            let url: page::Url = url.parse().unwrap();
            serde_json::json!({
                "url": {"scheme": "http", "host": url.host, "path": format!("/{number}")}, "method": method, "kind": "xhr",
                "status": status, "content_type": "", "body": 10, "server_time": 0, "release": "navigation",
                "think": 0, "hint": "none",
                "answered": {"recorded_path": url.path, "file": format!("file-{number}")},
            })
        };
        let resources: Vec<_> = exchanges.iter().enumerate().map(resource).collect();
        let resources = serde_json::from_value(serde_json::Value::Array(resources)).unwrap();
        let page = Page::new(ResourceId(0), resources).unwrap();
        let content = Content { bytes: Bytes::from_static(b"coded"), coding: Some("gzip") };
        Replay::new(&page, HashMap::from([("file-0".to_owned(), content)]))
    }

    fn ask(replay: &Replay, method: proto::Method, path: &str) -> (u16, u64) {
        let head =
            RequestHead { method, ..RequestHead::get(proto::Scheme::Https, "A.test:8443", path) };
        match replay.plan(Instant::ZERO, &head) {
            Plan::Answer(answer) => (answer.status.code(), answer.body.left()),
            Plan::AnswerAfter(answer) => (answer.status.code(), answer.body.left()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_finds_its_url_else_the_nearest_query_else_nothing_and_each_is_counted() {
        use proto::Method::{Get, Options, Post};
        let replay = replay(&[
            ("GET", "http://a.test/", 200),
            ("GET", "http://a.test/x?user=1&time=5", 201),
            ("GET", "http://a.test/x?user=2&time=5", 202),
            ("POST", "http://a.test/api", 203),
            ("OPTIONS", "http://a.test/api", 204),
        ]);
        assert_eq!(ask(&replay, Get, "/"), (200, 5), "the file");
        assert_eq!(
            ask(&replay, Get, "/x?user=2&time=5"),
            (202, 10),
            "noise, for its file is missing"
        );
        assert_eq!(ask(&replay, Get, "/x?user=2&time=77").0, 202);
        assert_eq!(ask(&replay, Get, "/x?user=1&time=88&more=1").0, 201);
        assert_eq!(ask(&replay, Post, "/api").0, 203);
        assert_eq!(ask(&replay, Options, "/api").0, 204);
        assert_eq!(ask(&replay, Get, "/api").0, 404);
        assert_eq!(ask(&replay, Get, "/favicon.ico").0, 404);
        let tally = replay.tally();
        assert_eq!((tally.exact, tally.nearest, tally.missed), (4, 2, 1));
        assert_eq!(tally.named, ["GET A.test:8443/api"]);
        assert_eq!(tally.without_body, 5);
    }

    #[test]
    fn a_stream_of_events_comes_over_its_time_with_the_bytes_that_came_until_the_loads_end() {
        let resources = serde_json::json!([{
            "url": {"scheme": "https", "host": "a.test", "path": "/"}, "kind": "xhr", "status": 200,
            "content_type": "text/event-stream",
            "body": 12, "server_time": 5_000_000, "release": "navigation", "think": 0, "hint": "none",
            "answered": {"streamed": 300_000_000, "file": "events"},
        }]);
        let resources = serde_json::from_value(resources).unwrap();
        let page = Page::new(ResourceId(0), resources).unwrap();
        let recorded = Bytes::from_static(b"data: one\n\ndata: after the load\n\n");
        let content = Content { bytes: recorded, coding: None };
        let replay = Replay::new(&page, HashMap::from([("events".to_owned(), content)]));
        let ask = |method: proto::Method| {
            let head =
                RequestHead { method, ..RequestHead::get(proto::Scheme::Https, "a.test", "/") };
            replay.plan(Instant::ZERO, &head)
        };
        let Plan::Stream(mut stream) = ask(proto::Method::Get) else { panic!("not bit by bit") };
        assert_eq!(stream.fields().find_str("content-type"), Some("text/event-stream"));
        let (mut last, mut all) = (Instant::ZERO, Vec::new());
        while let Some(due) = stream.due() {
            last = due;
            while let Some(piece) = stream.next(due, 1000) {
                all.extend_from_slice(&piece);
            }
        }
        assert_eq!(all, b"data: one\n\nd");
        assert_eq!(last, Instant::ZERO + Duration::from_millis(305));
        assert!(matches!(ask(proto::Method::Head), Plan::Answer(_)), "a head does not come so");
        assert_eq!(replay.tally().without_body, 0);
    }

    #[test]
    fn one_url_answers_in_the_recorded_order_and_its_last_answer_stays() {
        let replay = replay(&[("GET", "http://a.test/", 200), ("GET", "http://a.test/", 201)]);
        let all: Vec<u16> = (0..3).map(|_| ask(&replay, proto::Method::Get, "/").0).collect();
        assert_eq!(all, [200, 201, 201]);
    }
}
