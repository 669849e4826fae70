//! How to add a transport, shown with a toy one: `toy/1`, lines of text with several streams at once.
//!
//! 1. A codec: `codec.rs`, which reads and writes one line. A real one is a module of `wire`.
//! 2. A machine: `machine.rs`, which implements `proto::Connection` with `ClientConnection` and `ServerConnection`. It owns
//!    no socket and reads no clock. A real one is a module of `proto`; it keeps windows and bounds its buffers.
//! 3. One arm in `transport`. A real one is a variant of `transport::Protocol` with its arm in `Protocol::definition` (the
//!    name and the two constructors), its place in `Protocol::ALL`, `impl ServerProtocol` in `server.rs`, and a field of
//!    the two `Settings` if it has any. Only one that is spoken in the clear beside others has a rule in `recognise.rs`.
//!    Here the arms are the two `Role`s of `arms.rs`: nothing in `transport` knows of this protocol.
//! 4. One arm in `study`: a variant of `experiment::Transport` with its defaults, and the name in `trace::Protocol`. A toy
//!    is in no experiment, so it has none.
//!
//! Sockets, TLS, ALPN, time-outs and records come from `transport::StreamConnection`.

#![allow(clippy::unwrap_used)]

mod arms;
mod codec;
mod machine;

use arms::{ALPN, Toy, ToyClient, ToyServer};
use endpoint::SendBuf;
use machine::Machine;
use proptest::prelude::*;
use proto::{Error, Event, Fin, RequestHead, ResponseHead, Scheme, Status, StreamId};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, Layer, ServerTls, ServerTlsOptions, Tls,
};
use std::collections::BTreeMap;
use trace::ConnectionRecord;
use transport::{
    ClientMachine, Failure, Handler, Negotiated, ServerMachine, StreamConnection as Connection,
};
use unit::Instant;

const NOW: Instant = Instant::ZERO;

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
