//! CPU a message of HTTP/2 and SPDY/3.1: a client and a server in memory, requests and answers with
//! fields as browsers and servers send them. Both machines of a pair are timed together.
//! `cargo bench -p proto --bench messages`.
#![allow(clippy::disallowed_methods, reason = "a benchmark has no other clock")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use bytes::Bytes;
use proto::schedule::RoundRobin;
use proto::{
    ClientConnection, Connection, Event, Fin, RequestHead, ResponseHead, Scheme, SendBuf,
    ServerConnection, Status, h2, spdy,
};
use std::time::{Duration, Instant as StdInstant};
use trace::Tracer;
use unit::Instant;

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

/// Moves what one side has to send to the other.
fn carry(from: &mut impl Connection, out: &mut SendBuf, mut take: impl FnMut(&[u8])) {
    while from.wants_transmit() {
        from.poll_transmit(NOW, out, 64 * 1024);
        for chunk in out.chunks() {
            take(chunk);
        }
        out.clear();
    }
}

fn exchange<C: ClientConnection, S: ServerConnection>(
    client: &mut C,
    server: &mut S,
    body: &Bytes,
) -> Duration {
    let (mut asked, mut answered, mut out) = (0, 0, SendBuf::new());
    let begin = StdInstant::now();
    while answered < MESSAGES {
        while asked < MESSAGES && asked - answered < AT_ONCE && client.room() > 0 {
            client.request(NOW, &request(asked), Fin::Last).expect("there is room");
            asked += 1;
        }
        let mut requests = Vec::new();
        carry(client, &mut out, |mut octets| {
            while let Some(event) = server.handle_bytes(NOW, &mut octets) {
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
        carry(server, &mut out, |mut octets| {
            while let Some(event) = client.handle_bytes(NOW, &mut octets) {
                if let Event::Data { stream, data, fin } = event {
                    credit.push((stream, data.len()));
                    answered += usize::from(fin == Fin::Last);
                }
            }
        });
        for (stream, octets) in credit {
            client.consume(stream, octets);
        }
    }
    begin.elapsed()
}

fn over_h2(body: &Bytes) -> Duration {
    let turns = || Box::new(RoundRobin::new());
    let mut client = h2::Client::new(NOW, h2::Settings::client(), turns(), Tracer::off());
    let mut server = h2::Server::new(NOW, h2::Settings::server(), turns(), Tracer::off());
    exchange(&mut client, &mut server, body)
}

fn over_spdy(body: &Bytes, effort: spdy::Effort) -> Duration {
    let turns = || Box::new(RoundRobin::new());
    let version = spdy::Version::V3_1;
    let near = spdy::Settings { effort, ..spdy::Settings::client(version) };
    let far = spdy::Settings { effort, ..spdy::Settings::server(version) };
    let mut client = spdy::Client::new(NOW, near, turns(), Tracer::off());
    let mut server = spdy::Server::new(NOW, far, turns(), Tracer::off());
    exchange(&mut client, &mut server, body)
}

fn main() {
    println!(
        "µs a message (request and answer, both machines), median of {ROUNDS} interleaved runs"
    );
    for size in [100, 10_000] {
        let body = Bytes::from(vec![7; size]);
        let efforts = [spdy::Effort::NONE, spdy::Effort::FAST, spdy::Effort(6)];
        let mut runs = vec![Vec::new(); 1 + efforts.len()];
        for _ in 0..ROUNDS {
            runs[0].push(over_h2(&body));
            for (at, &effort) in efforts.iter().enumerate() {
                runs[at + 1].push(over_spdy(&body, effort));
            }
        }
        let medians: Vec<f64> = runs
            .iter_mut()
            .map(|runs| {
                runs.sort();
                runs[ROUNDS / 2].as_secs_f64() * 1e6 / MESSAGES as f64
            })
            .collect();
        let names = ["h2", "spdy/3.1 level 0", "spdy/3.1 level 1", "spdy/3.1 level 6"];
        for (name, median) in names.iter().zip(&medians) {
            println!(
                "{size:>6} octets  {name:<18} {median:>7.2}  {:>5.2} × h2",
                median / medians[0]
            );
        }
    }
}
