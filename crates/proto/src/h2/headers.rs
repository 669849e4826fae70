//! Header blocks in: gathered over CONTINUATION, decoded whatever becomes of them (the compression
//! state is the connection's, RFC 9113 §4.3), then given to their stream.

use super::codec::{BadHead, Decoded};
use super::framing::{Http2, protocol};
use super::head::{ExtendedConnect, Kind};
use super::priority;
use super::settings::Settings;
use crate::multiplex::{
    Admission, Gone, Opener, OpeningPriority, Over, Received, Role, Rule, Session, State, Stream,
    StreamStatus, Timer, rule,
};
use crate::schedule::Priority;
use crate::{Fields, Fin, Method, RequestHead, ResponseHead, Status};
use wire::h2::{Dependency, ErrorCode};

/// The frame that began a header block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begun {
    Headers(Headers),
    Promise { parent: u32, promised: u32 },
}

/// A HEADERS frame but for its block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Headers {
    pub(super) id: u32,
    pub(super) fin: Fin,
    pub(super) dependency: Option<Dependency>,
}

/// A header block that goes on in CONTINUATION.
#[derive(Debug)]
pub(super) struct PartialBlock {
    begun: Begun,
    bytes: Vec<u8>,
    continuations: u32,
}

impl PartialBlock {
    /// The stream that its CONTINUATION frames name.
    pub(super) fn stream(&self) -> u32 {
        match self.begun {
            Begun::Headers(headers) => headers.id,
            Begun::Promise { parent, .. } => parent,
        }
    }

    /// Takes the payload of a CONTINUATION, unless there are too many.
    fn append(&mut self, fragment: &[u8], settings: &Settings) -> Result<(), Rule<ErrorCode>> {
        self.bytes.extend_from_slice(fragment);
        self.continuations += 1;
        let is_too_long = self.bytes.len() > settings.max_header_list_size as usize;
        if is_too_long || self.continuations > settings.limits.continuations {
            let text = "RFC 9113 §10.5.1: a header block without end";
            return Err(rule(ErrorCode::ENHANCE_YOUR_CALM, text));
        }
        Ok(())
    }
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
    Wrong(Rule<ErrorCode>),
}

impl Session<Http2> {
    /// HEADERS or PUSH_PROMISE.
    pub(super) fn on_block(
        &mut self,
        begun: Begun,
        fragment: &[u8],
        end_headers: bool,
    ) -> Result<(), Over> {
        if end_headers {
            return self.on_whole_block(begun, fragment);
        }
        self.expect_header_block();
        let partial = PartialBlock { begun, bytes: fragment.to_vec(), continuations: 0 };
        self.framing.partial = Some(partial);
        Ok(())
    }

    pub(super) fn on_continuation(
        &mut self,
        fragment: &[u8],
        end_headers: bool,
    ) -> Result<(), Over> {
        let Http2 { partial, settings, .. } = &mut self.framing;
        let Some(mut block) = partial.take() else { return Ok(()) };
        if let Err(rule) = block.append(fragment, settings) {
            return Err(self.fail(rule));
        }
        if end_headers {
            self.timers.cancel(Timer::HeaderBlock);
            return self.on_whole_block(block.begun, &block.bytes);
        }
        self.framing.partial = Some(block);
        Ok(())
    }

    fn on_whole_block(&mut self, begun: Begun, block: &[u8]) -> Result<(), Over> {
        match begun {
            Begun::Headers(headers) => self.on_headers(headers, block),
            Begun::Promise { parent, promised } => self.on_promise(parent, promised, block),
        }
    }

