//! Header blocks in: inflated whatever becomes of them (the compression state is the session's, SPDY
//! §2.6.10.1), then given to their stream.

use super::framing::{Spdy, broken};
use super::head::{HeadReader, Kind, Malformed};
use crate::multiplex::{
    Admission, Gone, Opener, OpeningPriority, Over, Role, Rule, Session, State, Stream,
    StreamStatus, rule,
};
use crate::schedule::Priority;
use crate::{Fields, Fin, Method, Status};
use wire::spdy::{BlockError, ResetCode};

/// A SYN_STREAM but for its block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syn {
    pub(super) id: u32,
    pub(super) associated: u32,
    pub(super) priority: u8,
    pub(super) fin: Fin,
    pub(super) unidirectional: bool,
}

/// What becomes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Read(Kind),
    /// Nothing: the stream is gone.
    Ignored,
    /// An error of the stream.
    Wrong(Rule<ResetCode>),
}

/// A block that was inflated.
#[derive(Debug)]
enum Inflated {
    Head(Box<HeadReader>),
    /// The stream is gone, or got its error.
    Nothing,
    TooLarge,
}

impl Session<Spdy> {
    /// Inflates a block and reads it as its fate says.
    fn inflate(&mut self, id: u32, block: &[u8], fate: Fate) -> Result<Inflated, Over> {
        let kind = match fate {
            Fate::Read(kind) => Some(kind),
            Fate::Ignored | Fate::Wrong(_) => None,
        };
        let mut reader = None;
        let Spdy { settings, decoder, .. } = &mut self.framing;
        let limit = settings.max_header_list_size as usize;
        let outcome = decoder.list(block, limit).and_then(|list| {
            let size = list.size();
            let pairs = list.pairs().unwrap_or(0);
            reader = kind.map(|kind| Box::new(HeadReader::with_capacity(kind, pairs, size)));
            list.read(|field| {
                if let Some(reader) = &mut reader {
                    reader.field(field);
                }
            })?;
            Ok(size)
        });
        match outcome {
            Ok(plain) => self.log.block_received(id, plain, block.len()),
            Err(BlockError::Compression(rule)) => return Err(self.fail(broken(rule))),
            Err(BlockError::TooLarge) if kind.is_some() => return Ok(Inflated::TooLarge),
            Err(BlockError::Malformed(text)) if kind.is_some() => {
                // SPDY §2.6.10: a stream's error.
                self.malformed(id, text)?;
                return Ok(Inflated::Nothing);
            }
            Err(BlockError::TooLarge | BlockError::Malformed(_)) => {}
        }
        match (fate, reader) {
            (Fate::Wrong(rule), _) => self.fail_stream(id, rule)?,
            (_, Some(reader)) => return Ok(Inflated::Head(reader)),
            (_, None) => self.count_chatter()?,
        }
        Ok(Inflated::Nothing)
    }

    fn malformed(&mut self, id: u32, text: &'static str) -> Result<(), Over> {
        self.fail_stream(id, rule(ResetCode::PROTOCOL_ERROR, text))
    }

    /// The peer opens a stream (SPDY §2.3.2).
    pub(super) fn on_syn_stream(&mut self, syn: Syn, block: &[u8]) -> Result<(), Over> {
        let id = syn.id;
        if id == 0 || self.opener(id) == Opener::We {
            return Err(self.fail(broken("SPDY §2.3.2: a stream that the peer cannot open")));
        }
        if id < self.highest_peer_stream() {
            return Err(self.fail(broken("SPDY §2.3.2: stream identifiers only grow")));
        }
        let fate = match self.status(id) {
            StreamStatus::Idle => self.fate_of_new(syn),
            StreamStatus::Gone(Some(Gone::ResetByUs)) => Fate::Ignored,
            StreamStatus::Live(_) | StreamStatus::Gone(_) => {
                wrong(ResetCode::PROTOCOL_ERROR, "SPDY §2.3.2: a stream is opened once")
            }
        };
        match (self.inflate(id, block, fate)?, self.role) {
            (Inflated::Nothing, _) => Ok(()),
            (Inflated::Head(reader), Role::Server) => self.on_request(syn, *reader),
            (Inflated::Head(reader), Role::Client) => self.on_push(syn, *reader),
            (Inflated::TooLarge, Role::Server) => self.refuse(syn, 431, TOO_LARGE.text),
            (Inflated::TooLarge, Role::Client) => self.fail_stream(id, TOO_LARGE),
        }
    }

