//! The machine, the same for both sides.

use crate::codec::Frame;
use bytes::Bytes;
use endpoint::SendBuf;
use proto::schedule::Priority;
use proto::{
    ClientConnection, ConnectionState, Error, Event, Fields, Fin, Misuse, Refused, RequestHead,
    ResponseHead, Scheme, Scope, ServerConnection, StreamId,
};
use std::collections::{BTreeMap, VecDeque};
use trace::HeaderBytes;
use transport::ServerProtocol;
use unit::Instant;

/// Body bytes that go out before it is another stream's turn.
const PIECE: usize = 100;
const MOST_STREAMS: usize = 100;

pub(crate) struct Machine {
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
    pub(crate) fn new(scheme: Scheme) -> Self {
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
                let head = Box::new(RequestHead { method, ..get });
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