    fn on_headers(&mut self, headers: Headers, block: &[u8]) -> Result<(), Over> {
        let id = headers.id;
        let mut purpose = self.purpose(id)?;
        if headers.dependency.is_some_and(|dependency| dependency.parent == id) {
            let text = "RFC 7540 §5.3.1: a stream cannot depend on itself";
            purpose = Purpose::Wrong(protocol(text));
        }
        match purpose {
            Purpose::Request => {
                let mut head = self.framing.codec.spare_head();
                match self.decode_request(id, block, &mut head)? {
                    Ok(content_length) => {
                        self.on_request(headers, Received { head, content_length })
                    }
                    Err(bad) => self.on_bad_head(headers, Kind::Request, bad),
                }
            }
            Purpose::Response => {
                let decoded = self.framing.codec.decode_response(block);
                match self.count_block(id, block, decoded)? {
                    Ok(read) => self.on_response(headers, read),
                    Err(bad) => self.on_bad_head(headers, Kind::Response, bad),
                }
            }
            Purpose::Trailers => {
                let decoded = self.framing.codec.decode_trailers(block);
                match self.count_block(id, block, decoded)? {
                    Ok(fields) => self.on_trailers(headers, fields),
                    Err(bad) => self.on_bad_head(headers, Kind::Trailers, bad),
                }
            }
            Purpose::Nothing => {
                self.decode_unread(id, block)?;
                self.count_chatter()
            }
            Purpose::Wrong(rule) => {
                self.decode_unread(id, block)?;
                self.fail_stream(id, rule)
            }
        }
    }

    #[inline]
    fn decode_request(
        &mut self,
        id: u32,
        block: &[u8],
        head: &mut RequestHead,
    ) -> Result<Result<Option<u64>, BadHead>, Over> {
        let Http2 { settings, codec, .. } = &mut self.framing;
        let extended = match settings.enable_connect_protocol {
            true => ExtendedConnect::Offered,
            false => ExtendedConnect::NotOffered,
        };
        let decoded = codec.decode_request(block, extended, head);
        self.count_block(id, block, decoded)
    }

    /// Keeps the compression state in step with a block that nobody reads.
    fn decode_unread(&mut self, id: u32, block: &[u8]) -> Result<(), Over> {
        let decoded = self.framing.codec.skip(block);
        self.count_block(id, block, decoded).map(drop)
    }

    /// Counts a block; one that cannot be decoded ends the connection.
    #[inline]
    fn count_block<T>(
        &mut self,
        id: u32,
        block: &[u8],
        decoded: Result<Decoded<T>, Rule<ErrorCode>>,
    ) -> Result<Result<T, BadHead>, Over> {
        match decoded {
            Ok(decoded) => {
                self.log.block_received(id, decoded.plain, block.len());
                Ok(decoded.head)
            }
            Err(rule) => Err(self.fail(rule)),
        }
    }

    /// A malformed message is an error of its stream (RFC 9113 §8.1.1). To a list that is too large a
    /// server says 431 (RFC 6585 §5), a client resets (RFC 9113 §10.5.1).
    fn on_bad_head(&mut self, headers: Headers, kind: Kind, bad: BadHead) -> Result<(), Over> {
        let id = headers.id;
        let text = "RFC 9113 §10.5.1: a header list larger than we take";
        match (bad, kind) {
            (BadHead::Malformed(text), _) => self.malformed(id, text),
            (BadHead::TooLarge, Kind::Request) => {
                if let Some(status) = Status::new(431) {
                    self.answer_unseen(id, status);
                }
                self.fail_stream(id, rule(ErrorCode::NO_ERROR, text))
            }
            (BadHead::TooLarge, _) => {
                self.fail_stream(id, rule(ErrorCode::ENHANCE_YOUR_CALM, text))
            }
        }
    }

    fn malformed(&mut self, id: u32, text: &'static str) -> Result<(), Over> {
        self.fail_stream(id, protocol(text))
    }

