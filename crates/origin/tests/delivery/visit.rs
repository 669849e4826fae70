//! A browser's connection to an origin, byte for byte, without sockets.

use bytes::Bytes;
use endpoint::{Accepted, EndPoint, SendBuf, SocketId};
use origin::{
    AccessLog, AccessRecord, DeliveryLog, DeliveryPolicy, ExchangeEnd, File, FileFacts, Files,
    FilesError, Found, ListenerKind, NotPushed, Origin, OriginConfig, Parts, SkippedPush,
    WallClock,
};
use proto::schedule::{Policy, RoundRobin};
use proto::{
    ByteStreamConnection, ClientConnection, Error, Event, Fin, RequestHead, Scheme, StreamId, h2,
    spdy,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use trace::{DeliveryRecord, Tracer};
use transport::Protocol;
use unit::Instant;
use wire::golomb::BadSet;

const START: Instant = Instant::from_nanos(1_000_000_000);

/// Bytes of each file but the page.
pub(crate) const SIZE: usize = 20_000;

/// A page with a style, a script, a font and two pictures.
struct Memory;

struct Held(usize);

/// A document that names what it loads.
struct Html;

impl Html {
    const TEXT: &str = "<!doctype html><link rel=stylesheet href=style.css>\
        <script src=/app.js></script><script async src=/late.js></script>\
        <link rel=preload as=font crossorigin href=font.woff2><link rel=stylesheet href=//b.test/far.css>\
        <link rel=stylesheet href=/missing.css><img src=a.png><img src=b.png>";
}

impl File for Html {
    fn facts(&self) -> FileFacts {
        FileFacts { length: Self::TEXT.len() as u64, modified: 0, modified_nanos: 0, identity: 2 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        let text = Bytes::from_static(Self::TEXT.as_bytes());
        let start = (offset as usize).min(text.len());
        Some(text.slice(start..(start + length).min(text.len())))
    }
}

impl Files for Memory {
    fn find(&self, _: Instant, path: &str) -> Result<Found, FilesError> {
        match path {
            "page.html" => Ok(Found::File(Rc::new(Html))),
            "index.html" => Ok(Found::File(Rc::new(Held(2 * SIZE)))),
            "style.css" | "app.js" | "font.woff2" | "a.png" | "b.png" | "sub/style.css" => {
                Ok(Found::File(Rc::new(Held(SIZE))))
            }
            "" | "sub" => Ok(Found::Folder),
            _ => Err(FilesError::NotFound),
        }
    }
}

impl File for Held {
    fn facts(&self) -> FileFacts {
        FileFacts { length: self.0 as u64, modified: 0, modified_nanos: 0, identity: 1 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        let length = length.min(self.0.saturating_sub(offset as usize));
        Some(Bytes::from(vec![b'x'; length]))
    }
}

/// What the origin recorded of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) connection: u64,
    pub(crate) path: String,
    pub(crate) sent: u64,
    pub(crate) end: ExchangeEnd,
    pub(crate) pushed_with: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) records: RefCell<Vec<Record>>,
    pub(crate) skipped: RefCell<Vec<(String, NotPushed)>>,
    /// Connections that ended by an error, and which.
    pub(crate) errors: RefCell<Vec<(u64, String)>>,
    /// Cookies and fields that could not be read, and why.
    pub(crate) unreadable: RefCell<Vec<(String, BadSet)>>,
}

impl AccessLog for Log {
    fn record(&self, record: &AccessRecord<'_>) {
        self.records.borrow_mut().push(Record {
            connection: record.connection,
            path: record.path.to_owned(),
            sent: record.sent_bytes,
            end: record.end,
            pushed_with: record.pushed_with,
        });
    }

    fn ended_by_error(&self, connection: u64, error: &Error) {
        self.errors.borrow_mut().push((connection, error.to_string()));
    }

    fn unreadable(&self, _: u64, name: &str, why: BadSet) {
        self.unreadable.borrow_mut().push((name.to_owned(), why));
    }

    fn not_pushed(&self, skipped: &SkippedPush<'_>) {
        self.skipped.borrow_mut().push((skipped.target.to_owned(), skipped.why));
    }
}

/// What a client was told of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) path: String,
    /// The request that it was promised with; None for one that was made.
    pub(crate) promised_with: Option<StreamId>,
    /// `Link` fields of informational responses, with the time since the request.
    pub(crate) hints: Vec<(String, Duration)>,
    pub(crate) status: u16,
    pub(crate) links: Vec<String>,
    pub(crate) cookie: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) body: usize,
    pub(crate) is_whole: bool,
}

