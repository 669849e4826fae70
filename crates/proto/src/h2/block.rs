//! Header blocks in: gathered over CONTINUATION, decoded whatever becomes of them (the compression
//! state is the connection's, RFC 9113 §4.3), then given to their stream.

use super::connection::{Core, Over, Place, Role, Shutdown};
use super::data::Ended;
use super::head::{ExtendedConnect, HeadReader, Kind, Malformed, ReadRequest, ReadResponse};
use super::priority;
use crate::connection::{Event, Fin, StreamId};
use crate::message::{Method, ResponseHead, Status};
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{Asked, BodyLength, Gone, Incoming, Opener};
use crate::multiplex::timers::Timer;
use crate::schedule::Priority;
use wire::Field;
use wire::h2::{Dependency, ErrorCode};
use wire::hpack::{self, Fault};

/// What began a header block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begun {
    Headers { end_stream: bool, dependency: Option<Dependency> },
    Promise { promised: u32 },
}

/// A header block that goes on in CONTINUATION.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    begun: Begun,
    bytes: Vec<u8>,
    continuations: u32,
}

/// A HEADERS frame whose block is whole.
#[derive(Debug, Clone, Copy)]
struct Headers {
    id: u32,
    fin: Fin,
    dependency: Option<Dependency>,
}

/// What a HEADERS frame is for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Request,
    Response,
    Trailers,
    /// Nothing: the stream is gone.
    Nothing,
    /// An error of the stream.
    Wrong(ErrorCode, &'static str),
}

impl Core {
    pub(super) fn on_block(
        &mut self,
        stream: u32,
        begun: Begun,
        fragment: &[u8],
        end_headers: bool,
    ) -> Result<(), Over> {
        if end_headers {
            return self.on_whole_block(stream, begun, fragment);
        }
        self.timers.set(Timer::HeaderBlock, self.now + self.settings.head_timeout);
        self.block = Some(Block { stream, begun, bytes: fragment.to_vec(), continuations: 0 });
        Ok(())
    }

    pub(super) fn on_continuation(
        &mut self,
        fragment: &[u8],
        end_headers: bool,
    ) -> Result<(), Over> {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        block.bytes.extend_from_slice(fragment);
        block.continuations += 1;
        let too_long = block.bytes.len() > self.settings.max_header_list_size as usize;
        if too_long || block.continuations > self.settings.limits.continuations {
            let rule = "RFC 9113 §10.5.1: a header block without end";
            return Err(self.fail(ErrorCode::ENHANCE_YOUR_CALM, rule));
        }
        if end_headers {
            self.timers.cancel(Timer::HeaderBlock);
            return self.on_whole_block(block.stream, block.begun, &block.bytes);
        }
        self.block = Some(block);
        Ok(())
    }

    fn on_whole_block(&mut self, id: u32, begun: Begun, block: &[u8]) -> Result<(), Over> {
        match begun {
            Begun::Headers { end_stream, dependency } => {
                let fin = if end_stream { Fin::Last } else { Fin::More };
                self.on_headers(Headers { id, fin, dependency }, block)
            }
            Begun::Promise { promised } => self.on_promise(id, promised, block),
        }
    }

