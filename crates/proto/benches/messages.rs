//! CPU a message of HTTP/2, HTTP/3, SPDY/3.1 and WebSocket: a client and a server in memory. Of the first three,
//! requests and answers with fields as browsers and servers send them; of WebSocket, a text that asks and
//! a text that answers. HTTP/3 is without QUIC: its streams are moved as they are. Both machines of a pair are timed together.
//! `cargo bench -p proto --bench messages`. With a contender's name and bytes behind `--`, it
//! runs that alone and says nothing, for a counter of instructions:
//! `valgrind --tool=callgrind target/release/deps/messages-… "spdy/3.1 fields" 100`.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use bytes::Bytes;
use endpoint::SendBuf;
use proto::Connection as _;
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, ClientConnection, Event, Fin, MultiplexedConnection, RequestHead,
    ResponseHead, Scheme, ServerConnection, Status, StreamKind, TransportFacts, h2, h3, spdy, ws,
};
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};

const MESSAGES: usize = 20_000;
const AT_ONCE: usize = 32;
const ROUNDS: usize = 9;
const NOW: Instant = Instant::ZERO;

fn request(at: usize) -> RequestHead {
    let mut head = RequestHead::get(Scheme::Https, "www.example.test", format!("/img/{at}.png"));
    for (name, value) in [
        ("accept", "image/avif,image/webp,image/*,*/*;q=0.8"),
        ("accept-encoding", "gzip, deflate"),
        ("accept-language", "en-US,en;q=0.8"),
        ("referer", "https://www.example.test/"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/32.0.1700.77 Safari/537.36"),
    ] {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    head
}

fn answer(at: usize) -> ResponseHead {
    let mut head = ResponseHead::new(Status::OK);
    head.fields.push(b"content-type", b"image/png");
    head.fields.push(b"etag", format!("\"{at:x}\"").as_bytes());
    head.fields.push(b"last-modified", b"Mon, 13 Jan 2014 10:00:00 GMT");
    head.fields.push(b"server", b"wirelap");
    head
}

/// What this thread has had of a processor: however busy the machine is, waiting is not in it.
fn cpu() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanos = said.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds stand first"))
}

/// Moves what one side has to send to the other.
fn carry(from: &mut impl ByteStreamConnection, out: &mut SendBuf, mut take: impl FnMut(&[u8])) {
    while from.wants_transmit() {
        from.poll_transmit(NOW, out, 64 * 1024);
        for chunk in out.chunks() {
            take(chunk);
        }
        out.clear();
    }
}

fn exchange<
    C: ClientConnection + ByteStreamConnection,
    S: ServerConnection + ByteStreamConnection,
>(
    client: &mut C,
    server: &mut S,
    body: &Bytes,
) -> Duration {
    let (mut asked, mut answered, mut out) = (0, 0, SendBuf::new());
    let begin = cpu();
    while answered < MESSAGES {
        while asked < MESSAGES && asked - answered < AT_ONCE && client.available_streams() > 0 {
            client.request(NOW, &request(asked), Fin::Last).expect("a stream is free");
            asked += 1;
        }
        let mut requests = Vec::new();
        carry(client, &mut out, |mut bytes| {
            while let Some(event) = server.handle_bytes(NOW, &mut bytes) {
                if let Event::Request { stream, .. } = event {
                    requests.push(stream);
                }
            }
        });
        for stream in requests {
            server.respond(stream, &answer(answered), Fin::More).expect("a request waits");
            server.send(stream, body.clone(), Fin::Last).expect("a body follows");
        }
        let mut credit = Vec::new();
        carry(server, &mut out, |mut bytes| {
            while let Some(event) = client.handle_bytes(NOW, &mut bytes) {
                if let Event::Data { stream, data, fin } = event {
                    credit.push((stream, data.len()));
                    answered += usize::from(fin == Fin::Last);
                }
            }
        });
        for (stream, bytes) in credit {
            client.consume(stream, bytes);
        }
    }
    cpu() - begin
}

fn over_h2(body: &Bytes) -> Duration {
    let turns = || Box::new(RoundRobin::default());
    let mut client = h2::Client::new(NOW, h2::Settings::client(), turns(), Tracer::off());
    let mut server = h2::Server::new(NOW, h2::Settings::server(), turns(), Tracer::off());
    exchange(&mut client, &mut server, body)
}

/// Moves what one side has to send to the other, stream by stream.
fn carry_streams(
    from: &mut impl MultiplexedConnection,
    to: &mut impl MultiplexedConnection,
    out: &mut SendBuf,
    mut take: impl FnMut(Event<'_>),
) {
    while from.poll_stream_action().is_some() {}
    while let Some(sent) = from.poll_stream_transmit(NOW, out, 64 * 1024) {
        let mut left = out.chunks().count();
        let mut hand_in = |mut bytes: &[u8], fin| {
            while let Some(event) = to.handle_stream(NOW, sent.stream, &mut bytes, fin) {
                take(event);
            }
        };
        if left == 0 {
            hand_in(&[], sent.fin);
        }
        for chunk in out.chunks() {
            left -= 1;
            hand_in(chunk, if left == 0 { sent.fin } else { Fin::More });
        }
        out.clear();
    }
}

fn over_h3(body: &Bytes) -> Duration {
    let turns = || Box::new(RoundRobin::default());
    let mut client = h3::Client::new(NOW, h3::Settings::client(), turns(), Tracer::off());
    let mut server = h3::Server::new(NOW, h3::Settings::server(), turns(), Tracer::off());
    let (streams, facts) = (2 * MESSAGES as u64, TransportFacts::default());
    client.handle_transport(NOW, facts);
    client.handle_stream_limit(StreamKind::Bidirectional, streams);
    client.handle_stream_limit(StreamKind::Unidirectional, streams);
    server.handle_transport(NOW, facts);
    server.handle_stream_limit(StreamKind::Unidirectional, streams);
    let (mut asked, mut answered, mut out) = (0, 0, SendBuf::new());
    let begin = cpu();
    while answered < MESSAGES {
        while asked < MESSAGES && asked - answered < AT_ONCE {
            client.request(NOW, &request(asked), Fin::Last).expect("a stream is free");
            asked += 1;
        }
        let mut requests = Vec::new();
        carry_streams(&mut client, &mut server, &mut out, |event| {
            if let Event::Request { stream, .. } = event {
                requests.push(stream);
            }
        });
        for stream in requests {
            server.respond(stream, &answer(answered), Fin::More).expect("a request waits");
            server.send(stream, body.clone(), Fin::Last).expect("a body follows");
        }
        let mut credit = Vec::new();
        carry_streams(&mut server, &mut client, &mut out, |event| {
            if let Event::Data { stream, data, fin } = event {
                credit.push((stream, data.len()));
                answered += usize::from(fin == Fin::Last);
            }
        });
        for (stream, bytes) in credit {
            client.consume(stream, bytes);
        }
    }
    cpu() - begin
}

fn over_spdy(body: &Bytes, effort: spdy::Effort) -> Duration {
    let turns = || Box::new(RoundRobin::default());
    let version = spdy::Version::V3_1;
    let near = spdy::Settings { effort, ..spdy::Settings::client(version) };
    let far = spdy::Settings { effort, ..spdy::Settings::server(version) };
    let mut client = spdy::Client::new(NOW, near, turns(), Tracer::off());
    let mut server = spdy::Server::new(NOW, far, turns(), Tracer::off());
    exchange(&mut client, &mut server, body)
}

/// Asks for something and gets `body`, as many at once as the others.
fn over_ws(body: &Bytes, deflate: Option<ws::DeflateParameters>) -> Duration {
    let agreed = ws::Agreed { deflate, ..ws::Agreed::default() };
    let end =
        |role| ws::Connection::new(NOW, role, ws::Settings::default(), &agreed, Tracer::off());
    let mut client = end(ws::Role::Client { masks: Seed(1) });
    let mut server = end(ws::Role::Server);
    let (mut asked, mut answered, mut out) = (0, 0, SendBuf::new());
    let begin = cpu();
    while answered < MESSAGES {
        while asked < MESSAGES && asked - answered < AT_ONCE {
            let question = format!(r#"{{"get":"/img/{asked}.png","since":"{}"}}"#, asked / 7);
            client.send(ws::MessageKind::Text, question.into()).expect("it is open");
            asked += 1;
        }
        client.poll_transmit(NOW, &mut out, usize::MAX);
        for mut bytes in out.chunks() {
            while let Some(event) = server.handle_bytes(NOW, &mut bytes) {
                if let ws::Event::Message { .. } = event {
                    server.send(ws::MessageKind::Text, body.clone()).expect("it is open");
                }
            }
        }
        out.clear();
        server.poll_transmit(NOW, &mut out, usize::MAX);
        for mut bytes in out.chunks() {
            while let Some(event) = client.handle_bytes(NOW, &mut bytes) {
                answered += usize::from(matches!(event, ws::Event::Message { .. }));
            }
        }
        out.clear();
    }
    cpu() - begin
}

type Contender = (&'static str, fn(&Bytes) -> Duration);

const CONTENDERS: [Contender; 8] = [
    ("h2", over_h2),
    ("h3", over_h3),
    ("spdy/3.1 fields", |body| over_spdy(body, spdy::Effort::Fields)),
    ("spdy/3.1 zlib 0", |body| over_spdy(body, spdy::Effort::Zlib(0))),
    ("spdy/3.1 zlib 1", |body| over_spdy(body, spdy::Effort::Zlib(1))),
    ("spdy/3.1 zlib 6", |body| over_spdy(body, spdy::Effort::Zlib(6))),
    ("ws", |body| over_ws(body, None)),
    ("ws+deflate", |body| over_ws(body, Some(ws::DeflateParameters::default()))),
];

/// Text as an API answers it.
fn body(size: usize) -> Bytes {
    let item =
        |n: usize| format!(r#"{{"id":{n},"user":"user{}","score":{}}},"#, n % 97, n * n % 7919);
    (0..).flat_map(|n| item(n).into_bytes()).take(size).collect()
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [name, size, ..] = &asked[..] {
        let body = body(size.parse().expect("bytes"));
        let contender = CONTENDERS.iter().find(|(known, _)| known == name);
        contender.expect("a contender's name").1(&body);
        return;
    }
    println!(
        "µs of CPU a message (request and answer, both machines), median of {ROUNDS} interleaved runs"
    );
    for size in [100, 10_000] {
        let body = body(size);
        let mut runs = [const { Vec::new() }; CONTENDERS.len()];
        for _ in 0..ROUNDS {
            for (runs, (_, run)) in runs.iter_mut().zip(CONTENDERS) {
                runs.push(run(&body));
            }
        }
        let medians = runs.map(|mut runs| {
            runs.sort();
            runs[ROUNDS / 2].as_secs_f64() * 1e6 / MESSAGES as f64
        });
        for ((name, _), median) in CONTENDERS.iter().zip(&medians) {
            println!(
                "{size:>6} bytes  {name:<18} {median:>7.2}  {:>5.2} × h2",
                median / medians[0]
            );
        }
    }
}
