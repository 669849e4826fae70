//! A client and a server of one framing in virtual time, with random chunks, windows, bodies and resets.
//! At the end no byte is lost and every window is whole again.

use crate::multiplex::{Endowment, Framing, Role, Session};
use crate::schedule::RoundRobin;
use crate::{
    ConnectionState, Event, Fin, Method, RequestHead, ResponseHead, Scheme, Status, StreamId,
};
use bytes::Bytes;
use endpoint::SendBuf;
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Random};

/// Runs a pair whose sessions `session` makes, until all is answered; gives it back for more checks.
pub(crate) fn run<F: Framing>(
    random: Random,
    resets: bool,
    session: impl FnMut(Endowment) -> Session<F>,
) -> Result<[Session<F>; 2], TestCaseError> {
    let mut pair = Pair::new(random, session);
    let mut asked = 0;
    for turn in 0..40_000 {
        if asked < 25 && pair.random.below(4) == 0 {
            asked += 1;
            pair.ask();
        }
        if resets && pair.random.below(40) == 0 {
            let stream = StreamId(pair.random.below(60) | 1);
            let now = pair.now;
            if pair.random.below(2) == 0 {
                pair.client.reset(now, stream);
                pair.near.to_send.remove(&stream);
                pair.near.reset.push(stream);
            } else {
                pair.server.reset(now, stream);
                pair.far.to_send.remove(&stream);
                pair.far.reset.push(stream);
            }
        }
        pair.turn();
        if asked == 25 && pair.is_quiet() {
            break;
        }
        prop_assert!(turn < 39_999, "still busy: a deadlock");
    }
    if !resets {
        prop_assert_eq!(pair.near.ended.len(), 25);
        prop_assert_eq!(
            pair.near.received.values().sum::<u64>(),
            pair.far.sent.values().sum::<u64>()
        );
        prop_assert_eq!(
            pair.far.received.values().sum::<u64>(),
            pair.near.sent.values().sum::<u64>()
        );
        prop_assert!(pair.near.reset.is_empty() && pair.far.reset.is_empty());
    }
    let (near, far) = (&pair.client, &pair.server);
    prop_assert_eq!(near.windows().outstanding(), 0);
    prop_assert_eq!(far.windows().outstanding(), 0);
    prop_assert_eq!(near.windows().balances().0, far.windows().balances().1);
    prop_assert_eq!(far.windows().balances().0, near.windows().balances().1);
    prop_assert_eq!((near.streams_kept(), far.streams_kept()), (0, 0));
    prop_assert_eq!((near.has_ready_streams(), far.has_ready_streams()), (false, false));
    pair.client.shut_down(pair.now);
    pair.server.shut_down(pair.now);
    prop_assert_eq!(pair.client.state(), ConnectionState::Closed);
    Ok([pair.client, pair.server])
}

/// What one side does with its streams.
#[derive(Default)]
struct App {
    /// Bytes left to queue.
    to_send: HashMap<StreamId, u64>,
    sent: HashMap<StreamId, u64>,
    received: HashMap<StreamId, u64>,
    ended: Vec<StreamId>,
    reset: Vec<StreamId>,
    /// Bytes that were not given back yet.
    held: Vec<(StreamId, usize)>,
}

impl App {
    fn pump<F: Framing>(&mut self, connection: &mut Session<F>, random: &mut Random) {
        let mut streams: Vec<_> = self.to_send.keys().copied().collect();
        streams.sort();
        for stream in streams {
            while connection.unsent(stream) < 20_000 {
                let Some(left) = self.to_send.get_mut(&stream) else { break };
                let size = (*left).min(1 + random.below(9_000));
                let at = self.sent.entry(stream).or_default();
                let body: Vec<u8> = (*at..*at + size).map(byte).collect();
                *at += size;
                *left -= size;
                let fin = if *left == 0 { Fin::Last } else { Fin::More };
                if connection.send(stream, Bytes::from(body), fin).is_err() || fin == Fin::Last {
                    self.to_send.remove(&stream);
                }
            }
        }
    }

    fn on_data(&mut self, stream: StreamId, data: &[u8], fin: Fin) {
        let at = self.received.entry(stream).or_default();
        for &got in data {
            assert_eq!(got, byte(*at), "byte {at} of {stream:?}");
            *at += 1;
        }
        self.held.push((stream, data.len()));
        if fin == Fin::Last {
            self.ended.push(stream);
        }
    }

