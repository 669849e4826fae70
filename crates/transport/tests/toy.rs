//! How to add a transport, shown with a toy one: `toy/1`, lines of text with several streams at once.
//!
//! 1. A codec: [`Frame`], which reads and writes one line. A real one is a module of `wire`.
//! 2. A machine: [`Machine`], which implements `proto::Connection` with `ClientConnection` and `ServerConnection`. It owns
//!    no socket and reads no clock. A real one is a module of `proto`; it keeps windows and bounds its buffers.
//! 3. One arm in `transport`. A real one is a variant of `transport::Protocol` with its arm in `Protocol::definition` (the
//!    name and the two constructors), its place in `Protocol::ALL`, `impl ServerProtocol` in `server.rs`, and a field of
//!    the two `Settings` if it has any. Only one that is spoken in the clear beside others has a rule in `recognise.rs`.
//!    Here the arms are the two [`Role`]s: nothing in `transport` knows of this protocol.
//! 4. One arm in `study`: a variant of `experiment::Transport` with its defaults, and the name in `trace::Protocol`. A toy
//!    is in no experiment, so it has none.
//!
//! Sockets, TLS, ALPN, time-outs and records come from `transport::Connection`.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use endpoint::SendBuf;
use proptest::prelude::*;
use proto::schedule::Priority;
use proto::{
    ClientConnection, ConnectionState, Error, Event, Fields, Fin, Method, Misuse, Refused,
    RequestHead, ResponseHead, Scheme, Scope, ServerConnection, Status, StreamId,
};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Layer, ServerTls, ServerTlsOptions, Tls,
};
use std::collections::{BTreeMap, VecDeque};
use trace::{ConnectionRecord, HeaderBytes, SpokenProtocol};
use transport::{
    ClientByteStream, ClientMachine, Connection, Failure, Handler, Negotiated, Role,
    ServerByteStream, ServerMachine, ServerProtocol,
};
use unit::Instant;

const NOW: Instant = Instant::ZERO;
const ALPN: &str = "toy/1";

// 1. The codec.

/// A line. After `Data` come `length` bytes of a body.
#[derive(Debug, PartialEq)]
enum Frame {
    Ask { stream: u64, fin: Fin, method: Method, authority: String, path: String },
    Answer { stream: u64, fin: Fin, status: Status },
    Data { stream: u64, fin: Fin, length: usize },
    Reset { stream: u64 },
}

impl Frame {
    fn write(&self, out: &mut Vec<u8>) {
        let word = |fin: &Fin| if *fin == Fin::Last { "last" } else { "more" };
        let line = match self {
            Self::Ask { stream, fin, method, authority, path } => {
                format!("ask {stream} {} {method} {authority} {path}\n", word(fin))
            }
            Self::Answer { stream, fin, status } => {
                format!("answer {stream} {} {}\n", word(fin), status.code())
            }
            Self::Data { stream, fin, length } => format!("data {stream} {} {length}\n", word(fin)),
            Self::Reset { stream } => format!("reset {stream}\n"),
        };
        out.extend_from_slice(line.as_bytes());
    }

    /// Reads a line without its end.
    fn read(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        let stream = words.get(1)?.parse().ok()?;
        let fin = match words.get(2) {
            Some(&"last") => Fin::Last,
            _ => Fin::More,
        };
        Some(match *words {
            ["ask", _, _, method, authority, path] => {
                let method = Method::parse(method.as_bytes())?;
                Self::Ask { stream, fin, method, authority: authority.into(), path: path.into() }
            }
            ["answer", _, _, code] => {
                Self::Answer { stream, fin, status: Status::new(code.parse().ok()?)? }
            }
            ["data", _, _, length] => Self::Data { stream, fin, length: length.parse().ok()? },
            ["reset", _] => Self::Reset { stream },
            _ => return None,
        })
    }
}

// 2. The machine, the same for both sides.

/// Body bytes that go out before it is another stream's turn.
const PIECE: usize = 100;
const MOST_STREAMS: usize = 100;

struct Machine {
    scheme: Scheme,
    state: ConnectionState,
    next: u64,
    streams: BTreeMap<u64, Stream>,
    /// Streams with body bytes to send, whose turn comes first in front.
    turns: VecDeque<u64>,
    /// Lines to send, before any body.
    lines: Vec<u8>,
    /// The beginning of a line.
    partial: Vec<u8>,
    /// The body that is arriving: its stream, what is missing, and whether it is the last of it.
    body: Option<(u64, usize, Fin)>,
    events: VecDeque<Event<'static>>,
}