    /// Whether a stream that the peer opens is taken.
    fn fate_of_new(&mut self, syn: Syn) -> Fate {
        match (self.admit(syn.id), self.role) {
            (Admission::Ignored, _) => Fate::Ignored,
            (Admission::Full, _) => wrong(
                ResetCode::REFUSED_STREAM,
                "SPDY §2.6.4: more concurrent streams than we take",
            ),
            (Admission::Granted, Role::Server) if syn.unidirectional => wrong(
                ResetCode::PROTOCOL_ERROR,
                "SPDY §3.2.1: a request that could not be answered",
            ),
            (Admission::Granted, Role::Server) => Fate::Read(Kind::Request),
            (Admission::Granted, Role::Client) => self.fate_of_push(syn),
        }
    }

    fn fate_of_push(&self, syn: Syn) -> Fate {
        if syn.associated == 0 {
            return wrong(ResetCode::INVALID_STREAM, "SPDY §3.3.2: a push belongs to a stream");
        }
        if !self.framing.settings.enable_push {
            return wrong(ResetCode::REFUSED_STREAM, "the push is not wanted");
        }
        match self.status(syn.associated) {
            StreamStatus::Live(_) if self.opener(syn.associated) == Opener::We => {
                Fate::Read(Kind::Push)
            }
            _ => {
                let text = "SPDY §3.3.1: the stream that a push belongs to is open";
                wrong(ResetCode::INVALID_STREAM, text)
            }
        }
    }

    fn on_request(&mut self, syn: Syn, reader: HeadReader) -> Result<(), Over> {
        match reader.request() {
            Ok(read) => {
                let frame = Priority::Level(syn.priority);
                let priority = OpeningPriority { frame, field: None };
                self.receive_request(syn.id, syn.fin, read.boxed(), priority)
            }
            // SPDY §3.2.1: a request without its five names is answered with 400.
            Err(Malformed::Incomplete(rule)) => self.refuse(syn, 400, rule),
            Err(Malformed::Wrong(rule)) => self.malformed(syn.id, rule),
        }
    }

    /// Answers a request that the application never sees.
    fn refuse(&mut self, syn: Syn, status: u16, text: &'static str) -> Result<(), Over> {
        let Some(status) = Status::new(status) else { return Ok(()) };
        self.count_reset(syn.id)?;
        self.answer_unseen(syn.id, status);
        match syn.fin {
            Fin::Last => self.forget_answered(syn.id),
            Fin::More => self.fail_stream(syn.id, rule(ResetCode::CANCEL, text))?,
        }
        self.close_if_drained();
        Ok(())
    }

    /// SPDY §3.3.2. The answer's head may be there at once, or come in HEADERS.
    fn on_push(&mut self, syn: Syn, reader: HeadReader) -> Result<(), Over> {
        let Syn { id, fin, associated, .. } = syn;
        let (request, response) = match reader.push() {
            Ok(read) => read,
            Err(Malformed::Incomplete(text) | Malformed::Wrong(text)) => {
                return self.malformed(id, text);
            }
        };
        if !matches!(request.method, Method::Get | Method::Head) {
            return self.malformed(id, "SPDY §3.3.1: a push of what cannot be pushed");
        }
        if fin == Fin::Last && response.is_none() {
            return self.malformed(id, "SPDY §3.3.1: a push that ends without an answer");
        }
        self.receive_promise(associated, id, Box::new(request));
        match response {
            Some(read) => self.receive_response(id, fin, read),
            None => Ok(()),
        }
    }

