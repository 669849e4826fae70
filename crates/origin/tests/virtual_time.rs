//! The origin without sockets, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod bench;

use bench::{ADDRESS, Bench, START, config};
use endpoint::{Action, SocketId, SocketSettings};
use origin::{AccessLog, AccessRecord, ExchangeEnd, Limits, Origin, OriginConfig, Parts};
use proto::h2::Settings;
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection as _, ClientConnection as _, Connection as _, Event, Fin, Method,
    RequestHead, Scheme,
};
use sim::{Connections, Path, Script, Scripted};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

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
        Bench::of(Origin::new(config(), Parts { log: Some(log.clone()), ..Parts::default() }));
    let socket = bench.accept();
    let path = "/image/1?bytes=3&delay_ms=250";
    bench.say(socket, get(path));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_micros(249_999));
    assert_eq!(bench.hear_text(socket), "");
    bench.wait(Duration::from_micros(1));
    assert_eq!(bench.take_actions(), [Action::Transmit(socket)]);
    assert!(bench.hear_text(socket).starts_with("HTTP/1.1 200 OK\r\n"));
    let delay = Duration::from_millis(250);
    assert_eq!(*log.0.borrow(), [(path.to_owned(), ExchangeEnd::Done, delay, delay)]);
}

#[test]
fn an_api_answer_is_of_the_size_asked_for_and_the_same_each_time() {
    let mut bench = Bench::new();
    let socket = bench.accept();
    let mut ask = |path: &str| {
        bench.say(socket, get(path));
        let answer = bench.hear_text(socket);
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
    let slip = ask("/api?byts=5");
    assert_eq!(
        (slip.0.as_str(), slip.2.as_str()),
        ("HTTP/1.1 400 Bad Request", "unknown parameter `byts`; known are bytes, call, delay_ms\n")
    );
    assert_eq!(ask("/api?bytes=99999999999").0, "HTTP/1.1 400 Bad Request");
}

#[test]
fn a_long_thought_is_no_silence_that_ends_a_connection() {
    let mut bench = Bench::new();
    let socket = bench.accept();
    bench.say(socket, get("/image/1?bytes=3&delay_ms=600000"));
    bench.wait(Duration::from_secs(599));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_secs(1));
    assert!(bench.hear_text(socket).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn silence_ends_a_connection_at_its_limit() {
    let limits = Limits::default();
    let mut bench = Bench::limited(limits);
    let socket = bench.accept();
    bench.wait(limits.idle - Duration::from_nanos(1));
    assert_eq!(bench.take_actions(), []);
    bench.wait(Duration::from_nanos(1));
    assert_eq!(bench.take_actions(), [Action::Close(socket)]);
    assert_eq!(bench.connections(), 0);
}

#[test]
fn a_peer_that_takes_nothing_is_reset_and_its_exchange_logged_as_cut_off() {
    let limits = Limits::default();
    let log = Rc::new(Ends::default());
    let config = OriginConfig { limits, ..config() };
    let parts = Parts { log: Some(log.clone()), ..Parts::default() };
    let mut bench = Bench::of(Origin::new(config, parts));
    let socket = bench.accept();
    bench.world.with(bench.peer, |peer| peer.pause(socket));
    bench.say(socket, get("/image/1?bytes=10000000"));
    bench.take_actions();
    bench.wait(limits.stall);
    assert_eq!(bench.take_actions().last(), Some(&Action::Abort(socket)));
    assert_eq!(log.0.borrow()[0].1, ExchangeEnd::CutOff);
}

#[test]
fn a_head_that_begins_shortly_before_the_idle_time_out_has_its_own_time() {
    let seconds = Duration::from_secs;
    let limits = Limits { idle: seconds(3), head: seconds(2), ..Limits::default() };
    let request = get("/image/1?bytes=3");
    let (first, rest) = request.split_at(20);
    let mut bench = Bench::limited(limits);
    let [whole, half] = [bench.connect(&request), bench.connect(&request)];
    bench.wait(seconds(2));
    for socket in [whole, half] {
        bench.hear(socket);
        bench.say(socket, first);
    }
    bench.wait(seconds(2) - Duration::from_nanos(1));
    bench.say(whole, rest);
    assert!(bench.hear_text(whole).starts_with("HTTP/1.1 200 "));
    assert_eq!((bench.hear_text(half).as_str(), bench.connections()), ("", 2));
    bench.wait(Duration::from_nanos(1));
    assert!(bench.hear_text(half).starts_with("HTTP/1.1 408 "));
}

#[test]
fn what_stalls_over_http1_is_told_so() {
    let limits = Limits { idle: Duration::from_secs(3), ..Limits::default() };
    let post = "POST /discard HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc";
    for (said, limit) in [(post, limits.stall), ("GET / HTTP/1.1\r\nHost:", limits.head)] {
        let mut bench = Bench::limited(limits);
        let socket = bench.connect(said);
        bench.wait(limit - Duration::from_nanos(1));
        assert_eq!((bench.hear_text(socket).as_str(), bench.connections()), ("", 1), "{said}");
        bench.wait(Duration::from_nanos(1));
        assert!(bench.hear_text(socket).starts_with("HTTP/1.1 408 "), "{said}");
        assert_eq!(bench.aborts(), 0, "{said}");
    }
}

#[test]
fn connections_beyond_the_limit_are_refused_until_one_is_gone() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let mut bench = Bench::limited(limits);
    let (first, _) = (bench.accept(), bench.accept());
    assert_eq!(bench.connections(), 2);
    let ended = |bench: &Bench, socket| bench.world.end_point(bench.peer).script().ended(socket);
    let refused = bench.accept();
    assert_eq!((bench.connections(), ended(&bench, refused)), (2, Some(Ok(()))));
    bench.world.with(bench.peer, |peer| peer.reset(first));
    bench.act();
    assert_eq!(bench.connections(), 1);
    let last = bench.accept();
    assert_eq!((bench.connections(), ended(&bench, last)), (2, None));
    bench.take_actions();
    bench.say(last, get("/nothing"));
    assert_eq!(bench.take_actions(), [Action::Transmit(first)], "numbers are used again");
}

#[test]
fn a_stop_closes_idle_connections_and_waits_for_the_others() {
    let mut bench = Bench::new();
    let silent = bench.accept();
    // Its first request would have been read by then.
    bench.wait(Duration::from_millis(200));
    let (idle, busy) = (bench.accept(), bench.accept());
    bench.say(idle, get("/image/1?bytes=3"));
    bench.hear(idle);
    bench.say(busy, get("/image/1?bytes=3&delay_ms=1000"));
    bench.take_actions();
    bench.stop();
    assert_eq!(bench.take_actions(), [Action::Close(silent), Action::Close(idle)]);
    bench.wait(Duration::from_secs(1));
    assert!(bench.hear_text(busy).contains("\r\nconnection: close\r\n"));
    let last = bench.take_actions();
    assert_eq!(last[last.len() - 2..], [Action::Close(busy), Action::Finish]);
}

#[test]
fn a_second_stop_is_a_stop_at_once() {
    let mut bench = Bench::new();
    let socket = bench.accept();
    bench.say(socket, get("/image/1?bytes=3&delay_ms=1000"));
    bench.take_actions();
    bench.stop();
    assert_eq!(bench.take_actions(), []);
    bench.stop();
    assert_eq!(bench.take_actions(), [Action::Abort(socket), Action::Finish]);
}

#[test]
fn bytes_cut_anywhere_are_answered_alike() {
    let request = get("/image/1?bytes=3") + &get("/nothing");
    let whole = {
        let mut bench = Bench::new();
        let socket = bench.accept();
        bench.say(socket, &request);
        bench.hear_text(socket)
    };
    assert!(whole.contains("200 OK") && whole.contains("404 Not Found"));
    for cut in 0..request.len() {
        let mut bench = Bench::new();
        let socket = bench.accept();
        bench.say(socket, &request[..cut]);
        bench.say(socket, &request[cut..]);
        assert_eq!(bench.hear_text(socket), whole, "cut at {cut}");
    }
}

#[test]
fn a_recorded_page_is_answered_by_host_path_and_server_time() {
    let table = r#"{"hosts":{"cdn.test":{"/x?y=1":{"body":5,"server_time":20000000,"content_type":"font/woff2","requests":1,"status":200}}}}"#;
    let table: page::Table = serde_json::from_str(table).unwrap();
    let config = OriginConfig { table: Some(table.into()), ..config() };
    let mut bench = Bench::of(Origin::new(config, Parts::default()));
    let socket = bench.accept();
    bench.say(socket, "GET /x?y=1 HTTP/1.1\r\nHost: CDN.test:8443\r\n\r\n");
    bench.wait(Duration::from_nanos(19_999_999));
    assert_eq!(bench.hear_text(socket), "");
    bench.wait(Duration::from_nanos(1));
    let answer = bench.hear_text(socket);
    assert!(answer.contains("content-type: font/woff2") && answer.contains("content-length: 5"));
    bench.say(socket, "GET /x?y=1 HTTP/1.1\r\nHost: other.test\r\n\r\n");
    assert!(bench.hear_text(socket).starts_with("HTTP/1.1 404 "));
}

/// Less than a frame: the origin is asked at every point of a body.
fn small_limit() -> SocketSettings {
    SocketSettings { unsent_low_water: 1_000, ..SocketSettings::default() }
}

/// A client that counts the bodies of its requests.
struct Bodies {
    client: proto::h2::Client,
    bytes: usize,
    whole: usize,
}

impl Bodies {
    fn flush(&mut self, sockets: &mut Connections, socket: SocketId) {
        let mut out = endpoint::SendBuf::new();
        self.client.poll_transmit(sockets.now(), &mut out, 16 * 1024);
        sockets.send(socket, &out.to_vec());
    }
}

impl Script for Bodies {
    fn handle_open(&mut self, sockets: &mut Connections, socket: SocketId) {
        self.flush(sockets, socket);
    }

    fn handle_bytes(&mut self, sockets: &mut Connections, socket: SocketId, mut bytes: &[u8]) {
        while let Some(event) = self.client.handle_bytes(sockets.now(), &mut bytes) {
            if let Event::Data { stream, data, fin } = event {
                let length = data.len();
                self.bytes += length;
                self.whole += usize::from(fin == Fin::Last);
                self.client.consume(stream, length);
            }
        }
        self.flush(sockets, socket);
    }
}

#[test]
fn many_bodies_at_once_come_whole_through_small_limits() {
    let settings = Settings { stream_window: 70_000, ..Settings::client() };
    let turns = Box::new(RoundRobin::default());
    let mut client = proto::h2::Client::new(START, settings, turns, trace::Tracer::off());
    for index in 0..20 {
        let path = format!("/image/{index}?bytes=300000");
        client.request(START, &RequestHead::get(Scheme::Http, "a", path), Fin::Last).unwrap();
    }
    let mut bench = Bench::new();
    bench.world.listen_with(bench.origin, ADDRESS, small_limit());
    let bodies = Scripted::new(Bodies { client, bytes: 0, whole: 0 });
    let reader = bench.world.host("10.0.0.3", bodies);
    bench.world.connect(reader, bench.origin, Path::delay(Duration::ZERO));
    bench.world.with(reader, |reader| reader.connect(ADDRESS));
    bench.act();
    let bodies = bench.world.end_point(reader).script();
    assert_eq!((bodies.whole, bodies.bytes), (20, 20 * 300_000));
}

#[test]
fn pipelined_bodies_come_whole_through_small_limits() {
    let mut bench = Bench::new();
    bench.world.listen_with(bench.origin, ADDRESS, small_limit());
    let socket = bench.accept();
    bench.say(socket, get("/image/1?bytes=300000").repeat(10));
    let heard = bench.world.end_point(bench.peer).script().received(socket);
    let bytes = heard.len();
    assert!((3_000_000..3_010_000).contains(&bytes), "{bytes} bytes");
}

#[test]
fn after_the_whole_answer_so_much_of_an_upload_is_read_and_the_rest_refused_without_an_error() {
    let turns = Box::new(RoundRobin::default());
    let mut client = proto::h2::Client::new(START, Settings::client(), turns, trace::Tracer::off());
    let mut bench = Bench::new();
    let socket = bench.accept();
    for (most, is_refused) in [(1_000_000, false), (usize::MAX, true)] {
        let head = RequestHead::get(Scheme::Http, "a", "/image/1?bytes=3");
        let head = RequestHead { method: Method::Post, ..head };
        let stream = client.request(START, &head, Fin::More).unwrap();
        let (mut sent, mut seen) = (0, Vec::new());
        while sent < most.min(4 << 20) && !seen.iter().any(|event: &String| event.contains("Reset"))
        {
            if client.unsent(stream) == 0 {
                client.send(stream, vec![0; 10_000].into(), Fin::More).unwrap();
                sent += 10_000;
            }
            let mut out = endpoint::SendBuf::new();
            client.poll_transmit(START, &mut out, 1 << 20);
            bench.say(socket, out.to_vec());
            let heard = bench.hear(socket);
            let mut heard = &heard[..];
            while let Some(event) = client.handle_bytes(START, &mut heard) {
                if !matches!(event, Event::Writable { .. }) {
                    seen.push(format!("{event:?}"));
                }
            }
        }
        assert!(seen[0].contains("Response") && seen[0].contains("Status(405)"), "{seen:?}");
        if is_refused {
            assert!((1 << 20..1 << 21).contains(&sent), "{sent} bytes: {seen:?}");
            assert!(seen.last().is_some_and(|last| last.contains("code: 0")), "{seen:?}");
        } else {
            assert_eq!(seen.len(), 2, "head and body: {seen:?}");
            client.send(stream, "".into(), Fin::Last).unwrap();
        }
    }
}
