//! Fetches many paths over one connection after another, as far as the server lets it.

use super::drive::{Go, drive, now};
use proto::h2::{Client, Settings};
use proto::schedule::RoundRobin;
use proto::{
    ByteStreamConnection, ClientConnection, Event, Fin, Method, RequestHead, Scheme, StreamId,
};
use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use trace::Tracer;

/// One answer.
#[derive(Debug, Default)]
pub struct Answer {
    pub path: String,
    pub status: u16,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
    pub pushed: bool,
}

#[derive(Default)]
pub struct Fetches {
    waiting: Vec<(String, Option<Vec<u8>>)>,
    open: HashMap<StreamId, (Answer, Option<Vec<u8>>)>,
    pub answers: Vec<Answer>,
    /// Times that a server said that it takes no more.
    pub drained: u32,
    pub failures: Vec<String>,
}

impl Fetches {
    /// Asks for every path (with a body, where there is one) and gives the answers.
    pub fn run(
        address: SocketAddr,
        asks: Vec<(String, Option<Vec<u8>>)>,
        settings: &Settings,
    ) -> Self {
        Self::run_over(address, asks, || {
            let turns = Box::new(RoundRobin::default());
            Client::new(now(), settings.clone(), turns, Tracer::off())
        })
    }

    /// The same over connections of any protocol.
    pub fn run_over<C: ClientConnection + ByteStreamConnection>(
        address: SocketAddr,
        asks: Vec<(String, Option<Vec<u8>>)>,
        connection: impl Fn() -> C,
    ) -> Self {
        let mut fetches = Self { waiting: asks, ..Self::default() };
        fetches.waiting.reverse();
        for _ in 0..50 {
            if fetches.waiting.is_empty() {
                break;
            }
            let tcp = TcpStream::connect(address).expect("the peer listens");
            let mut client = connection();
            let host = address.to_string();
            let outcome =
                drive(&tcp, &mut client, |client, event| fetches.on_event(client, event, &host));
            if let Err(error) = outcome {
                fetches.failures.push(error.to_string());
            }
            for (_, (answer, body)) in fetches.open.drain() {
                if !answer.pushed {
                    fetches.waiting.push((answer.path, body));
                }
            }
        }
        fetches
    }

    fn ask(&mut self, client: &mut impl ClientConnection, host: &str) {
        while client.available_streams() > 0
            && let Some((path, body)) = self.waiting.pop()
        {
            let mut head = RequestHead::get(Scheme::Http, host, path.clone());
            let mut fin = Fin::Last;
            if let Some(body) = &body {
                head.method = Method::Post;
                head.fields.push(b"content-length", body.len().to_string().as_bytes());
                fin = Fin::More;
            }
            let stream = client.request(now(), &head, fin).expect("a stream is free");
            if let Some(body) = body.clone() {
                client.send(stream, body.into(), Fin::Last).expect("a body follows");
            }
            self.open.insert(stream, (Answer { path, ..Answer::default() }, body));
        }
    }

    fn on_event<C: ClientConnection>(
        &mut self,
        client: &mut C,
        event: Option<Event<'_>>,
        host: &str,
    ) -> Go {
        match event {
            None => {
                self.ask(client, host);
                if self.open.is_empty() && self.waiting.is_empty() {
                    client.shutdown(now());
                    return Go::Stop;
                }
            }
            Some(Event::Response { stream, head, fin }) => {
                if let Some((answer, _)) = self.open.get_mut(&stream) {
                    answer.status = head.status.code();
                }
                self.end(stream, fin);
            }
            Some(Event::Data { stream, data, fin }) => {
                if let Some((answer, _)) = self.open.get_mut(&stream) {
                    answer.body.extend_from_slice(data);
                }
                client.consume(stream, data.len());
                self.end(stream, fin);
            }
            Some(Event::Trailers { stream, fields }) => {
                if let Some((answer, _)) = self.open.get_mut(&stream) {
                    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    answer.trailers.extend(fields.iter().map(|f| (text(f.name), text(f.value))));
                }
                self.end(stream, Fin::Last);
            }
            Some(Event::Promise { stream, head, .. }) => {
                let answer = Answer { path: head.path, pushed: true, ..Answer::default() };
                self.open.insert(stream, (answer, None));
            }
            Some(Event::Reset { stream, error }) => {
                if let Some((answer, body)) = self.open.remove(&stream) {
                    if error.is_unprocessed() {
                        self.waiting.push((answer.path, body));
                    } else {
                        self.failures.push(format!("{}: {error}", answer.path));
                    }
                }
            }
            Some(Event::Draining { .. }) => self.drained += 1,
            Some(Event::Closed { error: Some(error) }) => self.failures.push(error.to_string()),
            _ => {}
        }
        Go::On
    }

    fn end(&mut self, stream: StreamId, fin: Fin) {
        if fin == Fin::Last
            && let Some((answer, _)) = self.open.remove(&stream)
        {
            self.answers.push(answer);
        }
    }
}