/// A client with one connection to the origin.
pub(crate) struct Visit<'o, C> {
    origin: &'o mut Origin,
    client: C,
    socket: SocketId,
    now: Instant,
    pub(crate) responses: BTreeMap<StreamId, Response>,
    /// The paths whose DATA frames came, in order, each run once.
    pub(crate) order: Vec<String>,
    /// Promises of these paths are refused.
    pub(crate) refuse: Vec<&'static str>,
}

/// An origin with this policy, and its log.
pub(crate) fn origin(priorities: Policy, delivery: DeliveryPolicy) -> (Origin, Rc<Log>) {
    thread(&config(priorities, delivery))
}

/// One of the threads of a server with this configuration, and its log.
pub(crate) fn thread(config: &OriginConfig) -> (Origin, Rc<Log>) {
    let log = Rc::new(Log::default());
    let parts = Parts { files: Some(Box::new(Memory)), log: Some(log.clone()), ..Parts::default() };
    (Origin::new(config.clone(), parts), log)
}

/// The configuration of a server with this policy.
pub(crate) fn config(priorities: Policy, delivery: DeliveryPolicy) -> OriginConfig {
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(784_111_777) };
    OriginConfig {
        priorities,
        delivery: Some(Arc::new(delivery)),
        protocols: vec![Protocol::Http2, Protocol::Spdy31, Protocol::Http1],
        ..OriginConfig::new(vec![ListenerKind::Clear], wall_clock)
    }
}

/// The same with a delivery log, whose records come at the end of the visit.
pub(crate) fn logging_origin(
    priorities: Policy,
    delivery: DeliveryPolicy,
) -> (Origin, Rc<RefCell<Vec<DeliveryRecord>>>) {
    let records = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&records);
    let keep = move |record| kept.borrow_mut().push(record);
    let log = Rc::new(DeliveryLog::new(priorities, Box::new(keep)));
    let tracer = Tracer::to(log.clone());
    let parts = Parts { files: Some(Box::new(Memory)), log: Some(log), tracer, ..Parts::default() };
    (Origin::new(config(priorities, delivery), parts), records)
}

/// An HTTP/2 client that takes pushes.
pub(crate) fn taking() -> h2::Client {
    let settings = h2::Settings { enable_push: true, ..h2::Settings::client() };
    h2::Client::new(START, settings, Box::new(RoundRobin::default()), Tracer::off())
}

/// One that does not.
pub(crate) fn refusing() -> h2::Client {
    let turns = Box::new(RoundRobin::default());
    h2::Client::new(START, h2::Settings::client(), turns, Tracer::off())
}

/// A SPDY client that takes pushes.
pub(crate) fn spdy() -> spdy::Client {
    let settings =
        spdy::Settings { enable_push: true, ..spdy::Settings::client(spdy::Version::V3_1) };
    spdy::Client::new(START, settings, Box::new(RoundRobin::default()), Tracer::off())
}

impl<'o, C: ClientConnection + ByteStreamConnection> Visit<'o, C> {
    pub(crate) fn new(origin: &'o mut Origin, client: C) -> Self {
        let any = ([127, 0, 0, 1], 80).into();
        let accepted = Accepted { listener: 0, local: any, remote: any };
        let socket = origin.handle_accepted(START, accepted).unwrap();
        let (responses, order, refuse) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { origin, client, socket, now: START, responses, order, refuse }
    }

    /// Requests a path, with a cookie where there is one.
    pub(crate) fn ask(&mut self, path: &str, cookie: Option<&str>) -> StreamId {
        let fields = cookie.map(|cookie| ("cookie", cookie));
        self.ask_with(path, fields.as_slice())
    }

