//! The origin without sockets, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketId};
use origin::{
    AccessLog, AccessRecord, ExchangeEnd, Limits, ListenerKind, Origin, OriginConfig, Parts,
    Policy, WallClock,
};
use proto::{Fields, RequestHead, ResponseHead, Status};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use unit::Instant;

const ROOM: usize = 16 * 1024;

struct Bench {
    now: Instant,
    origin: Origin,
    actions: Vec<Action>,
}

impl Bench {
    fn new(limits: Limits, parts: Parts) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let wall_clock = WallClock { at: now, unix: Duration::from_secs(784_111_777) };
        let config =
            OriginConfig { limits, ..OriginConfig::new(vec![ListenerKind::Clear], wall_clock) };
        Self { now, origin: Origin::new(config, parts), actions: Vec::new() }
    }

    fn accept(&mut self) -> Option<SocketId> {
        let any = ([127, 0, 0, 1], 80).into();
        let socket = self
            .origin
            .handle_accepted(self.now, Accepted { listener: 0, local: any, remote: any });
        self.act();
        socket
    }

    fn say(&mut self, socket: SocketId, text: &str) {
        self.origin.handle_bytes(self.now, socket, text.as_bytes());
        self.act();
    }

    /// All that the origin sends now, where the peer takes everything.
    fn hear(&mut self, socket: SocketId) -> String {
        let mut out = SendBuf::new();
        loop {
            let before = out.len();
            self.origin.poll_transmit(self.now, socket, &mut out, ROOM);
            self.act();
            if out.len() == before {
                return String::from_utf8_lossy(&out.to_vec()).into_owned();
            }
        }
    }

    /// Lets time pass, with every time-out when it is due.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.origin.poll_timeout().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.origin.handle_timeout(self.now);
            self.act();
        }
        self.now = end;
    }

    fn act(&mut self) {
        self.actions.extend(std::iter::from_fn(|| self.origin.poll_action()));
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

#[derive(Default)]
struct Ends(RefCell<Vec<(String, ExchangeEnd, Duration, Duration)>>);

impl AccessLog for Ends {
    fn record(&self, record: &AccessRecord<'_>) {
        let answered = record.answered.map_or(Duration::MAX, |at| at.since(record.received));
        let finished = record.finished.since(record.received);
        self.0.borrow_mut().push((record.path.to_owned(), record.end, answered, finished));
    }
}

#[test]
fn an_answer_waits_for_its_server_time_and_for_nothing_else() {
    let log = Rc::new(Ends::default());
    let mut bench =
        Bench::new(Limits::default(), Parts { log: Some(log.clone()), ..Parts::default() });
    let socket = bench.accept().unwrap();
    let path = "/image/1?bytes=3&delay_ms=250";
    bench.say(socket, &get(path));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_micros(249_999));
    assert_eq!(bench.hear(socket), "");
    bench.wait(Duration::from_micros(1));
    assert_eq!(bench.take_actions(), [Action::Transmit(socket)]);
    assert!(bench.hear(socket).starts_with("HTTP/1.1 200 OK\r\n"));
    let delay = Duration::from_millis(250);
    assert_eq!(*log.0.borrow(), [(path.to_owned(), ExchangeEnd::Done, delay, delay)]);
}

#[test]
fn an_api_answer_is_of_the_size_asked_for_and_the_same_each_time() {
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let socket = bench.accept().unwrap();
    let mut ask = |path: &str| {
        bench.say(socket, &get(path));
        let answer = bench.hear(socket);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (
            head.lines().next().unwrap().to_owned(),
            head.contains("content-length: 7"),
            body.to_owned(),
        )
    };
    let first = ask("/api?call=1&bytes=7");
    assert_eq!((first.0.as_str(), first.1), ("HTTP/1.1 200 OK", true));
    assert_eq!(ask("/api?call=1&bytes=7"), first);
    assert_ne!(ask("/api?call=2&bytes=7").2, first.2);
    assert_eq!(ask("/api").2, "");
    assert_eq!(ask("/api?bytes=99999999999").0, "HTTP/1.1 400 Bad Request");
}