#[derive(Default)]
struct Stream {
    queued: VecDeque<u8>,
    is_sent: bool,
    is_received: bool,
}

impl Machine {
    fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            state: ConnectionState::Open,
            next: 0,
            streams: BTreeMap::new(),
            turns: VecDeque::new(),
            lines: Vec::new(),
            partial: Vec::new(),
            body: None,
            events: VecDeque::new(),
        }
    }

    /// Takes what there is of a line; tells it once it is whole.
    fn line(&mut self, input: &mut &[u8]) -> Option<Vec<u8>> {
        let end = input.iter().position(|&byte| byte == b'\n');
        let (taken, rest) = input.split_at(end.map_or(input.len(), |end| end + 1));
        *input = rest;
        self.partial.extend_from_slice(taken);
        end?;
        self.partial.pop();
        Some(std::mem::take(&mut self.partial))
    }

    /// Takes what there is of the body that is arriving.
    fn body<'i>(&mut self, input: &mut &'i [u8]) -> Option<Event<'i>> {
        let (stream, missing, fin) = self.body?;
        let (data, rest) = input.split_at(missing.min(input.len()));
        *input = rest;
        let missing = missing - data.len();
        self.body = (missing > 0).then_some((stream, missing, fin));
        if missing > 0 && data.is_empty() {
            return None;
        }
        let fin = if missing == 0 { fin } else { Fin::More };
        self.received(stream, fin);
        Some(Event::Data { stream: StreamId(stream), data, fin })
    }

    /// Acts on a line; a body's is told of when its bytes come.
    fn frame(&mut self, frame: Frame) -> Option<Event<'static>> {
        match frame {
            Frame::Ask { stream, fin, method, authority, path } => {
                self.streams.insert(stream, Stream::default());
                self.received(stream, fin);
                let get = RequestHead::get(self.scheme, authority, path);
                let head = RequestHead { method, ..get };
                Some(Event::Request { stream: StreamId(stream), head, fin })
            }
            Frame::Answer { stream, fin, status } => {
                self.received(stream, fin);
                let head = ResponseHead::new(status);
                Some(Event::Response { stream: StreamId(stream), head, fin })
            }
            Frame::Data { stream, fin, length } => {
                self.body = Some((stream, length, fin));
                None
            }
            Frame::Reset { stream } => {
                self.streams.remove(&stream)?;
                let error = Error::PeerReset { code: 0, name: "reset" };
                Some(Event::Reset { stream: StreamId(stream), error })
            }
        }
    }

    fn received(&mut self, stream: u64, fin: Fin) {
        if let Some(entry) = self.streams.get_mut(&stream) {
            entry.is_received |= fin == Fin::Last;
        }
        self.forget_if_over(stream);
    }

    fn forget_if_over(&mut self, stream: u64) {
        let is_over = |one: &Stream| one.is_sent && one.is_received && one.queued.is_empty();
        if self.streams.get(&stream).is_some_and(is_over) && !self.turns.contains(&stream) {
            self.streams.remove(&stream);
        }
        if self.streams.is_empty() && self.state == ConnectionState::Draining {
            self.close(None);
        }
    }

    fn close(&mut self, error: Option<Error>) {
        if self.state != ConnectionState::Closed {
            self.state = ConnectionState::Closed;
            self.events.push_back(Event::Closed { error });
        }
    }

    /// Sends a piece of the stream whose turn it is.
    fn send_piece(&mut self, out: &mut SendBuf) {
        let Some(stream) = self.turns.pop_front() else { return };
        let Some(entry) = self.streams.get_mut(&stream) else { return };
        let piece: Vec<u8> = entry.queued.drain(..entry.queued.len().min(PIECE)).collect();
        let is_empty = entry.queued.is_empty();
        let fin = if is_empty && entry.is_sent { Fin::Last } else { Fin::More };
        let mut line = Vec::new();
        Frame::Data { stream, fin, length: piece.len() }.write(&mut line);
        out.put(&line);
        out.put(&piece);
        match (is_empty, fin) {
            (false, _) => self.turns.push_back(stream),
            (true, Fin::More) => {
                self.events.push_back(Event::Writable { stream: StreamId(stream) })
            }
            (true, Fin::Last) => self.forget_if_over(stream),
        }
    }
}

