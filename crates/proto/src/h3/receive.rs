//! The bytes of request streams: frames, bodies and ends (RFC 9114 §4.1, §7).

use super::session::{Broken, Session, connection};
use super::stream::{Message, Reading};
use crate::connection::{ConnectionState, Event, Fin};
use crate::error::Error;
use crate::multiplex::status::Role;
use crate::multiplexed_connection::{Backlog, StreamAction};
use crate::stream_id::StreamId;
use unit::Instant;
use wire::h3::{ErrorCode, FrameHeader, FrameKind, Read};

impl Session {
    /// Takes bytes of any stream, gives an event.
    pub(super) fn handle_stream<'i>(
        &mut self,
        now: Instant,
        stream: StreamId,
        input: &mut &'i [u8],
        fin: Fin,
    ) -> Option<Event<'i>> {
        self.now = now;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.state == ConnectionState::Closed {
                *input = &[];
                return None;
            }
            if self.is_unread() {
                let text = "RFC 9114 §10.5: the peer does not read what it makes us send";
                self.fail_connection(ErrorCode::EXCESSIVE_LOAD, text);
                continue;
            }
            let read = match stream.0 & 2 {
                0 => self.read_request(stream.0, input, fin),
                _ => self.read_unidirectional(stream.0, input, fin).map(|()| None),
            };
            match read {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(broken) => {
                    *input = &[];
                    self.fail(stream.0, broken);
                }
            }
            if input.is_empty() && self.events.is_empty() {
                self.watch_head(stream.0);
                return None;
            }
        }
    }

    /// Reads a request stream up to its next event.
    fn read_request<'i>(
        &mut self,
        id: u64,
        input: &mut &'i [u8],
        fin: Fin,
    ) -> Result<Option<Event<'i>>, Broken> {
        if self.answer_again(id, input, fin)? || !self.is_received(id)? {
            *input = &[];
            return Ok(None);
        }
        while let Some(stream) = self.streams.get_mut(id) {
            if stream.message == Message::Over {
                break;
            }
            if let Some(blocked) = &mut stream.blocked {
                blocked.deferred.extend_from_slice(input);
                blocked.is_last |= fin == Fin::Last;
                break;
            }
            let is_last = fin == Fin::Last;
            if input.is_empty() && !is_whole(&stream.reading) {
                return if is_last { self.end_of_stream(id) } else { Ok(None) };
            }
            match &mut stream.reading {
                Reading::Header => {
                    if let Read::Header(header) = stream.frames.read(input) {
                        self.on_header(id, header)?;
                    }
                }
                Reading::Ignored { left } => {
                    let taken = (*left).min(input.len() as u64);
                    *input = &input[taken as usize..];
                    *left -= taken;
                    if *left == 0 {
                        stream.reading = Reading::Header;
                    }
                }
                Reading::Data { left } => {
                    let (data, rest) = input.split_at((*left).min(input.len() as u64) as usize);
                    *input = rest;
                    *left -= data.len() as u64;
                    if *left == 0 {
                        stream.reading = Reading::Header;
                    }
                    return self.on_data(id, data, is_last && input.is_empty()).map(Some);
                }
                Reading::Section { left, section } => {
                    let (part, rest) = input.split_at((*left).min(input.len()));
                    *input = rest;
                    *left -= part.len();
                    // A section that comes in one piece is read where it lies.
                    if *left > 0 || !section.is_empty() {
                        section.extend_from_slice(part);
                    }
                    if *left == 0 {
                        let section = std::mem::take(section);
                        stream.reading = Reading::Header;
                        let fin = if is_last && input.is_empty() { Fin::Last } else { Fin::More };
                        let whole = if section.is_empty() { part } else { &section };
                        let event = self.on_section(id, whole, fin)?;
                        if event.is_some() {
                            return Ok(event);
                        }
                    }
                }
            }
        }
        *input = &[];
        Ok(None)
    }

    /// Whether the stream's bytes are of interest. A server begins a stream that it sees first.
    fn is_received(&mut self, id: u64) -> Result<bool, Broken> {
        if self.streams.contains(id) {
            return Ok(true);
        }
        if id & 1 != 0 {
            // RFC 9114 §6.1: neither role uses streams that the server opens.
            let text = "RFC 9114 §6.1: the server opens no bidirectional stream";
            return Err(connection(ErrorCode::STREAM_CREATION_ERROR, text));
        }
        if self.role == Role::Client {
            return Ok(false);
        }
        if !self.meet(id)? {
            return Ok(false);
        }
        if self.goaway_sent.is_some_and(|first| id >= first) {
            self.refuse(id, ErrorCode::REQUEST_REJECTED);
            return Ok(false);
        }
        if self.overtakes_released(id) {
            self.reopen_released();
        }
        let mut stream = self.buffers.stream();
        stream.head_began = Some(self.now);
        self.streams.insert(id, stream);
        Ok(true)
    }

    /// Server: something came of a request stream. Tells whether it is the first.
    pub(super) fn meet(&mut self, id: u64) -> Result<bool, Broken> {
        if id < self.next_request {
            return Ok(self.unseen.remove(&id));
        }
        while self.next_request < id {
            self.unseen.insert(self.next_request);
            self.next_request += 4;
            if self.unseen.len() > MOST_UNSEEN {
                let text = "RFC 9114 §10.5: more streams than a transport should allow";
                return Err(connection(ErrorCode::EXCESSIVE_LOAD, text));
            }
        }
        self.next_request = id + 4;
        Ok(true)
    }

    /// Server: ends a request stream of which nothing is kept, and counts it. Its head may have referred to the table
    /// (RFC 9204 §2.2.2.2).
    fn refuse(&mut self, id: u64, code: ErrorCode) {
        self.forget_early(id);
        self.decoder.cancel_stream(id);
        self.move_instructions();
        let (stream, code) = (StreamId(id), code.0);
        self.actions.push_back(StreamAction::Reset { stream, code });
        self.actions.push_back(StreamAction::StopSending { stream, code });
        self.count_reset(0);
    }

    /// Server: the peer gave a request up before any byte of it came (RFC 9114 §4.1.1). Bytes that come later are ignored.
    fn give_up_unseen(&mut self, stream: StreamId) {
        if self.role == Role::Client || stream.0 & 1 != 0 {
            return;
        }
        match self.meet(stream.0) {
            Ok(true) => self.refuse(stream.0, ErrorCode::REQUEST_CANCELLED),
            Ok(false) => {}
            Err(broken) => self.fail(stream.0, broken),
        }
    }

    /// What a frame's header means on a request stream (RFC 9114 §7, table 1).
    fn on_header(&mut self, id: u64, header: FrameHeader) -> Result<(), Broken> {
        let unexpected = |text| Err(connection(ErrorCode::FRAME_UNEXPECTED, text));
        let FrameHeader { kind, length } = header;
        let frame = kind.name();
        self.tracer.emit(self.now, || trace::Event::FrameParsed { stream: id, frame, length });
        let limit = self.settings.max_field_section_size as u64;
        let (is_client, now) = (self.role == Role::Client, self.now);
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        stream.reading = match (kind, stream.message) {
            (FrameKind::DATA, Message::Head) => {
                return unexpected("RFC 9114 §4.1: DATA before HEADERS");
            }
            (FrameKind::DATA | FrameKind::HEADERS, Message::Trailers) => {
                return unexpected("RFC 9114 §4.1: a frame after the trailers");
            }
            (FrameKind::HEADERS, Message::Body) if stream.is_tunnel => {
                return unexpected("RFC 9114 §4.4: DATA alone follows CONNECT");
            }
            (FrameKind::DATA, _) => Reading::Data { left: length },
            (FrameKind::HEADERS, _) if length > limit => {
                let text = "RFC 9114 §4.2.2: a field section larger than our limit";
                return Err(Broken::Stream(ErrorCode::EXCESSIVE_LOAD, text));
            }
            (FrameKind::HEADERS, _) => {
                stream.head_began = stream.head_began.or(Some(now));
                Reading::Section { left: length as usize, section: Vec::new() }
            }
            (FrameKind::PUSH_PROMISE, _) if is_client => {
                let text = "RFC 9114 §7.2.5: a push beyond MAX_PUSH_ID, which was never sent";
                return Err(connection(ErrorCode::ID_ERROR, text));
            }
            (kind, _) if kind.name() != "unknown" => {
                return unexpected("RFC 9114 §7.2: the frame does not belong to a request");
            }
            (kind, _) if kind.is_http2_only() => {
                return unexpected("RFC 9114 §7.2.8: a frame of HTTP/2 that HTTP/3 does not have");
            }
            _ => Reading::Ignored { left: length },
        };
        match kind {
            FrameKind::DATA if length > 0 => Ok(()),
            FrameKind::HEADERS => Ok(()),
            _ => self.count_chatter(),
        }
    }

    fn on_data<'i>(&mut self, id: u64, data: &'i [u8], is_last: bool) -> Result<Event<'i>, Broken> {
        let wrong = |text| Err(Broken::Stream(ErrorCode::MESSAGE_ERROR, text));
        if let Some(stream) = self.streams.get_mut(id) {
            stream.unconsumed += data.len();
            if let Some(left) = &mut stream.body_left {
                match left.checked_sub(data.len() as u64) {
                    Some(less) => *left = less,
                    None => return wrong("RFC 9114 §4.1.2: more body than Content-Length says"),
                }
            }
        }
        let is_last =
            is_last && self.streams.get(id).is_some_and(|stream| stream.is_between_frames());
        let fin = if is_last { Fin::Last } else { Fin::More };
        if is_last {
            self.finish_message(id)?;
        }
        Ok(Event::Data { stream: StreamId(id), data, fin })
    }

    /// The peer's side of the stream ends between frames.
    pub(super) fn finish_message(&mut self, id: u64) -> Result<(), Broken> {
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        if stream.body_left.is_some_and(|left| left > 0) {
            let text = "RFC 9114 §4.1.2: less body than Content-Length says";
            return Err(Broken::Stream(ErrorCode::MESSAGE_ERROR, text));
        }
        stream.message = Message::Over;
        self.forget_if_over(id);
        Ok(())
    }

    /// The peer's side ends, and no frame is whole at the end.
    fn end_of_stream(&mut self, id: u64) -> Result<Option<Event<'static>>, Broken> {
        let Some(stream) = self.streams.get(id) else { return Ok(None) };
        if !stream.is_between_frames() {
            let text = "RFC 9114 §7.1: the stream ends within a frame";
            return Err(connection(ErrorCode::FRAME_ERROR, text));
        }
        let message = stream.message;
        if message == Message::Head {
            let (code, text) = match self.role {
                Role::Server => (
                    ErrorCode::REQUEST_INCOMPLETE,
                    "RFC 9114 §4.1: the stream ends before the request",
                ),
                Role::Client => {
                    (ErrorCode::MESSAGE_ERROR, "RFC 9114 §4.1: the stream ends before the response")
                }
            };
            return Err(Broken::Stream(code, text));
        }
        self.finish_message(id)?;
        // Trailers have told the end already.
        let told = message == Message::Trailers;
        let (stream, fin) = (StreamId(id), Fin::Last);
        Ok((!told).then_some(Event::Data { stream, data: &[], fin }))
    }

    /// The peer abandoned its side of a stream.
    pub(super) fn handle_stream_reset(&mut self, now: Instant, stream: StreamId, code: u64) {
        self.now = now;
        if self.state == ConnectionState::Closed {
            return;
        }
        if stream.0 & 2 != 0 {
            return self.lose_input(stream.0);
        }
        let Some(entry) = self.streams.get(stream.0) else { return self.give_up_unseen(stream) };
        let is_told = self.is_told_of_reset(entry);
        if entry.message == Message::Over {
            return;
        }
        let (code, unsent) = (ErrorCode(code), entry.unsent());
        if !entry.is_sent {
            let code = ErrorCode::REQUEST_CANCELLED.0;
            self.actions.push_back(StreamAction::Reset { stream, code });
        }
        self.forget(stream.0);
        self.tracer.emit(now, || trace::Event::StreamReset { stream: stream.0, code: code.0 });
        if is_told {
            let rejected = self.role == Role::Client && code == ErrorCode::REQUEST_REJECTED;
            let error = match rejected {
                true => Error::Unprocessed,
                false => Error::PeerReset { code: code.0, name: code.name() },
            };
            self.events.push_back(Event::Reset { stream, error });
        }
        // A server ends what its client has asked for: that is no flood.
        if self.role == Role::Server {
            self.count_reset(unsent);
        }
        self.close_if_drained();
    }

    /// The peer wants no more of a stream.
    pub(super) fn handle_stop_sending(&mut self, now: Instant, stream: StreamId, code: u64) {
        self.now = now;
        if self.state == ConnectionState::Closed {
            return;
        }
        if stream.0 & 2 != 0 {
            return self.lose_output(stream.0);
        }
        self.reopen_released();
        if !self.streams.contains(stream.0) {
            self.held.remove(&stream.0);
            return self.give_up_unseen(stream);
        }
        let Some(entry) = self.streams.get_mut(stream.0) else { return };
        // It waits for no credit any more.
        entry.is_stuck = false;
        entry.stall.end();
        if entry.is_sent {
            return;
        }
        let is_tunnel = entry.is_tunnel;
        entry.is_sent = true;
        entry.head.clear();
        let reply = StreamAction::Reset { stream, code: ErrorCode::REQUEST_CANCELLED.0 };
        self.actions.push_back(reply);
        self.update(stream.0);
        // RFC 9114 §4.1: a server may need no more of a request and still answer it, and a client keeps a whole response whatever
        // becomes of its request. A tunnel has no response that could be whole.
        let may_be_answered = !is_tunnel || ErrorCode(code) == ErrorCode::NO_ERROR;
        if self.role == Role::Client && may_be_answered {
            return self.forget_if_over(stream.0);
        }
        let error = Error::PeerReset { code, name: ErrorCode(code).name() };
        let unsent = self.abandon_for(stream.0, ErrorCode::REQUEST_CANCELLED, error);
        self.count_reset(unsent);
        self.close_if_drained();
    }

    /// Whether a stream should be read now.
    pub(super) fn wants_read(&self, stream: StreamId) -> bool {
        let window = self.settings.stream_window;
        let is_deferred = self.backlog.iter().any(|backlog| backlog.stream == stream);
        !is_deferred
            && self
                .streams
                .get(stream.0)
                .is_none_or(|entry| entry.blocked.is_none() && entry.unconsumed < window)
    }

    pub(super) fn take_backlog(&mut self) -> Option<Backlog> {
        self.backlog.pop_front()
    }
}

/// Whether nothing more is needed to go on.
fn is_whole(reading: &Reading) -> bool {
    matches!(
        reading,
        Reading::Section { left: 0, .. } | Reading::Data { left: 0 } | Reading::Ignored { left: 0 }
    )
}

/// Streams that may be opened by their number alone.
const MOST_UNSEEN: usize = 10_000;