#[test]
fn a_long_thought_is_no_silence_that_ends_a_connection() {
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let socket = bench.accept().unwrap();
    bench.say(socket, &get("/image/1?bytes=3&delay_ms=600000"));
    bench.wait(Duration::from_secs(599));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_secs(1));
    assert!(bench.hear(socket).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn silence_ends_a_connection_at_its_limit() {
    let limits = Limits::default();
    let mut bench = Bench::new(limits, Parts::default());
    let socket = bench.accept().unwrap();
    bench.wait(limits.idle - Duration::from_nanos(1));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_nanos(1));
    assert_eq!(bench.take_actions(), [Action::Close(socket)]);
    assert_eq!(bench.origin.connections(), 0);
}

#[test]
fn a_peer_that_takes_nothing_is_reset_and_its_exchange_logged_as_cut_off() {
    let limits = Limits::default();
    let log = Rc::new(Ends::default());
    let mut bench = Bench::new(limits, Parts { log: Some(log.clone()), ..Parts::default() });
    let socket = bench.accept().unwrap();
    bench.say(socket, &get("/image/1?bytes=10000000"));
    bench.take_actions();
    bench.wait(limits.stall);
    assert_eq!(bench.take_actions().last(), Some(&Action::Abort(socket)));
    assert_eq!(log.0.borrow()[0].1, ExchangeEnd::CutOff);
}

#[test]
fn connections_beyond_the_limit_are_refused_until_one_is_gone() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let mut bench = Bench::new(limits, Parts::default());
    let first = bench.accept().unwrap();
    assert!(bench.accept().is_some());
    assert_eq!(bench.accept(), None);
    bench.origin.handle_error(bench.now, first, endpoint::SocketError::Reset);
    assert_eq!(bench.accept(), Some(first), "numbers are used again");
}

#[test]
fn a_stop_closes_idle_connections_and_waits_for_the_others() {
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let (silent, idle, busy) =
        (bench.accept().unwrap(), bench.accept().unwrap(), bench.accept().unwrap());
    bench.say(idle, &get("/image/1?bytes=3"));
    bench.hear(idle);
    bench.say(busy, &get("/image/1?bytes=3&delay_ms=1000"));
    bench.take_actions();
    bench.origin.handle_stop(bench.now);
    bench.act();
    assert_eq!(bench.take_actions(), [Action::Close(silent), Action::Close(idle)]);
    bench.wait(Duration::from_secs(1));
    assert!(bench.hear(busy).contains("\r\nconnection: close\r\n"));
    let last = bench.take_actions();
    assert_eq!(last[last.len() - 2..], [Action::Close(busy), Action::Finish]);
}

#[test]
fn a_second_stop_is_a_stop_at_once() {
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let socket = bench.accept().unwrap();
    bench.say(socket, &get("/image/1?bytes=3&delay_ms=1000"));
    bench.take_actions();
    for _ in 0..2 {
        bench.origin.handle_stop(bench.now);
    }
    bench.act();
    assert_eq!(bench.take_actions(), [Action::Abort(socket), Action::Finish]);
}

#[test]
fn bytes_cut_anywhere_are_answered_alike() {
    let request = get("/image/1?bytes=3") + &get("/nothing");
    let whole = {
        let mut bench = Bench::new(Limits::default(), Parts::default());
        let socket = bench.accept().unwrap();
        bench.say(socket, &request);
        bench.hear(socket)
    };
    assert!(whole.contains("200 OK") && whole.contains("404 Not Found"));
    for cut in 0..request.len() {
        let mut bench = Bench::new(Limits::default(), Parts::default());
        let socket = bench.accept().unwrap();
        bench.say(socket, &request[..cut]);
        bench.say(socket, &request[cut..]);
        assert_eq!(bench.hear(socket), whole, "cut at {cut}");
    }
}