impl proto::Connection for Machine {
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn wants_transmit(&self) -> bool {
        !self.lines.is_empty() || !self.turns.is_empty()
    }

    fn consume(&mut self, _stream: StreamId, _bytes: usize) {}

    fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        let entry = self.streams.get_mut(&stream.0).ok_or(Misuse::UnknownStream)?;
        if entry.is_sent {
            return Err(Misuse::OutOfOrder("bytes after the end"));
        }
        entry.queued.extend(&data);
        entry.is_sent = fin == Fin::Last;
        if !self.turns.contains(&stream.0) {
            self.turns.push_back(stream.0);
        }
        Ok(())
    }

    fn send_trailers(&mut self, _stream: StreamId, _fields: &Fields) -> Result<(), Misuse> {
        Err(Misuse::Unsendable("toy/1 has no trailers"))
    }

    fn unsent(&self, stream: StreamId) -> usize {
        self.streams.get(&stream.0).map_or(0, |entry| entry.queued.len())
    }

    fn reset(&mut self, _now: Instant, stream: StreamId) {
        if self.streams.remove(&stream.0).is_some() {
            self.turns.retain(|other| *other != stream.0);
            Frame::Reset { stream: stream.0 }.write(&mut self.lines);
        }
    }

    fn prioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn shutdown(&mut self, _now: Instant) {
        if self.state == ConnectionState::Open {
            self.state = ConnectionState::Draining;
        }
        if self.streams.is_empty() {
            self.close(None);
        }
    }

    fn header_bytes(&self) -> HeaderBytes {
        HeaderBytes::default()
    }

    fn state(&self) -> ConnectionState {
        self.state
    }
}

impl proto::ByteStreamConnection for Machine {
    fn handle_bytes<'i>(&mut self, _now: Instant, input: &mut &'i [u8]) -> Option<Event<'i>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.state == ConnectionState::Closed {
                *input = &[];
                return None;
            }
            if self.body.is_some() {
                return self.body(input);
            }
            let line = self.line(input)?;
            let Some(frame) = Frame::read(&line) else {
                let rule = "a line that is none of toy/1's";
                let error = Error::PeerViolation { scope: Scope::Connection, code: 0, rule };
                self.close(Some(error));
                continue;
            };
            if let Some(event) = self.frame(frame) {
                return Some(event);
            }
        }
    }

    fn handle_eof(&mut self, _now: Instant) {
        let is_cut = self.body.is_some() || !self.partial.is_empty() || !self.streams.is_empty();
        self.close(is_cut.then_some(Error::Truncated { within: "a message" }));
    }

    fn poll_transmit(&mut self, _now: Instant, out: &mut SendBuf, limit: usize) {
        let end = out.len() + limit;
        out.put(&std::mem::take(&mut self.lines));
        while out.len() < end && !self.turns.is_empty() {
            self.send_piece(out);
        }
    }
}

impl ClientConnection for Machine {
    fn request(
        &mut self,
        _now: Instant,
        head: &RequestHead,
        fin: Fin,
    ) -> Result<StreamId, Refused> {
        if self.state != ConnectionState::Open {
            return Err(Refused::Draining);
        }
        if self.available_streams() == 0 {
            return Err(Refused::Full);
        }
        if !head.fields.is_empty() {
            return Err(Refused::Unsendable("toy/1 has no fields"));
        }
        let stream = self.next;
        self.next += 1;
        self.streams.insert(stream, Stream { is_sent: fin == Fin::Last, ..Stream::default() });
        let RequestHead { method, authority, path, .. } = head.clone();
        Frame::Ask { stream, fin, method, authority, path }.write(&mut self.lines);
        Ok(StreamId(stream))
    }

    fn available_streams(&self) -> usize {
        match self.state {
            ConnectionState::Open => MOST_STREAMS - self.streams.len(),
            ConnectionState::Draining | ConnectionState::Closed => 0,
        }
    }
}

impl ServerConnection for Machine {
    fn inform(&mut self, _stream: StreamId, _head: &ResponseHead) -> Result<(), Misuse> {
        Err(Misuse::Unsendable("toy/1 has no informational responses"))
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        let entry = self.streams.get_mut(&stream.0).ok_or(Misuse::UnknownStream)?;
        entry.is_sent = fin == Fin::Last;
        Frame::Answer { stream: stream.0, fin, status: head.status }.write(&mut self.lines);
        self.forget_if_over(stream.0);
        Ok(())
    }