    /// Decodes a block; tells whether the list is within our limit.
    fn decode(
        &mut self,
        id: u32,
        block: &[u8],
        mut emit: impl FnMut(Field<'_>),
    ) -> Result<Size, Over> {
        let limit = self.settings.max_header_list_size as usize;
        let mut plain = 0;
        let decoded = self.decoder.decode(block, limit, |field| {
            plain += hpack::plain_size(field);
            emit(field);
        });
        let size = match decoded {
            Ok(size) => size,
            Err(hpack::Error { fault: Fault::Excess, .. }) => {
                let rule = "RFC 9113 §10.5.1: a header block of far more work than it is worth";
                return Err(self.fail(ErrorCode::ENHANCE_YOUR_CALM, rule));
            }
            Err(_) => {
                let rule = "RFC 7541: the header block cannot be decoded";
                return Err(self.fail(ErrorCode::COMPRESSION_ERROR, rule));
            }
        };
        self.headers.received.count(plain, block.len());
        self.last_plain = plain;
        self.trace_block(id, plain, block.len());
        Ok(if size > limit { Size::TooLarge } else { Size::Within })
    }

    fn on_headers(&mut self, headers: Headers, block: &[u8]) -> Result<(), Over> {
        let id = headers.id;
        let mut purpose = self.purpose(id)?;
        if headers.dependency.is_some_and(|dependency| dependency.parent == id) {
            let rule = "RFC 7540 §5.3.1: a stream cannot depend on itself";
            purpose = Purpose::Wrong(ErrorCode::PROTOCOL_ERROR, rule);
        }
        let kind = match purpose {
            Purpose::Request => Kind::Request,
            Purpose::Response => Kind::Response,
            Purpose::Trailers => Kind::Trailers,
            Purpose::Nothing => {
                self.decode(id, block, |_| {})?;
                return self.chatter();
            }
            Purpose::Wrong(code, rule) => {
                self.decode(id, block, |_| {})?;
                return self.fail_stream(id, code, rule);
            }
        };
        if kind == Kind::Response
            && let Some(read) = self.read_known_response(id, block)
        {
            let outcome = self.on_response(headers, read)?;
            return self.end_malformed(id, outcome);
        }
        if kind == Kind::Request
            && let Some(read) = self.read_known_request(id, block)
        {
            let outcome = self.on_request(headers, read)?;
            return self.end_malformed(id, outcome);
        }
        let before = self.decoder.era();
        let room = self.spare_heads.pop().unwrap_or_default();
        let mut reader = HeadReader::in_room_of(room, kind);
        let size = self.decode(id, block, |field| reader.field(field))?;
        if size == Size::TooLarge {
            return self.refuse_large_head(headers, kind);
        }
        let outcome = match kind {
            Kind::Request => match reader.request(self.extended_connect()) {
                Ok(read) => {
                    self.keep_known_request(before, block, &read);
                    self.on_request(headers, read)?
                }
                Err(malformed) => Err(malformed),
            },
            Kind::Response => match reader.response() {
                Ok(read) => {
                    self.keep_known_response(before, block, &read);
                    self.on_response(headers, read)?
                }
                Err(malformed) => Err(malformed),
            },
            Kind::Trailers => match reader.trailers() {
                Ok(fields) => self.on_trailers(headers, fields)?,
                Err(malformed) => Err(malformed),
            },
        };
        self.end_malformed(id, outcome)
    }

    /// RFC 9113 §8.1.1: a malformed message is an error of its stream.
    fn end_malformed(&mut self, id: u32, outcome: Result<(), Malformed>) -> Result<(), Over> {
        outcome.or_else(|Malformed(rule)| self.fail_stream(id, ErrorCode::PROTOCOL_ERROR, rule))
    }

    /// What HEADERS are for, by RFC 9113 §5.1.
    fn purpose(&mut self, id: u32) -> Result<Purpose, Over> {
        let closed = "RFC 9113 §5.1: HEADERS after the end of the stream";
        Ok(match self.place(id) {
            Place::Idle if self.role == Role::Server && self.opener(id) == Opener::Peer => {
                self.admit(id)
            }
            Place::Idle | Place::Live(State::Idle | State::ReservedLocal) => {
                let rule = "RFC 9113 §5.1: HEADERS on a stream that the peer cannot open";
                return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
            }
            Place::Gone(Some(Gone::ResetByUs)) => Purpose::Nothing,
            Place::Gone(Some(Gone::ResetByPeer))
            | Place::Live(State::HalfClosedRemote | State::Closed) => {
                Purpose::Wrong(ErrorCode::STREAM_CLOSED, closed)
            }
            Place::Gone(Some(Gone::Ended)) => {
                return Err(self.fail(ErrorCode::STREAM_CLOSED, closed));
            }
            Place::Gone(None) => {
                let rule = "RFC 9113 §5.1.1: stream identifiers only grow";
                return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
            }
            Place::Live(State::Open | State::HalfClosedLocal | State::ReservedRemote) => {
                match self.streams.find(id).map(|stream| stream.incoming) {
                    Some(Incoming::Body(_)) => Purpose::Trailers,
                    _ => Purpose::Response,
                }
            }
        })
    }

    /// The client opens a stream.
    fn admit(&mut self, id: u32) -> Purpose {
        self.highest_peer = id;
        self.guard.useful();
        if matches!(self.shutdown, Shutdown::Final { .. }) {
            // RFC 9113 §6.8: it is above the last stream that our GOAWAY names.
            self.streams.remember(id, Gone::ResetByUs);
            return Purpose::Nothing;
        }
        if self.streams.active(Opener::Peer) >= self.settings.max_concurrent_streams as usize {
            let rule = "RFC 9113 §5.1.2: more concurrent streams than we take";
            return Purpose::Wrong(ErrorCode::REFUSED_STREAM, rule);
        }
        Purpose::Request
    }

    fn on_request(
        &mut self,
        headers: Headers,
        read: ReadRequest,
    ) -> Result<Result<(), Malformed>, Over> {
        let Headers { id, fin, dependency } = headers;
        let length = read.content_length.map_or(BodyLength::Any, BodyLength::Left);
        if fin == Fin::Last && matches!(length, BodyLength::Left(left) if left > 0) {
            return Ok(Err(Malformed("RFC 9113 §8.1.1: a Content-Length without DATA")));
        }
        let mut stream = self.new_stream(Opener::Peer, Step::ReceiveHeaders, fin);
        stream.incoming = Incoming::Body(length);
        self.streams.insert(id, stream);
        let priority = self.priority_of(id, dependency, read.head.fields.find(b"priority"));
        let stream = StreamId(u64::from(id));
        self.scheduler.insert(stream, priority);
        self.events.push_back(Event::Request { stream, head: read.head, fin });
        Ok(Ok(()))
    }

    /// The latest word counts: PRIORITY_UPDATE, then the field, then HEADERS (RFC 9218 §7).
    fn priority_of(
        &mut self,
        id: u32,
        dependency: Option<Dependency>,
        field: Option<&[u8]>,
    ) -> Priority {
        let early = self.early_priorities.iter().position(|&(stream, _)| stream == id);
        if let Some((_, priority)) = early.and_then(|at| self.early_priorities.remove(at)) {
            return priority;
        }
        match (field, dependency) {
            (Some(value), _) => priority::from_field(value),
            (None, Some(dependency)) => priority::from_dependency(dependency),
            (None, None) => Priority::Unset,
        }
    }

    fn on_response(
        &mut self,
        headers: Headers,
        read: ReadResponse,
    ) -> Result<Result<(), Malformed>, Over> {
        let Headers { id, fin, .. } = headers;
        let (stream, head) = (StreamId(u64::from(id)), read.head);
        let Some((asked, state)) = self.streams.find(id).map(|s| (s.asked, s.state)) else {
            return Ok(Ok(()));
        };
        let most = self.settings.max_concurrent_streams as usize;
        if state == State::ReservedRemote && self.streams.active(Opener::Peer) >= most {
            let rule = "RFC 9113 §5.1.2: more concurrent pushes than we take";
            return self.fail_stream(id, ErrorCode::REFUSED_STREAM, rule).map(Ok);
        }
        if head.status.is_informational() {
            if fin == Fin::Last {
                return Ok(Err(Malformed("RFC 9113 §8.1: an informational response ends nothing")));
            }
            self.step(id, Step::ReceiveHeaders);
            self.events.push_back(Event::Informational { stream, head });
            return Ok(Ok(()));
        }
        let length = match read.content_length {
            _ if asked == Asked::ForHeadOnly || head.status.forbids_body() => BodyLength::None,
            Some(length) => BodyLength::Left(length),
            None => BodyLength::Any,
        };
        self.step(id, Step::ReceiveHeaders);
        if let Some(stream) = self.streams.find_mut(id) {
            stream.incoming = Incoming::Body(length);
        }
        if fin == Fin::More || self.end_receiving(id)? == Ended::Well {
            self.queue_before_close(Event::Response { stream, head, fin });
        }
        Ok(Ok(()))
    }

    fn on_trailers(
        &mut self,
        headers: Headers,
        fields: wire::Fields,
    ) -> Result<Result<(), Malformed>, Over> {
        if headers.fin == Fin::More {
            return Ok(Err(Malformed("RFC 9113 §8.1: trailers end the stream")));
        }
        if self.end_receiving(headers.id)? == Ended::Well {
            let stream = StreamId(u64::from(headers.id));
            self.queue_before_close(Event::Trailers { stream, fields });
        }
        Ok(Ok(()))
    }

    /// The end of a stream may have been what a draining connection waited for: its own event still
    /// comes first.
    fn queue_before_close(&mut self, event: Event<'static>) {
        let at = match self.events.back() {
            Some(Event::Closed { .. }) => self.events.len() - 1,
            _ => self.events.len(),
        };
        self.events.insert(at, event);
    }

    fn on_promise(&mut self, parent: u32, promised: u32, block: &[u8]) -> Result<(), Over> {
        let acknowledged = !self.timers.is_set(Timer::SettingsAck);
        let parent_place = self.place(parent);
        let allowed = self.role == Role::Client
            && (self.settings.enable_push || !acknowledged)
            && self.opener(parent) == Opener::We
            && matches!(
                parent_place,
                Place::Live(State::Open | State::HalfClosedLocal)
                    | Place::Gone(Some(Gone::ResetByUs))
            );
        let fits = promised != 0
            && self.opener(promised) == Opener::Peer
            && self.place(promised) == Place::Idle;
        if !allowed || !fits {
            let rule = "RFC 9113 §6.6: a promise that must not be made";
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
        }
        self.highest_peer = promised;
        let mut reader = HeadReader::new(Kind::Request);
        let size = self.decode(promised, block, |field| reader.field(field))?;
        let crowded = self.streams.len() > 2 * self.settings.max_concurrent_streams as usize;
        let wanted = self.settings.enable_push && matches!(parent_place, Place::Live(_));
        if size == Size::TooLarge || crowded || !wanted {
            let rule = "the promise is not wanted";
            return self.fail_stream(promised, ErrorCode::REFUSED_STREAM, rule);
        }
        let head = match reader.request(ExtendedConnect::NotOffered) {
            // RFC 9113 §8.4: safe and without a body.
            Ok(read) if matches!(read.head.method, Method::Get | Method::Head) => read.head,
            _ => {
                let rule = "RFC 9113 §8.4: a promise of what cannot be promised";
                return self.fail_stream(promised, ErrorCode::PROTOCOL_ERROR, rule);
            }
        };
        let mut stream = self.new_stream(Opener::Peer, Step::ReceivePromise, Fin::More);
        if head.method == Method::Head {
            stream.asked = Asked::ForHeadOnly;
        }
        self.streams.insert(promised, stream);
        let (parent, stream) = (StreamId(u64::from(parent)), StreamId(u64::from(promised)));
        self.events.push_back(Event::Promise { parent, stream, head });
        Ok(())
    }

    /// RFC 9113 §10.5.1: a server says 431 (RFC 6585 §5), a client resets.
    fn refuse_large_head(&mut self, headers: Headers, kind: Kind) -> Result<(), Over> {
        let rule = "RFC 9113 §10.5.1: a header list larger than we take";
        if kind != Kind::Request {
            return self.fail_stream(headers.id, ErrorCode::ENHANCE_YOUR_CALM, rule);
        }
        if let Some(status) = Status::new(431) {
            self.queue_response(headers.id, &ResponseHead::new(status), Fin::Last);
        }
        self.fail_stream(headers.id, ErrorCode::NO_ERROR, rule)
    }

    fn extended_connect(&self) -> ExtendedConnect {
        match self.settings.enable_connect_protocol {
            true => ExtendedConnect::Offered,
            false => ExtendedConnect::NotOffered,
        }
    }
}

/// Whether a header list is within our limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Within,
    TooLarge,
}
