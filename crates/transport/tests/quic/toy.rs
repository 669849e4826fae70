//! A protocol for tests: the client opens a stream with eight bytes, a number, and the server answers with so many bytes.

use bytes::Bytes;
use endpoint::SendBuf;
use proto::h3::PeerSettings;
use proto::schedule::Priority;
use proto::{
    Backlog, Connection, ConnectionState, Error, Event, Fields, Fin, Misuse, MultiplexedConnection,
    Scheme, StreamAction, StreamId, StreamKind, StreamTransmit, TransportFacts,
};
use std::collections::{BTreeMap, VecDeque};
use trace::{HeaderBytes, SpokenProtocol};
use transport::{ClientByteStream, Failure, QuicRole, Role};
use unit::Instant;

pub(crate) const ALPN: &str = "toy/1";

/// Either side's machine.
#[derive(Default)]
pub(crate) struct Toy {
    is_server: bool,
    /// Bytes to send, by stream.
    pub(crate) unsent: BTreeMap<u64, usize>,
    questions: VecDeque<(u64, [u8; 8])>,
    blocked: Vec<u64>,
    actions: VecDeque<StreamAction>,
    pub(crate) limit: u64,
    pub(crate) opened: u64,
    pub(crate) closed: Option<Option<Error>>,
    events: VecDeque<Event<'static>>,
    /// How many bytes it was asked for each time.
    pub(crate) asked_for: Vec<usize>,
    /// Largest payload of a datagram that the peer takes.
    pub(crate) max_datagram: Option<usize>,
    pub(crate) datagrams_out: VecDeque<Bytes>,
    pub(crate) datagrams_in: Vec<Bytes>,
    /// It reads no stream: each waits for something else.
    pub(crate) is_waiting: bool,
    /// Streams that the peer has reset, and the codes.
    pub(crate) resets: Vec<(u64, u64)>,
}

impl Toy {
    /// Closes the connection with this code.
    pub(crate) fn close(&mut self, code: u64) {
        self.actions.push_back(StreamAction::Close { code, reason: "as told" });
    }

    /// Client: asks for so many bytes.
    pub(crate) fn ask(&mut self, bytes: u64) -> StreamId {
        let stream = StreamId(4 * self.opened);
        assert!(self.opened < self.limit, "the peer allows {} streams", self.limit);
        self.opened += 1;
        self.actions.push_back(StreamAction::Open { stream, kind: StreamKind::Bidirectional });
        self.questions.push_back((stream.0, bytes.to_be_bytes()));
        stream
    }

    /// Ends its waiting.
    pub(crate) fn read_again(&mut self, stream: StreamId) {
        self.is_waiting = false;
        self.actions.push_back(StreamAction::Read { stream });
    }
}

impl Connection for Toy {
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn wants_transmit(&self) -> bool {
        !self.unsent.is_empty() || !self.questions.is_empty()
    }

    fn consume(&mut self, _stream: StreamId, _bytes: usize) {}

    fn send(&mut self, _stream: StreamId, _data: Bytes, _fin: Fin) -> Result<(), Misuse> {
        Err(Misuse::UnknownStream)
    }

    fn send_trailers(&mut self, _stream: StreamId, _fields: &Fields) -> Result<(), Misuse> {
        Err(Misuse::UnknownStream)
    }

    fn unsent(&self, stream: StreamId) -> usize {
        self.unsent.get(&stream.0).copied().unwrap_or(0)
    }

    fn reset(&mut self, _now: Instant, stream: StreamId) {
        self.unsent.remove(&stream.0);
        self.actions.push_back(StreamAction::Reset { stream, code: 7 });
        self.actions.push_back(StreamAction::StopSending { stream, code: 7 });
    }

    fn prioritise(&mut self, _stream: StreamId, _priority: Priority) {}

    fn shutdown(&mut self, _now: Instant) {
        self.actions.push_back(StreamAction::Close { code: Near::NO_ERROR, reason: "done" });
    }

    fn header_bytes(&self) -> HeaderBytes {
        HeaderBytes::default()
    }

    fn state(&self) -> ConnectionState {
        if self.closed.is_some() { ConnectionState::Closed } else { ConnectionState::Open }
    }
}

impl MultiplexedConnection for Toy {
    fn handle_transport(&mut self, _now: Instant, facts: TransportFacts) {
        self.max_datagram = facts.max_datagram;
    }

    fn handle_stream_limit(&mut self, kind: StreamKind, total: u64) {
        if kind == StreamKind::Bidirectional {
            self.limit = total;
        }
    }