    fn promise(&mut self, _parent: StreamId, _head: &RequestHead) -> Result<StreamId, Refused> {
        Err(Refused::NotAllowed)
    }
}

impl ServerProtocol for Machine {}

// 3. The arms: what is spoken, and by which machine.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Toy;

impl From<Toy> for SpokenProtocol {
    fn from(_: Toy) -> Self {
        Self::from_name(ALPN)
    }
}

/// The protocol, where TLS agreed on its name or there is no TLS.
fn choose(alpn: Option<Option<&[u8]>>) -> Option<Toy> {
    alpn.is_none_or(|chosen| chosen == Some(ALPN.as_bytes())).then_some(Toy)
}

struct ToyClient;

impl Role for ToyClient {
    type Machine = ClientMachine;
    type ByteStream = dyn ClientByteStream;
    type Protocol = Toy;

    fn choose(&self, alpn: Option<Option<&[u8]>>, _: &[u8]) -> Result<Option<Toy>, Failure> {
        let chosen = alpn.flatten().map(|name| String::from_utf8_lossy(name).into_owned());
        choose(alpn).map(Some).ok_or(Failure::NoAgreement { chosen })
    }

    fn machine(&self, _: Instant, _: Toy, scheme: Scheme) -> Box<dyn ClientByteStream> {
        Box::new(Machine::new(scheme))
    }

    fn application(machine: &Self::ByteStream) -> &ClientMachine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut ClientMachine {
        machine
    }
}

struct ToyServer;

impl Role for ToyServer {
    type Machine = ServerMachine;
    type ByteStream = dyn ServerByteStream;
    type Protocol = Toy;

    fn choose(&self, alpn: Option<Option<&[u8]>>, _: &[u8]) -> Result<Option<Toy>, Failure> {
        choose(alpn).map(Some).ok_or(Failure::UnknownProtocol)
    }

    fn machine(&self, _: Instant, _: Toy, scheme: Scheme) -> Box<dyn ServerByteStream> {
        Box::new(Machine::new(scheme))
    }

    fn application(machine: &Self::ByteStream) -> &ServerMachine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut ServerMachine {
        machine
    }
}

// The applications above it, and the bytes between them.

/// Asks for `/1000`, `/20` and `/` at once: a path tells how long the body is to be.
#[derive(Debug, Default)]
struct Asker {
    bodies: BTreeMap<StreamId, Vec<u8>>,
    finished: Vec<StreamId>,
}

impl Handler<ToyClient> for Asker {
    fn handle_ready(&mut self, machine: &mut ClientMachine, _: Negotiated<'_, Toy>) {
        for path in ["/1000", "/20", "/"] {
            machine
                .request(NOW, &RequestHead::get(Scheme::Http, "a.test", path), Fin::Last)
                .unwrap();
        }
    }

    fn handle_event(&mut self, _: &mut ClientMachine, event: Event<'_>) {
        let (stream, fin) = match event {
            Event::Response { stream, head, fin } => {
                assert_eq!(head.status, Status::OK);
                assert_eq!(self.bodies.insert(stream, Vec::new()), None, "a head comes once");
                (stream, fin)
            }
            Event::Data { stream, data, fin } => {
                self.bodies.get_mut(&stream).unwrap().extend_from_slice(data);
                (stream, fin)
            }
            other => panic!("{other:?}"),
        };
        if fin == Fin::Last {
            self.finished.push(stream);
        }
    }
}

#[derive(Debug, Default)]
struct Answerer(Vec<String>);