    /// What HEADERS are for, by RFC 9113 §5.1.
    fn purpose(&mut self, id: u32) -> Result<Purpose, Over> {
        let closed =
            rule(ErrorCode::STREAM_CLOSED, "RFC 9113 §5.1: HEADERS after the end of the stream");
        Ok(match self.status(id) {
            StreamStatus::Idle if self.role == Role::Server && self.opener(id) == Opener::Peer => {
                self.purpose_of_new(id)
            }
            StreamStatus::Idle | StreamStatus::Live(State::Idle | State::ReservedLocal) => {
                return Err(self.fail(protocol(
                    "RFC 9113 §5.1: HEADERS on a stream that the peer cannot open",
                )));
            }
            StreamStatus::Gone(Some(Gone::ResetByUs)) => Purpose::Nothing,
            StreamStatus::Gone(Some(Gone::ResetByPeer))
            | StreamStatus::Live(State::HalfClosedRemote | State::Closed) => Purpose::Wrong(closed),
            StreamStatus::Gone(Some(Gone::Ended)) => return Err(self.fail(closed)),
            StreamStatus::Gone(None) => {
                return Err(self.fail(protocol("RFC 9113 §5.1.1: stream identifiers only grow")));
            }
            StreamStatus::Live(State::ReservedRemote) if self.peer_streams_are_full() => {
                let text = "RFC 9113 §5.1.2: more concurrent pushes than we take";
                Purpose::Wrong(rule(ErrorCode::REFUSED_STREAM, text))
            }
            StreamStatus::Live(State::Open | State::HalfClosedLocal | State::ReservedRemote) => {
                match self.stream(id).is_some_and(Stream::has_head) {
                    true => Purpose::Trailers,
                    false => Purpose::Response,
                }
            }
        })
    }

    /// The client opens a stream.
    fn purpose_of_new(&mut self, id: u32) -> Purpose {
        match self.admit(id) {
            Admission::Granted => Purpose::Request,
            Admission::Ignored => Purpose::Nothing,
            Admission::Full => {
                let text = "RFC 9113 §5.1.2: more concurrent streams than we take";
                Purpose::Wrong(rule(ErrorCode::REFUSED_STREAM, text))
            }
        }
    }

    #[inline]
    fn on_request(
        &mut self,
        headers: Headers,
        read: Received<Box<RequestHead>>,
    ) -> Result<(), Over> {
        let Headers { id, fin, dependency } = headers;
        let priority = OpeningPriority {
            frame: dependency.map_or(Priority::Unset, priority::from_dependency),
            field: priority::of_fields(&read.head.fields),
        };
        self.receive_request(id, fin, read, priority)
    }

    #[inline]
    fn on_response(&mut self, headers: Headers, read: Received<ResponseHead>) -> Result<(), Over> {
        let Headers { id, fin, .. } = headers;
        if read.head.status.is_informational() {
            if fin == Fin::Last {
                return self.malformed(id, "RFC 9113 §8.1: an informational response ends nothing");
            }
            return self.receive_informational(id, read.head);
        }
        self.receive_response(id, fin, read)
    }

    fn on_trailers(&mut self, headers: Headers, fields: Fields) -> Result<(), Over> {
        if headers.fin == Fin::More {
            return self.malformed(headers.id, "RFC 9113 §8.1: trailers end the stream");
        }
        self.receive_trailers(headers.id, fields)
    }

    fn on_promise(&mut self, parent: u32, promised: u32, block: &[u8]) -> Result<(), Over> {
        let acknowledged = !self.timers.is_set(Timer::SettingsAck);
        let enabled = self.framing.settings.enable_push;
        let parent_status = self.status(parent);
        let allowed = self.role == Role::Client
            && (enabled || !acknowledged)
            && self.opener(parent) == Opener::We
            && matches!(
                parent_status,
                StreamStatus::Live(State::Open | State::HalfClosedLocal)
                    | StreamStatus::Gone(Some(Gone::ResetByUs))
            );
        let fits = promised != 0
            && self.opener(promised) == Opener::Peer
            && self.status(promised) == StreamStatus::Idle;
        if !allowed || !fits {
            return Err(self.fail(protocol("RFC 9113 §6.6: a promise that must not be made")));
        }
        self.note_promised(promised);
        let decoded = self.framing.codec.decode_promise(block);
        let read = self.count_block(promised, block, decoded)?;
        let wanted = enabled && matches!(parent_status, StreamStatus::Live(_));
        if matches!(read, Err(BadHead::TooLarge)) || self.is_crowded() || !wanted {
            let text = "the promise is not wanted";
            return self.fail_stream(promised, rule(ErrorCode::REFUSED_STREAM, text));
        }
        match read {
            // RFC 9113 §8.4: safe and without a body.
            Ok(read) if matches!(read.head.method, Method::Get | Method::Head) => {
                self.receive_promise(parent, promised, Box::new(read.head));
                Ok(())
            }
            _ => self.malformed(promised, "RFC 9113 §8.4: a promise of what cannot be promised"),
        }
    }
}