#[test]
fn what_a_policy_says_comes_before_the_answer() {
    struct Hints;
    impl Policy for Hints {
        fn inform(&self, _request: &RequestHead) -> Vec<ResponseHead> {
            let fields = Fields::new().with("link", "</a.css>; rel=preload");
            Status::new(103).map(|status| ResponseHead { status, fields }).into_iter().collect()
        }
    }
    let parts = Parts { policy: Some(Box::new(Hints)), ..Parts::default() };
    let mut bench = Bench::new(Limits::default(), parts);
    let socket = bench.accept().unwrap();
    bench.say(socket, &get("/image/1?bytes=3&delay_ms=10"));
    let hints = bench.hear(socket);
    assert!(hints.starts_with("HTTP/1.1 103 Early Hints\r\nlink: </a.css>"), "{hints}");
    bench.wait(Duration::from_millis(10));
    assert!(bench.hear(socket).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_recorded_page_is_answered_by_host_path_and_server_time() {
    let table = r#"{"hosts":{"cdn.test":{"/x?y=1":{"body":5,"server_time":20000000,"content_type":"font/woff2","requests":1}}}}"#;
    let table: page::Table = serde_json::from_str(table).unwrap();
    let now = Instant::from_nanos(1);
    let wall_clock = WallClock { at: now, unix: Duration::ZERO };
    let config = OriginConfig {
        table: Some(table.into()),
        ..OriginConfig::new(vec![ListenerKind::Clear], wall_clock)
    };
    let mut bench =
        Bench { now, origin: Origin::new(config, Parts::default()), actions: Vec::new() };
    let socket = bench.accept().unwrap();
    bench.say(socket, "GET /x?y=1 HTTP/1.1\r\nHost: CDN.test:8443\r\n\r\n");
    bench.wait(Duration::from_nanos(19_999_999));
    assert_eq!(bench.hear(socket), "");
    bench.wait(Duration::from_nanos(1));
    let answer = bench.hear(socket);
    assert!(answer.contains("content-type: font/woff2") && answer.contains("content-length: 5"));
    bench.say(socket, "GET /x?y=1 HTTP/1.1\r\nHost: other.test\r\n\r\n");
    assert!(bench.hear(socket).starts_with("HTTP/1.1 404 "));
}

#[test]
fn many_bodies_at_once_come_whole_through_small_rooms() {
    use proto::h2::{Client, Settings};
    use proto::schedule::RoundRobin;
    use proto::{ClientConnection, Connection, Event, Fin, Scheme};
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let socket = bench.accept().unwrap();
    let settings = Settings { stream_window: 70_000, ..Settings::client() };
    let turns = Box::new(RoundRobin::new());
    let mut client = Client::new(bench.now, settings, turns, trace::Tracer::off());
    for index in 0..20 {
        let path = format!("/image/{index}?bytes=300000");
        client.request(bench.now, &RequestHead::get(Scheme::Http, "a", path), Fin::Last).unwrap();
    }
    let (mut bytes, mut whole) = (0, 0);
    loop {
        let mut up = SendBuf::new();
        client.poll_transmit(bench.now, &mut up, ROOM);
        bench.origin.handle_bytes(bench.now, socket, &up.to_vec());
        let mut down = SendBuf::new();
        // Less than a frame: the origin is asked at every point of a body.
        bench.origin.poll_transmit(bench.now, socket, &mut down, 1_000);
        if up.is_empty() && down.is_empty() {
            break;
        }
        let down = down.to_vec();
        let mut input = &down[..];
        while let Some(event) = client.handle_bytes(bench.now, &mut input) {
            if let Event::Data { stream, data, fin } = event {
                bytes += data.len();
                whole += usize::from(fin == Fin::Last);
                client.consume(stream, data.len());
            }
        }
    }
    assert_eq!((whole, bytes), (20, 20 * 300_000));
}

#[test]
fn pipelined_bodies_come_whole_through_small_rooms() {
    let mut bench = Bench::new(Limits::default(), Parts::default());
    let socket = bench.accept().unwrap();
    bench.say(socket, &get("/image/1?bytes=300000").repeat(10));
    let mut bytes = 0;
    loop {
        let mut out = SendBuf::new();
        bench.origin.poll_transmit(bench.now, socket, &mut out, 1_000);
        if out.is_empty() {
            break;
        }
        bytes += out.len();
    }
    assert!((3_000_000..3_010_000).contains(&bytes), "{bytes} bytes");
}