impl Handler<ToyServer> for Answerer {
    fn handle_ready(&mut self, _: &mut ServerMachine, _: Negotiated<'_, Toy>) {}

    fn handle_event(&mut self, machine: &mut ServerMachine, event: Event<'_>) {
        let Event::Request { stream, head, .. } = event else { panic!("{event:?}") };
        let length = head.path[1..].parse().unwrap_or(0);
        let fin = if length == 0 { Fin::Last } else { Fin::More };
        machine.respond(stream, &ResponseHead::new(Status::OK), fin).unwrap();
        if length > 0 {
            machine.send(stream, vec![b'x'; length].into(), Fin::Last).unwrap();
        }
        self.0.push(head.path);
    }
}

/// TLS of both sides, with the names that they have in ALPN.
fn layers(offered: &str, spoken: &str) -> [Layer; 2] {
    let authority = Authority::new(AuthoritySpec::default()).unwrap();
    let mut server = ServerTlsOptions::new(vec![authority.issue(&["a.test"]).unwrap()]);
    server.alpn = vec![spoken.to_owned()];
    let roots = vec![authority.root_pem()];
    let client =
        ClientTlsOptions { roots, alpn: vec![offered.to_owned()], ..ClientTlsOptions::default() };
    let client = Tls::client(&ClientTls::new(client).unwrap(), "a.test").unwrap();
    let server = Tls::server(&ServerTls::new(server).unwrap()).unwrap();
    [Layer::secured(client), Layer::secured(server)]
}

struct Pair {
    near: Connection<ToyClient>,
    far: Connection<ToyServer>,
    asker: Asker,
    answerer: Answerer,
}

impl Pair {
    fn connected([near, far]: [Layer; 2]) -> Self {
        let mut pair = Self {
            near: Connection::connecting(NOW, ToyClient, near),
            far: Connection::accepted(NOW, ToyServer, far),
            asker: Asker::default(),
            answerer: Answerer::default(),
        };
        pair.near.handle_connected(NOW, &mut pair.asker).unwrap();
        pair
    }

    /// Carries bytes both ways until neither side has any, in pieces of `sizes` in turn.
    fn run(&mut self, sizes: &[usize]) -> Result<(), Failure> {
        let mut sizes = sizes.iter().copied().cycle();
        loop {
            let (mut there, mut back) = (SendBuf::new(), SendBuf::new());
            self.near.poll_transmit(NOW, &mut there, 300);
            self.far.poll_transmit(NOW, &mut back, 300);
            if there.is_empty() && back.is_empty() {
                return Ok(());
            }
            for piece in cut(&there.to_vec(), &mut sizes) {
                self.far.handle_bytes(NOW, piece, &mut self.answerer)?;
            }
            for piece in cut(&back.to_vec(), &mut sizes) {
                self.near.handle_bytes(NOW, piece, &mut self.asker)?;
            }
        }
    }

    fn assert_answered(&self) {
        assert_eq!(self.answerer.0, ["/1000", "/20", "/"]);
        let lengths: Vec<usize> = self.asker.bodies.values().map(Vec::len).collect();
        assert_eq!(lengths, [1000, 20, 0]);
        // The streams take turns: the long answer, asked for first, ends last.
        assert_eq!(self.asker.finished, [StreamId(2), StreamId(1), StreamId(0)]);
    }
}

fn cut<'b>(mut bytes: &'b [u8], sizes: &mut impl Iterator<Item = usize>) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(sizes.next().unwrap().min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn several_streams_are_answered_at_once_however_the_bytes_are_cut(
        sizes in prop::collection::vec(1..200usize, 1..8),
        is_secured: bool,
    ) {
        let clear = [Layer::Clear, Layer::Clear];
        let mut pair = Pair::connected(if is_secured { layers(ALPN, ALPN) } else { clear });
        pair.run(&sizes).unwrap();
        pair.assert_answered();
        prop_assert_eq!(pair.near.is_secured(), is_secured);
    }
}

#[test]
fn alpn_agrees_on_its_name_and_its_row_has_it() {
    let mut pair = Pair::connected(layers(ALPN, ALPN));
    pair.run(&[usize::MAX]).unwrap();
    pair.assert_answered();
    assert_eq!(pair.near.protocol(), Some(Toy));
    let mut record = ConnectionRecord::begun(0, "a".into(), "b".into(), NOW);
    pair.near.complete(&mut record);
    assert_eq!(record.protocol.name(), ALPN);
    assert_eq!(record.tls.unwrap().alpn, ALPN);
}

#[test]
fn a_peer_that_speaks_another_protocol_is_refused_in_the_handshake() {
    let mut pair = Pair::connected(layers(ALPN, "h2"));
    let failure = pair.run(&[usize::MAX]).unwrap_err();
    assert!(matches!(failure, Failure::Handshake(_)), "{failure:?}");
}

#[test]
fn a_line_that_is_no_frame_is_the_peers_violation() {
    let mut machine = Machine::new(Scheme::Http);
    let mut input = &b"hello\n"[..];
    let event = proto::ByteStreamConnection::handle_bytes(&mut machine, NOW, &mut input);
    assert!(
        matches!(event, Some(Event::Closed { error: Some(Error::PeerViolation { .. }) })),
        "{event:?}"
    );
}
