//! Header blocks in: inflated whatever becomes of them (the compression state is the session's, SPDY
//! §2.6.10.1), then given to their stream.

use super::connection::{Core, Over, Place, Role, Shutdown};
use super::data::Ended;
use super::head::{HeadReader, Kind, Malformed, ReadResponse};
use crate::connection::{Event, Fin, StreamId};
use crate::message::{Method, RequestHead, ResponseHead, Status};
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{Asked, BodyLength, Gone, Incoming, Opener};
use crate::schedule::Priority;
use wire::Fields;
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
    Wrong(ResetCode, &'static str),
}

/// A block that was inflated.
#[derive(Debug)]
enum Inflated {
    Head(Box<HeadReader>),
    /// The stream is gone, or got its error.
    Nothing,
    TooLarge,
}

impl Core {
    /// Inflates a block and reads it as its fate says.
    fn inflate(&mut self, id: u32, block: &[u8], fate: Fate) -> Result<Inflated, Over> {
        let limit = self.settings.max_header_list_size as usize;
        let kind = match fate {
            Fate::Read(kind) => Some(kind),
            Fate::Ignored | Fate::Wrong(..) => None,
        };
        let mut reader = None;
        let outcome = self.decoder.list(block, limit).and_then(|list| {
            let size = list.size();
            let room = |kind| Box::new(HeadReader::new(kind, (list.pairs().unwrap_or(0), size)));
            reader = kind.map(room);
            list.read(|field| {
                if let Some(reader) = &mut reader {
                    reader.field(field);
                }
            })?;
            Ok(size)
        });
        match outcome {
            Ok(plain) => {
                self.headers.received.count(plain, block.len());
                self.trace_block(id, plain, block.len());
            }
            Err(BlockError::Compression(rule)) => return Err(self.fail(rule)),
            Err(BlockError::TooLarge) if kind.is_some() => return Ok(Inflated::TooLarge),
            Err(BlockError::Malformed(rule)) if kind.is_some() => {
                // SPDY §2.6.10: a stream's error.
                self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule)?;
                return Ok(Inflated::Nothing);
            }
            Err(BlockError::TooLarge | BlockError::Malformed(_)) => {}
        }
        match (fate, reader) {
            (Fate::Wrong(code, rule), _) => self.fail_stream(id, code, rule)?,
            (_, Some(reader)) => return Ok(Inflated::Head(reader)),
            (_, None) => self.chatter()?,
        }
        Ok(Inflated::Nothing)
    }

    /// The peer opens a stream (SPDY §2.3.2).
    pub(super) fn on_syn_stream(&mut self, syn: Syn, block: &[u8]) -> Result<(), Over> {
        let id = syn.id;
        if id == 0 || self.opener(id) == Opener::We {
            return Err(self.fail("SPDY §2.3.2: a stream that the peer cannot open"));
        }
        if id < self.highest_peer {
            return Err(self.fail("SPDY §2.3.2: stream identifiers only grow"));
        }
        let fate = match self.place(id) {
            Place::Idle => {
                self.highest_peer = id;
                self.guard.useful();
                self.admit(syn)
            }
            Place::Gone(Some(Gone::ResetByUs)) => Fate::Ignored,
            Place::Live(_) | Place::Gone(_) => {
                let rule = "SPDY §2.3.2: a stream is opened once";
                Fate::Wrong(ResetCode::PROTOCOL_ERROR, rule)
            }
        };
        match (self.inflate(id, block, fate)?, self.role) {
            (Inflated::Nothing, _) => Ok(()),
            (Inflated::Head(reader), Role::Server) => self.on_request(syn, *reader),
            (Inflated::Head(reader), Role::Client) => self.on_push(syn, *reader),
            (Inflated::TooLarge, Role::Server) => self.refuse(syn, 431, RULE_LARGE),
            (Inflated::TooLarge, Role::Client) => {
                self.fail_stream(id, ResetCode::FRAME_TOO_LARGE, RULE_LARGE)
            }
        }
    }

    /// Whether a stream that the peer opens is taken.
    fn admit(&mut self, syn: Syn) -> Fate {
        if self.shutdown != Shutdown::No {
            // SPDY §2.6.6: it is above the last stream that our GOAWAY names.
            self.streams.remember(syn.id, Gone::ResetByUs);
            return Fate::Ignored;
        }
        let full =
            self.streams.active(Opener::Peer) >= self.settings.max_concurrent_streams as usize;
        let refused = |rule| Fate::Wrong(ResetCode::REFUSED_STREAM, rule);
        match self.role {
            _ if full => refused("SPDY §2.6.4: more concurrent streams than we take"),
            Role::Server if syn.unidirectional => {
                let rule = "SPDY §3.2.1: a request that could not be answered";
                Fate::Wrong(ResetCode::PROTOCOL_ERROR, rule)
            }
            Role::Server => Fate::Read(Kind::Request),
            Role::Client if syn.associated == 0 => {
                let rule = "SPDY §3.3.2: a push belongs to a stream";
                Fate::Wrong(ResetCode::INVALID_STREAM, rule)
            }
            Role::Client if !self.settings.enable_push => refused("the push is not wanted"),
            Role::Client => match self.place(syn.associated) {
                Place::Live(_) if self.opener(syn.associated) == Opener::We => {
                    Fate::Read(Kind::Push)
                }
                _ => {
                    let rule = "SPDY §3.3.1: the stream that a push belongs to is open";
                    Fate::Wrong(ResetCode::INVALID_STREAM, rule)
                }
            },
        }
    }

    fn on_request(&mut self, syn: Syn, reader: HeadReader) -> Result<(), Over> {
        let Syn { id, fin, .. } = syn;
        let read = match reader.request() {
            Ok(read) => read,
            // SPDY §3.2.1: a request without its five names is answered with 400.
            Err(Malformed::Incomplete(rule)) => return self.refuse(syn, 400, rule),
            Err(Malformed::Wrong(rule)) => {
                return self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule);
            }
        };
        let length = read.content_length.map_or(BodyLength::Any, BodyLength::Left);
        if fin == Fin::Last && matches!(length, BodyLength::Left(left) if left > 0) {
            let rule = "SPDY §3.2.1: a Content-Length without DATA";
            return self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule);
        }
        let mut stream = self.new_stream(Opener::Peer, &[Step::ReceiveHeaders], fin);
        stream.incoming = Incoming::Body(length);
        self.streams.insert(id, stream);
        let stream = StreamId(u64::from(id));
        self.scheduler.insert(stream, Priority::Level(syn.priority));
        self.events.push_back(Event::Request { stream, head: read.head, fin });
        Ok(())
    }

    /// Answers a request that the application never hears of.
    fn refuse(&mut self, syn: Syn, status: u16, rule: &'static str) -> Result<(), Over> {
        let Some(status) = Status::new(status) else { return Ok(()) };
        if let Err(too_much) = self.guard.reset(self.now) {
            return Err(self.calm(too_much));
        }
        self.queue_reply(syn.id, &ResponseHead::new(status), Fin::Last);
        match syn.fin {
            Fin::Last => self.streams.remember(syn.id, Gone::Ended),
            Fin::More => self.fail_stream(syn.id, ResetCode::CANCEL, rule)?,
        }
        self.close_if_drained();
        Ok(())
    }

    /// SPDY §3.3.2. The answer's head may be there at once, or come in HEADERS.
    fn on_push(&mut self, syn: Syn, reader: HeadReader) -> Result<(), Over> {
        let Syn { id, fin, .. } = syn;
        let wrong = |core: &mut Self, rule| core.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule);
        let (request, response) = match reader.push() {
            Ok(read) => read,
            Err(Malformed::Incomplete(rule) | Malformed::Wrong(rule)) => return wrong(self, rule),
        };
        if !matches!(request.method, Method::Get | Method::Head) {
            return wrong(self, "SPDY §3.3.1: a push of what cannot be pushed");
        }
        if fin == Fin::Last && response.is_none() {
            return wrong(self, "SPDY §3.3.1: a push that ends without an answer");
        }
        let steps = [Step::ReceivePromise, Step::ReceiveHeaders];
        let mut stream = self.new_stream(Opener::Peer, &steps, Fin::More);
        if request.method == Method::Head {
            stream.asked = Asked::ForHeadOnly;
        }
        self.streams.insert(id, stream);
        self.tell_push(syn, request);
        match response {
            Some(read) => self.on_response(id, fin, read),
            None => Ok(()),
        }
    }

    fn tell_push(&mut self, syn: Syn, head: RequestHead) {
        let stream = StreamId(u64::from(syn.id));
        let parent = StreamId(u64::from(syn.associated));
        self.scheduler.insert(stream, Priority::Level(syn.priority));
        self.events.push_back(Event::Promise { parent, stream, head });
    }

    /// The server answers (SPDY §2.6.2).
    pub(super) fn on_syn_reply(&mut self, id: u32, fin: Fin, block: &[u8]) -> Result<(), Over> {
        let incoming = self.streams.find(id).map(|stream| stream.incoming);
        let fate = match self.place(id) {
            Place::Live(State::Open | State::HalfClosedLocal) => match incoming {
                Some(Incoming::Head) if self.opener(id) == Opener::We => Fate::Read(Kind::Response),
                _ => {
                    let rule = "SPDY §2.6.2: a stream is answered once";
                    Fate::Wrong(ResetCode::STREAM_IN_USE, rule)
                }
            },
            other => late(other),
        };
        let reader = match self.inflate(id, block, fate)? {
            Inflated::Nothing => return Ok(()),
            Inflated::TooLarge => {
                return self.fail_stream(id, ResetCode::FRAME_TOO_LARGE, RULE_LARGE);
            }
            Inflated::Head(reader) => reader,
        };
        match reader.response() {
            Ok(read) => self.on_response(id, fin, read),
            Err(Malformed::Incomplete(rule) | Malformed::Wrong(rule)) => {
                self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule)
            }
        }
    }

    fn on_response(&mut self, id: u32, fin: Fin, read: ReadResponse) -> Result<(), Over> {
        let (stream, head) = (StreamId(u64::from(id)), read.head);
        let Some(entry) = self.streams.find_mut(id) else { return Ok(()) };
        entry.incoming = Incoming::Body(match read.content_length {
            _ if entry.asked == Asked::ForHeadOnly || head.status.forbids_body() => {
                BodyLength::None
            }
            Some(length) => BodyLength::Left(length),
            None => BodyLength::Any,
        });
        if fin == Fin::More || self.end_receiving(id)? == Ended::Well {
            self.queue_before_close(Event::Response { stream, head, fin });
        }
        Ok(())
    }

    /// More fields for a stream (SPDY §2.6.7): the head of a push's answer, or trailers, which may come
    /// in pieces.
    pub(super) fn on_headers(&mut self, id: u32, fin: Fin, block: &[u8]) -> Result<(), Over> {
        let incoming = self.streams.find(id).map(|stream| stream.incoming);
        let fate = match self.place(id) {
            Place::Live(State::Open | State::HalfClosedLocal) => match incoming {
                Some(Incoming::Body(_)) => Fate::Read(Kind::Trailers),
                _ if self.opener(id) == Opener::Peer => Fate::Read(Kind::Response),
                _ => {
                    let rule = "SPDY §2.6.7: HEADERS before SYN_REPLY";
                    Fate::Wrong(ResetCode::PROTOCOL_ERROR, rule)
                }
            },
            other => late(other),
        };
        let reader = match self.inflate(id, block, fate)? {
            Inflated::Nothing => return Ok(()),
            Inflated::TooLarge => {
                return self.fail_stream(id, ResetCode::FRAME_TOO_LARGE, RULE_LARGE);
            }
            Inflated::Head(reader) => reader,
        };
        let outcome = match fate {
            Fate::Read(Kind::Response) => match reader.response() {
                Ok(read) => return self.on_response(id, fin, read),
                Err(malformed) => Err(malformed),
            },
            _ => reader.trailers(),
        };
        match outcome {
            Ok(fields) => self.on_trailers(id, fin, fields),
            Err(Malformed::Incomplete(rule) | Malformed::Wrong(rule)) => {
                self.fail_stream(id, ResetCode::PROTOCOL_ERROR, rule)
            }
        }
    }

    fn on_trailers(&mut self, id: u32, fin: Fin, fields: Fields) -> Result<(), Over> {
        let late = self.late.entry(id).or_default();
        for field in fields.iter() {
            late.push_field(field);
        }
        if late.list_size() > self.settings.max_header_list_size as usize {
            return self.fail_stream(id, ResetCode::FRAME_TOO_LARGE, RULE_LARGE);
        }
        match fin {
            Fin::More => self.chatter(),
            Fin::Last => {
                let fields = self.late.remove(&id).unwrap_or_default();
                if self.end_receiving(id)? == Ended::Well {
                    let stream = StreamId(u64::from(id));
                    self.queue_before_close(Event::Trailers { stream, fields });
                }
                Ok(())
            }
        }
    }

    /// The end of a stream may have been what a draining session waited for: its own event still comes
    /// first.
    pub(super) fn queue_before_close(&mut self, event: Event<'static>) {
        let at = match self.events.back() {
            Some(Event::Closed { .. }) => self.events.len() - 1,
            _ => self.events.len(),
        };
        self.events.insert(at, event);
    }
}

const RULE_LARGE: &str = "SPDY §2.6.10: a header block larger than we take";

/// The fate of a block for a stream that takes none (SPDY §2.3.6, §2.6.7).
fn late(place: Place) -> Fate {
    match place {
        Place::Gone(Some(Gone::ResetByUs)) => Fate::Ignored,
        Place::Live(_) => {
            let rule = "SPDY §2.3.6: fields after the end of the stream";
            Fate::Wrong(ResetCode::STREAM_ALREADY_CLOSED, rule)
        }
        Place::Idle | Place::Gone(_) => {
            let rule = "SPDY §2.6.7: fields for a stream that is not open";
            Fate::Wrong(ResetCode::INVALID_STREAM, rule)
        }
    }
}
