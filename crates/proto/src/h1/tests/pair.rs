//! A client and a server that talk over a byte stream in virtual time, and servers under arbitrary bytes.

use super::*;
use crate::{ClientConnection, ConnectionState, Method, Scheme, ServerConnection};
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

/// How a message's body is announced and sent.
#[derive(Debug, Clone)]
struct Message {
    pieces: Vec<Vec<u8>>,
    announced: Announced,
    trailers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Announced {
    Length,
    Chunked,
}

#[derive(Debug, Clone)]
struct Exchange {
    request: Message,
    response: Message,
    head_only: bool,
    expects: bool,
    early_hints: bool,
}

fn message() -> impl Strategy<Value = Message> {
    let piece = prop::collection::vec(any::<u8>(), 0..2000);
    let announced = prop_oneof![Just(Announced::Length), Just(Announced::Chunked)];
    (prop::collection::vec(piece, 0..4), announced, any::<bool>())
        .prop_map(|(pieces, announced, trailers)| Message { pieces, announced, trailers })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    (message(), message(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(request, response, head_only, expects, early_hints)| Exchange {
            request,
            response,
            head_only,
            expects,
            early_hints,
        },
    )
}

impl Message {
    fn body(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    fn fields(&self) -> Fields {
        let fields = Fields::new().with("x-kind", "test");
        match self.announced {
            Announced::Length => fields.with("content-length", self.body().len().to_string()),
            Announced::Chunked => fields,
        }
    }

    fn fin(&self) -> Fin {
        if self.pieces.is_empty() { Fin::Last } else { Fin::More }
    }

    fn send(&self, connection: &mut impl ByteStreamConnection, stream: StreamId) {
        for (index, piece) in self.pieces.iter().enumerate() {
            let is_last = index + 1 == self.pieces.len();
            let fin = if is_last && !self.trailers { Fin::Last } else { Fin::More };
            connection.send(stream, Bytes::from(piece.clone()), fin).unwrap();
        }
        if self.trailers && !self.pieces.is_empty() {
            connection.send_trailers(stream, &Fields::new().with("x-sum", "1")).unwrap();
        }
    }

    /// What the other side receives of the body.
    fn told(&self, stream: u64) -> Vec<Told> {
        let has_trailers = self.trailers && self.announced == Announced::Chunked;
        let mut told = Vec::new();
        if self.pieces.is_empty() || (self.announced == Announced::Length && self.body().is_empty())
        {
            return told;
        }
        if !self.body().is_empty() || !has_trailers {
            let fin = if has_trailers { Fin::More } else { Fin::Last };
            told.push(Told::Data(stream, self.body(), fin));
        }
        if has_trailers {
            told.push(Told::Trailers(stream, Fields::new().with("x-sum", "1")));
        }
        told
    }
}

/// The stream between the two: bytes arrive 10 ms after they leave, in pieces of the given sizes.
struct Pair {
    now: Instant,
    client: Client,
    server: Server,
    up: VecDeque<(Instant, Vec<u8>)>,
    down: VecDeque<(Instant, Vec<u8>)>,
    cuts: Vec<usize>,
    cut: usize,
    heard: Vec<Told>,
    served: Vec<Told>,
}

const DELAY: Duration = Duration::from_millis(10);

impl Pair {
    fn pieces(&mut self, out: &SendBuf) -> Vec<Vec<u8>> {
        let bytes = out.to_vec();
        let mut rest = &bytes[..];
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let size = self.cuts[self.cut % self.cuts.len()].min(rest.len());
            self.cut += 1;
            pieces.push(rest[..size].to_vec());
            rest = &rest[size..];
        }
        pieces
    }

    /// One step of time: what is due is delivered, what is ready is sent.
    fn step(&mut self) {
        for limit in [700, 64] {
            let mut out = SendBuf::new();
            self.client.poll_transmit(self.now, &mut out, limit);
            let due = self.now + DELAY;
            let pieces = self.pieces(&out);
            self.up.extend(pieces.into_iter().map(|piece| (due, piece)));
            let mut out = SendBuf::new();
            self.server.poll_transmit(self.now, &mut out, limit);
            let pieces = self.pieces(&out);
            self.down.extend(pieces.into_iter().map(|piece| (due, piece)));
        }
        self.now += Duration::from_millis(1);
        while let Some((_, piece)) = self.up.pop_front_if(|(due, _)| *due <= self.now) {
            let told = hear_at(&mut self.server, self.now, &[&piece]);
            extend(&mut self.served, told);
        }
        while let Some((_, piece)) = self.down.pop_front_if(|(due, _)| *due <= self.now) {
            let told = hear_at(&mut self.client, self.now, &[&piece]);
            extend(&mut self.heard, told);
        }
        for connection in [&mut self.client as &mut dyn ByteStreamConnection, &mut self.server] {
            if connection.poll_timeout().is_some_and(|deadline| deadline <= self.now) {
                connection.handle_timeout(self.now);
            }
        }
        let told = hear_at(&mut self.client, self.now, &[b""]);
        extend(&mut self.heard, told);
        let told = hear_at(&mut self.server, self.now, &[b""]);
        extend(&mut self.served, told);
    }
}

/// Joins pieces of a body that came in different steps; leaves out requests for more.
fn extend(all: &mut Vec<Told>, told: Vec<Told>) {
    for next in told {
        match (all.last_mut(), next) {
            (_, Told::Writable(_)) => {}
            (Some(Told::Data(a, bytes, fin @ Fin::More)), Told::Data(b, more, next)) if *a == b => {
                bytes.extend(more);
                *fin = next;
            }
            (_, next) => all.push(next),
        }
    }
}

fn run(exchanges: &[Exchange], cuts: Vec<usize>) {
    let mut pair = Pair {
        now: NOW,
        client: client(ClientSettings::default()),
        server: server(ServerSettings::default()),
        up: VecDeque::new(),
        down: VecDeque::new(),
        cuts,
        cut: 0,
        heard: Vec::new(),
        served: Vec::new(),
    };
    for (number, exchange) in exchanges.iter().enumerate() {
        let number = number as u64;
        pair.exchange(number, exchange);
    }
    pair.client.shutdown(pair.now);
    pair.step();
    assert_eq!(pair.heard, [Told::Closed(None)]);
    pair.server.handle_eof(pair.now);
    pair.step();
    assert_eq!(pair.served, [Told::Closed(None)]);
    assert_eq!(pair.server.state(), ConnectionState::Closed);
}

impl Pair {
    fn exchange(&mut self, number: u64, exchange: &Exchange) {
        let stream = StreamId(number);
        let mut fields = exchange.request.fields();
        if exchange.expects {
            fields.push(b"expect", b"100-continue");
        }
        let method = if exchange.head_only { Method::Head } else { Method::Post };
        let head = RequestHead { method, fields, ..RequestHead::get(Scheme::Http, "h", "/x") };
        let fin = exchange.request.fin();
        if fin == Fin::Last && exchange.request.announced == Announced::Length {
            // A length of 0 is what the machine would say itself.
            assert_eq!(exchange.request.body().len(), 0);
        }
        assert_eq!(self.client.request(self.now, &head, fin), Ok(stream));
        exchange.request.send(&mut self.client, stream);
        self.until(|pair| pair.served.iter().any(is_end));
        let mut served = std::mem::take(&mut self.served);
        let Told::Request(id, heard, _) = served.remove(0) else { panic!("{served:?}") };
        assert_eq!((id, heard.path, heard.authority), (number, head.path, head.authority));
        assert_eq!(heard.method, head.method);
        assert_eq!(served, exchange.request.told(number));

        if exchange.early_hints {
            self.server.inform(stream, &status(103)).unwrap();
        }
        let head = ResponseHead { fields: exchange.response.fields(), ..ok() };
        let fin = exchange.response.fin();
        self.server.respond(stream, &head, fin).unwrap();
        exchange.response.send(&mut self.server, stream);
        self.until(|pair| pair.client.available_streams() == 1);
        let mut heard = std::mem::take(&mut self.heard);
        let informed = heard.iter().filter(|told| matches!(told, Told::Informational(..))).count();
        assert!(informed >= usize::from(exchange.early_hints));
        heard.retain(|told| !matches!(told, Told::Informational(..)));
        assert!(matches!(&heard[0], Told::Response(id, ..) if *id == number), "{heard:?}");
        let body = if exchange.head_only { vec![] } else { exchange.response.told(number) };
        assert_eq!(heard[1..], body);
    }

    fn until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..5_000 {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("nothing moves: {:?} {:?}", self.heard, self.served);
    }
}

fn is_end(told: &Told) -> bool {
    matches!(
        told,
        Told::Request(_, _, Fin::Last) | Told::Data(_, _, Fin::Last) | Told::Trailers(..)
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_messages_arrive_as_they_were_sent(
        exchanges in prop::collection::vec(exchange(), 1..4),
        cuts in prop::collection::vec(1..300_usize, 1..20),
    ) {
        run(&exchanges, cuts);
    }

    #[test]
    fn pipelined_requests_are_the_same_however_their_bytes_are_cut(
        kinds in prop::collection::vec(0..4_usize, 1..8),
        mut cuts in prop::collection::vec(0..600_usize, 0..30),
    ) {
        const KINDS: [&[u8]; 4] = [
            b"GET /g HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n",
            b"POST /l HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
            b"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x\r\n!!!\r\n0\r\nT: u\r\n\r\n",
            b"\r\nHEAD /h HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        ];
        let bytes: Vec<u8> = kinds.iter().flat_map(|&kind| KINDS[kind]).copied().collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut whole = Vec::new();
        extend(&mut whole, hear(&mut server(ServerSettings::default()), &[&bytes]));
        let mut cut_up = server(ServerSettings::default());
        let (mut told, mut from) = (Vec::new(), 0);
        for cut in cuts {
            let to = cut.min(bytes.len());
            extend(&mut told, hear(&mut cut_up, &[&bytes[from..to]]));
            from = to;
        }
        prop_assert_eq!(told.iter().filter(|told| matches!(told, Told::Request(..))).count(), kinds.len());
        prop_assert_eq!(told, whole);
    }

    #[test]
    fn arbitrary_bytes_end_in_an_answer_or_a_wait(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..400),
            "(GET|POST) [/a*] HTTP/1.[012](\r\n|\n|\r)(Host: h\r\n)?((Content-Length|Transfer-Encoding|Connection|Upgrade|Expect)( |:){1,3}(chunked|3|close|upgrade|x)(\r\n| ,)){0,4}\r\n[0-9a-f]{0,3}\r\n[ -~]{0,10}"
                .prop_map(String::into_bytes),
        ],
        size in 1..50_usize,
    ) {
        let mut server = server(ServerSettings::default());
        let mut client = client(ClientSettings::default());
        client.request(NOW, &RequestHead::get(Scheme::Http, "h", "/"), Fin::Last).unwrap();
        for piece in bytes.chunks(size) {
            for told in hear(&mut server, &[piece]) {
                if let Told::Request(stream, ..) = told {
                    server.respond(StreamId(stream), &ok(), Fin::Last).unwrap();
                }
            }
            say(&mut server);
            hear(&mut client, &[piece]);
        }
        server.handle_eof(NOW);
        client.handle_eof(NOW);
        let (served, heard) = (hear(&mut server, &[b""]), hear(&mut client, &[b""]));
        prop_assert!(matches!(served.last(), Some(Told::Closed(_))) || server.state() == ConnectionState::Closed
            || !server.take_backlog().is_empty(), "{served:?} {server:?}");
        prop_assert!(matches!(heard.last(), Some(Told::Closed(_))) || client.state() == ConnectionState::Closed);
    }
}