    fn handle_stream<'i>(
        &mut self,
        _now: Instant,
        stream: StreamId,
        input: &mut &'i [u8],
        fin: Fin,
    ) -> Option<Event<'i>> {
        let data = std::mem::take(input);
        if self.is_server {
            if let Ok(number) = data.try_into() {
                self.unsent.insert(stream.0, u64::from_be_bytes(number) as usize);
            }
            return None;
        }
        // The second call for the same bytes finds none.
        let is_new = !data.is_empty() || fin == Fin::Last && !self.blocked.contains(&stream.0);
        if fin == Fin::Last {
            self.blocked.push(stream.0);
        }
        is_new.then_some(Event::Data { stream, data, fin })
    }

    /// A client's streams that have not ended are those that it does not call blocked.
    fn has_requests(&self) -> bool {
        self.opened > self.blocked.len() as u64
    }

    fn wants_read(&self, _stream: StreamId) -> bool {
        !self.is_waiting
    }

    fn take_backlog(&mut self) -> Option<Backlog> {
        None
    }

    fn handle_stream_reset(&mut self, _now: Instant, stream: StreamId, code: u64) {
        self.resets.push((stream.0, code));
        let error = Error::PeerReset { code, name: "" };
        self.events.push_back(Event::Reset { stream, error });
    }

    fn handle_stop_sending(&mut self, _now: Instant, stream: StreamId, _code: u64) {
        self.unsent.remove(&stream.0);
    }

    fn handle_stream_blocked(&mut self, stream: StreamId) {
        self.blocked.push(stream.0);
    }

    fn handle_stream_writable(&mut self, stream: StreamId) {
        self.blocked.retain(|other| *other != stream.0);
    }

    /// A server sends it back.
    fn handle_datagram(&mut self, _now: Instant, payload: &[u8]) {
        let datagram = Bytes::copy_from_slice(payload);
        if self.is_server {
            self.datagrams_out.push_back(datagram.clone());
        }
        self.datagrams_in.push(datagram);
    }

    fn handle_transport_closed(&mut self, _now: Instant, error: Option<Error>) {
        self.closed = Some(error.clone());
        self.events.push_back(Event::Closed { error });
    }

    fn poll_event(&mut self, _now: Instant) -> Option<Event<'static>> {
        self.events.pop_front()
    }

    fn poll_stream_action(&mut self) -> Option<StreamAction> {
        self.actions.pop_front()
    }

    fn poll_stream_transmit(
        &mut self,
        _now: Instant,
        out: &mut SendBuf,
        limit: usize,
    ) -> Option<StreamTransmit> {
        if let Some((stream, question)) = self.questions.pop_front() {
            out.put(&question);
            return Some(StreamTransmit { stream: StreamId(stream), fin: Fin::Last });
        }
        let can_go = |(stream, _): &(&u64, &usize)| !self.blocked.contains(stream);
        let (&stream, &left) = self.unsent.iter().find(can_go)?;
        self.asked_for.push(limit);
        let bytes = left.min(limit);
        out.put_shared(Bytes::from(vec![b'x'; bytes]));
        let fin = if bytes == left { Fin::Last } else { Fin::More };
        match fin {
            Fin::Last => self.unsent.remove(&stream),
            Fin::More => self.unsent.insert(stream, left - bytes),
        };
        Some(StreamTransmit { stream: StreamId(stream), fin })
    }

    fn poll_datagram(&mut self) -> Option<Bytes> {
        self.datagrams_out.pop_front()
    }
}

/// The role of a client.
pub(crate) struct Near;

/// The role of a server.
pub(crate) struct Far;

/// The protocol has no name among those that the lab knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ToyProtocol;

impl From<ToyProtocol> for SpokenProtocol {
    fn from(_: ToyProtocol) -> Self {
        Self::from_name(ALPN)
    }
}

macro_rules! role {
    ($role:ty, $is_server:literal) => {
        impl Role for $role {
            type Machine = Toy;
            // It does not run over byte streams.
            type ByteStream = dyn ClientByteStream;
            type Protocol = ToyProtocol;

            fn choose(
                &self,
                alpn: Option<Option<&[u8]>>,
                _seen: &[u8],
            ) -> Result<Option<ToyProtocol>, Failure> {
                assert_eq!(alpn, Some(Some(ALPN.as_bytes())));
                Ok(Some(ToyProtocol))
            }

            fn known(&self) -> Option<ToyProtocol> {
                Some(ToyProtocol)
            }

            fn machine(
                &self,
                _: Instant,
                _: ToyProtocol,
                _: Scheme,
            ) -> Option<Box<Self::ByteStream>> {
                None
            }

            fn application(_: &Self::ByteStream) -> &Toy {
                unreachable!("it runs over QUIC")
            }

            fn application_mut(_: &mut Self::ByteStream) -> &mut Toy {
                unreachable!("it runs over QUIC")
            }
        }

        impl QuicRole for $role {
            type Multiplexed = Toy;

            const NO_ERROR: u64 = 3;

            fn error_name(_code: u64) -> &'static str {
                "of the toy"
            }

            fn multiplexed(
                &self,
                _now: Instant,
                _protocol: ToyProtocol,
                _remembered: Option<PeerSettings>,
            ) -> Option<Box<Toy>> {
                Some(Box::new(Toy { is_server: $is_server, ..Toy::default() }))
            }

            fn over_quic(machine: &Toy) -> &Toy {
                machine
            }

            fn over_quic_mut(machine: &mut Toy) -> &mut Toy {
                machine
            }
        }
    };
}

role!(Near, false);
role!(Far, true);
