//! What a small message costs the origin: over WebSocket, plain and compressed, and as a POST to `/echo` over
//! HTTP/2 and HTTP/1.1. `message_cost [MESSAGES]`; run it with `--release`. One thread drives client and origin
//! without sockets, so that time is CPU and the kernel has no part in it; the client's share is in it, alike in
//! kind for each.
#![allow(clippy::print_stdout, reason = "an example is a program")]

use endpoint::{Accepted, EndPoint, SendBuf, SocketId};
use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
use proto::Connection as _;
use proto::schedule::RoundRobin;
use proto::ws::{
    Agreed, ClientHandshake, DeflateOffer, Event as WsEvent, Key, MessageKind, Offer, Role, Via,
};
use proto::{
    ByteStreamConnection as _, ClientConnection as _, Event, Fin, Method, RequestHead, Scheme,
    StreamId, h1, h2, ws,
};
use std::error::Error;
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NOW: Instant = Instant::ZERO;
const LIMIT: usize = 64 * 1024;
const PAYLOAD: &[u8] =
    br#"{"user":"somebody","text":"about as long as a short message is, in JSON"}"#;

fn main() -> Outcome<()> {
    let messages = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 200_000,
    };
    for (name, cost) in [
        ("ws", web_socket(messages, Vec::new())?),
        ("ws+deflate", web_socket(messages, vec![DeflateOffer::default()])?),
        ("h2", requests(messages, Box::new(open_h2()))?),
        ("http/1.1", requests(messages, Box::new(open_h1()))?),
    ] {
        println!(
            "{name:<11} {:>6} ns a message and its echo",
            cost.as_nanos() / u128::from(messages)
        );
    }
    Ok(())
}

fn open_h1() -> h1::Client {
    h1::Client::new(NOW, h1::ClientSettings::default(), Tracer::off())
}

fn open_h2() -> h2::Client {
    h2::Client::new(NOW, h2::Settings::client(), Box::new(RoundRobin::default()), Tracer::off())
}

/// The origin with one connection on it.
struct Far {
    origin: Origin,
    socket: SocketId,
}

impl Far {
    fn open() -> Outcome<Self> {
        let wall_clock = WallClock { at: NOW, unix: Duration::from_secs(1_800_000_000) };
        let config = OriginConfig::new(vec![ListenerKind::Clear], wall_clock);
        let mut origin = Origin::new(config, Parts::default());
        let any = ([127, 0, 0, 1], 80).into();
        let accepted = Accepted { listener: 0, local: any, remote: any };
        let socket = origin.handle_accepted(NOW, accepted).ok_or("refused")?;
        Ok(Self { origin, socket })
    }

    /// Gives these bytes to the origin and puts its answer in their place.
    fn exchange(&mut self, bytes: &mut SendBuf) {
        for chunk in bytes.chunks() {
            self.origin.handle_bytes(NOW, self.socket, chunk);
        }
        bytes.clear();
        while self.origin.poll_action().is_some() {}
        loop {
            let before = bytes.len();
            self.origin.poll_transmit(NOW, self.socket, bytes, LIMIT);
            if bytes.len() == before {
                return;
            }
        }
    }
}

/// Posts one after another.
fn requests(messages: u32, mut client: Box<dyn transport::ClientByteStream>) -> Outcome<Duration> {
    let mut far = Far::open()?;
    let mut bytes = SendBuf::new();
    let mut head = RequestHead::get(Scheme::Http, "localhost", "/echo");
    head.method = Method::Post;
    head.fields.push(b"content-length", PAYLOAD.len().to_string().as_bytes());
    let begun = os::clock::now();
    for _ in 0..messages {
        let stream = client.request(NOW, &head, Fin::More)?;
        client.send(stream, PAYLOAD.into(), Fin::Last)?;
        let mut echoed = 0;
        for _ in 0..4 {
            client.poll_transmit(NOW, &mut bytes, LIMIT);
            far.exchange(&mut bytes);
            for chunk in bytes.chunks() {
                let mut input = chunk;
                while let Some(event) = client.handle_bytes(NOW, &mut input) {
                    if let Event::Data { data, .. } = event {
                        let length = data.len();
                        echoed += length;
                        client.consume(stream, length);
                    }
                }
            }
            bytes.clear();
            if echoed == PAYLOAD.len() && client.available_streams() > 0 {
                break;
            }
        }
        if echoed != PAYLOAD.len() {
            return Err("the echo is not whole".into());
        }
    }
    Ok(os::clock::now().since(begun))
}

/// Sends messages over one WebSocket, one after another.
fn web_socket(messages: u32, deflate: Vec<DeflateOffer>) -> Outcome<Duration> {
    let mut far = Far::open()?;
    let mut http = open_h1();
    let handshake =
        ClientHandshake::new(Via::Upgrade, Key([7; 16]), Offer { deflate, ..Offer::default() });
    let head = handshake.request(RequestHead::get(Scheme::Http, "localhost", "/ws/echo"));
    let stream = http.request(NOW, &head, Fin::Last)?;
    let mut bytes = SendBuf::new();
    http.poll_transmit(NOW, &mut bytes, LIMIT);
    far.exchange(&mut bytes);
    let agreed = confirm(&mut http, &handshake, &bytes)?;
    bytes.clear();
    let role = Role::Client { masks: Seed(1) };
    let mut socket =
        ws::Connection::new(NOW, role, ws::Settings::default(), &agreed, Tracer::off());
    let mut plain = SendBuf::new();
    let begun = os::clock::now();
    for _ in 0..messages {
        socket.send(MessageKind::Text, PAYLOAD.into())?;
        socket.poll_transmit(NOW, &mut plain, LIMIT);
        while let Some(piece) = plain.take_piece() {
            http.send(stream, piece, Fin::More)?;
        }
        http.poll_transmit(NOW, &mut bytes, LIMIT);
        far.exchange(&mut bytes);
        let echoed = hear(&mut http, (stream, &mut socket), &bytes);
        bytes.clear();
        if echoed != PAYLOAD.len() {
            return Err("the echo is not whole".into());
        }
    }
    Ok(os::clock::now().since(begun))
}

fn confirm(http: &mut h1::Client, handshake: &ClientHandshake, bytes: &SendBuf) -> Outcome<Agreed> {
    for chunk in bytes.chunks() {
        let mut input = chunk;
        while let Some(event) = http.handle_bytes(NOW, &mut input) {
            if let Event::Response { head, .. } = event {
                return Ok(handshake.confirm(&head)?);
            }
        }
    }
    Err("no answer to the handshake".into())
}

fn hear(
    http: &mut h1::Client,
    (stream, socket): (StreamId, &mut ws::Connection),
    bytes: &SendBuf,
) -> usize {
    let mut echoed = 0;
    for chunk in bytes.chunks() {
        let mut input = chunk;
        while let Some(event) = http.handle_bytes(NOW, &mut input) {
            let Event::Data { mut data, .. } = event else { continue };
            let length = data.len();
            while let Some(event) = socket.handle_bytes(NOW, &mut data) {
                if let WsEvent::Message { data, .. } = event {
                    echoed += data.len();
                }
            }
            http.consume(stream, length);
        }
    }
    echoed
}