    /// Requests a path with these fields.
    pub(crate) fn ask_with(&mut self, path: &str, fields: &[(&str, &str)]) -> StreamId {
        let mut head = RequestHead::get(Scheme::Http, "a.test", path);
        for (name, value) in fields {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        let stream = self.client.request(self.now, &head, Fin::Last).unwrap();
        let response = Response { path: path.to_owned(), ..Response::default() };
        self.responses.insert(stream, response);
        stream
    }

    /// Hands the origin bytes that no client of ours would send.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.origin.handle_bytes(self.now, self.socket, bytes);
    }

    /// Carries bytes both ways, a frame at a time, until none are left.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut out = SendBuf::new();
            self.client.poll_transmit(self.now, &mut out, 1 << 20);
            if !out.is_empty() {
                self.origin.handle_bytes(self.now, self.socket, &out.to_vec());
            }
            let mut back = SendBuf::new();
            self.origin.poll_transmit(self.now, self.socket, &mut back, 1_000);
            self.hear(&back.to_vec());
            if out.is_empty() && back.is_empty() {
                return;
            }
        }
    }

    /// The same, after a while.
    pub(crate) fn settle_after(&mut self, span: Duration) {
        self.now += span;
        self.origin.handle_timeout(self.now);
        self.settle();
    }

    /// Requests a path and takes all that comes of it.
    pub(crate) fn view(&mut self, path: &str, cookie: Option<&str>) -> Response {
        let fields = cookie.map(|cookie| ("cookie", cookie));
        self.view_with(path, fields.as_slice())
    }

    /// The same with these fields.
    pub(crate) fn view_with(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let stream = self.ask_with(path, fields);
        self.settle();
        self.responses[&stream].clone()
    }

    /// The paths that were pushed, in order of their promises.
    pub(crate) fn pushed(&self) -> Vec<&str> {
        let pushed = self.responses.values().filter(|response| response.promised_with.is_some());
        pushed.map(|response| response.path.as_str()).collect()
    }

    /// The runs of DATA in the order of their first bytes.
    pub(crate) fn first_bytes(&self) -> Vec<&str> {
        let mut first: Vec<&str> = Vec::new();
        for path in &self.order {
            if !first.contains(&path.as_str()) {
                first.push(path);
            }
        }
        first
    }

    fn hear(&mut self, mut bytes: &[u8]) {
        while let Some(event) = self.client.handle_bytes(self.now, &mut bytes) {
            let all = |head: &proto::ResponseHead, name: &[u8]| -> Vec<String> {
                let values = head.fields.all(name);
                values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
            };
            match event {
                Event::Promise { parent, stream, head } => {
                    if self.refuse.contains(&head.path.as_str()) {
                        self.client.reset(self.now, stream);
                        continue;
                    }
                    let promised_with = Some(parent);
                    let response =
                        Response { path: head.path, promised_with, ..Response::default() };
                    self.responses.insert(stream, response);
                }
                Event::Informational { stream, head } => {
                    assert_eq!(head.status.code(), 103);
                    let since = self.now.since(START);
                    let hints = all(&head, b"link").into_iter().map(|link| (link, since));
                    self.responses.get_mut(&stream).unwrap().hints.extend(hints);
                }
                Event::Response { stream, head, fin } => {
                    let response = self.responses.get_mut(&stream).unwrap();
                    response.status = head.status.code();
                    response.links = all(&head, b"link");
                    response.cookie = all(&head, b"set-cookie").pop();
                    response.etag = all(&head, b"etag").pop();
                    response.is_whole = fin == Fin::Last;
                }
                Event::Data { stream, data, fin } => {
                    let response = self.responses.get_mut(&stream).unwrap();
                    response.body += data.len();
                    response.is_whole |= fin == Fin::Last;
                    if !data.is_empty() && self.order.last() != Some(&response.path) {
                        self.order.push(response.path.clone());
                    }
                    let length = data.len();
                    self.client.consume(stream, length);
                }
                Event::Closed { error } => panic!("{error:?}"),
                _ => {}
            }
        }
    }
}