    /// The server answers (SPDY §2.6.2).
    pub(super) fn on_syn_reply(&mut self, id: u32, fin: Fin, block: &[u8]) -> Result<(), Over> {
        let fate = match self.status(id) {
            StreamStatus::Live(State::Open | State::HalfClosedLocal) => {
                let has_head = self.stream(id).is_some_and(Stream::has_head);
                if !has_head && self.opener(id) == Opener::We {
                    Fate::Read(Kind::Response)
                } else {
                    wrong(ResetCode::STREAM_IN_USE, "SPDY §2.6.2: a stream is answered once")
                }
            }
            other => late(other),
        };
        self.read_fields(id, fin, block, fate)
    }

    /// More fields for a stream (SPDY §2.6.7): the head of a push's answer, or trailers, which may come
    /// in pieces.
    pub(super) fn on_headers(&mut self, id: u32, fin: Fin, block: &[u8]) -> Result<(), Over> {
        let fate = match self.status(id) {
            StreamStatus::Live(State::Open | State::HalfClosedLocal) => {
                if self.stream(id).is_some_and(Stream::has_head) {
                    Fate::Read(Kind::Trailers)
                } else if self.opener(id) == Opener::Peer {
                    Fate::Read(Kind::Response)
                } else {
                    wrong(ResetCode::PROTOCOL_ERROR, "SPDY §2.6.7: HEADERS before SYN_REPLY")
                }
            }
            other => late(other),
        };
        self.read_fields(id, fin, block, fate)
    }

    fn read_fields(&mut self, id: u32, fin: Fin, block: &[u8], fate: Fate) -> Result<(), Over> {
        let reader = match self.inflate(id, block, fate)? {
            Inflated::Nothing => return Ok(()),
            Inflated::TooLarge => return self.fail_stream(id, TOO_LARGE),
            Inflated::Head(reader) => reader,
        };
        let outcome = match fate {
            Fate::Read(Kind::Response) => match reader.response() {
                Ok(read) => return self.receive_response(id, fin, read),
                Err(malformed) => Err(malformed),
            },
            _ => reader.trailers(),
        };
        match outcome {
            Ok(fields) => self.on_trailers(id, fin, &fields),
            Err(Malformed::Incomplete(text) | Malformed::Wrong(text)) => self.malformed(id, text),
        }
    }

    fn on_trailers(&mut self, id: u32, fin: Fin, fields: &Fields) -> Result<(), Over> {
        let Spdy { settings, late, .. } = &mut self.framing;
        let kept = late.entry(id).or_default();
        for field in fields.iter() {
            kept.push_field(field);
        }
        if kept.list_size() > settings.max_header_list_size as usize {
            return self.fail_stream(id, TOO_LARGE);
        }
        match fin {
            Fin::More => self.count_chatter(),
            Fin::Last => {
                let fields = late.remove(&id).unwrap_or_default();
                self.receive_trailers(id, fields)
            }
        }
    }
}

const TOO_LARGE: Rule<ResetCode> =
    rule(ResetCode::FRAME_TOO_LARGE, "SPDY §2.6.10: a header block larger than we take");

fn wrong(code: ResetCode, text: &'static str) -> Fate {
    Fate::Wrong(rule(code, text))
}

/// The fate of a block for a stream that takes none (SPDY §2.3.6, §2.6.7).
fn late(status: StreamStatus) -> Fate {
    match status {
        StreamStatus::Gone(Some(Gone::ResetByUs)) => Fate::Ignored,
        StreamStatus::Live(_) => wrong(
            ResetCode::STREAM_ALREADY_CLOSED,
            "SPDY §2.3.6: fields after the end of the stream",
        ),
        StreamStatus::Idle | StreamStatus::Gone(_) => {
            wrong(ResetCode::INVALID_STREAM, "SPDY §2.6.7: fields for a stream that is not open")
        }
    }
}