    fn give_back<F: Framing>(&mut self, connection: &mut Session<F>) {
        for (stream, bytes) in self.held.drain(..) {
            connection.consume(stream, bytes);
        }
    }
}

fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9) >> 11) as u8
}

struct Pair<F: Framing> {
    client: Session<F>,
    server: Session<F>,
    near: App,
    far: App,
    now: Instant,
    random: Random,
    up: Vec<u8>,
    down: Vec<u8>,
}

impl<F: Framing> Pair<F> {
    fn new(random: Random, mut session: impl FnMut(Endowment) -> Session<F>) -> Self {
        let now = Instant::from_nanos(5_000_000_000);
        let mut session = |role| {
            let (scheduler, tracer) = (Box::new(RoundRobin::default()), Tracer::off());
            session(Endowment { role, now, scheduler, tracer })
        };
        Self {
            client: session(Role::Client),
            server: session(Role::Server),
            near: App::default(),
            far: App::default(),
            now,
            random,
            up: Vec::new(),
            down: Vec::new(),
        }
    }

    /// Asks for a body of random size with one of random size.
    fn ask(&mut self) {
        let (up, down) = (self.random.below(50_000), self.random.below(150_000));
        let mut head = RequestHead::get(Scheme::Http, "pair.test", format!("/{down}"));
        let fin = if up == 0 || self.random.below(2) == 0 { Fin::Last } else { Fin::More };
        if fin == Fin::More {
            head.method = Method::Post;
            head.fields.push(b"content-length", up.to_string().as_bytes());
        }
        head.fields.push(b"x-random", &vec![b'r'; self.random.below(300) as usize]);
        let Ok(stream) = self.client.request(self.now, &head, fin) else { return };
        if fin == Fin::More {
            self.near.to_send.insert(stream, up);
        }
    }

    fn turn(&mut self) {
        self.now += Duration::from_millis(1);
        self.near.pump(&mut self.client, &mut self.random);
        self.far.pump(&mut self.server, &mut self.random);
        for (connection, wire) in
            [(&mut self.client, &mut self.up), (&mut self.server, &mut self.down)]
        {
            let mut out = SendBuf::new();
            let limit = 1 + self.random.below(40_000) as usize;
            connection.poll_transmit(self.now, &mut out, limit);
            wire.extend(out.to_vec());
        }
        let chunk = self.chunk(true);
        self.deliver_up(&chunk);
        let chunk = self.chunk(false);
        self.deliver_down(&chunk);
        if self.random.below(3) == 0 {
            self.near.give_back(&mut self.client);
            self.far.give_back(&mut self.server);
        }
    }

    fn chunk(&mut self, up: bool) -> Vec<u8> {
        let wire = if up { &mut self.up } else { &mut self.down };
        let most = 1 + self.random.below(30_000) as usize;
        wire.drain(..wire.len().min(most)).collect()
    }

    fn deliver_up(&mut self, mut input: &[u8]) {
        while let Some(event) = self.server.handle_bytes(self.now, &mut input) {
            match event {
                Event::Request { stream, head, .. } => {
                    let size = head.path[1..].parse().unwrap();
                    let ok = ResponseHead::new(Status::OK);
                    self.server.respond(stream, &ok, Fin::More).unwrap();
                    self.far.to_send.insert(stream, size);
                }
                Event::Data { stream, data, fin } => self.far.on_data(stream, data, fin),
                Event::Reset { stream, .. } => {
                    self.far.to_send.remove(&stream);
                    self.far.reset.push(stream);
                }
                Event::Closed { error } => panic!("the server closed: {error:?}"),
                _ => {}
            }
        }
    }

    fn deliver_down(&mut self, mut input: &[u8]) {
        while let Some(event) = self.client.handle_bytes(self.now, &mut input) {
            match event {
                Event::Data { stream, data, fin } => self.near.on_data(stream, data, fin),
                Event::Reset { stream, .. } => {
                    self.near.to_send.remove(&stream);
                    self.near.reset.push(stream);
                }
                Event::Response { stream, fin: Fin::Last, .. } => self.near.ended.push(stream),
                Event::Closed { error } => panic!("the client closed: {error:?}"),
                _ => {}
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.up.is_empty()
            && self.down.is_empty()
            && self.near.held.is_empty()
            && self.far.held.is_empty()
            && self.near.to_send.is_empty()
            && self.far.to_send.is_empty()
            && !self.client.wants_transmit()
            && !self.server.wants_transmit()
    }
}
